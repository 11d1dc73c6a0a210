/**
 * @file fastai_classifier.h
 * What turns one of fastai's encoders into a text classifier: reading long texts in chunks, pooling
 * over time, and the head.
 */
#ifndef ADZE_ZOO_FASTAI_CLASSIFIER_H
#define ADZE_ZOO_FASTAI_CLASSIFIER_H

#include "adze/nn/module.h"
#include "adze/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- pooling ------------------------------------------------------------------------------- */

/**
 * The maximum or the average over time.
 *
 *     y = max_t x_t, or sum_t x_t / T
 *
 * @param x       x[B, T, D], T 1 or more, f32 or f64
 * @param is_max  whether to take the maximum
 * @return        y[B, D], borrowed from the scope, or NULL
 * @errors        ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          x; of equal maxima the first gets all of it; saves the indices of the maxima
 * @see           fastai.text.learner.PoolingLinearClassifier.pool
 */
ADZ_API adz_tensor *adz_fastai_pool(adz_tensor *x, bool is_max);

/**
 * The last step, the maximum and the average of each text, side by side.
 *
 *     y = [x_T, max_t x_t, sum_t x_t / n], t over the n steps that are no padding
 *
 * The last step is taken whatever the mask says, so padding belongs in front.
 *
 * @param x     x[B, T, D], T 1 or more, f32 or f64
 * @param mask  bool[B, T], true for padding, not all true in any text; ADZ_NONE for no padding
 * @return      y[B, 3 D], borrowed from the scope, or NULL
 * @errors      ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT (a text of nothing but padding),
 *              ADZ_ERR_MEMORY
 * @grad        x; of equal maxima the first gets all of it; saves mask and the indices of the
 *              maxima
 * @see         fastai.text.learner.masked_concat_pool
 */
ADZ_API adz_tensor *adz_fastai_masked_concat_pool(adz_tensor *x, adz_tensor *mask);

/* ---- the head ------------------------------------------------------------------------------ */

/** Options of a block. Start from ADZ_FASTAI_BN_DROP_LIN_OPTIONS. */
typedef struct adz_fastai_bn_drop_lin_options {
    size_t size;              /**< sizeof(adz_fastai_bn_drop_lin_options) */
    bool bn;                  /**< whether it starts with a batch norm; true */
    double p;                 /**< of the dropout, in [0, 1]; 0, which leaves the layer out */
    adz_module *actn;         /**< what follows the linear layer, its reference taken over in every
                                 case; NULL for nothing */
    adz_dtype dtype;          /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
    adz_generator *generator; /**< for the dropout, stays the caller's; NULL for the default one */
} adz_fastai_bn_drop_lin_options;

/** The defaults. */
#define ADZ_FASTAI_BN_DROP_LIN_OPTIONS                                                  \
    {                                                                                   \
        ADZ_MEMBER(size, sizeof(adz_fastai_bn_drop_lin_options)), ADZ_MEMBER(bn, true), \
            ADZ_MEMBER(p, 0.0), ADZ_MEMBER(actn, NULL), ADZ_MEMBER(dtype, ADZ_F32),     \
            ADZ_MEMBER(generator, NULL)                                                 \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_fastai_bn_drop_lin_options) as the caller knows it
 */
ADZ_API void adz_fastai_bn_drop_lin_options_init(
    adz_fastai_bn_drop_lin_options *options, size_t size);

/**
 * Batch norm, dropout, linear layer, activation.
 *
 *     y = actn(linear(dropout(batch_norm(x))))
 *
 * A Sequential of those that are wanted, so p and bn change the numbers of the layers. x is
 * [B, n_in], y is [B, n_out].
 *
 * @param n_in     features of x, 1 or more
 * @param n_out    features of y, 1 or more
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 * @see            fastai.layers.bn_drop_lin
 */
ADZ_API adz_module *adz_fastai_bn_drop_lin_new(
    int64_t n_in, int64_t n_out, const adz_fastai_bn_drop_lin_options *options);

/** Options of a head. Start from ADZ_FASTAI_POOLING_CLASSIFIER_OPTIONS. */
typedef struct adz_fastai_pooling_classifier_options {
    size_t size;              /**< sizeof(adz_fastai_pooling_classifier_options) */
    adz_dtype dtype;          /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
    adz_generator *generator; /**< for the dropouts, stays the caller's; NULL for the default one */
} adz_fastai_pooling_classifier_options;

/** The defaults. */
#define ADZ_FASTAI_POOLING_CLASSIFIER_OPTIONS                            \
    {                                                                    \
        ADZ_MEMBER(size, sizeof(adz_fastai_pooling_classifier_options)), \
            ADZ_MEMBER(dtype, ADZ_F32), ADZ_MEMBER(generator, NULL)      \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_fastai_pooling_classifier_options) as the caller knows it
 */
ADZ_API void adz_fastai_pooling_classifier_options_init(
    adz_fastai_pooling_classifier_options *options, size_t size);

/**
 * The head of a text classifier: adz_fastai_masked_concat_pool and blocks of
 * adz_fastai_bn_drop_lin_new, with ReLU after all but the last.
 *
 * It reads the last "out." among its arguments and "mask", as a MultiBatchEncoder gives them;
 * or x[B, T, D] and bool[B, T] by position, the mask may be absent. The results are the scores
 * y[B, layers[count - 1]] and, under their names, what an encoder has handed to it as "raw." and
 * "out.". The blocks' layers stand one after the other in the child "layers".
 *
 * @param layers   count widths, 1 or more each: 3 D, then those of the hidden layers, then the
 *                 number of classes
 * @param drops    count - 1 probabilities in [0, 1], of the dropout in front of each linear layer;
 *                 one of 0 leaves the layer out and moves the numbers of those after it
 * @param count    2 or more
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT,
 *                 ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see            fastai.text.learner.PoolingLinearClassifier
 */
ADZ_API adz_module *adz_fastai_pooling_classifier_new(const int64_t *layers, const double *drops,
    size_t count, const adz_fastai_pooling_classifier_options *options);

/* ---- long texts ---------------------------------------------------------------------------- */

/**
 * An encoder that reads long texts in chunks.
 *
 * A call with ids[B, T] forgets what the encoder carries, reads bptt steps at a time, and joins
 * what it gives for the chunks that start at i > T - max_len (with T equal to max_len the first is
 * lost, as in the reference): "raw." and "out." of every layer, and "mask", true where the ids are
 * pad_idx. Chunks before those are read for the carried state alone, without a graph. The encoder
 * is the child "module".
 *
 * @param bptt     steps of a chunk, 1 or more; fastai's default is 70
 * @param max_len  how many of the last steps to keep, 1 or more; fastai's default is 1400
 * @param module   an encoder, its reference taken over in every case
 * @param pad_idx  the id of padding; fastai's default is 1
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT
 * or ADZ_ERR_MEMORY recorded
 * @see            fastai.text.learner.MultiBatchEncoder
 */
ADZ_API adz_module *adz_fastai_multi_batch_encoder_new(
    int64_t bptt, int64_t max_len, adz_module *module, int64_t pad_idx);

#ifdef __cplusplus
}
#endif

#endif
