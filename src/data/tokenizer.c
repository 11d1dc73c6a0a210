/* Tokenizers of any type: making them, the way from text to ids (encoding) and back (decoding). */
#include "data/tokenizer.h"
#include "base/capture.h"

#include <string.h>

#include "base/door.h"
#include "base/source.h"
#include "data/unicode.h"
#include "base/alloc.h"
#include "tensor/copy.h"
#include "base/error.h"
#include "base/handle.h"
#include "tensor/tensor.h"

/* ---- making and ending ---------------------------------------------------------------------- */

static bool check_type(const char *op, const adz_tokenizer_type *type)
{
    if (type == NULL) {
        adzi_error_null(op, "type");
        return false;
    }
    if (type->size < sizeof *type) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "the type's size is %zu; set it to sizeof(adz_tokenizer_type)", type->size);
        return false;
    }
    const char *missing = type->name == NULL     ? "name"
                          : type->encode == NULL ? "encode"
                          : type->count == NULL  ? "count"
                          : type->token == NULL  ? "token"
                          : type->id == NULL     ? "id"
                                                 : NULL;
    if (missing != NULL) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "the type has no %s", missing);
    }
    return missing == NULL;
}

adz_tokenizer *adz_tokenizer_new(const adz_tokenizer_type *type, size_t state_size)
{
    ADZI_NOT_CAPTURED(ADZI_MAKES_OBJECT, NULL);
    static const char op[] = "adz_tokenizer_new";
    if (!check_type(op, type)) {
        return NULL;
    }
    if (state_size > PTRDIFF_MAX / 2) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT, "a state of %zu bytes cannot be", state_size);
    }
    adz_tokenizer *t = adzi_handle_new(sizeof *t + state_size);
    if (t == NULL) {
        return adzi_fail_memory(op, sizeof *t + state_size);
    }
    t->type = type;
    t->state_size = state_size;
    return t;
}

void adz_tokenizer_free(adz_tokenizer **address)
{
    adz_tokenizer *gone = adzi_handle_take("adz_tokenizer_free", "tokenizer", address);
    if (gone != NULL) {
        if (gone->type->end != NULL) {
            gone->type->end(gone);
        }
        adzi_handle_end(gone, sizeof *gone + gone->state_size);
    }
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
    const int64_t count = t->type->count(t);
    if (id < 0 || id >= count) {
        adzi_error(op, ADZ_ERR_INDEX, "id %lld is outside the vocabulary's %lld tokens",
            (long long)id, (long long)count);
        return false;
    }
    return true;
}

void *adz_tokenizer_data(const adz_tokenizer *tokenizer)
{
    bool any = check("adz_tokenizer_data", tokenizer) && tokenizer->state_size > 0;
    return any ? (void *)(uintptr_t)tokenizer->state : NULL;
}

const adz_tokenizer_type *adz_tokenizer_type_of(const adz_tokenizer *tokenizer)
{
    return check("adz_tokenizer_type_of", tokenizer) ? tokenizer->type : NULL;
}

adz_token_kind adz_tokenizer_kind(const adz_tokenizer *tokenizer)
{
    if (!check("adz_tokenizer_kind", tokenizer)) {
        return ADZ_TOKENS_CHARACTERS;
    }
    int kind = 0;
    while (kind < ADZI_TOKEN_KINDS && adzi_token_kinds[kind] != tokenizer->type) {
        ++kind;
    }
    return (adz_token_kind)kind;
}

int64_t adz_tokenizer_count(const adz_tokenizer *tokenizer)
{
    return check("adz_tokenizer_count", tokenizer) ? tokenizer->type->count(tokenizer) : -1;
}

bool adz_tokenizer_has_special(const adz_tokenizer *tokenizer)
{
    return tokenizer != NULL && adz_tokenizer_kind(tokenizer) != ADZ_TOKENS_OTHER &&
           adzi_lexicon_of(tokenizer)->special;
}

adz_text adz_tokenizer_token(const adz_tokenizer *tokenizer, int64_t id)
{
    return adzi_tokenizer_check_id("adz_tokenizer_token", tokenizer, id)
               ? tokenizer->type->token(tokenizer, id)
               : (adz_text){ NULL, 0 };
}

int64_t adz_tokenizer_id(const adz_tokenizer *tokenizer, adz_text token)
{
    bool usable = tokenizer != NULL && (token.bytes != NULL || token.size == 0);
    return usable ? tokenizer->type->id(tokenizer, token) : -1;
}

/* ---- encoding ------------------------------------------------------------------------------- */

/* The ids of a text, as they come. */
typedef struct encoding {
    const char *op;
    int64_t *ids;
    size_t count, capacity;
    bool refused; /* memory was refused */
} encoding;

static bool put_ids(void *to, const int64_t *ids, size_t n)
{
    encoding *e = to;
    if (e->refused || !adzi_grow(&e->ids, &e->capacity, e->count + n, sizeof *e->ids)) {
        e->refused = true;
        return false;
    }
    if (n > 0) {
        memcpy(e->ids + e->count, ids, n * sizeof *ids);
    }
    e->count += n;
    return true;
}

static bool check_fields(const char *op, const adz_text *fields, size_t n)
{
    if (fields == NULL && n > 0) {
        adzi_error_null(op, "fields");
        return false;
    }
    for (size_t i = 0; i < n; ++i) {
        if (fields[i].bytes == NULL && fields[i].size > 0) {
            adzi_error_null(op, "a text");
            return false;
        }
    }
    return true;
}

static adz_tensor *encode(const char *op, const adz_tokenizer *t, const adz_text *fields, size_t n)
{
    encoding e = { .op = op };
    if (!check(op, t) || !check_fields(op, fields, n)) {
        return NULL;
    }
    adz_tensor *ids = NULL;
    if (t->type->encode(op, t, fields, n, put_ids, &e) && !e.refused) {
        ids = adz_tensor_from(e.ids, ADZ_SHAPE((int64_t)e.count), ADZ_I64);
    } else if (e.refused) {
        adzi_fail_memory(op, (e.count + 1) * sizeof *e.ids);
    } else {
        adzi_callback_failed(
            op, ADZ_ERR_ARGUMENT, "the tokenizer \"%s\" failed on a text", t->type->name);
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

static bool put_window(void *to, adz_text piece)
{
    put(to, piece.bytes, piece.size);
    return true;
}

static bool put_byte_by_byte(void *to, adz_text piece)
{
    return adzi_utf8_repair(to, piece);
}

bool adzi_tokenizer_decode(const adz_tokenizer *t, void *notes, const int64_t *ids, size_t n,
    bool last, adz_token_put put_token, void *to)
{
    if (t->type->decode != NULL) {
        return t->type->decode(t, notes, ids, n, last, put_token, to);
    }
    bool good = true;
    for (size_t i = 0; i < n && good; ++i) {
        good = put_token(to, t->type->token(t, ids[i]));
    }
    return good;
}

/* Writes the text of n ids. */
static bool decode(const char *op, const adz_tokenizer *t, const int64_t *ids, int64_t n, window *w)
{
    for (int64_t i = 0; i < n; ++i) {
        if (!adzi_tokenizer_check_id(op, t, ids[i])) {
            return false;
        }
    }
    alignas(max_align_t) char notes[ADZ_TOKENIZER_NOTES] = { 0 };
    adzi_utf8_repairing repairing = { .put = put_window, .to = w };
    const bool repairs = t->type->replace_invalid;
    const bool good = adzi_tokenizer_decode(t, notes, ids, (size_t)n, true,
        repairs ? put_byte_by_byte : put_window, repairs ? (void *)&repairing : (void *)w);
    if (!good) {
        adzi_callback_failed(
            op, ADZ_ERR_ARGUMENT, "the tokenizer \"%s\" failed on ids", t->type->name);
    } else if (repairs) {
        adzi_utf8_repair_end(&repairing);
    }
    return good;
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
