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

#ifdef __cplusplus
}
#endif

#endif
