/* How exports write operators: activation functions. */
#include "export/c99/c99.h"
#include "export/onnx.h"

/* The sigmoid stands for the tanh: tanh(u) = 2 sigmoid(2 u) - 1. */
static const adzi_c99_special tanh_gelu[] = {
    { ADZ_GELU_TANH, { "$a * @sigmoid(1.59576912f * ($a + 0.044715f * $a * $a * $a))",
                         "$g * @gelu_tanh_slope($a)", NULL, NULL } },
};

const adzi_row adzi_rows_activation[] = {
    { .op = "elu",
        .attributes = { "alpha" },
        .otherwise = 1,
        .c = { ADZI_C99_ELEMENT(
            "$a > 0 ? $a : $0 * @expm1($a)", "$a > 0 ? $g : $g * ($y + $0)", NULL, NULL) },
        .onnx = { .print = adzi_onnx_print_elu,
            .carry = adzi_onnx_carry_broadcast,
            .type = "Elu" } },
    { .op = "gelu",
        .attributes = { "approximate" },
        .c = { ADZI_C99_ELEMENT("@gelu($a)", "$g * @gelu_slope($a)", NULL, NULL),
            .special = tanh_gelu, .n_special = 1 } },
    { .op = "glu", .c = { .print = adzi_c99_glu } },
    { .op = "leaky_relu",
        .attributes = { "negative_slope" },
        .otherwise = 0.01,
        .c = { ADZI_C99_ELEMENT("$a > 0 ? $a : $0 * $a", "$a > 0 ? $g : $0 * $g", NULL, NULL) },
        .onnx = { .print = adzi_onnx_print_leaky_relu,
            .carry = adzi_onnx_carry_broadcast,
            .type = "LeakyRelu" } },
    { .op = "log_softmax",
        .c = { .print = adzi_c99_log_softmax, .backward = adzi_c99_log_softmax_backward },
        .onnx = { .print = adzi_onnx_print_along,
            .carry = adzi_onnx_carry_first,
            .type = "LogSoftmax" } },
    { .op = "relu",
        .c = { ADZI_C99_ELEMENT("$a < 0 ? 0 : $a", "$y <= 0 ? 0.0f : $g", NULL, NULL),
            .whole = "$a > 0 ? $a : 0" },
        .onnx = { .print = adzi_onnx_print_relu,
            .carry = adzi_onnx_carry_broadcast,
            .type = "Relu" } },
    { .op = "silu",
        .c = { ADZI_C99_ELEMENT("$a * @sigmoid($a)", "$g * @silu_slope($a)", NULL, NULL) } },
    { .op = "softmax",
        .c = { .print = adzi_c99_softmax, .backward = adzi_c99_softmax_backward },
        .onnx = { .print = adzi_onnx_print_along,
            .carry = adzi_onnx_carry_first,
            .type = "Softmax" } },
    { .op = "softplus",
        .attributes = { "beta", "threshold" },
        .otherwise = 1,
        .c = { ADZI_C99_ELEMENT("$0 * $a > $1 ? $a : @softplus($0 * $a) / $0",
            "$0 * $a > $1 ? $g : $g * @sigmoid($0 * $a)", NULL, NULL) } },
    { .op = NULL },
};
