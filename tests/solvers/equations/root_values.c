/* Roots agree with closed forms and with each other, whichever method finds them. */
#include "solvers/equations/solvers.h"

static adz_tensor *squares(adz_tensor *x, void *wanted) /* x^2 = wanted */
{
    return adz_sub(adz_square(x), wanted);
}

static void newton_finds_square_roots(void **state)
{
    (void)state;
    adz_tensor *wanted = adz_add_number(adz_rand(ADZ_SHAPE(5, 3), ADZ_F64), 0.1);
    adz_tensor *x0 = adz_full_like(wanted, 3);
    adz_root_options o = ADZ_ROOT_OPTIONS;
    adz_root_report found;
    for (int form = 0; form < 3; ++form) {
        o.rows = form > 0;
        o.fixed_iterations = form == 2 ? 12 : 0;
        adz_tensor *x = adz_root(squares, wanted, x0, &o, &found);
        assert_true(apart(x, adz_sqrt(wanted)) < 1e-10);
        assert_true(found.iterations >= 5 && found.iterations <= 12);
        assert_int_equal(found.reason, form == 2 ? ADZ_ROOT_UNCHECKED : ADZ_ROOT_CONVERGED);
        assert_true(form == 2 ? isnan(found.residual) : found.residual <= 1e-10);
        assert_int_equal(found.rows_left, form == 2 ? -1 : 0);
    }
}

/* The first row begins at a root where its Jacobian is singular, which is no matter: it is done. */
static void rows_that_are_done_need_no_jacobian(void **state)
{
    (void)state;
    const double wanted[] = { 0, 4 }, start[] = { 0, 3 };
    adz_tensor *w = adz_tensor_from(wanted, ADZ_SHAPE(2, 1), ADZ_F64);
    adz_root_options o = ADZ_ROOT_OPTIONS;
    o.rows = true;
    for (o.fixed_iterations = 0; o.fixed_iterations <= 12; o.fixed_iterations += 12) {
        adz_tensor *x0 = adz_tensor_from(start, ADZ_SHAPE(2, 1), ADZ_F64);
        adz_tensor *x = adz_root(squares, w, x0, &o, NULL);
        assert_non_null(x);
        assert_true(adz_tensor_data_f64(x)[0] == 0);
        assert_true(fabs(adz_tensor_data_f64(x)[1] - 2) < 1e-12);
    }
}

/* A full step of Newton leads away from the root of atan wherever |x| > 1.39. */
static adz_tensor *angle(adz_tensor *x, void *user) /* tanh behaves as atan does */
{
    (void)user;
    return adz_tanh(x);
}

static void the_line_search_holds_the_step(void **state)
{
    (void)state;
    const double from[] = { 1.0, 2.5, -3.0, 0.1 };
    adz_tensor *x0 = adz_tensor_from(from, ADZ_SHAPE(4, 1), ADZ_F64);
    adz_root_options o = ADZ_ROOT_OPTIONS;
    for (int rows = 0; rows < 2; ++rows) {
        o.rows = rows;
        adz_tensor *x = adz_root(angle, NULL, x0, &o, NULL);
        assert_true(x != NULL && adz_item(adz_max(adz_abs(x))) < 1e-10);
    }
}

/* A row of a batch has the bits that it has alone, however many steps the others need. */
static void rows_are_systems_by_themselves(void **state)
{
    (void)state;
    const double wanted[] = { 2, 3, 1e6, 1e-2, 1, 1 };
    adz_tensor *w = adz_tensor_from(wanted, ADZ_SHAPE(3, 2), ADZ_F64);
    adz_tensor *x0 = adz_ones(ADZ_SHAPE(3, 2), ADZ_F64);
    adz_root_options o = ADZ_ROOT_OPTIONS;
    o.rows = true;
    adz_tensor *x = adz_root(squares, w, x0, &o, NULL);
    for (int i = 0; i < 3; ++i) {
        adz_tensor *alone =
            adz_root(squares, adz_narrow(w, 0, i, 1), adz_narrow(x0, 0, i, 1), &o, NULL);
        assert_true(adz_equal(alone, adz_narrow(x, 0, i, 1)));
    }
}

static adz_tensor *diffusion(adz_tensor *x, void *user) /* 3 x - neighbours - tanh(x) - 1 */
{
    const int64_t n = adz_tensor_numel(x), one[] = { 1, 1 };
    adz_tensor *wide = adz_pad(x, one, 2, 0);
    adz_tensor *sides = adz_add(adz_narrow(wide, 0, 0, n), adz_narrow(wide, 0, 2, n));
    (void)user;
    return adz_add_number(adz_sub(adz_mul_number(x, 3), adz_add(sides, adz_tanh(x))), -1);
}

/* Directions become more exact as the search converges, or it takes more values. */
enum { MOST_KRYLOV = 15 };

static void krylov_needs_no_jacobian(void **state)
{
    (void)state;
    adz_root_options o = ADZ_ROOT_OPTIONS;
    adz_root_report found;
    adz_tensor *x0 = adz_zeros(ADZ_SHAPE(60), ADZ_F64);
    adz_tensor *dense = adz_root(diffusion, NULL, x0, &o, NULL);
    o.method = ADZ_ROOT_KRYLOV;
    for (o.history = 0; o.history <= 8; o.history += 8) {
        assert_true(apart(dense, adz_root(diffusion, NULL, x0, &o, &found)) < 1e-9);
        assert_true(found.residual <= 1e-10 && found.iterations <= MOST_KRYLOV);
    }
    o = (adz_root_options)ADZ_ROOT_OPTIONS;
    adz_tensor *large = adz_root(diffusion, NULL, adz_zeros(ADZ_SHAPE(4000), ADZ_F32), &o, &found);
    assert_non_null(large);
    assert_true(found.residual < 1e-5);
}

static adz_tensor *cosine(adz_tensor *x, void *user)
{
    (void)user;
    return adz_cos(x);
}

static void anderson_finds_fixed_points(void **state)
{
    (void)state;
    adz_root_options o = ADZ_ROOT_OPTIONS;
    adz_root_report found;
    adz_tensor *x0 = adz_rand(ADZ_SHAPE(4, 3), ADZ_F64);
    o.method = ADZ_ROOT_ANDERSON;
    for (int form = 0; form < 3; ++form) {
        o.rows = form > 0;
        o.fixed_iterations = form == 2 ? 25 : 0;
        adz_tensor *x = adz_root(cosine, NULL, x0, &o, &found);
        assert_true(apart(x, adz_full_like(x0, 0.739085133215160642)) < 1e-9);
        assert_true(found.iterations <= 25); /* the plain iteration needs 60 */
    }
}

static adz_tensor *implicit_layer(adz_tensor *x, void *net) /* 0.3 net(x) = x */
{
    return adz_sub(adz_mul_number(adz_module_forward(net, x), 0.3), x);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    adz_module *net =
        ADZ_SEQUENTIAL(adz_linear_new(8, 50, NULL), adz_tanh_new(), adz_linear_new(50, 8, NULL));
    assert_int_equal(adz_module_to(net, ADZ_F64), ADZ_OK);
    adz_tensor *x0 = adz_randn(ADZ_SHAPE(300, 8), ADZ_F64), *x[2], *gradient[2];
    adz_tensor *weight = adz_module_get_parameter(net, "0.weight");
    adz_root_options o = ADZ_ROOT_OPTIONS;
    o.rows = true;
    for (int i = 0; i < 2; ++i) {
        adz_set_num_threads(1 + i);
        x[i] = adz_root(implicit_layer, net, x0, &o, NULL);
        adz_tensor *loss = adz_sum(adz_square(x[i]), ADZ_ALL_DIMS, ADZ_DROPDIM);
        assert_int_equal(adz_autograd_grad(&loss, NULL, 1, &weight, 1, NULL, &gradient[i]), ADZ_OK);
    }
    adz_set_num_threads(0);
    assert_true(adz_equal(x[0], x[1]) && adz_equal(gradient[0], gradient[1]));
    adz_module_release(&net);
}

const struct CMUnitTest root_values[N_ROOT_VALUES] = {
    cmocka_unit_test_setup_teardown(newton_finds_square_roots, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(
        rows_that_are_done_need_no_jacobian, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(the_line_search_holds_the_step, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(rows_are_systems_by_themselves, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(krylov_needs_no_jacobian, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(anderson_finds_fixed_points, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(threads_change_no_bit, solvers_open, solvers_close),
};
