/**
 * @file linear.h
 * The linear layer.
 */
#ifndef ADZE_NN_LINEAR_H
#define ADZE_NN_LINEAR_H

#include "adze/nn/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of a linear layer. Start from ADZ_LINEAR_OPTIONS. */
typedef struct adz_linear_options {
    size_t size;     /**< sizeof(adz_linear_options) */
    bool bias;       /**< whether a bias is added; true */
    adz_dtype dtype; /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
} adz_linear_options;

/** The defaults. */
#define ADZ_LINEAR_OPTIONS                                                    \
    {                                                                         \
        ADZ_MEMBER(size, sizeof(adz_linear_options)), ADZ_MEMBER(bias, true), \
            ADZ_MEMBER(dtype, ADZ_F32)                                        \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_linear_options) as the caller knows it
 */
ADZ_API void adz_linear_options_init(adz_linear_options *options, size_t size);

/**
 * A linear layer.
 *
 *     y[..., out] = x[..., in] weight[out, in]^T + bias[out]
 *
 * Both parameters are drawn from U(-1/sqrt(in), 1/sqrt(in)), as PyTorch does.
 *
 * @param in_features   0 or more
 * @param out_features  0 or more
 * @param options       NULL for the defaults
 * @return              yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 *                      ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see                 torch.nn.Linear
 */
ADZ_API adz_module *adz_linear_new(
    int64_t in_features, int64_t out_features, const adz_linear_options *options);

/** Options of adz_bilinear_new. Start from ADZ_BILINEAR_OPTIONS. */
typedef struct adz_bilinear_options {
    size_t size;     /**< sizeof(adz_bilinear_options) */
    bool bias;       /**< add a bias; true */
    adz_dtype dtype; /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
} adz_bilinear_options;

/** The defaults. */
#define ADZ_BILINEAR_OPTIONS                                                    \
    {                                                                           \
        ADZ_MEMBER(size, sizeof(adz_bilinear_options)), ADZ_MEMBER(bias, true), \
            ADZ_MEMBER(dtype, ADZ_F32)                                          \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_bilinear_options) as the caller knows it
 */
ADZ_API void adz_bilinear_options_init(adz_bilinear_options *options, size_t size);

/**
 * A bilinear form of two arguments, "x1" and "x2", for each output.
 *
 *     y[..., o] = sum_ij x1[..., i] weight[o, i, j] x2[..., j] + bias[o]
 *
 * The parameters are weight[O, I, J] and bias[O], both drawn from U(-1/sqrt(I), 1/sqrt(I)).
 *
 * @param in1_features   I, 1 or more
 * @param in2_features   J, 0 or more
 * @param out_features   O, 0 or more
 * @param options        NULL for the defaults
 * @return               yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 *                       ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see                  torch.nn.Bilinear
 */
ADZ_API adz_module *adz_bilinear_new(int64_t in1_features, int64_t in2_features,
    int64_t out_features, const adz_bilinear_options *options);

#ifdef __cplusplus
}
#endif

#endif
