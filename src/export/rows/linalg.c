/* How exports write operators: products. */
#include "export/rows/row.h"

const adzi_row adzi_rows_linalg[] = {
    { .op = "linear", C99(linear, linear_backward), ONNX(linear, linear, NULL) },
    { .op = "linear_relu", C99(linear_relu, linear_relu_backward) },
    { .op = "matmul", C99(matmul, matmul_backward), ONNX(matmul, matmul, NULL) },
    { .op = NULL },
};
