/* How exports write operators: dropout. */
#include "export/rows/row.h"

adzi_c99_printer adzi_c99_dropout;

#define OUTSIDE ", which draws random numbers; call adz_module_eval before the export"

const adzi_row adzi_rows_dropout[] = {
    { .op = "dropout",
        C99(dropout),
        ONNX_TEXT("!is in training; call adz_module_eval before the export", first) },
    { .op = "dropout_again",
        .internal = true,
        .c = { .refused = "is the gradient of a dropout" OUTSIDE },
        .onnx = { .refused = "is the gradient of a dropout" OUTSIDE } },
    { .op = NULL },
};
