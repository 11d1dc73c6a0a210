/**
 * @file parametrize.h
 * Parameters that are computed from others: weight norm, spectral norm, and parametrisations of
 * your own.
 *
 * A parametrised parameter is no leaf any more. The module computes it from its originals at the
 * beginning of each call, and the gradients of the call reach the originals. They stand below the
 * module as "parametrizations.weight.original", or ".original0", ".original1" if there are several,
 * so optimizers, states and files see them under PyTorch's names, and files go both ways.
 *
 * What a program writes to the computed parameter, as adz_init_normal_ does, is lost, as in
 * PyTorch: the next call computes it again. adz_module_assign_parametrized sets it.
 *
 * @code
 * adz_module *layer = adz_linear_new(20, 40, NULL);
 * adz_spectral_norm(layer, "weight", NULL);
 * adz_tensor *y = adz_module_forward(layer, adz_ones(ADZ_SHAPE(1, 20), ADZ_F32));
 * adz_module_print(layer, stdout); // ParametrizedLinear( ...
 * adz_module_remove_parametrizations(layer, "weight", true); // a plain weight, as computed last
 * adz_module_release(&layer);
 * @endcode
 */
#ifndef ADZE_NN_PARAMETRIZE_H
#define ADZE_NN_PARAMETRIZE_H

#include "adze/nn/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Makes a parameter of a module the result of another module.
 *
 * The first parametrisation of a parameter gets the originals as its arguments. If its type has a
 * right_inverse, that gives the originals whose result is the parameter as it is; otherwise the
 * parameter itself is the original. One original is the tensor that was the parameter, so an
 * optimizer keeps it. Several are new tensors, which want a gradient if the parameter did. Each
 * further parametrisation of the same parameter gets the result of the one before.
 *
 * The parametrisation is computed once per call of the module, in the module's mode. What the
 * program reads by adz_module_get_parameter or adz_module_parameter_at outside of such a call is
 * computed for it, and is borrowed from the scope. Buffers cannot be parametrised, and the result
 * must have the shape and the dtype of the parameter; PyTorch can do without both.
 *
 * @param module           changed; it is printed as Parametrized... from now on
 * @param name             of one of its own parameters, which is not left out
 * @param parametrization  a module; its reference is taken over in every case. It gets the mode of
 *                         the module
 * @return                 parametrization, borrowed from the module; NULL with ADZ_ERR_NULL,
 *                         ADZ_ERR_ARGUMENT (no such parameter, or too many originals),
 *                         ADZ_ERR_SHAPE or ADZ_ERR_DTYPE (the result is no substitute),
 *                         ADZ_ERR_STATE (several originals of a parameter in a flat buffer),
 *                         ADZ_ERR_OWNERSHIP, ADZ_ERR_MEMORY or its own error recorded, and nothing
 *                         changed
 * @see                    torch.nn.utils.parametrize.register_parametrization
 */
ADZ_API adz_module *adz_module_register_parametrization(
    adz_module *module, const char *name, adz_module *parametrization);

/**
 * Whether a parameter is parametrised.
 *
 * @param module  any module
 * @param name    of one of its own parameters; NULL asks whether there is any parametrised one
 * @return        false for other names and when module is NULL
 * @see           torch.nn.utils.parametrize.is_parametrized
 */
ADZ_API bool adz_module_is_parametrized(const adz_module *module, const char *name);

/**
 * Sets a parametrised parameter: the originals become the right inverse of the value.
 *
 * @param module  changed
 * @param name    of one of its own parameters, which is parametrised
 * @param value   shaped like the parameter, of its dtype; copied
 * @return        ADZ_OK; with nothing changed ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (not parametrised),
 *                ADZ_ERR_UNSUPPORTED (a type without right_inverse), ADZ_ERR_SHAPE, ADZ_ERR_DTYPE,
 *                ADZ_ERR_MEMORY or a parametrisation's own error
 * @see           assigning to a parametrised attribute of a torch.nn.Module
 */
ADZ_API adz_status adz_module_assign_parametrized(
    adz_module *module, const char *name, adz_tensor *value);

/**
 * Makes a parametrised parameter a plain one again.
 *
 * @param module              changed
 * @param name                of one of its own parameters, which is parametrised
 * @param leave_parametrized  true keeps the value as it is computed now; the only original becomes
 *                            the parameter again, and several are replaced by a new tensor. false
 *                            makes the only original the parameter, with its own value
 * @return                    ADZ_OK; with nothing changed ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (not
 *                            parametrised, or false with several originals), ADZ_ERR_MEMORY or a
 *                            parametrisation's own error
 * @see                       torch.nn.utils.parametrize.remove_parametrizations
 */
ADZ_API adz_status adz_module_remove_parametrizations(
    adz_module *module, const char *name, bool leave_parametrized);

/**
 * Learns length and direction of a weight apart (Salimans and Kingma, 2016).
 *
 *     w = v g / |v|, |v| over all dimensions but dim
 *
 * original0 is g, with size 1 in all dimensions but dim, and original1 is v. They start such that w
 * is the weight as it is. Files with PyTorch's older names weight_g and weight_v load as well.
 *
 * @param module  changed
 * @param name    of one of its own parameters: "weight"
 * @param dim     the dimension whose positions have a length each; PyTorch's default is 0. -1,
 * which is its None, stands for one length of the whole weight
 * @return        ADZ_OK; with nothing changed ADZ_ERR_NULL, ADZ_ERR_ARGUMENT, ADZ_ERR_DIM,
 *                ADZ_ERR_STATE (the weight lies in a flat buffer) or ADZ_ERR_MEMORY
 * @see           torch.nn.utils.parametrizations.weight_norm
 */
ADZ_API adz_status adz_weight_norm(adz_module *module, const char *name, int dim);

/** For adz_spectral_norm_options.dim: 1 for transposed convolutions, 0 for all other modules. */
#define ADZ_DIM_OF_OUTPUTS (-100)

/** Options of adz_spectral_norm. Start from ADZ_SPECTRAL_NORM_OPTIONS. */
typedef struct adz_spectral_norm_options {
    size_t size;                /**< sizeof(adz_spectral_norm_options) */
    int64_t n_power_iterations; /**< in each call while training, 1 or more; 1 */
    double eps;                 /**< the least norm that vectors are divided by, 0 or more; 1e-12 */
    int dim; /**< the dimension of outputs, negative ones from the end; the others
                  count as one; ADZ_DIM_OF_OUTPUTS */
} adz_spectral_norm_options;

/** The defaults. */
#define ADZ_SPECTRAL_NORM_OPTIONS                                                               \
    {                                                                                           \
        ADZ_MEMBER(size, sizeof(adz_spectral_norm_options)), ADZ_MEMBER(n_power_iterations, 1), \
            ADZ_MEMBER(eps, 1e-12), ADZ_MEMBER(dim, ADZ_DIM_OF_OUTPUTS)                         \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_spectral_norm_options) as the caller knows it
 */
ADZ_API void adz_spectral_norm_options_init(adz_spectral_norm_options *options, size_t size);

/**
 * Divides a weight by its largest singular value (Miyato et al., 2018).
 *
 *     w = original / (u^T W v),  W the original as a matrix,  u and v its first singular vectors
 *
 * The buffers _u and _v of the parametrisation approximate u and v. They start as 15 power
 * iterations of vectors from the default generator, and each call in training mode does
 * n_power_iterations more, also when a plan is replayed. A call in evaluation leaves them alone. A
 * weight with one dimension is divided by its norm and needs no vectors.
 *
 * adz_data_parallel_new refuses such a module, because its vectors would differ between ranks.
 *
 * @param module   changed
 * @param name     of one of its own parameters: "weight"
 * @param options  NULL for the defaults
 * @return         ADZ_OK; with nothing changed ADZ_ERR_NULL, ADZ_ERR_ARGUMENT, ADZ_ERR_DIM or
 *                 ADZ_ERR_MEMORY
 * @see            torch.nn.utils.parametrizations.spectral_norm
 */
ADZ_API adz_status adz_spectral_norm(
    adz_module *module, const char *name, const adz_spectral_norm_options *options);

#ifdef __cplusplus
}
#endif

#endif
