/**
 * @file fastai_awd_lstm.h
 * fastai's AWD-LSTM: a recurrent encoder of text with dropout everywhere.
 */
#ifndef ADZE_ZOO_FASTAI_AWD_LSTM_H
#define ADZE_ZOO_FASTAI_AWD_LSTM_H

#include "adze/nn/module.h"
#include "adze/ops/index.h"
#include "adze/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of an AWD-LSTM. Start from ADZ_FASTAI_AWD_LSTM_OPTIONS. */
typedef struct adz_fastai_awd_lstm_options {
    size_t size;              /**< sizeof(adz_fastai_awd_lstm_options) */
    int64_t pad_token;        /**< the word whose row gets no gradient, negative ones counted from
                                 the last; ADZ_NO_PADDING leaves the last row without one; 1 */
    double hidden_p;          /**< dropout between layers, in [0, 1]; 0.2 */
    double input_p;           /**< dropout on the embedded words, in [0, 1]; 0.6 */
    double embed_p;           /**< dropout of whole rows of the embedding, in [0, 1]; 0.1 */
    double weight_p;          /**< dropout of the recurrent weights, in [0, 1]; 0.5 */
    bool qrnn;                /**< layers are QRNN instead of LSTM; not with bidir; false */
    bool bidir;               /**< a second direction reads from the last step on; false */
    adz_dtype dtype;          /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
    adz_generator *generator; /**< for dropout, stays the caller's and must outlive the module and
                                 its copies; NULL for the default one */
} adz_fastai_awd_lstm_options;

/** The defaults. */
#define ADZ_FASTAI_AWD_LSTM_OPTIONS                                                        \
    {                                                                                      \
        ADZ_MEMBER(size, sizeof(adz_fastai_awd_lstm_options)), ADZ_MEMBER(pad_token, 1),   \
            ADZ_MEMBER(hidden_p, 0.2), ADZ_MEMBER(input_p, 0.6), ADZ_MEMBER(embed_p, 0.1), \
            ADZ_MEMBER(weight_p, 0.5), ADZ_MEMBER(qrnn, false), ADZ_MEMBER(bidir, false),  \
            ADZ_MEMBER(dtype, ADZ_F32), ADZ_MEMBER(generator, NULL)                        \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_fastai_awd_lstm_options) as the caller knows it
 */
ADZ_API void adz_fastai_awd_lstm_options_init(adz_fastai_awd_lstm_options *options, size_t size);

/**
 * An embedding and a stack of recurrent layers that go on where the call before ended.
 *
 *     x = input_dropout(embedding(ids))
 *     raw_l, state_l = layer_l(x, state_l);  out_l = x = hidden_dropout(raw_l), the last not
 * dropped
 *
 * Layers read and give n_hid features, but the first reads emb_sz and the last gives emb_sz; with
 * bidir each direction has half of them, rounded down. A call takes ids[B, T], or as floats
 * x[B, T, emb_sz], embedded already (fastai's from_embeddings). Its results are "raw.0", "raw.1",
 * ... and "out.0", "out.1", ..., each [B, T, features], then the states after the last step without
 * gradient, "hidden.0.h", "hidden.0.c", "hidden.1.h", ..., each [directions, B, features of one]
 * (with qrnn only "hidden.0.c"). adz_module_forward gives the last out.
 *
 * The states are buffers outside the saved state, which each call replaces: one thread at a time. A
 * batch of another size starts from zeros, as the first call does and the one after
 * adz_module_reset; adz_module_select_hidden keeps batch rows. A call that is refused leaves them
 * alone.
 *
 * Children: encoder (Embedding, uniform in (-0.1, 0.1)), encoder_dp (EmbeddingDropout), rnns,
 * input_dp and hidden_dps (RNNDropout). While training the dropouts draw in this order: rows of the
 * embedding, input, then per layer weight and hidden.
 *
 * @param vocab_sz  rows of the embedding, 1 or more
 * @param emb_sz    features of an embedded word, 1 or more (2 with bidir)
 * @param n_hid     features between layers, 1 or more; even with bidir and more than one layer
 * @param n_layers  1 to 65535
 * @param options   NULL for the defaults
 * @return          yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 * @see             fastai.text.models.awd_lstm.AWD_LSTM
 */
ADZ_API adz_module *adz_fastai_awd_lstm_new(int64_t vocab_sz, int64_t emb_sz, int64_t n_hid,
    int64_t n_layers, const adz_fastai_awd_lstm_options *options);

#ifdef __cplusplus
}
#endif

#endif
