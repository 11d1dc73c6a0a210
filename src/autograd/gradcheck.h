/* The part of the gradient checks that runs in f32. */
#ifndef ADZI_AUTOGRAD_GRADCHECK_H
#define ADZI_AUTOGRAD_GRADCHECK_H

#include "adze/autograd.h"

/**
 * Compares outputs and derivatives of a function in f32 with those in f64, both taken at the inputs
 * rounded to f32. Every f64 input is converted; others are handed on.
 *
 * @param tolerance  of a difference, times the f64 value where that is above 1
 * @param report     `elements` and `nonzero` are counted on; on ADZ_ERR_NUMERIC the other fields
 *                   become the worst element's, `numeric` being the f64 value
 * @return           ADZ_OK, ADZ_ERR_NUMERIC, ADZ_ERR_ARGUMENT where f32 inputs do not give f32
 *                   outputs of the same shapes, or the function's own error
 */
adz_status adzi_gradcheck_f32(const adz_gradcheck_function *function, adz_tensor *const *inputs,
    size_t n, double tolerance, adz_gradcheck_report *report);

#endif
