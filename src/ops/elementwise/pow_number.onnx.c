/* Nodes of powers whose exponent is a number. */
#include "export/onnx.h"

adzi_onnx_printer adzi_onnx_print_pow_number;

/* x^e of integers as products: runtimes compute powers in floating point, which loses digits. */
static bool whole_power(adzi_onnx *g, double e)
{
    const char *x = adzi_onnx_in(g, 0), *y = x;
    if (e == 0) {
        adzi_onnx_cast_to(g, adzi_onnx_step(g, "Equal", x, x), adzi_onnx_out(g, 0),
            adzi_onnx_result(g, 0)->dtype);
        return !g->failed;
    }
    if (!(e >= 1 && e <= 8)) {
        return adzi_onnx_refuse(g,
            "is a power of integers, which runtimes compute in floating point; exponents from 0 to 8 are written as products");
    }
    for (int i = 2; i < (int)e; ++i) {
        y = adzi_onnx_step(g, "Mul", y, x);
    }
    return e == 1 ? adzi_onnx_last(g, "Identity", ADZI_NAMES(x), ADZI_NO_ATTRS)
                  : adzi_onnx_last(g, "Mul", ADZI_NAMES(y, x), ADZI_NO_ATTRS);
}

/* The special values of a square root are those of Sqrt, as in the library. */
bool adzi_onnx_print_pow_number(adzi_onnx *g)
{
    const double e = adzi_onnx_attr_number(g, "exponent");
    if (!adzi_is_float(adzi_onnx_result(g, 0)->dtype)) {
        return whole_power(g, e);
    }
    if (e == 0.5) {
        return adzi_onnx_last(g, "Sqrt", ADZI_NAMES(adzi_onnx_in(g, 0)), ADZI_NO_ATTRS);
    }
    if (e == -0.5) {
        const char *root = adzi_onnx_step(g, "Sqrt", adzi_onnx_in(g, 0), NULL);
        return adzi_onnx_last(g, "Reciprocal", ADZI_NAMES(root), ADZI_NO_ATTRS);
    }
    return adzi_onnx_last(
        g, "Pow", ADZI_NAMES(adzi_onnx_in(g, 0), adzi_onnx_like_input(g, e)), ADZI_NO_ATTRS);
}
