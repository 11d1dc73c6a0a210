/* Modules whose forward, reset or selection of rows is left by a jump. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "jump.h"
#include "tests.h"

static adz_tensor *jump_from_forward(adz_module *self, adz_tensor *x)
{
    (void)self;
    adz_scope_open(); /* It stays open. */
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
    for (volatile int i = 0; i < 3; ++i) { /* three times, with no other call in between */
        if (setjmp(out) == 0) {
            adz_module_forward(m, adz_ones(ADZ_SHAPE(1, 7), ADZ_F32));
        }
    }
    assert_memory_equal(adz_error_message(), "0: linear: ", 11);
    adz_on_error(adz_quiet, NULL);
    adz_error_clear();
    scribble();
    call_that_fails();
    expect_message_from_matmul();
    adz_module_release(&m);
}

/* No call that could restore the thread comes between the jump and the checks. */
static void a_forward_is_left(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(adz_module_new(&jumper_type, 0));
    static adz_tensor *w;
    w = leaf(1);
    for (volatile int i = 0; i < 40; ++i) { /* more often than the number of frames in the thread */
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
    adz_module_release(&m);
}

static adz_tensor *attend(adz_tensor *x)
{
    return adz_scaled_dot_product_attention(x, x, x, NULL);
}

static adz_tensor *pool(adz_tensor *x)
{
    return adz_max_pool1d(x, 2, NULL, NULL);
}

static adz_tensor *convolve(adz_tensor *x)
{
    return adz_conv1d(x, x, ADZ_NONE, NULL);
}

static adz_tensor *decompose(adz_tensor *x)
{
    adz_tensor *r;
    return adz_qr(x, &r);
}

/* These calls take the most stack before they look whether a call was left. */
static void calls_with_much_stack_are_recorded_after_a_jump(void **state)
{
    (void)state;
    static adz_tensor *(*const calls[])(adz_tensor *) = { attend, pool, convolve, decompose };
    adz_module *m = ADZ_SEQUENTIAL(adz_module_new(&jumper_type, 0));
    static adz_tensor *x;
    x = adz_requires_grad_(adz_reshape(adz_arange(0, 8, 1, ADZ_F64), ADZ_SHAPE(2, 2, 2)), true);
    for (volatile size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
        if (setjmp(out) == 0) {
            adz_module_forward(m, x);
            fail_msg("the forward has not jumped");
        }
        assert_true(adz_tensor_requires_grad(calls[i](x)));
    }
    adz_module_release(&m);
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
    adz_module_release(&m);
}

/* A call from deeper in the stack than the call that was left looks like a call inside of it. It
 * must read nothing that has ended. A later call from higher in the stack is right again. */
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
    adz_module_release(&m);
    fail_from_further_down();
    assert_int_equal(adz_error_code(), ADZ_ERR_SHAPE);
    assert_non_null(strstr(adz_error_message(), "matmul: "));
    adz_error_clear();
    fail_from_further_down();
    expect_message_from_matmul();
}

/* Catches the jump out of its child and continues: this call is still running. */
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
    adz_module_release(&m);
}

int modules_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_error_callback_leaves_a_forward),
        TEST(a_forward_is_left),
        TEST(calls_with_much_stack_are_recorded_after_a_jump),
        TEST(a_reset_is_left),
        TEST(a_module_that_was_left_ends),
        TEST(a_forward_goes_on_after_its_child_was_left),
    };
    return cmocka_run_group_tests_name("jumps: modules", tests, NULL, NULL);
}
