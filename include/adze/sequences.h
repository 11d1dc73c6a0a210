/**
 * @file sequences.h
 * New tensors with sequences of numbers. tensor.h includes this header.
 */
#ifndef ADZE_SEQUENCES_H
#define ADZE_SEQUENCES_H

#include "adze/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The numbers start, start + step, ... up to but not including end.
 *
 * @param start  first value
 * @param end    bound, not included
 * @param step   not 0, and towards end
 * @param dtype  not bool
 * @return       y[ceil((end - start) / step)], borrowed from the scope, or NULL (ADZ_ERR_ARGUMENT,
 *               ADZ_ERR_DTYPE, ADZ_ERR_MEMORY)
 * @see          torch.arange
 */
ADZ_API adz_tensor *adz_arange(double start, double end, double step, adz_dtype dtype);

/**
 * Evenly spaced numbers, both ends included.
 *
 * @param start  first value
 * @param end    last value
 * @param steps  0 or more
 * @param dtype  not bool
 * @return       y[steps], borrowed from the scope, or NULL (ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE,
 *               ADZ_ERR_MEMORY)
 * @see          torch.linspace
 */
ADZ_API adz_tensor *adz_linspace(double start, double end, int64_t steps, adz_dtype dtype);

/**
 * Powers of a base by evenly spaced exponents, both ends included.
 *
 *     y_i = base^(start + i (end - start) / (steps - 1))
 *
 * Elements are computed in f64 and rounded to the dtype. Integers drop the fraction.
 *
 * @param start  first exponent
 * @param end    last exponent
 * @param steps  0 or more; 1 gives base^start
 * @param base   finite, PyTorch's default is 10; for integers positive, and both ends of y must fit
 * @param dtype  not bool
 * @return       y[steps], borrowed from the scope, or NULL (ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE,
 *               ADZ_ERR_MEMORY)
 * @see          torch.logspace
 */
ADZ_API adz_tensor *adz_logspace(
    double start, double end, int64_t steps, double base, adz_dtype dtype);

/**
 * Ones on the diagonal, zeros elsewhere.
 *
 * @param rows     0 or more
 * @param columns  0 or more
 * @param dtype    any dtype
 * @return         y[rows, columns], borrowed from the scope, or NULL (ADZ_ERR_SHAPE,
 *                 ADZ_ERR_DTYPE, ADZ_ERR_MEMORY)
 * @see            torch.eye
 */
ADZ_API adz_tensor *adz_eye(int64_t rows, int64_t columns, adz_dtype dtype);

#ifdef __cplusplus
}
#endif

#endif
