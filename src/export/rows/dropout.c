/* How exports write operators: dropout. */
#include "export/c99/c99.h"
#include "export/onnx.h"

const adzi_row adzi_rows_dropout[] = {
    { .op = "dropout",
        .c = { .print = adzi_c99_dropout, .backward = adzi_c99_dropout_backward },
        .onnx = { .print = adzi_onnx_print_dropout, .carry = adzi_onnx_carry_first } },
    { .op = NULL },
};
