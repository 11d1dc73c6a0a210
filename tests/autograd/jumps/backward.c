/* A backward that is left by a jump, and ADZ_NO_GRAD that is left early. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "base/alloc.h"
#include "jump.h"
#include "tests.h"

static adz_tensor *jump_from_hook(adz_tensor *grad, void *user)
{
    (void)grad;
    (void)user;
    longjmp(out, 1);
}

static adz_status jump_from_backward(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)node;
    (void)dx;
    (void)dy;
    longjmp(out, 1);
}

static int jump_from_check(adz_tensor *const *inputs, size_t n, adz_tensor **outputs, void *user)
{
    (void)inputs;
    (void)n;
    (void)outputs;
    (void)user;
    longjmp(out, 1);
}

static adz_status leave_backward(adz_tensor *loss, bool by_grad, adz_tensor *input)
{
    adz_backward_options keep = ADZ_BACKWARD_OPTIONS;
    keep.retain_graph = true;
    adz_tensor *result = NULL;
    if (setjmp(out) != 0) {
        return ADZ_ERR_CANCELLED;
    }
    return by_grad ? adz_autograd_grad(&loss, NULL, 1, &input, 1, &keep, &result)
                   : adz_autograd_backward(&loss, NULL, 1, &keep);
}

/* Jumps out of the backward of a deep graph with sums and two paths. */
static void a_hook_leaves_a_backward(void **state)
{
    (void)state;
    int64_t tensors = 0, bytes = 0;
    for (int round = 0; round < 50; ++round) {
        adz_scope *inner = adz_scope_open();
        adz_tensor *x = leaf(3), *h = x;
        for (int i = 0; i < 40; ++i) { /* more nodes than a backward holds without allocating */
            h = adz_add(adz_mul_number(h, 0.5), adz_mul_number(x, 0.25));
        }
        uint64_t id = adz_register_hook(round % 2 == 0 ? x : h, jump_from_hook, NULL);
        adz_tensor *loss = total(adz_mul(h, h));
        assert_int_equal(leave_backward(loss, round % 3 == 0, x), ADZ_ERR_CANCELLED);
        scribble();
        assert_true(adz_tensor_requires_grad(adz_mul(x, x))); /* the first call after the jump */
        assert_null(adz_tensor_grad(x));
        adz_remove_hook(round % 2 == 0 ? x : h, id);
        assert_int_equal(adz_backward(loss), ADZ_OK); /* The graph can be used again. */
        assert_float_equal(grad_of(x), 2 * 1.5 * 0.5, 1e-9);
        adz_scope_close(inner);
        assert_true(round < 2 || adzi_live_tensors() == tensors);
        assert_true(round < 2 || adzi_live_bytes() == bytes);
        tensors = adzi_live_tensors();
        bytes = adzi_live_bytes();
    }
}

static void an_operator_leaves_a_backward(void **state)
{
    (void)state;
    static const adz_operator op = {
        .size = sizeof(adz_operator), .name = "jumper", .backward = jump_from_backward
    };
    int64_t live = adzi_live_tensors();
    for (int round = 0; round < 4; ++round) {
        adz_scope *inner = adz_scope_open();
        adz_tensor *x = leaf(1), *y = adz_full(ADZ_SHAPE(2), 7, ADZ_F64);
        assert_int_equal(adz_record(&op, &x, 1, &y, 1, NULL), ADZ_OK);
        /* The engine switches anomaly mode off around an operator. */
        adz_set_anomaly_enabled(round >= 2);
        assert_int_equal(leave_backward(total(y), false, NULL), ADZ_ERR_CANCELLED);
        assert_true(adz_is_anomaly_enabled() == (round >= 2));
        assert_true(adz_is_grad_enabled());
        adz_set_anomaly_enabled(false);
        adz_scope_close(inner);
        assert_int_equal(adzi_live_tensors(), live);
    }
}

/* A second backward of a released graph fails inside of the backward. */
static void an_error_callback_leaves_a_backward(void **state)
{
    (void)state;
    adz_tensor *x = leaf(2), *loss = total(adz_mul(x, x));
    assert_int_equal(adz_backward(loss), ADZ_OK);
    adz_on_error(jump_from_error, NULL);
    assert_int_equal(leave_backward(loss, false, NULL), ADZ_ERR_CANCELLED);
    adz_on_error(adz_quiet, NULL);
    assert_int_equal(adz_error_code(), ADZ_ERR_GRAPH);
    adz_error_clear();
    assert_int_equal(adz_backward(total(adz_mul(x, x))), ADZ_OK);
    assert_float_equal(grad_of(x), 8, 0);
}

/* Starts an inner backward that is left by a jump, and continues. */
static adz_tensor *catch_inside(adz_tensor *grad, void *user)
{
    adz_tensor *loss = user;
    assert_int_equal(leave_backward(loss, false, NULL), ADZ_ERR_CANCELLED);
    return grad;
}

static void a_backward_goes_on_after_an_inner_one_was_left(void **state)
{
    (void)state;
    for (int round = 0; round < 4; ++round) {
        adz_tensor *x = leaf(3), *inner = total(adz_mul(x, x)), *y = adz_mul(x, x);
        adz_tensor *z = leaf(1), *left = total(adz_mul(adz_mul(z, x), inner));
        adz_register_hook(z, jump_from_hook, NULL);
        adz_register_hook(y, catch_inside, left);
        adz_set_anomaly_enabled(round >= 2);
        assert_int_equal(adz_backward(total(adz_mul(y, x))), ADZ_OK);
        assert_true(adz_is_grad_enabled());
        assert_true(adz_is_anomaly_enabled() == (round >= 2));
        adz_set_anomaly_enabled(false);
        assert_float_equal(grad_of(x), 27, 0);
        assert_null(adz_tensor_grad(z));
    }
}

static void a_gradient_check_is_left(void **state)
{
    (void)state;
    adz_tensor *x = leaf(1);
    adz_gradcheck_function f = { jump_from_check, NULL };
    for (volatile int second = 0; second < 2; ++second) {
        ADZ_NO_GRAD
        {
            if (setjmp(out) == 0) {
                (second ? adz_gradgradcheck : adz_gradcheck)(&f, &x, 1, NULL, NULL);
                fail_msg("the function has not jumped");
            }
            assert_false(adz_is_grad_enabled());
        }
        assert_true(adz_is_grad_enabled());
    }
}

/* The loops are large enough for several threads, before and after the jump. */
static void parallel_loops_go_on(void **state)
{
    (void)state;
    adz_set_num_threads(3);
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(300, 300), ADZ_F64), true);
    for (int round = 0; round < 3; ++round) {
        adz_tensor *y = adz_matmul(adz_exp(x), x);
        adz_register_hook(y, jump_from_hook, NULL);
        assert_int_equal(leave_backward(total(adz_exp(y)), false, NULL), ADZ_ERR_CANCELLED);
        assert_int_equal(adz_backward(total(adz_matmul(adz_exp(x), x))), ADZ_OK);
    }
    assert_non_null(adz_tensor_grad(x));
    adz_set_num_threads(0);
}

static adz_tensor *end_thread(adz_tensor *grad, void *user)
{
    (void)grad;
    pthread_exit(user);
}

static void *thread_that_ends_inside(void *user)
{
    adz_tensor *x = leaf(1), *y = adz_mul(x, x);
    adz_register_hook(y, end_thread, user);
    adz_backward(total(y));
    return NULL;
}

static void a_thread_ends_inside_a_backward(void **state)
{
    (void)state;
    int64_t tensors = adzi_live_tensors(), bytes = adzi_live_bytes();
    for (int i = 0; i < 4; ++i) {
        pthread_t thread;
        void *result = NULL;
        assert_int_equal(pthread_create(&thread, NULL, thread_that_ends_inside, &out), 0);
        assert_int_equal(pthread_join(thread, &result), 0);
        assert_ptr_equal(result, &out);
        assert_int_equal(adzi_live_tensors(), tensors);
        assert_int_equal(adzi_live_bytes(), bytes);
    }
}

/* ---- ADZ_NO_GRAD ----------------------------------------------------------------------------- */

static int leave_by_return(void)
{
    ADZ_NO_GRAD
    {
        ADZ_NO_GRAD
        {
            return !adz_is_grad_enabled();
        }
    }
    return -1;
}

static void no_grad_is_left_early(void **state)
{
    (void)state;
    int turns = 0;
    for (int i = 0; i < 3; ++i, ++turns) {
        ADZ_NO_GRAD
        {
            assert_false(adz_is_grad_enabled());
            if (i == 1) {
                break; /* leaves the block of ADZ_NO_GRAD, as its documentation says */
            }
            if (i == 2) {
                continue;
            }
        }
        assert_true(adz_is_grad_enabled());
    }
    assert_int_equal(turns, 3);
    assert_int_equal(leave_by_return(), 1);
    assert_true(adz_is_grad_enabled());
    ADZ_NO_GRAD
    {
        goto after;
    }
after:
    assert_true(adz_is_grad_enabled());
    adz_set_grad_enabled(false);
    ADZ_NO_GRAD
    {
        adz_set_grad_enabled(true);
        break;
    }
    assert_false(adz_is_grad_enabled()); /* the mode before the block is restored */
    adz_set_grad_enabled(true);
}

/* ---- ADZ_SCOPE ------------------------------------------------------------------------------- */

static int return_from_scopes(void)
{
    ADZ_SCOPE
    {
        adz_ones(ADZ_SHAPE(2), ADZ_F32);
        ADZ_SCOPE
        {
            adz_ones(ADZ_SHAPE(3), ADZ_F32);
            return 1;
        }
    }
    return 0;
}

/* However a block is left, the tensors that were made in it end, and those that were kept live. */
static void scopes_are_closed_early(void **state)
{
    (void)state;
    const int64_t before = adzi_live_tensors();
    adz_tensor *kept = NULL;
    for (int i = 0; i < 3; ++i) {
        ADZ_SCOPE
        {
            adz_tensor *x = adz_ones(ADZ_SHAPE(2), ADZ_F32);
            assert_int_equal(adzi_live_tensors(), before + 1);
            if (i == 1) {
                break;
            }
            if (i == 2) {
                continue;
            }
            kept = adz_keep(adz_square(x));
        }
        assert_int_equal(adzi_live_tensors(), before + (i == 0));
        assert_true(i > 0 || adz_tensor_numel(kept) == 2);
        adz_release(&kept);
    }
    assert_int_equal(return_from_scopes(), 1);
    assert_int_equal(adzi_live_tensors(), before);
    ADZ_SCOPE
    {
        adz_ones(ADZ_SHAPE(2), ADZ_F32);
        goto after;
    }
after:
    assert_int_equal(adzi_live_tensors(), before);
}

int backward_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_hook_leaves_a_backward),
        TEST(an_operator_leaves_a_backward),
        TEST(an_error_callback_leaves_a_backward),
        TEST(a_backward_goes_on_after_an_inner_one_was_left),
        TEST(a_gradient_check_is_left),
        TEST(parallel_loops_go_on),
        TEST(a_thread_ends_inside_a_backward),
        TEST(no_grad_is_left_early),
        TEST(scopes_are_closed_early),
    };
    return cmocka_run_group_tests_name("jumps: backward", tests, NULL, NULL);
}
