/* GGUF files: opening, ending, and their tensors. */
#include "gguf.h"

#include <errno.h>
#include <string.h>

#include "adze/ops/convert.h"
#include "adze/ops/shape.h"

static const gguf_storage storages[] = { { 0, "F32", 1, 4 }, { 1, "F16", 1, 2 },
    { 2, "Q4_0", 32, 18 }, { 3, "Q4_1", 32, 20 }, { 6, "Q5_0", 32, 22 }, { 7, "Q5_1", 32, 24 },
    { 8, "Q8_0", 32, 34 }, { 9, "Q8_1", 32, 36 }, { 10, "Q2_K", 256, 84 }, { 11, "Q3_K", 256, 110 },
    { 12, "Q4_K", 256, 144 }, { 13, "Q5_K", 256, 176 }, { 14, "Q6_K", 256, 210 },
    { 15, "Q8_K", 256, 292 }, { 24, "I8", 1, 1 }, { 25, "I16", 1, 2 }, { 26, "I32", 1, 4 },
    { 27, "I64", 1, 8 }, { 28, "F64", 1, 8 }, { 30, "BF16", 1, 2 } };

enum { STORED_F32 = 0, STORED_F16 = 1, STORED_Q8_0 = 8, STORED_BF16 = 30 };

const gguf_storage *adzi_gguf_storage_of(uint32_t type)
{
    for (size_t i = 0; i < sizeof storages / sizeof *storages; ++i) {
        if (storages[i].type == type) {
            return &storages[i];
        }
    }
    return NULL;
}

/* Opens the stream and finds the file's size. */
static bool open_stream(adz_gguf *file)
{
    file->stream = fopen(file->path, "rb");
    if (file->stream == NULL) {
        adz_error_format("adz_gguf_open", ADZ_ERR_IO, "%s cannot be opened: %s", file->path,
            errno == ENOENT ? "there is no such file" : "the system refuses");
        return false;
    }
    off_t size = -1;
    if (fseeko(file->stream, 0, SEEK_END) == 0) {
        size = ftello(file->stream);
    }
    if (size < 0 || fseeko(file->stream, 0, SEEK_SET) != 0) {
        adz_error_format("adz_gguf_open", ADZ_ERR_IO, "%s: has no size", file->path);
        return false;
    }
    file->size = (uint64_t)size;
    return true;
}

adz_gguf *adz_gguf_open(const char *path)
{
    if (path == NULL) {
        adz_error_null("adz_gguf_open", "path");
        return NULL;
    }
    adz_gguf *file = adzi_models_alloc(sizeof *file);
    if (file == NULL) {
        return NULL;
    }
    file->path = adzi_models_alloc(strlen(path) + 1);
    if (file->path != NULL) {
        memcpy(file->path, path, strlen(path) + 1);
    }
    if (file->path == NULL || !open_stream(file) || !adzi_gguf_read_head(file)) {
        adz_gguf_close(&file);
    }
    return file;
}

void adz_gguf_close(adz_gguf **file)
{
    if (file == NULL || *file == NULL) {
        return;
    }
    adz_gguf *f = *file;
    for (size_t i = 0; f->values != NULL && i < f->n_values; ++i) {
        adzi_models_free(f->values[i].texts);
    }
    if (f->stream != NULL) {
        fclose(f->stream);
    }
    adzi_gguf_unmap(f);
    adzi_models_free(f->values);
    adzi_models_free(f->tensors);
    adzi_models_free(f->values_by_name);
    adzi_models_free(f->tensors_by_name);
    adzi_models_free(f->head);
    adzi_models_free(f->path);
    adzi_models_free(f);
    *file = NULL;
}

/* ---- tensors -------------------------------------------------------------------------------- */

size_t adz_gguf_tensor_count(const adz_gguf *file)
{
    return file != NULL ? file->n_tensors : 0;
}

/* The tensor number `index`; NULL with the error recorded. */
static const gguf_tensor *tensor_at(const char *op, const adz_gguf *file, size_t index)
{
    if (file == NULL) {
        adz_error_null(op, "file");
        return NULL;
    }
    if (index >= file->n_tensors) {
        return models_fail(op, ADZ_ERR_INDEX, "%s: has %zu tensors, none of number %zu", file->path,
            file->n_tensors, index);
    }
    return &file->tensors[index];
}

const char *adz_gguf_tensor_name_at(const adz_gguf *file, size_t index)
{
    const gguf_tensor *t = tensor_at("adz_gguf_tensor_name_at", file, index);
    return t != NULL ? adzi_gguf_chars(file, t->name) : NULL;
}

size_t adz_gguf_tensor_index(const adz_gguf *file, const char *name)
{
    if (file == NULL || name == NULL) {
        return adz_gguf_tensor_count(file);
    }
    return adzi_gguf_search(
        file, file->tensors_by_name, file->tensors, file->n_tensors, sizeof *file->tensors, name);
}

adz_shape adz_gguf_tensor_shape_at(const adz_gguf *file, size_t index)
{
    const gguf_tensor *t = tensor_at("adz_gguf_tensor_shape_at", file, index);
    return t != NULL ? t->shape : adz_shape_of(-1, NULL);
}

static const char *type_name(const gguf_tensor *t)
{
    const gguf_storage *storage = adzi_gguf_storage_of(t->type);
    return storage != NULL ? storage->name : "unknown";
}

const char *adz_gguf_tensor_type_at(const adz_gguf *file, size_t index)
{
    const gguf_tensor *t = tensor_at("adz_gguf_tensor_type_at", file, index);
    return t != NULL ? type_name(t) : NULL;
}

/* How adze stores the elements of a tensor. False with the error recorded. */
static bool layout_of(
    const adz_gguf *file, const gguf_tensor *t, adz_shape *shape, adz_dtype *dtype)
{
    *shape = t->shape;
    *dtype = t->type == STORED_F32    ? ADZ_F32
             : t->type == STORED_F16  ? ADZ_F16
             : t->type == STORED_BF16 ? ADZ_BF16
                                      : ADZ_U8;
    if (*dtype != ADZ_U8) {
        return true;
    }
    if (t->type == STORED_Q8_0 && shape->rank < ADZ_MAX_RANK) {
        shape->sizes[shape->rank - 1] /= ADZ_Q8_0_VALUES;
        shape->sizes[shape->rank++] = ADZ_Q8_0_BYTES;
        return true;
    }
    adz_error_format("adz_gguf_read", ADZ_ERR_UNSUPPORTED,
        "%s: tensor %s is %s (type %u); F32, F16, BF16 and Q8_0 are read", file->path,
        adzi_gguf_chars(file, t->name), type_name(t), (unsigned)t->type);
    return false;
}

static adz_tensor *read_stored(adz_gguf *file, const gguf_tensor *t)
{
    adz_shape shape;
    adz_dtype dtype;
    if (!layout_of(file, t, &shape, &dtype)) {
        return NULL;
    }
    if (adzi_gguf_is_mapped(file, t, dtype)) {
        return adzi_gguf_mapped(file, t, shape, dtype);
    }
    adz_tensor *stored = adz_empty(shape, dtype);
    if (stored == NULL) {
        return NULL;
    }
    const size_t bytes = (size_t)t->bytes;
    if (fseeko(file->stream, (off_t)(file->data + t->offset), SEEK_SET) != 0 ||
        fread(adz_tensor_data(stored), 1, bytes, file->stream) != bytes) {
        clearerr(file->stream);
        return models_fail("adz_gguf_read", ADZ_ERR_IO,
            "%s: tensor %s cannot be read; the file has become shorter", file->path,
            adzi_gguf_chars(file, t->name));
    }
    return stored;
}

adz_tensor *adz_gguf_read(adz_gguf *file, const char *name, bool widen)
{
    static const char op[] = "adz_gguf_read";
    if (file == NULL || name == NULL) {
        adz_error_null(op, file == NULL ? "file" : "name");
        return NULL;
    }
    const size_t i = adz_gguf_tensor_index(file, name);
    if (i == file->n_tensors) {
        return models_fail(op, ADZ_ERR_ARGUMENT, "%s: there is no tensor %s", file->path, name);
    }
    const gguf_tensor *t = &file->tensors[i];
    adz_scope *scope = adz_scope_open();
    adz_tensor *read = read_stored(file, t);
    if (read != NULL && widen) {
        read = t->type == STORED_Q8_0 ? adz_dequantize_q8_0(read) : adz_to(read, ADZ_F32);
    }
    return adz_scope_return(scope, read);
}
