/**
 * @file standardizer.h
 * Standardising: columns are scaled to mean 0 and deviation 1, and back.
 */
#ifndef ADZE_DATA_STANDARDIZER_H
#define ADZE_DATA_STANDARDIZER_H

#include "adze/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Makes a module "Standardizer". It holds the mean and the deviation of each column, which are
 * saved together with the model that the module is part of.
 *
 *     y = (x - mean) / std
 *
 * Its buffers are `mean` [D] and `std` [D]. They hold 0 and 1 until adz_standardizer_fit is called.
 * adz_module_forward computes y from x[..., D], in the wider dtype of x and the buffers,
 * differentiable to any order.
 *
 * @param columns  D, 1 or more
 * @param dtype    of the buffers, ADZ_F32 or ADZ_F64
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY
 * @see            sklearn.preprocessing.StandardScaler
 */
ADZ_API adz_module *adz_standardizer_new(int64_t columns, adz_dtype dtype);

/**
 * Sets mean and deviation of each column to those of the given rows. The deviation is that of the
 * population (divisor N), and 1 for a constant column.
 *
 * Large values do no harm to the accuracy. A column whose mean or deviation does not fit the dtype
 * of the buffers is an error.
 *
 * @param standardizer  from adz_standardizer_new
 * @param x             x[N, D], N 1 or more, f32 or f64, every value finite
 * @return              ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (another kind of module),
 *                      ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_NUMERIC (a value that is not finite,
 *                      and the message gives row and column; or a column that does not fit the
 *                      dtype) or ADZ_ERR_MEMORY; after a failure nothing has changed
 */
ADZ_API adz_status adz_standardizer_fit(adz_module *standardizer, adz_tensor *x);

/**
 * Undoes the standardising.
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
