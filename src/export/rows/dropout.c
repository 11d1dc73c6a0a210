/* How exports write operators: dropout. */
#include "export/rows/row.h"

const adzi_row adzi_rows_dropout[] = {
    { .op = "dropout", C99(dropout, dropout_backward), ONNX(dropout, first, NULL) },
    { .op = NULL },
};
