/* How exports write operators: convolutions. */
#include "export/c99/c99.h"
#include "export/onnx.h"

const adzi_row adzi_rows_conv[] = {
    { .op = "conv1d",
        .c = { .print = adzi_c99_conv, .backward = adzi_c99_conv_backward },
        .onnx = { adzi_onnx_print_conv, adzi_onnx_carry_conv, "Conv", NULL } },
    { .op = "conv2d",
        .c = { .print = adzi_c99_conv, .backward = adzi_c99_conv_backward },
        .onnx = { adzi_onnx_print_conv, adzi_onnx_carry_conv, "Conv", NULL } },
    { .op = "conv_transpose1d",
        .c = { .print = adzi_c99_conv_transpose, .backward = adzi_c99_conv_transpose_backward },
        .onnx = { adzi_onnx_print_conv, adzi_onnx_carry_conv, "ConvTranspose", NULL } },
    { .op = "conv_transpose2d",
        .c = { .print = adzi_c99_conv_transpose, .backward = adzi_c99_conv_transpose_backward },
        .onnx = { adzi_onnx_print_conv, adzi_onnx_carry_conv, "ConvTranspose", NULL } },
    { .op = "conv_weight",
        .c = { .print = adzi_c99_conv_weight, .backward = adzi_c99_conv_weight_backward } },
    { .op = "fold", .c = { .print = adzi_c99_fold, .backward = adzi_c99_fold_backward } },
    { .op = "unfold", .c = { .print = adzi_c99_unfold, .backward = adzi_c99_unfold_backward } },
    { .op = NULL },
};
