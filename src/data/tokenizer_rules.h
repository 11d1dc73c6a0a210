/* From text to words: fastai's rules and our splitting (see adze/data/tokenizer.h). */
#ifndef ADZI_DATA_TOKENIZER_RULES_H
#define ADZI_DATA_TOKENIZER_RULES_H

#include "adze/data/tokenizer.h"
#include "base/text.h"

/** The special tokens, in the order of their numbers. */
enum { ADZI_SPECIAL_TOKENS = 9 };
extern const char *const adzi_special_tokens[ADZI_SPECIAL_TOKENS];

/** The rules on a text, in their order. `text` is valid UTF-8; it is failed when memory was. */
void adzi_apply_rules(adzi_text *text);

/** Receives each word; returns false to end the splitting. */
typedef bool (*adzi_word_taker)(void *user, adz_text word);

/**
 * Splits valid UTF-8 into words, each after the rules on words if `rules`. False when a taker
 * returned it, or when memory was refused.
 */
bool adzi_split_words(const adzi_text *text, bool rules, adzi_word_taker take, void *user);

#endif
