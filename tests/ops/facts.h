/* Helpers for facts about operators: small tensors of given numbers, exact comparison, refusals,
 * gradients. */
#ifndef ADZE_TESTS_OPS_FACTS_H
#define ADZE_TESTS_OPS_FACTS_H

#include <math.h>
#include <stdio.h>

#include "ops/case.h"

/** A vector of the numbers, in a dtype: VALUES(ADZ_I64, 1, 2, 3). */
#define VALUES(dtype, ...)                                                            \
    values_of((dtype), (int64_t)(sizeof((double[]){ __VA_ARGS__ }) / sizeof(double)), \
        (const double[]){ __VA_ARGS__ })

static inline adz_tensor *values_of(adz_dtype dtype, int64_t n, const double *values)
{
    return adz_to(adz_tensor_from(values, ADZ_SHAPE(n), ADZ_F64), dtype);
}

/** A vector that wants a gradient, in f64. */
#define LEAF(...) adz_requires_grad_(VALUES(ADZ_F64, __VA_ARGS__), true)

/** Fails unless `t` is a vector of this dtype with exactly these elements; NaN equals NaN. */
#define ASSERT_VALUES(t, dtype, ...)                                                           \
    assert_values((t), (dtype), (int64_t)(sizeof((double[]){ __VA_ARGS__ }) / sizeof(double)), \
        (const double[]){ __VA_ARGS__ }, __LINE__)

static inline void assert_values(
    adz_tensor *t, adz_dtype dtype, int64_t n, const double *values, int line)
{
    if (t == NULL) {
        fail_msg("line %d: %s", line, adz_error_message());
    }
    assert_int_equal(adz_tensor_dtype(t), dtype);
    assert_int_equal(adz_tensor_numel(t), n);
    for (int64_t i = 0; i < n; ++i) {
        double got = adz_tensor_at(t, &i);
        double wanted = dtype == ADZ_F32 ? (double)(float)values[i] : values[i];
        if (got != wanted && !(isnan(got) && isnan(wanted))) {
            fail_msg("line %d: element %d is %.17g instead of %.17g", line, (int)i, got, wanted);
        }
    }
}

/** Fails unless the call gives NULL with this error, whose message contains the text. */
#define ASSERT_REFUSED(call, status, text)                    \
    do {                                                      \
        assert_null(call);                                    \
        assert_int_equal(adz_error_code(), (status));         \
        assert_non_null(strstr(adz_error_message(), (text))); \
        adz_error_clear();                                    \
    } while (0)

static inline adz_tensor *gradient_by(adz_tensor *y, adz_tensor *x, bool create_graph)
{
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    adz_tensor *sum = adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM), *g = NULL;
    o.retain_graph = true;
    o.create_graph = create_graph;
    assert_int_equal(adz_autograd_grad(&sum, NULL, 1, &x, 1, &o, &g), ADZ_OK);
    return g;
}

/** The gradient of the sum of y with respect to x. */
static inline adz_tensor *gradient_of(adz_tensor *y, adz_tensor *x)
{
    return gradient_by(y, x, false);
}

/** The gradient of the sum of y with respect to x, computed by the expression of the backward. The
 * expression runs because create_graph is set. */
static inline adz_tensor *gradient_by_expression(adz_tensor *y, adz_tensor *x)
{
    return gradient_by(y, x, true);
}

/** Fails unless a function of one f64 tensor has the values `ys` and the gradients `gs` at the n
 * numbers `xs`, within 1e-14; NaN equals NaN. `args` holds the call's numbers. */
static inline void assert_function(int (*call)(const op_args *a, adz_tensor **out), op_args args,
    int64_t n, const double *xs, const double *ys, const double *gs)
{
    adz_tensor *x = adz_requires_grad_(adz_tensor_from(xs, ADZ_SHAPE(n), ADZ_F64), true), *y = NULL;
    args.in[0] = x;
    args.n = 1;
    assert_int_equal(call(&args, &y), 1);
    adz_tensor *dx = gradient_of(y, x);
    for (int64_t i = 0; i < n; ++i) {
        const double got[] = { adz_tensor_at(y, &i), adz_tensor_at(dx, &i) };
        const double wanted[] = { ys[i], gs[i] };
        for (int k = 0; k < 2; ++k) {
            if (!(got[k] == wanted[k] || fabs(got[k] - wanted[k]) <= 1e-14 ||
                    (isnan(got[k]) && isnan(wanted[k])))) {
                fail_msg("x = %g: %.17g instead of %.17g", xs[i], got[k], wanted[k]);
            }
        }
    }
}

/** Defines a fact: FACT(name) { ... } is a test whose body runs in a scope of its own. */
#define FACT(name)                           \
    static void name##_in_scope(void);       \
    static void name(void **state)           \
    {                                        \
        (void)state;                         \
        adz_scope *scope = adz_scope_open(); \
        name##_in_scope();                   \
        adz_scope_close(scope);              \
    }                                        \
    static void name##_in_scope(void)

#endif
