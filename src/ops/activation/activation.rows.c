/* How exports write operators: activation functions that are not elementwise. */
#include "export/rows/row.h"

adzi_c99_printer adzi_c99_log_softmax, adzi_c99_softmax;

const adzi_row adzi_rows_activation[] = {
    { .op = "bias_activation" },
    { .op = "glu" },
    { .op = "log_softmax",
        C99(log_softmax),
        ONNX_TEXT("LogSoftmax($a, axis=dim)", first, .of_dimensions = true) },
    { .op = "softmax",
        C99(softmax),
        ONNX_TEXT("Softmax($a, axis=dim)", first, .of_dimensions = true) },
    { .op = NULL },
};
