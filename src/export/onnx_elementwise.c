/* Printers of operators that compute each element by itself. */
#include <math.h>

#include "export/onnx.h"

static double number_of(const adzi_onnx *g, const char *name)
{
    return adzi_attr_number(g->call->op, g->call->attr, name);
}

/* One node with the call's inputs. */
bool adzi_onnx_print_plain(adzi_onnx *g)
{
    const char *in[] = { adzi_onnx_in(g, 0), adzi_onnx_in(g, 1), adzi_onnx_in(g, 2) };
    const char *out = adzi_onnx_out(g, 0);
    adzi_onnx_node(g, adzi_onnx_type(g), (adzi_onnx_names){ in, (size_t)g->call->n_in },
        ADZI_NAMES(out), ADZI_NO_ATTRS);
    return !g->failed;
}

/* Writes the node that produces the call's result from `x`. */
static bool last(adzi_onnx *g, const char *type, const char *a, const char *b)
{
    const char *in[] = { a, b }, *out = adzi_onnx_out(g, 0);
    adzi_onnx_node(
        g, type, (adzi_onnx_names){ in, b != NULL ? 2 : 1 }, ADZI_NAMES(out), ADZI_NO_ATTRS);
    return !g->failed;
}

/* a + alpha * b. Sums and products of truth values are Or and And. */
bool adzi_onnx_print_arithmetic(adzi_onnx *g)
{
    const adz_dtype dtype = adzi_onnx_result(g, 0)->dtype;
    const adzi_row *row = g->call->row;
    const double alpha = row->attributes[0] != NULL ? number_of(g, row->attributes[0]) : 1;
    const char *b = adzi_onnx_in(g, 1);
    if (dtype == ADZ_BOOL) {
        return last(g, row->onnx.second, adzi_onnx_in(g, 0), b);
    }
    if (alpha != 1) {
        b = adzi_onnx_step(g, "Mul", b, adzi_onnx_number(g, dtype, alpha));
    }
    return last(g, adzi_onnx_type(g), adzi_onnx_in(g, 0), b);
}

/* Truth values of numbers, as And, Or, Xor and Not take them. */
bool adzi_onnx_print_logical(adzi_onnx *g)
{
    const char *in[2] = { "", "" }, *out = adzi_onnx_out(g, 0);
    for (int i = 0; i < g->call->n_in; ++i) {
        in[i] = adzi_onnx_cast(g, adzi_onnx_in(g, i), adzi_onnx_input(g, i)->dtype, ADZ_BOOL);
    }
    adzi_onnx_node(g, adzi_onnx_type(g), (adzi_onnx_names){ in, (size_t)g->call->n_in },
        ADZI_NAMES(out), ADZI_NO_ATTRS);
    return !g->failed;
}

/* An integer is equal to itself, and no NaN. */
bool adzi_onnx_print_is_nan(adzi_onnx *g)
{
    const char *x = adzi_onnx_in(g, 0);
    if (!adzi_is_float(adzi_onnx_input(g, 0)->dtype)) {
        return last(g, "Not", adzi_onnx_step(g, "Equal", x, x), NULL);
    }
    return last(g, adzi_onnx_type(g), x, NULL);
}

/* Runtimes lack Relu of some integers, which is a maximum with 0. */
bool adzi_onnx_print_relu(adzi_onnx *g)
{
    const adz_dtype dtype = adzi_onnx_input(g, 0)->dtype;
    if (!adzi_is_float(dtype)) {
        return last(g, "Max", adzi_onnx_in(g, 0), adzi_onnx_number(g, dtype, 0));
    }
    return last(g, adzi_onnx_type(g), adzi_onnx_in(g, 0), NULL);
}

bool adzi_onnx_print_square(adzi_onnx *g)
{
    return last(g, "Mul", adzi_onnx_in(g, 0), adzi_onnx_in(g, 0));
}

bool adzi_onnx_print_rsqrt(adzi_onnx *g)
{
    return last(g, "Reciprocal", adzi_onnx_step(g, "Sqrt", adzi_onnx_in(g, 0), NULL), NULL);
}

/* Where(c, a, b) as a step, or as the result of the call. */
static const char *choose(adzi_onnx *g, const char *c, const char *a, const char *b)
{
    const char *y = adzi_onnx_temporary(g);
    adzi_onnx_node(g, "Where", ADZI_NAMES(c, a, b), ADZI_NAMES(y), ADZI_NO_ATTRS);
    return y;
}

static bool choose_last(adzi_onnx *g, const char *c, const char *a, const char *b)
{
    adzi_onnx_node(g, "Where", ADZI_NAMES(c, a, b), ADZI_NAMES(adzi_onnx_out(g, 0)), ADZI_NO_ATTRS);
    return !g->failed;
}

/* e^x - 1, for which there is no node. With u = e^x, rounding errors of u cancel in
 * (u - 1) x / log u, the formula for small x (Kahan). */
bool adzi_onnx_print_expm1(adzi_onnx *g)
{
    const adz_dtype dtype = adzi_onnx_result(g, 0)->dtype;
    const char *x = adzi_onnx_in(g, 0), *one = adzi_onnx_number(g, dtype, 1);
    const char *u = adzi_onnx_step(g, "Exp", x, NULL), *d = adzi_onnx_step(g, "Sub", u, one);
    const char *ratio = adzi_onnx_step(g, "Div", x, adzi_onnx_step(g, "Log", u, NULL));
    const char *exact = adzi_onnx_step(g, "Equal", u, one);
    const char *small = choose(g, exact, x, adzi_onnx_step(g, "Mul", d, ratio));
    const char *size = adzi_onnx_step(g, "Abs", x, NULL);
    return choose_last(
        g, adzi_onnx_step(g, "Greater", size, adzi_onnx_number(g, dtype, 0.5)), d, small);
}

/* log(1 + x), for which there is no node. With u = 1 + x, the rounding error of u cancels in
 * log u * x / (u - 1), and x itself is right where u is 1. */
bool adzi_onnx_print_log1p(adzi_onnx *g)
{
    const adz_dtype dtype = adzi_onnx_result(g, 0)->dtype;
    const char *x = adzi_onnx_in(g, 0), *one = adzi_onnx_number(g, dtype, 1);
    const char *u = adzi_onnx_step(g, "Add", x, one), *d = adzi_onnx_step(g, "Sub", u, one);
    const char *log = adzi_onnx_step(g, "Log", u, NULL);
    const char *mended = adzi_onnx_step(g, "Mul", log, adzi_onnx_step(g, "Div", x, d));
    const char *large = choose(g, adzi_onnx_step(g, "Equal", d, x), log, mended);
    return choose_last(g, adzi_onnx_step(g, "Equal", d, adzi_onnx_number(g, dtype, 0)), x, large);
}

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
    return e == 1 ? last(g, "Identity", x, NULL) : last(g, "Mul", y, x);
}

/* The special values of a square root are those of Sqrt, as in the library. */
bool adzi_onnx_print_pow_number(adzi_onnx *g)
{
    const adz_dtype dtype = adzi_onnx_input(g, 0)->dtype;
    const double e = number_of(g, "exponent");
    if (!adzi_is_float(adzi_onnx_result(g, 0)->dtype)) {
        return whole_power(g, e);
    }
    if (e == 0.5) {
        return last(g, "Sqrt", adzi_onnx_in(g, 0), NULL);
    }
    if (e == -0.5) {
        return last(g, "Reciprocal", adzi_onnx_step(g, "Sqrt", adzi_onnx_in(g, 0), NULL), NULL);
    }
    return last(g, "Pow", adzi_onnx_in(g, 0), adzi_onnx_number(g, dtype, e));
}

bool adzi_onnx_print_pow(adzi_onnx *g)
{
    if (!adzi_is_float(adzi_onnx_result(g, 0)->dtype)) {
        return adzi_onnx_refuse(
            g, "is a power of integers, which runtimes compute in floating point");
    }
    return last(g, adzi_onnx_type(g), adzi_onnx_in(g, 0), adzi_onnx_in(g, 1));
}

/* A bound in the range of an integer dtype: a number below or above it bounds nothing more. */
static double bound(adz_dtype dtype, double number)
{
    const double low = dtype == ADZ_U8 || dtype == ADZ_BOOL ? 0
                       : dtype == ADZ_I32                   ? INT32_MIN
                                                            : -0x1p63;
    const double high = dtype == ADZ_U8 ? 255 : dtype == ADZ_I32 ? INT32_MAX : 0x1.fffffffffffffp62;
    return adzi_is_float(dtype) ? number : number < low ? low : number > high ? high : number;
}

/* Runtimes take the largest finite number for a bound that Clip lacks. So a bound that is infinite
 * or NaN makes Max and Min of the call. */
bool adzi_onnx_print_clamp(adzi_onnx *g)
{
    const adz_dtype dtype = adzi_onnx_input(g, 0)->dtype;
    const double low = number_of(g, "min"), high = number_of(g, "max");
    const char *x = adzi_onnx_in(g, 0), *out = adzi_onnx_out(g, 0);
    const bool below = low == (double)-INFINITY, above = high == (double)INFINITY;
    const char *from = below ? "" : adzi_onnx_number(g, dtype, bound(dtype, low));
    const char *to = above ? "" : adzi_onnx_number(g, dtype, bound(dtype, high));
    if (isfinite(low) && isfinite(high)) {
        adzi_onnx_node(g, "Clip", ADZI_NAMES(x, from, to), ADZI_NAMES(out), ADZI_NO_ATTRS);
        return !g->failed;
    }
    if (above) {
        return below ? last(g, "Identity", x, NULL) : last(g, "Max", x, from);
    }
    return last(g, "Min", below ? x : adzi_onnx_step(g, "Max", x, from), to);
}

/* elu(alpha) and leaky_relu(negative_slope). Attributes of nodes are f32, so that a number which
 * f32 rounds is a factor of f64 instead. */
static bool with_alpha(adzi_onnx *g, bool elu)
{
    const adz_dtype dtype = adzi_onnx_result(g, 0)->dtype;
    const double alpha = number_of(g, g->call->row->attributes[0]);
    const char *x = adzi_onnx_in(g, 0);
    if (dtype == ADZ_F64 && (elu || (double)(float)alpha != alpha)) {
        const char *zero = adzi_onnx_number(g, dtype, 0),
                   *factor = adzi_onnx_number(g, dtype, alpha);
        const char *one = adzi_onnx_number(g, dtype, 1);
        const char *below =
            elu ? adzi_onnx_step(g, "Sub", adzi_onnx_step(g, "Exp", x, NULL), one) : x;
        return choose_last(
            g, adzi_onnx_step(g, "Greater", x, zero), x, adzi_onnx_step(g, "Mul", factor, below));
    }
    adzi_onnx_node(g, adzi_onnx_type(g), ADZI_NAMES(x), ADZI_NAMES(adzi_onnx_out(g, 0)),
        ADZI_ATTRS(ADZI_ATTR_FLOAT("alpha", alpha)));
    return !g->failed;
}

bool adzi_onnx_print_elu(adzi_onnx *g)
{
    return with_alpha(g, true);
}

bool adzi_onnx_print_leaky_relu(adzi_onnx *g)
{
    return with_alpha(g, false);
}

bool adzi_onnx_print_not_equal(adzi_onnx *g)
{
    return last(g, "Not", adzi_onnx_step(g, "Equal", adzi_onnx_in(g, 0), adzi_onnx_in(g, 1)), NULL);
}

bool adzi_onnx_print_is_finite(adzi_onnx *g)
{
    const char *x = adzi_onnx_in(g, 0);
    if (!adzi_is_float(adzi_onnx_input(g, 0)->dtype)) {
        return last(g, "Equal", x, x);
    }
    const char *nan = adzi_onnx_step(g, "IsNaN", x, NULL);
    const char *inf = adzi_onnx_step(g, "IsInf", x, NULL);
    return last(g, "Not", adzi_onnx_step(g, "Or", nan, inf), NULL);
}

bool adzi_onnx_print_masked_fill(adzi_onnx *g)
{
    const char *value = adzi_onnx_number(g, adzi_onnx_input(g, 0)->dtype, number_of(g, "value"));
    adzi_onnx_node(g, "Where", ADZI_NAMES(adzi_onnx_in(g, 1), value, adzi_onnx_in(g, 0)),
        ADZI_NAMES(adzi_onnx_out(g, 0)), ADZI_NO_ATTRS);
    return !g->failed;
}

bool adzi_onnx_print_cast(adzi_onnx *g)
{
    adzi_onnx_cast_to(g, adzi_onnx_in(g, 0), adzi_onnx_out(g, 0), adzi_onnx_result(g, 0)->dtype);
    return !g->failed;
}

/* The old elements are overwritten by the second input, which is converted and broadcast. */
bool adzi_onnx_print_copy(adzi_onnx *g)
{
    const adzi_traced_value *y = adzi_onnx_result(g, 0), *from = adzi_onnx_input(g, 1);
    const char *x = adzi_onnx_cast(g, adzi_onnx_in(g, 1), from->dtype, y->dtype);
    return last(g, "Expand", x, adzi_onnx_ints(g, y->sizes, (size_t)y->rank));
}

bool adzi_onnx_print_fill(adzi_onnx *g)
{
    const adzi_traced_value *y = adzi_onnx_result(g, 0);
    return last(g, "Expand", adzi_onnx_number(g, y->dtype, number_of(g, "value")),
        adzi_onnx_ints(g, y->sizes, (size_t)y->rank));
}

/* Floor, Ceil and Round: an integer is rounded already. */
bool adzi_onnx_print_rounded(adzi_onnx *g)
{
    const bool whole = !adzi_is_float(adzi_onnx_input(g, 0)->dtype);
    return last(g, whole ? "Identity" : adzi_onnx_type(g), adzi_onnx_in(g, 0), NULL);
}

/* A truth value is its own sign. */
bool adzi_onnx_print_sign(adzi_onnx *g)
{
    const bool truth = adzi_onnx_input(g, 0)->dtype == ADZ_BOOL;
    return last(g, truth ? "Identity" : adzi_onnx_type(g), adzi_onnx_in(g, 0), NULL);
}

bool adzi_onnx_print_trunc(adzi_onnx *g)
{
    const char *x = adzi_onnx_in(g, 0);
    if (!adzi_is_float(adzi_onnx_input(g, 0)->dtype)) {
        return last(g, "Identity", x, NULL);
    }
    const char *size = adzi_onnx_step(g, "Floor", adzi_onnx_step(g, "Abs", x, NULL), NULL);
    return last(g, "Mul", adzi_onnx_step(g, "Sign", x, NULL), size);
}

/* fmod: Mod with the sign of the dividend. */
static void modulo(adzi_onnx *g, const char *y)
{
    adzi_onnx_node(g, adzi_onnx_type(g), ADZI_NAMES(adzi_onnx_in(g, 0), adzi_onnx_in(g, 1)),
        ADZI_NAMES(y), ADZI_ATTRS(ADZI_ATTR_INT("fmod", 1)));
}

bool adzi_onnx_print_fmod(adzi_onnx *g)
{
    modulo(g, adzi_onnx_out(g, 0));
    return !g->failed;
}

/* Mod with the sign of the divisor takes integers only. That of floats moves by the divisor where
 * the signs differ. */
bool adzi_onnx_print_remainder(adzi_onnx *g)
{
    const adz_dtype dtype = adzi_onnx_result(g, 0)->dtype;
    const char *b = adzi_onnx_in(g, 1), *y = adzi_onnx_temporary(g);
    if (!adzi_is_float(dtype)) {
        return last(g, adzi_onnx_type(g), adzi_onnx_in(g, 0), b);
    }
    modulo(g, y);
    const char *zero = adzi_onnx_number(g, dtype, 0);
    const char *none = adzi_onnx_step(g, "Equal", y, zero);
    const char *below = adzi_onnx_step(g, "Less", y, zero);
    const char *apart = adzi_onnx_step(g, "Xor", adzi_onnx_step(g, "Less", b, zero), below);
    const char *moved = choose(g, apart, adzi_onnx_step(g, "Add", y, b), y);
    return choose_last(g, none, y, moved);
}

/* m sqrt(1 + (n / m)^2) for the larger side m and the smaller side n. Where m is 0 or infinite, it
 * is the length itself. */
bool adzi_onnx_print_hypot(adzi_onnx *g)
{
    const adz_dtype dtype = adzi_onnx_result(g, 0)->dtype;
    const char *a = adzi_onnx_step(g, "Abs", adzi_onnx_in(g, 0), NULL);
    const char *b = adzi_onnx_step(g, "Abs", adzi_onnx_in(g, 1), NULL);
    const char *m = adzi_onnx_step(g, "Max", a, b), *n = adzi_onnx_step(g, "Min", a, b);
    const char *ratio = adzi_onnx_step(g, "Div", n, m);
    const char *sum = adzi_onnx_step(
        g, "Add", adzi_onnx_step(g, "Mul", ratio, ratio), adzi_onnx_number(g, dtype, 1));
    const char *y = adzi_onnx_step(g, "Mul", m, adzi_onnx_step(g, "Sqrt", sum, NULL));
    const char *none = adzi_onnx_step(g, "Equal", m, adzi_onnx_number(g, dtype, 0));
    const char *all = adzi_onnx_step(g, "Equal", m, adzi_onnx_number(g, dtype, (double)INFINITY));
    return choose_last(g, adzi_onnx_step(g, "Or", none, all), m, y);
}
