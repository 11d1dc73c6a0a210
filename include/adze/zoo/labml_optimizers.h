/**
 * @file labml_optimizers.h
 * The annotated library's Adam and what derives from it there: AMSGrad, warm-up with or without a
 * cosine after it, Noam, RAdam, AdaBelief.
 *
 * They differ from PyTorch's in where epsilon stands and in how weight decay is configured:
 * decoupled it multiplies by 1 - lr weight_decay, with the group's own rate even under a warm-up,
 * or by 1 - weight_decay when absolute; else it joins the gradient. The defaults of epsilon differ
 * too.
 */
#ifndef ADZE_ZOO_LABML_OPTIMIZERS_H
#define ADZE_ZOO_LABML_OPTIMIZERS_H

#include "adze/optim/optimizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of the annotated Adam. Start from ADZ_LABML_ADAM_OPTIONS. */
typedef struct adz_labml_adam_options {
    size_t size;           /**< sizeof(adz_labml_adam_options) */
    double beta1;          /**< part of the mean gradient that is kept, in [0, 1); 0.9 */
    double beta2;          /**< part of the mean square that is kept, in [0, 1); 0.999 */
    double eps;            /**< added to the root, 0 or more; 1e-16 */
    double weight_decay;   /**< 0 or more; 0 */
    bool weight_decouple;  /**< decay the parameter itself, not through the gradient; true */
    bool absolute;         /**< then by weight_decay rather than lr weight_decay; false */
    bool optimized_update; /**< epsilon joins the uncorrected root; true */
} adz_labml_adam_options;

/** The defaults. */
#define ADZ_LABML_ADAM_OPTIONS                                                             \
    {                                                                                      \
        ADZ_MEMBER(size, sizeof(adz_labml_adam_options)), ADZ_MEMBER(beta1, 0.9),          \
            ADZ_MEMBER(beta2, 0.999), ADZ_MEMBER(eps, 1e-16), ADZ_MEMBER(weight_decay, 0), \
            ADZ_MEMBER(weight_decouple, true), ADZ_MEMBER(absolute, false),                \
            ADZ_MEMBER(optimized_update, true)                                             \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_labml_adam_options) as the caller knows it
 */
ADZ_API void adz_labml_adam_options_init(adz_labml_adam_options *options, size_t size);

/**
 * The annotated Adam. Its settings are "lr", "beta1", "beta2", "eps", "weight_decay",
 * "weight_decouple", "absolute" and "optimized_update"; it keeps "step", "exp_avg" and
 * "exp_avg_sq".
 *
 *     m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2,  g the gradient of w
 *     c1 = 1 - beta1^t,  c2 = 1 - beta2^t
 *     w = w - (lr sqrt(c2) / c1) m / (sqrt(v) + eps)     with optimized_update
 *     w = w - (lr / c1) m / (sqrt(v / c2) + eps)         without
 *
 * @param parameters  one or more contiguous f32 or f64 leaves, kept
 * @param lr          0 or more (the library's default: 0.001)
 * @param options     NULL for the defaults
 * @return            yours, end it with adz_optimizer_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                    ADZ_ERR_MEMORY recorded
 * @see               labml_nn.optimizers.adam
 */
ADZ_API adz_optimizer *adz_labml_adam_new(
    adz_tensor_list parameters, double lr, const adz_labml_adam_options *options);

/** Settings of the annotated AMSGrad, warm-ups and Noam. Start from ADZ_LABML_AMSGRAD_OPTIONS or
 * ADZ_LABML_WARMUP_OPTIONS. */
typedef struct adz_labml_amsgrad_options {
    size_t size;           /**< sizeof(adz_labml_amsgrad_options) */
    double beta1;          /**< part of the mean gradient that is kept, in [0, 1); 0.9 */
    double beta2;          /**< part of the mean square that is kept, in [0, 1); 0.999 */
    double eps;            /**< added to the root, 0 or more; 1e-16 */
    double weight_decay;   /**< 0 or more; 0 */
    bool weight_decouple;  /**< decay the parameter itself, not through the gradient; true */
    bool absolute;         /**< then by weight_decay rather than lr weight_decay; false */
    bool optimized_update; /**< epsilon joins the uncorrected root; true */
    bool amsgrad;          /**< divide by the largest mean square so far; true for AMSGrad, false
                               for the others */
} adz_labml_amsgrad_options;

/** The defaults of AMSGrad. */
#define ADZ_LABML_AMSGRAD_OPTIONS                                                          \
    {                                                                                      \
        ADZ_MEMBER(size, sizeof(adz_labml_amsgrad_options)), ADZ_MEMBER(beta1, 0.9),       \
            ADZ_MEMBER(beta2, 0.999), ADZ_MEMBER(eps, 1e-16), ADZ_MEMBER(weight_decay, 0), \
            ADZ_MEMBER(weight_decouple, true), ADZ_MEMBER(absolute, false),                \
            ADZ_MEMBER(optimized_update, true), ADZ_MEMBER(amsgrad, true)                  \
    }

/** The defaults of AdamWarmup, AdamWarmupCosineDecay and Noam. */
#define ADZ_LABML_WARMUP_OPTIONS                                                           \
    {                                                                                      \
        ADZ_MEMBER(size, sizeof(adz_labml_amsgrad_options)), ADZ_MEMBER(beta1, 0.9),       \
            ADZ_MEMBER(beta2, 0.999), ADZ_MEMBER(eps, 1e-16), ADZ_MEMBER(weight_decay, 0), \
            ADZ_MEMBER(weight_decouple, true), ADZ_MEMBER(absolute, false),                \
            ADZ_MEMBER(optimized_update, true), ADZ_MEMBER(amsgrad, false)                 \
    }

/**
 * Fills options with the defaults of AMSGrad; set amsgrad to false for those of the others.
 *
 * @param options  filled
 * @param size     sizeof(adz_labml_amsgrad_options) as the caller knows it
 */
ADZ_API void adz_labml_amsgrad_options_init(adz_labml_amsgrad_options *options, size_t size);

/**
 * The annotated AMSGrad: adz_labml_adam_new with the largest v so far instead of v, which it
 * keeps as "max_exp_avg_sq". One more setting, "amsgrad".
 *
 * @param parameters  one or more contiguous f32 or f64 leaves, kept
 * @param lr          0 or more (the library's default: 0.001)
 * @param options     NULL for the defaults
 * @return            yours, end it with adz_optimizer_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                    ADZ_ERR_MEMORY recorded
 * @see               labml_nn.optimizers.amsgrad
 */
ADZ_API adz_optimizer *adz_labml_amsgrad_new(
    adz_tensor_list parameters, double lr, const adz_labml_amsgrad_options *options);

/**
 * The annotated Adam with a rate that rises over the first steps, computed by
 * adz_labml_adam_warmup_rate. It has the settings of adz_labml_amsgrad_new and "warmup".
 *
 * @param parameters  one or more contiguous f32 or f64 leaves, kept
 * @param lr          0 or more (the library's default: 0.001)
 * @param warmup      steps until lr is reached, 0 or more (the library's default: 0)
 * @param options     NULL for ADZ_LABML_WARMUP_OPTIONS
 * @return            yours, end it with adz_optimizer_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                    ADZ_ERR_MEMORY recorded
 * @see               labml_nn.optimizers.adam_warmup
 */
ADZ_API adz_optimizer *adz_labml_adam_warmup_new(
    adz_tensor_list parameters, double lr, double warmup, const adz_labml_amsgrad_options *options);

/**
 * The annotated Adam with a rate that rises over the first steps and then falls along half a
 * cosine, computed by adz_labml_adam_warmup_cosine_decay_rate. It has the settings of
 * adz_labml_amsgrad_new, "warmup" and "total_steps".
 *
 * @param parameters   one or more contiguous f32 or f64 leaves, kept
 * @param lr           0 or more (the library's default: 0.001)
 * @param warmup       steps until lr is reached, 0 or more (the library's default: 0)
 * @param total_steps  steps until the cosine is at its lowest, 0 or more (the library's default:
 *                     1e10)
 * @param options      NULL for ADZ_LABML_WARMUP_OPTIONS
 * @return             yours, end it with adz_optimizer_release; NULL with ADZ_ERR_NULL,
 *                     ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                     ADZ_ERR_MEMORY recorded
 * @see                labml_nn.optimizers.adam_warmup_cosine_decay
 */
ADZ_API adz_optimizer *adz_labml_adam_warmup_cosine_decay_new(adz_tensor_list parameters, double lr,
    double warmup, double total_steps, const adz_labml_amsgrad_options *options);

/**
 * The annotated Noam: Adam with the rate of the Transformer's paper, computed by
 * adz_labml_noam_rate. It has the settings of adz_labml_amsgrad_new, "warmup" and "d_model".
 *
 * @param parameters  one or more contiguous f32 or f64 leaves, kept
 * @param lr          0 or more (the library's default: 0.001)
 * @param warmup      steps until the rate is largest, above 0
 * @param d_model     the model's width, above 0 (the library's default: 512)
 * @param options     NULL for ADZ_LABML_WARMUP_OPTIONS
 * @return            yours, end it with adz_optimizer_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                    ADZ_ERR_MEMORY recorded
 * @see               labml_nn.optimizers.noam; Vaswani et al., 2017
 */
ADZ_API adz_optimizer *adz_labml_noam_new(adz_tensor_list parameters, double lr, double warmup,
    double d_model, const adz_labml_amsgrad_options *options);

/** Settings of the annotated RAdam. Start from ADZ_LABML_RADAM_OPTIONS. */
typedef struct adz_labml_radam_options {
    size_t size;             /**< sizeof(adz_labml_radam_options) */
    double beta1;            /**< part of the mean gradient that is kept, in [0, 1); 0.9 */
    double beta2;            /**< part of the mean square that is kept, in [0, 1); 0.999 */
    double eps;              /**< added to the root, 0 or more; 1e-8 */
    double weight_decay;     /**< 0 or more; 0 */
    bool weight_decouple;    /**< decay the parameter itself, not through the gradient; true */
    bool absolute;           /**< then by weight_decay rather than lr weight_decay; false */
    bool optimized_update;   /**< epsilon joins the uncorrected root; true */
    bool amsgrad;            /**< divide by the largest mean square so far; false */
    bool degenerated_to_sgd; /**< while nothing can be rectified, step along the mean gradient
                                rather than not at all; true */
} adz_labml_radam_options;

/** The defaults. */
#define ADZ_LABML_RADAM_OPTIONS                                                           \
    {                                                                                     \
        ADZ_MEMBER(size, sizeof(adz_labml_radam_options)), ADZ_MEMBER(beta1, 0.9),        \
            ADZ_MEMBER(beta2, 0.999), ADZ_MEMBER(eps, 1e-8), ADZ_MEMBER(weight_decay, 0), \
            ADZ_MEMBER(weight_decouple, true), ADZ_MEMBER(absolute, false),               \
            ADZ_MEMBER(optimized_update, true), ADZ_MEMBER(amsgrad, false),               \
            ADZ_MEMBER(degenerated_to_sgd, true)                                          \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_labml_radam_options) as the caller knows it
 */
ADZ_API void adz_labml_radam_options_init(adz_labml_radam_options *options, size_t size);

/**
 * The annotated rectified Adam. It differs from adz_radam_new in two points: it rectifies from
 * rho >= 5 on, and optimized_update decides where epsilon is added. It has the settings of
 * adz_labml_adam_new, "amsgrad" and "degenerated_to_sgd".
 *
 * @param parameters  one or more contiguous f32 or f64 leaves, kept
 * @param lr          0 or more (the library's default: 0.001)
 * @param options     NULL for the defaults
 * @return            yours, end it with adz_optimizer_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                    ADZ_ERR_MEMORY recorded
 * @see               labml_nn.optimizers.radam
 */
ADZ_API adz_optimizer *adz_labml_radam_new(
    adz_tensor_list parameters, double lr, const adz_labml_radam_options *options);

/** Settings of the annotated AdaBelief. Start from ADZ_LABML_ADA_BELIEF_OPTIONS. */
typedef struct adz_labml_ada_belief_options {
    size_t size;            /**< sizeof(adz_labml_ada_belief_options) */
    double beta1;           /**< part of the mean gradient that is kept, in [0, 1); 0.9 */
    double beta2;           /**< part of the variance that is kept, in [0, 1); 0.999 */
    double eps;             /**< added to the variance and to its root, 0 or more; 1e-16 */
    double weight_decay;    /**< 0 or more; 0 */
    bool weight_decouple;   /**< decay the parameter itself, not through the gradient; true */
    bool absolute;          /**< then by weight_decay rather than lr weight_decay; false */
    bool optimized_update;  /**< epsilon joins the uncorrected root; false, as this class leaves
                                 it in the library */
    bool amsgrad;           /**< divide by the largest variance so far; false */
    bool degenerate_to_sgd; /**< while nothing can be rectified, step along the mean gradient
                                 rather than not at all; true */
    bool rectify;           /**< step as RAdam does rather than as Adam does; true */
} adz_labml_ada_belief_options;

/** The defaults. */
#define ADZ_LABML_ADA_BELIEF_OPTIONS                                                       \
    {                                                                                      \
        ADZ_MEMBER(size, sizeof(adz_labml_ada_belief_options)), ADZ_MEMBER(beta1, 0.9),    \
            ADZ_MEMBER(beta2, 0.999), ADZ_MEMBER(eps, 1e-16), ADZ_MEMBER(weight_decay, 0), \
            ADZ_MEMBER(weight_decouple, true), ADZ_MEMBER(absolute, false),                \
            ADZ_MEMBER(optimized_update, false), ADZ_MEMBER(amsgrad, false),               \
            ADZ_MEMBER(degenerate_to_sgd, true), ADZ_MEMBER(rectify, true)                 \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_labml_ada_belief_options) as the caller knows it
 */
ADZ_API void adz_labml_ada_belief_options_init(adz_labml_ada_belief_options *options, size_t size);

/**
 * The annotated AdaBelief: adz_labml_radam_new, or adz_labml_adam_new without rectify, over the
 * variance of the gradient around its mean instead of its mean square. It keeps "step",
 * "exp_avg" (m), "exp_avg_var" (s) and, with amsgrad, "max_exp_avg_var". The settings are RAdam's
 * with "degenerate_to_sgd" so spelled, and "rectify".
 *
 *     m = beta1 m + (1 - beta1) g,  s = beta2 s + (1 - beta2) (g - m)^2,  v = s + eps
 *
 * The options do what their names say. The library, as it stands, hands its own to RAdam one
 * argument too early: its defaults run with amsgrad true and degenerate_to_sgd false.
 *
 * @param parameters  one or more contiguous f32 or f64 leaves, kept
 * @param lr          0 or more (the library's default: 0.001)
 * @param options     NULL for the defaults
 * @return            yours, end it with adz_optimizer_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                    ADZ_ERR_MEMORY recorded
 * @see               labml_nn.optimizers.ada_belief; Zhuang et al., 2020
 */
ADZ_API adz_optimizer *adz_labml_ada_belief_new(
    adz_tensor_list parameters, double lr, const adz_labml_ada_belief_options *options);

/**
 * Noam's rate at one step, for schedules of one's own.
 *
 *     lr d_model^-1/2 min(step^-1/2, step warmup^-3/2)
 *
 * @param lr       the factor in front
 * @param warmup   above 0
 * @param d_model  above 0
 * @param step     1 for the first step
 * @return         the rate
 */
ADZ_API double adz_labml_noam_rate(double lr, double warmup, double d_model, int64_t step);

/**
 * The rate of a linear warm-up at one step.
 *
 *     step < warmup ? 1e-8 + step lr / warmup : lr
 *
 * @param lr      the rate at the end
 * @param warmup  steps, 0 or more
 * @param step    1 for the first step
 * @return        the rate
 */
ADZ_API double adz_labml_adam_warmup_rate(double lr, double warmup, int64_t step);

/**
 * The rate of a linear warm-up and half a cosine after it, never below a tenth of lr. Past
 * total_steps it follows the cosine up again, as the library's does.
 *
 *     p = (step - warmup) / max(1, total_steps - warmup)
 *     step < warmup ? 1e-8 + step lr / warmup : lr max(0.1, (1 + cos(pi p)) / 2)
 *
 * @param lr           the rate between the two
 * @param warmup       steps, 0 or more
 * @param total_steps  steps until the cosine is at its lowest, those of the warm-up among them
 * @param step         1 for the first step
 * @return             the rate
 */
ADZ_API double adz_labml_adam_warmup_cosine_decay_rate(
    double lr, double warmup, double total_steps, int64_t step);

#ifdef __cplusplus
}
#endif

#endif
