/**
 * @file fastai_config.h
 * fastai's text models whole: its default configurations by name, and what builds a language model
 * or a text classifier from one.
 *
 * @code
 * adz_fastai_config config;
 * adz_fastai_config_init(&config, sizeof config, "tfmer_lm_config");
 * config.n_layers = 2; // smaller than the reference's
 * config.n_heads = 2;
 * config.d_model = 16;
 * config.d_head = 8;
 * config.d_inner = 32;
 * adz_module *model = adz_fastai_language_model_new(30, &config, 0.5);
 * adz_tensor *logits = adz_module_forward(model, adz_zeros(ADZ_SHAPE(4, 10), ADZ_I64));
 * adz_module_release(&model);
 * @endcode
 */
#ifndef ADZE_ZOO_FASTAI_CONFIG_H
#define ADZE_ZOO_FASTAI_CONFIG_H

#include "adze/zoo/fastai_transformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/** fastai's encoders of text. */
typedef enum adz_fastai_arch {
    ADZ_FASTAI_ARCH_AWD_LSTM = 0,      /**< adz_fastai_awd_lstm_new */
    ADZ_FASTAI_ARCH_TRANSFORMER = 1,   /**< adz_fastai_transformer_new */
    ADZ_FASTAI_ARCH_TRANSFORMER_XL = 2 /**< adz_fastai_transformer_xl_new */
} adz_fastai_arch;

/** What a model is made of: an encoder's options and its head's. Start from
 * adz_fastai_config_init. What an architecture does not have is not read. */
typedef struct adz_fastai_config {
    size_t size;          /**< sizeof(adz_fastai_config) */
    adz_fastai_arch arch; /**< which encoder */
    int64_t n_layers;     /**< layers of it */
    double embed_p;       /**< AWD-LSTM: dropout of rows of the table; else of the embedding */
    double output_p;      /**< dropout in front of the head's (first) linear layer */

    int64_t emb_sz;    /**< AWD-LSTM: features of an embedded word */
    int64_t n_hid;     /**< AWD-LSTM: features between layers */
    int64_t pad_token; /**< AWD-LSTM: the word whose row gets no gradient from being looked up */
    bool qrnn;         /**< AWD-LSTM: layers are QRNN */
    bool bidir;        /**< AWD-LSTM: in both directions */
    double hidden_p;   /**< AWD-LSTM: dropout between layers */
    double input_p;    /**< AWD-LSTM: dropout of the embedded words */
    double weight_p;   /**< AWD-LSTM: dropout of the recurrent weights */

    int64_t ctx_len;           /**< transformers: rows of the table of learned positions */
    int64_t n_heads;           /**< transformers: heads */
    int64_t d_model;           /**< transformers: features */
    int64_t d_head;            /**< transformers: features of a head, 0 for d_model / n_heads */
    int64_t d_inner;           /**< transformers: hidden features of the feed-forward networks */
    double resid_p;            /**< transformers: dropout of what attention adds */
    double attn_p;             /**< transformers: dropout of the probabilities */
    double ff_p;               /**< transformers: dropout in the feed-forward networks */
    bool bias;                 /**< transformers: whether attention's linear layers have one */
    bool scale;                /**< transformers: whether scores are divided by sqrt(d_head) */
    adz_fastai_activation act; /**< transformers: of the feed-forward networks */
    bool double_drop;          /**< transformers: their dropout after the activation too */
    adz_fastai_attention_class attn_cls; /**< transformers: makes the attentions; NULL for the
                                            architecture's own */
    bool learned_pos_enc;                /**< transformers: learned positions */
    bool mask;                           /**< transformers: whether later tokens are hidden */
    int64_t mem_len;                     /**< Transformer-XL: steps that it remembers */

    adz_status (*init)(adz_module *model); /**< draws the finished model again, as
                                              adz_fastai_init_transformer does; NULL for nothing */
    bool tie_weights;         /**< language models: the decoder has the table of the encoder */
    bool out_bias;            /**< language models: whether the decoder has a bias */
    adz_dtype dtype;          /**< of the parameters, ADZ_F32 or ADZ_F64 */
    adz_generator *generator; /**< for all dropouts, stays the caller's; NULL for the default one */
} adz_fastai_config;

/**
 * One of fastai's default configurations.
 *
 * They are "awd_lstm_lm_config", "awd_lstm_clas_config", "tfmer_lm_config", "tfmer_clas_config",
 * "tfmerXL_lm_config" and "tfmerXL_clas_config". Those of classifiers say tie_weights and out_bias
 * too, as the language model of that architecture does.
 *
 * @param config  filled
 * @param size    sizeof(adz_fastai_config) as the caller knows it
 * @param name    of one of them
 * @return        ADZ_OK, ADZ_ERR_NULL or ADZ_ERR_ARGUMENT (no such name) with nothing written
 */
ADZ_API adz_status adz_fastai_config_init(adz_fastai_config *config, size_t size, const char *name);

/**
 * An encoder of text.
 *
 * @param vocab_sz   tokens V, 1 or more
 * @param config     only the encoder's part is read
 * @param drop_mult  factor of all its dropouts' probabilities, 0 or more (the reference's default:
 *                   1)
 * @return           yours, end it with adz_module_release; NULL with ADZ_ERR_NULL or an error of
 * the encoder's constructor recorded
 */
ADZ_API adz_module *adz_fastai_encoder_new(
    int64_t vocab_sz, const adz_fastai_config *config, double drop_mult);

/**
 * A language model: a SequentialRNN of an encoder, "0", and a LinearDecoder, "1".
 *
 * @param vocab_sz   tokens V, 1 or more
 * @param config     its encoder and decoder
 * @param drop_mult  factor of all dropouts' probabilities, 0 or more (the reference's default: 1)
 * @return           yours, end it with adz_module_release; NULL with ADZ_ERR_NULL or an error of a
 *                   part's constructor recorded
 * @see              fastai.text.learner.get_language_model
 */
ADZ_API adz_module *adz_fastai_language_model_new(
    int64_t vocab_sz, const adz_fastai_config *config, double drop_mult);

/** Options of a text classifier. Start from ADZ_FASTAI_TEXT_CLASSIFIER_OPTIONS. */
typedef struct adz_fastai_text_classifier_options {
    size_t size;             /**< sizeof(adz_fastai_text_classifier_options) */
    int64_t bptt;            /**< steps that the encoder reads at once, 1 or more; 70 */
    int64_t max_len;         /**< how many of the last steps count, 1 or more; 1400 */
    double drop_mult;        /**< factor of the dropouts' probabilities in the configuration, 0 or
                                more; 1 */
    const int64_t *lin_ftrs; /**< n_lin_ftrs widths of the head's hidden layers, 1 or more each;
                                NULL for one of 50 */
    size_t n_lin_ftrs;       /**< 0 or more; 0 */
    const double *ps;        /**< as many probabilities, of the dropouts after them; NULL for 0.1
                                each */
    int64_t pad_idx;         /**< the id of padding; 1 */
} adz_fastai_text_classifier_options;

/** The defaults. */
#define ADZ_FASTAI_TEXT_CLASSIFIER_OPTIONS                                                     \
    {                                                                                          \
        ADZ_MEMBER(size, sizeof(adz_fastai_text_classifier_options)), ADZ_MEMBER(bptt, 70),    \
            ADZ_MEMBER(max_len, 1400), ADZ_MEMBER(drop_mult, 1.0), ADZ_MEMBER(lin_ftrs, NULL), \
            ADZ_MEMBER(n_lin_ftrs, 0), ADZ_MEMBER(ps, NULL), ADZ_MEMBER(pad_idx, 1)            \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_fastai_text_classifier_options) as the caller knows it
 */
ADZ_API void adz_fastai_text_classifier_options_init(
    adz_fastai_text_classifier_options *options, size_t size);

/**
 * A text classifier: a SequentialRNN of a MultiBatchEncoder, "0", around an encoder, "0.module",
 * and a PoolingLinearClassifier, "1".
 *
 * Its linear layers have 3 D, then lin_ftrs, then n_class features, with dropouts of output_p, then
 * ps, before them.
 *
 * @param vocab_sz  tokens V, 1 or more
 * @param n_class   classes, 1 or more
 * @param config    its encoder, and output_p
 * @param options   NULL for the defaults
 * @return          yours, end it with adz_module_release; NULL with ADZ_ERR_NULL or an error of a
 *                  part's constructor recorded
 * @see             fastai.text.learner.get_text_classifier
 */
ADZ_API adz_module *adz_fastai_text_classifier_new(int64_t vocab_sz, int64_t n_class,
    const adz_fastai_config *config, const adz_fastai_text_classifier_options *options);

#ifdef __cplusplus
}
#endif

#endif
