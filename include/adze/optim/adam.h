/**
 * @file adam.h
 * Adam and AdamW, Adamax and NAdam.
 */
#ifndef ADZE_OPTIM_ADAM_H
#define ADZE_OPTIM_ADAM_H

#include "adze/optim/optimizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of Adam. Start from ADZ_ADAM_OPTIONS. */
typedef struct adz_adam_options {
    size_t size;         /**< sizeof(adz_adam_options) */
    double beta1;        /**< part of the mean gradient that is kept, in [0, 1); 0.9 */
    double beta2;        /**< part of the mean squared gradient that is kept, in [0, 1); 0.999 */
    double eps;          /**< added to the root, 0 or more; 1e-8 */
    double weight_decay; /**< times the parameter, 0 or more; 0, for AdamW 0.01 */
    bool amsgrad;        /**< divide by the largest mean square so far; false */
    bool maximize;       /**< ascend; false */
} adz_adam_options;

/** The defaults of Adam. */
#define ADZ_ADAM_OPTIONS                                                                  \
    {                                                                                     \
        ADZ_MEMBER(size, sizeof(adz_adam_options)), ADZ_MEMBER(beta1, 0.9),               \
            ADZ_MEMBER(beta2, 0.999), ADZ_MEMBER(eps, 1e-8), ADZ_MEMBER(weight_decay, 0), \
            ADZ_MEMBER(amsgrad, false), ADZ_MEMBER(maximize, false)                       \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_adam_options) as the caller knows it
 */
ADZ_API void adz_adam_options_init(adz_adam_options *options, size_t size);

/**
 * Adam. Its settings are "lr", "beta1", "beta2", "eps", "weight_decay", "amsgrad" and "maximize";
 * it keeps "step", "exp_avg", "exp_avg_sq" and, with amsgrad, "max_exp_avg_sq".
 *
 *     g = (maximize ? -dw : dw) + weight_decay w
 *     m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2,  both 0 at first
 *     u = amsgrad ? the largest v so far : v
 *     w = w - lr (m / (1 - beta1^t)) / (sqrt(u / (1 - beta2^t)) + eps),  t = 1, 2, ...
 *
 * Squares are taken in the dtype, as in PyTorch: a gradient beyond 5e20 in f32 makes v infinite,
 * and its parameter stays where it is from then on. adz_clip_grad_norm prevents it.
 *
 * @param parameters  one or more contiguous f32 or f64 leaves, kept
 * @param lr          0 or more (PyTorch's default: 0.001)
 * @param options     NULL for the defaults
 * @return            yours, end it with adz_optimizer_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                    ADZ_ERR_MEMORY recorded
 * @see               torch.optim.Adam; Kingma and Ba, 2015; Reddi, Kale and Kumar, 2018 (amsgrad)
 */
ADZ_API adz_optimizer *adz_adam_new(
    adz_tensor_list parameters, double lr, const adz_adam_options *options);

/** Settings of AdamW, those of Adam. Start from ADZ_ADAMW_OPTIONS. */
typedef adz_adam_options adz_adamw_options;

/** The defaults of AdamW. */
#define ADZ_ADAMW_OPTIONS                                                                    \
    {                                                                                        \
        ADZ_MEMBER(size, sizeof(adz_adamw_options)), ADZ_MEMBER(beta1, 0.9),                 \
            ADZ_MEMBER(beta2, 0.999), ADZ_MEMBER(eps, 1e-8), ADZ_MEMBER(weight_decay, 0.01), \
            ADZ_MEMBER(amsgrad, false), ADZ_MEMBER(maximize, false)                          \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_adamw_options) as the caller knows it
 */
ADZ_API void adz_adamw_options_init(adz_adamw_options *options, size_t size);

/**
 * Adam whose weight decay does not pass through the moments. It has the settings and the state of
 * adz_adam_new.
 *
 *     w = (1 - lr weight_decay) w, then a step of Adam without weight decay
 *
 * @param parameters  one or more contiguous f32 or f64 leaves, kept
 * @param lr          0 or more (PyTorch's default: 0.001)
 * @param options     NULL for the defaults
 * @return            yours, end it with adz_optimizer_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                    ADZ_ERR_MEMORY recorded
 * @see               torch.optim.AdamW; Loshchilov and Hutter, 2019
 */
ADZ_API adz_optimizer *adz_adamw_new(
    adz_tensor_list parameters, double lr, const adz_adamw_options *options);

/** Settings of Adamax. Start from ADZ_ADAMAX_OPTIONS. */
typedef struct adz_adamax_options {
    size_t size;         /**< sizeof(adz_adamax_options) */
    double beta1;        /**< part of the mean gradient that is kept, in [0, 1); 0.9 */
    double beta2;        /**< part of the largest gradient that is kept, in [0, 1); 0.999 */
    double eps;          /**< added to the absolute gradient, 0 or more; 1e-8 */
    double weight_decay; /**< times the parameter, joins the gradient, 0 or more; 0 */
    bool maximize;       /**< ascend; false */
} adz_adamax_options;

/** The defaults. */
#define ADZ_ADAMAX_OPTIONS                                                                \
    {                                                                                     \
        ADZ_MEMBER(size, sizeof(adz_adamax_options)), ADZ_MEMBER(beta1, 0.9),             \
            ADZ_MEMBER(beta2, 0.999), ADZ_MEMBER(eps, 1e-8), ADZ_MEMBER(weight_decay, 0), \
            ADZ_MEMBER(maximize, false)                                                   \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_adamax_options) as the caller knows it
 */
ADZ_API void adz_adamax_options_init(adz_adamax_options *options, size_t size);

/**
 * Adam with the largest gradient so far, which fades, instead of the mean square. Its settings are
 * "lr", "beta1", "beta2", "eps", "weight_decay" and "maximize"; it keeps "step", "exp_avg" and
 * "exp_inf".
 *
 *     g = (maximize ? -dw : dw) + weight_decay w
 *     m = beta1 m + (1 - beta1) g,  u = max(beta2 u, |g| + eps),  both 0 at first
 *     w = w - lr / (1 - beta1^t) m / u,  t = 1, 2, ...
 *
 * @param parameters  one or more contiguous f32 or f64 leaves, kept
 * @param lr          0 or more (PyTorch's default: 0.002)
 * @param options     NULL for the defaults
 * @return            yours, end it with adz_optimizer_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                    ADZ_ERR_MEMORY recorded
 * @see               torch.optim.Adamax; Kingma and Ba, 2015
 */
ADZ_API adz_optimizer *adz_adamax_new(
    adz_tensor_list parameters, double lr, const adz_adamax_options *options);

/** Settings of NAdam. Start from ADZ_NADAM_OPTIONS. */
typedef struct adz_nadam_options {
    size_t size;           /**< sizeof(adz_nadam_options) */
    double beta1;          /**< part of the mean gradient that is kept, in [0, 1); 0.9 */
    double beta2;          /**< part of the mean squared gradient that is kept, in [0, 1); 0.999 */
    double eps;            /**< added to the root, 0 or more; 1e-8 */
    double weight_decay;   /**< times the parameter, 0 or more; 0 */
    double momentum_decay; /**< how fast mu grows, 0 or more; 4e-3 */
    bool decoupled_weight_decay; /**< as in AdamW; false */
    bool maximize;               /**< ascend; false */
} adz_nadam_options;

/** The defaults. */
#define ADZ_NADAM_OPTIONS                                                                 \
    {                                                                                     \
        ADZ_MEMBER(size, sizeof(adz_nadam_options)), ADZ_MEMBER(beta1, 0.9),              \
            ADZ_MEMBER(beta2, 0.999), ADZ_MEMBER(eps, 1e-8), ADZ_MEMBER(weight_decay, 0), \
            ADZ_MEMBER(momentum_decay, 4e-3), ADZ_MEMBER(decoupled_weight_decay, false),  \
            ADZ_MEMBER(maximize, false)                                                   \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_nadam_options) as the caller knows it
 */
ADZ_API void adz_nadam_options_init(adz_nadam_options *options, size_t size);

/**
 * Adam with Nesterov's momentum. Its settings are "lr", "beta1", "beta2", "eps", "weight_decay",
 * "momentum_decay", "decoupled_weight_decay" and "maximize"; it keeps "step", "mu_product", which
 * is one number, "exp_avg" and "exp_avg_sq".
 *
 *     w = (1 - lr weight_decay) w with decoupled_weight_decay
 *     g = (maximize ? -dw : dw) + weight_decay w, the last term without decoupled_weight_decay
 *     m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2,  both 0 at first
 *     mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2),  p = mu_1 ... mu_t,  t = 1, 2, ...
 *     a = (1 - mu_t) g / (1 - p) + mu_(t+1) m / (1 - p mu_(t+1))
 *     w = w - lr a / (sqrt(v / (1 - beta2^t)) + eps)
 *
 * @param parameters  one or more contiguous f32 or f64 leaves, kept
 * @param lr          0 or more (PyTorch's default: 0.002)
 * @param options     NULL for the defaults
 * @return            yours, end it with adz_optimizer_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                    ADZ_ERR_MEMORY recorded
 * @see               torch.optim.NAdam; Dozat, 2016
 */
ADZ_API adz_optimizer *adz_nadam_new(
    adz_tensor_list parameters, double lr, const adz_nadam_options *options);

#ifdef __cplusplus
}
#endif

#endif
