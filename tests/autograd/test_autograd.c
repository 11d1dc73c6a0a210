/* The tape and the engine: what backward promises beyond single operators. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>
#include <pthread.h>

#include "adze/adze.h"
#include "base/alloc.h"

static adz_scope *scope;
static int64_t live;

static int open_scope(void **state)
{
    (void)state;
    adz_error_clear();
    live = adzi_live_tensors();
    scope = adz_scope_open();
    return scope == NULL;
}

static int close_scope(void **state)
{
    (void)state;
    adz_scope_close(scope);
    adz_error_clear();
    return adzi_live_tensors() != live;
}

static adz_tensor *leaf(double value, int64_t n)
{
    return adz_requires_grad_(adz_full(ADZ_SHAPE(n), value, ADZ_F64), true);
}

static adz_tensor *total(adz_tensor *t)
{
    return adz_sum(t, ADZ_ALL_DIMS, ADZ_DROPDIM);
}

static double grad0(adz_tensor *t)
{
    adz_tensor *g = adz_tensor_grad(t);
    assert_non_null(g);
    return adz_tensor_at(g, (int64_t[]){ 0 });
}

/* ---- graphs ------------------------------------------------------------------------------------
 */

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
    assert_int_equal(adz_backward_with(&y, NULL, 1, &keep), ADZ_OK);
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
    assert_int_equal(adz_backward_with(losses, upstream, 2, NULL), ADZ_OK);
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
        h = adz_mul(h, x); /* saves its inputs: the chain hangs on saved tensors as well */
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

/* ---- gradients as values -----------------------------------------------------------------------
 */

static void hessian_vector_product(void **state)
{
    (void)state;
    /* f = sum x^3, H = diag(6 x), H v = 6 x v */
    adz_tensor *x = leaf(2, 3), *v = adz_full(ADZ_SHAPE(3), 5, ADZ_F64);
    adz_tensor *f = total(adz_mul(adz_mul(x, x), x)), *g, *hv;
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.create_graph = true;
    assert_int_equal(adz_autograd_grad(&f, NULL, 1, &x, &g, 1, &o), ADZ_OK);
    adz_tensor *gv = total(adz_mul(g, v));
    assert_int_equal(adz_autograd_grad(&gv, NULL, 1, &x, &hv, 1, &o), ADZ_OK);
    assert_float_equal(adz_tensor_at(hv, (int64_t[]){ 1 }), 60, 1e-9);
    adz_tensor *third, *sum = total(hv);
    assert_int_equal(adz_autograd_grad(&sum, NULL, 1, &x, &third, 1, NULL), ADZ_OK);
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
    assert_int_equal(adz_autograd_grad(&y, NULL, 1, &x, &g, 1, &o), ADZ_OK);
    assert_int_equal(adz_backward(total(adz_mul(g, g))), ADZ_OK);
    assert_float_equal(grad0(w), 8 * 2 * 9, 1e-9);
}

static void unused_inputs_are_an_error_unless_allowed(void **state)
{
    (void)state;
    adz_tensor *x = leaf(1, 1), *other = leaf(1, 1), *y = adz_mul(x, x), *g = NULL;
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.retain_graph = true;
    assert_int_equal(adz_autograd_grad(&y, NULL, 1, &other, &g, 1, &o), ADZ_ERR_GRAPH);
    assert_non_null(strstr(adz_error_message(), "allow_unused"));
    assert_null(g);
    adz_error_clear();
    o.allow_unused = true;
    assert_int_equal(adz_autograd_grad(&y, NULL, 1, &other, &g, 1, &o), ADZ_OK);
    assert_ptr_equal(g, ADZ_NONE);
}

static void gradients_of_results(void **state)
{
    (void)state;
    adz_tensor *x = leaf(3, 1), *h = adz_mul(x, x), *y = adz_mul(h, h), *found[2];
    adz_tensor *inputs[] = { h, x };
    assert_int_equal(adz_autograd_grad(&y, NULL, 1, inputs, found, 2, NULL), ADZ_OK);
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
    /* The wish outlives a change in place: the gradient is that of what h has become. */
    h = adz_mul(x, x);
    assert_int_equal(adz_retain_grad(h), ADZ_OK);
    adz_mul_number_(h, 2);
    assert_int_equal(adz_backward(adz_mul(h, h)), ADZ_OK);
    assert_float_equal(grad0(h), 36, 0);
}

/* A backward may hand out gradients in the shape that an input was broadcast to. */
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

/* ---- hooks -------------------------------------------------------------------------------------
 */

static adz_tensor *twice(adz_tensor *grad, void *user)
{
    ++*(int *)user;
    return adz_mul_number(grad, 2);
}

static adz_tensor *refuse(adz_tensor *grad, void *user)
{
    (void)grad;
    (void)user;
    return NULL;
}

static void hooks_see_and_replace_gradients(void **state)
{
    (void)state;
    int on_leaf = 0, on_result = 0;
    adz_tensor *x = leaf(3, 1), *h = adz_mul_number(x, 5);
    assert_true(adz_register_hook(x, twice, &on_leaf) > 0);
    uint64_t id = adz_register_hook(h, twice, &on_result);
    assert_int_equal(adz_backward(adz_add(h, h)), ADZ_OK);
    assert_int_equal(on_leaf, 1);
    assert_int_equal(on_result, 1);
    assert_float_equal(grad0(x), 2 * 5 * 2 * 2, 0);
    assert_int_equal(adz_remove_hook(h, id), ADZ_OK);
    assert_int_equal(adz_remove_hook(h, id), ADZ_ERR_ARGUMENT);
}

static adz_tensor *keep_it(adz_tensor *grad, void *user)
{
    *(adz_tensor **)user = adz_keep(grad);
    return grad;
}

/* A backward may write over a gradient that nobody else sees, and over no other. */
static void gradients_that_are_held_stay(void **state)
{
    (void)state;
    adz_tensor *x =
        adz_requires_grad_(adz_tensor_from((double[]){ -1, 2 }, ADZ_SHAPE(2), ADZ_F64), true);
    adz_tensor *weights = adz_tensor_from((double[]){ 3, 5 }, ADZ_SHAPE(2), ADZ_F64), *held = NULL;
    adz_tensor *y = adz_relu(x), *z = adz_relu(adz_mul(y, y));
    adz_retain_grad(y);
    assert_true(adz_register_hook(z, keep_it, &held) > 0);
    assert_int_equal(adz_backward_with(&z, &weights, 1, NULL), ADZ_OK);
    const double at_z[] = { 3, 5 }, at_y[] = { 0, 20 }, at_x[] = { 0, 20 };
    for (int64_t i = 0; i < 2; ++i) {
        assert_true(adz_tensor_at(weights, &i) == at_z[i]);
        assert_true(adz_tensor_at(held, &i) == at_z[i]);
        assert_true(adz_tensor_at(adz_tensor_grad(y), &i) == at_y[i]);
        assert_true(adz_tensor_at(adz_tensor_grad(x), &i) == at_x[i]);
    }
    adz_release(&held);
    adz_tensor *h = adz_mul_number(x, 2); /* both arguments get one gradient */
    adz_tensor *sum = adz_add(adz_relu(h), adz_relu(adz_neg(h)));
    adz_tensor_set_grad(x, ADZ_NONE);
    assert_int_equal(adz_backward_with(&sum, &weights, 1, NULL), ADZ_OK);
    const double of_abs[] = { -6, 10 };
    for (int64_t i = 0; i < 2; ++i) {
        assert_true(adz_tensor_at(adz_tensor_grad(x), &i) == of_abs[i]);
    }
}

static double hooks_memory[2];

static adz_tensor *give_own_memory(adz_tensor *grad, void *user)
{
    (void)grad;
    (void)user;
    hooks_memory[0] = hooks_memory[1] = 5;
    return adz_tensor_wrap(hooks_memory, ADZ_SHAPE(2), ADZ_F64, NULL, NULL);
}

/* A gradient in memory of the caller's is copied, as any other that is not the library's. */
static void a_gradient_in_the_callers_memory_is_copied(void **state)
{
    (void)state;
    adz_tensor *x = leaf(3, 2);
    assert_true(adz_register_hook(x, give_own_memory, NULL) > 0);
    assert_int_equal(adz_backward(adz_sum(x, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_ptr_not_equal(adz_tensor_data(adz_tensor_grad(x)), hooks_memory);
    assert_int_equal(adz_backward(adz_sum(x, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_float_equal(hooks_memory[1], 5, 0);
    assert_float_equal(adz_tensor_data_f64(adz_tensor_grad(x))[1], 10, 0);
}

static void hooks_end_with_what_they_hang_on(void **state)
{
    (void)state;
    int counts[2] = { 0, 0 };
    int64_t before = 0;
    for (int round = 0; round < 3; ++round) {
        adz_scope *inner = adz_scope_open();
        adz_tensor *x = leaf(1, 2), *h = adz_mul(x, x);
        assert_true(adz_register_hook(h, twice, &counts[0]) > 0);
        assert_true(adz_register_hook(x, twice, &counts[1]) > 0);
        adz_scope_close(inner);
        assert_true(round == 0 || adzi_live_bytes() == before);
        before = adzi_live_bytes();
    }
}

static adz_tensor *write_over(adz_tensor *gradient, void *user)
{
    (void)user;
    return adz_fill_(gradient, 5);
}

static adz_tensor *loss_of(adz_tensor *x)
{
    return adz_mse_loss(x, adz_zeros(adz_tensor_shape(x), ADZ_F64), ADZ_REDUCE_SUM);
}

/* A loss starts from a 1 that ends with the backward, unless somebody could keep it. */
static void the_first_gradient_is_nobody_elses(void **state)
{
    (void)state;
    adz_tensor *x = leaf(3, 2), *loss = loss_of(x);
    assert_int_equal(adz_retain_grad(loss), ADZ_OK);
    assert_int_equal(adz_backward(loss), ADZ_OK);
    assert_true(adz_item(adz_tensor_grad(loss)) == 1);
    adz_fill_(adz_tensor_grad(loss), 7);
    loss = loss_of(x);
    assert_true(adz_register_hook(loss, write_over, NULL) > 0);
    adz_tensor_set_grad(x, ADZ_NONE);
    assert_int_equal(adz_backward(loss), ADZ_OK);
    assert_true(grad0(x) == 30);
    adz_tensor *g;
    loss = loss_of(x);
    assert_int_equal(adz_autograd_grad(&loss, NULL, 1, &loss, &g, 1, NULL), ADZ_OK);
    adz_fill_(g, 9);
    for (int round = 0; round < 3; ++round) {
        adz_tensor_set_grad(x, ADZ_NONE);
        assert_int_equal(adz_backward(loss_of(x)), ADZ_OK);
        assert_true(grad0(x) == 6);
    }
    adz_tensor *sum[] = { loss_of(x), NULL };
    sum[1] = sum[0];
    adz_tensor_set_grad(x, ADZ_NONE);
    assert_int_equal(adz_backward_with(sum, NULL, 2, NULL), ADZ_OK);
    assert_true(grad0(x) == 12);
}

static void a_failing_hook_leaves_no_gradient(void **state)
{
    (void)state;
    adz_tensor *x = leaf(3, 1), *w = leaf(2, 1), *y = adz_mul(x, w);
    assert_true(adz_register_hook(w, refuse, NULL) > 0);
    assert_int_equal(adz_backward(y), ADZ_ERR_CANCELLED);
    assert_null(adz_tensor_grad(x));
    assert_null(adz_tensor_grad(w));
}

static adz_tensor *backward_inside(adz_tensor *grad, void *user)
{
    adz_tensor *loss = user;
    adz_backward_options keep = ADZ_BACKWARD_OPTIONS;
    keep.retain_graph = true;
    return adz_backward_with(&loss, NULL, 1, &keep) == ADZ_OK ? grad : NULL;
}

static void a_backward_runs_inside_a_backward(void **state)
{
    (void)state;
    adz_tensor *x = leaf(3, 1), *h = adz_mul(x, x), *other = adz_mul(h, h), *y = adz_mul(h, x);
    assert_true(adz_register_hook(y, backward_inside, other) > 0);
    assert_int_equal(adz_backward(y), ADZ_OK); /* both reach h and x */
    assert_float_equal(grad0(x), 4 * 27 + 3 * 9, 1e-9);
}

/* ---- in place ----------------------------------------------------------------------------------
 */

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

static void in_place_chains_keep_their_history(void **state)
{
    (void)state;
    adz_tensor *x = leaf(2, 1), *y = adz_mul(x, x);
    for (int i = 0; i < 3; ++i) {
        assert_non_null(adz_mul_(y, x));
    }
    assert_int_equal(adz_backward(y), ADZ_OK); /* x^5 */
    assert_float_equal(grad0(x), 80, 1e-9);
}

/* ---- misuse ------------------------------------------------------------------------------------
 */

static void backward_says_what_is_wrong(void **state)
{
    (void)state;
    adz_tensor *x = leaf(3, 2);
    assert_int_equal(adz_backward(adz_mul(x, x)), ADZ_ERR_SHAPE);
    assert_non_null(strstr(adz_error_message(), "adz_sum"));
    assert_int_equal(adz_backward(total(x)), ADZ_ERR_SHAPE); /* the pending error refuses */
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
    adz_tensor *h = adz_mul(leaf(1e-300, 1), x); /* finite forward; dx = 1e-300 * 1e300 ... */
    adz_tensor *loss = adz_mul_number(h, 1);
    adz_tensor *up = adz_full(ADZ_SHAPE(1), 1e10, ADZ_F64);
    adz_set_anomaly_enabled(true);
    adz_status status = adz_backward_with(&loss, &up, 1, NULL);
    adz_set_anomaly_enabled(false);
    assert_int_equal(status, ADZ_ERR_NUMERIC);
    assert_non_null(strstr(adz_error_message(), "backward of mul"));
    assert_null(adz_tensor_grad(x));
}

/* ---- memory ------------------------------------------------------------------------------------
 */

enum { ROWS = 1200, WIDTH = 1024, NARROW = 32 };

/* A layer of x[ROWS, WIDTH] + 1, which nobody but the graph holds. */
static adz_tensor *layer(adz_tensor *x, adz_tensor *w)
{
    adz_scope *inner = adz_scope_open();
    return adz_scope_return(inner, adz_linear(adz_add_number(x, 1), w, ADZ_NONE));
}

static size_t growth_of(adz_tensor *y, bool retain_graph)
{
    adz_memory_info before, after;
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.retain_graph = retain_graph;
    adz_memory_reset_peak();
    adz_memory_info_get(&before, sizeof before);
    assert_int_equal(adz_backward_with(&y, &(adz_tensor *){ adz_ones_like(y) }, 1, &o), ADZ_OK);
    adz_memory_info_get(&after, sizeof after);
    return after.peak_bytes - before.live_bytes;
}

static double corner_of(adz_tensor *matrix)
{
    return adz_tensor_at(matrix, (int64_t[]){ 0, 0 });
}

static void what_a_backward_has_read_makes_room(void **state)
{
    (void)state;
    const size_t input = (size_t)ROWS * WIDTH * sizeof(double);
    adz_set_num_threads(1); /* products work in memory of each thread's */
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(ROWS, WIDTH), ADZ_F64), true);
    adz_tensor *w = adz_requires_grad_(adz_ones(ADZ_SHAPE(NARROW, WIDTH), ADZ_F64), true);
    adz_tensor *kept = layer(x, w);
    assert_true(growth_of(kept, true) > input); /* x + 1 and its gradient at a time */
    adz_tensor_set_grad(x, ADZ_NONE);
    adz_tensor_set_grad(w, ADZ_NONE);
    assert_true(growth_of(layer(x, w), false) < input);
    assert_float_equal(corner_of(adz_tensor_grad(x)), NARROW, 0);
    assert_float_equal(corner_of(adz_tensor_grad(w)), 2 * ROWS, 0);
    assert_int_equal(adz_backward(total(kept)), ADZ_OK); /* retain_graph kept it whole */
    assert_float_equal(corner_of(adz_tensor_grad(x)), 2 * NARROW, 0);
    assert_float_equal(corner_of(adz_tensor_grad(w)), 4 * ROWS, 0);
    adz_set_num_threads(0);
}

/* A backward that fails after it has given its input up leaves a graph that says so. */
static void a_graph_half_used_says_so(void **state)
{
    (void)state;
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(ROWS, WIDTH), ADZ_F64), true);
    adz_tensor *w = adz_requires_grad_(adz_ones(ADZ_SHAPE(NARROW, WIDTH), ADZ_F64), true);
    int whole = 0, used = 0;
    for (int64_t n = 1;; ++n) {
        adz_scope *inner = adz_scope_open();
        adz_tensor *y = total(layer(x, w));
        adz_empty_cache();
        adzi_alloc_fail_at(n);
        adz_status status = adz_backward(y);
        adzi_alloc_fail_at(0);
        adz_error_clear();
        if (status == ADZ_OK) {
            adz_scope_close(inner);
            break;
        }
        assert_null(adz_tensor_grad(x));
        if (adz_backward(y) == ADZ_OK) {
            ++whole;
            adz_tensor_set_grad(x, ADZ_NONE);
            adz_tensor_set_grad(w, ADZ_NONE);
        } else {
            assert_int_equal(adz_error_code(), ADZ_ERR_GRAPH);
            assert_non_null(strstr(adz_error_message(), "was released by an earlier backward"));
            adz_error_clear();
            ++used;
        }
        adz_scope_close(inner);
    }
    assert_true(whole > 0 && used > 0);
}

/* ---- refused memory ----------------------------------------------------------------------------
 */

static void backward_is_all_or_nothing(void **state)
{
    (void)state;
    adz_tensor *x = leaf(2, 3), *w = leaf(3, 3);
    assert_int_equal(adz_backward(total(adz_mul(x, w))), ADZ_OK); /* gradients 3 and 2 */
    int points = 0;
    for (int64_t n = 1;; ++n) {
        adz_scope *inner = adz_scope_open();
        adz_tensor *loss = total(adz_relu(adz_mul(adz_mul(x, w), x)));
        adzi_alloc_fail_at(n);
        adz_status status = adz_backward(loss);
        bool failed = adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        adz_scope_close(inner);
        if (!failed) {
            assert_int_equal(status, ADZ_OK);
            break;
        }
        assert_int_equal(status, ADZ_ERR_MEMORY);
        adz_error_clear();
        assert_float_equal(grad0(x), 3, 0);
        assert_float_equal(grad0(w), 2, 0);
        ++points;
    }
    assert_true(points > 5);
    assert_float_equal(grad0(x), 3 + 2 * 2 * 3, 0);
    print_message("%d refused requests in backward\n", points);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_scope, close_scope)

int main(void)
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
        TEST(unused_inputs_are_an_error_unless_allowed),
        TEST(gradients_of_results),
        TEST(retained_gradients),
        TEST(gradients_are_summed_over_what_was_broadcast),
        TEST(hooks_see_and_replace_gradients),
        TEST(a_gradient_in_the_callers_memory_is_copied),
        TEST(hooks_end_with_what_they_hang_on),
        TEST(gradients_that_are_held_stay),
        TEST(the_first_gradient_is_nobody_elses),
        TEST(a_failing_hook_leaves_no_gradient),
        TEST(a_backward_runs_inside_a_backward),
        TEST(a_stale_view_is_refused),
        TEST(updates_without_the_tape),
        TEST(in_place_chains_keep_their_history),
        TEST(backward_says_what_is_wrong),
        TEST(one_check_at_the_end_of_an_expression),
        TEST(anomaly_mode_names_the_operator),
        TEST(what_a_backward_has_read_makes_room),
        TEST(a_graph_half_used_says_so),
        TEST(backward_is_all_or_nothing),
    };
    return cmocka_run_group_tests_name("autograd", tests, NULL, NULL);
}
