/* How exports write operators: pooling and interpolation. */
#include "export/c99/c99.h"
#include "export/onnx.h"

const adzi_row adzi_rows_pool[] = {
    { .op = "adaptive_avg_pool1d",
        .c = { .print = adzi_c99_adaptive_avg_pool },
        .onnx = { adzi_onnx_print_adaptive, adzi_onnx_carry_windows, "Average", NULL } },
    { .op = "adaptive_avg_pool2d",
        .c = { .print = adzi_c99_adaptive_avg_pool },
        .onnx = { adzi_onnx_print_adaptive, adzi_onnx_carry_windows, "Average", NULL } },
    { .op = "adaptive_max_pool1d",
        .c = { .print = adzi_c99_max_pool, .backward = adzi_c99_max_pool_backward },
        .onnx = { adzi_onnx_print_adaptive, adzi_onnx_carry_windows, "Max", NULL } },
    { .op = "adaptive_max_pool2d",
        .c = { .print = adzi_c99_max_pool, .backward = adzi_c99_max_pool_backward },
        .onnx = { adzi_onnx_print_adaptive, adzi_onnx_carry_windows, "Max", NULL } },
    { .op = "avg_pool1d",
        .c = { .print = adzi_c99_avg_pool },
        .onnx = { adzi_onnx_print_avg_pool, adzi_onnx_carry_windows, NULL, NULL } },
    { .op = "avg_pool2d",
        .c = { .print = adzi_c99_avg_pool },
        .onnx = { adzi_onnx_print_avg_pool, adzi_onnx_carry_windows, NULL, NULL } },
    { .op = "interpolate",
        .c = { .print = adzi_c99_interpolate },
        .onnx = { adzi_onnx_print_interpolate, adzi_onnx_carry_windows, NULL, NULL } },
    { .op = "max_pool1d",
        .c = { .print = adzi_c99_max_pool, .backward = adzi_c99_max_pool_backward },
        .onnx = { adzi_onnx_print_max_pool, adzi_onnx_carry_windows, NULL, NULL } },
    { .op = "max_pool2d",
        .c = { .print = adzi_c99_max_pool, .backward = adzi_c99_max_pool_backward },
        .onnx = { adzi_onnx_print_max_pool, adzi_onnx_carry_windows, NULL, NULL } },
    { .op = NULL },
};
