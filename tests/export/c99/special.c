/* Special values in compiled functions: infinities, NaN, both zeros, subnormals, and integers that
 * no float holds. */
#include <float.h>

#include "batch.h"
#include "tests.h"

/* ---- floats ---------------------------------------------------------------------------------- */

static const float floats[] = { 0, -0.0f, 1, -1, 0.5f, -0.5f, 2.5f, -3, 65, 256, 1e-40f, -1e-40f,
    FLT_MIN, FLT_MAX, -FLT_MAX, INFINITY, -INFINITY, NAN, 1e10f, -1e10f, 16777216, 88, -88,
    1e-10f };
enum { FLOATS = sizeof floats / sizeof *floats };

/* x[i] and z[i] of all pairs of the special values. */
static void all_pairs(adz_tensor **x, adz_tensor **z)
{
    static float a[FLOATS * FLOATS], b[FLOATS * FLOATS];
    for (int i = 0; i < FLOATS * FLOATS; ++i) {
        a[i] = floats[i / FLOATS];
        b[i] = floats[i % FLOATS];
    }
    *x = adz_tensor_from(a, ADZ_SHAPE(FLOATS, FLOATS), ADZ_F32);
    *z = adz_tensor_from(b, ADZ_SHAPE(FLOATS, FLOATS), ADZ_F32);
}

CASE(f_abs, adz_abs(x))
CASE(f_neg, adz_neg(x))
CASE(f_clamp, adz_clamp(x, -0.5, 1))
CASE(f_clamp_up, adz_clamp(x, 0, INFINITY))
CASE(f_clamp_crossed, adz_clamp(x, 1, -1))
CASE(f_clamp_nan, adz_clamp(x, NAN, 1))
CASE(f_clamp_nan_above, adz_clamp(x, -1, NAN))
CASE(f_erf, adz_erf(x))
CASE(f_exp, adz_exp(x))
CASE(f_expm1, adz_expm1(x))
CASE(f_log, adz_log(x))
CASE(f_log1p, adz_log1p(x))
CASE(f_logsigmoid, adz_logsigmoid(x))
CASE(f_reciprocal, adz_reciprocal(x))
CASE(f_rsqrt, adz_rsqrt(x))
CASE(f_sqrt, adz_sqrt(x))
CASE(f_square, adz_square(x))
CASE(f_tanh, adz_tanh(x))
CASE(f_sigmoid, adz_sigmoid(x))
CASE(f_relu, adz_relu(x))
CASE(f_leaky_relu, adz_leaky_relu(x, 0.1))
CASE(f_elu, adz_elu(x, 1.5))
CASE(f_silu, adz_silu(x))
CASE(f_softplus, adz_softplus(x, 1, 20))
CASE(f_gelu, adz_add_number(adz_gelu(x, ADZ_GELU_NONE), 0.5)) /* 1 + erf has lost digits */
CASE(f_gelu_tanh, adz_gelu(x, ADZ_GELU_TANH))
CASE(f_pow_0, adz_pow_number(x, 0))
CASE(f_pow_half, adz_pow_number(x, 0.5))
CASE(f_pow_minus_half, adz_pow_number(x, -0.5))
CASE(f_pow_minus_1, adz_pow_number(x, -1))
CASE(f_pow_1, adz_pow_number(x, 1))
CASE(f_pow_4, adz_pow_number(x, 4))
CASE(f_pow_5, adz_pow_number(x, 5))
CASE(f_pow_inf, adz_pow_number(x, INFINITY))
CASE(f_pow_nan, adz_pow_number(x, NAN))
CASE(f_number_pow, adz_number_pow(1, x))
CASE(f_isnan, adz_isnan(x))
CASE(f_isfinite, adz_isfinite(x))
CASE(f_isinf, adz_isinf(x))
CASE(f_isposinf, adz_isposinf(x))
CASE(f_isneginf, adz_isneginf(x))
CASE(f_signbit, adz_signbit(x))
CASE(f_hardsigmoid, adz_hardsigmoid(x))
CASE(f_tanhshrink, adz_tanhshrink(x))
CASE(f_softshrink, adz_softshrink(x, 0.5))
CASE(f_hardshrink, adz_hardshrink(x, 0.5))
CASE(f_threshold, adz_threshold(x, 0.5, 3))
CASE(f_nan_to_num, adz_nan_to_num(x, 1, (double)NAN, (double)NAN))
CASE(f_erfinv, adz_erfinv(x))
CASE(f_logit, adz_logit(x, -1))
CASE(f_logit_held, adz_logit(x, 0.125))
CASE(f_not, adz_logical_not(x))
CASE(f_to_bool, adz_to(x, ADZ_BOOL))
CASE(f_to_u8, adz_to(x, ADZ_U8))
CASE(f_to_i32, adz_to(x, ADZ_I32))
CASE(f_where_x, adz_where(adz_to(x, ADZ_BOOL), adz_full_like(x, 3), x))
CASE(f_fill_where_x, adz_masked_fill(x, adz_to(x, ADZ_BOOL), -1))
CASE(f_count, adz_sum(adz_to(x, ADZ_BOOL), ADZ_ALL_DIMS, false))
CASE(f_copy_bool, adz_copy_(adz_zeros(adz_tensor_shape(x), ADZ_BOOL), x))
CASE(f_copy_i32, adz_copy_(adz_zeros(adz_tensor_shape(x), ADZ_I32), x))

static void special_floats(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    static const batch_case cases[] = { ROW(f_abs), ROW(f_neg), ROW(f_clamp), ROW(f_clamp_up),
        ROW(f_clamp_crossed), ROW(f_clamp_nan), ROW(f_clamp_nan_above), ROW(f_erf), ROW(f_exp),
        ROW(f_expm1), ROW(f_log), ROW(f_log1p), ROW(f_logsigmoid), ROW(f_reciprocal), ROW(f_rsqrt),
        ROW(f_sqrt), ROW(f_square), ROW(f_tanh), ROW(f_sigmoid), ROW(f_relu), ROW(f_leaky_relu),
        ROW(f_elu), ROW(f_silu), ROW(f_softplus), ROW(f_gelu), ROW(f_gelu_tanh), ROW(f_pow_0),
        ROW(f_pow_half), ROW(f_pow_minus_half), ROW(f_pow_minus_1), ROW(f_pow_1), ROW(f_pow_4),
        ROW(f_pow_5), ROW(f_pow_inf), ROW(f_pow_nan), ROW(f_number_pow), ROW(f_isnan),
        ROW(f_isfinite), ROW(f_isinf), ROW(f_isposinf), ROW(f_isneginf), ROW(f_signbit),
        ROW(f_hardsigmoid), ROW(f_tanhshrink), ROW(f_softshrink), ROW(f_hardshrink),
        ROW(f_threshold), ROW(f_nan_to_num), ROW(f_erfinv), ROW(f_logit), ROW(f_logit_held),
        ROW(f_not), ROW(f_to_bool), ROW(f_to_u8), ROW(f_to_i32), ROW(f_where_x),
        ROW(f_fill_where_x), ROW(f_count), ROW(f_copy_bool), ROW(f_copy_i32) };
    CHECK_BATCH(cases, adz_tensor_from(floats, ADZ_SHAPE(FLOATS), ADZ_F32), NULL, 2e-6);
    adz_scope_close(scope);
}

CASE(p_add, adz_add(x, z))
CASE(p_sub, adz_sub_scaled(x, z, 2.5))
CASE(p_mul, adz_mul(x, z))
CASE(p_div, adz_div(x, z))
CASE(p_maximum, adz_maximum(x, z))
CASE(p_minimum, adz_minimum(x, z))
CASE(p_pow, adz_pow(x, z))
CASE(p_fmod, adz_fmod(x, z))
CASE(p_remainder, adz_remainder(x, z))
CASE(p_floor_divide, adz_floor_divide(x, z))
CASE(p_xlogy, adz_xlogy(x, z))
CASE(p_fmax, adz_fmax(x, z))
CASE(p_fmin, adz_fmin(x, z))
CASE(p_heaviside, adz_heaviside(x, z))
CASE(p_isclose, adz_isclose(x, z, 0.25, 0.5, true))
CASE(p_eq, adz_eq(x, z))
CASE(p_ne, adz_ne(x, z))
CASE(p_lt, adz_lt(x, z))
CASE(p_le, adz_le(x, z))
CASE(p_gt, adz_gt(x, z))
CASE(p_ge, adz_ge(x, z))
CASE(p_and, adz_logical_and(x, z))
CASE(p_or, adz_logical_or(x, z))
CASE(p_xor, adz_logical_xor(x, z))
CASE(p_where, adz_where(adz_lt(x, z), x, z))

static void pairs_of_special_floats(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    static const batch_case cases[] = { ROW(p_add), ROW(p_sub), ROW(p_mul), ROW(p_div),
        ROW(p_maximum), ROW(p_minimum), ROW(p_eq), ROW(p_ne), ROW(p_lt), ROW(p_le), ROW(p_gt),
        ROW(p_ge), ROW(p_and), ROW(p_or), ROW(p_xor), ROW(p_where), ROW(p_fmod), ROW(p_remainder),
        ROW(p_floor_divide), ROW(p_xlogy), ROW(p_fmax), ROW(p_fmin), ROW(p_heaviside),
        ROW(p_isclose) };
    adz_tensor *x, *z;
    all_pairs(&x, &z);
    static const batch_case powers[] = { ROW(p_pow) }; /* the logarithm's error grows with y */
    CHECK_BATCH(cases, x, z, 2e-6);
    CHECK_BATCH(powers, x, z, 1e-5);
    adz_scope_close(scope);
}

/* ---- slices of floats ------------------------------------------------------------------------ */

/* Rows of three: all triples of some special values. */
static adz_tensor *triples(void)
{
    static const float some[] = { 0, -0.0f, 1, -2, INFINITY, -INFINITY, NAN };
    enum { N = sizeof some / sizeof *some };
    static float rows[N * N * N][3];
    for (int i = 0; i < N * N * N; ++i) {
        rows[i][0] = some[i / (N * N)];
        rows[i][1] = some[i / N % N];
        rows[i][2] = some[i % N];
    }
    return adz_tensor_from(rows, ADZ_SHAPE(N * N * N, 3), ADZ_F32);
}

CASE(l_sum, adz_sum(x, ADZ_DIMS(1), false))
CASE(l_mean, adz_mean(x, ADZ_DIMS(1), false))
CASE(l_prod, adz_prod(x, ADZ_DIMS(1), false))
CASE(l_amax, adz_amax(x, ADZ_DIMS(1), false))
CASE(l_amin, adz_amin(x, ADZ_DIMS(1), false))
CASE(l_argmax, adz_argmax(x, ADZ_DIMS(1), false))
CASE(l_argmin, adz_argmin(x, ADZ_DIMS(1), false))
CASE(l_any, adz_any(x, ADZ_DIMS(1), false))
CASE(l_all, adz_all(x, ADZ_DIMS(1), false))
CASE(l_cumsum, adz_cumsum(x, 1))
CASE(l_logsumexp, adz_logsumexp(x, ADZ_DIMS(1), false))
CASE(l_softmax, adz_softmax(x, 1))
CASE(l_log_softmax, adz_log_softmax(x, 1))
CASE(l_norm_0, adz_norm(x, 0, ADZ_DIMS(1), false))
CASE(l_norm_1, adz_norm(x, 1, ADZ_DIMS(1), false))
CASE(l_norm_2, adz_norm(x, 2, ADZ_DIMS(1), false))
CASE(l_norm_3, adz_norm(x, 3, ADZ_DIMS(1), false))
CASE(l_norm_minus_1, adz_norm(x, -1, ADZ_DIMS(1), false))
CASE(l_norm_minus_2, adz_norm(x, -2.5, ADZ_DIMS(1), false))
CASE(l_norm_inf, adz_norm(x, INFINITY, ADZ_DIMS(1), false))
CASE(l_norm_minus_inf, adz_norm(x, -INFINITY, ADZ_DIMS(1), false))
CASE(l_sort, adz_sort(x, 1, false, NULL))
CASE(l_sort_down, adz_sort(x, 1, true, NULL))
CASE(l_argsort, adz_argsort(x, 1, false))
CASE(l_argsort_down, adz_argsort(x, 1, true))
CASE(l_top, adz_topk(x, 2, 1, true, NULL))
CASE(l_bottom, adz_topk(x, 2, 1, false, NULL))
CASE(l_var, adz_var(x, ADZ_DIMS(1), 1, false))
CASE(l_layer_norm, adz_layer_norm(x, ADZ_SHAPE(3), ADZ_NONE, ADZ_NONE, 1e-5))
CASE(l_gathered, adz_gather(x, 1, adz_argsort(x, 1, true)))
CASE(l_max_pool, adz_max_pool1d(adz_unsqueeze(x, 0), 2, NULL, NULL))

static void slices_of_special_floats(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    static const batch_case cases[] = { ROW(l_sum), ROW(l_mean), ROW(l_prod), ROW(l_amax),
        ROW(l_amin), ROW(l_argmax), ROW(l_argmin), ROW(l_any), ROW(l_all), ROW(l_cumsum),
        ROW(l_logsumexp), ROW(l_softmax), ROW(l_log_softmax), ROW(l_norm_0), ROW(l_norm_1),
        ROW(l_norm_2), ROW(l_norm_3), ROW(l_norm_minus_1), ROW(l_norm_minus_2), ROW(l_norm_inf),
        ROW(l_norm_minus_inf), ROW(l_sort), ROW(l_sort_down), ROW(l_argsort), ROW(l_argsort_down),
        ROW(l_top), ROW(l_bottom), ROW(l_var), ROW(l_layer_norm), ROW(l_gathered),
        ROW(l_max_pool) };
    CHECK_BATCH(cases, triples(), NULL, 1e-6);
    adz_scope_close(scope);
}

/* ---- losses ---------------------------------------------------------------------------------- */

CASE(s_kl_div, adz_kl_div(x, z, ADZ_REDUCE_NONE, false))
CASE(s_kl_div_log, adz_kl_div(x, adz_log(z), ADZ_REDUCE_NONE, true))
CASE(s_cross, adz_binary_cross_entropy(z, adz_flip(z, ADZ_DIMS(0)), ADZ_NONE, ADZ_REDUCE_NONE))
CASE(s_logits, adz_binary_cross_entropy_with_logits(x, z, ADZ_NONE, ADZ_REDUCE_NONE, ADZ_NONE))
CASE(s_smooth, adz_smooth_l1_loss(x, z, ADZ_REDUCE_NONE, 0))
CASE(s_huber, adz_huber_loss(x, z, ADZ_REDUCE_NONE, 2))

/* Scores x, and probabilities z that may be 0 or 1. */
static void losses_at_limits(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    static const batch_case cases[] = { ROW(s_kl_div), ROW(s_kl_div_log), ROW(s_cross),
        ROW(s_logits), ROW(s_smooth), ROW(s_huber) };
    static const float scores[] = { -1, -1, -1, -100, -1000, -INFINITY, 3, 200 };
    static const float targets[] = { 0, 0.5f, 1, 0, 1, 0.25f, -0.0f, 1 };
    CHECK_BATCH(cases, adz_tensor_from(scores, ADZ_SHAPE(8), ADZ_F32),
        adz_tensor_from(targets, ADZ_SHAPE(8), ADZ_F32), 1e-6);
    adz_scope_close(scope);
}

int special_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(special_floats),
        cmocka_unit_test(pairs_of_special_floats),
        cmocka_unit_test(slices_of_special_floats),
        cmocka_unit_test(losses_at_limits),
    };
    return cmocka_run_group_tests_name(
        "c99: special values", tests, temporary_begin, temporary_end);
}
