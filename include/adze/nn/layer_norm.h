/**
 * @file layer_norm.h
 * Layer normalisation as a module.
 */
#ifndef ADZE_NN_LAYER_NORM_H
#define ADZE_NN_LAYER_NORM_H

#include "adze/nn/module.h"
#include "adze/ops/norm.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of a layer normalisation. Start from ADZ_LAYER_NORM_OPTIONS. */
typedef struct adz_layer_norm_options {
    size_t size;             /**< sizeof(adz_layer_norm_options) */
    double eps;              /**< added to the variance, 0 or more; 1e-5 */
    bool elementwise_affine; /**< whether there are a weight and a bias; true */
    bool bias;               /**< false leaves the bias out and keeps the weight; true */
    adz_dtype dtype;         /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
} adz_layer_norm_options;

/** The defaults. */
#define ADZ_LAYER_NORM_OPTIONS                                                   \
    {                                                                            \
        ADZ_MEMBER(size, sizeof(adz_layer_norm_options)), ADZ_MEMBER(eps, 1e-5), \
            ADZ_MEMBER(elementwise_affine, true), ADZ_MEMBER(bias, true),        \
            ADZ_MEMBER(dtype, ADZ_F32)                                           \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_layer_norm_options) as the caller knows it
 */
ADZ_API void adz_layer_norm_options_init(adz_layer_norm_options *options, size_t size);

/**
 * Normalises each row over its last dimensions: adz_layer_norm.
 *
 *     y = (x - mean) / sqrt(variance + eps) weight + bias
 *
 * The weight starts as ones, the bias as zeros; both are shaped like normalized_shape. x is
 * [..., normalized_shape], y is shaped like x.
 *
 * @param normalized_shape  the last sizes of x, one or more, none of them negative
 * @param options           NULL for the defaults
 * @return                  yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 *                          ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see                     torch.nn.LayerNorm
 */
ADZ_API adz_module *adz_layer_norm_new(
    adz_shape normalized_shape, const adz_layer_norm_options *options);

/** Options of an RMSNorm. Start from ADZ_RMS_NORM_OPTIONS. */
typedef struct adz_rms_norm_options {
    size_t size;             /**< sizeof(adz_rms_norm_options) */
    double eps;              /**< added to the mean square, 0 or more, or ADZ_EPS_OF_DTYPE for the
                                  machine epsilon of x; ADZ_EPS_OF_DTYPE */
    bool elementwise_affine; /**< whether there is a weight; true */
    adz_dtype dtype;         /**< of the weight, ADZ_F32 or ADZ_F64; ADZ_F32 */
} adz_rms_norm_options;

/** The defaults. */
#define ADZ_RMS_NORM_OPTIONS                                                               \
    {                                                                                      \
        ADZ_MEMBER(size, sizeof(adz_rms_norm_options)), ADZ_MEMBER(eps, ADZ_EPS_OF_DTYPE), \
            ADZ_MEMBER(elementwise_affine, true), ADZ_MEMBER(dtype, ADZ_F32)               \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_rms_norm_options) as the caller knows it
 */
ADZ_API void adz_rms_norm_options_init(adz_rms_norm_options *options, size_t size);

/**
 * Divides each row by the root of its mean square over its last dimensions: adz_rms_norm.
 *
 *     y = x / sqrt(mean(x^2) + eps) weight
 *
 * The weight starts as ones and is shaped like normalized_shape. x is [..., normalized_shape], y is
 * shaped like x.
 *
 * @param normalized_shape  the last sizes of x, one or more, none of them negative
 * @param options           NULL for the defaults
 * @return                  yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 *                          ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see                     torch.nn.RMSNorm
 */
ADZ_API adz_module *adz_rms_norm_new(
    adz_shape normalized_shape, const adz_rms_norm_options *options);

#ifdef __cplusplus
}
#endif

#endif
