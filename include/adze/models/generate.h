/**
 * @file models/generate.h
 * Text from a language model, one token after the other.
 *
 *     adz_generate_options options = ADZ_GENERATE_OPTIONS;
 *     options.max_new_tokens = 40;
 *     options.do_sample = true;
 *     options.temperature = 0.8;
 *     adz_tensor *ids = adz_generate(model, prompt, &options); // prompt i64[B, T]
 */
#ifndef ADZE_MODELS_GENERATE_H
#define ADZE_MODELS_GENERATE_H

#include "adze/data/tokenizer.h"
#include "adze/nn/module.h"
#include "adze/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A token that was generated. */
typedef struct adz_generated {
    size_t size;   /**< sizeof(adz_generated) as the library knows it */
    int64_t row;   /**< of the batch, 0 .. B-1 */
    int64_t step;  /**< how many tokens the row has got before, from 0 */
    int64_t id;    /**< the token */
    adz_text text; /**< what it adds to the row's text, complete characters only; a text of size 0
                      without a tokenizer. At the end of a row it holds what was held back. It is
                      borrowed for the call */
    bool finished; /**< the row ends with this token */
} adz_generated;

/** Hears of each token. Returns whether to go on; false ends the generation with this step, in
 * which the other rows still get their tokens. */
typedef bool (*adz_generate_function)(const adz_generated *token, void *user);

/** How text is generated. Start from ADZ_GENERATE_OPTIONS. */
typedef struct adz_generate_options {
    size_t size;            /**< sizeof(adz_generate_options) */
    int64_t max_new_tokens; /**< tokens of a row at most, 1 or more; 20 */
    bool do_sample;         /**< draw the token; else the most probable one is taken; false */
    double temperature;     /**< logits are divided by it, above 0; only with do_sample; 1 */
    int64_t top_k;          /**< draw from so many most probable tokens, and those that equal the
                               last of them; 0 for all; only with do_sample; 0 */
    double top_p;           /**< draw from the fewest most probable tokens whose probabilities add
                               up to this, in [0, 1]; 1 for all; only with do_sample; 1 */
    double min_p; /**< draw from tokens whose probability is at least this share of the largest one,
                     in [0, 1]; only with do_sample; 0 */
    double repetition_penalty;    /**< positive logits of tokens that the row has are divided by it,
                                     negative ones multiplied; above 0; 1 */
    const int64_t *eos_token_ids; /**< tokens that end a row; NULL for none */
    size_t n_eos_token_ids;       /**< how many there are; 0 */
    int64_t pad_token_id;         /**< fills the result behind the end of a row; 0 */
    const char *const *stop_strings; /**< texts that end a row, UTF-8; needs the tokenizer; NULL */
    size_t n_stop_strings;           /**< how many there are; 0 */
    adz_tensor *attention_mask; /**< [B, T], true or not 0 for tokens of the prompt that count, the
                                   others are padding on either side; NULL: all count */
    adz_generator *generator;   /**< for do_sample, stays the caller's; NULL for the default one */
    const adz_tokenizer *tokenizer; /**< for texts, stays the caller's; NULL for none */
    adz_generate_function on_token; /**< hears of each token; NULL for none */
    void *user;                     /**< handed to on_token */
    adz_tensor *cache; /**< keys and values, as adz_pretrained_cache_new makes it for a batch of B
                          and T + max_new_tokens positions or more; it is overwritten. NULL: every
                          token is computed from all that stand before it */
} adz_generate_options;

/** The defaults. */
#define ADZ_GENERATE_OPTIONS                                                                      \
    {                                                                                             \
        ADZ_MEMBER(size, sizeof(adz_generate_options)), ADZ_MEMBER(max_new_tokens, 20),           \
            ADZ_MEMBER(do_sample, false), ADZ_MEMBER(temperature, 1), ADZ_MEMBER(top_k, 0),       \
            ADZ_MEMBER(top_p, 1), ADZ_MEMBER(min_p, 0), ADZ_MEMBER(repetition_penalty, 1),        \
            ADZ_MEMBER(eos_token_ids, NULL), ADZ_MEMBER(n_eos_token_ids, 0),                      \
            ADZ_MEMBER(pad_token_id, 0), ADZ_MEMBER(stop_strings, NULL),                          \
            ADZ_MEMBER(n_stop_strings, 0), ADZ_MEMBER(attention_mask, NULL),                      \
            ADZ_MEMBER(generator, NULL), ADZ_MEMBER(tokenizer, NULL), ADZ_MEMBER(on_token, NULL), \
            ADZ_MEMBER(user, NULL), ADZ_MEMBER(cache, NULL)                                       \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_generate_options) as the caller knows it
 */
ADZ_API void adz_generate_options_init(adz_generate_options *options, size_t size);

/**
 * Goes on with prompts.
 *
 * The model is called without a graph, with "input_ids" i64[B, T]; where a row that has not ended
 * has padding, with "attention_mask" bool[B, S] and "position_ids" i64[B, T]; and with a cache with
 * "cache" and "past". Its result is "logits" [B, T, V] (adze/models/pretrained.h). Padding is moved
 * to the left, and a row's positions count its own tokens, so padding changes nothing. Logits are
 * changed in the order of transformers: repetition penalty, temperature, top-k, top-p, min-p.
 * Unlike there, padding does not count as a repeated token.
 *
 * A row ends with a token of eos_token_ids, or with one whose text completes a stop string; both
 * belong to the result. A drawn token depends on the logits and on the state of the generator
 * alone, which advances by one draw of B numbers for each step. The model should be in evaluation
 * mode (adz_module_eval).
 *
 * @param model      a language model
 * @param input_ids  the prompts, i64[B, T]; each has a token that counts
 * @param options    NULL for the defaults
 * @return           the new tokens i64[B, N], where N is the most that a row has got, borrowed from
 *                   the scope; or NULL
 * @errors           ADZ_ERR_NULL, ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_NUMERIC
 *                   (logits that are NaN), ADZ_ERR_MEMORY, those of the model and of the tokenizer
 * @see              transformers.GenerationMixin.generate
 */
ADZ_API adz_tensor *adz_generate(
    adz_module *model, adz_tensor *input_ids, const adz_generate_options *options);

#ifdef __cplusplus
}
#endif

#endif
