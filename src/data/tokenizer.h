/* What a tokenizer consists of. */
#ifndef ADZI_DATA_TOKENIZER_H
#define ADZI_DATA_TOKENIZER_H

#include "data/tokenizer_rules.h"
#include "data/vocabulary.h"

struct adz_tokenizer {
    adz_token_kind kind;
    bool special; /* the vocabulary begins with the special tokens */
    bool rules, bos, eos, fields;
    adzi_vocabulary words;
};

/** An empty one; NULL when memory was refused. */
adz_tokenizer *adzi_tokenizer_new(const char *op, adz_token_kind kind);

/** Adds the 256 bytes. False when memory was refused. */
bool adzi_tokenizer_add_bytes(adz_tokenizer *t);

/** ADZ_ERR_NULL without texts, ADZ_ERR_FORMAT for invalid UTF-8. */
bool adzi_tokenizer_check_texts(
    const char *op, adz_token_kind kind, const adz_text *texts, size_t n);

/** The fields of one text, with its marks and after the rules on texts. */
void adzi_tokenizer_join(adzi_text *text, const adz_tokenizer *t, const adz_text *fields, size_t n);

/** ADZ_ERR_INDEX for an id outside the vocabulary, ADZ_ERR_NULL without a tokenizer. */
bool adzi_tokenizer_check_id(const char *op, const adz_tokenizer *t, int64_t id);

#endif
