/**
 * @file conv.h
 * Convolution.
 */
#ifndef ADZE_OPS_CONV_H
#define ADZE_OPS_CONV_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How the padding of a convolution is given. */
typedef enum adz_padding_rule {
    ADZ_PADDING_NUMBERS = 0, /**< the numbers in `padding`; none pad nothing */
    ADZ_PADDING_VALID = 1,   /**< no padding */
    ADZ_PADDING_SAME = 2,    /**< the result has the size of the input; needs stride 1. If the
                                  number of added elements is odd, one more is at the end */
    ADZ_PADDING_CAUSAL = 3   /**< dilation * (kernel size - 1) zeros in front and none at the end:
                                  no element of the result reads a later one of the input, and with
                                  stride 1 it has the input's size. It saves the copy that adz_pad
                                  makes, and the memory that a backward keeps of it */
} adz_padding_rule;

/**
 * Options of convolutions. Start from ADZ_CONV_OPTIONS.
 *
 * A list has one number per spatial dimension, or a single number for all of them. A shape of rank
 * 0 stands for the default.
 */
typedef struct adz_conv_options {
    size_t size;                   /**< sizeof(adz_conv_options) */
    adz_shape stride;              /**< each 1 or more; 1 by default */
    adz_shape padding;             /**< zeros at both ends, each 0 or more; 0. For a transposed
                                        convolution, elements that its result loses at both ends */
    adz_padding_rule padding_rule; /**< ADZ_PADDING_NUMBERS; ADZ_PADDING_SAME and
                                        ADZ_PADDING_CAUSAL are not for transposed convolutions */
    adz_shape dilation;            /**< distance of the kernel's elements, each 1 or more; 1 */
    adz_shape output_padding;      /**< transposed convolutions only: elements that the result gets
                                        at its end, fewer than the stride or the dilation; 0 */
    int64_t groups;                /**< groups of channels with their own weights; 1 */
} adz_conv_options;

/** The defaults. */
#define ADZ_CONV_OPTIONS                                                                      \
    {                                                                                         \
        ADZ_MEMBER(size, sizeof(adz_conv_options)), ADZ_MEMBER(stride, { 0, { 0 } }),         \
            ADZ_MEMBER(padding, { 0, { 0 } }), ADZ_MEMBER(padding_rule, ADZ_PADDING_NUMBERS), \
            ADZ_MEMBER(dilation, { 0, { 0 } }), ADZ_MEMBER(output_padding, { 0, { 0 } }),     \
            ADZ_MEMBER(groups, 1)                                                             \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_conv_options) as the caller knows it
 */
ADZ_API void adz_conv_options_init(adz_conv_options *options, size_t size);

/**
 * Convolution of signals.
 *
 *     y[o, q] = bias[o] + sum over c and t of weight[o, c, t] x[c, q stride + t dilation - padding]
 *
 *     size of y = floor((L + 2 padding - dilation (K - 1) - 1) / stride) + 1
 *
 * Output channel o of a group reads the input channels of that group. With as many groups as
 * channels the convolution is depthwise. The zeros of the padding are elements of x: a weight that
 * is infinite or NaN makes NaN of the results that read them.
 *
 * @param x        x[N, C, L] or x[C, L], f32 or f64
 * @param weight   weight[O, C / groups, K] of x's dtype
 * @param bias     bias[O] of x's dtype, or ADZ_NONE
 * @param options  NULL for the defaults
 * @return         y[N, O, size] or y[O, size], borrowed from the scope, or NULL
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad           x, weight and bias, to any order; saves x and weight
 * @see            torch.nn.functional.conv1d
 */
ADZ_API adz_tensor *adz_conv1d(
    adz_tensor *x, adz_tensor *weight, adz_tensor *bias, const adz_conv_options *options);

/**
 * Convolution of images.
 *
 *     y[o, p, q] = bias[o] + sum over c, i and j of weight[o, c, i, j] x[c, p', q'],
 *     p' = p stride + i dilation - padding,   q' = q stride + j dilation - padding
 *
 *     height of y = floor((H + 2 padding - dilation (KH - 1) - 1) / stride) + 1
 *
 * Output channel o of a group reads the input channels of that group. With as many groups as
 * channels the convolution is depthwise. The zeros of the padding are elements of x: a weight that
 * is infinite or NaN makes NaN of the results that read them. The patches of x never exist as a
 * whole in memory: the working memory is below 0.3 MB per thread.
 *
 * @param x        x[N, C, H, W] or x[C, H, W], f32 or f64
 * @param weight   weight[O, C / groups, KH, KW] of x's dtype
 * @param bias     bias[O] of x's dtype, or ADZ_NONE
 * @param options  NULL for the defaults
 * @return         y[N, O, height, width] or y[O, height, width], borrowed from the scope, or NULL
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad           x, weight and bias, to any order; saves x and weight
 * @see            torch.nn.functional.conv2d
 */
ADZ_API adz_tensor *adz_conv2d(
    adz_tensor *x, adz_tensor *weight, adz_tensor *bias, const adz_conv_options *options);

/**
 * Convolution of volumes.
 *
 *     y[o, q] = bias[o] + sum over c and t of weight[o, c, t] x[c, q stride + t dilation - padding]
 *
 * q and t have three numbers each, for depth, height and width. Sizes follow in each dimension from
 * the formula of adz_conv1d, and what adz_conv2d says of groups, padding and memory holds too.
 *
 * @param x        x[N, C, D, H, W] or x[C, D, H, W], f32 or f64
 * @param weight   weight[O, C / groups, KD, KH, KW] of x's dtype
 * @param bias     bias[O] of x's dtype, or ADZ_NONE
 * @param options  NULL for the defaults
 * @return         y[N, O, depth, height, width] or y[O, depth, height, width], borrowed from the
 *                 scope, or NULL
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad           x, weight and bias, to any order; saves x and weight
 * @see            torch.nn.functional.conv3d
 */
ADZ_API adz_tensor *adz_conv3d(
    adz_tensor *x, adz_tensor *weight, adz_tensor *bias, const adz_conv_options *options);

/**
 * Transposed convolution of signals: the gradient of adz_conv1d with respect to its input, as a
 * function of the gradient of its result.
 *
 *     y[o, p] = bias[o] + sum over c, q and t with q stride + t dilation - padding = p
 *                         of weight[c, o, t] x[c, q]
 *
 *     size of y = (L - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1
 *
 * A result depends on no other weight and element than the sum names, also if these are infinite.
 *
 * @param x        x[N, C, L] or x[C, L], f32 or f64
 * @param weight   weight[C, O / groups, K] of x's dtype
 * @param bias     bias[O] of x's dtype, or ADZ_NONE
 * @param options  NULL for the defaults
 * @return         y[N, O, size] or y[O, size], borrowed from the scope, or NULL
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad           x, weight and bias, to any order; saves x and weight
 * @see            torch.nn.functional.conv_transpose1d
 */
ADZ_API adz_tensor *adz_conv_transpose1d(
    adz_tensor *x, adz_tensor *weight, adz_tensor *bias, const adz_conv_options *options);

/**
 * Transposed convolution of images: the gradient of adz_conv2d with respect to its input, as a
 * function of the gradient of its result.
 *
 *     height of y = (H - 1) stride - 2 padding + dilation (KH - 1) + output_padding + 1
 *
 * @param x        x[N, C, H, W] or x[C, H, W], f32 or f64
 * @param weight   weight[C, O / groups, KH, KW] of x's dtype
 * @param bias     bias[O] of x's dtype, or ADZ_NONE
 * @param options  NULL for the defaults
 * @return         y[N, O, height, width] or y[O, height, width], borrowed from the scope, or NULL
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad           x, weight and bias, to any order; saves x and weight
 * @see            torch.nn.functional.conv_transpose2d
 */
ADZ_API adz_tensor *adz_conv_transpose2d(
    adz_tensor *x, adz_tensor *weight, adz_tensor *bias, const adz_conv_options *options);

/**
 * Transposed convolution of volumes: the gradient of adz_conv3d with respect to its input, as a
 * function of the gradient of its result. Sizes follow in each dimension from the formula of
 * adz_conv_transpose1d.
 *
 * @param x        x[N, C, D, H, W] or x[C, D, H, W], f32 or f64
 * @param weight   weight[C, O / groups, KD, KH, KW] of x's dtype
 * @param bias     bias[O] of x's dtype, or ADZ_NONE
 * @param options  NULL for the defaults
 * @return         y[N, O, depth, height, width] or y[O, depth, height, width], borrowed from the
 *                 scope, or NULL
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad           x, weight and bias, to any order; saves x and weight
 * @see            torch.nn.functional.conv_transpose3d
 */
ADZ_API adz_tensor *adz_conv_transpose3d(
    adz_tensor *x, adz_tensor *weight, adz_tensor *bias, const adz_conv_options *options);

/**
 * The gradient of the weight of a convolution. Backwards call it; a program needs it only for
 * gradients of its own operators.
 *
 *     dw[o, c, t] = sum over q of dy[o, q] x[c, q stride + t dilation - padding]
 *
 * @param x        the input of the convolution, with a batch or without; f32 or f64
 * @param dy       the gradient of its result, of x's dtype
 * @param weight   the shape of the weight, [O, C / groups, K], or with KH, KW or KD, KH, KW
 * @param options  those of the convolution; NULL for the defaults
 * @return         dw, of the shape `weight`, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad           x and dy, to any order; saves both
 * @see            torch.nn.grad.conv1d_weight, conv2d_weight and conv3d_weight
 */
ADZ_API adz_tensor *adz_conv_weight(
    adz_tensor *x, adz_tensor *dy, adz_shape weight, const adz_conv_options *options);

/**
 * The patches of images as columns.
 *
 *     y[c KH KW + t, q] = x[c, q stride + t dilation - padding],   0 outside x
 *
 * t counts the elements of a kernel, q its positions in the image, both row by row. adz_matmul of a
 * weight [O, C KH KW] and y is a convolution; adz_conv2d computes it without the patches.
 *
 * @param x            x[N, C, H, W] or x[C, H, W], f32 or f64
 * @param kernel_size  KH and KW, or one size for both; 1 or more
 * @param options      stride, padding and dilation; NULL for the defaults. groups is 1
 * @return             y[N, C KH KW, L] or y[C KH KW, L], borrowed from the scope, or NULL
 * @errors             ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad               x, to any order; saves nothing
 * @see                torch.nn.functional.unfold
 */
ADZ_API adz_tensor *adz_unfold(
    adz_tensor *x, adz_shape kernel_size, const adz_conv_options *options);

/**
 * The sum of patches: the gradient of adz_unfold as a function.
 *
 *     y[c, p] = sum of x[c KH KW + t, q] over t and q with q stride + t dilation - padding = p
 *
 * @param x            x[N, C KH KW, L] or x[C KH KW, L], f32 or f64; L positions of the kernel
 * @param output_size  H and W, or one size for both; 1 or more
 * @param kernel_size  KH and KW, or one size for both; 1 or more
 * @param options      stride, padding and dilation; NULL for the defaults. groups is 1
 * @return             y[N, C, H, W] or y[C, H, W], borrowed from the scope, or NULL
 * @errors             ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad               x, to any order; saves nothing
 * @see                torch.nn.functional.fold
 */
ADZ_API adz_tensor *adz_fold(
    adz_tensor *x, adz_shape output_size, adz_shape kernel_size, const adz_conv_options *options);

/**
 * Mixes the channels of groups: the first one of each group, then the second one of each, and so
 * on. Between two convolutions with groups it lets information pass from one group to another.
 *
 *     y[n, j groups + i] = x[n, i C / groups + j]
 *
 * @param x       x[N, C, ...] with three dimensions or more, any dtype
 * @param groups  divides C; 1 or more
 * @return        a new tensor y, shaped like x, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_SHAPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad          x, to any order; saves nothing
 * @see           torch.nn.functional.channel_shuffle
 */
ADZ_API adz_tensor *adz_channel_shuffle(adz_tensor *x, int64_t groups);

#ifdef __cplusplus
}
#endif

#endif
