/**
 * @file pool.h
 * Pooling as modules.
 */
#ifndef ADZE_NN_POOL_H
#define ADZE_NN_POOL_H

#include "adze/nn/module.h"
#include "adze/ops/pool.h"
#include "adze/ops/unpool.h"

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
 * The largest element of each window of a volume: adz_max_pool3d.
 *
 * @param kernel_size  slices, rows and columns of a window, or one number for all; 1 or more
 * @param options      NULL for the defaults
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                     ADZ_ERR_MEMORY recorded
 * @see                torch.nn.MaxPool3d
 */
ADZ_API adz_module *adz_max_pool3d_new(adz_shape kernel_size, const adz_max_pool_options *options);

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
 * The mean of each window of a volume: adz_avg_pool3d.
 *
 * @param kernel_size  slices, rows and columns of a window, or one number for all; 1 or more
 * @param options      NULL for the defaults
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                     ADZ_ERR_MEMORY recorded
 * @see                torch.nn.AvgPool3d
 */
ADZ_API adz_module *adz_avg_pool3d_new(adz_shape kernel_size, const adz_avg_pool_options *options);

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
 * Means of a volume of any size, as many as are asked for: adz_adaptive_avg_pool3d.
 *
 * @param output_size  the last three sizes of the result, or one number for all; 0 or more, or -1
 *                     for that of x
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                     ADZ_ERR_MEMORY recorded
 * @see                torch.nn.AdaptiveAvgPool3d
 */
ADZ_API adz_module *adz_adaptive_avg_pool3d_new(adz_shape output_size);

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
 * Largest elements of a volume of any size, as many as are asked for: adz_adaptive_max_pool3d.
 *
 * @param output_size  the last three sizes of the result, or one number for all; 0 or more, or -1
 *                     for that of x
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                     ADZ_ERR_MEMORY recorded
 * @see                torch.nn.AdaptiveMaxPool3d
 */
ADZ_API adz_module *adz_adaptive_max_pool3d_new(adz_shape output_size);

/**
 * Changes the size of signals, images or volumes: adz_interpolate.
 *
 * @param size     the last sizes of the result, or one number for all; 1 or more.
 *                 ADZ_SHAPE_SCALAR: the sizes of x times the scale_factor of the options
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 * ADZ_ERR_MEMORY recorded
 * @see            torch.nn.Upsample
 */
ADZ_API adz_module *adz_upsample_new(adz_shape size, const adz_interpolate_options *options);

/**
 * The p-norm of each window of a signal: adz_lp_pool1d.
 *
 * @param norm_type    p, not 0; infinite for the largest absolute value
 * @param kernel_size  positions of a window, 1 or more
 * @param options      NULL for the defaults
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                     ADZ_ERR_MEMORY recorded
 * @see                torch.nn.LPPool1d
 */
ADZ_API adz_module *adz_lp_pool1d_new(
    double norm_type, int64_t kernel_size, const adz_lp_pool_options *options);

/**
 * The p-norm of each window of an image: adz_lp_pool2d.
 *
 * @param norm_type    p, not 0; infinite for the largest absolute value
 * @param kernel_size  rows and columns of a window, or one number for both; 1 or more
 * @param options      NULL for the defaults
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                     ADZ_ERR_MEMORY recorded
 * @see                torch.nn.LPPool2d
 */
ADZ_API adz_module *adz_lp_pool2d_new(
    double norm_type, adz_shape kernel_size, const adz_lp_pool_options *options);

/**
 * The p-norm of each window of a volume: adz_lp_pool3d.
 *
 * @param norm_type    p, not 0; infinite for the largest absolute value
 * @param kernel_size  slices, rows and columns of a window, or one number for all; 1 or more
 * @param options      NULL for the defaults
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                     ADZ_ERR_MEMORY recorded
 * @see                torch.nn.LPPool3d
 */
ADZ_API adz_module *adz_lp_pool3d_new(
    double norm_type, adz_shape kernel_size, const adz_lp_pool_options *options);

/**
 * A signal that is 0 but where a pooling has found x: adz_max_unpool1d.
 *
 * A call takes "input" and "indices". PyTorch's calls take the output_size; here it is an option.
 *
 * @param kernel_size  positions of a window, 1 or more
 * @param options      NULL for the defaults
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                     ADZ_ERR_MEMORY recorded
 * @see                torch.nn.MaxUnpool1d
 */
ADZ_API adz_module *adz_max_unpool1d_new(
    int64_t kernel_size, const adz_max_unpool_options *options);

/**
 * An image that is 0 but where a pooling has found x: adz_max_unpool2d.
 *
 * A call takes "input" and "indices". PyTorch's calls take the output_size; here it is an option.
 *
 * @param kernel_size  rows and columns of a window, or one number for both; 1 or more
 * @param options      NULL for the defaults
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                     ADZ_ERR_MEMORY recorded
 * @see                torch.nn.MaxUnpool2d
 */
ADZ_API adz_module *adz_max_unpool2d_new(
    adz_shape kernel_size, const adz_max_unpool_options *options);

/**
 * A volume that is 0 but where a pooling has found x: adz_max_unpool3d.
 *
 * A call takes "input" and "indices". PyTorch's calls take the output_size; here it is an option.
 *
 * @param kernel_size  slices, rows and columns of a window, or one number for all; 1 or more
 * @param options      NULL for the defaults
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                     ADZ_ERR_MEMORY recorded
 * @see                torch.nn.MaxUnpool3d
 */
ADZ_API adz_module *adz_max_unpool3d_new(
    adz_shape kernel_size, const adz_max_unpool_options *options);

/**
 * Makes images larger by copies of their elements: adz_interpolate with the mode nearest.
 *
 * @param size          the last sizes of the result, or one number for both; 1 or more.
 *                      ADZ_SHAPE_SCALAR: the sizes of x times scale_factor
 * @param scale_factor  above 0, or 0 if there is a size
 * @return              yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                      ADZ_ERR_MEMORY recorded. Calls take [N, C, H, W]
 * @see                 torch.nn.UpsamplingNearest2d
 */
ADZ_API adz_module *adz_upsampling_nearest2d_new(adz_shape size, double scale_factor);

/**
 * Makes images larger by lines between their elements: adz_interpolate with the mode bilinear and
 * align_corners.
 *
 * @param size          the last sizes of the result, or one number for both; 1 or more.
 *                      ADZ_SHAPE_SCALAR: the sizes of x times scale_factor
 * @param scale_factor  above 0, or 0 if there is a size
 * @return              yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                      ADZ_ERR_MEMORY recorded. Calls take [N, C, H, W]
 * @see                 torch.nn.UpsamplingBilinear2d
 */
ADZ_API adz_module *adz_upsampling_bilinear2d_new(adz_shape size, double scale_factor);

#ifdef __cplusplus
}
#endif

#endif
