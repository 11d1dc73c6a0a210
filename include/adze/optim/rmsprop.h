/**
 * @file rmsprop.h
 * RMSprop and Rprop.
 */
#ifndef ADZE_OPTIM_RMSPROP_H
#define ADZE_OPTIM_RMSPROP_H

#include "adze/optim/optimizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of RMSprop. Start from ADZ_RMSPROP_OPTIONS. */
typedef struct adz_rmsprop_options {
    size_t size;         /**< sizeof(adz_rmsprop_options) */
    double alpha;        /**< part of the mean square that is kept, 0 or more; 0.99 */
    double eps;          /**< added to the root, 0 or more; 1e-8 */
    double weight_decay; /**< times the parameter, joins the gradient, 0 or more; 0 */
    double momentum;     /**< part of the last step's direction that is kept, 0 or more; 0 */
    bool centered;       /**< divide by the deviation instead of the root mean square; false */
    bool maximize;       /**< ascend; false */
} adz_rmsprop_options;

/** The defaults. */
#define ADZ_RMSPROP_OPTIONS                                                              \
    {                                                                                    \
        ADZ_MEMBER(size, sizeof(adz_rmsprop_options)), ADZ_MEMBER(alpha, 0.99),          \
            ADZ_MEMBER(eps, 1e-8), ADZ_MEMBER(weight_decay, 0), ADZ_MEMBER(momentum, 0), \
            ADZ_MEMBER(centered, false), ADZ_MEMBER(maximize, false)                     \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_rmsprop_options) as the caller knows it
 */
ADZ_API void adz_rmsprop_options_init(adz_rmsprop_options *options, size_t size);

/**
 * Gradient descent divided by a running root mean square. Its settings are "lr", "alpha", "eps",
 * "weight_decay", "momentum", "centered" and "maximize"; it keeps "step", "square_avg", with
 * momentum "momentum_buffer", and centered "grad_avg".
 *
 *     g = (maximize ? -dw : dw) + weight_decay w
 *     v = alpha v + (1 - alpha) g^2,  a = alpha a + (1 - alpha) g
 *     d = g / (sqrt(centered ? v - a^2 : v) + eps)
 *     m = momentum m + d,  w = w - lr m
 *
 * Squares are taken in the dtype, as in PyTorch: a gradient beyond 1.8e20 in f32 makes v infinite,
 * and its parameter stays where it is from then on. adz_clip_grad_norm prevents it.
 *
 * @param parameters  one or more contiguous f32 or f64 leaves, kept
 * @param lr          0 or more (PyTorch's default: 0.01)
 * @param options     NULL for the defaults
 * @return            yours, end it with adz_optimizer_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                    ADZ_ERR_MEMORY recorded
 * @see               torch.optim.RMSprop
 */
ADZ_API adz_optimizer *adz_rmsprop_new(
    adz_tensor_list parameters, double lr, const adz_rmsprop_options *options);

/** Settings of Rprop. Start from ADZ_RPROP_OPTIONS. */
typedef struct adz_rprop_options {
    size_t size;          /**< sizeof(adz_rprop_options) */
    double etaminus;      /**< factor of a step whose gradient changes its sign, in (0, 1); 0.5 */
    double etaplus;       /**< factor of a step whose gradient keeps its sign, above 1; 1.2 */
    double step_size_min; /**< the smallest step, 0 or more; 1e-6 */
    double step_size_max; /**< the largest step, not below step_size_min; 50 */
    bool maximize;        /**< ascend; false */
} adz_rprop_options;

/** The defaults. */
#define ADZ_RPROP_OPTIONS                                                       \
    {                                                                           \
        ADZ_MEMBER(size, sizeof(adz_rprop_options)), ADZ_MEMBER(etaminus, 0.5), \
            ADZ_MEMBER(etaplus, 1.2), ADZ_MEMBER(step_size_min, 1e-6),          \
            ADZ_MEMBER(step_size_max, 50), ADZ_MEMBER(maximize, false)          \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_rprop_options) as the caller knows it
 */
ADZ_API void adz_rprop_options_init(adz_rprop_options *options, size_t size);

/**
 * Resilient backpropagation: steps whose size depends on the signs of the gradients only. It is for
 * gradients of all samples, because those of batches change their signs by chance. Its settings are
 * "lr", "etaminus", "etaplus", "step_size_min", "step_size_max" and "maximize"; it keeps "step",
 * "prev" and "step_size". PyTorch has the pairs `etas` and `step_sizes`, and takes a smallest step
 * above the largest one.
 *
 *     g = maximize ? -dw : dw,  q = g prev
 *     s = s (q > 0 ? etaplus : q < 0 ? etaminus : 1), brought into step_size_min .. step_size_max
 *     g = q < 0 ? 0 : g,  w = w - sign(g) s,  prev = g
 *
 * At first s is lr, and prev is 0. In C that an export writes, the first s is the lr at the export.
 * An element whose gradient is NaN stays where it is.
 *
 * @param parameters  one or more contiguous f32 or f64 leaves, kept
 * @param lr          0 or more (PyTorch's default: 0.01)
 * @param options     NULL for the defaults
 * @return            yours, end it with adz_optimizer_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                    ADZ_ERR_MEMORY recorded
 * @see               torch.optim.Rprop; Riedmiller and Braun, 1993
 */
ADZ_API adz_optimizer *adz_rprop_new(
    adz_tensor_list parameters, double lr, const adz_rprop_options *options);

#ifdef __cplusplus
}
#endif

#endif
