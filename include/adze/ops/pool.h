/**
 * @file pool.h
 * Pooling and interpolation of signals, images and volumes.
 *
 * Signals are [N, C, L] or [C, L], images [N, C, H, W] or [C, H, W], and volumes [N, C, D, H, W] or
 * [C, D, H, W]. Lists with one number for each dimension of a window are written ADZ_SHAPE(3, 2),
 * or ADZ_SHAPE(3) if all numbers are equal.
 */
#ifndef ADZE_OPS_POOL_H
#define ADZE_OPS_POOL_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of adz_max_pool1d, 2d and 3d. Start from ADZ_MAX_POOL_OPTIONS. */
typedef struct adz_max_pool_options {
    size_t size;        /**< sizeof(adz_max_pool_options) */
    adz_shape stride;   /**< from one window to the next, 1 or more; the default, rank 0, is
                             kernel_size */
    adz_shape padding;  /**< positions before and behind x, which never are the largest; from 0 to
                           half  a window; rank 0 for none */
    adz_shape dilation; /**< from one position of a window to the next, 1 or more; rank 0 for 1 */
    bool ceil_mode;     /**< whether a last window may reach beyond the padded x; false */
} adz_max_pool_options;

/** The defaults. */
#define ADZ_MAX_POOL_OPTIONS                                                              \
    {                                                                                     \
        ADZ_MEMBER(size, sizeof(adz_max_pool_options)), ADZ_MEMBER(stride, { 0, { 0 } }), \
            ADZ_MEMBER(padding, { 0, { 0 } }), ADZ_MEMBER(dilation, { 0, { 0 } }),        \
            ADZ_MEMBER(ceil_mode, false)                                                  \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_max_pool_options) as the caller knows it
 */
ADZ_API void adz_max_pool_options_init(adz_max_pool_options *options, size_t size);

/**
 * The largest element of each window of a signal.
 *
 *     y[n][c][i] = max_k x[n][c][i stride - padding + k dilation],   k = 0 .. kernel_size - 1
 *     size of y  = floor((L + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1
 *
 * With ceil_mode the size is rounded up, but the last window begins inside x or its left padding.
 * A NaN in a window makes the result NaN. Of equal elements the first one gets the gradient. A
 * dilated window can miss x and have padding only: its result is -INFINITY, its index is -1, and
 * its gradient goes nowhere.
 *
 * @param x            x[N, C, L] or x[C, L], f32 or f64; L 1 or more
 * @param kernel_size  positions of a window, 1 or more
 * @param options      NULL for the defaults
 * @param indices      receives the index of each result in its channel, i64 and shaped like y,
 *                     borrowed from the scope; may be NULL
 * @return             y, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_SHAPE (a window that does not fit), ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT,
 *                     ADZ_ERR_MEMORY
 * @grad               x, to any order; saves the number of each largest element in its window, one
 *                     byte per result, or eight if a window has more than 256 elements
 * @see                torch.nn.functional.max_pool1d
 */
ADZ_API adz_tensor *adz_max_pool1d(
    adz_tensor *x, int64_t kernel_size, const adz_max_pool_options *options, adz_tensor **indices);

/**
 * The largest element of each window of an image.
 *
 *     y[n][c][i][j] = max_kl x[n][c][i stride - padding + k dilation][j stride - padding + l
 * dilation]
 *
 * Sizes follow in each dimension from the formula of adz_max_pool1d, and so does the result of a
 * window that has padding only. A NaN in a window makes the result NaN. Of equal elements the first
 * one, row by row, gets the gradient.
 *
 * @param x            x[N, C, H, W] or x[C, H, W], f32 or f64; H and W 1 or more
 * @param kernel_size  rows and columns of a window, or one number for both; 1 or more
 * @param options      NULL for the defaults
 * @param indices      receives the index h W + w of each result in its channel, i64 and shaped
 * like y, borrowed from the scope; may be NULL
 * @return             y, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_SHAPE (a window that does not fit), ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT,
 *                     ADZ_ERR_MEMORY
 * @grad               x, to any order; saves the number of each largest element in its window, one
 *                     byte per result, or eight if a window has more than 256 elements
 * @see                torch.nn.functional.max_pool2d
 */
ADZ_API adz_tensor *adz_max_pool2d(adz_tensor *x, adz_shape kernel_size,
    const adz_max_pool_options *options, adz_tensor **indices);

/**
 * The largest element of each window of a volume: adz_max_pool2d with one dimension more.
 *
 * @param x            x[N, C, D, H, W] or x[C, D, H, W], f32 or f64; D, H and W 1 or more
 * @param kernel_size  slices, rows and columns of a window, or one number for all; 1 or more
 * @param options      NULL for the defaults
 * @param indices      receives the index (d H + h) W + w of each result in its channel, i64 and
 *                     shaped like y, borrowed from the scope; may be NULL
 * @return             y, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_SHAPE (a window that does not fit), ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT,
 *                     ADZ_ERR_MEMORY
 * @grad               x, to any order; saves the number of each largest element in its window, one
 *                     byte per result, or eight if a window has more than 256 elements
 * @see                torch.nn.functional.max_pool3d
 */
ADZ_API adz_tensor *adz_max_pool3d(adz_tensor *x, adz_shape kernel_size,
    const adz_max_pool_options *options, adz_tensor **indices);

/** Options of adz_avg_pool1d, 2d and 3d. Start from ADZ_AVG_POOL_OPTIONS. */
typedef struct adz_avg_pool_options {
    size_t size;              /**< sizeof(adz_avg_pool_options) */
    adz_shape stride;         /**< from one window to the next, 1 or more; the default, rank 0, is
                                   kernel_size */
    adz_shape padding;        /**< zeros before and behind x, from 0 to half a window; rank 0 for
                                   none */
    bool ceil_mode;           /**< whether a last window may reach beyond the padded x; false */
    bool count_include_pad;   /**< whether the mean counts the zeros of the padding; true */
    int64_t divisor_override; /**< what sums are divided by, 1 or more; 0, the default, for the
                                   number of positions of the window */
} adz_avg_pool_options;

/** The defaults. */
#define ADZ_AVG_POOL_OPTIONS                                                              \
    {                                                                                     \
        ADZ_MEMBER(size, sizeof(adz_avg_pool_options)), ADZ_MEMBER(stride, { 0, { 0 } }), \
            ADZ_MEMBER(padding, { 0, { 0 } }), ADZ_MEMBER(ceil_mode, false),              \
            ADZ_MEMBER(count_include_pad, true), ADZ_MEMBER(divisor_override, 0)          \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_avg_pool_options) as the caller knows it
 */
ADZ_API void adz_avg_pool_options_init(adz_avg_pool_options *options, size_t size);

/**
 * The mean of each window of a signal.
 *
 *     y[n][c][i] = mean_k x[n][c][i stride - padding + k],   k = 0 .. kernel_size - 1
 *     size of y  = floor((L + 2 padding - kernel_size) / stride) + 1
 *
 * With ceil_mode the size is rounded up, but the last window begins inside x or its left padding;
 * positions beyond the padding never count. Sums are f64.
 *
 * @param x            x[N, C, L] or x[C, L], f32 or f64; L 1 or more
 * @param kernel_size  positions of a window, 1 or more
 * @param options      NULL for the defaults
 * @return             y, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_SHAPE (a window that does not fit), ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT,
 *                     ADZ_ERR_MEMORY
 * @grad               x, to any order; saves nothing
 * @see                torch.nn.functional.avg_pool1d
 */
ADZ_API adz_tensor *adz_avg_pool1d(
    adz_tensor *x, int64_t kernel_size, const adz_avg_pool_options *options);

/**
 * The mean of each window of an image.
 *
 *     y[n][c][i][j] = mean_kl x[n][c][i stride - padding + k][j stride - padding + l]
 *
 * Sizes follow in each dimension from the formula of adz_avg_pool1d. Sums are f64.
 *
 * @param x            x[N, C, H, W] or x[C, H, W], f32 or f64; H and W 1 or more
 * @param kernel_size  rows and columns of a window, or one number for both; 1 or more
 * @param options      NULL for the defaults
 * @return             y, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_SHAPE (a window that does not fit), ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT,
 *                     ADZ_ERR_MEMORY
 * @grad               x, to any order; saves nothing
 * @see                torch.nn.functional.avg_pool2d
 */
ADZ_API adz_tensor *adz_avg_pool2d(
    adz_tensor *x, adz_shape kernel_size, const adz_avg_pool_options *options);

/**
 * The mean of each window of a volume: adz_avg_pool2d with one dimension more.
 *
 * @param x            x[N, C, D, H, W] or x[C, D, H, W], f32 or f64; D, H and W 1 or more
 * @param kernel_size  slices, rows and columns of a window, or one number for all; 1 or more
 * @param options      NULL for the defaults
 * @return             y, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_SHAPE (a window that does not fit), ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT,
 *                     ADZ_ERR_MEMORY
 * @grad               x, to any order; saves nothing
 * @see                torch.nn.functional.avg_pool3d
 */
ADZ_API adz_tensor *adz_avg_pool3d(
    adz_tensor *x, adz_shape kernel_size, const adz_avg_pool_options *options);

/**
 * Means of a signal of any length, so many that the result has the size that is asked for.
 *
 *     y[n][c][i] = mean of x[n][c][floor(i L / output_size) .. ceil((i + 1) L / output_size) - 1]
 *
 * @param x            x[N, C, L] or x[C, L], f32 or f64; L 1 or more
 * @param output_size  the last size of y, 0 or more, or -1 for L
 * @return             y, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad               x, to any order; saves nothing
 * @see                torch.nn.functional.adaptive_avg_pool1d
 */
ADZ_API adz_tensor *adz_adaptive_avg_pool1d(adz_tensor *x, int64_t output_size);

/**
 * Means of an image of any size, so many that the result has the size that is asked for.
 *
 * Rows and columns of the windows follow from the formula of adz_adaptive_avg_pool1d. With
 * ADZ_SHAPE(1) the result is the mean of each channel.
 *
 * @param x            x[N, C, H, W] or x[C, H, W], f32 or f64; H and W 1 or more
 * @param output_size  the last two sizes of y, or one number for both; 0 or more, or -1 for that
 *                     of x
 * @return             y, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad               x, to any order; saves nothing
 * @see                torch.nn.functional.adaptive_avg_pool2d
 */
ADZ_API adz_tensor *adz_adaptive_avg_pool2d(adz_tensor *x, adz_shape output_size);

/**
 * Means of a volume of any size: adz_adaptive_avg_pool2d with one dimension more.
 *
 * @param x            x[N, C, D, H, W] or x[C, D, H, W], f32 or f64; D, H and W 1 or more
 * @param output_size  the last three sizes of y, or one number for all; 0 or more, or -1 for that
 *                     of x
 * @return             y, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad               x, to any order; saves nothing
 * @see                torch.nn.functional.adaptive_avg_pool3d
 */
ADZ_API adz_tensor *adz_adaptive_avg_pool3d(adz_tensor *x, adz_shape output_size);

/**
 * Largest elements of a signal of any length, so many that the result has the size that is asked
 * for.
 *
 * Windows are those of adz_adaptive_avg_pool1d.
 *
 * @param x            x[N, C, L] or x[C, L], f32 or f64; L 1 or more
 * @param output_size  the last size of y, 0 or more, or -1 for L
 * @param indices      receives the index of each result in its channel, i64 and shaped like y,
 *                     borrowed from the scope; may be NULL
 * @return             y, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad               x, to any order; saves the number of each largest element in its window, one
 *                     byte per result, or eight if a window has more than 256 elements
 * @see                torch.nn.functional.adaptive_max_pool1d
 */
ADZ_API adz_tensor *adz_adaptive_max_pool1d(
    adz_tensor *x, int64_t output_size, adz_tensor **indices);

/**
 * Largest elements of an image of any size, so many that the result has the size that is asked for.
 *
 * Windows are those of adz_adaptive_avg_pool2d.
 *
 * @param x            x[N, C, H, W] or x[C, H, W], f32 or f64; H and W 1 or more
 * @param output_size  the last two sizes of y, or one number for both; 0 or more, or -1 for that
 *                     of x
 * @param indices      receives the index h W + w of each result in its channel, i64 and shaped
 * like y, borrowed from the scope; may be NULL
 * @return             y, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad               x, to any order; saves the number of each largest element in its window, one
 *                     byte per result, or eight if a window has more than 256 elements
 * @see                torch.nn.functional.adaptive_max_pool2d
 */
ADZ_API adz_tensor *adz_adaptive_max_pool2d(
    adz_tensor *x, adz_shape output_size, adz_tensor **indices);

/**
 * Largest elements of a volume of any size: adz_adaptive_max_pool2d with one dimension more.
 *
 * @param x            x[N, C, D, H, W] or x[C, D, H, W], f32 or f64; D, H and W 1 or more
 * @param output_size  the last three sizes of y, or one number for all; 0 or more, or -1 for that
 *                     of x
 * @param indices      receives the index (d H + h) W + w of each result in its channel, i64 and
 *                     shaped like y, borrowed from the scope; may be NULL
 * @return             y, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad               x, to any order; saves what adz_max_pool3d saves
 * @see                torch.nn.functional.adaptive_max_pool3d
 */
ADZ_API adz_tensor *adz_adaptive_max_pool3d(
    adz_tensor *x, adz_shape output_size, adz_tensor **indices);

/** Options of adz_lp_pool1d, 2d and 3d. Start from ADZ_LP_POOL_OPTIONS. */
typedef struct adz_lp_pool_options {
    size_t size;      /**< sizeof(adz_lp_pool_options) */
    adz_shape stride; /**< from one window to the next, 1 or more; rank 0 for kernel_size */
    bool ceil_mode;   /**< whether a last window may reach beyond x; false */
} adz_lp_pool_options;

/** The defaults. */
#define ADZ_LP_POOL_OPTIONS                                                              \
    {                                                                                    \
        ADZ_MEMBER(size, sizeof(adz_lp_pool_options)), ADZ_MEMBER(stride, { 0, { 0 } }), \
            ADZ_MEMBER(ceil_mode, false)                                                 \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_lp_pool_options) as the caller knows it
 */
ADZ_API void adz_lp_pool_options_init(adz_lp_pool_options *options, size_t size);

/**
 * The p-norm of each window of a signal, without absolute values.
 *
 *     y[n][c][i] = (sum_k x[n][c][i stride + k]^p)^(1 / p),   k = 0 .. kernel_size - 1
 *
 * A window that reaches beyond x gets the mean of its own elements times kernel_size as the sum, as
 * in PyTorch. A negative sum gives NaN unless 1 / p is whole. A sum of 0 has gradient 0.
 *
 * @param x            x[N, C, L] or x[C, L], f32 or f64; L 1 or more
 * @param norm_type    p, not 0; infinite for the largest absolute value
 * @param kernel_size  positions of a window, 1 or more
 * @param options      NULL for the defaults
 * @return             y, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_SHAPE (a window that does not fit), ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT,
 *                     ADZ_ERR_MEMORY
 * @grad               x, to any order; saves x
 * @see                torch.nn.functional.lp_pool1d
 */
ADZ_API adz_tensor *adz_lp_pool1d(
    adz_tensor *x, double norm_type, int64_t kernel_size, const adz_lp_pool_options *options);

/**
 * The p-norm of each window of an image: adz_lp_pool1d with one dimension more.
 *
 * @param x            x[N, C, H, W] or x[C, H, W], f32 or f64; H and W 1 or more
 * @param norm_type    p, not 0; infinite for the largest absolute value
 * @param kernel_size  rows and columns of a window, or one number for both; 1 or more
 * @param options      NULL for the defaults
 * @return             y, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_SHAPE (a window that does not fit), ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT,
 *                     ADZ_ERR_MEMORY
 * @grad               x, to any order; saves x
 * @see                torch.nn.functional.lp_pool2d
 */
ADZ_API adz_tensor *adz_lp_pool2d(
    adz_tensor *x, double norm_type, adz_shape kernel_size, const adz_lp_pool_options *options);

/**
 * The p-norm of each window of a volume: adz_lp_pool2d with one dimension more.
 *
 * @param x            x[N, C, D, H, W] or x[C, D, H, W], f32 or f64; D, H and W 1 or more
 * @param norm_type    p, not 0; infinite for the largest absolute value
 * @param kernel_size  slices, rows and columns of a window, or one number for all; 1 or more
 * @param options      NULL for the defaults
 * @return             y, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_SHAPE (a window that does not fit), ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT,
 *                     ADZ_ERR_MEMORY
 * @grad               x, to any order; saves x
 * @see                torch.nn.functional.lp_pool3d
 */
ADZ_API adz_tensor *adz_lp_pool3d(
    adz_tensor *x, double norm_type, adz_shape kernel_size, const adz_lp_pool_options *options);

/** How adz_interpolate computes elements between those of x. */
typedef enum adz_interpolate_mode {
    ADZ_INTERPOLATE_NEAREST = 0,  /**< takes the element before, PyTorch's default */
    ADZ_INTERPOLATE_LINEAR = 1,   /**< signals: the line between two elements */
    ADZ_INTERPOLATE_BILINEAR = 2, /**< images: lines along rows and along columns */
    ADZ_INTERPOLATE_TRILINEAR = 3 /**< volumes: lines along all three dimensions */
} adz_interpolate_mode;

/** Options of adz_interpolate. Start from ADZ_INTERPOLATE_OPTIONS. */
typedef struct adz_interpolate_options {
    size_t size;               /**< sizeof(adz_interpolate_options) */
    adz_interpolate_mode mode; /**< ADZ_INTERPOLATE_NEAREST */
    double scale_factor;       /**< above 0, size of y per size of x, if no size is given; 0 */
    bool align_corners;        /**< of the linear modes: the first and the last elements of x and
                                    y lie at one position each; false */
} adz_interpolate_options;

/** The defaults. */
#define ADZ_INTERPOLATE_OPTIONS                                                       \
    {                                                                                 \
        ADZ_MEMBER(size, sizeof(adz_interpolate_options)),                            \
            ADZ_MEMBER(mode, ADZ_INTERPOLATE_NEAREST), ADZ_MEMBER(scale_factor, 0.0), \
            ADZ_MEMBER(align_corners, false)                                          \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_interpolate_options) as the caller knows it
 */
ADZ_API void adz_interpolate_options_init(adz_interpolate_options *options, size_t size);

/**
 * Changes the size of signals, images or volumes.
 *
 *     nearest:        y[i] = x[floor(i / scale)]
 *     linear:         y[i] = x at the position (i + 1/2) / scale - 1/2
 *     align_corners:  y[i] = x at the position i (L - 1) / (size - 1)
 *
 * The scale is that of the options, or the size of y by that of x. A linear mode copies a dimension
 * whose size stays. Positions of nearest are computed in f32. One formula holds for signals,
 * images, volumes and gradients.
 *
 * @param x        x[N, C, L], x[N, C, H, W] or x[N, C, D, H, W], f32 or f64; L, D, H and W 1 or
 *                 more
 * @param size     the last sizes of y, or one number for all; 1 or more. ADZ_SHAPE_SCALAR: the
 *                 sizes of x times scale_factor, rounded down
 * @param options  NULL for the defaults
 * @return         y, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad           x, to any order; saves nothing
 * @see            torch.nn.functional.interpolate
 */
ADZ_API adz_tensor *adz_interpolate(
    adz_tensor *x, adz_shape size, const adz_interpolate_options *options);

#ifdef __cplusplus
}
#endif

#endif
