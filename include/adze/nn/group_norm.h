/**
 * @file group_norm.h
 * Normalisation of groups of channels, and of single channels, as modules.
 */
#ifndef ADZE_NN_GROUP_NORM_H
#define ADZE_NN_GROUP_NORM_H

#include "adze/nn/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of a group normalisation. Start from ADZ_GROUP_NORM_OPTIONS. */
typedef struct adz_group_norm_options {
    size_t size;     /**< sizeof(adz_group_norm_options) */
    double eps;      /**< added to the variance, 0 or more; 1e-5 */
    bool affine;     /**< whether there are a weight and a bias; true */
    adz_dtype dtype; /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
} adz_group_norm_options;

/** The defaults. */
#define ADZ_GROUP_NORM_OPTIONS                                                   \
    {                                                                            \
        ADZ_MEMBER(size, sizeof(adz_group_norm_options)), ADZ_MEMBER(eps, 1e-5), \
            ADZ_MEMBER(affine, true), ADZ_MEMBER(dtype, ADZ_F32)                 \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_group_norm_options) as the caller knows it
 */
ADZ_API void adz_group_norm_options_init(adz_group_norm_options *options, size_t size);

/**
 * Normalises groups of channels of each sample: adz_group_norm.
 *
 * x is [N, C, ...], y is shaped like x. The weight[C] starts as ones, the bias[C] as zeros.
 *
 * @param num_groups    1 or more; divides num_channels
 * @param num_channels  C, 0 or more
 * @param options       NULL for the defaults
 * @return              yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 *                      ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see                 torch.nn.GroupNorm
 */
ADZ_API adz_module *adz_group_norm_new(
    int64_t num_groups, int64_t num_channels, const adz_group_norm_options *options);

/** Options of an instance normalisation. Start from ADZ_INSTANCE_NORM_OPTIONS. */
typedef struct adz_instance_norm_options {
    size_t size;              /**< sizeof(adz_instance_norm_options) */
    double eps;               /**< added to the variance, 0 or more; 1e-5 */
    double momentum;          /**< share of a batch in the running statistics, in [0, 1]; 0.1.
                                   PyTorch's None is 0: they stay as they are */
    bool affine;              /**< whether there are a weight and a bias; false */
    bool track_running_stats; /**< true follows the statistics while training, and uses them in
                                   evaluation; false */
    adz_dtype dtype;          /**< of parameters and statistics, ADZ_F32 or ADZ_F64; ADZ_F32 */
} adz_instance_norm_options;

/** The defaults. */
#define ADZ_INSTANCE_NORM_OPTIONS                                                   \
    {                                                                               \
        ADZ_MEMBER(size, sizeof(adz_instance_norm_options)), ADZ_MEMBER(eps, 1e-5), \
            ADZ_MEMBER(momentum, 0.1), ADZ_MEMBER(affine, false),                   \
            ADZ_MEMBER(track_running_stats, false), ADZ_MEMBER(dtype, ADZ_F32)      \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_instance_norm_options) as the caller knows it
 */
ADZ_API void adz_instance_norm_options_init(adz_instance_norm_options *options, size_t size);

/**
 * Normalises each channel of each signal: adz_instance_norm.
 *
 * x is [N, C, L] or [C, L], y is shaped like x. As in PyTorch, the buffer num_batches_tracked,
 * which tracking adds, stays 0.
 *
 * @param num_features  C, 0 or more
 * @param options       NULL for the defaults
 * @return              yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 *                      ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see                 torch.nn.InstanceNorm1d
 */
ADZ_API adz_module *adz_instance_norm1d_new(
    int64_t num_features, const adz_instance_norm_options *options);

/**
 * Normalises each channel of each image: adz_instance_norm.
 *
 * x is [N, C, H, W] or [C, H, W], y is shaped like x. As in PyTorch, the buffer
 * num_batches_tracked, which tracking adds, stays 0.
 *
 * @param num_features  C, 0 or more
 * @param options       NULL for the defaults
 * @return              yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 *                      ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see                 torch.nn.InstanceNorm2d
 */
ADZ_API adz_module *adz_instance_norm2d_new(
    int64_t num_features, const adz_instance_norm_options *options);

/**
 * Normalises each channel of each volume: adz_instance_norm.
 *
 * x is [N, C, D, H, W] or [C, D, H, W], y is shaped like x. As in PyTorch, the buffer
 * num_batches_tracked, which tracking adds, stays 0.
 *
 * @param num_features  C, 0 or more
 * @param options       NULL for the defaults
 * @return              yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 *                      ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see                 torch.nn.InstanceNorm3d
 */
ADZ_API adz_module *adz_instance_norm3d_new(
    int64_t num_features, const adz_instance_norm_options *options);

/**
 * Divides each element by a power of the mean square of the channels around its own:
 * adz_local_response_norm.
 *
 * x is [N, C, ...] with three dimensions or more, y is shaped like x.
 *
 * @param size   channels that count, 1 or more
 * @param alpha  factor of the mean square; PyTorch's default is 1e-4
 * @param beta   the power; PyTorch's default is 0.75
 * @param k      added to the scaled mean square; PyTorch's default is 1
 * @return       yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *               ADZ_ERR_MEMORY recorded
 * @see          torch.nn.LocalResponseNorm
 */
ADZ_API adz_module *adz_local_response_norm_new(int64_t size, double alpha, double beta, double k);

/**
 * The normalisation of adz_local_response_norm_new for images, with windows as Torch7 had them.
 *
 * x is [N, C, H, W], y is shaped like x. If size is even, size - 1 channels count, and the sum of
 * squares is divided by size all the same, as in PyTorch. There the first channel never leaves the
 * windows of later channels, of which its backward knows nothing. Here it leaves them like any
 * other channel.
 *
 * @param size   channels that count, 1 or more
 * @param alpha  factor of the mean square; PyTorch's default is 1e-4
 * @param beta   the power; PyTorch's default is 0.75
 * @param k      added to the scaled mean square; PyTorch's default is 1
 * @return       yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *               ADZ_ERR_MEMORY recorded
 * @see          torch.nn.CrossMapLRN2d
 */
ADZ_API adz_module *adz_cross_map_lrn2d_new(int64_t size, double alpha, double beta, double k);

#ifdef __cplusplus
}
#endif

#endif
