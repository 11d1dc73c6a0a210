/* From text to words: the rules of the caller, and splitting (adze/data/tokenizer.h). */
#ifndef ADZI_DATA_TOKENIZER_RULES_H
#define ADZI_DATA_TOKENIZER_RULES_H

#include "adze/data/tokenizer.h"
#include "base/text.h"

/** The special tokens, such as "xxunk", in the order of their ids. */
enum { ADZI_SPECIAL_TOKENS = 9 };
extern const char *const adzi_special_tokens[ADZI_SPECIAL_TOKENS];

/** Takes a piece of text over into an adzi_text. An adz_token_put. */
bool adzi_put_piece(void *text, adz_text piece);

/** Whether a program's struct can be used as rules. False with the error recorded under `op`. */
bool adzi_check_rules(const char *op, const adz_token_rules *rules);

/**
 * Applies the rules on texts to `text`, which is valid UTF-8. False with text->failed set if memory
 * was refused, else with the error recorded under `op`.
 */
bool adzi_apply_rules(const char *op, adzi_text *text, const adz_token_rules *rules);

/**
 * Splits a text of valid UTF-8 into words, applies the rules on words, and calls `put` with each
 * token. False if `put` said so, if memory was refused, or with the error of the rules recorded.
 * `rules` may be NULL.
 */
bool adzi_split_words(const char *op, const adzi_text *text, const adz_token_rules *rules,
    adz_token_put put, void *to);

#endif
