/* Embeddings of sentences, as the files of sentence-transformers describe them. */
#ifndef ADZI_MODELS_PRETRAINED_POOLING_H
#define ADZI_MODELS_PRETRAINED_POOLING_H

#include "adze/nn/module.h"

typedef enum models_pooling {
    MODELS_POOLING_NONE, /* the folder has no modules.json */
    MODELS_POOLING_CLS,  /* the first token */
    MODELS_POOLING_MEAN, /* the mean of the tokens that count */
    MODELS_POOLING_MAX   /* their maxima */
} models_pooling;

/** What modules.json says, and how many tokens a text can have. */
typedef struct models_sentence {
    models_pooling pooling;
    bool normalize;
    int64_t max_positions;  /* that the model has for tokens */
    int64_t max_seq_length; /* tokens to which texts are cut, 1 to max_positions */
    bool do_lower_case;     /* sentence-transformers makes texts lower case before its tokenizer */
} models_sentence;

/** Reads modules.json of a folder, and the configuration of its pooling; NONE without such a file.
 * With a pooling it reads max_seq_length, too: the number of sentence_bert_config.json, else
 * model_max_length of tokenizer_config.json; 0 if no file has one; and do_lower_case. False with
 * the error recorded: another module or pooling is ADZ_ERR_UNSUPPORTED. */
bool adzi_models_sentence_read(const char *op, const char *folder, models_sentence *sentence);

/** How a model that adz_pretrained_open has read makes the embedding of a sentence. `width`
 * receives the features of the embedding unless it is NULL. NULL if the model is no encoder. */
const models_sentence *adzi_models_sentence_of(const adz_module *module, int64_t *width);

/** The embedding [B, D] of h[B, T, D]. `mask` is the mask of keys, bool[B, 1, 1, T], or ADZ_NONE.
 */
adz_tensor *adzi_models_sentence_embed(
    const models_sentence *sentence, adz_tensor *h, adz_tensor *mask);

#endif
