/* When a leaf is ready, and post-accumulate hooks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "autograd/engine.h"
#include "graph.h"
#include "tests.h"

/* The order in which hooks were called. Each hook writes its own letter. */
typedef struct {
    char letters[16];
    size_t n;
} order;

typedef struct {
    order *all;
    char letter;
} note;

static adz_tensor *note_gradient(adz_tensor *grad, void *user)
{
    note *mine = user;
    mine->all->letters[mine->all->n++] = mine->letter;
    return grad;
}

static adz_status note_leaf(adz_tensor *t, void *user)
{
    note *mine = user;
    assert_non_null(adz_tensor_grad(t));
    mine->all->letters[mine->all->n++] = mine->letter;
    return ADZ_OK;
}

/* The last layer's weight is ready before the backward of the first layer runs. */
static void a_leaf_is_ready_before_older_nodes_run(void **state)
{
    (void)state;
    order all = { "", 0 };
    note first = { &all, 'a' }, middle = { &all, 'h' }, last = { &all, 'b' }, after = { &all, 'B' };
    adz_tensor *a = leaf(3, 1), *b = leaf(5, 1);
    adz_tensor *h = adz_square(adz_mul(a, a));
    adz_register_hook(a, note_gradient, &first);
    adz_register_hook(h, note_gradient, &middle);
    adz_register_hook(b, note_gradient, &last);
    adz_register_post_accumulate_grad_hook(b, note_leaf, &after);
    assert_int_equal(adz_backward(adz_mul(h, b)), ADZ_OK);
    assert_string_equal(all.letters, "bBha");
    assert_float_equal(grad0(b), 81, 0);
    assert_float_equal(grad0(a), 5 * 4 * 27, 0);
}

/* A leaf that is used twice is ready after the older use. */
static void a_leaf_waits_for_all_its_uses(void **state)
{
    (void)state;
    order all = { "", 0 };
    note twice = { &all, 'x' }, middle = { &all, 'h' }, view = { &all, 'v' };
    adz_tensor *x = leaf(2, 3), *v = leaf(7, 3);
    adz_tensor *h = adz_mul(x, adz_narrow(v, 0, 0, 3)), *y = adz_mul(adz_square(h), x);
    adz_register_post_accumulate_grad_hook(x, note_leaf, &twice);
    adz_register_post_accumulate_grad_hook(v, note_leaf, &view);
    adz_register_hook(h, note_gradient, &middle);
    assert_int_equal(adz_backward(total(y)), ADZ_OK); /* y = x^3 v^2 */
    assert_string_equal(all.letters, "hxv");
    assert_float_equal(grad0(x), 3 * 4 * 49, 0);
    assert_float_equal(grad0(v), 8 * 2 * 7, 0);
}

/* An edge counts although no gradient comes along it. */
static void an_edge_without_gradient_counts(void **state)
{
    (void)state;
    order all = { "", 0 };
    note mine = { &all, 'x' };
    adz_tensor *x = leaf(2, 2), *w = leaf(3, 2);
    adz_tensor *dead = adz_mul(x, w), *y = adz_mul(adz_gt(dead, x), x);
    adz_tensor *both[] = { total(y), total(dead) };
    adz_register_post_accumulate_grad_hook(x, note_leaf, &mine);
    assert_int_equal(adz_autograd_backward(both, NULL, 1, NULL), ADZ_OK);
    assert_string_equal(all.letters, "x");
    assert_float_equal(grad0(x), 1, 0);
    assert_null(adz_tensor_grad(w));
}

/* A leaf can be an output itself, and an output as well as an input of another. */
static void a_leaf_that_is_an_output_is_ready_once(void **state)
{
    (void)state;
    order all = { "", 0 };
    note mine = { &all, 'x' };
    adz_tensor *x = leaf(2, 1);
    adz_register_post_accumulate_grad_hook(x, note_leaf, &mine);
    assert_int_equal(adz_backward(x), ADZ_OK);
    adz_tensor *outputs[] = { x, adz_square(x), x };
    assert_int_equal(adz_autograd_backward(outputs, NULL, 3, NULL), ADZ_OK);
    assert_string_equal(all.letters, "xx");
    assert_float_equal(grad0(x), 1 + 4 + 2, 0);
}

/* adz_autograd_grad accumulates nothing, so it runs the other kind of hooks only. */
static void autograd_grad_runs_no_post_accumulate_hook(void **state)
{
    (void)state;
    order all = { "", 0 };
    note before = { &all, 'x' }, after = { &all, 'X' };
    adz_tensor *x = leaf(2, 1), *other = leaf(3, 1), *y = adz_mul(adz_pow_number(x, 3), other);
    adz_register_hook(x, note_gradient, &before);
    adz_register_post_accumulate_grad_hook(x, note_leaf, &after);
    adz_register_post_accumulate_grad_hook(other, note_leaf, &after);
    adz_backward_options options = ADZ_BACKWARD_OPTIONS;
    options.create_graph = true;
    adz_tensor *first, *second;
    assert_int_equal(adz_autograd_grad(&y, NULL, 1, &x, 1, &options, &first), ADZ_OK);
    assert_string_equal(all.letters, "x");
    assert_null(adz_tensor_grad(x));
    assert_int_equal(adz_autograd_grad(&first, NULL, 1, &x, 1, &options, &second), ADZ_OK);
    assert_float_equal(adz_item(second), 3 * 6 * 2, 0);
    assert_string_equal(all.letters, "xx");
    assert_int_equal(adz_backward(second), ADZ_OK); /* 18 x, third order */
    assert_float_equal(grad0(x), 18, 0);
    assert_float_equal(grad0(other), 12, 0);
    assert_int_equal(all.n, 5);
}

static adz_status fail_silently(adz_tensor *t, void *user)
{
    (void)t;
    return *(bool *)user ? ADZ_ERR_CANCELLED : ADZ_OK;
}

static adz_status step_and_drop(adz_tensor *t, void *user)
{
    adz_optimizer *optimizer = user;
    assert_int_equal(adz_optimizer_step(optimizer), ADZ_OK);
    assert_int_equal(adz_tensor_set_grad(t, ADZ_NONE), ADZ_OK);
    return ADZ_OK;
}

/* The update happens inside the backward, which is how the memory of all gradients but one is
 * saved. */
static void an_optimizer_steps_inside_a_backward(void **state)
{
    (void)state;
    adz_tensor *a = leaf(3, 1), *b = leaf(5, 1);
    adz_tensor *leaves[] = { a, b };
    adz_optimizer *optimizers[2];
    for (int i = 0; i < 2; ++i) {
        optimizers[i] = adz_sgd_new(adz_tensor_list_of(&leaves[i], 1), 0.5, NULL);
        adz_register_post_accumulate_grad_hook(leaves[i], step_and_drop, optimizers[i]);
    }
    assert_int_equal(adz_backward(adz_mul(adz_square(a), b)), ADZ_OK);
    assert_float_equal(adz_item(b), 5 - 0.5 * 9, 0);
    assert_float_equal(adz_item(a), 3 - 0.5 * 30, 0);
    assert_null(adz_tensor_grad(a));
    for (int i = 0; i < 2; ++i) {
        adz_optimizer_release(&optimizers[i]);
    }
}

/* What was committed early becomes zero, everything else stays as it was, and no step is made. */
static void a_late_failure_spoils_what_was_committed(void **state)
{
    (void)state;
    bool fails = false;
    order all = { "", 0 };
    note mine = { &all, 'b' };
    adz_tensor *a = leaf(3, 1), *b = leaf(5, 1), *c = leaf(1, 1), *abc[] = { a, b, c };
    adz_optimizer *optimizer = adz_sgd_new(adz_tensor_list_of(abc, 3), 0.1, NULL);
    uint64_t id = adz_register_post_accumulate_grad_hook(a, fail_silently, &fails);
    adz_register_post_accumulate_grad_hook(b, note_leaf, &mine);
    for (int clear = 0; clear < 3; ++clear) {
        fails = false;
        assert_int_equal(adz_optimizer_zero_grad(optimizer), ADZ_OK);
        assert_int_equal(adz_backward(adz_mul(adz_mul(adz_square(a), c), b)), ADZ_OK);
        double of_c = grad0(c);
        fails = true;
        assert_int_equal(adz_backward(adz_mul(adz_mul(adz_square(a), c), b)), ADZ_ERR_CANCELLED);
        assert_non_null(strstr(adz_error_message(), "post-accumulate hook"));
        adz_error_clear();
        assert_float_equal(grad0(b), 0, 0);
        assert_float_equal(grad0(a), 0, 0);
        assert_float_equal(grad0(c), of_c, 0);
        double before = adz_item(b);
        assert_int_equal(adz_optimizer_step(optimizer), ADZ_ERR_STATE);
        assert_non_null(strstr(adz_error_message(), "zero_grad"));
        adz_error_clear();
        assert_float_equal(adz_item(b), before, 0);
        if (clear == 0) {
            adz_optimizer_zero_grad(optimizer);
        } else if (clear == 1) {
            adz_optimizer_fill_grad_zero(optimizer);
        } else {
            assert_int_equal(adz_tensor_set_grad(a, leaf(1, 1)), ADZ_OK);
            assert_int_equal(adz_optimizer_step(optimizer), ADZ_ERR_STATE);
            adz_error_clear();
            assert_int_equal(adz_tensor_set_grad(b, ADZ_NONE), ADZ_OK);
        }
        assert_int_equal(adz_optimizer_step(optimizer), ADZ_OK);
    }
    assert_int_equal(adz_remove_hook(a, id), ADZ_OK);
    assert_int_equal(adz_remove_hook(a, id), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    assert_int_equal(adz_optimizer_zero_grad(optimizer), ADZ_OK);
    assert_int_equal(adz_backward(adz_mul(adz_square(a), b)), ADZ_OK);
    adz_optimizer_release(&optimizer);
}

static void count_node(void *user)
{
    ++*(int *)user;
}

/* Each node is reported once, those that an activation checkpoint adds included. */
static void every_node_is_reported_once(void **state)
{
    (void)state;
    int nodes = 0;
    adz_tensor *x = leaf(3, 1), *y = adz_square(adz_mul(x, x));
    adz_module *tanh = adz_tanh_new(), *checkpoint = adz_activation_checkpoint_new(tanh);
    y = adz_module_forward(checkpoint, y);
    adzi_node_watch before = adzi_watch_nodes((adzi_node_watch){ count_node, &nodes });
    assert_null(before.call);
    assert_int_equal(adz_backward(y), ADZ_OK);
    assert_int_equal(nodes, 4); /* mul, square, the checkpoint, the tanh inside it */
    before = adzi_watch_nodes(before);
    assert_ptr_equal(before.user, &nodes);
    assert_int_equal(adz_backward(adz_square(x)), ADZ_OK);
    assert_int_equal(nodes, 4);
    adz_module_release(&checkpoint);
}

static void only_leaves_accumulate(void **state)
{
    (void)state;
    adz_tensor *x = leaf(1, 1), *y = adz_square(x), *plain = adz_ones(ADZ_SHAPE(1), ADZ_F64);
    const struct {
        adz_tensor *t;
        adz_post_accumulate_grad_hook hook;
        adz_status status;
    } wrong[] = { { NULL, note_leaf, ADZ_ERR_NULL }, { x, NULL, ADZ_ERR_NULL },
        { y, note_leaf, ADZ_ERR_GRAPH }, { plain, note_leaf, ADZ_ERR_GRAPH } };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        assert_int_equal(
            adz_register_post_accumulate_grad_hook(wrong[i].t, wrong[i].hook, NULL), 0);
        assert_int_equal(adz_error_take(NULL, 0), wrong[i].status);
    }
}

int leaves_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_leaf_is_ready_before_older_nodes_run),
        TEST(a_leaf_waits_for_all_its_uses),
        TEST(an_edge_without_gradient_counts),
        TEST(a_leaf_that_is_an_output_is_ready_once),
        TEST(autograd_grad_runs_no_post_accumulate_hook),
        TEST(an_optimizer_steps_inside_a_backward),
        TEST(a_late_failure_spoils_what_was_committed),
        TEST(every_node_is_reported_once),
        TEST(only_leaves_accumulate),
    };
    return cmocka_run_group_tests_name("autograd: leaves", tests, NULL, NULL);
}
