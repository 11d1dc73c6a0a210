/* The groups of tests of test_flat_parameters, and what they share. */
#ifndef ADZE_TESTS_NN_FLAT_PARAMETERS_TESTS_H
#define ADZE_TESTS_NN_FLAT_PARAMETERS_TESTS_H

#include "../../nn.h"

int layout_tests(void);
int training_tests(void);
int failure_tests(void);

static inline adz_tensor *leaf(double value, int64_t n, adz_dtype dtype)
{
    return adz_requires_grad_(adz_full(ADZ_SHAPE(n), value, dtype), true);
}

static inline adz_tensor *total(adz_tensor *t)
{
    return adz_sum(t, ADZ_ALL_DIMS, ADZ_DROPDIM);
}

/** A layout of up to four leaves. */
static inline adz_flat_parameters *lay_out(adz_tensor *const *leaves, size_t n)
{
    adz_flat_parameters *flat = adz_flat_parameters_new(adz_tensor_list_of(leaves, n));
    assert_non_null(flat);
    return flat;
}

/** Whether the gradient of parameter i lies in its slice and, without a gradient, the slice is 0.
 */
static inline bool lies_in_its_slice(const adz_flat_parameters *flat, size_t i)
{
    adz_flat_slice s = adz_flat_parameters_slice_at(flat, i);
    adz_tensor *all = adz_flat_parameters_gradients(flat, s.group);
    adz_tensor *slice = adz_narrow(all, 0, s.offset, s.length),
               *grad = adz_tensor_grad(s.parameter);
    return grad != NULL ? adz_tensor_data(grad) == adz_tensor_data(slice) : all_are(slice, 0);
}

#endif
