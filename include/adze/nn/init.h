/**
 * @file init.h
 * Initialisers, with the names of torch.nn.init. Each overwrites a tensor outside any graph and
 * returns its argument.
 *
 * The fan-in of t[out, in, ...] is `in` times the sizes after it. Its fan-out is `out` times the
 * sizes after `in`.
 */
#ifndef ADZE_NN_INIT_H
#define ADZE_NN_INIT_H

#include "adze/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What follows the layer whose weight is drawn. */
typedef enum adz_nonlinearity {
    ADZ_NONLINEARITY_LINEAR = 0,     /**< nothing: gain 1 */
    ADZ_NONLINEARITY_SIGMOID = 1,    /**< gain 1 */
    ADZ_NONLINEARITY_TANH = 2,       /**< gain 5/3 */
    ADZ_NONLINEARITY_RELU = 3,       /**< gain sqrt(2) */
    ADZ_NONLINEARITY_LEAKY_RELU = 4, /**< gain sqrt(2 / (1 + a^2)), a the negative slope */
    ADZ_NONLINEARITY_SELU = 5        /**< gain 3/4 */
} adz_nonlinearity;

/** Which variance Kaiming's initialisers keep. */
typedef enum adz_fan {
    ADZ_FAN_IN = 0, /**< that of the forward pass */
    ADZ_FAN_OUT = 1 /**< that of the backward pass */
} adz_fan;

/**
 * The factor by which a nonlinearity's weights are larger than those of a linear layer.
 *
 * @param nonlinearity  which
 * @param a             the negative slope of ADZ_NONLINEARITY_LEAKY_RELU (PyTorch's default: 0.01);
 *                      else ignored
 * @return              the gain; NaN with ADZ_ERR_ARGUMENT recorded
 * @see                 torch.nn.init.calculate_gain
 */
ADZ_API double adz_calculate_gain(adz_nonlinearity nonlinearity, double a);

/**
 * Turns the drawing of initial values off on this thread. Use it around the constructors of a model
 * that a file will fill: drawing the weights of a large model takes longer than reading them.
 *
 * While it is on, the functions of this header that draw write NaN, so that a parameter which the
 * file did not fill is noticed in the first result. They advance no generator. Constants, such as
 * the ones of a layer norm, are written as usual.
 *
 * @param on  false by default
 * @return    what it was before
 * @see       torch.nn.utils.skip_init
 */
ADZ_API bool adz_set_skip_init(bool on);

/**
 * Whether adz_set_skip_init is on for this thread.
 *
 * @return false by default
 */
ADZ_API bool adz_is_skip_init(void);

/**
 * Draws evenly from [low, high).
 *
 * @param t          f32 or f64, any layout
 * @param low        the smallest value (PyTorch's default: 0)
 * @param high       at least low (PyTorch's default: 1)
 * @param generator  NULL for the default one
 * @return           t; NULL with ADZ_ERR_NULL, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY
 * @see              torch.nn.init.uniform_
 */
ADZ_API adz_tensor *adz_init_uniform_(
    adz_tensor *t, double low, double high, adz_generator *generator);

/**
 * Draws normal numbers.
 *
 * @param t          f32 or f64, any layout
 * @param mean       their mean (PyTorch's default: 0)
 * @param std        their deviation, 0 or more (PyTorch's default: 1)
 * @param generator  NULL for the default one
 * @return           t; NULL with ADZ_ERR_NULL, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY
 * @see              torch.nn.init.normal_
 */
ADZ_API adz_tensor *adz_init_normal_(
    adz_tensor *t, double mean, double std, adz_generator *generator);

/**
 * Draws normal numbers, and draws again what lies outside [a, b].
 *
 * @param t          f32 or f64, any layout
 * @param mean       mean before cutting (PyTorch's default: 0)
 * @param std        deviation before cutting, above 0 (PyTorch's default: 1)
 * @param a          the smallest value (PyTorch's default: -2)
 * @param b          the largest value, at least a (PyTorch's default: 2)
 * @param generator  NULL for the default one
 * @return           t; NULL with ADZ_ERR_NULL, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY
 * @see              torch.nn.init.trunc_normal_
 */
ADZ_API adz_tensor *adz_init_trunc_normal_(
    adz_tensor *t, double mean, double std, double a, double b, adz_generator *generator);

/**
 * Writes one value.
 *
 * @param t      any dtype, any layout
 * @param value  converted to the dtype
 * @return       t; NULL with ADZ_ERR_NULL
 * @see          torch.nn.init.constant_
 */
ADZ_API adz_tensor *adz_init_constant_(adz_tensor *t, double value);

/**
 * Writes zeros.
 *
 * @param t  any dtype, any layout
 * @return   t; NULL with ADZ_ERR_NULL
 * @see      torch.nn.init.zeros_
 */
ADZ_API adz_tensor *adz_init_zeros_(adz_tensor *t);

/**
 * Writes ones.
 *
 * @param t  any dtype, any layout
 * @return   t; NULL with ADZ_ERR_NULL
 * @see      torch.nn.init.ones_
 */
ADZ_API adz_tensor *adz_init_ones_(adz_tensor *t);

/**
 * Draws evenly so that variances neither grow nor shrink, forward and backward.
 *
 *     U(-b, b), b = gain sqrt(6 / (fan_in + fan_out))
 *
 * @param t          f32 or f64, rank >= 2, any layout
 * @param gain       a factor (PyTorch's default: 1), for example from adz_calculate_gain
 * @param generator  NULL for the default one
 * @return           t; NULL with ADZ_ERR_NULL, ADZ_ERR_DTYPE, ADZ_ERR_SHAPE or ADZ_ERR_MEMORY
 * @see              torch.nn.init.xavier_uniform_
 */
ADZ_API adz_tensor *adz_init_xavier_uniform_(adz_tensor *t, double gain, adz_generator *generator);

/**
 * Draws normal numbers so that variances neither grow nor shrink, forward and backward.
 *
 *     N(0, s), s = gain sqrt(2 / (fan_in + fan_out))
 *
 * @param t          f32 or f64, rank >= 2, any layout
 * @param gain       a factor (PyTorch's default: 1), for example from adz_calculate_gain
 * @param generator  NULL for the default one
 * @return           t; NULL with ADZ_ERR_NULL, ADZ_ERR_DTYPE, ADZ_ERR_SHAPE or ADZ_ERR_MEMORY
 * @see              torch.nn.init.xavier_normal_
 */
ADZ_API adz_tensor *adz_init_xavier_normal_(adz_tensor *t, double gain, adz_generator *generator);

/**
 * Draws evenly for layers followed by a rectifier.
 *
 *     U(-b, b), b = gain sqrt(3 / fan)
 *
 * @param t             f32 or f64, rank >= 2, any layout
 * @param a             negative slope, for ADZ_NONLINEARITY_LEAKY_RELU (PyTorch's default: 0)
 * @param mode          which fan (PyTorch's default: ADZ_FAN_IN)
 * @param nonlinearity  gives the gain (PyTorch's default: ADZ_NONLINEARITY_LEAKY_RELU)
 * @param generator     NULL for the default one
 * @return              t; NULL with ADZ_ERR_NULL, ADZ_ERR_DTYPE, ADZ_ERR_SHAPE, ADZ_ERR_ARGUMENT or
 *                      ADZ_ERR_MEMORY
 * @see                 torch.nn.init.kaiming_uniform_
 */
ADZ_API adz_tensor *adz_init_kaiming_uniform_(
    adz_tensor *t, double a, adz_fan mode, adz_nonlinearity nonlinearity, adz_generator *generator);

/**
 * Draws normal numbers for layers followed by a rectifier.
 *
 *     N(0, s), s = gain / sqrt(fan)
 *
 * @param t             f32 or f64, rank >= 2, any layout
 * @param a             negative slope, for ADZ_NONLINEARITY_LEAKY_RELU (PyTorch's default: 0)
 * @param mode          which fan (PyTorch's default: ADZ_FAN_IN)
 * @param nonlinearity  gives the gain (PyTorch's default: ADZ_NONLINEARITY_LEAKY_RELU)
 * @param generator     NULL for the default one
 * @return              t; NULL with ADZ_ERR_NULL, ADZ_ERR_DTYPE, ADZ_ERR_SHAPE, ADZ_ERR_ARGUMENT or
 *                      ADZ_ERR_MEMORY
 * @see                 torch.nn.init.kaiming_normal_
 */
ADZ_API adz_tensor *adz_init_kaiming_normal_(
    adz_tensor *t, double a, adz_fan mode, adz_nonlinearity nonlinearity, adz_generator *generator);

/**
 * Draws a matrix whose shorter side is orthonormal; t[out, in, ...] counts as [out, in ...].
 *
 * @param t          f32 or f64, rank >= 2, any layout
 * @param gain       a factor (PyTorch's default: 1)
 * @param generator  NULL for the default one
 * @return           t; NULL with ADZ_ERR_NULL, ADZ_ERR_DTYPE, ADZ_ERR_SHAPE or ADZ_ERR_MEMORY
 * @see              torch.nn.init.orthogonal_
 */
ADZ_API adz_tensor *adz_init_orthogonal_(adz_tensor *t, double gain, adz_generator *generator);

#ifdef __cplusplus
}
#endif

#endif
