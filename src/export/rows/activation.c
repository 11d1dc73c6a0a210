/* How exports write operators: activation functions. */
#include "export/rows/row.h"

/* The sigmoid stands for the tanh: tanh(u) = 2 sigmoid(2 u) - 1. */
static const adzi_c99_special tanh_gelu[] = {
    { ADZ_GELU_TANH, { "$a * @sigmoid(1.59576912f * ($a + 0.044715f * $a * $a * $a))",
                         "$g * @gelu_tanh_slope($a)", NULL, NULL } },
};

const adzi_row adzi_rows_activation[] = {
    { .op = "elu",
        .attributes = { "alpha" },
        .otherwise = 1,
        C99_UNARY("$a > 0 ? $a : $0 * @expm1($a)", "$a > 0 ? $g : $g * ($y + $0)"),
        ONNX(elu, broadcast, "Elu") },
    { .op = "gelu",
        .attributes = { "approximate" },
        C99_UNARY("@gelu($a)", "$g * @gelu_slope($a)"),
        .c.special = tanh_gelu,
        .c.n_special = 1 },
    { .op = "glu", C99_FORWARD(glu) },
    { .op = "leaky_relu",
        .attributes = { "negative_slope" },
        .otherwise = 0.01,
        C99_UNARY("$a > 0 ? $a : $0 * $a", "$a > 0 ? $g : $0 * $g"),
        ONNX(leaky_relu, broadcast, "LeakyRelu") },
    { .op = "log_softmax",
        C99(log_softmax, log_softmax_backward),
        ONNX(along, first, "LogSoftmax") },
    { .op = "relu",
        C99_UNARY("$a < 0 ? 0 : $a", "$y <= 0 ? 0.0f : $g"),
        .c.whole = "$a > 0 ? $a : 0",
        ONNX(relu, broadcast, "Relu") },
    { .op = "silu", C99_UNARY("$a * @sigmoid($a)", "$g * @silu_slope($a)") },
    { .op = "softmax", C99(softmax, softmax_backward), ONNX(along, first, "Softmax") },
    { .op = "softplus",
        .attributes = { "beta", "threshold" },
        .otherwise = 1,
        C99_UNARY("$0 * $a > $1 ? $a : @softplus($0 * $a) / $0",
            "$0 * $a > $1 ? $g : $g * @sigmoid($0 * $a)") },
    { .op = NULL },
};
