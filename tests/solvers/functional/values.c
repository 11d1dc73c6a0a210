/* Derivatives have the values of their formulas, and agree with each other. */
#include "solvers/functional/functional.h"

static adz_scope *scope;

int functional_open(void **state)
{
    (void)state;
    adz_error_clear();
    scope = adz_scope_open();
    return scope == NULL;
}

int functional_close(void **state)
{
    (void)state;
    adz_scope_close(scope);
    return adz_error_code() != ADZ_OK;
}

/* y_i = x_i x_(i+1), of three numbers. */
static adz_tensor *neighbours(adz_tensor *x, void *user)
{
    (void)user;
    return adz_mul(adz_narrow(x, 0, 0, 2), adz_narrow(x, 0, 1, 2));
}

static adz_tensor *three(void)
{
    return adz_tensor_from((double[]){ 2, 3, 5 }, ADZ_SHAPE(3), ADZ_F64);
}

static void a_jacobian_by_hand(void **state)
{
    (void)state;
    adz_tensor *wanted = adz_tensor_from((double[]){ 3, 2, 0, 0, 5, 3 }, ADZ_SHAPE(2, 3), ADZ_F64);
    for (int mode = ADZ_JACOBIAN_AUTO; mode <= ADZ_JACOBIAN_FORWARD; ++mode) {
        adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
        adz_tensor *y = NULL;
        o.mode = (adz_jacobian_mode)mode;
        o.results = &y;
        assert_true(adz_equal(adz_jacobian(neighbours, NULL, three(), &o), wanted));
        assert_true(adz_item(adz_select(y, 0, 0)) == 6 && adz_item(adz_select(y, 0, 1)) == 15);
        assert_false(adz_tensor_requires_grad(y));
    }
}

static void products_by_hand(void **state)
{
    (void)state;
    adz_tensor *v = adz_tensor_from((double[]){ 1, 10 }, ADZ_SHAPE(2), ADZ_F64);
    adz_tensor *w = adz_tensor_from((double[]){ 1, 0, 2 }, ADZ_SHAPE(3), ADZ_F64);
    adz_tensor *pulled = adz_tensor_from((double[]){ 3, 52, 30 }, ADZ_SHAPE(3), ADZ_F64);
    adz_tensor *pushed = adz_tensor_from((double[]){ 3, 6 }, ADZ_SHAPE(2), ADZ_F64);
    assert_true(adz_equal(adz_vjp(neighbours, NULL, three(), v, NULL), pulled));
    assert_true(adz_equal(adz_jvp(neighbours, NULL, three(), w, NULL), pushed));
}

/* x0 x1 + x1 x2, whose Hessian is constant. */
static adz_tensor *sum_of_neighbours(adz_tensor *x, void *user)
{
    return adz_sum(neighbours(x, user), ADZ_ALL_DIMS, ADZ_DROPDIM);
}

static void a_hessian_by_hand(void **state)
{
    (void)state;
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    adz_tensor *value = NULL;
    o.results = &value;
    adz_tensor *wanted =
        adz_tensor_from((double[]){ 0, 1, 0, 1, 0, 1, 0, 1, 0 }, ADZ_SHAPE(3, 3), ADZ_F64);
    adz_tensor *v = adz_tensor_from((double[]){ 1, 10, 100 }, ADZ_SHAPE(3), ADZ_F64);
    adz_tensor *product = adz_tensor_from((double[]){ 10, 101, 10 }, ADZ_SHAPE(3), ADZ_F64);
    assert_true(adz_equal(adz_hessian(sum_of_neighbours, NULL, three(), &o), wanted));
    assert_true(adz_item(value) == 21);
    assert_true(adz_equal(adz_hvp(sum_of_neighbours, NULL, three(), v, NULL), product));
}

/* What does not depend on an input has the derivative 0, in all ways. */
static adz_tensor *constant(adz_tensor *x, void *user)
{
    (void)x;
    return adz_ones(ADZ_SHAPE(user == NULL ? 2 : 1), ADZ_F64);
}

static void constants_have_zeros(void **state)
{
    (void)state;
    int number = 0;
    adz_tensor *zeros = adz_zeros(ADZ_SHAPE(2, 3), ADZ_F64), *x = three();
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    assert_true(adz_equal(adz_jacobian(constant, NULL, x, &o), zeros));
    o.mode = ADZ_JACOBIAN_FORWARD;
    assert_true(adz_equal(adz_jacobian(constant, NULL, x, &o), zeros));
    assert_true(adz_equal(adz_vjp(constant, &number, x, ADZ_NONE, NULL), adz_zeros_like(x)));
    assert_true(adz_equal(
        adz_jvp(constant, NULL, x, adz_ones_like(x), NULL), adz_zeros(ADZ_SHAPE(2), ADZ_F64)));
    assert_true(
        adz_equal(adz_hessian(constant, &number, x, NULL), adz_zeros(ADZ_SHAPE(3, 3), ADZ_F64)));
}

/* The input itself as the result. */
static adz_tensor *identity(adz_tensor *x, void *user)
{
    (void)user;
    return x;
}

static void the_identity(void **state)
{
    (void)state;
    adz_tensor *eye = adz_eye(3, 3, ADZ_F64), *x = three();
    for (int mode = ADZ_JACOBIAN_REVERSE; mode <= ADZ_JACOBIAN_FORWARD; ++mode) {
        adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
        o.mode = (adz_jacobian_mode)mode;
        assert_true(adz_equal(adz_jacobian(identity, NULL, x, &o), eye));
    }
    assert_true(adz_equal(adz_jvp(identity, NULL, x, three(), NULL), three()));
}

/* Row n of the rows' Jacobians is block (n, n) of the whole one. */
static void rows_are_the_diagonal(void **state)
{
    (void)state;
    adz_module *net = small_network(3);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 3), ADZ_F64);
    adz_tensor *whole = adz_jacobian(apply, net, x, NULL);
    for (int mode = ADZ_JACOBIAN_AUTO; mode <= ADZ_JACOBIAN_FORWARD; ++mode) {
        adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
        o.mode = (adz_jacobian_mode)mode;
        o.check_rows = true;
        adz_tensor *rows = adz_jacobian_rows(apply, net, x, &o);
        for (int64_t n = 0; n < 4; ++n) {
            adz_tensor *block = adz_select(adz_select(whole, 0, n), 1, n);
            assert_true(apart(block, adz_select(rows, 0, n)) < 1e-14);
        }
    }
    assert_true(apart(adz_jacobian_rows(apply, net, adz_empty(ADZ_SHAPE(0, 3), ADZ_F64), NULL),
                    adz_empty(ADZ_SHAPE(0, 2, 3), ADZ_F64)) == 0);
    adz_module_release(&net);
}

/* Jacobians agree with products of both kinds. */
static void products_are_those_of_the_jacobian(void **state)
{
    (void)state;
    adz_module *net = small_network(4);
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3), ADZ_F64), *v = adz_randn(ADZ_SHAPE(2, 2), ADZ_F64);
    adz_tensor *w = adz_randn(ADZ_SHAPE(2, 3), ADZ_F64);
    adz_tensor *j = adz_reshape(adz_jacobian(apply, net, x, NULL), ADZ_SHAPE(4, 6));
    adz_tensor *pulled = adz_matmul(adz_reshape(v, ADZ_SHAPE(1, 4)), j);
    adz_tensor *pushed = adz_matmul(j, adz_reshape(w, ADZ_SHAPE(6, 1)));
    assert_true(
        apart(adz_reshape(pulled, ADZ_SHAPE(2, 3)), adz_vjp(apply, net, x, v, NULL)) < 1e-14);
    assert_true(
        apart(adz_reshape(pushed, ADZ_SHAPE(2, 2)), adz_jvp(apply, net, x, w, NULL)) < 1e-14);
    adz_module_release(&net);
}

/* a b and a + 2 b: two inputs and two results. */
static int two_of_two(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = adz_mul(in[0], in[1]);
    out[1] = adz_add(in[0], adz_mul_number(in[1], 2));
    return out[0] != NULL && out[1] != NULL ? 2 : 0;
}

static void several_inputs_and_results(void **state)
{
    (void)state;
    const adz_tensor_function f = { two_of_two, NULL };
    adz_tensor *ab[] = { adz_scalar(3, ADZ_F64), adz_scalar(7, ADZ_F64) }, *j[4], *g[2], *t[2];
    adz_tensor *values[2];
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    o.results = values;
    for (int mode = ADZ_JACOBIAN_REVERSE; mode <= ADZ_JACOBIAN_FORWARD; ++mode) {
        o.mode = (adz_jacobian_mode)mode;
        assert_int_equal(adz_jacobian_many(&f, ab, 2, 2, &o, j), ADZ_OK);
        assert_true(adz_item(j[0]) == 7 && adz_item(j[1]) == 3 && adz_item(j[2]) == 1 &&
                    adz_item(j[3]) == 2);
        assert_true(adz_item(values[0]) == 21 && adz_item(values[1]) == 17);
    }
    assert_int_equal(adz_vjp_many(&f, ab, 2, NULL, 2, NULL, g), ADZ_OK);
    assert_true(adz_item(g[0]) == 8 && adz_item(g[1]) == 5);
    adz_tensor *direction[] = { ADZ_NONE, adz_scalar(10, ADZ_F64) };
    assert_int_equal(adz_jvp_many(&f, ab, 2, direction, 2, NULL, t), ADZ_OK);
    assert_true(adz_item(t[0]) == 30 && adz_item(t[1]) == 20);
}

/* a^2 b^3 */
static int one_of_two(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = adz_mul(adz_square(in[0]), adz_pow_number(in[1], 3));
    return out[0] != NULL;
}

static void second_derivatives_of_several(void **state)
{
    (void)state;
    const adz_tensor_function f = { one_of_two, NULL };
    adz_tensor *ab[] = { adz_scalar(3, ADZ_F64), adz_scalar(2, ADZ_F64) }, *h[4], *p[2];
    assert_int_equal(adz_hessian_many(&f, ab, 2, NULL, h), ADZ_OK);
    assert_true(adz_item(h[0]) == 16 && adz_item(h[1]) == 72 && adz_item(h[2]) == 72 &&
                adz_item(h[3]) == 108);
    adz_tensor *v[] = { ADZ_NONE, adz_scalar(2, ADZ_F64) };
    assert_int_equal(adz_hvp_many(&f, ab, 2, v, NULL, p), ADZ_OK);
    assert_true(adz_item(p[0]) == 144 && adz_item(p[1]) == 216);
}

/* A row of the Jacobian is a row of the weight. A product with the unit vector would multiply the
 * other rows by 0 and lose the sign of -0. */
static void the_jacobian_of_a_layer_is_its_weight(void **state)
{
    (void)state;
    for (adz_dtype dtype = ADZ_F32; dtype <= ADZ_F64; ++dtype) {
        adz_module *layer = adz_linear_new(3, 4, NULL);
        assert_int_equal(adz_module_to(layer, dtype), ADZ_OK);
        adz_tensor *weight = adz_detach(adz_module_get_parameter(layer, "weight"));
        adz_fill_(adz_narrow(adz_select(weight, 0, 2), 0, 1, 1), INFINITY);
        adz_fill_(adz_select(weight, 0, 1), -0.0);
        adz_tensor *before = adz_clone(weight);
        for (int n = 1; n <= 9; n += 4) {
            adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
            o.mode = ADZ_JACOBIAN_REVERSE;
            adz_tensor *j = adz_jacobian_rows(apply, layer, adz_zeros(ADZ_SHAPE(n, 3), dtype), &o);
            assert_true(adz_equal(j, adz_expand(weight, ADZ_SHAPE(n, 4, 3))));
            assert_true(signbit(adz_tensor_at(j, (int64_t[]){ n - 1, 1, 2 })));
            adz_zero_(j);
            assert_true(adz_equal(weight, before)); /* the Jacobian is no view of it */
        }
        adz_module_release(&layer);
    }
}

const struct CMUnitTest functional_values[N_FUNCTIONAL_VALUES] = {
    cmocka_unit_test_setup_teardown(a_jacobian_by_hand, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(products_by_hand, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(a_hessian_by_hand, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(constants_have_zeros, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(the_identity, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(rows_are_the_diagonal, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(
        products_are_those_of_the_jacobian, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(several_inputs_and_results, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(
        second_derivatives_of_several, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(
        the_jacobian_of_a_layer_is_its_weight, functional_open, functional_close),
};
