/* How exports write operators: activation functions. */
#include "export/rows/row.h"

/* The sigmoid stands for the tanh: tanh(u) = 2 sigmoid(2 u) - 1. */
static const adzi_c99_special tanh_gelu[] = {
    { ADZ_GELU_TANH, "$a * @sigmoid(1.5957691216057308f * ($a + 0.044715f * $a * $a * $a))" },
};

const adzi_row adzi_rows_activation[] = {
    { .op = "bias_activation" },
    { .op = "elu",
        .attributes = { "alpha" },
        .otherwise = 1,
        C99_ELEMENT("$a > 0 ? $a : $0 * @expm1($a)"),
        ONNX(elu, broadcast, "Elu") },
    { .op = "gelu",
        .attributes = { "approximate" },
        C99_ELEMENT("@gelu($a)"),
        .c.special = tanh_gelu,
        .c.n_special = 1 },
    { .op = "glu", C99(glu) },
    { .op = "leaky_relu",
        .attributes = { "negative_slope" },
        .otherwise = 0.01,
        C99_ELEMENT("$a > 0 ? $a : $0 * $a"),
        ONNX(leaky_relu, broadcast, "LeakyRelu") },
    { .op = "log_softmax", C99(log_softmax), ONNX(along, first, "LogSoftmax") },
    { .op = "relu",
        C99_ELEMENT("$a < 0 ? 0 : $a"),
        .c.whole = "$a > 0 ? $a : 0",
        ONNX(relu, broadcast, "Relu") },
    { .op = "silu", C99_ELEMENT("$a * @sigmoid($a)") },
    { .op = "softmax", C99(softmax), ONNX(along, first, "Softmax") },
    { .op = "softplus",
        .attributes = { "beta", "threshold" },
        .otherwise = 1,
        C99_ELEMENT("$0 * $a > $1 ? $a : @softplus($0 * $a) / $0") },
    { .op = NULL },
};
