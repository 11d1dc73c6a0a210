/**
 * @file fastai_dropout.h
 * The dropouts of fastai's recurrent text models: of whole time series, of rows of an embedding, of
 * weights.
 */
#ifndef ADZE_ZOO_FASTAI_DROPOUT_H
#define ADZE_ZOO_FASTAI_DROPOUT_H

#include "adze/nn/dropout.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A mask to multiply with: 0 with probability p, else 1 / (1 - p).
 *
 * @param shape      of the mask
 * @param dtype      ADZ_F32 or ADZ_F64
 * @param p          probability of 0, in [0, 1]; 1 gives zeros
 * @param generator  drawn from unless p is 0 or 1; NULL for the default one
 * @return           the mask, borrowed from the scope, or NULL
 * @errors           ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad             none
 * @see              fastai.text.models.awd_lstm.dropout_mask
 */
ADZ_API adz_tensor *adz_fastai_dropout_mask(
    adz_shape shape, adz_dtype dtype, double p, adz_generator *generator);

/**
 * Dropout with one mask along the sequence: x is [B, T, W], the mask [B, 1, W]. In evaluation, and
 * with a p of 0, x itself.
 *
 * @param p        probability of zeroing, in [0, 1]; fastai's default is 0.5
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 * ADZ_ERR_MEMORY recorded
 * @see            fastai.text.models.awd_lstm.RNNDropout
 */
ADZ_API adz_module *adz_fastai_rnn_dropout_new(double p, const adz_dropout_options *options);

/** Options of an EmbeddingDropout. Start from ADZ_FASTAI_EMBEDDING_DROPOUT_OPTIONS. */
typedef struct adz_fastai_embedding_dropout_options {
    size_t size;              /**< sizeof(adz_fastai_embedding_dropout_options) */
    double scale;             /**< multiplies the table, in evaluation too; finite; 1 */
    adz_generator *generator; /**< drawn from, stays the caller's and must outlive the module and
                                 its copies; NULL for the default one */
} adz_fastai_embedding_dropout_options;

/** The defaults. */
#define ADZ_FASTAI_EMBEDDING_DROPOUT_OPTIONS                                                  \
    {                                                                                         \
        ADZ_MEMBER(size, sizeof(adz_fastai_embedding_dropout_options)), ADZ_MEMBER(scale, 1), \
            ADZ_MEMBER(generator, NULL)                                                       \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_fastai_embedding_dropout_options) as the caller knows it
 */
ADZ_API void adz_fastai_embedding_dropout_options_init(
    adz_fastai_embedding_dropout_options *options, size_t size);

/**
 * Looks rows of an embedding up, after dropping whole rows of its table while training.
 *
 *     y[..., :] = (scale mask weight)[ids[...], :],  mask[V, 1]
 *
 * So a word is dropped everywhere in a call or nowhere. As in fastai, an embedding without a
 * padding row is looked up as if its last row were one: that row gets no gradient.
 *
 * @param emb      an Embedding, child "emb"; its reference is taken over in every case, failure
 *                 included, take one more with adz_module_keep to use it elsewhere
 * @param embed_p  probability of dropping a row, in [0, 1]
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT
 * or ADZ_ERR_MEMORY recorded
 * @see            fastai.text.models.awd_lstm.EmbeddingDropout
 */
ADZ_API adz_module *adz_fastai_embedding_dropout_new(
    adz_module *emb, double embed_p, const adz_fastai_embedding_dropout_options *options);

/**
 * Any module with dropout on some of its weights: while training, each call uses
 * raw mask / (1 - p) instead of them, one mask per call; in evaluation the raw weights.
 *
 * The raw weights are this module's parameters, `<name>_raw`, and receive the gradients. They are
 * the wrapped module's own as well, so that the state has them a second time as `module.<name>`.
 * Where a state that is loaded differs there, as one that fastai saved while training may, the raw
 * weights count. Arguments and results are the wrapped module's. A call while training exchanges
 * the wrapped module's weights until it returns: one thread at a time.
 *
 * @param module    child "module"; its reference is taken over in every case, failure included
 * @param weight_p  probability of zeroing, in [0, 1]
 * @param names     count names of the module's own parameters; NULL with a count of 0 for
 *                  "weight_hh_l0", as in fastai
 * @param count     0 or more
 * @param options   NULL for the defaults
 * @return          yours, end it with adz_module_release; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT
 * (p, or no such parameter) or ADZ_ERR_MEMORY recorded
 * @see             fastai.text.models.awd_lstm.WeightDropout
 */
ADZ_API adz_module *adz_fastai_weight_dropout_new(adz_module *module, double weight_p,
    const char *const *names, size_t count, const adz_dropout_options *options);

#ifdef __cplusplus
}
#endif

#endif
