/* How exports write operators: pooling and interpolation. */
#include "export/rows/row.h"

adzi_c99_printer adzi_c99_adaptive_avg_pool, adzi_c99_avg_pool, adzi_c99_interpolate,
    adzi_c99_max_pool;
adzi_onnx_printer adzi_onnx_print_adaptive, adzi_onnx_print_avg_pool, adzi_onnx_print_interpolate,
    adzi_onnx_print_max_pool;
adzi_onnx_batch_rule adzi_onnx_batch_windows;

const adzi_row adzi_rows_pool[] = {
    { .op = "adaptive_avg_pool1d", C99(adaptive_avg_pool), ONNX(adaptive, windows, "Average") },
    { .op = "adaptive_avg_pool2d", C99(adaptive_avg_pool), ONNX(adaptive, windows, "Average") },
    { .op = "adaptive_avg_pool3d", C99(adaptive_avg_pool), ONNX(adaptive, windows, "Average") },
    { .op = "adaptive_max_pool1d", C99(max_pool), ONNX(adaptive, windows, "Max") },
    { .op = "adaptive_max_pool2d", C99(max_pool), ONNX(adaptive, windows, "Max") },
    { .op = "adaptive_max_pool3d", C99(max_pool), ONNX(adaptive, windows, "Max") },
    { .op = "avg_pool1d", C99(avg_pool), ONNX(avg_pool, windows, NULL) },
    { .op = "avg_pool2d", C99(avg_pool), ONNX(avg_pool, windows, NULL) },
    { .op = "avg_pool3d", C99(avg_pool), ONNX(avg_pool, windows, NULL) },
    { .op = "interpolate", C99(interpolate), ONNX(interpolate, windows, NULL) },
    { .op = "max_pool1d", C99(max_pool), ONNX(max_pool, windows, NULL) },
    { .op = "max_pool2d", C99(max_pool), ONNX(max_pool, windows, NULL) },
    { .op = "max_pool3d", C99(max_pool), ONNX(max_pool, windows, NULL) },
    { .op = NULL },
};
