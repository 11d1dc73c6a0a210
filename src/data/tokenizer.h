/* The contents of a tokenizer, and functions that its files share. */
#ifndef ADZI_DATA_TOKENIZER_H
#define ADZI_DATA_TOKENIZER_H

#include <stdalign.h>

#include "adze/data/tokenizer_type.h"
#include "data/tokenizer_rules.h"
#include "data/vocabulary.h"
#include "base/handle.h"

struct adz_tokenizer {
    adzi_handle handle;
    const adz_tokenizer_type *type;
    size_t state_size;
    alignas(max_align_t) char state[];
};

/** The state of adze's own kinds. */
typedef struct adzi_lexicon {
    bool special; /* the vocabulary begins with the special tokens */
    /* For words only: the rules of the program, or NULL; xxbos, xxeos and xxfld are added to each
     * text. */
    const adz_token_rules *rules;
    bool bos, eos, fields;
    adzi_vocabulary words; /* the tokens, by their ids */
} adzi_lexicon;

/** adze's own kinds, by adz_token_kind. */
enum { ADZI_TOKEN_KINDS = 3 };
extern const adz_tokenizer_type *const adzi_token_kinds[ADZI_TOKEN_KINDS];

/** The vocabulary and flags of a tokenizer of one of adze's own kinds. */
static inline adzi_lexicon *adzi_lexicon_of(const adz_tokenizer *t)
{
    return (adzi_lexicon *)(void *)(uintptr_t)t->state;
}

/** A tokenizer of one of adze's own kinds, with an empty vocabulary. NULL with the error recorded
 * if memory was refused. */
adz_tokenizer *adzi_tokenizer_new(const char *op, adz_token_kind kind);

/** Adds the 256 bytes as tokens. False if memory was refused. */
bool adzi_tokenizer_add_bytes(adzi_lexicon *l);

/** Checks n texts of the caller. Records ADZ_ERR_NULL if a text is missing, and ADZ_ERR_FORMAT if
 * it is not UTF-8. A tokenizer of bytes takes any bytes. */
bool adzi_tokenizer_check_texts(
    const char *op, adz_token_kind kind, const adz_text *texts, size_t n);

/** What gets tokens: `put` is called with `to` and each token. */
typedef struct adzi_token_sink {
    adz_token_put put;
    void *to;
} adzi_token_sink;

/** Decodes n more ids by the type, or by the texts of the tokens; adz_tokenizer_type.decode has the
 * rules. */
bool adzi_tokenizer_decode(const adz_tokenizer *t, void *notes, const int64_t *ids, size_t n,
    bool last, adz_token_put put, void *to);

/** The bytes of the file of one of adze's own kinds. The `write` of their types. */
bool adzi_lexicon_write(const char *op, const adz_tokenizer *self, adz_token_put put, void *to);

/** Splits the n fields of one text into words, with the special tokens that the tokenizer adds and
 * its rules applied, and gives each token to the sink. False with the error recorded. */
bool adzi_tokenizer_split(const char *op, const adzi_lexicon *l, const adz_text *fields, size_t n,
    const adzi_token_sink *sink);

/** Checks an id. Records ADZ_ERR_INDEX if it is outside the vocabulary, and ADZ_ERR_NULL if the
 * tokenizer is NULL. */
bool adzi_tokenizer_check_id(const char *op, const adz_tokenizer *t, int64_t id);

#endif
