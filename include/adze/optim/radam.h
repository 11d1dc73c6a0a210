/**
 * @file radam.h
 * Rectified Adam.
 */
#ifndef ADZE_OPTIM_RADAM_H
#define ADZE_OPTIM_RADAM_H

#include "adze/optim/optimizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of rectified Adam. Start from ADZ_RADAM_OPTIONS. */
typedef struct adz_radam_options {
    size_t size;                 /**< sizeof(adz_radam_options) */
    double beta1;                /**< part of the mean gradient that is kept, in [0, 1); 0.9 */
    double beta2;                /**< part of the mean square that is kept, in [0, 1); 0.999 */
    double eps;                  /**< added to the root, 0 or more; 1e-8 */
    double weight_decay;         /**< times the parameter, 0 or more; 0 */
    bool decoupled_weight_decay; /**< decay the parameter as AdamW does; false */
    bool maximize;               /**< ascend; false */
} adz_radam_options;

/** The defaults. */
#define ADZ_RADAM_OPTIONS                                                                 \
    {                                                                                     \
        ADZ_MEMBER(size, sizeof(adz_radam_options)), ADZ_MEMBER(beta1, 0.9),              \
            ADZ_MEMBER(beta2, 0.999), ADZ_MEMBER(eps, 1e-8), ADZ_MEMBER(weight_decay, 0), \
            ADZ_MEMBER(decoupled_weight_decay, false), ADZ_MEMBER(maximize, false)        \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_radam_options) as the caller knows it
 */
ADZ_API void adz_radam_options_init(adz_radam_options *options, size_t size);

/**
 * Adam with a step that is as long as the second moment is reliable. Its settings are "lr",
 * "beta1", "beta2", "eps", "weight_decay", "decoupled_weight_decay" and "maximize"; it keeps
 * "step", "exp_avg" and "exp_avg_sq". The annotated library's variant is adz_labml_radam_new.
 *
 *     m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2,  g the gradient of w
 *     a = lr m / (1 - beta1^t)
 *     last = 2 / (1 - beta2) - 1,  rho = last - 2 t beta2^t / (1 - beta2^t)
 *     r = sqrt((rho - 4) (rho - 2) last / ((last - 4) (last - 2) rho))
 *     w = w - (rho > 5 ? a r sqrt(1 - beta2^t) / (sqrt(v) + eps) : a)
 *
 * @param parameters  one or more contiguous f32 or f64 leaves, kept
 * @param lr          0 or more (PyTorch's default: 0.001)
 * @param options     NULL for the defaults
 * @return            yours, end it with adz_optimizer_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                    ADZ_ERR_MEMORY recorded
 * @see               torch.optim.RAdam; Liu et al., 2020
 */
ADZ_API adz_optimizer *adz_radam_new(
    adz_tensor_list parameters, double lr, const adz_radam_options *options);

#ifdef __cplusplus
}
#endif

#endif
