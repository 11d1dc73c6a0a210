/* How exports write operators: products. */
#include "export/c99/c99.h"
#include "export/onnx.h"

const adzi_row adzi_rows_linalg[] = {
    { .op = "linear",
        .c = { .print = adzi_c99_linear, .backward = adzi_c99_linear_backward },
        .onnx = { .print = adzi_onnx_print_linear, .carry = adzi_onnx_carry_linear } },
    { .op = "linear_relu",
        .c = { .print = adzi_c99_linear_relu, .backward = adzi_c99_linear_relu_backward } },
    { .op = "matmul",
        .c = { .print = adzi_c99_matmul, .backward = adzi_c99_matmul_backward },
        .onnx = { .print = adzi_onnx_print_matmul, .carry = adzi_onnx_carry_matmul } },
    { .op = NULL },
};
