/* Building a tokenizer from texts: counting their tokens, and choosing the tokens to keep. */
#include <stdlib.h>
#include <string.h>

#include "base/capture.h"
#include "data/tokenizer.h"
#include "data/unicode.h"
#include "base/alloc.h"
#include "base/error.h"
#include "adze/options.h"

/* ---- texts ---------------------------------------------------------------------------------- */

bool adzi_tokenizer_check_texts(
    const char *op, adz_token_kind kind, const adz_text *texts, size_t n)
{
    if (texts == NULL && n > 0) {
        adzi_error_null(op, "texts");
        return false;
    }
    for (size_t i = 0; i < n; ++i) {
        if (texts[i].bytes == NULL && texts[i].size > 0) {
            adzi_error_null(op, "a text");
            return false;
        }
        size_t valid = kind == ADZ_TOKENS_BYTES ? texts[i].size
                                                : adzi_utf8_valid(texts[i].bytes, texts[i].size);
        if (valid < texts[i].size) {
            char which[32] = "the text";
            if (n > 1) {
                snprintf(which, sizeof which, "text %zu", i);
            }
            adzi_error(op, ADZ_ERR_FORMAT,
                "%s is not UTF-8 at byte %zu (0x%02x); convert it to UTF-8 first", which, valid,
                (unsigned)(unsigned char)texts[i].bytes[valid]);
            return false;
        }
    }
    return true;
}

/* The n fields of one text, with the special tokens that the tokenizer adds. */
static void join(adzi_text *text, const adzi_lexicon *t, const adz_text *fields, size_t n)
{
    if (t->bos) {
        adzi_text_add(text, "xxbos ");
    }
    for (size_t i = 0; i < n; ++i) {
        if (i > 0) {
            adzi_text_add(text, " ");
        }
        if (t->fields) {
            adzi_text_format(text, "xxfld %zu ", i + 1);
        }
        if (fields[i].size > 0) {
            adzi_text_add_n(text, fields[i].bytes, fields[i].size);
        }
    }
    if (t->eos) {
        adzi_text_add(text, " xxeos");
    }
}

bool adzi_tokenizer_split(const char *op, const adzi_lexicon *t, const adz_text *fields, size_t n,
    const adzi_token_sink *sink)
{
    adzi_text text = { 0 };
    join(&text, t, fields, n);
    const bool good = adzi_apply_rules(op, &text, t->rules) &&
                      adzi_split_words(op, &text, t->rules, sink->put, sink->to);
    if (!good && (t->rules == NULL || adzi_pending() == ADZ_OK)) {
        adzi_fail_memory(op, text.length + 1);
    }
    adzi_text_free(&text);
    return good;
}

/* ---- counting ------------------------------------------------------------------------------- */

static bool count_word(void *user, adz_text word)
{
    return adzi_vocabulary_add(user, word);
}

static bool count_characters(adzi_vocabulary *all, adz_text text)
{
    const char *at = text.bytes;
    for (size_t left = text.size; left > 0;) {
        const char *first = at;
        adzi_utf8_next(&at, at + left);
        left -= (size_t)(at - first);
        if (!adzi_vocabulary_add(all, (adz_text){ first, (size_t)(at - first) })) {
            return false;
        }
    }
    return true;
}

/* ---- choosing ------------------------------------------------------------------------------- */

/* A token that may enter the vocabulary. */
typedef struct candidate {
    adz_text token;
    int64_t count;   /* how often it occurs */
    size_t position; /* its position in the order of first occurrence */
} candidate;

/* For qsort: more frequent tokens first, then those that occur earlier. */
static int by_count(const void *one, const void *other)
{
    const candidate *a = one, *b = other;
    bool before = a->count != b->count ? a->count > b->count : a->position < b->position;
    return before ? -1 : 1;
}

/* Different characters in UTF-8 sort as their code points do, and none begins another. */
static int by_bytes(const void *one, const void *other)
{
    const candidate *a = one, *b = other;
    size_t n = a->token.size < b->token.size ? a->token.size : b->token.size;
    return memcmp(a->token.bytes, b->token.bytes, n);
}

static bool add_special(adzi_lexicon *t)
{
    bool good = true;
    for (size_t i = 0; i < ADZI_SPECIAL_TOKENS && good; ++i) {
        const char *token = adzi_special_tokens[i];
        good = adzi_vocabulary_add(&t->words, (adz_text){ token, strlen(token) });
    }
    return good;
}

/* Lists the tokens that may enter the vocabulary, the most frequent first, and returns their
 * number. With special tokens, rare tokens are left out and max_vocab limits the number. */
static size_t list_candidates(const adzi_lexicon *t, const adzi_vocabulary *all,
    const adz_tokenizer_options *o, candidate *list)
{
    size_t n = 0;
    for (size_t i = 0; i < all->count; ++i) {
        adz_text token = adzi_vocabulary_get(all, i);
        bool known = t->special && (all->entries[i].count < o->min_freq ||
                                       adzi_vocabulary_find(&t->words, token) >= 0);
        if (!known) {
            list[n++] = (candidate){ token, all->entries[i].count, i };
        }
    }
    qsort(list, n, sizeof *list, by_count);
    size_t most = (size_t)o->max_vocab - ADZI_SPECIAL_TOKENS;
    return t->special && n > most ? most : n;
}

/* Fills the vocabulary. Characters get their ids in the order of code points, words in the order of
 * frequency. False if memory was refused. */
static bool choose(adzi_lexicon *t, adz_token_kind kind, const adzi_vocabulary *all,
    const adz_tokenizer_options *o)
{
    size_t bytes = (all->count + 1) * sizeof(candidate);
    candidate *list = adzi_alloc(bytes);
    bool good = list != NULL && (!t->special || add_special(t));
    if (good) {
        size_t n = list_candidates(t, all, o, list);
        if (kind == ADZ_TOKENS_CHARACTERS) {
            qsort(list, n, sizeof *list, by_bytes);
        }
        for (size_t i = 0; i < n && good; ++i) {
            good = adzi_vocabulary_add(&t->words, list[i].token);
        }
    }
    adzi_free(list, bytes);
    return good;
}

/* ---- building ------------------------------------------------------------------------------- */

static const adz_field fields[] = {
    ADZ_FIELD(adz_tokenizer_options, max_vocab, .value = 60000,
        ADZ_CLOSED(ADZI_SPECIAL_TOKENS, INT32_MAX), .hint = "the special tokens are 9"),
    ADZ_FIELD(adz_tokenizer_options, min_freq, .value = 2, ADZ_AT_LEAST(1)),
    ADZ_FIELD(adz_tokenizer_options, special_tokens, .value = false),
    ADZ_FIELD(adz_tokenizer_options, include_bos, .value = true),
    ADZ_FIELD(adz_tokenizer_options, include_eos, .value = false),
    ADZ_FIELD(adz_tokenizer_options, mark_fields, .value = false),
    ADZ_FIELD_AS(
        adz_tokenizer_options, n_fields, "n_fields", ADZ_FIELD_U64, .value = 1, ADZ_AT_LEAST(1)),
};

ADZ_OPTIONS_TABLE(adz_tokenizer_options, ADZ_TOKENIZER_OPTIONS, fields)

static bool check_options(const char *op, adz_token_kind kind, const adz_text *texts, size_t n,
    const adz_tokenizer_options *o)
{
    adz_status status = ADZ_OK;
    bool empty = true;
    for (size_t i = 0; i < n; ++i) {
        empty = empty && texts[i].size == 0;
    }
    if (n % o->n_fields != 0) {
        status = adzi_error(op, ADZ_ERR_ARGUMENT,
            "%zu texts cannot be divided into groups of n_fields = %zu", n, o->n_fields);
    } else if (kind == ADZ_TOKENS_WORDS && o->rules != NULL && !adzi_check_rules(op, o->rules)) {
        return false;
    } else if (empty && kind != ADZ_TOKENS_BYTES) {
        status =
            adzi_error(op, ADZ_ERR_ARGUMENT, "the texts are empty; a vocabulary needs a character");
    }
    return status == ADZ_OK;
}

/* Counts the tokens of all texts and chooses. False if memory was refused, or with the error of the
 * rules recorded. */
static bool build(const char *op, adzi_lexicon *t, adz_token_kind kind, const adz_text *texts,
    size_t n, const adz_tokenizer_options *o)
{
    if (kind == ADZ_TOKENS_BYTES) {
        return adzi_tokenizer_add_bytes(t);
    }
    adzi_vocabulary all = { 0 };
    const adzi_token_sink counts = { count_word, &all };
    bool words = kind == ADZ_TOKENS_WORDS, good = true;
    for (size_t i = 0; i < n && good; i += words ? o->n_fields : 1) {
        good = words ? adzi_tokenizer_split(op, t, &texts[i], o->n_fields, &counts)
                     : count_characters(&all, texts[i]);
    }
    good = good && choose(t, kind, &all, o);
    adzi_vocabulary_free(&all);
    return good;
}

adz_tokenizer *adz_tokenizer_build(
    adz_token_kind kind, const adz_text *texts, size_t n, const adz_tokenizer_options *options)
{
    ADZI_NOT_CAPTURED(ADZI_MAKES_OBJECT, NULL);
    static const char op[] = "adz_tokenizer_build";
    adz_tokenizer_options o;
    if (!adz_options_take(op, &adz_tokenizer_options_table, &o, options)) {
        return NULL;
    }
    if (kind != ADZ_TOKENS_CHARACTERS && kind != ADZ_TOKENS_BYTES && kind != ADZ_TOKENS_WORDS) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT, "kind is %d, which is no adz_token_kind", (int)kind);
    }
    if (!adzi_tokenizer_check_texts(op, kind, texts, n) || !check_options(op, kind, texts, n, &o)) {
        return NULL;
    }
    adz_tokenizer *t = adzi_tokenizer_new(op, kind);
    if (t == NULL) {
        return NULL;
    }
    bool words = kind == ADZ_TOKENS_WORDS;
    adzi_lexicon *l = adzi_lexicon_of(t);
    l->special = words || (kind == ADZ_TOKENS_CHARACTERS && o.special_tokens);
    l->rules = words ? o.rules : NULL;
    l->bos = words && o.include_bos;
    l->eos = words && o.include_eos;
    l->fields = words && o.mark_fields;
    if (!build(op, l, kind, texts, n, &o)) {
        adz_tokenizer_free(&t);
        return o.rules != NULL && adzi_pending() != ADZ_OK ? NULL : adzi_fail_memory(op, sizeof *t);
    }
    return t;
}
