/* How exports write operators: activation functions that are not elementwise. */
#include "export/rows/row.h"

const adzi_row adzi_rows_activation[] = {
    { .op = "bias_activation" },
    { .op = "glu" },
    { .op = "log_softmax", C99(log_softmax), ONNX(along, first, "LogSoftmax") },
    { .op = "softmax", C99(softmax), ONNX(along, first, "Softmax") },
    { .op = NULL },
};
