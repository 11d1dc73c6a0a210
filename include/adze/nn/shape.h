/**
 * @file shape.h
 * Changes of shape as modules.
 */
#ifndef ADZE_NN_SHAPE_H
#define ADZE_NN_SHAPE_H

#include "adze/nn/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Merges dimensions into one: adz_flatten. adz_flatten_new(1, -1) makes rows of a batch, which are
 * PyTorch's defaults.
 *
 * @param start_dim  the first dimension that is merged, negative to count from the last
 * @param end_dim    the last one, negative to count from the last
 * @return           yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded. Calls
 *                   fail with ADZ_ERR_DIM if x has no such dimensions
 * @see              torch.nn.Flatten
 */
ADZ_API adz_module *adz_flatten_new(int start_dim, int end_dim);

/**
 * Splits one dimension into several, the reverse of adz_flatten_new.
 *
 * @param dim               the dimension, negative to count from the last
 * @param unflattened_size  its parts, one or more, each 0 or more; one of them may be -1 and
 * follows from the others
 * @return                  yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                          ADZ_ERR_MEMORY recorded. Calls fail with ADZ_ERR_DIM or ADZ_ERR_SHAPE if
 *                          x does not fit
 * @see                     torch.nn.Unflatten
 */
ADZ_API adz_module *adz_unflatten_new(int dim, adz_shape unflattened_size);

/**
 * Makes rows and columns of channels: adz_pixel_shuffle.
 *
 * @param upscale_factor  1 or more
 * @return                yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                        ADZ_ERR_MEMORY recorded
 * @see                   torch.nn.PixelShuffle
 */
ADZ_API adz_module *adz_pixel_shuffle_new(int64_t upscale_factor);

/**
 * Makes channels of rows and columns: adz_pixel_unshuffle.
 *
 * @param downscale_factor  1 or more
 * @return                  yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                          ADZ_ERR_MEMORY recorded
 * @see                     torch.nn.PixelUnshuffle
 */
ADZ_API adz_module *adz_pixel_unshuffle_new(int64_t downscale_factor);

/**
 * Mixes the channels of groups: adz_channel_shuffle.
 *
 * x is [N, C, ...] with three dimensions or more, y is shaped like x.
 *
 * @param groups  1 or more; divides C
 * @return        yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                ADZ_ERR_MEMORY recorded
 * @see           torch.nn.ChannelShuffle
 */
ADZ_API adz_module *adz_channel_shuffle_new(int64_t groups);

#ifdef __cplusplus
}
#endif

#endif
