/**
 * @file adagrad.h
 * Adagrad.
 */
#ifndef ADZE_OPTIM_ADAGRAD_H
#define ADZE_OPTIM_ADAGRAD_H

#include "adze/optim/optimizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of Adagrad. Start from ADZ_ADAGRAD_OPTIONS. */
typedef struct adz_adagrad_options {
    size_t size;                      /**< sizeof(adz_adagrad_options) */
    double lr_decay;                  /**< how fast the rate falls, 0 or more; 0 */
    double eps;                       /**< added to the root, 0 or more; 1e-10 */
    double weight_decay;              /**< times the parameter, joins the gradient, 0 or more; 0 */
    double initial_accumulator_value; /**< what the sums start from, 0 or more; 0 */
    bool maximize;                    /**< ascend; false */
} adz_adagrad_options;

/** The defaults. */
#define ADZ_ADAGRAD_OPTIONS                                                       \
    {                                                                             \
        ADZ_MEMBER(size, sizeof(adz_adagrad_options)), ADZ_MEMBER(lr_decay, 0),   \
            ADZ_MEMBER(eps, 1e-10), ADZ_MEMBER(weight_decay, 0),                  \
            ADZ_MEMBER(initial_accumulator_value, 0), ADZ_MEMBER(maximize, false) \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_adagrad_options) as the caller knows it
 */
ADZ_API void adz_adagrad_options_init(adz_adagrad_options *options, size_t size);

/**
 * Gradient descent divided by the root of all squares so far. Its settings are "lr", "lr_decay",
 * "eps", "weight_decay", "initial_accumulator_value" and "maximize"; it keeps "step" and "sum".
 *
 *     g = (maximize ? -dw : dw) + weight_decay w
 *     s = s + g^2,  at first s = initial_accumulator_value
 *     w = w - lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps),  t = 1, 2, ...
 *
 * Squares are taken in the dtype, as in PyTorch: a gradient beyond 1.8e19 in f32 makes s infinite,
 * and its parameter stays where it is from then on. adz_clip_grad_norm prevents it.
 *
 * @param parameters  one or more contiguous f32 or f64 leaves, kept
 * @param lr          0 or more (PyTorch's default: 0.01)
 * @param options     NULL for the defaults
 * @return            yours, end it with adz_optimizer_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                    ADZ_ERR_MEMORY recorded
 * @see               torch.optim.Adagrad; Duchi, Hazan and Singer, 2011
 */
ADZ_API adz_optimizer *adz_adagrad_new(
    adz_tensor_list parameters, double lr, const adz_adagrad_options *options);

#ifdef __cplusplus
}
#endif

#endif
