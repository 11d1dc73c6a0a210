/* adze's own kinds of tokenizers: characters, bytes and words. */
#include <string.h>

#include "base/error.h"
#include "base/source.h"
#include "data/tokenizer.h"
#include "data/unicode.h"

/* ---- the vocabulary ------------------------------------------------------------------------- */

adz_tokenizer *adzi_tokenizer_new(const char *op, adz_token_kind kind)
{
    adz_tokenizer *t = adzi_handle_new(sizeof *t + sizeof(adzi_lexicon));
    if (t == NULL) {
        return adzi_fail_memory(op, sizeof *t + sizeof(adzi_lexicon));
    }
    t->type = adzi_token_kinds[kind];
    t->state_size = sizeof(adzi_lexicon);
    return t;
}

bool adzi_tokenizer_add_bytes(adzi_lexicon *l)
{
    bool good = true;
    for (int i = 0; i < 256 && good; ++i) {
        char byte = (char)(unsigned char)i;
        good = adzi_vocabulary_add(&l->words, (adz_text){ &byte, 1 });
    }
    return good;
}

static int64_t count(const adz_tokenizer *self)
{
    return (int64_t)adzi_lexicon_of(self)->words.count;
}

static adz_text token(const adz_tokenizer *self, int64_t id)
{
    return adzi_vocabulary_get(&adzi_lexicon_of(self)->words, (size_t)id);
}

static int64_t find(const adz_tokenizer *self, adz_text text)
{
    return adzi_vocabulary_find(&adzi_lexicon_of(self)->words, text);
}

static void end(adz_tokenizer *self)
{
    adzi_vocabulary_free(&adzi_lexicon_of(self)->words);
}

/* ---- encoding ------------------------------------------------------------------------------- */

/* Where the ids of a text go. */
typedef struct taking {
    const adzi_lexicon *l;
    adz_ids_put put;
    void *to;
} taking;

static bool give(const taking *taker, int64_t id)
{
    return taker->put(taker->to, &id, 1);
}

/* Receives the words of a text. An unknown word becomes xxunk. */
static bool take_word(void *user, adz_text word)
{
    const taking *taker = user;
    const int64_t id = adzi_vocabulary_find(&taker->l->words, word);
    return give(taker, id >= 0 ? id : ADZ_XXUNK);
}

static bool encode_words(const char *op, const adz_tokenizer *self, const adz_text *fields,
    size_t n, adz_ids_put put, void *to)
{
    taking taker = { adzi_lexicon_of(self), put, to };
    return adzi_tokenizer_check_texts(op, ADZ_TOKENS_WORDS, fields, n) &&
           adzi_tokenizer_split(op, taker.l, fields, n, &(adzi_token_sink){ take_word, &taker });
}

static bool encode_field(const char *op, const taking *taker, const adz_text *text)
{
    const char *at = text->bytes, *stop = at + text->size;
    bool good = true;
    while (at < stop && good) {
        const char *first = at;
        uint32_t point = adzi_utf8_next(&at, stop);
        adz_text character = { first, (size_t)(at - first) };
        int64_t id = adzi_vocabulary_find(&taker->l->words, character);
        if (id < 0 && !taker->l->special) {
            adzi_shown shown;
            adzi_error(op, ADZ_ERR_ARGUMENT,
                "the character '%s' (U+%04X) at byte %zu is not in the vocabulary",
                adzi_show_bytes(&shown, first, character.size), (unsigned)point,
                (size_t)(first - text->bytes));
            return false;
        }
        good = give(taker, id >= 0 ? id : ADZ_XXUNK);
    }
    return good;
}

static bool encode_characters(const char *op, const adz_tokenizer *self, const adz_text *fields,
    size_t n, adz_ids_put put, void *to)
{
    const taking taker = { adzi_lexicon_of(self), put, to };
    bool good = adzi_tokenizer_check_texts(op, ADZ_TOKENS_CHARACTERS, fields, n);
    for (size_t i = 0; i < n && good; ++i) {
        good = fields[i].size == 0 || encode_field(op, &taker, &fields[i]);
    }
    return good;
}

static bool encode_bytes(const char *op, const adz_tokenizer *self, const adz_text *fields,
    size_t n, adz_ids_put put, void *to)
{
    (void)op;
    const taking taker = { adzi_lexicon_of(self), put, to };
    bool good = true;
    for (size_t i = 0; i < n && good; ++i) {
        for (size_t k = 0; k < fields[i].size && good; ++k) {
            good = give(&taker, (unsigned char)fields[i].bytes[k]);
        }
    }
    return good;
}

/* ---- decoding ------------------------------------------------------------------------------- */

/* Words are separated by spaces. The first note says whether a word has come before. */
static bool decode_words(const adz_tokenizer *self, void *notes, const int64_t *ids, size_t n,
    bool last, adz_token_put put, void *to)
{
    (void)last;
    bool *begun = notes, good = true;
    for (size_t i = 0; i < n && good; ++i) {
        good = (!*begun || put(to, (adz_text){ " ", 1 })) && put(to, token(self, ids[i]));
        *begun = true;
    }
    return good;
}

/* ---- types ---------------------------------------------------------------------------------- */

#define KIND(kind, ...)                                                          \
    static const adz_tokenizer_type kind = { .size = sizeof(adz_tokenizer_type), \
        .name = #kind,                                                           \
        .encode = encode_##kind,                                                 \
        .count = count,                                                          \
        .token = token,                                                          \
        .id = find,                                                              \
        .write = adzi_lexicon_write,                                             \
        .end = end,                                                              \
        __VA_ARGS__ }

KIND(characters, );
KIND(bytes, );
KIND(words, .decode = decode_words);

const adz_tokenizer_type *const adzi_token_kinds[ADZI_TOKEN_KINDS] = {
    [ADZ_TOKENS_CHARACTERS] = &characters, [ADZ_TOKENS_BYTES] = &bytes, [ADZ_TOKENS_WORDS] = &words
};
