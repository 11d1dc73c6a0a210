/* Hooks, and gradients that have another owner. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "graph.h"
#include "tests.h"

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

static adz_tensor *pass_on(adz_tensor *grad, void *user)
{
    (void)user;
    return grad;
}

static adz_status note(adz_tensor *t, void *user)
{
    (void)t;
    (void)user;
    return ADZ_OK;
}

static void count_end(void *user)
{
    ++*(int *)user;
}

/* What a hook owns ends once: when the hook is removed, with its leaf, or with its graph. */
static void ends_of_hooks(void **state)
{
    (void)state;
    int ends[4] = { 0 };
    adz_scope *inner = adz_scope_open();
    adz_tensor *x = leaf(3, 1), *h = adz_mul_number(x, 5);
    uint64_t first = adz_register_hook(x, pass_on, &ends[0]);
    uint64_t after = adz_register_post_accumulate_grad_hook(x, note, &ends[1]);
    uint64_t result = adz_register_hook(h, pass_on, &ends[2]);
    uint64_t without = adz_register_hook(h, pass_on, &ends[3]);
    assert_int_equal(adz_set_hook_end(x, first, count_end), ADZ_OK);
    assert_int_equal(adz_set_hook_end(x, after, count_end), ADZ_OK);
    assert_int_equal(adz_set_hook_end(h, result, count_end), ADZ_OK);
    assert_int_equal(adz_set_hook_end(h, without, count_end), ADZ_OK);
    assert_int_equal(adz_set_hook_end(h, without, NULL), ADZ_OK);
    assert_int_equal(adz_set_hook_end(h, first, count_end), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    assert_int_equal(adz_set_hook_end(NULL, first, count_end), ADZ_ERR_NULL);
    adz_error_clear();
    assert_int_equal(adz_remove_hook(x, first), ADZ_OK);
    assert_int_equal(ends[0], 1);
    adz_tensor *loss = adz_square(h);
    assert_int_equal(adz_backward(loss), ADZ_OK);
    assert_int_equal(ends[1] + ends[2] + ends[3], 0);
    adz_scope_close(inner);
    const int wanted[] = { 1, 1, 1, 0 };
    assert_memory_equal(ends, wanted, sizeof wanted);
}

/* A hook that removes itself and registers another one, and what it counts. */
typedef struct changing {
    adz_tensor *on;
    uint64_t id;
    int runs, later;
} changing;

static adz_tensor *change_hooks(adz_tensor *grad, void *user)
{
    changing *c = user;
    ++c->runs;
    return adz_remove_hook(c->on, c->id) == ADZ_OK && adz_register_hook(c->on, twice, &c->later) > 0
               ? grad
               : NULL;
}

static adz_status change_hooks_after(adz_tensor *t, void *user)
{
    changing *c = user;
    ++c->runs;
    if (c->runs < 4) {
        adz_register_post_accumulate_grad_hook(t, change_hooks_after, c);
    }
    return adz_remove_hook(t, c->id);
}

static adz_status count_run(adz_tensor *t, void *user)
{
    (void)t;
    ++*(int *)user;
    return ADZ_OK;
}

/* A hook that removes itself hides none behind it, and one that it registers waits for the next
 * backward. */
static void hooks_change_while_they_run(void **state)
{
    (void)state;
    int behind = 0, behind_after = 0;
    adz_tensor *x = leaf(3, 1);
    changing first = { .on = x }, after = { .on = x };
    first.id = adz_register_hook(x, change_hooks, &first);
    assert_true(adz_register_hook(x, twice, &behind) > 0);
    after.id = adz_register_post_accumulate_grad_hook(x, change_hooks_after, &after);
    assert_true(adz_register_post_accumulate_grad_hook(x, count_run, &behind_after) > 0);
    assert_int_equal(adz_backward(adz_mul_number(x, 5)), ADZ_OK);
    const int seen[] = { first.runs, first.later, behind, after.runs, behind_after };
    const int wanted[] = { 1, 0, 1, 1, 1 };
    assert_memory_equal(seen, wanted, sizeof wanted);
    assert_float_equal(grad0(x), 5 * 2, 0);
}

static adz_tensor *keep_it(adz_tensor *grad, void *user)
{
    *(adz_tensor **)user = adz_keep(grad);
    return grad;
}

/* A backward may overwrite a gradient only if it has no other owner. */
static void gradients_that_are_held_stay(void **state)
{
    (void)state;
    adz_tensor *x =
        adz_requires_grad_(adz_tensor_from((double[]){ -1, 2 }, ADZ_SHAPE(2), ADZ_F64), true);
    adz_tensor *weights = adz_tensor_from((double[]){ 3, 5 }, ADZ_SHAPE(2), ADZ_F64), *held = NULL;
    adz_tensor *y = adz_relu(x), *z = adz_relu(adz_mul(y, y));
    adz_retain_grad(y);
    assert_true(adz_register_hook(z, keep_it, &held) > 0);
    assert_int_equal(adz_autograd_backward(&z, &weights, 1, NULL), ADZ_OK);
    const double at_z[] = { 3, 5 }, at_y[] = { 0, 20 }, at_x[] = { 0, 20 };
    for (int64_t i = 0; i < 2; ++i) {
        assert_true(adz_tensor_at(weights, &i) == at_z[i]);
        assert_true(adz_tensor_at(held, &i) == at_z[i]);
        assert_true(adz_tensor_at(adz_tensor_grad(y), &i) == at_y[i]);
        assert_true(adz_tensor_at(adz_tensor_grad(x), &i) == at_x[i]);
    }
    adz_release(&held);
    adz_tensor *h = adz_mul_number(x, 2); /* Both arguments get the same gradient tensor. */
    adz_tensor *sum = adz_add(adz_relu(h), adz_relu(adz_neg(h)));
    adz_tensor_set_grad(x, ADZ_NONE);
    assert_int_equal(adz_autograd_backward(&sum, &weights, 1, NULL), ADZ_OK);
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

/* A gradient in memory of the caller is copied, because the library does not own it. */
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

/* The gradient 1 of the loss ends with the backward, unless a hook keeps it. */
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
    assert_int_equal(adz_autograd_grad(&loss, NULL, 1, &loss, 1, NULL, &g), ADZ_OK);
    adz_fill_(g, 9);
    for (int round = 0; round < 3; ++round) {
        adz_tensor_set_grad(x, ADZ_NONE);
        assert_int_equal(adz_backward(loss_of(x)), ADZ_OK);
        assert_true(grad0(x) == 6);
    }
    adz_tensor *sum[] = { loss_of(x), NULL };
    sum[1] = sum[0];
    adz_tensor_set_grad(x, ADZ_NONE);
    assert_int_equal(adz_autograd_backward(sum, NULL, 2, NULL), ADZ_OK);
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
    return adz_autograd_backward(&loss, NULL, 1, &keep) == ADZ_OK ? grad : NULL;
}

static void a_backward_runs_inside_a_backward(void **state)
{
    (void)state;
    adz_tensor *x = leaf(3, 1), *h = adz_mul(x, x), *other = adz_mul(h, h), *y = adz_mul(h, x);
    assert_true(adz_register_hook(y, backward_inside, other) > 0);
    assert_int_equal(adz_backward(y), ADZ_OK); /* h and x get gradients through both operands */
    assert_float_equal(grad0(x), 4 * 27 + 3 * 9, 1e-9);
}

int hooks_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(hooks_see_and_replace_gradients),
        TEST(a_gradient_in_the_callers_memory_is_copied),
        TEST(hooks_end_with_what_they_hang_on),
        TEST(ends_of_hooks),
        TEST(hooks_change_while_they_run),
        TEST(gradients_that_are_held_stay),
        TEST(the_first_gradient_is_nobody_elses),
        TEST(a_failing_hook_leaves_no_gradient),
        TEST(a_backward_runs_inside_a_backward),
    };
    return cmocka_run_group_tests_name("autograd: hooks", tests, NULL, NULL);
}
