/**
 * @file activations.h
 * Activation functions as modules.
 */
#ifndef ADZE_NN_ACTIVATIONS_H
#define ADZE_NN_ACTIVATIONS_H

#include "adze/nn/module.h"
#include "adze/ops/activation.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The module of an activation function, with its default options.
 *
 * @param activation  which
 * @return            yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                    ADZ_ERR_MEMORY recorded
 */
ADZ_API adz_module *adz_activation_new(adz_activation activation);

/** An activation function of your own. It returns a tensor of the shape of x, or NULL with an error
 * recorded. Operators with one argument are such functions: adz_sin, adz_square. */
typedef adz_tensor *(*adz_activation_function)(adz_tensor *x);

/**
 * Makes a module of an activation function of your own.
 *
 * @param function  called in each forward
 * @return          yours, end it with adz_module_release; NULL with ADZ_ERR_NULL or ADZ_ERR_MEMORY
 *                  recorded
 */
ADZ_API adz_module *adz_function_new(adz_activation_function function);

/**
 * adz_relu.
 *
 * @return yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see    torch.nn.ReLU
 */
ADZ_API adz_module *adz_relu_new(void);

/**
 * adz_relu_, which overwrites the argument.
 *
 * @return yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see    torch.nn.ReLU with inplace=True
 */
ADZ_API adz_module *adz_relu_inplace_new(void);

/**
 * adz_leaky_relu.
 *
 * @param negative_slope  the factor of negative values (PyTorch's default: 0.01)
 * @return                yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see                   torch.nn.LeakyReLU
 */
ADZ_API adz_module *adz_leaky_relu_new(double negative_slope);

/** Options of adz_prelu_new. Start from ADZ_PRELU_OPTIONS. */
typedef struct adz_prelu_options {
    size_t size;            /**< sizeof(adz_prelu_options) */
    int64_t num_parameters; /**< slopes: 1, or the number of channels, the second size of x; 1 */
    double init;            /**< what each slope starts as, finite; 0.25 */
    adz_dtype dtype;        /**< of the parameter, ADZ_F32 or ADZ_F64; ADZ_F32 */
} adz_prelu_options;

/** The defaults. */
#define ADZ_PRELU_OPTIONS                                                           \
    {                                                                               \
        ADZ_MEMBER(size, sizeof(adz_prelu_options)), ADZ_MEMBER(num_parameters, 1), \
            ADZ_MEMBER(init, 0.25), ADZ_MEMBER(dtype, ADZ_F32)                      \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_prelu_options) as the caller knows it
 */
ADZ_API void adz_prelu_options_init(adz_prelu_options *options, size_t size);

/**
 * adz_prelu with the parameter `weight`.
 *
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 * @see            torch.nn.PReLU
 */
ADZ_API adz_module *adz_prelu_new(const adz_prelu_options *options);

/**
 * adz_gelu.
 *
 * @param approximate  ADZ_GELU_NONE (PyTorch's default) or ADZ_GELU_TANH
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                     ADZ_ERR_MEMORY recorded
 * @see                torch.nn.GELU
 */
ADZ_API adz_module *adz_gelu_new(adz_gelu_approximate approximate);

/**
 * adz_silu.
 *
 * @return yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see    torch.nn.SiLU
 */
ADZ_API adz_module *adz_silu_new(void);

/**
 * adz_sigmoid.
 *
 * @return yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see    torch.nn.Sigmoid
 */
ADZ_API adz_module *adz_sigmoid_new(void);

/**
 * adz_tanh.
 *
 * @return yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see    torch.nn.Tanh
 */
ADZ_API adz_module *adz_tanh_new(void);

/**
 * adz_softmax.
 *
 * @param dim  the dimension whose elements sum to 1, 0 .. rank-1 or -rank .. -1
 * @return     yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see        torch.nn.Softmax
 */
ADZ_API adz_module *adz_softmax_new(int dim);

/**
 * adz_hardtanh.
 *
 * @param min_val  lower bound (PyTorch's default is -1)
 * @param max_val  upper bound, not below min_val (PyTorch's default is 1)
 * @return yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY
 * recorded
 * @see    torch.nn.Hardtanh
 */
ADZ_API adz_module *adz_hardtanh_new(double min_val, double max_val);

/**
 * adz_relu6.
 *
 * @return yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see    torch.nn.ReLU6
 */
ADZ_API adz_module *adz_relu6_new(void);

/**
 * adz_hardswish.
 *
 * @return yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see    torch.nn.Hardswish
 */
ADZ_API adz_module *adz_hardswish_new(void);

/**
 * adz_mish.
 *
 * @return yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see    torch.nn.Mish
 */
ADZ_API adz_module *adz_mish_new(void);

/**
 * adz_softsign.
 *
 * @return yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see    torch.nn.Softsign
 */
ADZ_API adz_module *adz_softsign_new(void);

/**
 * adz_selu.
 *
 * @return yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see    torch.nn.SELU
 */
ADZ_API adz_module *adz_selu_new(void);

/**
 * adz_celu.
 *
 * @param alpha  any number but 0 (PyTorch's default is 1)
 * @return yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY
 * recorded
 * @see    torch.nn.CELU
 */
ADZ_API adz_module *adz_celu_new(double alpha);

/**
 * adz_elu.
 *
 * @param alpha  the factor of exp(x) - 1 (PyTorch's default is 1)
 * @return       yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see          torch.nn.ELU
 */
ADZ_API adz_module *adz_elu_new(double alpha);

/**
 * adz_glu.
 *
 * @param dim  of even size, whose halves are multiplied (PyTorch's default is -1)
 * @return     yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see        torch.nn.GLU
 */
ADZ_API adz_module *adz_glu_new(int dim);

/**
 * adz_hardshrink.
 *
 * @param lambd  the bound of what becomes 0 (PyTorch's default is 0.5)
 * @return       yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see          torch.nn.Hardshrink
 */
ADZ_API adz_module *adz_hardshrink_new(double lambd);

/**
 * adz_hardsigmoid.
 *
 * @return yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see    torch.nn.Hardsigmoid
 */
ADZ_API adz_module *adz_hardsigmoid_new(void);

/**
 * adz_logsigmoid.
 *
 * @return yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see    torch.nn.LogSigmoid
 */
ADZ_API adz_module *adz_logsigmoid_new(void);

/**
 * adz_log_softmax.
 *
 * @param dim  0 .. rank-1, or -rank .. -1 counted from the last
 * @return     yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see        torch.nn.LogSoftmax
 */
ADZ_API adz_module *adz_log_softmax_new(int dim);

/** Options of adz_rrelu_new. Start from ADZ_RRELU_OPTIONS. */
typedef struct adz_rrelu_options {
    size_t size;              /**< sizeof(adz_rrelu_options) */
    double lower;             /**< of the slopes, finite; 1 / 8 */
    double upper;             /**< of the slopes, finite, not below lower; 1 / 3 */
    adz_generator *generator; /**< drawn from, stays the caller's and must outlive the module and
                                 its copies; NULL for the default one */
} adz_rrelu_options;

/** The defaults. */
#define ADZ_RRELU_OPTIONS                                                      \
    {                                                                          \
        ADZ_MEMBER(size, sizeof(adz_rrelu_options)), ADZ_MEMBER(lower, 0.125), \
            ADZ_MEMBER(upper, 0.3333333333333333), ADZ_MEMBER(generator, NULL) \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_rrelu_options) as the caller knows it
 */
ADZ_API void adz_rrelu_options_init(adz_rrelu_options *options, size_t size);

/**
 * adz_rrelu, which draws while the module is trained.
 *
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 * ADZ_ERR_MEMORY recorded
 * @see            torch.nn.RReLU
 */
ADZ_API adz_module *adz_rrelu_new(const adz_rrelu_options *options);

/**
 * adz_softmax over the channels of x[N, C, H, W] or x[C, H, W].
 *
 * @return yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see    torch.nn.Softmax2d
 */
ADZ_API adz_module *adz_softmax2d_new(void);

/**
 * adz_softmin.
 *
 * @param dim  0 .. rank-1, or -rank .. -1 counted from the last
 * @return     yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see        torch.nn.Softmin
 */
ADZ_API adz_module *adz_softmin_new(int dim);

/**
 * adz_softplus.
 *
 * @param beta       finite and not 0 (PyTorch's default is 1)
 * @param threshold  of beta x, above which y is x (PyTorch's default is 20)
 * @return           yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 * ADZ_ERR_MEMORY recorded
 * @see              torch.nn.Softplus
 */
ADZ_API adz_module *adz_softplus_new(double beta, double threshold);

/**
 * adz_softshrink.
 *
 * @param lambd  0 or more (PyTorch's default is 0.5)
 * @return       yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY
 * recorded
 * @see          torch.nn.Softshrink
 */
ADZ_API adz_module *adz_softshrink_new(double lambd);

/**
 * adz_tanhshrink.
 *
 * @return yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see    torch.nn.Tanhshrink
 */
ADZ_API adz_module *adz_tanhshrink_new(void);

/**
 * adz_threshold.
 *
 * @param threshold  what x must be above
 * @param value      what replaces the other numbers
 * @return           yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see              torch.nn.Threshold
 */
ADZ_API adz_module *adz_threshold_new(double threshold, double value);

#ifdef __cplusplus
}
#endif

#endif
