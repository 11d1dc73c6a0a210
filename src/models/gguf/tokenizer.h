/* The tokenizers of GGUF files. */
#ifndef ADZI_MODELS_GGUF_TOKENIZER_H
#define ADZI_MODELS_GGUF_TOKENIZER_H

#include <jansson.h>

#include "adze/models/gguf.h"
#include "tokenizers/tokenizer.h"

/** Makes the tokenizer that a GGUF file describes. NULL with the error recorded. */
adz_tokenizer *adzi_gguf_tokenizer(
    const char *op, const char *path, const adz_pretrained_tokenizer_options *options);

/** The types of tokens, by the numbers that files use. */
typedef enum gguf_token_type {
    GGUF_TOKEN_NORMAL = 1,
    GGUF_TOKEN_UNKNOWN = 2,
    GGUF_TOKEN_CONTROL = 3,
    GGUF_TOKEN_USER_DEFINED = 4,
    GGUF_TOKEN_UNUSED = 5,
    GGUF_TOKEN_BYTE = 6
} gguf_token_type;

/** A token of a file. */
typedef struct gguf_token {
    char *text; /* valid UTF-8, ended by a zero byte; two bytes before it are free */
    size_t size;
    gguf_token_type type;
    double score; /* finite; 0 for "gpt2", whose scores are not read */
} gguf_token;

/** The tokens of a file, in the order of their ids. */
typedef struct gguf_tokens {
    const char *op, *path; /* for messages */
    gguf_token *items;
    size_t count;
} gguf_tokens;

/**
 * The merges that SentencePiece makes of scores: any two neighbours whose texts together are a
 * token, that of the highest score first, and the leftmost of equal scores.
 *
 * @param merges  receives the pairs [left, right]
 * @param ranks   receives the rank of each pair; pairs of equal scores have one rank
 * @return        false with the error recorded
 */
bool adzi_gguf_score_merges(const gguf_tokens *tokens, json_t *merges, json_t *ranks);

/**
 * Gives a token of "bert" the text that it has in vocab.txt. Files mark the beginnings of words by
 * U+2581 instead of marking what continues them by "##". Texts in square brackets have no mark.
 */
void adzi_gguf_word_piece(gguf_token *token);

/** The tokenizer.json of "bert", whose tokens and `vocab` have the texts of vocab.txt. NULL with
 * the error recorded. */
json_t *adzi_gguf_bert(const gguf_tokens *tokens, adz_gguf *file, json_t *vocab, json_t *added);

#endif
