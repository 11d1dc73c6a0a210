/**
 * @file adagrad.h
 * Adagrad, Adadelta and Adafactor.
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

/** Settings of Adadelta. Start from ADZ_ADADELTA_OPTIONS. */
typedef struct adz_adadelta_options {
    size_t size;         /**< sizeof(adz_adadelta_options) */
    double rho;          /**< part of the mean squares that is kept, 0 to 1; 0.9 */
    double eps;          /**< added under the roots, 0 or more; 1e-6 */
    double weight_decay; /**< times the parameter, joins the gradient, 0 or more; 0 */
    bool maximize;       /**< ascend; false */
} adz_adadelta_options;

/** The defaults. */
#define ADZ_ADADELTA_OPTIONS                                                                \
    {                                                                                       \
        ADZ_MEMBER(size, sizeof(adz_adadelta_options)), ADZ_MEMBER(rho, 0.9),               \
            ADZ_MEMBER(eps, 1e-6), ADZ_MEMBER(weight_decay, 0), ADZ_MEMBER(maximize, false) \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_adadelta_options) as the caller knows it
 */
ADZ_API void adz_adadelta_options_init(adz_adadelta_options *options, size_t size);

/**
 * Gradient descent whose rates follow from the sizes of gradients and steps so far. Its settings
 * are "lr", "rho", "eps", "weight_decay" and "maximize"; it keeps "step", "square_avg" and
 * "acc_delta".
 *
 *     g = (maximize ? -dw : dw) + weight_decay w
 *     v = rho v + (1 - rho) g^2,  0 at first
 *     d = sqrt(a + eps) / sqrt(v + eps) g
 *     a = rho a + (1 - rho) d^2,  0 at first
 *     w = w - lr d
 *
 * @param parameters  one or more contiguous f32 or f64 leaves, kept
 * @param lr          0 or more (PyTorch's default: 1)
 * @param options     NULL for the defaults
 * @return            yours, end it with adz_optimizer_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                    ADZ_ERR_MEMORY recorded
 * @see               torch.optim.Adadelta; Zeiler, 2012
 */
ADZ_API adz_optimizer *adz_adadelta_new(
    adz_tensor_list parameters, double lr, const adz_adadelta_options *options);

/** Settings of Adafactor. Start from ADZ_ADAFACTOR_OPTIONS. */
typedef struct adz_adafactor_options {
    size_t size;        /**< sizeof(adz_adafactor_options) */
    double beta2_decay; /**< part of the new variance is t to this power, 0 or less; -0.8 */
    double eps1; /**< least root of a variance, 0 or more; below 0, as is -1, the distance from 1 to
                    the next number of the dtype */
    double eps2; /**< least size of a parameter in the step, 0 or more; 1e-3 */
    double d;    /**< root mean square above which an update is shortened, 1 or more; 1 */
    double weight_decay; /**< as in AdamW, 0 or more; 0 */
    bool maximize;       /**< ascend; false */
} adz_adafactor_options;

/** The defaults. */
#define ADZ_ADAFACTOR_OPTIONS                                                           \
    {                                                                                   \
        ADZ_MEMBER(size, sizeof(adz_adafactor_options)), ADZ_MEMBER(beta2_decay, -0.8), \
            ADZ_MEMBER(eps1, -1), ADZ_MEMBER(eps2, 1e-3), ADZ_MEMBER(d, 1),             \
            ADZ_MEMBER(weight_decay, 0), ADZ_MEMBER(maximize, false)                    \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_adafactor_options) as the caller knows it
 */
ADZ_API void adz_adafactor_options_init(adz_adafactor_options *options, size_t size);

/**
 * Adam without momentum whose variances of a matrix take the memory of one row and one column. Its
 * settings are "lr", "beta2_decay", "eps1", "eps2", "d", "weight_decay" and "maximize". It keeps
 * "step" and, for parameters [..., N, D], "row_var" [..., N, 1] and "col_var" [..., 1, D], for
 * others "variance". PyTorch's pair `eps` is eps1 and eps2, and its None is an eps1 below 0.
 *
 *     g = maximize ? -dw : dw,  b = t^beta2_decay,  t = 1, 2, ...
 *     a = max(eps2, rms(w)) min(lr, 1 / sqrt(t)),  then w = (1 - lr weight_decay) w
 *     r = r + b (mean of each row of g^2 - r),  c = c + b (mean of each column of g^2 - c)
 *     v = r c / max(mean of r, eps1), or v = v + b (g^2 - v) for rank 0 and 1
 *     u = g / sqrt(max(v, eps1^2)),  w = w - a / max(1, rms(u) / d) u
 *
 * An update depends on the whole parameter, so ranks cannot divide the state.
 *
 * @param parameters  one or more contiguous f32 or f64 leaves, kept
 * @param lr          0 or more (PyTorch's default: 0.01)
 * @param options     NULL for the defaults
 * @return            yours, end it with adz_optimizer_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                    ADZ_ERR_MEMORY recorded
 * @see               torch.optim.Adafactor; Shazeer and Stern, 2018
 */
ADZ_API adz_optimizer *adz_adafactor_new(
    adz_tensor_list parameters, double lr, const adz_adafactor_options *options);

#ifdef __cplusplus
}
#endif

#endif
