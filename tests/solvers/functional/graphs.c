/* Derivatives in graphs, in regions without gradients and in plans; what stays untouched. */
#include "solvers/functional/functional.h"
#include "ops/op.h"
#include "tensor/tensor.h"

/* The sum of squares of the rows' Jacobians of a network, as a function of its input. */
static int size_of_jacobian(adz_tensor *const *in, size_t n, adz_tensor **out, void *net)
{
    (void)n;
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    o.create_graph = true;
    adz_tensor *forward, *reverse;
    o.mode = ADZ_JACOBIAN_FORWARD;
    forward = adz_jacobian_rows(apply, net, in[0], &o);
    o.mode = ADZ_JACOBIAN_REVERSE;
    reverse = adz_jacobian_rows(apply, net, in[0], &o);
    out[0] = forward == NULL || reverse == NULL
                 ? NULL
                 : adz_sum(adz_mul(forward, reverse), ADZ_ALL_DIMS, ADZ_DROPDIM);
    return out[0] != NULL;
}

static void jacobians_have_derivatives(void **state)
{
    (void)state;
    adz_module *net = small_network(5);
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(3, 3), ADZ_F64), true);
    const adz_gradcheck_function f = { size_of_jacobian, net };
    assert_int_equal(adz_gradcheck(&f, &x, 1, NULL, NULL), ADZ_OK);
    assert_int_equal(adz_gradgradcheck(&f, &x, 1, NULL, NULL), ADZ_OK);
    adz_module_release(&net);
}

/* A loss on the tangent trains the network's parameters, also where x wants no gradient. */
static void parameters_get_gradients_of_derivatives(void **state)
{
    (void)state;
    adz_module *net = small_network(6);
    adz_tensor *x = adz_randn(ADZ_SHAPE(3, 3), ADZ_F64), *loss;
    assert_true(size_of_jacobian(&x, 1, &loss, net) == 1 && adz_tensor_requires_grad(loss));
    assert_int_equal(adz_backward(loss), ADZ_OK);
    adz_tensor *weight = adz_module_get_parameter(net, "0.weight"), *grad = adz_tensor_grad(weight);
    double *element = adz_tensor_data_f64(weight), before = *element, values[2];
    for (int k = 0; k < 2; ++k) {
        *element = before + (k == 0 ? 1e-6 : -1e-6);
        assert_int_equal(size_of_jacobian(&x, 1, &loss, net), 1);
        values[k] = adz_item(loss);
    }
    *element = before;
    const double analytic = adz_tensor_at(grad, (int64_t[]){ 0, 0 });
    assert_true(fabs((values[0] - values[1]) / 2e-6 - analytic) < 1e-7 && analytic != 0);
    adz_module_release(&net);
}

static adz_tensor *product_of(adz_tensor *x, void *v)
{
    return adz_mul(adz_exp(adz_mul(x, adz_flip(x, ADZ_DIMS(0)))), v);
}

static int push_of(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    o.create_graph = true;
    out[0] = adz_jvp(product_of, user, in[0], in[1], &o);
    out[1] = adz_vjp(product_of, user, in[0], in[1], &o);
    return out[0] != NULL && out[1] != NULL ? 2 : 0;
}

/* By the input and by the vector. */
static void products_have_derivatives(void **state)
{
    (void)state;
    adz_manual_seed(7);
    adz_tensor *in[2];
    for (int i = 0; i < 2; ++i) {
        in[i] = adz_requires_grad_(adz_randn(ADZ_SHAPE(3), ADZ_F64), true);
    }
    const adz_gradcheck_function f = { push_of, adz_randn(ADZ_SHAPE(3), ADZ_F64) };
    assert_int_equal(adz_gradcheck(&f, in, 2, NULL, NULL), ADZ_OK);
    assert_int_equal(adz_gradgradcheck(&f, in, 2, NULL, NULL), ADZ_OK);
}

/* No gradient changes, and the mode is what it was. */
static void nothing_else_changes(void **state)
{
    (void)state;
    adz_module *net = small_network(8);
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(2, 3), ADZ_F64), true);
    bool before = adz_set_grad_enabled(false);
    adz_tensor *j = adz_jacobian_rows(apply, net, x, NULL);
    assert_false(adz_is_grad_enabled());
    adz_set_grad_enabled(before);
    assert_true(apart(j, adz_jacobian_rows(apply, net, x, NULL)) == 0);
    assert_false(adz_tensor_requires_grad(j));
    assert_null(adz_tensor_grad(x));
    assert_null(adz_tensor_grad(adz_module_get_parameter(net, "0.weight")));
    adz_module_release(&net);
}

typedef struct {
    adz_module *net;
    adz_tensor *x;
    adz_jacobian_mode mode;
} captured;

static adz_tensor *tangent(void *user)
{
    captured *c = user;
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    o.mode = c->mode;
    return adz_jacobian_rows(apply, c->net, c->x, &o);
}

static void plans_replay_jacobians(void **state)
{
    (void)state;
    captured c = { small_network(9), adz_randn(ADZ_SHAPE(4, 3), ADZ_F64), ADZ_JACOBIAN_REVERSE };
    for (; c.mode <= ADZ_JACOBIAN_FORWARD; ++c.mode) {
        adz_plan *plan = adz_plan_new(tangent, &c, NULL);
        assert_non_null(plan);
        for (int run = 0; run < 4; ++run) {
            adz_copy_(c.x, adz_randn(ADZ_SHAPE(4, 3), ADZ_F64));
            assert_int_equal(adz_plan_run(plan), ADZ_OK);
            assert_true(adz_equal(adz_plan_output(plan), tangent(&c)));
        }
        adz_plan_info info;
        assert_int_equal(adz_plan_get_info(plan, &info, sizeof info), ADZ_OK);
        assert_true(info.captured);
        adz_plan_free(&plan);
    }
    adz_module_release(&c.net);
}

static adz_tensor *value(void *user)
{
    captured *c = user;
    return adz_detach(apply(c->x, c->net));
}

/* The launches of a plan. */
static size_t launches_of(adz_plan_function function, captured *c)
{
    adz_plan *plan = adz_plan_new(function, c, NULL);
    adz_plan_info info;
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    assert_int_equal(adz_plan_get_info(plan, &info, sizeof info), ADZ_OK);
    assert_true(info.captured);
    adz_plan_free(&plan);
    return info.launches;
}

/* A pass of a single layer copies a row of the weight. Its unit vector takes no launch. */
static void unit_vectors_are_not_multiplied(void **state)
{
    (void)state;
    captured c = { adz_linear_new(3, 2, NULL), adz_randn(ADZ_SHAPE(1, 3), ADZ_F32),
        ADZ_JACOBIAN_REVERSE };
    assert_int_equal(launches_of(tangent, &c), launches_of(value, &c) + 2);
    adz_module_release(&c.net);
}

static adz_tensor *sum_of_tanh(adz_tensor *x, void *user)
{
    (void)user;
    return adz_sum(adz_tanh(x), ADZ_ALL_DIMS, ADZ_DROPDIM);
}

static adz_tensor *curvature(void *user)
{
    const captured *c = user;
    return adz_hvp(sum_of_tanh, NULL, c->x, c->x, NULL);
}

/* The gradient of tanh is one operator, with one kernel for each of its derivatives. */
static void the_second_derivative_of_tanh_takes_few_launches(void **state)
{
    (void)state;
    captured c = { NULL, adz_randn(ADZ_SHAPE(8), ADZ_F64), ADZ_JACOBIAN_AUTO };
    assert_int_equal(launches_of(curvature, &c), 6);
}

/* v times the derivative of y by x, elementwise, with a graph or without. */
static adz_tensor *slope_of(adz_tensor *y, adz_tensor *v, adz_tensor *x, bool graph)
{
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    adz_tensor *dx = NULL;
    o.create_graph = graph;
    o.retain_graph = true;
    assert_int_equal(adz_autograd_grad(&y, &v, 1, &x, 1, &o, &dx), ADZ_OK);
    return dx;
}

/* The derivatives of tanh, of order 1 to 4, at a result y. */
static double derivative_of_tanh(int order, double y)
{
    const double slope = 1 - y * y;
    const double of[] = { slope, -2 * y * slope, -2 * slope * (1 - 3 * y * y),
        8 * y * slope * (2 - 3 * y * y) };
    return of[order - 1];
}

/* A gradient has the same bits whether its graph is kept or not. */
static void tanh_has_derivatives_of_any_order(void **state)
{
    (void)state;
    const double points[] = { -INFINITY, -20, -1.5, -0.25, -0.0, 0.0, 1e-300, 0.5, 3, INFINITY };
    for (int k = 0; k < 2; ++k) {
        const adz_dtype dtype = k == 0 ? ADZ_F64 : ADZ_F32;
        adz_tensor *x = adz_to(adz_tensor_from(points, ADZ_SHAPE(10), ADZ_F64), dtype);
        adz_tensor *v = adz_full(ADZ_SHAPE(10), 1.25, dtype);
        adz_requires_grad_(x, true);
        adz_tensor *y = adz_tanh(x), *value = adz_to(adz_detach(y), ADZ_F64);
        for (int order = 1; order <= 4; ++order) {
            adz_tensor *kept = slope_of(y, v, x, true), *alone = slope_of(y, v, x, false);
            assert_memory_equal(kept->data, alone->data, 10 * adz_dtype_size(dtype));
            for (int64_t i = 0; i < 10; ++i) {
                const double at = adz_item(adz_select(value, 0, i));
                const double wanted = pow(1.25, order) * derivative_of_tanh(order, at);
                assert_true(
                    fabs(adz_item(adz_select(kept, 0, i)) - wanted) <= (k == 0 ? 1e-13 : 1e-5));
            }
            y = kept;
        }
        adz_tensor *none = adz_zeros(ADZ_SHAPE(0, 3), dtype);
        adz_requires_grad_(none, true);
        adz_tensor *dx = slope_of(adz_tanh(none), none, none, true);
        assert_int_equal(adz_tensor_numel(slope_of(dx, none, none, true)), 0);
    }
}

/* An operator that gives its input, and looks at the gradients that come back. */
static int gradients_seen, zeros_seen;

static adz_status watch_backward(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)node;
    ++gradients_seen;
    zeros_seen += dy[0]->is_zero;
    dx[0] = dy[0];
    return ADZ_OK;
}

static adz_status watch_expression(
    adz_tensor **results, adz_tensor *const *inputs, const void *attributes)
{
    (void)attributes;
    results[0] = adz_mul_number(inputs[0], 1);
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static const adz_operator watch_operator = {
    .size = sizeof(adz_operator),
    .name = "watch",
    .backward = watch_backward,
    .expression = watch_expression,
};

/* Two networks after each other, and what goes past them. */
static adz_tensor *past_networks(adz_tensor *x, void *user)
{
    adz_tensor *h = adz_mul_number(x, 2);
    h = adz_operator_call(&watch_operator, &h, 1, NULL, NULL);
    adz_tensor *y = adz_module_forward(user, adz_reshape(h, ADZ_SHAPE(4, 3)));
    adz_tensor *tall = adz_matmul(adz_transpose(y, 0, 1), adz_tanh(h));
    return adz_add(adz_matmul(y, tall), adz_tanh(h));
}

/* A program may write to what it is given, so that a gradient is not known to be zeros there. */
static adz_tensor *forgotten(adz_tensor *gradient, void *user)
{
    assert_false(gradient->is_zero);
    ++*(int *)user;
    return gradient;
}

static adz_tensor *hooked(adz_tensor *x, void *user)
{
    adz_tensor *h = adz_mul_number(x, 2);
    adz_register_hook(h, forgotten, user);
    return adz_mul(h, x);
}

static void zeros_are_forgotten_by_programs(void **state)
{
    (void)state;
    int calls = 0;
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(3), ADZ_F64), true);
    adz_jvp(hooked, &calls, x, adz_ones(ADZ_SHAPE(3), ADZ_F64), NULL);
    assert_true(calls > 0);
    /* x (0 x): the gradient is 0 for one, and what is known of it ends with the backward. */
    adz_tensor *zeros = adz_mul_number(x, 1), *dx = NULL, *y, *known = adz_zeros_like(x);
    known->is_zero = true;
    y = adz_mul(zeros, known);
    adz_tensor *ones = adz_ones_like(x);
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.create_graph = true;
    assert_int_equal(adz_autograd_grad(&y, &ones, 1, &zeros, 1, &o, &dx), ADZ_OK);
    assert_false(dx->is_zero);
    y = adz_mul(x, known);
    assert_int_equal(adz_autograd_grad(&y, &ones, 1, &x, 1, &o, &dx), ADZ_OK);
    assert_false(dx->is_zero);
    y = adz_mul(x, adz_ones_like(x));
    assert_int_equal(adz_autograd_backward(&y, &known, 1, NULL), ADZ_OK);
    assert_false(adz_tensor_grad(x)->is_zero);
}

/* The vjp that a jvp differentiates is of zeros. They are known, so nothing multiplies by them, and
 * sums of them with other numbers are not taken for zeros. */
static void tangents_multiply_no_zeros(void **state)
{
    (void)state;
    adz_module *net = small_network(4);
    gradients_seen = zeros_seen = 0;
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 3), ADZ_F64), *v = adz_randn(ADZ_SHAPE(4, 3), ADZ_F64);
    adz_tensor *tangent = adz_jvp(past_networks, net, x, v, NULL);
    assert_true(gradients_seen >= 1 && zeros_seen == 1);
    adz_tensor *j = adz_jacobian(past_networks, net, x, NULL);
    assert_int_equal(zeros_seen, 1);
    adz_tensor *wanted =
        adz_matmul(adz_reshape(j, ADZ_SHAPE(12, 12)), adz_reshape(v, ADZ_SHAPE(12)));
    assert_true(apart(adz_reshape(tangent, ADZ_SHAPE(12)), wanted) < 1e-13);
    adz_tensor *zeros = adz_mul_number(x, 0);
    zeros->is_zero = true;
    assert_true(adz_equal(adz_mul(adz_add(zeros, x), x), adz_square(x)));
    assert_true(adz_equal(adz_mul(adz_add(x, zeros), x), adz_square(x)));
    assert_true(adz_add(zeros, zeros)->is_zero);
    adzi_accumulate(zeros, x);
    assert_true(adz_equal(adz_mul(zeros, x), adz_square(x)));
    zeros = adz_mul_number(x, 0);
    zeros->is_zero = true;
    adz_tensor *over = adzi_scratch_over("test", zeros, x);
    assert_true(over == zeros && !zeros->is_zero);
    zeros->is_zero = true;
    adz_fill_(zeros, 3);
    assert_true(adz_equal(adz_mul(zeros, x), adz_mul_number(x, 3)));
    adz_module_release(&net);
}

/* A dropout has one mask in the value and in all derivatives. */
static adz_tensor *dropped(adz_tensor *x, void *user)
{
    (void)user;
    return adz_dropout(x, 0.5, true, NULL);
}

static void a_dropout_is_drawn_once(void **state)
{
    (void)state;
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 20), ADZ_F64), *y = NULL;
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    o.results = &y;
    for (int mode = ADZ_JACOBIAN_REVERSE; mode <= ADZ_JACOBIAN_FORWARD; ++mode) {
        o.mode = (adz_jacobian_mode)mode;
        adz_tensor *j = adz_jacobian_rows(dropped, NULL, x, &o);
        assert_true(adz_equal(adz_sum(j, ADZ_DIMS(2), ADZ_DROPDIM), y));
    }
}

/* The Jacobian of a module by its parameters, which are arguments of the function. */
static int by_parameters(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    void **net_and_x = user;
    (void)n;
    adz_values *parameters = adz_values_new(), *arguments = adz_values_new();
    adz_values *results = adz_values_new();
    adz_values_add(parameters, "0.weight", in[0]);
    adz_values_add(arguments, NULL, net_and_x[1]);
    out[0] = adz_module_functional_call(net_and_x[0], parameters, arguments, results) == ADZ_OK
                 ? adz_values_at(results, 0)
                 : NULL;
    adz_values_free(&parameters);
    adz_values_free(&arguments);
    adz_values_free(&results);
    return out[0] != NULL;
}

static void jacobians_by_parameters(void **state)
{
    (void)state;
    adz_module *net = small_network(10);
    adz_tensor *x = adz_randn(ADZ_SHAPE(1, 3), ADZ_F64), *j[2];
    void *net_and_x[] = { net, x };
    const adz_tensor_function f = { by_parameters, net_and_x };
    adz_tensor *weight = adz_module_get_parameter(net, "0.weight");
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    for (int mode = 0; mode < 2; ++mode) {
        o.mode = (adz_jacobian_mode)(mode + 1);
        assert_int_equal(adz_jacobian_many(&f, &weight, 1, 1, &o, &j[mode]), ADZ_OK);
    }
    assert_true(apart(j[0], j[1]) < 1e-14 && adz_tensor_rank(j[0]) == 4);
    adz_tensor *y = adz_module_forward(net, x);
    assert_int_equal(adz_backward(adz_select(adz_select(y, 0, 0), 0, 1)), ADZ_OK);
    adz_tensor *row = adz_select(adz_select(j[0], 0, 0), 0, 1);
    assert_true(apart(row, adz_tensor_grad(weight)) < 1e-15);
    adz_module_release(&net);
}

const struct CMUnitTest functional_graphs[N_FUNCTIONAL_GRAPHS] = {
    cmocka_unit_test_setup_teardown(jacobians_have_derivatives, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(
        parameters_get_gradients_of_derivatives, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(products_have_derivatives, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(nothing_else_changes, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(
        unit_vectors_are_not_multiplied, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(
        the_second_derivative_of_tanh_takes_few_launches, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(
        tanh_has_derivatives_of_any_order, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(plans_replay_jacobians, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(tangents_multiply_no_zeros, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(
        zeros_are_forgotten_by_programs, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(a_dropout_is_drawn_once, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(jacobians_by_parameters, functional_open, functional_close),
};
