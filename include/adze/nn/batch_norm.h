/**
 * @file batch_norm.h
 * Batch normalisation as a module.
 */
#ifndef ADZE_NN_BATCH_NORM_H
#define ADZE_NN_BATCH_NORM_H

#include "adze/nn/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/** For adz_batch_norm1d_options.momentum: running statistics are the average over all batches. */
#define ADZ_CUMULATIVE_MOMENTUM (-1.0)

/** Options of a batch normalisation. Start from ADZ_BATCH_NORM1D_OPTIONS. */
typedef struct adz_batch_norm1d_options {
    size_t size;              /**< sizeof(adz_batch_norm1d_options) */
    double eps;               /**< added to the variance, 0 or more; 1e-5 */
    double momentum;          /**< share of the batch in the running statistics, in [0, 1], or
                                 ADZ_CUMULATIVE_MOMENTUM; 0.1 */
    bool affine;              /**< whether there are a weight and a bias; true */
    bool track_running_stats; /**< false uses the batch's statistics in evaluation too; true */
    adz_dtype dtype;          /**< of parameters and statistics, ADZ_F32 or ADZ_F64; ADZ_F32 */
} adz_batch_norm1d_options;

/** The defaults. */
#define ADZ_BATCH_NORM1D_OPTIONS                                                   \
    {                                                                              \
        ADZ_MEMBER(size, sizeof(adz_batch_norm1d_options)), ADZ_MEMBER(eps, 1e-5), \
            ADZ_MEMBER(momentum, 0.1), ADZ_MEMBER(affine, true),                   \
            ADZ_MEMBER(track_running_stats, true), ADZ_MEMBER(dtype, ADZ_F32)      \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_batch_norm1d_options) as the caller knows it
 */
ADZ_API void adz_batch_norm1d_options_init(adz_batch_norm1d_options *options, size_t size);

/**
 * Normalises each feature over the batch: adz_batch_norm.
 *
 *     y = (x - mean) / sqrt(variance + eps) weight + bias
 *
 * While training with the statistics of the batch, which the buffers running_mean and running_var
 * follow; in evaluation with those. The buffer num_batches_tracked, i64, counts the batches. The
 * weight starts as ones, the bias as zeros. x is [N, C] or [N, C, L], y is shaped like x. A call
 * while training changes the module.
 *
 * @param num_features  C, 0 or more
 * @param options       NULL for the defaults
 * @return              yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 *                      ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see                 torch.nn.BatchNorm1d
 */
ADZ_API adz_module *adz_batch_norm1d_new(
    int64_t num_features, const adz_batch_norm1d_options *options);

/** Options of adz_batch_norm2d_new. Start from ADZ_BATCH_NORM2D_OPTIONS. */
typedef adz_batch_norm1d_options adz_batch_norm2d_options;

/** The defaults. */
#define ADZ_BATCH_NORM2D_OPTIONS ADZ_BATCH_NORM1D_OPTIONS

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_batch_norm2d_options) as the caller knows it
 */
ADZ_API void adz_batch_norm2d_options_init(adz_batch_norm2d_options *options, size_t size);

/**
 * Normalises each channel of images over the batch: adz_batch_norm.
 *
 *     y = (x - mean) / sqrt(variance + eps) weight + bias
 *
 * x is [N, C, H, W], y is shaped like x. Statistics, parameters and buffers are those of
 * adz_batch_norm1d_new, over N, H and W.
 *
 * @param num_features  C, 0 or more
 * @param options       NULL for the defaults
 * @return              yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 *                      ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see                 torch.nn.BatchNorm2d
 */
ADZ_API adz_module *adz_batch_norm2d_new(
    int64_t num_features, const adz_batch_norm2d_options *options);

/** Options of adz_batch_norm3d_new. Start from ADZ_BATCH_NORM3D_OPTIONS. */
typedef adz_batch_norm1d_options adz_batch_norm3d_options;

/** The defaults. */
#define ADZ_BATCH_NORM3D_OPTIONS ADZ_BATCH_NORM1D_OPTIONS

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_batch_norm3d_options) as the caller knows it
 */
ADZ_API void adz_batch_norm3d_options_init(adz_batch_norm3d_options *options, size_t size);

/**
 * Normalises each channel of volumes over the batch: adz_batch_norm.
 *
 *     y = (x - mean) / sqrt(variance + eps) weight + bias
 *
 * x is [N, C, D, H, W], y is shaped like x. Statistics, parameters and buffers are those of
 * adz_batch_norm1d_new, over N, D, H and W.
 *
 * @param num_features  C, 0 or more
 * @param options       NULL for the defaults
 * @return              yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 *                      ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see                 torch.nn.BatchNorm3d
 */
ADZ_API adz_module *adz_batch_norm3d_new(
    int64_t num_features, const adz_batch_norm3d_options *options);

#ifdef __cplusplus
}
#endif

#endif
