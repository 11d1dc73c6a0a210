/* Derivatives of higher order: by tensors that the function captures, by such that lead to each
 * other, and of large systems without their Jacobian. */
#include "solvers/equations/solvers.h"

typedef struct {
    adz_tensor *p, *q;
    adz_root_options o;
} captured;

/* x^3 + x + 0.2 q x = p, as a fixed point for Anderson */
static adz_tensor *cubic(adz_tensor *x, void *user)
{
    const captured *c = user;
    adz_tensor *left = adz_add(adz_pow_number(x, 3), adz_mul_number(adz_mul(c->q, x), 0.2));
    if (c->o.method == ADZ_ROOT_ANDERSON) {
        return adz_mul_number(adz_sub(adz_add_scaled(c->p, x, 2), left), 1.0 / 3);
    }
    return adz_sub(adz_add(left, x), c->p);
}

static int root_of_captured(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    captured *c = user;
    c->p = in[0];
    c->q = in[1];
    out[0] = adz_root(cubic, c, adz_full(ADZ_SHAPE(2, 2), 0.3, ADZ_F64), &c->o, NULL);
    return out[0] != NULL;
}

static adz_tensor *positive(int64_t rows, int64_t columns)
{
    return adz_requires_grad_(adz_rand(ADZ_SHAPE(rows, columns), ADZ_F64), true);
}

static void captured_leaves_have_second_derivatives_of_roots(void **state)
{
    (void)state;
    adz_tensor *in[] = { positive(2, 2), positive(2, 2) };
    for (int m = ADZ_ROOT_NEWTON; m <= ADZ_ROOT_ANDERSON; ++m) {
        for (int rows = 0; rows < 2; ++rows) {
            captured c = { NULL, NULL, ADZ_ROOT_OPTIONS };
            c.o.tolerance = 1e-14;
            c.o.method = (adz_root_method)m;
            c.o.rows = rows != 0;
            c.o.accept_unconverged = true; /* 1e-14 is near the rounding error */
            expect_derivatives(root_of_captured, &c, in, 2);
        }
    }
}

/* The argument depends on what the function captures, which is an argument, too. */
static int entangled(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    adz_tensor *const p = user;
    adz_tensor *left = adz_add(adz_pow_number(in[0], 3), adz_mul(adz_square(p), in[0]));
    out[0] = adz_sub(adz_sub(left, in[1]), in[2]);
    return out[0] != NULL;
}

static int root_of_entangled(adz_tensor *const *in, size_t n, adz_tensor **out, void *options)
{
    (void)n;
    const adz_tensor_function f = { entangled, in[0] };
    adz_tensor *arguments[] = { adz_exp(in[0]), in[0] };
    out[0] = adz_root_many(&f, adz_ones(ADZ_SHAPE(2, 2), ADZ_F64), arguments, 2, options, NULL);
    return out[0] != NULL;
}

static int decay(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    adz_tensor *const p = user;
    out[0] = adz_sub(adz_mul(in[2], adz_cos(in[0])), adz_mul(p, in[1]));
    return out[0] != NULL;
}

/* The first state, the times and the argument depend on what the function captures. */
static int solution_of_entangled(adz_tensor *const *in, size_t n, adz_tensor **out, void *options)
{
    (void)n;
    const adz_tensor_function f = { decay, in[0] };
    adz_tensor *argument = adz_exp(in[0]);
    adz_tensor *first = adz_mul_number(adz_mean(in[0], ADZ_ALL_DIMS, ADZ_DROPDIM), 0.1);
    adz_tensor *times[] = { first, adz_add_number(first, 1) };
    out[0] =
        adz_odeint_many(&f, adz_square(in[0]), adz_stack(times, 2, 0), &argument, 1, options, NULL);
    return out[0] != NULL;
}

/* A gradient has the same values with a graph as without one, which gradgradcheck cannot see. */
static void expect_same_with_graph(
    int (*call)(adz_tensor *const *, size_t, adz_tensor **, void *), void *user, adz_tensor *leaf)
{
    adz_backward_options graph = ADZ_BACKWARD_OPTIONS;
    graph.create_graph = true;
    adz_tensor *y, *with, *without;
    assert_int_equal(call(&leaf, 1, &y, user), 1);
    adz_tensor *dy = adz_randn(adz_tensor_shape(y), ADZ_F64);
    assert_int_equal(adz_autograd_grad(&y, &dy, 1, &leaf, 1, &graph, &with), ADZ_OK);
    assert_int_equal(adz_autograd_grad(&y, &dy, 1, &leaf, 1, NULL, &without), ADZ_OK);
    assert_true(apart(with, without) < 1e-11);
}

static void captured_leaves_behind_other_inputs_count_once(void **state)
{
    (void)state;
    adz_tensor *in[] = { positive(2, 2) };
    for (int m = ADZ_ROOT_NEWTON; m <= ADZ_ROOT_KRYLOV; ++m) {
        adz_root_options o = ADZ_ROOT_OPTIONS;
        o.method = (adz_root_method)m;
        o.tolerance = 1e-13;
        expect_same_with_graph(root_of_entangled, &o, in[0]);
        expect_derivatives(root_of_entangled, &o, in, 1);
    }
    for (int m = ADZ_ODE_DORMAND_PRINCE; m <= ADZ_ODE_RK4; ++m) {
        adz_ode_options o = ADZ_ODE_OPTIONS;
        o.method = (adz_ode_method)m;
        o.steps = 2;
        expect_same_with_graph(solution_of_entangled, &o, in[0]);
        expect_derivatives(solution_of_entangled, &o, in, 1);
    }
}

/* x^3 + x = p: the derivatives are 1 / a, -6 x / a^3 and (108 x^2 - 6 a) / a^5, a = 3 x^2 + 1. */
static adz_tensor *third(adz_tensor *x, void *p)
{
    return adz_sub(adz_add(adz_pow_number(x, 3), x), p);
}

static void roots_have_third_derivatives(void **state)
{
    (void)state;
    adz_backward_options graph = ADZ_BACKWARD_OPTIONS;
    graph.create_graph = true;
    for (int m = ADZ_ROOT_NEWTON; m <= ADZ_ROOT_KRYLOV; ++m) {
        adz_root_options o = ADZ_ROOT_OPTIONS;
        o.method = (adz_root_method)m;
        o.tolerance = 1e-13;
        adz_tensor *p = adz_requires_grad_(adz_scalar(2.5, ADZ_F64), true), *d[3];
        adz_tensor *y = adz_root(third, p, adz_scalar(1, ADZ_F64), &o, NULL);
        const double x = adz_item(y), a = 3 * x * x + 1;
        for (int k = 0; k < 3; ++k) {
            assert_int_equal(
                adz_autograd_grad(k == 0 ? &y : &d[k - 1], NULL, 1, &p, 1, &graph, &d[k]), ADZ_OK);
        }
        assert_true(fabs(adz_item(d[0]) - 1 / a) < 1e-12);
        assert_true(fabs(adz_item(d[1]) + 6 * x / pow(a, 3)) < 1e-12);
        assert_true(fabs(adz_item(d[2]) - (108 * x * x - 6 * a) / pow(a, 5)) < 1e-12);
    }
}

/* ---- large systems --------------------------------------------------------------------------- */

enum { UNKNOWNS = 4000, ROOM = 12 << 20 /* bytes; the Jacobian has 128 MB */ };

/* x_i^3 + 2 x_i - 0.5 x_{i-1} - 0.2 x_{i+1} = p_i, in a circle */
static int chain(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    adz_tensor *near = adz_add(
        adz_mul_number(adz_roll(in[0], 1, 0), 0.5), adz_mul_number(adz_roll(in[0], -1, 0), 0.2));
    adz_tensor *own = adz_add_scaled(adz_pow_number(in[0], 3), in[0], 2);
    out[0] = adz_sub(adz_sub(own, near), in[1]);
    return out[0] != NULL;
}

/* The gradient of sum x^4 by p, with a graph. */
static adz_tensor *gradient(adz_tensor *p, const adz_root_options *o)
{
    const adz_tensor_function f = { chain, NULL };
    adz_backward_options graph = ADZ_BACKWARD_OPTIONS;
    graph.create_graph = true;
    adz_tensor *x = adz_root_many(&f, adz_zeros_like(p), &p, 1, o, NULL), *d;
    adz_tensor *loss = adz_sum(adz_pow_number(x, 4), ADZ_ALL_DIMS, ADZ_DROPDIM);
    return adz_autograd_grad(&loss, NULL, 1, &p, 1, &graph, &d) == ADZ_OK ? d : NULL;
}

static adz_tensor *along(adz_tensor *p, adz_tensor *v, double far)
{
    return adz_requires_grad_(adz_detach(adz_add_scaled(p, v, far)), true);
}

static void large_roots_have_second_derivatives_in_little_memory(void **state)
{
    (void)state;
    adz_root_options o = ADZ_ROOT_OPTIONS;
    adz_memory_info info;
    o.tolerance = 1e-12;
    adz_tensor *p = adz_requires_grad_(adz_rand(ADZ_SHAPE(UNKNOWNS), ADZ_F64), true), *found;
    adz_tensor *v = adz_randn(ADZ_SHAPE(UNKNOWNS), ADZ_F64);
    adz_empty_cache();
    adz_get_memory_info(&info, sizeof info);
    adz_set_memory_limit(info.live_bytes + ROOM);
    for (int method = ADZ_ROOT_AUTO; method <= ADZ_ROOT_KRYLOV; method += ADZ_ROOT_KRYLOV) {
        o.method = (adz_root_method)method;
        adz_scope *scope = adz_scope_open();
        adz_tensor *product = adz_sum(adz_mul(gradient(p, &o), v), ADZ_ALL_DIMS, ADZ_DROPDIM);
        assert_int_equal(adz_autograd_grad(&product, NULL, 1, &p, 1, NULL, &found), ADZ_OK);
        adz_tensor *rise = adz_detach(gradient(along(p, v, 1e-5), &o));
        rise = adz_sub(rise, adz_detach(gradient(along(p, v, -1e-5), &o)));
        assert_true(apart(found, adz_mul_number(rise, 0.5e5)) < 1e-7);
        assert_true(adz_item(adz_max(adz_abs(found))) > 1);
        adz_scope_close(scope);
    }
    o.method = ADZ_ROOT_NEWTON;
    assert_null(gradient(p, &o));
    expect_error(ADZ_ERR_MEMORY, "adz_set_memory_limit");
    adz_set_memory_limit(0);
}

const struct CMUnitTest higher[N_HIGHER] = {
    cmocka_unit_test_setup_teardown(
        captured_leaves_have_second_derivatives_of_roots, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(
        captured_leaves_behind_other_inputs_count_once, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(roots_have_third_derivatives, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(
        large_roots_have_second_derivatives_in_little_memory, solvers_open, solvers_close),
};
