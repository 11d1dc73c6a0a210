/* The part of adz_gradcheck that compares f32 with f64. */
#ifndef ADZI_AUTOGRAD_GRADCHECK_H
#define ADZI_AUTOGRAD_GRADCHECK_H

#include "adze/autograd.h"

/**
 * Compares outputs and derivatives of a function in f32 with those in f64. Both are computed at the
 * inputs rounded to f32. Every f64 input is converted; inputs of other dtypes are passed unchanged.
 *
 * @param tolerance  largest allowed difference, multiplied by |f64 value| if that is above 1
 * @param report     the compared elements are added to `elements` and `nonzero`; on ADZ_ERR_NUMERIC
 *                   the other fields describe the worst element: `analytic` is its f32 value and
 *                   `numeric` its f64 value
 * @return           ADZ_OK, ADZ_ERR_NUMERIC, ADZ_ERR_ARGUMENT if f32 inputs do not give f32 outputs
 *                   of the shapes that f64 inputs give, or the function's own error
 */
adz_status adzi_gradcheck_f32(const adz_gradcheck_function *function, adz_tensor *const *inputs,
    size_t n, double tolerance, adz_gradcheck_report *report);

#endif
