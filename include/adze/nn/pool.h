/**
 * @file pool.h
 * Pooling as modules.
 */
#ifndef ADZE_NN_POOL_H
#define ADZE_NN_POOL_H

#include "adze/nn/module.h"
#include "adze/ops/pool.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The largest element of each window of a signal: adz_max_pool1d.
 *
 * @param kernel_size  positions of a window, 1 or more
 * @param options      NULL for the defaults
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                     ADZ_ERR_MEMORY recorded
 * @see                torch.nn.MaxPool1d
 */
ADZ_API adz_module *adz_max_pool1d_new(int64_t kernel_size, const adz_max_pool_options *options);

/**
 * The largest element of each window of an image: adz_max_pool2d.
 *
 * @param kernel_size  rows and columns of a window, or one number for both; 1 or more
 * @param options      NULL for the defaults
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                     ADZ_ERR_MEMORY recorded
 * @see                torch.nn.MaxPool2d
 */
ADZ_API adz_module *adz_max_pool2d_new(adz_shape kernel_size, const adz_max_pool_options *options);

/**
 * The mean of each window of a signal: adz_avg_pool1d.
 *
 * @param kernel_size  positions of a window, 1 or more
 * @param options      NULL for the defaults
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                     ADZ_ERR_MEMORY recorded
 * @see                torch.nn.AvgPool1d
 */
ADZ_API adz_module *adz_avg_pool1d_new(int64_t kernel_size, const adz_avg_pool_options *options);

/**
 * The mean of each window of an image: adz_avg_pool2d.
 *
 * @param kernel_size  rows and columns of a window, or one number for both; 1 or more
 * @param options      NULL for the defaults
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                     ADZ_ERR_MEMORY recorded
 * @see                torch.nn.AvgPool2d
 */
ADZ_API adz_module *adz_avg_pool2d_new(adz_shape kernel_size, const adz_avg_pool_options *options);

/**
 * Means of a signal of any length, as many as are asked for: adz_adaptive_avg_pool1d.
 *
 * @param output_size  the last size of the result, 0 or more, or -1 for that of x
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                     ADZ_ERR_MEMORY recorded
 * @see                torch.nn.AdaptiveAvgPool1d
 */
ADZ_API adz_module *adz_adaptive_avg_pool1d_new(int64_t output_size);

/**
 * Means of an image of any size, as many as are asked for: adz_adaptive_avg_pool2d.
 *
 * @param output_size  the last two sizes of the result, or one number for both; 0 or more, or -1
 *                     for that of x
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                     ADZ_ERR_MEMORY recorded
 * @see                torch.nn.AdaptiveAvgPool2d
 */
ADZ_API adz_module *adz_adaptive_avg_pool2d_new(adz_shape output_size);

/**
 * Largest elements of a signal of any length, as many as are asked for: adz_adaptive_max_pool1d.
 *
 * @param output_size  the last size of the result, 0 or more, or -1 for that of x
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                     ADZ_ERR_MEMORY recorded
 * @see                torch.nn.AdaptiveMaxPool1d
 */
ADZ_API adz_module *adz_adaptive_max_pool1d_new(int64_t output_size);

/**
 * Largest elements of an image of any size, as many as are asked for: adz_adaptive_max_pool2d.
 *
 * @param output_size  the last two sizes of the result, or one number for both; 0 or more, or -1
 *                     for that of x
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                     ADZ_ERR_MEMORY recorded
 * @see                torch.nn.AdaptiveMaxPool2d
 */
ADZ_API adz_module *adz_adaptive_max_pool2d_new(adz_shape output_size);

/**
 * Changes the size of signals or images: adz_interpolate.
 *
 * @param size     the last sizes of the result, or one number for both; 1 or more.
 *                 ADZ_SHAPE_SCALAR: the sizes of x times the scale_factor of the options
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 * ADZ_ERR_MEMORY recorded
 * @see            torch.nn.Upsample
 */
ADZ_API adz_module *adz_upsample_new(adz_shape size, const adz_interpolate_options *options);

#ifdef __cplusplus
}
#endif

#endif
