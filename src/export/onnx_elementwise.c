/* Printers of operators that compute each element by itself. */
#include <math.h>
#include <string.h>

#include "export/onnx.h"

typedef adzi_onnx_printer printer;

static double number_of(const adzi_onnx *g, const char *name)
{
    return adzi_attr_number(g->call->op, g->call->attr, name);
}

/* One node with the call's inputs. */
static bool plain(adzi_onnx *g, const printer *row)
{
    const char *in[] = { adzi_onnx_in(g, 0), adzi_onnx_in(g, 1), adzi_onnx_in(g, 2) };
    const char *out = adzi_onnx_out(g, 0);
    adzi_onnx_node(g, row->type, in, (size_t)g->call->n_in, &out, 1, NULL, 0);
    return !g->failed;
}

/* One node without a result of its own between `x` and the result. */
static bool last(adzi_onnx *g, const char *type, const char *a, const char *b)
{
    const char *in[] = { a, b }, *out = adzi_onnx_out(g, 0);
    adzi_onnx_node(g, type, in, b != NULL ? 2 : 1, &out, 1, NULL, 0);
    return !g->failed;
}

/* a + alpha * b. Sums and products of truth values are Or and And. */
static bool arithmetic(adzi_onnx *g, const printer *row)
{
    const adz_dtype dtype = adzi_onnx_result(g, 0)->dtype;
    const bool scaled = strcmp(row->op, "add") == 0 || strcmp(row->op, "sub") == 0;
    const double alpha = scaled ? number_of(g, "alpha") : 1;
    const char *b = adzi_onnx_in(g, 1);
    if (dtype == ADZ_BOOL) {
        return last(g, strcmp(row->op, "mul") == 0 ? "And" : "Or", adzi_onnx_in(g, 0), b);
    }
    if (alpha != 1) {
        b = adzi_onnx_step(g, "Mul", b, adzi_onnx_number(g, dtype, alpha));
    }
    return last(g, row->type, adzi_onnx_in(g, 0), b);
}

static bool square(adzi_onnx *g, const printer *row)
{
    (void)row;
    return last(g, "Mul", adzi_onnx_in(g, 0), adzi_onnx_in(g, 0));
}

static bool rsqrt_(adzi_onnx *g, const printer *row)
{
    (void)row;
    return last(g, "Reciprocal", adzi_onnx_step(g, "Sqrt", adzi_onnx_in(g, 0), NULL), NULL);
}

/* e^x - 1 and log(1 + x), for which there are no nodes. */
static bool by_one(adzi_onnx *g, const printer *row)
{
    const char *one = adzi_onnx_number(g, adzi_onnx_input(g, 0)->dtype, 1);
    if (strcmp(row->op, "expm1") == 0) {
        return last(g, "Sub", adzi_onnx_step(g, "Exp", adzi_onnx_in(g, 0), NULL), one);
    }
    return last(g, "Log", adzi_onnx_step(g, "Add", adzi_onnx_in(g, 0), one), NULL);
}

static bool pow_number(adzi_onnx *g, const printer *row)
{
    (void)row;
    const adz_dtype dtype = adzi_onnx_input(g, 0)->dtype;
    const char *e = adzi_onnx_number(g, dtype, number_of(g, "exponent"));
    return last(g, "Pow", adzi_onnx_in(g, 0), e);
}

/* A bound that is infinite is left out. */
static bool clamp(adzi_onnx *g, const printer *row)
{
    (void)row;
    const adz_dtype dtype = adzi_onnx_input(g, 0)->dtype;
    const double low = number_of(g, "min"), high = number_of(g, "max");
    const char *in[] = { adzi_onnx_in(g, 0), "", "" }, *out = adzi_onnx_out(g, 0);
    if (low != (double)-INFINITY) {
        in[1] = adzi_onnx_number(g, dtype, low);
    }
    if (high != (double)INFINITY) {
        in[2] = adzi_onnx_number(g, dtype, high);
    }
    adzi_onnx_node(g, "Clip", in, 3, &out, 1, NULL, 0);
    return !g->failed;
}

/* elu(alpha) and leaky_relu(negative_slope): attributes are f32. */
static bool with_alpha(adzi_onnx *g, const printer *row)
{
    const char *name = strcmp(row->op, "elu") == 0 ? "alpha" : "negative_slope";
    adzi_onnx_node(g, row->type, ADZI_NAMES(adzi_onnx_in(g, 0)), ADZI_NAMES(adzi_onnx_out(g, 0)),
        ADZI_ATTRS(ADZI_ATTR_FLOAT("alpha", number_of(g, name))));
    return !g->failed;
}

static bool not_equal(adzi_onnx *g, const printer *row)
{
    (void)row;
    return last(g, "Not", adzi_onnx_step(g, "Equal", adzi_onnx_in(g, 0), adzi_onnx_in(g, 1)), NULL);
}

static bool is_finite(adzi_onnx *g, const printer *row)
{
    (void)row;
    const char *nan = adzi_onnx_step(g, "IsNaN", adzi_onnx_in(g, 0), NULL);
    const char *inf = adzi_onnx_step(g, "IsInf", adzi_onnx_in(g, 0), NULL);
    return last(g, "Not", adzi_onnx_step(g, "Or", nan, inf), NULL);
}

static bool masked_fill(adzi_onnx *g, const printer *row)
{
    (void)row;
    const char *value = adzi_onnx_number(g, adzi_onnx_input(g, 0)->dtype, number_of(g, "value"));
    adzi_onnx_node(g, "Where", ADZI_NAMES(adzi_onnx_in(g, 1), value, adzi_onnx_in(g, 0)),
        ADZI_NAMES(adzi_onnx_out(g, 0)), NULL, 0);
    return !g->failed;
}

static bool cast(adzi_onnx *g, const printer *row)
{
    (void)row;
    adzi_onnx_cast_to(g, adzi_onnx_in(g, 0), adzi_onnx_out(g, 0), adzi_onnx_result(g, 0)->dtype);
    return !g->failed;
}

/* The old elements are overwritten by the second input, which is converted and broadcast. */
static bool copy(adzi_onnx *g, const printer *row)
{
    (void)row;
    const adzi_traced_value *y = adzi_onnx_result(g, 0), *from = adzi_onnx_input(g, 1);
    const char *x = adzi_onnx_cast(g, adzi_onnx_in(g, 1), from->dtype, y->dtype);
    return last(g, "Expand", x, adzi_onnx_ints(g, y->sizes, (size_t)y->rank));
}

static bool fill(adzi_onnx *g, const printer *row)
{
    (void)row;
    const adzi_traced_value *y = adzi_onnx_result(g, 0);
    return last(g, "Expand", adzi_onnx_number(g, y->dtype, number_of(g, "value")),
        adzi_onnx_ints(g, y->sizes, (size_t)y->rank));
}

#define BROADCAST(op, type)                        \
    {                                              \
        op, plain, adzi_onnx_carry_broadcast, type \
    }
#define ARITHMETIC(op, type)                            \
    {                                                   \
        op, arithmetic, adzi_onnx_carry_broadcast, type \
    }

const adzi_onnx_printer adzi_onnx_elementwise[] = {
    ARITHMETIC("add", "Add"),
    ARITHMETIC("sub", "Sub"),
    ARITHMETIC("mul", "Mul"),
    BROADCAST("div", "Div"),
    BROADCAST("neg", "Neg"),
    BROADCAST("abs", "Abs"),
    BROADCAST("cos", "Cos"),
    BROADCAST("sin", "Sin"),
    BROADCAST("erf", "Erf"),
    BROADCAST("exp", "Exp"),
    BROADCAST("log", "Log"),
    BROADCAST("sqrt", "Sqrt"),
    BROADCAST("reciprocal", "Reciprocal"),
    BROADCAST("pow", "Pow"),
    BROADCAST("sigmoid", "Sigmoid"),
    BROADCAST("tanh", "Tanh"),
    BROADCAST("relu", "Relu"),
    BROADCAST("maximum", "Max"),
    BROADCAST("minimum", "Min"),
    BROADCAST("eq", "Equal"),
    BROADCAST("gt", "Greater"),
    BROADCAST("ge", "GreaterOrEqual"),
    BROADCAST("lt", "Less"),
    BROADCAST("le", "LessOrEqual"),
    BROADCAST("logical_and", "And"),
    BROADCAST("logical_or", "Or"),
    BROADCAST("logical_xor", "Xor"),
    BROADCAST("logical_not", "Not"),
    BROADCAST("isnan", "IsNaN"),
    BROADCAST("where", "Where"),
    BROADCAST("clone", "Identity"),
    BROADCAST("detach", "Identity"),
    { "elu", with_alpha, adzi_onnx_carry_broadcast, "Elu" },
    { "leaky_relu", with_alpha, adzi_onnx_carry_broadcast, "LeakyRelu" },
    { "square", square, adzi_onnx_carry_broadcast, NULL },
    { "rsqrt", rsqrt_, adzi_onnx_carry_broadcast, NULL },
    { "expm1", by_one, adzi_onnx_carry_broadcast, NULL },
    { "log1p", by_one, adzi_onnx_carry_broadcast, NULL },
    { "pow_number", pow_number, adzi_onnx_carry_broadcast, NULL },
    { "clamp", clamp, adzi_onnx_carry_broadcast, NULL },
    { "ne", not_equal, adzi_onnx_carry_broadcast, NULL },
    { "isfinite", is_finite, adzi_onnx_carry_broadcast, NULL },
    { "masked_fill", masked_fill, adzi_onnx_carry_broadcast, NULL },
    { "to", cast, adzi_onnx_carry_broadcast, NULL },
    { "copy", copy, adzi_onnx_carry_none, NULL },
    { "fill", fill, adzi_onnx_carry_none, NULL },
    { NULL, NULL, NULL, NULL },
};
