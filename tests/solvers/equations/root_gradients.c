/* Gradients of roots: of every form, by arguments and by captured leaves, near a fold, in plans. */
#include "solvers/equations/solvers.h"

static int cubic(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user; /* x^3 + p x - q */
    out[0] = adz_sub(adz_add(adz_pow_number(in[0], 3), adz_mul(in[1], in[0])), in[2]);
    return out[0] != NULL;
}

static int fixed_point(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = adz_add(adz_mul_number(adz_tanh(adz_linear(in[0], in[1], ADZ_NONE)), 0.3), in[2]);
    return out[0] != NULL;
}

static int root_of(adz_tensor *const *in, size_t n, adz_tensor **out, void *options)
{
    const adz_root_options *o = options;
    const adz_tensor_function f = { o->method == ADZ_ROOT_ANDERSON ? fixed_point : cubic, NULL };
    out[0] = adz_root_many(&f, adz_ones(ADZ_SHAPE(2, 3), ADZ_F64), in, n, o, NULL);
    return out[0] != NULL;
}

static void every_form_has_derivatives(void **state)
{
    (void)state;
    adz_tensor *given[] = { adz_requires_grad_(adz_rand(ADZ_SHAPE(2, 3), ADZ_F64), true),
        leaf(2, 3) };
    adz_tensor *of_map[] = { leaf(3, 3), leaf(2, 3) };
    for (int form = 0; form < 4; ++form) {
        adz_root_options o = ADZ_ROOT_OPTIONS;
        o.tolerance = 1e-13;
        o.rows = form % 2 != 0;
        for (int fixed = 0; fixed < 2; ++fixed) {
            o.method = form / 2 != 0 ? ADZ_ROOT_ANDERSON : ADZ_ROOT_NEWTON;
            o.fixed_iterations = fixed ? (form / 2 != 0 ? 40 : 12) : 0;
            expect_derivatives(root_of, &o, form / 2 != 0 ? of_map : given, 2);
        }
    }
    adz_root_options o = ADZ_ROOT_OPTIONS;
    o.tolerance = 1e-13;
    o.method = ADZ_ROOT_KRYLOV;
    expect_derivatives(root_of, &o, given, 2);
}

/* x^2 = p has a fold at p = 0. Its derivatives are 1 / (2 x) and -1 / (4 x^3). */
static int parabola(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = adz_sub(adz_square(in[0]), in[1]);
    return out[0] != NULL;
}

static void derivatives_are_right_near_a_fold(void **state)
{
    (void)state;
    const adz_tensor_function f = { parabola, NULL };
    adz_root_options o = ADZ_ROOT_OPTIONS;
    adz_backward_options graph = ADZ_BACKWARD_OPTIONS;
    graph.create_graph = true;
    o.tolerance = 1e-22;
    for (int k = 2; k <= 10; k += 4) {
        const double x = pow(10, -k / 2.0);
        adz_tensor *p = adz_requires_grad_(adz_scalar(x * x, ADZ_F64), true), *first, *second;
        adz_tensor *root = adz_root_many(&f, adz_scalar(1, ADZ_F64), &p, 1, &o, NULL);
        assert_int_equal(adz_autograd_grad(&root, NULL, 1, &p, 1, &graph, &first), ADZ_OK);
        assert_int_equal(adz_autograd_grad(&first, NULL, 1, &p, 1, NULL, &second), ADZ_OK);
        assert_true(fabs(adz_item(first) * 2 * x - 1) < 1e-9);
        assert_true(fabs(adz_item(second) * -4 * x * x * x - 1) < 1e-9);
    }
    adz_tensor *p = adz_requires_grad_(adz_scalar(0, ADZ_F64), true);
    adz_tensor *root = adz_root_many(&f, adz_scalar(0, ADZ_F64), &p, 1, NULL, NULL);
    assert_true(root != NULL && adz_item(root) == 0);
    assert_int_equal(adz_backward(root), ADZ_ERR_NUMERIC);
    expect_error(ADZ_ERR_NUMERIC, "is singular");
    assert_null(adz_tensor_grad(p));
}

static adz_tensor *implicit_layer(adz_tensor *x, void *net)
{
    return adz_sub(adz_mul_number(adz_module_forward(net, x), 0.3), x);
}

static double loss_of(adz_module *net, const adz_root_options *o, bool backward)
{
    adz_tensor *x = adz_root(implicit_layer, net, adz_ones(ADZ_SHAPE(4, 3), ADZ_F64), o, NULL);
    adz_tensor *loss = adz_sum(adz_square(x), ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_true(loss != NULL && (!backward || adz_backward(loss) == ADZ_OK));
    return adz_item(loss);
}

static void captured_parameters_get_gradients(void **state)
{
    (void)state;
    adz_module *net =
        ADZ_SEQUENTIAL(adz_linear_new(3, 5, NULL), adz_tanh_new(), adz_linear_new(5, 3, NULL));
    assert_int_equal(adz_module_to(net, ADZ_F64), ADZ_OK);
    adz_root_options o = ADZ_ROOT_OPTIONS;
    o.tolerance = 1e-13;
    for (int m = ADZ_ROOT_NEWTON; m <= ADZ_ROOT_KRYLOV; ++m) {
        o.method = (adz_root_method)m;
        o.rows = m == ADZ_ROOT_NEWTON;
        adz_module_zero_grad(net);
        loss_of(net, &o, true);
        const char *const names[] = { "0.weight", "0.bias", "2.weight", "2.bias" };
        for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
            adz_tensor *p = adz_module_get_parameter(net, names[i]);
            double *element = adz_tensor_data_f64(p), before = *element;
            *element = before + 1e-5;
            double rise = loss_of(net, &o, false);
            *element = before - 1e-5;
            rise = (rise - loss_of(net, &o, false)) / 2e-5;
            *element = before;
            const double analytic = adz_tensor_data_f64(adz_tensor_grad(p))[0];
            assert_true(fabs(rise - analytic) < 1e-8 && analytic != 0);
        }
    }
    adz_module_release(&net);
}

/* Without a wish for gradients nothing is recorded; a parameter that changed is noticed. */
static void the_node_keeps_what_it_needs(void **state)
{
    (void)state;
    adz_tensor *given[] = { leaf(2, 3), leaf(2, 3) };
    const adz_tensor_function f = { cubic, NULL };
    adz_tensor *x0 = adz_requires_grad_(adz_ones(ADZ_SHAPE(2, 3), ADZ_F64), true), *x = NULL;
    ADZ_NO_GRAD
    {
        x = adz_root_many(&f, x0, given, 2, NULL, NULL);
    }
    assert_true(x != NULL && !adz_tensor_requires_grad(x));
    adz_tensor *constant[] = { adz_detach(given[0]), adz_detach(given[1]) };
    x = adz_root_many(&f, x0, constant, 2, NULL, NULL);
    assert_true(x != NULL && !adz_tensor_requires_grad(x));
    x = adz_root_many(&f, x0, given, 2, NULL, NULL);
    assert_true(x != NULL && adz_tensor_requires_grad(x));
    adz_fill_(constant[1], 2);
    assert_int_equal(adz_backward(adz_sum(x, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_ERR_VERSION);
    expect_error(ADZ_ERR_VERSION, "changed in place by fill");
}

typedef struct {
    adz_tensor *given[2];
    adz_root_options o;
} captured;

static adz_tensor *gradient_of_root(void *user)
{
    captured *c = user;
    adz_tensor *x, *d;
    return root_of(c->given, 2, &x, &c->o) == 1 &&
                   adz_autograd_grad(&x, (adz_tensor *[]){ adz_cos(adz_detach(x)) }, 1, c->given, 1,
                       NULL, &d) == ADZ_OK
               ? d
               : NULL;
}

static void plans_replay_gradients(void **state)
{
    (void)state;
    captured c = { { leaf(2, 3), leaf(2, 3) }, ADZ_ROOT_OPTIONS };
    c.o.rows = true;
    for (int form = 0; form < 3; ++form) {
        const int m = form == 0 ? ADZ_ROOT_NEWTON : ADZ_ROOT_ANDERSON;
        c.given[0] = m == ADZ_ROOT_NEWTON ? c.given[0] : leaf(3, 3);
        c.o.method = (adz_root_method)m;
        c.o.fixed_iterations = form == 2 ? 0 : 15;
        adz_plan *plan = adz_plan_new(gradient_of_root, &c, NULL);
        for (int run = 0; run < 3; ++run) {
            adz_copy_(adz_detach(c.given[1]), adz_randn(ADZ_SHAPE(2, 3), ADZ_F64));
            assert_int_equal(adz_plan_run(plan), ADZ_OK);
            assert_true(adz_equal(adz_plan_output(plan), gradient_of_root(&c)));
        }
        adz_plan_info info;
        assert_int_equal(adz_plan_get_info(plan, &info, sizeof info), ADZ_OK);
        assert_true(info.captured);
        adz_plan_free(&plan);
    }
}

/* ---- forward derivatives --------------------------------------------------------------------- */

/* exp(x) + w x = b, where w is [3, 3]. */
static int balance(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = adz_sub(adz_add(adz_exp(in[0]), adz_matmul(in[0], in[1])), in[2]);
    return out[0] != NULL;
}

/* x = tanh(x w) / 2 + b. */
static int settle(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = adz_add(adz_mul_number(adz_tanh(adz_matmul(in[0], in[1])), 0.5), in[2]);
    return out[0] != NULL;
}

static int forward_root(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    const adz_root_options *o = user;
    const adz_tensor_function f = { o->method == ADZ_ROOT_ANDERSON ? settle : balance, NULL };
    (void)n;
    out[0] = adz_root_many(&f, adz_zeros(ADZ_SHAPE(4, 3), ADZ_F64), in, 2, o, NULL);
    return out[0] != NULL;
}

static void forward_derivatives_agree(void **state)
{
    (void)state;
    const adz_root_method methods[] = { ADZ_ROOT_NEWTON, ADZ_ROOT_NEWTON, ADZ_ROOT_ANDERSON,
        ADZ_ROOT_ANDERSON, ADZ_ROOT_KRYLOV };
    for (int m = 0; m < 5; ++m) {
        adz_root_options r = ADZ_ROOT_OPTIONS;
        const adz_tensor_function f = { forward_root, &r };
        adz_tensor *in[] = { adz_mul_number(adz_randn(ADZ_SHAPE(3, 3), ADZ_F64), 0.2),
            adz_add_number(adz_rand(ADZ_SHAPE(4, 3), ADZ_F64), 1) };
        adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
        adz_tensor *ahead[2], *back[2], *with;
        r.method = methods[m];
        r.rows = m == 1 || m == 3;
        r.tolerance = 1e-13;
        o.mode = ADZ_JACOBIAN_FORWARD;
        assert_int_equal(adz_jacobian_many(&f, in, 2, 1, &o, ahead), ADZ_OK);
        o.mode = ADZ_JACOBIAN_REVERSE;
        assert_int_equal(adz_jacobian_many(&f, in, 2, 1, &o, back), ADZ_OK);
        for (int i = 0; i < 2; ++i) {
            assert_true(apart(ahead[i], back[i]) < 1e-11 * adz_item(adz_max(adz_abs(back[i]))));
        }
        o.create_graph = true; /* the Jacobian of the equation gets a graph */
        assert_int_equal(adz_jvp_many(&f, in, 2, in, 1, &o, &with), ADZ_OK);
        o.create_graph = false;
        assert_int_equal(adz_jvp_many(&f, in, 2, in, 1, &o, ahead), ADZ_OK);
        assert_true(apart(ahead[0], with) < 1e-11 * adz_item(adz_max(adz_abs(with))));
    }
}

const struct CMUnitTest root_gradients[N_ROOT_GRADIENTS] = {
    cmocka_unit_test_setup_teardown(every_form_has_derivatives, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(derivatives_are_right_near_a_fold, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(captured_parameters_get_gradients, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(the_node_keeps_what_it_needs, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(plans_replay_gradients, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(forward_derivatives_agree, solvers_open, solvers_close),
};
