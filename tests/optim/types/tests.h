/* The groups of tests of test_optimizer_types. Each runs its tests and returns how many failed. */
#ifndef ADZE_TESTS_OPTIM_TYPES_TESTS_H
#define ADZE_TESTS_OPTIM_TYPES_TESTS_H

#include "../../nn.h"
#include "../own_types.h"

int refused_tests(void);
int checked_tests(void);
int planned_tests(void);

/** A parameter of n elements in f32 or f64. */
static inline adz_tensor *parameter(int64_t n, adz_dtype dtype)
{
    adz_tensor *t = adz_sin(adz_arange(1, (double)n + 1, 1, ADZ_F64));
    return adz_requires_grad_(adz_to(t, dtype), true);
}

/** Gives the parameter a gradient and makes a step. */
static inline adz_status step(adz_optimizer *o, adz_tensor *w)
{
    adz_tensor *g = adz_cos(adz_arange(1, (double)adz_tensor_numel(w) + 1, 1, ADZ_F64));
    assert_int_equal(adz_tensor_set_grad(w, adz_to(g, adz_tensor_dtype(w))), ADZ_OK);
    return adz_optimizer_step(o);
}

#endif
