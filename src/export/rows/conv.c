/* How exports write operators: convolutions. */
#include "export/c99/c99.h"
#include "export/onnx.h"

#define NO_PATCHES "has no counterpart in ONNX's opset 17; write it as a convolution"

const adzi_row adzi_rows_conv[] = {
    { .op = "conv1d",
        .c = { .print = adzi_c99_conv, .backward = adzi_c99_conv_backward },
        .onnx = { .print = adzi_onnx_print_conv, .carry = adzi_onnx_carry_conv, .type = "Conv" } },
    { .op = "conv2d",
        .c = { .print = adzi_c99_conv, .backward = adzi_c99_conv_backward },
        .onnx = { .print = adzi_onnx_print_conv, .carry = adzi_onnx_carry_conv, .type = "Conv" } },
    { .op = "conv_transpose1d",
        .c = { .print = adzi_c99_conv_transpose, .backward = adzi_c99_conv_transpose_backward },
        .onnx = { .print = adzi_onnx_print_conv,
            .carry = adzi_onnx_carry_conv,
            .type = "ConvTranspose" } },
    { .op = "conv_transpose2d",
        .c = { .print = adzi_c99_conv_transpose, .backward = adzi_c99_conv_transpose_backward },
        .onnx = { .print = adzi_onnx_print_conv,
            .carry = adzi_onnx_carry_conv,
            .type = "ConvTranspose" } },
    { .op = "conv_weight",
        .c = { .print = adzi_c99_conv_weight, .backward = adzi_c99_conv_weight_backward },
        .onnx = { .refused = "is the gradient of a weight, for which ONNX has no node; export the "
                             "forward alone" } },
    { .op = "fold",
        .c = { .print = adzi_c99_fold, .backward = adzi_c99_fold_backward },
        .onnx = { .refused = NO_PATCHES } },
    { .op = "unfold",
        .c = { .print = adzi_c99_unfold, .backward = adzi_c99_unfold_backward },
        .onnx = { .refused = NO_PATCHES } },
    { .op = NULL },
};
