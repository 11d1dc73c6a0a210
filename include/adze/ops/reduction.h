/**
 * @file reduction.h
 * Reductions over dimensions.
 */
#ifndef ADZE_OPS_REDUCTION_H
#define ADZE_OPS_REDUCTION_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Sum over dimensions.
 *
 * Long f32 sums are accumulated in f64, in an order that depends on the shape only.
 *
 * @param x        any shape, any dtype but f16 and bf16
 * @param dims     dimensions to sum over, or ADZ_ALL_DIMS
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @return         y in x's dtype, i64 for integers and bool; borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad           x, to any order; saves nothing
 * @see            torch.sum
 */
ADZ_API adz_tensor *adz_sum(adz_tensor *x, adz_dims dims, bool keepdim);

/**
 * Mean over dimensions.
 *
 * @param x        any shape, f32 or f64
 * @param dims     dimensions to average over, or ADZ_ALL_DIMS; the mean of no elements is NaN
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @return         y, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad           x, to any order; saves nothing
 * @see            torch.mean
 */
ADZ_API adz_tensor *adz_mean(adz_tensor *x, adz_dims dims, bool keepdim);

#ifdef __cplusplus
}
#endif

#endif
