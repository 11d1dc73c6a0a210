/* What the tests of adze/solvers.h share. */
#ifndef ADZE_TESTS_AUTOGRAD_SOLVERS_H
#define ADZE_TESTS_AUTOGRAD_SOLVERS_H

#include <math.h>

#include "adze/adze.h"
#include "errors.h"
#include "groups.h"

/** max |a - b| of tensors of one shape. */
static inline double apart(adz_tensor *a, adz_tensor *b)
{
    adz_tensor *d = adz_max(adz_abs(adz_sub(adz_detach(a), adz_detach(b))));
    return d != NULL ? adz_item(d) : INFINITY;
}

/** A leaf of standard normal numbers that wants a gradient. */
static inline adz_tensor *leaf(int64_t rows, int64_t columns)
{
    return adz_requires_grad_(adz_randn(ADZ_SHAPE(rows, columns), ADZ_F64), true);
}

/** The derivatives of a function by all inputs agree with differences, to second order. */
static inline void expect_derivatives(
    int (*call)(adz_tensor *const *, size_t, adz_tensor **, void *), void *user,
    adz_tensor *const *inputs, size_t n)
{
    const adz_gradcheck_function f = { call, user };
    adz_gradcheck_report first, second;
    assert_int_equal(adz_gradcheck(&f, inputs, n, NULL, &first), ADZ_OK);
    assert_int_equal(adz_gradgradcheck(&f, inputs, n, NULL, &second), ADZ_OK);
    assert_true(first.nonzero > 0 && second.nonzero > 0);
}

enum { N_ROOT_VALUES = 7, N_ROOT_GRADIENTS = 6, N_ROOT_REFUSED = 9 };
enum { N_ROOT_ENDS = 8, N_ROOT_SET = 4, N_ROOT_PLANS = 9 };
enum { N_HIGHER = 4 };
enum {
    N_ODE_VALUES = 5,
    N_ODE_GRADIENTS = 9,
    N_ODE_GRAPH = 6,
    N_ODE_REFUSED = 7,
    N_ODE_ENDS = 11,
    N_ODE_EVENTS = 6,
    N_ODE_FIXED_EVENTS = 12,
    N_ODE_HITS = 12,
    N_ODE_BDF = 8,
    N_FORWARD = 11,
    N_FORWARD_HITS = 5,
    N_ODE_BACKWARDS = 6,
    N_ODE_PLANS = 3,
    N_ODE_ADAPTIVE_PLANS = 9,
    N_ODE_ADAPTIVE_GRADIENTS = 7
};
/* Each test has a scope. */
int solvers_open(void **state);
int solvers_close(void **state);

/** Where jumps out of a function or a hook lead. */
extern jmp_buf out_of_function;

/** While `solvers_armed` is true, registers a hook of t that jumps to out_of_function. */
extern bool solvers_armed;
void jump_from_gradient(adz_tensor *t);

extern const struct CMUnitTest root_values[N_ROOT_VALUES];
extern const struct CMUnitTest root_gradients[N_ROOT_GRADIENTS];
extern const struct CMUnitTest higher[N_HIGHER];
extern const struct CMUnitTest root_refused[N_ROOT_REFUSED];
extern const struct CMUnitTest root_ends[N_ROOT_ENDS];
extern const struct CMUnitTest root_set[N_ROOT_SET];
extern const struct CMUnitTest root_plans[N_ROOT_PLANS];
extern const struct CMUnitTest ode_values[N_ODE_VALUES];
extern const struct CMUnitTest ode_gradients[N_ODE_GRADIENTS];
extern const struct CMUnitTest ode_graph[N_ODE_GRAPH];
extern const struct CMUnitTest ode_refused[N_ODE_REFUSED];
extern const struct CMUnitTest ode_ends[N_ODE_ENDS];
extern const struct CMUnitTest ode_events[N_ODE_EVENTS];
extern const struct CMUnitTest ode_fixed_events[N_ODE_FIXED_EVENTS];
extern const struct CMUnitTest ode_hits[N_ODE_HITS];
extern const struct CMUnitTest ode_bdf[N_ODE_BDF];
extern const struct CMUnitTest forward[N_FORWARD];
extern const struct CMUnitTest forward_hits[N_FORWARD_HITS];
extern const struct CMUnitTest ode_backwards[N_ODE_BACKWARDS];
extern const struct CMUnitTest ode_plans[N_ODE_PLANS];
extern const struct CMUnitTest ode_adaptive_plans[N_ODE_ADAPTIVE_PLANS];
extern const struct CMUnitTest ode_adaptive_gradients[N_ODE_ADAPTIVE_GRADIENTS];

/** The methods that choose their steps. */
enum { ADAPTIVE = 3 };
extern const adz_ode_method adaptive[ADAPTIVE];

/** A tensor of two numbers. */
static inline adz_tensor *pair(double a, double b, adz_dtype dtype)
{
    return adz_to(adz_tensor_from((double[]){ a, b }, ADZ_SHAPE(2), ADZ_F64), dtype);
}

/** The function of an event: an element of the state is 0. `position` is an int64_t. */
static inline int element_is_0(adz_tensor *const *in, size_t n, adz_tensor **out, void *position)
{
    (void)n;
    out[0] = adz_select(in[1], 0, *(const int64_t *)position);
    return out[0] != NULL;
}

/** The function of an event: the first element of the state is 1/2 + t / 10. */
static inline int rising_level(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    adz_tensor *level = adz_add_number(adz_mul_number(in[0], 0.1), 0.5);
    out[0] = adz_sub(adz_select(in[1], 0, 0), level);
    return out[0] != NULL;
}

#endif
