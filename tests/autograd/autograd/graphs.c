/* Graphs, second derivatives, changes in place, and misuse. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <pthread.h>

#include "graph.h"
#include "tests.h"

static void a_diamond_sums_its_branches(void **state)
{
    (void)state;
    adz_tensor *x = leaf(3, 2), *y = adz_mul(x, x);
    adz_tensor *z = adz_add(adz_mul_number(y, 2), adz_mul(y, x));
    assert_int_equal(adz_backward(total(z)), ADZ_OK);
    assert_float_equal(grad0(x), 4 * 3 + 3 * 9, 1e-12);
}

static void gradients_accumulate_over_backwards(void **state)
{
    (void)state;
    adz_tensor *x = leaf(3, 2);
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(adz_backward(total(adz_mul_number(x, 2))), ADZ_OK);
    }
    assert_float_equal(grad0(x), 6, 0);
    assert_int_equal(adz_tensor_set_grad(x, ADZ_NONE), ADZ_OK);
    assert_null(adz_tensor_grad(x));
}

static void a_graph_runs_once_unless_retained(void **state)
{
    (void)state;
    adz_tensor *x = leaf(3, 2), *y = total(adz_mul(x, x));
    adz_backward_options keep = ADZ_BACKWARD_OPTIONS;
    keep.retain_graph = true;
    assert_int_equal(adz_autograd_backward(&y, NULL, 1, &keep), ADZ_OK);
    assert_int_equal(adz_backward(y), ADZ_OK);
    assert_float_equal(grad0(x), 12, 0);
    assert_int_equal(adz_backward(y), ADZ_ERR_GRAPH);
    assert_non_null(strstr(adz_error_message(), "retain_graph"));
    assert_float_equal(grad0(x), 12, 0);
}

static void several_losses_share_a_graph(void **state)
{
    (void)state;
    adz_tensor *x = leaf(2, 1), *h = adz_mul(x, x);
    adz_tensor *losses[] = { adz_mul(h, h), adz_mul_number(h, 10) };
    adz_tensor *upstream[] = { adz_full(ADZ_SHAPE(1), 0.5, ADZ_F64), ADZ_NONE };
    assert_int_equal(adz_autograd_backward(losses, upstream, 2, NULL), ADZ_OK);
    assert_float_equal(grad0(x), 0.5 * 4 * 8 + 10 * 4, 1e-12);
}

static void a_million_operators_deep(void **state)
{
    (void)state;
    adz_tensor *x = leaf(1, 1), *h = x, *step = adz_full(ADZ_SHAPE(1), 1e-6, ADZ_F64);
    for (int i = 0; i < 1000000; ++i) {
        h = adz_add(h, step);
    }
    assert_non_null(h);
    assert_int_equal(adz_backward(h), ADZ_OK);
    assert_float_equal(grad0(x), 1, 0);
}

static void *deep_on_a_small_stack(void *unused)
{
    void *none = NULL;
    (void)unused;
    adz_scope *own = adz_scope_open();
    adz_tensor *x = leaf(1, 1), *h = x;
    for (int i = 0; i < 200000; ++i) {
        h = adz_mul(h, x); /* mul saves its inputs, so the chain is held by saved tensors too. */
    }
    adz_keep(h);
    adz_scope_close(own);
    adz_release(&h); /* frees 200,000 nodes */
    return h == NULL ? &live : none;
}

static void freeing_a_deep_graph_needs_little_stack(void **state)
{
    (void)state;
    pthread_attr_t attr;
    pthread_t thread;
    void *result = NULL;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256 * 1024);
    assert_int_equal(pthread_create(&thread, &attr, deep_on_a_small_stack, NULL), 0);
    pthread_join(thread, &result);
    pthread_attr_destroy(&attr);
    assert_non_null(result);
}

/* ---- gradients as values --------------------------------------------------------------------- */

static void hessian_vector_product(void **state)
{
    (void)state;
    /* f = sum x^3, H = diag(6 x), H v = 6 x v */
    adz_tensor *x = leaf(2, 3), *v = adz_full(ADZ_SHAPE(3), 5, ADZ_F64);
    adz_tensor *f = total(adz_mul(adz_mul(x, x), x)), *g, *hv;
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.create_graph = true;
    assert_int_equal(adz_autograd_grad(&f, NULL, 1, &x, 1, &o, &g), ADZ_OK);
    adz_tensor *gv = total(adz_mul(g, v));
    assert_int_equal(adz_autograd_grad(&gv, NULL, 1, &x, 1, &o, &hv), ADZ_OK);
    assert_float_equal(adz_tensor_at(hv, (int64_t[]){ 1 }), 60, 1e-9);
    adz_tensor *third, *sum = total(hv);
    assert_int_equal(adz_autograd_grad(&sum, NULL, 1, &x, 1, NULL, &third), ADZ_OK);
    assert_float_equal(adz_tensor_at(third, (int64_t[]){ 1 }), 30, 1e-9);
    assert_null(adz_tensor_grad(x));
}

static void gradient_penalty(void **state)
{
    (void)state;
    /* loss = |d (w x^2) / dx|^2 = 4 w^2 x^2, so d loss / dw = 8 w x^2 */
    adz_tensor *x = leaf(3, 1), *w = leaf(2, 1), *g;
    adz_tensor *y = adz_mul(w, adz_mul(x, x));
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.create_graph = true;
    assert_int_equal(adz_autograd_grad(&y, NULL, 1, &x, 1, &o, &g), ADZ_OK);
    assert_int_equal(adz_backward(total(adz_mul(g, g))), ADZ_OK);
    assert_float_equal(grad0(w), 8 * 2 * 9, 1e-9);
}

/* d/dx of sum c norm(x) w depends on w, although the first call asks for the gradient of x alone.
 * The backward of layer_norm is derived from its expression. */
static void penalty_of_a_derived_backward(void **state)
{
    (void)state;
    adz_manual_seed(2);
    adz_tensor *w = adz_requires_grad_(adz_full(ADZ_SHAPE(4), 3, ADZ_F64), true), *b = leaf(0, 4);
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(4), ADZ_F64), true), *g;
    adz_tensor *c = adz_randn(ADZ_SHAPE(4), ADZ_F64);
    adz_tensor *y = total(adz_mul(c, adz_layer_norm(x, ADZ_SHAPE(4), w, b, 1e-5)));
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.create_graph = true;
    assert_int_equal(adz_autograd_grad(&y, NULL, 1, &x, 1, &o, &g), ADZ_OK);
    adz_tensor *penalty = total(adz_mul(g, g));
    assert_int_equal(adz_backward(penalty), ADZ_OK);
    /* the penalty is quadratic in w, so the sum of w dp/dw is 2 p (Euler) */
    adz_tensor *sum = total(adz_mul(adz_detach(w), adz_tensor_grad(w)));
    assert_true(fabs(adz_item(sum) - 2 * adz_item(penalty)) < 1e-9 * adz_item(penalty));
}

static void unused_inputs_are_an_error_unless_allowed(void **state)
{
    (void)state;
    adz_tensor *x = leaf(1, 1), *other = leaf(1, 1), *y = adz_mul(x, x), *g = NULL;
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.retain_graph = true;
    assert_int_equal(adz_autograd_grad(&y, NULL, 1, &other, 1, &o, &g), ADZ_ERR_GRAPH);
    assert_non_null(strstr(adz_error_message(), "allow_unused"));
    assert_null(g);
    adz_error_clear();
    o.allow_unused = true;
    assert_int_equal(adz_autograd_grad(&y, NULL, 1, &other, 1, &o, &g), ADZ_OK);
    assert_ptr_equal(g, ADZ_NONE);
}

static void gradients_of_results(void **state)
{
    (void)state;
    adz_tensor *x = leaf(3, 1), *h = adz_mul(x, x), *y = adz_mul(h, h), *found[2];
    adz_tensor *inputs[] = { h, x };
    assert_int_equal(adz_autograd_grad(&y, NULL, 1, inputs, 2, NULL, found), ADZ_OK);
    assert_float_equal(adz_item(found[0]), 18, 0);
    assert_float_equal(adz_item(found[1]), 108, 0);
}

static void retained_gradients(void **state)
{
    (void)state;
    adz_tensor *x = leaf(3, 1), *h = adz_mul(x, x), *y = adz_mul(h, h);
    assert_int_equal(adz_retain_grad(h), ADZ_OK);
    assert_int_equal(adz_backward(y), ADZ_OK);
    assert_float_equal(grad0(h), 18, 0);
    assert_float_equal(grad0(x), 108, 0);
    /* After a change in place, the retained gradient is that of the new h. */
    h = adz_mul(x, x);
    assert_int_equal(adz_retain_grad(h), ADZ_OK);
    adz_mul_number_(h, 2);
    assert_int_equal(adz_backward(adz_mul(h, h)), ADZ_OK);
    assert_float_equal(grad0(h), 36, 0);
}

/* A backward may return gradients in the shape that an input was broadcast to. */
static void gradients_are_summed_over_what_was_broadcast(void **state)
{
    (void)state;
    for (int dim = 0; dim < 4; ++dim) {
        adz_shape shape = ADZ_SHAPE(2, 3, 4, 5);
        adz_tensor *x = adz_randn(shape, ADZ_F64);
        shape.sizes[dim] = 1;
        adz_tensor *target = adz_requires_grad_(adz_randn(shape, ADZ_F64), true);
        assert_int_equal(adz_backward(adz_mse_loss(x, target, ADZ_REDUCE_SUM)), ADZ_OK);
        adz_tensor *expected =
            adz_mul_number(adz_sum(adz_sub(adz_detach(target), x), ADZ_DIMS(dim), ADZ_KEEPDIM), 2);
        assert_true(adz_allclose(adz_tensor_grad(target), expected, 1e-12, 1e-12, false));
    }
}

static void a_stale_view_is_refused(void **state)
{
    (void)state;
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(2, 2), ADZ_F64), true);
    adz_tensor *y = adz_mul_number(x, 2), *view = adz_transpose(y, 0, 1);
    assert_null(adz_mul_number_(view, 3));
    assert_int_equal(adz_error_code(), ADZ_ERR_INPLACE);
    adz_error_clear();
    assert_non_null(adz_mul_number_(y, 3));
    assert_null(adz_mul_number(view, 1));
    assert_int_equal(adz_error_code(), ADZ_ERR_VERSION);
    assert_non_null(strstr(adz_error_message(), "view"));
}

static void updates_without_the_tape(void **state)
{
    (void)state;
    adz_tensor *w = leaf(1, 2);
    assert_int_equal(adz_backward(total(adz_mul(w, w))), ADZ_OK);
    ADZ_NO_GRAD
    {
        assert_non_null(adz_add_scaled_(w, adz_tensor_grad(w), -0.25));
        ADZ_NO_GRAD
        {
            assert_false(adz_is_grad_enabled());
        }
        assert_false(adz_is_grad_enabled());
    }
    assert_true(adz_is_grad_enabled());
    assert_float_equal(adz_tensor_at(w, (int64_t[]){ 0 }), 0.5, 0);
    assert_true(adz_tensor_is_leaf(w));
}

static void in_position_chains_keep_their_history(void **state)
{
    (void)state;
    adz_tensor *x = leaf(2, 1), *y = adz_mul(x, x);
    for (int i = 0; i < 3; ++i) {
        assert_non_null(adz_mul_(y, x));
    }
    assert_int_equal(adz_backward(y), ADZ_OK); /* x^5 */
    assert_float_equal(grad0(x), 80, 1e-9);
}

/* ---- misuse ---------------------------------------------------------------------------------- */

static void backward_says_what_is_wrong(void **state)
{
    (void)state;
    adz_tensor *x = leaf(3, 2);
    assert_int_equal(adz_backward(adz_mul(x, x)), ADZ_ERR_SHAPE);
    assert_non_null(strstr(adz_error_message(), "adz_sum"));
    /* a backward is refused while an error is recorded */
    assert_int_equal(adz_backward(total(x)), ADZ_ERR_SHAPE);
    assert_null(adz_tensor_grad(x));
    adz_error_clear();
    assert_int_equal(adz_backward(adz_scalar(1, ADZ_F32)), ADZ_ERR_GRAPH);
    assert_non_null(strstr(adz_error_message(), "adz_requires_grad_"));
    adz_error_clear();
    assert_null(adz_requires_grad_(adz_zeros(ADZ_SHAPE(2), ADZ_I64), true));
    assert_int_equal(adz_error_code(), ADZ_ERR_DTYPE);
    adz_error_clear();
    assert_int_equal(adz_backward(NULL), ADZ_ERR_NULL);
}

static void one_check_at_the_end_of_an_expression(void **state)
{
    (void)state;
    adz_tensor *x = leaf(3, 2), *bad = adz_zeros(ADZ_SHAPE(3), ADZ_F64);
    adz_tensor *y = total(adz_relu(adz_mul(adz_add(x, bad), x)));
    assert_null(y);
    assert_int_equal(adz_error_code(), ADZ_ERR_SHAPE);
    assert_non_null(strstr(adz_error_message(), "add: shapes do not broadcast: a[2] and b[3]"));
}

static void anomaly_mode_names_the_operator(void **state)
{
    (void)state;
    adz_set_anomaly_enabled(true);
    adz_tensor *x = leaf(1e308, 1);
    adz_tensor *y = adz_mul_number(x, 100);
    adz_set_anomaly_enabled(false);
    assert_null(y);
    assert_int_equal(adz_error_code(), ADZ_ERR_NUMERIC);
    assert_non_null(strstr(adz_error_message(), "mul"));
    adz_error_clear();
    adz_tensor *h = adz_mul(leaf(1e-300, 1), x); /* The forward is finite; dx is not. */
    adz_tensor *loss = adz_mul_number(h, 1);
    adz_tensor *up = adz_full(ADZ_SHAPE(1), 1e10, ADZ_F64);
    adz_set_anomaly_enabled(true);
    adz_status status = adz_autograd_backward(&loss, &up, 1, NULL);
    adz_set_anomaly_enabled(false);
    assert_int_equal(status, ADZ_ERR_NUMERIC);
    assert_non_null(strstr(adz_error_message(), "backward of mul"));
    assert_null(adz_tensor_grad(x));
}

int graphs_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_diamond_sums_its_branches),
        TEST(gradients_accumulate_over_backwards),
        TEST(a_graph_runs_once_unless_retained),
        TEST(several_losses_share_a_graph),
        TEST(a_million_operators_deep),
        TEST(freeing_a_deep_graph_needs_little_stack),
        TEST(hessian_vector_product),
        TEST(gradient_penalty),
        TEST(penalty_of_a_derived_backward),
        TEST(unused_inputs_are_an_error_unless_allowed),
        TEST(gradients_of_results),
        TEST(retained_gradients),
        TEST(gradients_are_summed_over_what_was_broadcast),
        TEST(a_stale_view_is_refused),
        TEST(updates_without_the_tape),
        TEST(in_position_chains_keep_their_history),
        TEST(backward_says_what_is_wrong),
        TEST(one_check_at_the_end_of_an_expression),
        TEST(anomaly_mode_names_the_operator),
    };
    return cmocka_run_group_tests_name("autograd: graphs", tests, NULL, NULL);
}
