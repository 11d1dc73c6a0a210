/**
 * @file sgd.h
 * Stochastic gradient descent.
 */
#ifndef ADZE_OPTIM_SGD_H
#define ADZE_OPTIM_SGD_H

#include "adze/optim/optimizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of stochastic gradient descent. Start from ADZ_SGD_OPTIONS. */
typedef struct adz_sgd_options {
    size_t size;         /**< sizeof(adz_sgd_options) */
    double momentum;     /**< part of the last step's direction that is kept, 0 or more; 0 */
    double dampening;    /**< part of the gradient that stays out of the momentum; 0 */
    double weight_decay; /**< times the parameter, joins the gradient, 0 or more; 0 */
    bool nesterov;       /**< look ahead along the momentum; needs momentum, no dampening; false */
    bool maximize;       /**< ascend; false */
} adz_sgd_options;

/** The defaults. */
#define ADZ_SGD_OPTIONS                                                                         \
    {                                                                                           \
        ADZ_MEMBER(size, sizeof(adz_sgd_options)), ADZ_MEMBER(momentum, 0),                     \
            ADZ_MEMBER(dampening, 0), ADZ_MEMBER(weight_decay, 0), ADZ_MEMBER(nesterov, false), \
            ADZ_MEMBER(maximize, false)                                                         \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_sgd_options) as the caller knows it
 */
ADZ_API void adz_sgd_options_init(adz_sgd_options *options, size_t size);

/**
 * Stochastic gradient descent. Its settings are "lr", "momentum", "dampening", "weight_decay",
 * "nesterov" and "maximize"; with momentum it keeps the state "momentum_buffer".
 *
 *     g = (maximize ? -dw : dw) + weight_decay w
 *     m = momentum m + (1 - dampening) g,  at first m = g
 *     w = w - lr (nesterov ? g + momentum m : m)
 *
 * @param parameters  one or more contiguous f32 or f64 leaves, kept
 * @param lr          0 or more
 * @param options     NULL for the defaults
 * @return            yours, end it with adz_optimizer_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                    ADZ_ERR_MEMORY recorded
 * @see               torch.optim.SGD
 */
ADZ_API adz_optimizer *adz_sgd_new(
    adz_tensor_list parameters, double lr, const adz_sgd_options *options);

#ifdef __cplusplus
}
#endif

#endif
