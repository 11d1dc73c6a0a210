/**
 * @file fastai_decoder.h
 * What turns one of fastai's encoders into a language model: the decoder, the container of both,
 * and the move to another vocabulary.
 *
 * An encoder's call gives results "raw.0", "raw.1", ... and "out.0", "out.1", ... in the order of
 * its layers; a head reads the last "out." and hands all of them on.
 *
 * @code
 * adz_module *parts[2] = { adz_embedding_new(20, 8, NULL) };
 * adz_fastai_linear_decoder_options o = ADZ_FASTAI_LINEAR_DECODER_OPTIONS;
 * o.tie_encoder = parts[0];
 * parts[1] = adz_fastai_linear_decoder_new(20, 8, &o);
 * adz_module *model = adz_fastai_sequential_rnn_new(parts, 2);
 * adz_tensor *y = adz_module_forward(model, adz_zeros(ADZ_SHAPE(2, 5), ADZ_I64)); // y[2, 5, 20]
 * adz_module_release(&model);
 * @endcode
 */
#ifndef ADZE_ZOO_FASTAI_DECODER_H
#define ADZE_ZOO_FASTAI_DECODER_H

#include "adze/nn/module.h"
#include "adze/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- LinearDecoder ------------------------------------------------------------------------- */

/** Options of a decoder. Start from ADZ_FASTAI_LINEAR_DECODER_OPTIONS. */
typedef struct adz_fastai_linear_decoder_options {
    size_t size;              /**< sizeof(adz_fastai_linear_decoder_options) */
    double output_p;          /**< of the dropout in front, in [0, 1]; 0 */
    adz_module *tie_encoder;  /**< stays the caller's: its parameter "weight"[n_out, n_hid] becomes
                                 the layer's; NULL for one of its own */
    bool bias;                /**< whether the layer has one; true */
    adz_dtype dtype;          /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32. A tied layer has
                                 that of the encoder. */
    adz_generator *generator; /**< for the dropout, stays the caller's; NULL for the default one */
} adz_fastai_linear_decoder_options;

/** The defaults. */
#define ADZ_FASTAI_LINEAR_DECODER_OPTIONS                                                       \
    {                                                                                           \
        ADZ_MEMBER(size, sizeof(adz_fastai_linear_decoder_options)), ADZ_MEMBER(output_p, 0.0), \
            ADZ_MEMBER(tie_encoder, NULL), ADZ_MEMBER(bias, true), ADZ_MEMBER(dtype, ADZ_F32),  \
            ADZ_MEMBER(generator, NULL)                                                         \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_fastai_linear_decoder_options) as the caller knows it
 */
ADZ_API void adz_fastai_linear_decoder_options_init(
    adz_fastai_linear_decoder_options *options, size_t size);

/**
 * The head of a language model: a dropout with one mask along the sequence, and a linear layer.
 *
 *     y = linear(rnn_dropout(x)), x the last "out." among the arguments
 *
 * Called with a tensor x[B, T, n_hid], it decodes that one. The results are y[B, T, n_out] and,
 * under their names, what an encoder has handed to it as "raw." and "out.". Children are "decoder"
 * and "output_dp". The weight starts in U(-0.1, 0.1), the bias at 0; adz_module_reset_parameters
 * leaves a tied weight to its encoder.
 *
 * @param n_out    size of the vocabulary, 1 or more
 * @param n_hid    features of x, 1 or more
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE
 *                 (the encoder's table), ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see            fastai.text.models.LinearDecoder
 */
ADZ_API adz_module *adz_fastai_linear_decoder_new(
    int64_t n_out, int64_t n_hid, const adz_fastai_linear_decoder_options *options);

/* ---- SequentialRNN ------------------------------------------------------------------------- */

/**
 * A Sequential under the name that fastai's models have; adz_module_reset reaches what is in it.
 *
 * All results of one module are the arguments of the next.
 *
 * @param modules  count modules, named "0", "1", ...; each reference is taken over in every case,
 *                 failure included; a NULL among them fails
 * @param count    0 or more
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_NULL or ADZ_ERR_MEMORY
 *                 recorded
 * @see            fastai.text.models.SequentialRNN
 */
ADZ_API adz_module *adz_fastai_sequential_rnn_new(adz_module *const *modules, size_t count);

/* ---- another vocabulary -------------------------------------------------------------------- */

/**
 * For each word of a new vocabulary, its row in an old one.
 *
 * @param old_words  n_old words, in the order of the table's rows; of equal ones the last counts
 * @param n_old      0 or more
 * @param new_words  n_new words
 * @param n_new      0 or more
 * @param old_index  receives n_new numbers; -1 for a word that the old vocabulary lacks
 * @return           ADZ_OK; ADZ_ERR_NULL or ADZ_ERR_MEMORY with nothing written
 * @see              fastai.text.learner.convert_weights
 */
ADZ_API adz_status adz_fastai_old_index(const char *const *old_words, size_t n_old,
    const char *const *new_words, size_t n_new, int64_t *old_index);

/**
 * The state of a language model for another vocabulary.
 *
 * Row i of the new "0.encoder.weight" is row old_index[i] of the old one, or the mean of all old
 * rows where that is -1. The elements of "1.decoder.bias", if there is one, follow this rule too.
 * "0.encoder_dp.emb.weight", if there is one, and "1.decoder.weight" in every case become the new
 * table, because the reference assumes tied models. All other tensors are handed on.
 *
 * @param state      of a SequentialRNN of an encoder and its decoder; stays as it is
 * @param old_index  n_new numbers, each -1 or a row of the old table
 * @param n_new      words of the new vocabulary, 1 or more
 * @return           yours, end it with adz_state_dict_free: new tensors for what has changed,
 * references to the old ones for the rest. NULL with ADZ_ERR_NULL, ADZ_ERR_STATE (no such table, or
 * tables of different vocabularies), ADZ_ERR_INDEX (old_index), ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE or
 * ADZ_ERR_MEMORY recorded
 * @see              fastai.text.learner.convert_weights
 */
ADZ_API adz_state_dict *adz_fastai_convert_weights(
    const adz_state_dict *state, const int64_t *old_index, size_t n_new);

#ifdef __cplusplus
}
#endif

#endif
