/* The values of a GGUF file by their keys, and the order of names. */
#include <string.h>

#include "gguf.h"

size_t adzi_gguf_width(gguf_type type)
{
    static const size_t widths[GGUF_TYPES] = { [GGUF_U8] = 1,
        [GGUF_I8] = 1,
        [GGUF_U16] = 2,
        [GGUF_I16] = 2,
        [GGUF_U32] = 4,
        [GGUF_I32] = 4,
        [GGUF_F32] = 4,
        [GGUF_BOOL] = 1,
        [GGUF_U64] = 8,
        [GGUF_I64] = 8,
        [GGUF_F64] = 8 };
    return widths[type];
}

/* ---- the order of names --------------------------------------------------------------------- */

static const char *name_of(const adz_gguf *file, const void *records, size_t size, size_t i)
{
    const gguf_bytes *name = (const void *)((const char *)records + i * size);
    return adzi_gguf_chars(file, *name);
}

/* A heap sort, which takes no memory and no more than n log n steps. */
void adzi_gguf_sort(
    const adz_gguf *file, size_t *order, const void *records, size_t count, size_t size)
{
    for (size_t i = 0; i < count; ++i) {
        order[i] = i;
    }
    size_t begin = count / 2, end = count;
    while (end > 1) {
        size_t moved;
        if (begin > 0) {
            moved = order[--begin];
        } else {
            moved = order[--end];
            order[end] = order[0];
        }
        size_t at = begin, child = 2 * begin + 1;
        for (; child < end; child = 2 * at + 1) {
            if (child + 1 < end && strcmp(name_of(file, records, size, order[child]),
                                       name_of(file, records, size, order[child + 1])) < 0) {
                ++child;
            }
            if (strcmp(name_of(file, records, size, moved),
                    name_of(file, records, size, order[child])) >= 0) {
                break;
            }
            order[at] = order[child];
            at = child;
        }
        order[at] = moved;
    }
}

size_t adzi_gguf_search(const adz_gguf *file, const size_t *order, const void *records,
    size_t count, size_t size, const char *name)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int sign = strcmp(name_of(file, records, size, order[middle]), name);
        if (sign == 0) {
            return order[middle];
        }
        if (sign < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return count;
}

/* ---- values --------------------------------------------------------------------------------- */

static const gguf_value *find(const adz_gguf *file, const char *key)
{
    const size_t i = adzi_gguf_search(
        file, file->values_by_name, file->values, file->n_values, sizeof *file->values, key);
    return i < file->n_values ? &file->values[i] : NULL;
}

/* The value of a key; NULL with the error recorded. */
static const gguf_value *value_of(const char *op, const adz_gguf *file, const char *key)
{
    if (file == NULL || key == NULL) {
        adz_error_null(op, file == NULL ? "file" : "key");
        return NULL;
    }
    const gguf_value *v = find(file, key);
    if (v == NULL) {
        adz_error_format(op, ADZ_ERR_ARGUMENT, "%s: there is no value %s", file->path, key);
    }
    return v;
}

static adz_gguf_kind kind_of_type(gguf_type type)
{
    return type == GGUF_TEXT                      ? ADZ_GGUF_KIND_TEXT
           : type == GGUF_BOOL                    ? ADZ_GGUF_KIND_BOOL
           : type == GGUF_F32 || type == GGUF_F64 ? ADZ_GGUF_KIND_REAL
                                                  : ADZ_GGUF_KIND_INTEGER;
}

static adz_gguf_kind kind_of(const gguf_value *v)
{
    return v == NULL ? ADZ_GGUF_KIND_NONE : v->array ? ADZ_GGUF_KIND_ARRAY : kind_of_type(v->type);
}

adz_gguf_kind adz_gguf_kind_of(const adz_gguf *file, const char *key)
{
    return file == NULL || key == NULL ? ADZ_GGUF_KIND_NONE : kind_of(find(file, key));
}

static const char *const kinds[] = { "nothing", "an integer", "a real number", "a bool", "a text",
    "an array" };

static adz_status other_kind(
    const char *op, const adz_gguf *file, const gguf_value *v, const char *want)
{
    return adz_error_format(op, ADZ_ERR_FORMAT, "%s: value %s is %s%s, but must be %s", file->path,
        adzi_gguf_chars(file, v->key), kinds[kind_of(v)],
        v->array ? (v->type == GGUF_TEXT ? " of texts" : " of numbers") : "", want);
}

/* A number that is signed has its sign extended. */
static int64_t integer_at(const uint8_t *at, gguf_type type)
{
    const size_t width = adzi_gguf_width(type);
    const uint64_t bits = adzi_gguf_number(at, width);
    switch (type) {
    case GGUF_I8:
        return (int8_t)bits;
    case GGUF_I16:
        return (int16_t)bits;
    case GGUF_I32:
        return (int32_t)bits;
    default:
        return (int64_t)bits;
    }
}

static double real_at(const uint8_t *at, gguf_type type)
{
    if (type == GGUF_F32) {
        float x;
        memcpy(&x, at, sizeof x);
        return x;
    }
    if (type == GGUF_F64) {
        double x;
        memcpy(&x, at, sizeof x);
        return x;
    }
    if (type == GGUF_U64) {
        return (double)adzi_gguf_number(at, 8);
    }
    return (double)integer_at(at, type);
}

adz_status adz_gguf_integer(const adz_gguf *file, const char *key, int64_t *value)
{
    static const char op[] = "adz_gguf_integer";
    const gguf_value *v = value_of(op, file, key);
    if (v == NULL) {
        return adz_error_code();
    }
    if (value == NULL) {
        return adz_error_null(op, "value");
    }
    if (kind_of(v) != ADZ_GGUF_KIND_INTEGER) {
        return other_kind(op, file, v, "an integer");
    }
    const int64_t number = integer_at(file->head + v->at, v->type);
    if (v->type == GGUF_U64 && number < 0) {
        return adz_error_format(
            op, ADZ_ERR_FORMAT, "%s: value %s is beyond int64", file->path, key);
    }
    *value = number;
    return ADZ_OK;
}

adz_status adz_gguf_real(const adz_gguf *file, const char *key, double *value)
{
    static const char op[] = "adz_gguf_real";
    const gguf_value *v = value_of(op, file, key);
    if (v == NULL) {
        return adz_error_code();
    }
    if (value == NULL) {
        return adz_error_null(op, "value");
    }
    if (kind_of(v) != ADZ_GGUF_KIND_INTEGER && kind_of(v) != ADZ_GGUF_KIND_REAL) {
        return other_kind(op, file, v, "a number");
    }
    *value = real_at(file->head + v->at, v->type);
    return ADZ_OK;
}

adz_status adz_gguf_bool(const adz_gguf *file, const char *key, bool *value)
{
    static const char op[] = "adz_gguf_bool";
    const gguf_value *v = value_of(op, file, key);
    if (v == NULL) {
        return adz_error_code();
    }
    if (value == NULL) {
        return adz_error_null(op, "value");
    }
    if (kind_of(v) != ADZ_GGUF_KIND_BOOL) {
        return other_kind(op, file, v, "a bool");
    }
    *value = file->head[v->at] != 0;
    return ADZ_OK;
}

const char *adz_gguf_text(const adz_gguf *file, const char *key)
{
    static const char op[] = "adz_gguf_text";
    const gguf_value *v = value_of(op, file, key);
    if (v == NULL) {
        return NULL;
    }
    if (kind_of(v) != ADZ_GGUF_KIND_TEXT) {
        other_kind(op, file, v, "a text");
        return NULL;
    }
    const char *text = adzi_gguf_chars(file, v->text);
    if (strlen(text) != v->text.size) {
        return models_fail(op, ADZ_ERR_FORMAT, "%s: value %s has a zero byte", file->path, key);
    }
    return text;
}

adz_status adz_gguf_count(const adz_gguf *file, const char *key, size_t *count)
{
    static const char op[] = "adz_gguf_count";
    const gguf_value *v = value_of(op, file, key);
    if (v == NULL) {
        return adz_error_code();
    }
    if (count == NULL) {
        return adz_error_null(op, "count");
    }
    if (!v->array) {
        return other_kind(op, file, v, "an array");
    }
    *count = v->count;
    return ADZ_OK;
}

/* The array of a key, whose element `index` is asked for; NULL with the error recorded. */
static const gguf_value *array_of(
    const char *op, const adz_gguf *file, const char *key, size_t index, bool texts)
{
    const gguf_value *v = value_of(op, file, key);
    if (v != NULL && (!v->array || (v->type == GGUF_TEXT) != texts)) {
        other_kind(op, file, v, texts ? "an array of texts" : "an array of numbers");
        return NULL;
    }
    if (v != NULL && index >= v->count) {
        return models_fail(op, ADZ_ERR_INDEX, "%s: value %s has %zu elements, none of number %zu",
            file->path, key, v->count, index);
    }
    return v;
}

const char *adz_gguf_text_at(const adz_gguf *file, const char *key, size_t index, size_t *size)
{
    static const char op[] = "adz_gguf_text_at";
    const gguf_value *v = array_of(op, file, key, index, true);
    if (v == NULL) {
        return NULL;
    }
    if (size == NULL) {
        adz_error_null(op, "size");
        return NULL;
    }
    *size = v->texts[index].size;
    return adzi_gguf_chars(file, v->texts[index]);
}

adz_status adz_gguf_real_at(const adz_gguf *file, const char *key, size_t index, double *value)
{
    static const char op[] = "adz_gguf_real_at";
    const gguf_value *v = array_of(op, file, key, index, false);
    if (v == NULL) {
        return adz_error_code();
    }
    if (value == NULL) {
        return adz_error_null(op, "value");
    }
    *value = real_at(file->head + v->at + index * adzi_gguf_width(v->type), v->type);
    return ADZ_OK;
}
