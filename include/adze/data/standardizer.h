/**
 * @file standardizer.h
 * Columns brought to mean 0 and deviation 1, and back.
 */
#ifndef ADZE_DATA_STANDARDIZER_H
#define ADZE_DATA_STANDARDIZER_H

#include "adze/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A module, "Standardizer", that knows each column's mean and deviation and saves them with the
 * model it stands in.
 *
 *     y = (x - mean) / std
 *
 * Its buffers are `mean` [D] and `std` [D], 0 and 1 until adz_standardizer_fit. adz_module_forward
 * computes y from x[..., D], in the wider of the two dtypes, differentiable to any order.
 *
 * @param columns  D, 1 or more
 * @param dtype    of the buffers, ADZ_F32 or ADZ_F64
 * @return         yours, end it with adz_module_free; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE or
 *                 ADZ_ERR_MEMORY
 * @see            sklearn.preprocessing.StandardScaler
 */
ADZ_API adz_module *adz_standardizer_new(int64_t columns, adz_dtype dtype);

/**
 * Takes each column's mean and population deviation (divisor N) from the rows given. The deviation
 * of a constant column counts as 1. Values of any size are measured exactly; a column whose mean or
 * deviation the buffers' dtype cannot hold is an error.
 *
 * @param standardizer  from adz_standardizer_new
 * @param x             x[N, D], N 1 or more, f32 or f64, every value finite
 * @return              ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (another kind of module),
 *                      ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_NUMERIC (a value that is not finite:
 *                      the message gives row and column; or a column that does not fit the dtype)
 *                      or ADZ_ERR_MEMORY, with nothing changed
 */
ADZ_API adz_status adz_standardizer_fit(adz_module *standardizer, adz_tensor *x);

/**
 * The way back.
 *
 *     x = y std + mean
 *
 * @param standardizer  from adz_standardizer_new
 * @param y             y[..., D]
 * @return              x, shaped like y, borrowed from the scope, or NULL
 * @errors              ADZ_ERR_NULL, ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_MEMORY
 * @grad                y, to any order
 */
ADZ_API adz_tensor *adz_standardizer_inverse(adz_module *standardizer, adz_tensor *y);

#ifdef __cplusplus
}
#endif

#endif
