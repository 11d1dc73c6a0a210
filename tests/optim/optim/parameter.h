/* Parameters of two elements, and their gradients. */
#ifndef ADZE_TESTS_OPTIM_OPTIM_PARAMETER_H
#define ADZE_TESTS_OPTIM_OPTIM_PARAMETER_H

#include "../../nn.h"

static inline adz_tensor *parameter(double a, double b, adz_dtype dtype)
{
    double values[] = { a, b };
    return adz_requires_grad_(adz_to(adz_tensor_from(values, ADZ_SHAPE(2), ADZ_F64), dtype), true);
}

static inline void set_grad(adz_tensor *t, double a, double b)
{
    double values[] = { a, b };
    adz_tensor *grad = adz_tensor_from(values, ADZ_SHAPE(2), ADZ_F64);
    assert_int_equal(adz_tensor_set_grad(t, adz_to(grad, adz_tensor_dtype(t))), ADZ_OK);
}

static inline adz_tensor_list one(adz_tensor *const *t)
{
    return adz_tensor_list_of(t, 1);
}

#endif
