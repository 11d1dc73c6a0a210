/* Elementwise operators. */
#include <string.h>

#include "adze/ops/activation.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/compare.h"
#include "adze/ops/convert.h"
#include "adze/ops/math.h"
#include "adze/ops/reduction.h"
#include "adze/ops/rounding.h"
#include "adze/ops/shape.h"
#include "adze/ops/special.h"
#include "adze/ops/trigonometry.h"
#include "run.h"

static bool is_float(const adz_tensor *t)
{
    return adz_tensor_dtype(t) == ADZ_F32 || adz_tensor_dtype(t) == ADZ_F64;
}

/* ---- one input ------------------------------------------------------------------------------ */

adz_tensor *adzi_reader_softplus(adz_tensor *x)
{
    return adz_neg(adz_logsigmoid(adz_neg(x)));
}

/* NaN has no sign. */
static adz_tensor *sign_of(adz_tensor *x)
{
    adz_tensor *y = adz_sign(x);
    return y != NULL && is_float(x) ? adz_where(adz_isnan(x), x, y) : y;
}

static adz_tensor *same(adz_tensor *x)
{
    return x;
}

static adz_tensor *run_is_inf(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    const bool below = adzi_reader_int(call, "detect_negative", 1) != 0;
    const bool above = adzi_reader_int(call, "detect_positive", 1) != 0;
    if (below && above) {
        return adz_isinf(x);
    }
    if (below || above) {
        return below ? adz_isneginf(x) : adz_isposinf(x);
    }
    return x != NULL ? adz_zeros(adz_tensor_shape(x), ADZ_BOOL) : NULL;
}

/* ---- two inputs ----------------------------------------------------------------------------- */

/* Of whole numbers, the fraction is dropped. Rounding down differs from that where a rest is left
 * and the signs differ. */
static adz_tensor *divide(adz_tensor *a, adz_tensor *b)
{
    if (a == NULL || b == NULL || is_float(a)) {
        return adz_div(a, b);
    }
    adz_tensor *y = adz_floor_divide(a, b);
    adz_tensor *rest = adz_ne_number(adz_sub(a, adz_mul(y, b)), 0);
    adz_tensor *signs = adz_logical_xor(adz_lt_number(a, 0), adz_lt_number(b, 0));
    return adz_where(adz_logical_and(rest, signs), adz_add_number(y, 1), y);
}

/* The result has the dtype of the base. */
static adz_tensor *power(adz_tensor *a, adz_tensor *b)
{
    if (a == NULL || b == NULL || adz_tensor_dtype(a) == adz_tensor_dtype(b)) {
        return adz_pow(a, b);
    }
    const adz_dtype dtype = adz_tensor_dtype(a);
    if (is_float(a)) {
        return adz_pow(a, adz_to(b, dtype));
    }
    if (is_float(b)) {
        a = adz_to(a, ADZ_F64);
        b = adz_to(b, ADZ_F64);
    }
    return adz_to(adz_pow(a, b), dtype);
}

static adz_tensor *run_mod(const reader_call *call)
{
    adz_tensor *a = adzi_reader_in(call, 0), *b = adzi_reader_in(call, 1);
    return adzi_reader_int(call, "fmod", 0) != 0 ? adz_fmod(a, b) : adz_remainder(a, b);
}

static const struct binary {
    const char *name;
    adz_tensor *(*run)(adz_tensor *a, adz_tensor *b);
} binaries[] = {
    { "Add", adz_add },
    { "And", adz_logical_and },
    { "Div", divide },
    { "Equal", adz_eq },
    { "Greater", adz_gt },
    { "Less", adz_lt },
    { "Mul", adz_mul },
    { "Or", adz_logical_or },
    { "Pow", power },
    { "Sub", adz_sub },
    { "Xor", adz_logical_xor },
};

/* Before opset 7, b is broadcast only if an attribute says so, from dimension `axis` of a on. */
static adz_tensor *run_old_binary(const reader_call *call)
{
    adz_tensor *a = adzi_reader_in(call, 0), *b = adzi_reader_in(call, 1);
    const bool broadcast = adzi_reader_int(call, "broadcast", 0) != 0;
    if (a == NULL || b == NULL) {
        return NULL;
    }
    const adz_shape x = adz_tensor_shape(a);
    adz_shape y = adz_tensor_shape(b);
    if (!broadcast &&
        (x.rank != y.rank || memcmp(x.sizes, y.sizes, sizeof(int64_t) * (size_t)x.rank) != 0)) {
        return adzi_reader_fail(call, ADZ_ERR_SHAPE, "%s and %s differ, and broadcast is 0",
            adz_text_shape(a), adz_text_shape(b));
    }
    const int64_t axis = adzi_reader_int(call, "axis", x.rank - y.rank);
    if (broadcast && (axis < 0 || axis > x.rank - y.rank)) {
        return adzi_reader_fail(call, ADZ_ERR_SHAPE, "%s does not fit into %s from axis %lld on",
            adz_text_shape(b), adz_text_shape(a), (long long)axis);
    }
    while (broadcast && axis + y.rank < x.rank) {
        y.sizes[y.rank++] = 1;
    }
    b = adz_reshape(b, y);
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; ++i) {
        if (strcmp(binaries[i].name, call->node->type) == 0) {
            return binaries[i].run(a, b);
        }
    }
    return NULL;
}

/* ---- any number of inputs ------------------------------------------------------------------- */

static adz_tensor *fold(
    const reader_call *call, adz_tensor *(*combine)(adz_tensor *a, adz_tensor *b))
{
    adz_tensor *y = adzi_reader_in(call, 0);
    for (size_t i = 1; i < call->node->n_inputs; ++i) {
        y = combine(y, adzi_reader_in(call, i));
    }
    return y;
}

static adz_tensor *run_max(const reader_call *call)
{
    return fold(call, adz_maximum);
}

static adz_tensor *run_min(const reader_call *call)
{
    return fold(call, adz_minimum);
}

static adz_tensor *run_sum(const reader_call *call)
{
    return fold(call, adz_add);
}

static adz_tensor *run_mean(const reader_call *call)
{
    return adz_div_number(fold(call, adz_add), (double)call->node->n_inputs);
}

static adz_tensor *run_where(const reader_call *call)
{
    adz_tensor *condition = adzi_reader_in(call, 0), *a = adzi_reader_in(call, 1);
    return adz_where(condition, a, adzi_reader_in(call, 2));
}

/* clang-format off */
#define UNARY(name, since, function) { name, since, 0, 1, 1, 1, "", 0, NULL, function, NULL, NULL }
#define STEPS(name, since, function) { name, since, 0, 1, 1, 1, "", ALL_FIXED, NULL, function, NULL, NULL }
#define BINARY(name, since, function) { name, since, 0, 2, 2, 1, "", 0, NULL, NULL, function, NULL }
#define TRUTH(name, since, function) { name, since, 0, 2, 2, 1, "", ALL_FIXED, NULL, NULL, function, NULL }
#define OLD(name) { name, 6, 6, 2, 2, 1, "broadcast:i axis:i", 0, run_old_binary, NULL, NULL, NULL }
#define OLD_TRUTH(name) { name, 6, 6, 2, 2, 1, "broadcast:i axis:i", ALL_FIXED, run_old_binary, NULL, NULL, NULL }
#define FOLD(name, since, function) { name, since, 0, 1, MANY, 1, "", 0, function, NULL, NULL, NULL }

const reader_operator adzi_reader_elementwise[] = {
    UNARY("Abs", 6, adz_abs),
    UNARY("Acos", 7, adz_acos),
    UNARY("Acosh", 9, adz_acosh),
    OLD("Add"),
    BINARY("Add", 7, adz_add),
    OLD_TRUTH("And"),
    TRUTH("And", 7, adz_logical_and),
    UNARY("Asin", 7, adz_asin),
    UNARY("Asinh", 9, adz_asinh),
    UNARY("Atan", 7, adz_atan),
    UNARY("Atanh", 9, adz_atanh),
    TRUTH("BitwiseAnd", 18, adz_bitwise_and),
    STEPS("BitwiseNot", 18, adz_bitwise_not),
    TRUTH("BitwiseOr", 18, adz_bitwise_or),
    TRUTH("BitwiseXor", 18, adz_bitwise_xor),
    STEPS("Ceil", 6, adz_ceil),
    UNARY("Cos", 7, adz_cos),
    UNARY("Cosh", 9, adz_cosh),
    OLD("Div"),
    BINARY("Div", 7, divide),
    OLD_TRUTH("Equal"),
    TRUTH("Equal", 7, adz_eq),
    UNARY("Erf", 9, adz_erf),
    UNARY("Exp", 6, adz_exp),
    STEPS("Floor", 6, adz_floor),
    OLD_TRUTH("Greater"),
    TRUTH("Greater", 7, adz_gt),
    TRUTH("GreaterOrEqual", 12, adz_ge),
    UNARY("Identity", 6, same),
    { "IsInf", 10, 0, 1, 1, 1, "detect_negative:i detect_positive:i", ALL_FIXED, run_is_inf, NULL, NULL, NULL },
    STEPS("IsNaN", 9, adz_isnan),
    OLD_TRUTH("Less"),
    TRUTH("Less", 7, adz_lt),
    TRUTH("LessOrEqual", 12, adz_le),
    UNARY("Log", 6, adz_log),
    FOLD("Max", 6, run_max),
    FOLD("Mean", 6, run_mean),
    FOLD("Min", 6, run_min),
    { "Mod", 10, 0, 2, 2, 1, "fmod:i", 0, run_mod, NULL, NULL, NULL },
    OLD("Mul"),
    BINARY("Mul", 7, adz_mul),
    UNARY("Neg", 6, adz_neg),
    STEPS("Not", 6, adz_logical_not),
    OLD_TRUTH("Or"),
    TRUTH("Or", 7, adz_logical_or),
    OLD("Pow"),
    BINARY("Pow", 7, power),
    UNARY("Reciprocal", 6, adz_reciprocal),
    UNARY("Relu", 6, adz_relu),
    STEPS("Round", 11, adz_round),
    UNARY("Sigmoid", 6, adz_sigmoid),
    STEPS("Sign", 9, sign_of),
    UNARY("Sin", 7, adz_sin),
    UNARY("Sinh", 9, adz_sinh),
    UNARY("Softplus", 6, adzi_reader_softplus),
    UNARY("Softsign", 6, adz_softsign),
    UNARY("Sqrt", 6, adz_sqrt),
    OLD("Sub"),
    BINARY("Sub", 7, adz_sub),
    FOLD("Sum", 6, run_sum),
    UNARY("Tan", 7, adz_tan),
    UNARY("Tanh", 6, adz_tanh),
    { "Where", 9, 0, 3, 3, 1, "", 1, run_where, NULL, NULL, NULL },
    OLD_TRUTH("Xor"),
    TRUTH("Xor", 7, adz_logical_xor),
    { .name = NULL },
};
/* clang-format on */
