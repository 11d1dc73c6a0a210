/**
 * @file activation.h
 * Activation functions.
 */
#ifndef ADZE_OPS_ACTIVATION_H
#define ADZE_OPS_ACTIVATION_H

#include "adze/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Rectified linear unit.
 *
 *     y = max(x, 0)
 *
 * The gradient at exactly 0 is 0. NaN stays NaN.
 *
 * @param x  any shape, any dtype but f16, bf16 and bool
 * @return   y, shaped like x, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves y
 * @see      torch.nn.functional.relu
 */
ADZ_API adz_tensor *adz_relu(adz_tensor *x);

/**
 * Rectified linear unit, in place.
 *
 *     x = max(x, 0)
 *
 * The gradient at exactly 0 is 0. NaN stays NaN.
 *
 * @param x  any shape, any dtype but f16, bf16 and bool
 * @return   x, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_INPLACE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves the result
 * @see      torch.relu_
 */
ADZ_API adz_tensor *adz_relu_(adz_tensor *x);

/** The formula by which adz_gelu is computed. */
typedef enum adz_gelu_approximate {
    ADZ_GELU_NONE = 0, /**< x Phi(x), with erf */
    ADZ_GELU_TANH = 1  /**< with tanh, as in GPT-2 */
} adz_gelu_approximate;

/**
 * Gaussian error linear unit.
 *
 *     ADZ_GELU_NONE: y = x / 2 (1 + erf(x / sqrt(2)))
 *     ADZ_GELU_TANH: y = x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
 *
 * At -inf the result is NaN, the product of -inf and 0. The gradient is NaN at both infinities.
 *
 * @param x            any shape, f32 or f64
 * @param approximate  ADZ_GELU_NONE (PyTorch's default) or ADZ_GELU_TANH
 * @return             y, shaped like x, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad               x, to any order; saves x
 * @see                torch.nn.functional.gelu
 */
ADZ_API adz_tensor *adz_gelu(adz_tensor *x, adz_gelu_approximate approximate);

/**
 * Sigmoid linear unit, also called swish.
 *
 *     y = x / (1 + exp(-x))
 *
 * @param x  any shape, f32 or f64
 * @return   y, shaped like x, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.nn.functional.silu
 */
ADZ_API adz_tensor *adz_silu(adz_tensor *x);

/**
 * Exponential linear unit.
 *
 *     y = x where x > 0, else alpha (exp(x) - 1)
 *
 * @param x      any shape, f32 or f64
 * @param alpha  any number (PyTorch's default is 1)
 * @return       y, shaped like x, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad         x, to any order; saves x
 * @see          torch.nn.functional.elu
 */
ADZ_API adz_tensor *adz_elu(adz_tensor *x, double alpha);

/**
 * The line between two bounds.
 *
 *     y = min where x <= min, max where x >= max, else x
 *
 * The gradient at a bound is 0, where that of adz_clamp is 1. NaN stays NaN.
 *
 * @param x  any shape, any dtype but f16, bf16 and bool; whole bounds for integers
 * @param min  lower bound (PyTorch's default is -1)
 * @param max  upper bound, not below min (PyTorch's default is 1)
 * @return   y, shaped like x, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad     x, to any order
 * @see      torch.nn.functional.hardtanh
 */
ADZ_API adz_tensor *adz_hardtanh(adz_tensor *x, double min, double max);

/**
 * The rectified linear unit that ends at 6.
 *
 *     y = min(max(x, 0), 6)
 *
 * The gradient at 0 and at 6 is 0. NaN stays NaN.
 *
 * @param x  any shape, any dtype but f16, bf16 and bool
 * @return   y, shaped like x, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order
 * @see      torch.nn.functional.relu6
 */
ADZ_API adz_tensor *adz_relu6(adz_tensor *x);

/**
 * x times a sigmoid of straight lines.
 *
 *     y = x min(max(x + 3, 0), 6) / 6
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.nn.functional.hardswish
 */
ADZ_API adz_tensor *adz_hardswish(adz_tensor *x);

/**
 * A sigmoid made of straight lines.
 *
 *     y = min(max(x + 3, 0), 6) / 6
 *
 * The gradient at -3 and 3 is 0. PyTorch takes floats alone.
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.nn.functional.hardsigmoid
 */
ADZ_API adz_tensor *adz_hardsigmoid(adz_tensor *x);

/**
 * Sets small numbers to 0.
 *
 *     y = 0 where |x| <= lambd, else x
 *
 * @param x      any shape, f32 or f64; NaN stays
 * @param lambd  any number; nothing is set to 0 below 0 (PyTorch's default is 0.5)
 * @return       y, shaped like x, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad         x, to any order; 0 where |x| <= lambd
 * @see          torch.nn.functional.hardshrink
 */
ADZ_API adz_tensor *adz_hardshrink(adz_tensor *x, double lambd);

/**
 * Soft shrinkage.
 *
 *     y = x - lambd where x > lambd, x + lambd where x < -lambd, else 0
 *
 * @param x      any shape, f32 or f64; NaN stays
 * @param lambd  0 or more (PyTorch's default is 0.5)
 * @return       y, shaped like x, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad         x, to any order; 0 where |x| <= lambd
 * @see          torch.nn.functional.softshrink
 */
ADZ_API adz_tensor *adz_softshrink(adz_tensor *x, double lambd);

/**
 * What tanh takes away.
 *
 *     y = x - tanh(x)
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.nn.functional.tanhshrink
 */
ADZ_API adz_tensor *adz_tanhshrink(adz_tensor *x);

/**
 * Replaces numbers that are not above a threshold.
 *
 *     y = x where x > threshold, else value
 *
 * @param x          any shape, any dtype but f16 and bf16; NaN stays
 * @param threshold  any number
 * @param value      a whole number in range if x is an integer
 * @return           y, shaped like x and of its dtype, borrowed from the scope, or NULL
 * @errors           ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad             x, to any order; 0 where it was replaced
 * @see              torch.nn.functional.threshold
 */
ADZ_API adz_tensor *adz_threshold(adz_tensor *x, double threshold, double value);

/**
 * x times a tanh.
 *
 *     y = x tanh(log(1 + e^x))
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.nn.functional.mish
 */
ADZ_API adz_tensor *adz_mish(adz_tensor *x);

/**
 * A sigmoid without exponentials.
 *
 *     y = x / (1 + |x|)
 *
 * At both infinities the result is NaN, as in PyTorch.
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.nn.functional.softsign
 */
ADZ_API adz_tensor *adz_softsign(adz_tensor *x);

/**
 * The exponential linear unit whose slope is continuous.
 *
 *     y = x where x >= 0, else alpha (exp(x / alpha) - 1)
 *
 * @param x  any shape, f32 or f64
 * @param alpha  any number but 0 (PyTorch's default is 1)
 * @return   y, shaped like x, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad     x, to any order
 * @see      torch.nn.functional.celu
 */
ADZ_API adz_tensor *adz_celu(adz_tensor *x, double alpha);

/**
 * The self-normalising exponential linear unit.
 *
 *     y = 1.0507 x where x > 0, else 1.0507 * 1.6733 (exp(x) - 1)
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.nn.functional.selu
 */
ADZ_API adz_tensor *adz_selu(adz_tensor *x);

/**
 * Softplus, a smooth rectifier.
 *
 *     y = log(1 + exp(beta x)) / beta, and x itself where beta x > threshold
 *
 * @param x          any shape, f32 or f64
 * @param beta       finite and not 0 (PyTorch's default is 1)
 * @param threshold  any number (PyTorch's default is 20)
 * @return           y, shaped like x, borrowed from the scope, or NULL
 * @errors           ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad             x, to any order; saves x
 * @see              torch.nn.functional.softplus
 */
ADZ_API adz_tensor *adz_softplus(adz_tensor *x, double beta, double threshold);

/**
 * Leaky rectified linear unit.
 *
 *     y = x where x > 0, else negative_slope x
 *
 * The gradient at exactly 0 is negative_slope.
 *
 * @param x               any shape, f32 or f64
 * @param negative_slope  any number (PyTorch's default is 0.01)
 * @return                y, shaped like x, borrowed from the scope, or NULL
 * @errors                ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad                  x, to any order; saves x
 * @see                   torch.nn.functional.leaky_relu
 */
ADZ_API adz_tensor *adz_leaky_relu(adz_tensor *x, double negative_slope);

/**
 * The leaky rectified linear unit with slopes that are drawn.
 *
 *     y = x where x > 0, else r x;   r drawn evenly from lower to upper, for each element
 *
 * @param x          any shape, f32 or f64
 * @param lower      finite (PyTorch's default is 1 / 8)
 * @param upper      finite, not below lower (PyTorch's default is 1 / 3)
 * @param training   whether slopes are drawn; else r is (lower + upper) / 2
 * @param generator  drawn from; NULL for the default one
 * @return           y, shaped like x, borrowed from the scope, or NULL
 * @errors           ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad             x, to any order; r where x <= 0
 * @see              torch.nn.functional.rrelu
 */
ADZ_API adz_tensor *adz_rrelu(
    adz_tensor *x, double lower, double upper, bool training, adz_generator *generator);

/**
 * Softmax along one dimension.
 *
 *     y_i = exp(x_i - m) / sum_j exp(x_j - m),   m = max_j x_j
 *
 * Elements of -inf get probability 0. A slice gives NaN if all its elements are -inf, or if one of
 * them is NaN or +inf.
 *
 * @param x    any shape, f32 or f64
 * @param dim  0 .. rank-1, or -rank .. -1 counted from the last
 * @return     y, shaped like x, borrowed from the scope, or NULL
 * @errors     ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad       x, to any order; saves y
 * @see        torch.nn.functional.softmax
 */
ADZ_API adz_tensor *adz_softmax(adz_tensor *x, int dim);

/**
 * The logarithm of the softmax along one dimension, without overflow or underflow.
 *
 *     y_i = x_i - m - log(sum_j exp(x_j - m)),   m = max_j x_j
 *
 * @param x    any shape, f32 or f64
 * @param dim  0 .. rank-1, or -rank .. -1 counted from the last
 * @return     y, shaped like x, borrowed from the scope, or NULL
 * @errors     ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad       x, to any order; saves y
 * @see        torch.nn.functional.log_softmax
 */
ADZ_API adz_tensor *adz_log_softmax(adz_tensor *x, int dim);

/**
 * The softmax of -x along one dimension.
 *
 * @param x    any shape, f32 or f64
 * @param dim  0 .. rank-1, or -rank .. -1 counted from the last
 * @return     y, shaped like x, borrowed from the scope, or NULL
 * @errors     ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad       x, to any order
 * @see        torch.nn.functional.softmin
 */
ADZ_API adz_tensor *adz_softmin(adz_tensor *x, int dim);

/**
 * A draw from the Gumbel softmax distribution, a differentiable choice along one dimension (Jang et
 * al., 2016).
 *
 *     y = softmax((x - log(-log u)) / tau);   u drawn evenly from (0, 1), for each element
 *
 * @param x          logits of any shape, f32 or f64
 * @param tau        temperature, finite and above 0 (PyTorch's default is 1)
 * @param hard       y is 1 at the largest element and 0 elsewhere, and the gradient is that of the
 *                   softmax (PyTorch's default is false)
 * @param dim        0 .. rank-1, or -rank .. -1 counted from the last (PyTorch's default is -1)
 * @param generator  drawn from; NULL for the default one
 * @return           y, shaped like x, borrowed from the scope, or NULL
 * @errors           ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad             x, to any order
 * @see              torch.nn.functional.gumbel_softmax
 */
ADZ_API adz_tensor *adz_gumbel_softmax(
    adz_tensor *x, double tau, bool hard, int dim, adz_generator *generator);

/**
 * The leaky rectified linear unit with slopes that are learned.
 *
 *     y = x where x > 0, else weight x
 *
 * @param x       any shape, f32 or f64; the second dimension is that of the channels
 * @param weight  weight[1] or weight[channels] of x's dtype; x of rank 0 or 1 has one channel
 * @return        y, shaped like x, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          x and weight, to any order
 * @see           torch.nn.functional.prelu
 */
ADZ_API adz_tensor *adz_prelu(adz_tensor *x, adz_tensor *weight);

/**
 * Gated linear unit.
 *
 *     y = a sigmoid(b), a and b the first and the second half of x along dim
 *
 * @param x    rank 1 to 8, f32 or f64
 * @param dim  of even size; 0 .. rank-1, or -rank .. -1 counted from the last
 * @return     y, half as large in dim, borrowed from the scope, or NULL
 * @errors     ADZ_ERR_DIM, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad       x, to any order
 * @see        torch.nn.functional.glu
 */
ADZ_API adz_tensor *adz_glu(adz_tensor *x, int dim);

/** The activation functions that a network takes as an option. */
typedef enum adz_activation {
    ADZ_ACTIVATION_RELU = 0,       /**< max(x, 0) */
    ADZ_ACTIVATION_GELU = 1,       /**< with erf */
    ADZ_ACTIVATION_GELU_TANH = 2,  /**< with tanh */
    ADZ_ACTIVATION_SILU = 3,       /**< x sigmoid(x) */
    ADZ_ACTIVATION_SIGMOID = 4,    /**< 1 / (1 + exp(-x)) */
    ADZ_ACTIVATION_TANH = 5,       /**< tanh(x) */
    ADZ_ACTIVATION_LEAKY_RELU = 6, /**< with slope 0.01 */
    ADZ_ACTIVATION_IDENTITY = 7    /**< x */
} adz_activation;

/** Options of adz_bias_activation. Start from ADZ_BIAS_ACTIVATION_OPTIONS. */
typedef struct adz_bias_activation_options {
    size_t size;               /**< sizeof(adz_bias_activation_options) */
    adz_activation activation; /**< the function f; ADZ_ACTIVATION_RELU */
    double dropout;            /**< probability of zeroing an element, in [0, 1]; 0 */
    bool training;             /**< whether dropout acts; false */
    adz_generator *generator;  /**< that dropout draws from; NULL for the default one */
} adz_bias_activation_options;

/** The defaults. */
#define ADZ_BIAS_ACTIVATION_OPTIONS                                                \
    {                                                                              \
        ADZ_MEMBER(size, sizeof(adz_bias_activation_options)),                     \
            ADZ_MEMBER(activation, ADZ_ACTIVATION_RELU), ADZ_MEMBER(dropout, 0.0), \
            ADZ_MEMBER(training, false), ADZ_MEMBER(generator, NULL)               \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_bias_activation_options) as the caller knows it
 */
ADZ_API void adz_bias_activation_options_init(adz_bias_activation_options *options, size_t size);

/**
 * Adds a bias, applies an activation function, multiplies by a gate and applies dropout, in one
 * pass over memory. Use it between the two matrix products of a feed-forward network. The backward
 * takes one pass as well and gives the gradients of both biases.
 *
 *     y = dropout(f(x + bias) (gate + gate_bias))
 *
 * Results, masks and draws from the generator have the bits of adz_add, the activation, adz_mul and
 * adz_dropout called one after the other.
 *
 * @param x          x[..., H], f32 or f64
 * @param bias       bias[H] of x's dtype, or ADZ_NONE
 * @param gate       of x's shape and dtype, or ADZ_NONE for the factor 1
 * @param gate_bias  gate_bias[H] of x's dtype, or ADZ_NONE; allowed only with a gate
 * @param options    NULL for the defaults
 * @return           y, shaped like x, borrowed from the scope, or NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT (the options; gate_bias without
 *                   gate), ADZ_ERR_MEMORY
 * @grad             x, bias, gate and gate_bias, to any order; saves them, and one bit of the mask
 *                   per element
 * @see              torch.nn.functional.gelu, torch.nn.functional.dropout
 */
ADZ_API adz_tensor *adz_bias_activation(adz_tensor *x, adz_tensor *bias, adz_tensor *gate,
    adz_tensor *gate_bias, const adz_bias_activation_options *options);

#ifdef __cplusplus
}
#endif

#endif
