/* Regular expressions of tokenizer.json, each written as a function. */
#ifndef ADZI_MODELS_TOKENIZERS_PATTERNS_H
#define ADZI_MODELS_TOKENIZERS_PATTERNS_H

#include "parts.h"

/** The function of a regular expression, or NULL. */
adzi_tok_pattern adzi_tok_pattern_of(const char *expression);

/** The pattern of ByteLevel, which is GPT-2's. */
size_t adzi_tok_pattern_gpt2(const char *at, const char *end);

/** The pattern of Whitespace: words, and runs of other characters but space. */
size_t adzi_tok_pattern_words(const char *at, const char *end);

#endif
