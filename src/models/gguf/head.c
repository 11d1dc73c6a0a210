/* Reads what stands before the elements of a GGUF file. */
#include <string.h>

#include "gguf.h"

enum {
    STEP = 1 << 16,          /* bytes that are read at a time */
    LONGEST_KEY = 65535,     /* bytes of a key or a name, as the format has it */
    LEAST_VALUE = 8 + 4 + 1, /* bytes that a value takes at least: an empty key, type, one byte */
    LEAST_TENSOR = 8 + 4 + 4 + 8,
    LARGEST_ALIGNMENT = 1 << 20
};

/* The reader: the file, where it reads in the head, and which entry it reads, for messages. */
typedef struct reader {
    adz_gguf *file;
    size_t at;
    const char *what; /* "value" or "tensor" */
    size_t number;
    gguf_bytes name; /* of the entry, once it is known */
    uint64_t alignment;
} reader;

static bool fail(const reader *r, adz_status status, const char *message)
{
    const adz_gguf *file = r->file;
    const int shown = r->name.size < GGUF_SHOWN ? (int)r->name.size : GGUF_SHOWN;
    if (r->what == NULL) {
        adz_error_format("adz_gguf_open", status, "%s: %s", file->path, message);
    } else if (shown > 0) {
        adz_error_format("adz_gguf_open", status, "%s: %s %.*s %s", file->path, r->what, shown,
            adzi_gguf_chars(file, r->name), message);
    } else {
        adz_error_format("adz_gguf_open", status, "%s: %s number %zu %s", file->path, r->what,
            r->number, message);
    }
    return false;
}

/* Makes the next `size` bytes available. Bytes are read in steps, so that memory grows with what
 * was read. */
static bool need(reader *r, uint64_t size)
{
    adz_gguf *f = r->file;
    if (size > f->size - r->at) {
        return fail(r, ADZ_ERR_FORMAT,
            r->what != NULL ? "ends behind the file" : "is too short for a file of GGUF");
    }
    const size_t end = r->at + (size_t)size;
    while (f->head_size < end) {
        const size_t left = (size_t)(f->size - f->head_size), step = left < STEP ? left : STEP;
        if (f->head_size + step > f->head_capacity) {
            const size_t capacity = 2 * f->head_capacity + STEP;
            uint8_t *larger = adzi_models_alloc(capacity);
            if (larger == NULL) {
                return false;
            }
            if (f->head_size > 0) {
                memcpy(larger, f->head, f->head_size);
            }
            adzi_models_free(f->head);
            f->head = larger;
            f->head_capacity = capacity;
        }
        if (fread(f->head + f->head_size, 1, step, f->stream) != step) {
            return fail(r, ADZ_ERR_IO, "cannot be read");
        }
        f->head_size += step;
    }
    return true;
}

static bool take(reader *r, size_t width, uint64_t *number)
{
    if (!need(r, width)) {
        return false;
    }
    *number = adzi_gguf_number(r->file->head + r->at, width);
    r->at += width;
    return true;
}

static bool take_text(reader *r, gguf_bytes *text)
{
    uint64_t size;
    if (!take(r, 8, &size) || !need(r, size)) {
        return false;
    }
    *text = (gguf_bytes){ r->at, (size_t)size };
    r->at += (size_t)size;
    return true;
}

/* A key of a value or the name of a tensor. */
static bool take_name(reader *r, gguf_bytes *name)
{
    r->name = (gguf_bytes){ 0 };
    gguf_bytes text;
    if (!take_text(r, &text)) {
        return false;
    }
    const bool zero = memchr(r->file->head + text.at, 0, text.size) != NULL;
    if (text.size == 0 || text.size > LONGEST_KEY || zero) {
        return fail(r, ADZ_ERR_FORMAT, "has no name of 1 to 65535 bytes without a zero byte");
    }
    *name = r->name = text;
    return true;
}

static bool take_texts(reader *r, gguf_value *v)
{
    v->texts = adzi_models_alloc((v->count + 1) * sizeof *v->texts);
    for (size_t i = 0; v->texts != NULL && i < v->count; ++i) {
        if (!take_text(r, &v->texts[i])) {
            return false;
        }
    }
    return v->texts != NULL;
}

static bool take_array(reader *r, gguf_value *v)
{
    uint64_t type, count;
    if (!take(r, 4, &type) || !take(r, 8, &count)) {
        return false;
    }
    if (type >= GGUF_TYPES || type == GGUF_ARRAY) {
        return fail(r, type == GGUF_ARRAY ? ADZ_ERR_UNSUPPORTED : ADZ_ERR_FORMAT,
            type == GGUF_ARRAY ? "is an array of arrays" : "has elements of an unknown type");
    }
    v->type = (gguf_type)type;
    v->array = true;
    const size_t width = v->type == GGUF_TEXT ? 8 : adzi_gguf_width(v->type);
    if (count > (r->file->size - r->at) / width) {
        return fail(r, ADZ_ERR_FORMAT, "has more elements than the file has bytes for");
    }
    v->count = (size_t)count;
    v->at = r->at;
    if (v->type == GGUF_TEXT) {
        return take_texts(r, v);
    }
    const size_t bytes = v->count * width;
    const bool good = need(r, bytes);
    r->at += good ? bytes : 0;
    return good;
}

static bool take_value(reader *r, gguf_value *v)
{
    uint64_t type, bits = 0;
    if (!take_name(r, &v->key) || !take(r, 4, &type)) {
        return false;
    }
    if (type >= GGUF_TYPES) {
        return fail(r, ADZ_ERR_FORMAT, "is of an unknown type");
    }
    v->type = (gguf_type)type;
    if (v->type == GGUF_ARRAY) {
        return take_array(r, v);
    }
    if (v->type == GGUF_TEXT) {
        return take_text(r, &v->text);
    }
    v->at = r->at;
    if (!take(r, adzi_gguf_width(v->type), &bits)) {
        return false;
    }
    return v->type != GGUF_BOOL || bits <= 1 ||
           fail(r, ADZ_ERR_FORMAT, "is a bool that is neither 0 nor 1");
}

/* Computes the bytes of a tensor of a known type. */
static bool measure(reader *r, gguf_tensor *t)
{
    const gguf_storage *storage = adzi_gguf_storage_of(t->type);
    uint64_t count = 1;
    for (int i = 0; i < t->shape.rank; ++i) {
        const uint64_t size = (uint64_t)t->shape.sizes[i];
        if (size > INT64_MAX || (size > 0 && count > (uint64_t)INT64_MAX / 1024 / size)) {
            return fail(r, ADZ_ERR_FORMAT, "has sizes that overflow");
        }
        count *= size;
    }
    if (storage == NULL) {
        return true;
    }
    if (t->shape.sizes[t->shape.rank - 1] % storage->block != 0) {
        return fail(r, ADZ_ERR_FORMAT, "has rows that are no whole blocks");
    }
    t->bytes = count / (uint64_t)storage->block * (uint64_t)storage->bytes;
    return true;
}

static bool take_tensor(reader *r, gguf_tensor *t)
{
    uint64_t rank, type, size;
    if (!take_name(r, &t->name) || !take(r, 4, &rank)) {
        return false;
    }
    if (rank < 1 || rank > ADZ_MAX_RANK) {
        return fail(r, ADZ_ERR_FORMAT, "has a number of dimensions outside 1 .. 8");
    }
    t->shape.rank = (int)rank;
    for (int i = t->shape.rank - 1; i >= 0; --i) {
        if (!take(r, 8, &size)) {
            return false;
        }
        if (size > INT64_MAX) {
            return fail(r, ADZ_ERR_FORMAT, "has sizes that overflow");
        }
        t->shape.sizes[i] = (int64_t)size;
    }
    if (!take(r, 4, &type) || !take(r, 8, &t->offset)) {
        return false;
    }
    t->type = (uint32_t)type;
    return measure(r, t);
}

/* Moves a text one byte to the front, over the last byte of its length, and ends it by a zero. */
static void end_by_zero(adz_gguf *f, gguf_bytes *text)
{
    memmove(f->head + text->at - 1, f->head + text->at, text->size);
    --text->at;
    f->head[text->at + text->size] = 0;
}

static void end_texts(adz_gguf *f)
{
    for (size_t i = 0; i < f->n_values; ++i) {
        gguf_value *v = &f->values[i];
        end_by_zero(f, &v->key);
        if (v->type == GGUF_TEXT && !v->array) {
            end_by_zero(f, &v->text);
        }
    }
    for (size_t i = 0; i < f->n_tensors; ++i) {
        end_by_zero(f, &f->tensors[i].name);
    }
}

/* Sorts records by name. False if two have one name. */
static bool index_names(
    reader *r, const char *what, const void *records, size_t count, size_t size, size_t **order)
{
    const adz_gguf *f = r->file;
    *order = adzi_models_alloc((count + 1) * sizeof **order);
    if (*order == NULL) {
        return false;
    }
    adzi_gguf_sort(f, *order, records, count, size);
    for (size_t i = 1; i < count; ++i) {
        const gguf_bytes *a = (const void *)((const char *)records + (*order)[i - 1] * size);
        const gguf_bytes *b = (const void *)((const char *)records + (*order)[i] * size);
        if (strcmp(adzi_gguf_chars(f, *a), adzi_gguf_chars(f, *b)) == 0) {
            r->what = what;
            r->name = *b;
            return fail(r, ADZ_ERR_FORMAT, "is there twice");
        }
    }
    return true;
}

/* Finds the alignment and checks where the tensors lie. */
static bool check_offsets(reader *r)
{
    adz_gguf *f = r->file;
    int64_t alignment = 32;
    r->what = NULL;
    if (adz_gguf_kind_of(f, "general.alignment") != ADZ_GGUF_KIND_NONE &&
        adz_gguf_integer(f, "general.alignment", &alignment) != ADZ_OK) {
        return false;
    }
    if (alignment < 1 || alignment > LARGEST_ALIGNMENT || (alignment & (alignment - 1)) != 0) {
        return fail(r, ADZ_ERR_FORMAT, "general.alignment is no power of two up to 2^20");
    }
    const uint64_t unit = (uint64_t)alignment;
    f->data = (r->at + unit - 1) / unit * unit;
    r->what = "tensor";
    for (size_t i = 0; i < f->n_tensors; ++i) {
        const gguf_tensor *t = &f->tensors[i];
        r->name = t->name;
        if (t->offset % unit != 0) {
            return fail(r, ADZ_ERR_FORMAT, "begins at an offset that is not aligned");
        }
        if (f->data > f->size || t->offset > f->size - f->data ||
            t->bytes > f->size - f->data - t->offset) {
            return fail(r, ADZ_ERR_FORMAT, "ends behind the file");
        }
    }
    return true;
}

static bool read_entries(reader *r)
{
    adz_gguf *f = r->file;
    f->values = adzi_models_alloc((f->n_values + 1) * sizeof *f->values);
    f->tensors = adzi_models_alloc((f->n_tensors + 1) * sizeof *f->tensors);
    bool good = f->values != NULL && f->tensors != NULL;
    r->what = "value";
    for (r->number = 0; good && r->number < f->n_values; ++r->number) {
        good = take_value(r, &f->values[r->number]);
    }
    r->what = "tensor";
    for (r->number = 0; good && r->number < f->n_tensors; ++r->number) {
        good = take_tensor(r, &f->tensors[r->number]);
    }
    return good;
}

/* True if the first byte of a number in memory is its lowest, as in files. */
static bool is_little(void)
{
    const uint16_t one = 1;
    uint8_t first;
    memcpy(&first, &one, 1);
    return first == 1;
}

bool adzi_gguf_read_head(adz_gguf *f)
{
    reader r = { .file = f };
    uint64_t version, n_tensors, n_values;
    if (!need(&r, 4)) {
        return false;
    }
    if (memcmp(f->head, "GGUF", 4) != 0) {
        return fail(&r, ADZ_ERR_FORMAT, "does not begin with GGUF");
    }
    r.at = 4;
    if (!take(&r, 4, &version)) {
        return false;
    }
    if (version < 2 || version > 3) {
        return fail(&r, ADZ_ERR_UNSUPPORTED, "is of another version of GGUF than 2 and 3");
    }
    if (!is_little()) {
        return fail(&r, ADZ_ERR_UNSUPPORTED, "has its lowest bytes first, other than this machine");
    }
    if (!take(&r, 8, &n_tensors) || !take(&r, 8, &n_values)) {
        return false;
    }
    const uint64_t left = f->size - r.at;
    if (n_values > left / LEAST_VALUE || n_tensors > left / LEAST_TENSOR) {
        return fail(&r, ADZ_ERR_FORMAT, "claims more entries than the file has bytes for");
    }
    f->n_values = (size_t)n_values;
    f->n_tensors = (size_t)n_tensors;
    if (!read_entries(&r)) {
        return false;
    }
    end_texts(f);
    return index_names(
               &r, "value", f->values, f->n_values, sizeof *f->values, &f->values_by_name) &&
           index_names(
               &r, "tensor", f->tensors, f->n_tensors, sizeof *f->tensors, &f->tensors_by_name) &&
           check_offsets(&r);
}
