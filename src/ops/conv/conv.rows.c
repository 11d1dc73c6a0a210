/* How exports write operators: convolutions. */
#include "export/rows/row.h"

adzi_c99_printer adzi_c99_conv, adzi_c99_conv_transpose, adzi_c99_conv_weight, adzi_c99_fold,
    adzi_c99_unfold;
adzi_onnx_printer adzi_onnx_print_conv;
adzi_onnx_batch_rule adzi_onnx_batch_conv;

#define NO_PATCHES "has no counterpart in ONNX's opset 17; write it as a convolution"

const adzi_row adzi_rows_conv[] = {
    { .op = "conv1d", C99(conv), ONNX(conv, conv, "Conv") },
    { .op = "conv2d", C99(conv), ONNX(conv, conv, "Conv") },
    { .op = "conv3d", C99(conv), ONNX(conv, conv, "Conv") },
    { .op = "conv_transpose1d", C99(conv_transpose), ONNX(conv, conv, "ConvTranspose") },
    { .op = "conv_transpose2d", C99(conv_transpose), ONNX(conv, conv, "ConvTranspose") },
    { .op = "conv_transpose3d", C99(conv_transpose), ONNX(conv, conv, "ConvTranspose") },
    { .op = "conv_weight",
        C99(conv_weight),
        .onnx = { .refused =
                      "is the gradient of a weight, for which ONNX has no node; export the forward alone" } },
    { .op = "fold", C99(fold), .onnx = { .refused = NO_PATCHES } },
    { .op = "unfold", C99(unfold), .onnx = { .refused = NO_PATCHES } },
    { .op = NULL },
};
