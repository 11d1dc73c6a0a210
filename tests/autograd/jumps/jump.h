/* The target of jumps, and checks of the thread after them. */
#ifndef ADZE_TESTS_AUTOGRAD_JUMPS_JUMP_H
#define ADZE_TESTS_AUTOGRAD_JUMPS_JUMP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "adze/adze.h"

static jmp_buf out;
static adz_scope *scope;

static inline int open_scope(void **state)
{
    (void)state;
    adz_error_clear();
    scope = adz_scope_open();
    return scope == NULL;
}

static inline int close_scope(void **state)
{
    (void)state;
    adz_on_error(adz_quiet, NULL);
    adz_scope_close(scope);
    adz_error_clear();
    return !adz_is_grad_enabled() || adz_is_anomaly_enabled();
}

/* ---- callbacks that jump --------------------------------------------------------------------- */

static inline void jump_from_error(adz_status status, const char *message, void *user)
{
    (void)status;
    (void)message;
    (void)user;
    longjmp(out, 1);
}

/* Overwrites the stack of the calls that were left. */
static inline void scribble(void)
{
    volatile char bytes[16384];
    memset((char *)bytes, 0x41, sizeof bytes);
}

static inline adz_tensor *leaf(double value)
{
    return adz_requires_grad_(adz_full(ADZ_SHAPE(2), value, ADZ_F64), true);
}

static inline adz_tensor *total(adz_tensor *t)
{
    return adz_sum(t, ADZ_ALL_DIMS, ADZ_DROPDIM);
}

static inline double grad_of(adz_tensor *t)
{
    return adz_tensor_grad(t) != NULL ? adz_tensor_data_f64(adz_tensor_grad(t))[1] : 0;
}

/* Makes a call that fails. */
static inline void call_that_fails(void)
{
    adz_matmul(adz_ones(ADZ_SHAPE(2, 3), ADZ_F32), adz_ones(ADZ_SHAPE(2, 3), ADZ_F32));
}

static inline void expect_message_from_matmul(void)
{
    assert_int_equal(adz_error_code(), ADZ_ERR_SHAPE);
    assert_memory_equal(adz_error_message(), "matmul: ", 8);
    adz_error_clear();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_scope, close_scope)

#endif
