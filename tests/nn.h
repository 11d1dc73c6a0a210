/* What the tests of modules and optimizers share. */
#ifndef ADZE_TESTS_NN_H
#define ADZE_TESTS_NN_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "adze/adze.h"
#include "base/alloc.h"
#include "base/threads/thread.h"
#include "errors.h"

/** Whether all elements of t are within `tolerance` of the given numbers, in order. */
static inline bool holds(adz_tensor *t, const double *expected, double tolerance)
{
    adz_tensor *plain = adz_contiguous(adz_to(t, ADZ_F64));
    const double *data = adz_tensor_data_f64(plain);
    bool good = data != NULL;
    for (int64_t i = 0; good && i < adz_tensor_numel(t); ++i) {
        good = fabs(data[i] - expected[i]) <= tolerance;
        if (!good) {
            printf("element %d is %.17g, not %.17g\n", (int)i, data[i], expected[i]);
        }
    }
    return good;
}

#define HOLDS(t, tolerance, ...) holds((t), (const double[]){ __VA_ARGS__ }, (tolerance))

/** Whether all elements of t are one number. */
static inline bool all_are(adz_tensor *t, double value)
{
    adz_tensor *plain = adz_contiguous(adz_to(t, ADZ_F64));
    const double *data = adz_tensor_data_f64(plain);
    bool good = data != NULL;
    for (int64_t i = 0; good && i < adz_tensor_numel(t); ++i) {
        good = data[i] == value;
    }
    return good;
}

/** Whether two tensors have the same shape and elements within `tolerance` of each other. */
static inline bool alike(adz_tensor *a, adz_tensor *b, double tolerance)
{
    adz_shape sa = adz_tensor_shape(a), sb = adz_tensor_shape(b);
    bool good = sa.rank == sb.rank;
    for (int i = 0; good && i < sa.rank; ++i) {
        good = sa.sizes[i] == sb.sizes[i];
    }
    adz_tensor *plain = good ? adz_contiguous(adz_to(b, ADZ_F64)) : NULL;
    return good && holds(a, adz_tensor_data_f64(plain), tolerance);
}

/** t = value everywhere, outside any graph. */
static inline void fill(adz_tensor *t, double value)
{
    ADZ_NO_GRAD
    {
        adz_copy_(t, adz_scalar(value, ADZ_F64));
    }
}

/** A setup and teardown that hold each test to its own tensors, in a scope of its own. */
static int64_t live_before;

static inline int set_up(void **state)
{
    adz_error_clear();
    live_before = adzi_live_tensors();
    *state = adz_scope_open();
    return 0;
}

static inline int tear_down(void **state)
{
    adz_status closed = adz_scope_close(*state);
    int64_t leaked = adzi_live_tensors() - live_before;
    if (closed != ADZ_OK || leaked != 0 || adz_error_code() != ADZ_OK) {
        printf("leaked %d tensors, error \"%s\"\n", (int)leaked, adz_error_message());
        return -1;
    }
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/**
 * Runs `exercise` with the Nth request for memory refused, N = 1, 2, ... until it succeeds; nothing
 * may leak. Returns the number of refused requests.
 */
static inline int refuse_each_request(bool (*exercise)(void))
{
    assert_true(exercise());
    int64_t live = adzi_live_tensors();
    int points = 0;
    for (bool done = false; !done; ++points) {
        adzi_alloc_fail_at(points + 1);
        bool good = exercise();
        done = !adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        assert_true(good == done);
        if (!good) {
            assert_int_equal(adz_error_take(NULL, 0), ADZ_ERR_MEMORY);
        }
        assert_int_equal(adzi_live_tensors(), live);
        assert_int_equal(adzi_self()->holds, 0); /* later errors are reported */
    }
    return points - 1;
}

#endif
