/**
 * @file sgd.h
 * Stochastic gradient descent, ASGD and Muon.
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

/** Settings of ASGD. Start from ADZ_ASGD_OPTIONS. */
typedef struct adz_asgd_options {
    size_t size;         /**< sizeof(adz_asgd_options) */
    double lambd;        /**< decay of the parameter and of the rate, 0 or more; 1e-4 */
    double alpha;        /**< power of the falling rate, 0 or more; 0.75 */
    double t0;           /**< step after which averaging begins, finite; 1e6 */
    double weight_decay; /**< times the parameter, joins the gradient, 0 or more; 0 */
    bool maximize;       /**< ascend; false */
} adz_asgd_options;

/** The defaults. */
#define ADZ_ASGD_OPTIONS                                                               \
    {                                                                                  \
        ADZ_MEMBER(size, sizeof(adz_asgd_options)), ADZ_MEMBER(lambd, 1e-4),           \
            ADZ_MEMBER(alpha, 0.75), ADZ_MEMBER(t0, 1e6), ADZ_MEMBER(weight_decay, 0), \
            ADZ_MEMBER(maximize, false)                                                \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_asgd_options) as the caller knows it
 */
ADZ_API void adz_asgd_options_init(adz_asgd_options *options, size_t size);

/**
 * Averaged stochastic gradient descent. Its settings are "lr", "lambd", "alpha", "t0",
 * "weight_decay" and "maximize". It keeps "step", the numbers "eta" and "mu", and "ax", the
 * averaged parameter, which checkpoints contain.
 *
 *     g = (maximize ? -dw : dw) + weight_decay w
 *     w = (1 - lambd eta) w - eta g,  ax = mu is 1 ? w : ax + mu (w - ax)
 *     eta = lr / (1 + lambd lr t)^alpha,  mu = 1 / max(1, t - t0),  t = 1, 2, ...
 *
 * At first eta is lr, mu is 1 and ax is 0. In C that an export writes, the first eta is the lr at
 * the export.
 *
 * @param parameters  one or more contiguous f32 or f64 leaves, kept
 * @param lr          0 or more (PyTorch's default: 0.01)
 * @param options     NULL for the defaults
 * @return            yours, end it with adz_optimizer_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                    ADZ_ERR_MEMORY recorded
 * @see               torch.optim.ASGD; Polyak and Juditsky, 1992
 */
ADZ_API adz_optimizer *adz_asgd_new(
    adz_tensor_list parameters, double lr, const adz_asgd_options *options);

/** How Muon adapts its rate to a matrix [N, D]. */
typedef enum adz_adjust_lr {
    ADZ_ADJUST_LR_ORIGINAL,          /**< times sqrt(max(1, N / D)) */
    ADZ_ADJUST_LR_MATCH_RMS_ADAMW,   /**< times 0.2 sqrt(max(N, D)), so that rates of AdamW suit */
    ADZ_ADJUST_LR_SPECTRAL_UNCLAMPED /**< times sqrt(N / D) */
} adz_adjust_lr;

/** Settings of Muon. Start from ADZ_MUON_OPTIONS. */
typedef struct adz_muon_options {
    size_t size;                /**< sizeof(adz_muon_options) */
    double weight_decay;        /**< as in AdamW, 0 or more; 0.1 */
    double momentum;            /**< part of the mean gradient that is kept, 0 or more; 0.95 */
    bool nesterov;              /**< Nesterov's momentum; true */
    double ns_a;                /**< first coefficient of the iteration, finite; 3.4445 */
    double ns_b;                /**< second coefficient, finite; -4.775 */
    double ns_c;                /**< third coefficient, finite; 2.0315 */
    double eps;                 /**< least norm by which the matrix is divided, 0 or more; 1e-7 */
    int ns_steps;               /**< iterations, 0 to 99; 5 */
    adz_adjust_lr adjust_lr_fn; /**< ADZ_ADJUST_LR_ORIGINAL */
} adz_muon_options;

/** The defaults. */
#define ADZ_MUON_OPTIONS                                                                      \
    {                                                                                         \
        ADZ_MEMBER(size, sizeof(adz_muon_options)), ADZ_MEMBER(weight_decay, 0.1),            \
            ADZ_MEMBER(momentum, 0.95), ADZ_MEMBER(nesterov, true), ADZ_MEMBER(ns_a, 3.4445), \
            ADZ_MEMBER(ns_b, -4.775), ADZ_MEMBER(ns_c, 2.0315), ADZ_MEMBER(eps, 1e-7),        \
            ADZ_MEMBER(ns_steps, 5), ADZ_MEMBER(adjust_lr_fn, ADZ_ADJUST_LR_ORIGINAL)         \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_muon_options) as the caller knows it
 */
ADZ_API void adz_muon_options_init(adz_muon_options *options, size_t size);

/**
 * Momentum whose step of a matrix is made nearly orthogonal by Newton-Schulz iterations. It is for
 * the hidden layers of a network; train biases, norms, embeddings and the head by AdamW. Its
 * settings are "lr", "weight_decay", "momentum", "nesterov", "ns_a", "ns_b", "ns_c", "eps",
 * "ns_steps" and "adjust_lr_fn"; it keeps "momentum_buffer". PyTorch's `ns_coefficients` are ns_a,
 * ns_b and ns_c.
 *
 *     m = momentum m + (1 - momentum) dw,  0 at first
 *     u = nesterov ? momentum m + (1 - momentum) dw : m,  the transpose if it has more rows
 *     X = u / max(|u|, eps), and ns_steps times  A = X X^T,  X = ns_a X + (ns_b A + ns_c A A) X
 *     w = (1 - lr weight_decay) w - f lr X,  with the factor f of adjust_lr_fn
 *
 * The iterations are computed in the dtype of the parameter. PyTorch computes them in bfloat16,
 * whose rounding changes X by about 1%. An update depends on the whole parameter, so ranks cannot
 * divide the state.
 *
 * @param parameters  one or more contiguous f32 or f64 leaves [N, D], kept
 * @param lr          0 or more (PyTorch's default: 0.001)
 * @param options     NULL for the defaults
 * @return            yours, end it with adz_optimizer_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                    ADZ_ERR_MEMORY recorded
 * @see               torch.optim.Muon; Jordan et al., 2024
 */
ADZ_API adz_optimizer *adz_muon_new(
    adz_tensor_list parameters, double lr, const adz_muon_options *options);

#ifdef __cplusplus
}
#endif

#endif
