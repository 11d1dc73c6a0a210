/* How exports write operators: products. */
#include "export/rows/row.h"

adzi_c99_printer adzi_c99_linear, adzi_c99_linear_relu, adzi_c99_matmul;
adzi_onnx_printer adzi_onnx_print_linear, adzi_onnx_print_matmul;
adzi_onnx_batch_rule adzi_onnx_batch_linear, adzi_onnx_batch_matmul;

const adzi_row adzi_rows_linalg[] = {
    { .op = "linear", C99(linear), ONNX(linear, linear, NULL) },
    { .op = "linear_relu", C99(linear_relu) },
    { .op = "matmul", C99(matmul), ONNX(matmul, matmul, NULL) },
    { .op = NULL },
};
