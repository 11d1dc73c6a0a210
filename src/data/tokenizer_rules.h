/* From text to words: fastai's rules, and splitting into words (adze/data/tokenizer.h). */
#ifndef ADZI_DATA_TOKENIZER_RULES_H
#define ADZI_DATA_TOKENIZER_RULES_H

#include "adze/data/tokenizer.h"
#include "base/text.h"

/** The special tokens, such as "xxunk", in the order of their ids. */
enum { ADZI_SPECIAL_TOKENS = 9 };
extern const char *const adzi_special_tokens[ADZI_SPECIAL_TOKENS];

/** Applies the rules on texts, in their order. `text` must be valid UTF-8. text->failed is set if
 * memory was refused. */
void adzi_apply_rules(adzi_text *text);

/** Receives each word; returns false to end the splitting. */
typedef bool (*adzi_word_taker)(void *user, adz_text word);

/**
 * Splits a text of valid UTF-8 into words and calls `take` with each word. With `rules`, the rules
 * on words are applied first. Returns false if `take` did, or if memory was refused.
 */
bool adzi_split_words(const adzi_text *text, bool rules, adzi_word_taker take, void *user);

#endif
