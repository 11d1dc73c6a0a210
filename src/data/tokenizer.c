/* Tokenizers: making them, and the way from text to ids (encoding) and back (decoding). */
#include "data/tokenizer.h"
#include "base/capture.h"

#include <string.h>

#include "base/source.h"
#include "data/unicode.h"
#include "base/alloc.h"
#include "tensor/copy.h"
#include "base/error.h"
#include "base/handle.h"
#include "tensor/tensor.h"

adz_tokenizer *adzi_tokenizer_new(const char *op, adz_token_kind kind)
{
    adz_tokenizer *t = adzi_handle_new(sizeof *t);
    if (t == NULL) {
        return adzi_fail_memory(op, sizeof *t);
    }
    t->kind = kind;
    return t;
}

void adz_tokenizer_free(adz_tokenizer **address)
{
    adz_tokenizer *gone = adzi_handle_take("adz_tokenizer_free", "tokenizer", address);
    if (gone != NULL) {
        adzi_vocabulary_free(&gone->words);
        adzi_handle_end(gone, sizeof *gone);
    }
}

bool adzi_tokenizer_add_bytes(adz_tokenizer *t)
{
    bool good = true;
    for (int i = 0; i < 256 && good; ++i) {
        char byte = (char)(unsigned char)i;
        good = adzi_vocabulary_add(&t->words, (adz_text){ &byte, 1 });
    }
    return good;
}

/* ---- kind, size and tokens ------------------------------------------------------------------ */

static bool check(const char *op, const adz_tokenizer *t)
{
    return adzi_check_handle(op, "tokenizer", t);
}

bool adzi_tokenizer_check_id(const char *op, const adz_tokenizer *t, int64_t id)
{
    if (!check(op, t)) {
        return false;
    }
    if (id < 0 || (uint64_t)id >= t->words.count) {
        adzi_error(op, ADZ_ERR_INDEX, "id %lld is outside the vocabulary's %zu tokens",
            (long long)id, t->words.count);
        return false;
    }
    return true;
}

adz_token_kind adz_tokenizer_kind(const adz_tokenizer *tokenizer)
{
    return check("adz_tokenizer_kind", tokenizer) ? tokenizer->kind : ADZ_TOKENS_CHARACTERS;
}

int64_t adz_tokenizer_count(const adz_tokenizer *tokenizer)
{
    return check("adz_tokenizer_count", tokenizer) ? (int64_t)tokenizer->words.count : -1;
}

bool adz_tokenizer_has_special(const adz_tokenizer *tokenizer)
{
    return tokenizer != NULL && tokenizer->special;
}

adz_text adz_tokenizer_token(const adz_tokenizer *tokenizer, int64_t id)
{
    return adzi_tokenizer_check_id("adz_tokenizer_token", tokenizer, id)
               ? adzi_vocabulary_get(&tokenizer->words, (size_t)id)
               : (adz_text){ NULL, 0 };
}

int64_t adz_tokenizer_id(const adz_tokenizer *tokenizer, adz_text token)
{
    bool usable = tokenizer != NULL && (token.bytes != NULL || token.size == 0);
    return usable ? adzi_vocabulary_find(&tokenizer->words, token) : -1;
}

/* ---- encoding ------------------------------------------------------------------------------- */

/* A text that is being encoded. */
typedef struct encoding {
    const char *op;
    const adz_tokenizer *t;
    int64_t *ids; /* the ids so far */
    size_t count, capacity;
} encoding;

static bool add_id(encoding *e, int64_t id)
{
    if (!adzi_grow(&e->ids, &e->capacity, e->count + 1, sizeof *e->ids)) {
        adzi_fail_memory(e->op, (e->count + 1) * sizeof *e->ids);
        return false;
    }
    e->ids[e->count++] = id;
    return true;
}

/* Receives the words of a text and appends their ids. An unknown word becomes xxunk. */
static bool take_word(void *user, adz_text word)
{
    encoding *e = user;
    int64_t id = adzi_vocabulary_find(&e->t->words, word);
    return add_id(e, id >= 0 ? id : ADZ_XXUNK);
}

static bool encode_characters(encoding *e, const adz_text *text)
{
    const char *at = text->bytes, *end = at + text->size;
    while (at < end) {
        const char *first = at;
        uint32_t point = adzi_utf8_next(&at, end);
        adz_text character = { first, (size_t)(at - first) };
        int64_t id = adzi_vocabulary_find(&e->t->words, character);
        if (id < 0 && !e->t->special) {
            adzi_shown shown;
            adzi_error(e->op, ADZ_ERR_ARGUMENT,
                "the character '%s' (U+%04X) at byte %zu is not in the vocabulary",
                adzi_show_bytes(&shown, first, character.size), (unsigned)point,
                (size_t)(first - text->bytes));
            return false;
        }
        if (!add_id(e, id >= 0 ? id : ADZ_XXUNK)) {
            return false;
        }
    }
    return true;
}

static bool encode_bytes(encoding *e, const adz_text *text)
{
    bool good = true;
    for (size_t i = 0; i < text->size && good; ++i) {
        good = add_id(e, (unsigned char)text->bytes[i]);
    }
    return good;
}

static bool encode_all(encoding *e, const adz_text *fields, size_t n)
{
    if (e->t->kind == ADZ_TOKENS_WORDS) {
        return adzi_tokenizer_split(e->op, e->t, fields, n, &(adzi_token_sink){ take_word, e });
    }
    bool good = true;
    for (size_t i = 0; i < n && good; ++i) {
        good = fields[i].size == 0 ||
               (e->t->kind == ADZ_TOKENS_BYTES ? encode_bytes(e, &fields[i])
                                               : encode_characters(e, &fields[i]));
    }
    return good;
}

static adz_tensor *encode(const char *op, const adz_tokenizer *t, const adz_text *fields, size_t n)
{
    encoding e = { .op = op, .t = t };
    if (!check(op, t) || !adzi_tokenizer_check_texts(op, t->kind, fields, n)) {
        return NULL;
    }
    adz_tensor *ids = NULL;
    if (encode_all(&e, fields, n)) {
        ids = adz_tensor_from(e.ids, ADZ_SHAPE((int64_t)e.count), ADZ_I64);
    }
    adzi_free(e.ids, e.capacity * sizeof *e.ids);
    return ids;
}

adz_tensor *adz_tokenizer_encode(const adz_tokenizer *tokenizer, const char *text, size_t size)
{
    ADZI_NOT_CAPTURED(ADZI_USES_ELEMENTS, NULL);
    return encode("adz_tokenizer_encode", tokenizer, &(adz_text){ text, size }, 1);
}

adz_tensor *adz_tokenizer_encode_fields(
    const adz_tokenizer *tokenizer, const adz_text *fields, size_t n)
{
    ADZI_NOT_CAPTURED(ADZI_USES_ELEMENTS, NULL);
    return encode("adz_tokenizer_encode_fields", tokenizer, fields, n);
}

/* ---- decoding ------------------------------------------------------------------------------- */

/* The caller's buffer, which has `room` bytes besides the final 0. `length` counts all bytes of the
 * text, also the bytes that do not fit into the buffer. */
typedef struct window {
    char *buffer;
    size_t room, length;
} window;

static void put(window *w, const char *bytes, size_t n)
{
    if (w->length < w->room) {
        size_t left = w->room - w->length;
        memcpy(w->buffer + w->length, bytes, n < left ? n : left);
    }
    w->length += n;
}

/* The ids as contiguous i64, in a copy that belongs to the scope. */
static const int64_t *read_ids(const char *op, const adz_tensor *ids)
{
    if (ids == NULL) {
        return adzi_fail_null(op, "ids");
    }
    if (ids->dtype != ADZ_I64 && ids->dtype != ADZ_I32 && ids->dtype != ADZ_U8) {
        return adzi_fail(op, ADZ_ERR_DTYPE, "ids are %s, but must be integers",
            adz_dtype_name((adz_dtype)ids->dtype));
    }
    adz_tensor *whole = adz_empty(adz_shape_of(ids->rank, ids->sizes), ADZ_I64);
    if (whole != NULL) {
        adzi_copy(whole, ids);
    }
    return whole == NULL ? NULL : (const int64_t *)(const void *)whole->data;
}

/* Writes the tokens of n ids. Words are separated by spaces. */
static bool decode(const char *op, const adz_tokenizer *t, const int64_t *ids, int64_t n, window *w)
{
    for (int64_t i = 0; i < n; ++i) {
        if (!adzi_tokenizer_check_id(op, t, ids[i])) {
            return false;
        }
        adz_text token = adzi_vocabulary_get(&t->words, (size_t)ids[i]);
        if (i > 0 && t->kind == ADZ_TOKENS_WORDS) {
            put(w, " ", 1);
        }
        put(w, token.bytes, token.size);
    }
    return true;
}

size_t adz_tokenizer_decode(
    const adz_tokenizer *tokenizer, const adz_tensor *ids, char *buffer, size_t size)
{
    ADZI_NOT_CAPTURED(ADZI_USES_ELEMENTS, 0);
    static const char op[] = "adz_tokenizer_decode";
    window w = { buffer, buffer != NULL && size > 0 ? size - 1 : 0, 0 };
    if (!check(op, tokenizer)) {
        return 0;
    }
    adz_scope *scope = adz_scope_open();
    const int64_t *numbers = scope == NULL ? NULL : read_ids(op, ids);
    bool good = numbers != NULL && decode(op, tokenizer, numbers, ids->numel, &w);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    w.length = good ? w.length : 0;
    if (buffer != NULL && size > 0) {
        buffer[w.length < size ? w.length : size - 1] = '\0';
    }
    return w.length;
}
