/* Callbacks that are left by a jump: what the thread is like afterwards. And ADZ_NO_GRAD left
 * early.
 *
 * What a test changes after setjmp and reads after longjmp is volatile or static. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "adze/adze.h"
#include "base/alloc.h"

static jmp_buf out;
static adz_scope *scope;

static int open_scope(void **state)
{
    (void)state;
    adz_error_clear();
    scope = adz_scope_open();
    return scope == NULL;
}

static int close_scope(void **state)
{
    (void)state;
    adz_on_error(NULL, NULL);
    adz_scope_close(scope);
    adz_error_clear();
    return !adz_is_grad_enabled() || adz_is_anomaly_enabled();
}

/* ---- what jumps --------------------------------------------------------------------------------
 */

static void jump_from_error(adz_status status, const char *message, void *user)
{
    (void)status;
    (void)message;
    (void)user;
    longjmp(out, 1);
}

static adz_tensor *jump_from_hook(adz_tensor *grad, void *user)
{
    (void)grad;
    (void)user;
    longjmp(out, 1);
}

static adz_tensor *jump_from_forward(adz_module *self, adz_tensor *x)
{
    (void)self;
    adz_scope_open(); /* stays open */
    adz_set_grad_enabled(false);
    adz_mul(x, x);
    longjmp(out, 1);
}

static const adz_module_type jumper_type = {
    .size = sizeof(adz_module_type), .name = "Jumper", .forward = jump_from_forward
};

static adz_status jump_from_reset(adz_module *self)
{
    (void)self;
    adz_set_grad_enabled(false);
    adz_ones(ADZ_SHAPE(2), ADZ_F32);
    longjmp(out, 1);
}

static adz_status jump_from_select(adz_module *self, adz_tensor *rows)
{
    (void)rows;
    return jump_from_reset(self);
}

static adz_tensor *forward_as_it_is(adz_module *self, adz_tensor *x)
{
    (void)self;
    return x;
}

static const adz_module_type forgetful_type = { .size = sizeof(adz_module_type),
    .name = "Forgetful",
    .forward = forward_as_it_is,
    .reset = jump_from_reset,
    .select_hidden = jump_from_select };

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

/* Overwrites what the calls that were left had on the stack. */
static void scribble(void)
{
    volatile char bytes[16384];
    memset((char *)bytes, 0x41, sizeof bytes);
}

static adz_tensor *leaf(double value)
{
    return adz_requires_grad_(adz_full(ADZ_SHAPE(2), value, ADZ_F64), true);
}

static adz_tensor *total(adz_tensor *t)
{
    return adz_sum(t, ADZ_ALL_DIMS, ADZ_DROPDIM);
}

static double grad_of(adz_tensor *t)
{
    return adz_tensor_grad(t) != NULL ? adz_tensor_data_f64(adz_tensor_grad(t))[1] : 0;
}

/* Any call that fails. */
static void call_that_fails(void)
{
    adz_matmul(adz_ones(ADZ_SHAPE(2, 3), ADZ_F32), adz_ones(ADZ_SHAPE(2, 3), ADZ_F32));
}

static void expect_message_from_matmul(void)
{
    assert_int_equal(adz_error_code(), ADZ_ERR_SHAPE);
    assert_memory_equal(adz_error_message(), "matmul: ", 8);
    adz_error_clear();
}

/* ---- modules -----------------------------------------------------------------------------------
 */

static void an_error_callback_leaves_a_forward(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(adz_linear_new(3, 2, NULL));
    adz_on_error(jump_from_error, NULL);
    if (setjmp(out) == 0) {
        adz_module_forward(m, adz_ones(ADZ_SHAPE(1, 7), ADZ_F32));
        fail_msg("the callback has not jumped");
    }
    assert_memory_equal(adz_error_message(), "0: linear: ", 11);
    for (volatile int i = 0; i < 3; ++i) { /* and again, with nothing in between */
        if (setjmp(out) == 0) {
            adz_module_forward(m, adz_ones(ADZ_SHAPE(1, 7), ADZ_F32));
        }
    }
    assert_memory_equal(adz_error_message(), "0: linear: ", 11);
    adz_on_error(NULL, NULL);
    adz_error_clear();
    scribble();
    call_that_fails();
    expect_message_from_matmul();
    adz_module_free(&m);
}

/* Without any call in between that could put things right before. */
static void a_forward_is_left(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(adz_module_new(&jumper_type, 0));
    static adz_tensor *w;
    w = leaf(1);
    for (volatile int i = 0; i < 40; ++i) { /* more often than a thread has frames of its own */
        if (setjmp(out) == 0) {
            adz_module_forward(m, w);
            fail_msg("the forward has not jumped");
        }
        scribble();
        if (i % 2 == 0) {
            assert_true(adz_tensor_requires_grad(adz_mul(w, w)));
        } else {
            call_that_fails();
            expect_message_from_matmul();
        }
    }
    assert_true(adz_is_grad_enabled());
    adz_module_free(&m);
}

/* A module's reset and its choice of rows run without recording, and are left. */
static void a_reset_is_left(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(adz_module_new(&forgetful_type, 0));
    static adz_tensor *w, *rows;
    w = leaf(1);
    rows = adz_zeros(ADZ_SHAPE(1), ADZ_I64);
    for (volatile int i = 0; i < 40; ++i) {
        if (setjmp(out) == 0) {
            if (i % 2 == 0) {
                adz_module_reset(m);
            } else {
                adz_module_select_hidden(m, rows);
            }
            fail_msg("the callback has not jumped");
        }
        scribble();
        if (i % 4 < 2) {
            assert_true(adz_is_grad_enabled());
        } else {
            call_that_fails();
            expect_message_from_matmul();
        }
        assert_ptr_equal(adz_module_forward(m, w), w);
        assert_true(adz_tensor_requires_grad(adz_mul(w, w)));
    }
    adz_module_free(&m);
}

/* A call from deeper in the stack than the one that was left cannot be told from one inside it. It
 * reads nothing that has ended, and the next one from outside is right again. */
static __attribute__((noinline)) void fail_from_further_down(void)
{
    volatile char bytes[16384];
    memset((char *)bytes, 0, sizeof bytes);
    call_that_fails();
    memset((char *)bytes, 0, sizeof bytes);
}

static void a_module_that_was_left_ends(void **state)
{
    (void)state;
    static adz_module *m;
    m = ADZ_SEQUENTIAL(adz_module_new(&jumper_type, 0));
    if (setjmp(out) == 0) {
        adz_module_forward(m, adz_ones(ADZ_SHAPE(2), ADZ_F64));
    }
    adz_module_free(&m);
    fail_from_further_down();
    assert_int_equal(adz_error_code(), ADZ_ERR_SHAPE);
    assert_non_null(strstr(adz_error_message(), "matmul: "));
    adz_error_clear();
    fail_from_further_down();
    expect_message_from_matmul();
}

/* Catches the jump out of its child and goes on: it is running still. */
static adz_tensor *catch_forward(adz_module *self, adz_tensor *x)
{
    jmp_buf before;
    memcpy(&before, &out, sizeof before);
    if (setjmp(out) == 0) {
        adz_module_forward(adz_module_child_at(self, 0), x);
    }
    memcpy(&out, &before, sizeof before);
    assert_true(adz_is_grad_enabled());
    call_that_fails();
    assert_memory_equal(adz_error_message(), "0: matmul: ", 11);
    adz_error_clear();
    return adz_mul(x, x);
}

static const adz_module_type catcher_type = {
    .size = sizeof(adz_module_type), .name = "Catcher", .forward = catch_forward
};

static void a_forward_goes_on_after_its_child_was_left(void **state)
{
    (void)state;
    adz_module *catcher = adz_module_new(&catcher_type, 0);
    assert_non_null(adz_module_add_child(catcher, "inner", adz_module_new(&jumper_type, 0)));
    adz_module *m = ADZ_SEQUENTIAL(catcher);
    for (int i = 0; i < 3; ++i) {
        adz_tensor *w = leaf(3);
        assert_int_equal(adz_backward(total(adz_module_forward(m, w))), ADZ_OK);
        assert_float_equal(grad_of(w), 6, 0);
    }
    adz_module_free(&m);
}

/* ---- backward ----------------------------------------------------------------------------------
 */

static adz_status leave_backward(adz_tensor *loss, bool by_grad, adz_tensor *input)
{
    adz_backward_options keep = ADZ_BACKWARD_OPTIONS;
    keep.retain_graph = true;
    adz_tensor *result = NULL;
    if (setjmp(out) != 0) {
        return ADZ_ERR_CANCELLED;
    }
    return by_grad ? adz_autograd_grad(&loss, NULL, 1, &input, &result, 1, &keep)
                   : adz_backward_with(&loss, NULL, 1, &keep);
}

/* Jumps out of a backward through a graph of some depth, with sums and a second path. */
static void a_hook_leaves_a_backward(void **state)
{
    (void)state;
    int64_t tensors = 0, bytes = 0;
    for (int round = 0; round < 50; ++round) {
        adz_scope *inner = adz_scope_open();
        adz_tensor *x = leaf(3), *h = x;
        for (int i = 0; i < 40; ++i) { /* more nodes than a backward has room for by itself */
            h = adz_add(adz_mul_number(h, 0.5), adz_mul_number(x, 0.25));
        }
        uint64_t id = adz_register_hook(round % 2 == 0 ? x : h, jump_from_hook, NULL);
        adz_tensor *loss = total(adz_mul(h, h));
        assert_int_equal(leave_backward(loss, round % 3 == 0, x), ADZ_ERR_CANCELLED);
        scribble();
        assert_true(adz_tensor_requires_grad(adz_mul(x, x))); /* at once */
        assert_null(adz_tensor_grad(x));
        adz_remove_hook(round % 2 == 0 ? x : h, id);
        assert_int_equal(adz_backward(loss), ADZ_OK); /* of the same graph */
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
    static const adz_operator op = { sizeof(adz_operator), "jumper", jump_from_backward, NULL, NULL,
        NULL, 0 };
    int64_t live = adzi_live_tensors();
    for (int round = 0; round < 4; ++round) {
        adz_scope *inner = adz_scope_open();
        adz_tensor *x = leaf(1), *y = adz_full(ADZ_SHAPE(2), 7, ADZ_F64);
        assert_int_equal(adz_record(&op, &x, 1, &y, 1, NULL), ADZ_OK);
        adz_set_anomaly_enabled(round >= 2); /* the engine turns that off around an operator */
        assert_int_equal(leave_backward(total(y), false, NULL), ADZ_ERR_CANCELLED);
        assert_true(adz_is_anomaly_enabled() == (round >= 2));
        assert_true(adz_is_grad_enabled());
        adz_set_anomaly_enabled(false);
        adz_scope_close(inner);
        assert_int_equal(adzi_live_tensors(), live);
    }
}

/* A graph that was released gives an error inside the backward. */
static void an_error_callback_leaves_a_backward(void **state)
{
    (void)state;
    adz_tensor *x = leaf(2), *loss = total(adz_mul(x, x));
    assert_int_equal(adz_backward(loss), ADZ_OK);
    adz_on_error(jump_from_error, NULL);
    assert_int_equal(leave_backward(loss, false, NULL), ADZ_ERR_CANCELLED);
    adz_on_error(NULL, NULL);
    assert_int_equal(adz_error_code(), ADZ_ERR_GRAPH);
    adz_error_clear();
    assert_int_equal(adz_backward(total(adz_mul(x, x))), ADZ_OK);
    assert_float_equal(grad_of(x), 8, 0);
}

/* Starts a backward of its own, which is left, and goes on. */
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

/* Large enough for several threads, before and after. */
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

/* ---- ADZ_NO_GRAD -------------------------------------------------------------------------------
 */

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
                break; /* the block, as the header says */
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
    assert_false(adz_is_grad_enabled()); /* as it was before the block */
    adz_set_grad_enabled(true);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_scope, close_scope)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_error_callback_leaves_a_forward),
        TEST(a_forward_is_left),
        TEST(a_reset_is_left),
        TEST(a_module_that_was_left_ends),
        TEST(a_forward_goes_on_after_its_child_was_left),
        TEST(a_hook_leaves_a_backward),
        TEST(an_operator_leaves_a_backward),
        TEST(an_error_callback_leaves_a_backward),
        TEST(a_backward_goes_on_after_an_inner_one_was_left),
        TEST(a_gradient_check_is_left),
        TEST(parallel_loops_go_on),
        TEST(a_thread_ends_inside_a_backward),
        TEST(no_grad_is_left_early),
    };
    return cmocka_run_group_tests_name("jumps", tests, NULL, NULL);
}
