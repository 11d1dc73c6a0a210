/**
 * @file nn/conv.h
 * Convolution layers.
 */
#ifndef ADZE_NN_CONV_H
#define ADZE_NN_CONV_H

#include "adze/nn/module.h"
#include "adze/ops/conv.h"
#include "adze/ops/shape.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Options of a convolution layer. Start from ADZ_CONV_MODULE_OPTIONS.
 *
 * A list has one number per spatial dimension, or a single number for all of them. A shape of rank
 * 0 stands for the default.
 */
typedef struct adz_conv_module_options {
    size_t size;                   /**< sizeof(adz_conv_module_options) */
    adz_shape stride;              /**< each 1 or more; 1 by default */
    adz_shape padding;             /**< added elements at both ends, each 0 or more; 0. For a
                                        transposed layer, elements that the result loses */
    adz_padding_rule padding_rule; /**< ADZ_PADDING_NUMBERS; ADZ_PADDING_SAME and
                                        ADZ_PADDING_CAUSAL are not for transposed layers */
    adz_shape dilation;            /**< distance of the kernel's elements, each 1 or more; 1 */
    adz_shape output_padding;      /**< transposed layers only: elements that the result gets at its
                                        end, fewer than the stride or the dilation; 0 */
    int64_t groups;                /**< divides both numbers of channels; 1 */
    bool bias;                     /**< whether a bias is added; true */
    adz_padding_mode padding_mode; /**< what the added elements hold; ADZ_PADDING_ZEROS, the only
                                        one for transposed layers */
    adz_dtype dtype;               /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
} adz_conv_module_options;

/** The defaults. */
#define ADZ_CONV_MODULE_OPTIONS                                                               \
    {                                                                                         \
        ADZ_MEMBER(size, sizeof(adz_conv_module_options)), ADZ_MEMBER(stride, { 0, { 0 } }),  \
            ADZ_MEMBER(padding, { 0, { 0 } }), ADZ_MEMBER(padding_rule, ADZ_PADDING_NUMBERS), \
            ADZ_MEMBER(dilation, { 0, { 0 } }), ADZ_MEMBER(output_padding, { 0, { 0 } }),     \
            ADZ_MEMBER(groups, 1), ADZ_MEMBER(bias, true),                                    \
            ADZ_MEMBER(padding_mode, ADZ_PADDING_ZEROS), ADZ_MEMBER(dtype, ADZ_F32)           \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_conv_module_options) as the caller knows it
 */
ADZ_API void adz_conv_module_options_init(adz_conv_module_options *options, size_t size);

/**
 * A convolution layer for signals, adz_conv1d with its own parameters.
 *
 * x is [N, C, L] or [C, L]. Parameters: weight[out, in / groups, K] and bias[out]. Both are drawn
 * from U(-1/sqrt(k), 1/sqrt(k)) with k = in / groups times K, as PyTorch does.
 *
 * @param in_channels   1 or more
 * @param out_channels  1 or more
 * @param kernel_size   K, 1 or more
 * @param options       NULL for the defaults
 * @return              yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 *                      ADZ_ERR_DTYPE, ADZ_ERR_SHAPE or ADZ_ERR_MEMORY recorded
 * @see                 torch.nn.Conv1d
 */
ADZ_API adz_module *adz_conv1d_new(int64_t in_channels, int64_t out_channels, int64_t kernel_size,
    const adz_conv_module_options *options);

/**
 * A convolution layer for images, adz_conv2d with its own parameters.
 *
 * x is [N, C, H, W] or [C, H, W]. Parameters: weight[out, in / groups, KH, KW] and bias[out]. Both
 * are drawn from U(-1/sqrt(k), 1/sqrt(k)) with k = in / groups times KH times KW, as PyTorch does.
 *
 *     adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
 *     o.padding = ADZ_SHAPE(1);
 *     adz_module *layer = adz_conv2d_new(3, 32, ADZ_SHAPE(3), &o);
 *
 * @param in_channels   1 or more
 * @param out_channels  1 or more
 * @param kernel_size   KH and KW, or one size for both; 1 or more
 * @param options       NULL for the defaults
 * @return              yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 *                      ADZ_ERR_DTYPE, ADZ_ERR_SHAPE or ADZ_ERR_MEMORY recorded
 * @see                 torch.nn.Conv2d
 */
ADZ_API adz_module *adz_conv2d_new(int64_t in_channels, int64_t out_channels, adz_shape kernel_size,
    const adz_conv_module_options *options);

/**
 * A convolution layer for volumes, adz_conv3d with its own parameters.
 *
 * x is [N, C, D, H, W] or [C, D, H, W]. Parameters: weight[out, in / groups, KD, KH, KW] and
 * bias[out]. Both are drawn from U(-1/sqrt(k), 1/sqrt(k)) with k = in / groups times KD times KH
 * times KW, as PyTorch does.
 *
 * @param in_channels   1 or more
 * @param out_channels  1 or more
 * @param kernel_size   KD, KH and KW, or one size for all; 1 or more
 * @param options       NULL for the defaults
 * @return              yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 *                      ADZ_ERR_DTYPE, ADZ_ERR_SHAPE or ADZ_ERR_MEMORY recorded
 * @see                 torch.nn.Conv3d
 */
ADZ_API adz_module *adz_conv3d_new(int64_t in_channels, int64_t out_channels, adz_shape kernel_size,
    const adz_conv_module_options *options);

/**
 * A transposed convolution layer for signals, adz_conv_transpose1d with its own parameters.
 *
 * x is [N, C, L] or [C, L]. Parameters: weight[in, out / groups, K] and bias[out]. Both are drawn
 * from U(-1/sqrt(k), 1/sqrt(k)) with k = out / groups times K, as PyTorch does.
 *
 * @param in_channels   1 or more
 * @param out_channels  1 or more
 * @param kernel_size   K, 1 or more
 * @param options       NULL for the defaults
 * @return              yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 *                      ADZ_ERR_DTYPE, ADZ_ERR_SHAPE or ADZ_ERR_MEMORY recorded
 * @see                 torch.nn.ConvTranspose1d
 */
ADZ_API adz_module *adz_conv_transpose1d_new(int64_t in_channels, int64_t out_channels,
    int64_t kernel_size, const adz_conv_module_options *options);

/**
 * A transposed convolution layer for images, adz_conv_transpose2d with its own parameters.
 *
 * x is [N, C, H, W] or [C, H, W]. Parameters: weight[in, out / groups, KH, KW] and bias[out]. Both
 * are drawn from U(-1/sqrt(k), 1/sqrt(k)) with k = out / groups times KH times KW, as PyTorch does.
 *
 * @param in_channels   1 or more
 * @param out_channels  1 or more
 * @param kernel_size   KH and KW, or one size for both; 1 or more
 * @param options       NULL for the defaults
 * @return              yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 *                      ADZ_ERR_DTYPE, ADZ_ERR_SHAPE or ADZ_ERR_MEMORY recorded
 * @see                 torch.nn.ConvTranspose2d
 */
ADZ_API adz_module *adz_conv_transpose2d_new(int64_t in_channels, int64_t out_channels,
    adz_shape kernel_size, const adz_conv_module_options *options);

/**
 * A transposed convolution layer for volumes, adz_conv_transpose3d with its own parameters.
 *
 * x is [N, C, D, H, W] or [C, D, H, W]. Parameters: weight[in, out / groups, KD, KH, KW] and
 * bias[out]. Both are drawn from U(-1/sqrt(k), 1/sqrt(k)) with k = out / groups times KD times KH
 * times KW, as PyTorch does.
 *
 * @param in_channels   1 or more
 * @param out_channels  1 or more
 * @param kernel_size   KD, KH and KW, or one size for all; 1 or more
 * @param options       NULL for the defaults
 * @return              yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 *                      ADZ_ERR_DTYPE, ADZ_ERR_SHAPE or ADZ_ERR_MEMORY recorded
 * @see                 torch.nn.ConvTranspose3d
 */
ADZ_API adz_module *adz_conv_transpose3d_new(int64_t in_channels, int64_t out_channels,
    adz_shape kernel_size, const adz_conv_module_options *options);

/**
 * The patches of images as columns: adz_unfold.
 *
 * @param kernel_size  one size for both dimensions, or two, each 1 or more
 * @param options      stride, padding and dilation; NULL for the defaults. groups is 1
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                     ADZ_ERR_MEMORY recorded. Calls fail as adz_unfold does
 * @see                torch.nn.Unfold
 */
ADZ_API adz_module *adz_unfold_new(adz_shape kernel_size, const adz_conv_options *options);

/**
 * The sum of patches as images: adz_fold.
 *
 * @param output_size  height and width of the images, or one size for both; 1 or more
 * @param kernel_size  one size for both dimensions, or two, each 1 or more
 * @param options      stride, padding and dilation; NULL for the defaults. groups is 1
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                     ADZ_ERR_MEMORY recorded. Calls fail as adz_fold does
 * @see                torch.nn.Fold
 */
ADZ_API adz_module *adz_fold_new(
    adz_shape output_size, adz_shape kernel_size, const adz_conv_options *options);

#ifdef __cplusplus
}
#endif

#endif
