/* Roots at the ends of ranges: what counts as a root, and gradients whose upstream is small or
 * large. */
#include "solvers/equations/solvers.h"

enum { METHODS = 3 }; /* Newton, Krylov, Newton by rows */

static adz_root_options form(int i)
{
    adz_root_options o = ADZ_ROOT_OPTIONS;
    o.method = i == 1 ? ADZ_ROOT_KRYLOV : ADZ_ROOT_NEWTON;
    o.rows = i == 2;
    return o;
}

static void expect_no_root(adz_tensor_map function, double from, adz_root_reason reason)
{
    const adz_dtype dtypes[] = { ADZ_F32, ADZ_F64 };
    for (int d = 0; d < 2; ++d) {
        for (int i = 0; i < METHODS; ++i) {
            const adz_root_options o = form(i);
            adz_root_report r;
            adz_tensor *x0 = adz_full(ADZ_SHAPE(3, 1), from, dtypes[d]);
            assert_null(adz_root(function, NULL, x0, &o, &r));
            expect_error(ADZ_ERR_NUMERIC, "did not converge");
            assert_int_equal(r.reason, reason);
            assert_true(r.residual > 0.5 && r.rows_left == (o.rows ? 3 : 1));
        }
    }
}

static adz_tensor *root_less_two(adz_tensor *x, void *user)
{
    (void)user;
    return adz_sub_number(adz_sqrt(x), 2);
}

static adz_tensor *above_seven(adz_tensor *x, void *user)
{
    (void)user;
    return adz_add_number(adz_square(x), 7);
}

/* The step of Newton's method from 0 is 2 / infinity, and that of GMRES is 0 where J is 0. */
static void a_step_of_zero_is_no_root(void **state)
{
    (void)state;
    expect_no_root(root_less_two, 0, ADZ_ROOT_SINGULAR);
    expect_no_root(above_seven, 0, ADZ_ROOT_SINGULAR);
}

/* A jump from -1 to 1 at x = 1, with a steep slope beside it: each step is short, and leads over
 * the jump or to it. */
static adz_tensor *jump_at_one(adz_tensor *x, void *user)
{
    (void)user;
    adz_tensor *away = adz_sub_number(x, 1);
    adz_tensor *side = adz_where(adz_ge_number(away, 0), adz_ones_like(x), adz_full_like(x, -1));
    return adz_add(side, adz_mul_number(away, 1e-3));
}

static void a_jump_is_no_root(void **state)
{
    (void)state;
    const adz_dtype dtypes[] = { ADZ_F32, ADZ_F64 };
    for (int d = 0; d < 2; ++d) {
        for (int i = 0; i < METHODS; ++i) {
            const adz_root_options o = form(i);
            adz_root_report r;
            assert_null(
                adz_root(jump_at_one, NULL, adz_full(ADZ_SHAPE(2, 1), 3, dtypes[d]), &o, &r));
            expect_error(ADZ_ERR_NUMERIC, "did not converge");
            assert_true(r.reason != ADZ_ROOT_CONVERGED && r.residual >= 0.9);
        }
    }
}

/* Unknowns of different size: the second one is far from its root while a step of it is short
 * compared with the first one. */
static adz_tensor *two_sizes(adz_tensor *x, void *user)
{
    (void)user;
    adz_tensor *a = adz_narrow(x, 1, 0, 1), *b = adz_narrow(x, 1, 1, 1);
    adz_tensor *small = adz_mul_number(adz_sub_number(adz_square(adz_mul_number(b, 1e8)), 1), 1e8);
    adz_tensor *f[] = { adz_sub_number(a, 1e12), small };
    return adz_cat(f, 2, 1);
}

static void a_small_unknown_is_found_beside_a_large_one(void **state)
{
    (void)state;
    const double start[] = { 2e12, 5e-8 };
    for (int i = 0; i < METHODS; i += 2) {
        adz_root_options o = form(i);
        adz_tensor *x =
            adz_root(two_sizes, NULL, adz_tensor_from(start, ADZ_SHAPE(1, 2), ADZ_F64), &o, NULL);
        assert_non_null(x);
        assert_true(fabs(adz_tensor_data_f64(x)[1] * 1e8 - 1) < 1e-13);
    }
}

/* f32 cannot reach the default tolerance: rounding ends the search, at the root. */
static adz_tensor *cubic_less(adz_tensor *x, void *user)
{
    (void)user;
    return adz_sub_number(adz_pow_number(x, 3), 100);
}

static void rounding_ends_a_search_in_f32(void **state)
{
    (void)state;
    for (int i = 0; i < METHODS; ++i) {
        const adz_root_options o = form(i);
        adz_root_report r;
        adz_tensor *x = adz_root(cubic_less, NULL, adz_full(ADZ_SHAPE(2, 1), 3, ADZ_F32), &o, &r);
        assert_true(x != NULL && r.reason == ADZ_ROOT_CONVERGED);
        assert_true(fabs(adz_item(adz_max(x)) - cbrt(100)) < 1e-6);
        assert_true(r.iterations < 20 && r.residual < 1e-4);
    }
}

/* x = c x, whose residuals are 2^k times those for k = 0: the same steps find the same root. */
static adz_tensor *shrinking(adz_tensor *x, void *to)
{
    adz_tensor *mean = adz_mean(x, ADZ_ALL_DIMS, ADZ_KEEPDIM);
    return adz_add(adz_sub(adz_mul_number(x, 0.9), adz_mul_number(mean, 0.3)), to);
}

static void anderson_works_in_all_units(void **state)
{
    (void)state;
    const double shifts[] = { 1, 2, -3, 5 };
    for (int form = 0; form < 4; ++form) {
        const bool f32 = form % 2 != 0;
        adz_root_options o = ADZ_ROOT_OPTIONS;
        adz_root_report plain, other;
        o.method = ADZ_ROOT_ANDERSON;
        o.fixed_iterations = form / 2 != 0 ? 12 : 0;
        o.tolerance = f32 ? 1e-4 : 1e-12;
        adz_tensor *to =
            adz_to(adz_tensor_from(shifts, ADZ_SHAPE(4, 1), ADZ_F64), f32 ? ADZ_F32 : ADZ_F64);
        adz_tensor *x = adz_root(shrinking, to, adz_zeros_like(to), &o, &plain);
        assert_non_null(x);
        const int most = f32 ? 100 : 900;
        for (int k = -most; k <= most; k += most / 2) {
            adz_root_options scaled = o;
            scaled.tolerance = ldexp(o.tolerance, k);
            adz_tensor *shift = adz_mul_number(to, ldexp(1, k));
            adz_tensor *y = adz_root(shrinking, shift, adz_zeros_like(to), &scaled, &other);
            assert_non_null(y);
            assert_true(adz_equal(y, adz_mul_number(x, ldexp(1, k))));
            assert_int_equal(plain.iterations, other.iterations);
        }
    }
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* Three unknowns that depend on each other. x^2 + mean(x) = p */
static int coupled(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    adz_tensor *mean = adz_mean(in[0], ADZ_ALL_DIMS, ADZ_KEEPDIM);
    out[0] = adz_sub(adz_add(adz_square(in[0]), mean), in[1]);
    return out[0] != NULL;
}

/* The gradient is linear in the upstream: a power of two goes through to the last bit. */
static void upstreams_are_only_a_factor(void **state)
{
    (void)state;
    const adz_tensor_function f = { coupled, NULL };
    adz_backward_options again = ADZ_BACKWARD_OPTIONS;
    again.retain_graph = true;
    const double given[] = { 4, 2, 7 }, up[] = { 1, -0.5, 0.3 };
    for (int form = 0; form < 4; ++form) {
        const bool f32 = form % 2 != 0;
        const adz_dtype dtype = f32 ? ADZ_F32 : ADZ_F64;
        adz_root_options o = ADZ_ROOT_OPTIONS;
        o.method = form / 2 != 0 ? ADZ_ROOT_KRYLOV : ADZ_ROOT_NEWTON;
        adz_tensor *p = adz_tensor_from(given, ADZ_SHAPE(1, 3), ADZ_F64);
        p = adz_requires_grad_(adz_clone(adz_to(p, dtype)), true);
        adz_tensor *dy = adz_to(adz_tensor_from(up, ADZ_SHAPE(1, 3), ADZ_F64), dtype);
        adz_tensor *x = adz_root_many(&f, adz_full_like(p, 1.5), &p, 1, &o, NULL), *one, *dp;
        assert_int_equal(adz_autograd_grad(&x, &dy, 1, &p, 1, &again, &one), ADZ_OK);
        assert_true(fabs(adz_item(adz_select(adz_flatten(one, 0, -1), 0, 0))) > 0.1);
        const int most = f32 ? 120 : 1000;
        for (int k = -most; k <= most; k += most / 8) {
            adz_tensor *v = adz_mul_number(dy, ldexp(1, k));
            assert_int_equal(adz_autograd_grad(&x, &v, 1, &p, 1, &again, &dp), ADZ_OK);
            assert_true(adz_equal(dp, adz_mul_number(one, ldexp(1, k))));
        }
    }
}

/* c (x^2 - p), whose Jacobian is c 2 x: the gradient is 1 / (2 x) for every c. */
static int scaled_square(adz_tensor *const *in, size_t n, adz_tensor **out, void *factor)
{
    (void)n;
    out[0] = adz_mul_number(adz_sub(adz_square(in[0]), in[1]), *(double *)factor);
    return out[0] != NULL;
}

static void jacobians_are_only_a_factor(void **state)
{
    (void)state;
    double factor;
    const adz_tensor_function f = { scaled_square, &factor };
    adz_root_options o = ADZ_ROOT_OPTIONS;
    o.method = ADZ_ROOT_KRYLOV;
    for (int k = -100; k <= 100; k += 50) {
        factor = ldexp(1, k);
        o.tolerance = ldexp(1e-5, k);
        adz_tensor *p = adz_requires_grad_(adz_full(ADZ_SHAPE(4), 4, ADZ_F32), true), *dp;
        adz_tensor *x = adz_root_many(&f, adz_full(ADZ_SHAPE(4), 1.5, ADZ_F32), &p, 1, &o, NULL);
        adz_tensor *loss = adz_sum(x, ADZ_ALL_DIMS, ADZ_DROPDIM);
        assert_non_null(loss);
        assert_int_equal(adz_autograd_grad(&loss, NULL, 1, &p, 1, NULL, &dp), ADZ_OK);
        assert_true(apart(dp, adz_full_like(dp, 0.25)) < 1e-6);
    }
}

/* Restarts after each vector: the derivative has the digits that it has by LU. */
static int chain(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    const int64_t size = adz_tensor_numel(in[0]), one[] = { 1, 1 };
    adz_tensor *wide = adz_pad(in[0], one, 2, 0);
    adz_tensor *sides = adz_sub(adz_narrow(wide, 0, 0, size), adz_narrow(wide, 0, 2, size));
    adz_tensor *own = adz_add(adz_mul_number(in[0], 0.5), adz_pow_number(in[0], 3));
    out[0] = adz_sub(adz_add(own, adz_mul_number(sides, 3)), in[1]);
    return out[0] != NULL;
}

static void short_histories_cost_no_digits(void **state)
{
    (void)state;
    const adz_tensor_function f = { chain, NULL };
    adz_root_options o = ADZ_ROOT_OPTIONS;
    adz_tensor *p = leaf(1, 40), *dx = adz_randn(ADZ_SHAPE(40), ADZ_F64), *exact, *dp;
    adz_tensor *flat = adz_requires_grad_(adz_clone(adz_flatten(adz_detach(p), 0, -1)), true);
    o.tolerance = 1e-13;
    adz_tensor *x = adz_root_many(&f, adz_zeros(ADZ_SHAPE(40), ADZ_F64), &flat, 1, &o, NULL);
    assert_int_equal(adz_autograd_grad(&x, &dx, 1, &flat, 1, NULL, &exact), ADZ_OK);
    o.method = ADZ_ROOT_KRYLOV;
    for (o.history = 1; o.history <= 4; ++o.history) {
        adz_tensor *y = adz_root_many(&f, adz_detach(x), &flat, 1, &o, NULL);
        assert_true(y != NULL && apart(x, y) < 1e-12);
        assert_int_equal(adz_autograd_grad(&y, &dx, 1, &flat, 1, NULL, &dp), ADZ_OK);
        assert_true(apart(exact, dp) < 1e-12);
    }
}

const struct CMUnitTest root_ends[N_ROOT_ENDS] = {
    cmocka_unit_test_setup_teardown(a_step_of_zero_is_no_root, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(a_jump_is_no_root, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(
        a_small_unknown_is_found_beside_a_large_one, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(rounding_ends_a_search_in_f32, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(anderson_works_in_all_units, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(upstreams_are_only_a_factor, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(jacobians_are_only_a_factor, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(short_histories_cost_no_digits, solvers_open, solvers_close),
};
