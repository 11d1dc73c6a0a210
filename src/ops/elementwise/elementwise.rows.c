/* How exports write operators: the elementwise functions of the table. */
#include "export/rows/row.h"

adzi_c99_text_function adzi_c99_clamp_text;
adzi_onnx_printer adzi_onnx_print_clamp, adzi_onnx_print_pow_number;

/* Neither writer has a printer. */
#define BY_EXPRESSION .c = { .print = NULL }

#define NO_ONNX(why) .onnx = { .refused = why }

/* The sigmoid stands for the tanh: tanh(u) = 2 sigmoid(2 u) - 1. */
static const adzi_c99_special tanh_gelu[] = {
    { ADZ_GELU_TANH, "$a * @sigmoid(1.5957691216057308f * ($a + 0.044715f * $a * $a * $a))" },
};

/* Powers that need no function. */
static const adzi_c99_special powers[] = {
    { 0, "1" },
    { 0.5, "@sqrt($a)" },
    { -0.5, "1 / @sqrt($a)" },
    { -1, "1 / $a" },
    { 1, "$a" },
    { 2, "$a * $a" },
    { 3, "$a * $a * $a" },
    { 4, "$a * $a * $a * $a" },
};

/* The kernel's choices, by which infinite and missing ends give what they give in the library. The
 * weight is an input or an attribute. */
#define LERP(weight)                                                        \
    "w = " weight "; near = Less(Abs(w), 0.5); from = Where(near, $a, $b);" \
    " factor = Where(near, w, Sub(w, 1)); step = Sub($b, $a);"              \
    " far = Add(Mul(Sub(1, w), $a), Mul(w, $b));"                           \
    " Where(Equal(Sub(step, step), 0), Add(from, Mul(factor, step)),"       \
    " Where(And(And(Equal($a, $a), Equal($b, $b)), Or(Equal(factor, 0), Equal($a, $b))), from, far))"

#define EXPORT(fn, ...) { .op = #fn, __VA_ARGS__ },

const adzi_row adzi_rows_elementwise[] = {
#include "ops/elementwise/table.h"
    { .op = NULL },
};
