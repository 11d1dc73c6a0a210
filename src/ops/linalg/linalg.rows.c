/* How exports write operators: products. */
#include "export/rows/row.h"

const adzi_row adzi_rows_linalg[] = {
    { .op = "linear", C99(linear), ONNX(linear, linear, NULL) },
    { .op = "linear_relu", C99(linear_relu) },
    { .op = "matmul", C99(matmul), ONNX(matmul, matmul, NULL) },
    { .op = NULL },
};
