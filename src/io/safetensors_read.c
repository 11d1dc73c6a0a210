/* Reading safetensors files. A file is 8 bytes with the length of the header, the header, which is
 * JSON, and the bytes of the tensors. Tensors are copied, or the file is mapped into memory. */
#include <fcntl.h>
#include <jansson.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/capture.h"
#include "base/bytes.h"
#include "base/source.h"
#include "io/safetensors.h"
#include "adze/options.h"

/* ---- a file mapped into memory -------------------------------------------------------------- */

/* A file in memory. It is unmapped when the last tensor in it ends. The mapping is private, so a
 * change of a tensor does not change the file. */
typedef struct mapping {
    atomic_int refs;
    void *address;
    size_t size;
} mapping;

/* Releases one reference. It is also the deleter of the tensors' storages. */
static void mapping_release(void *data, void *user)
{
    mapping *m = user;
    (void)data;
    if (atomic_fetch_sub(&m->refs, 1) == 1) {
        munmap(m->address, m->size);
        adzi_free(m, sizeof *m);
    }
}

static mapping *mapping_new(const char *op, const adzi_source *source)
{
    mapping *m = adzi_alloc(sizeof *m);
    if (m == NULL) {
        return adzi_fail_memory(op, sizeof *m);
    }
    atomic_init(&m->refs, 1);
    m->size = (size_t)source->size;
    m->address = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, source->fd, 0);
    if (m->address == MAP_FAILED) {
        adzi_free(m, sizeof *m);
        adzi_shown shown;
        return adzi_fail(
            op, ADZ_ERR_IO, "%s: it cannot be mapped", adzi_show(&shown, source->name));
    }
    return m;
}

/* ---- one tensor ----------------------------------------------------------------------------- */

/* A file that is being loaded. */
typedef struct loading {
    const char *op;
    const char *where; /* the file, as messages show it */
    const adzi_source *source;
    uint64_t data; /* the offset in the file of the data behind the header */
    mapping *map;  /* NULL if tensors are copied */
} loading;

/* A tensor with a copy of its bytes in the file. Integers that are to be widened lie at its end. */
static adz_tensor *copied(const loading *l, const adzi_extent *extent)
{
    const adzi_stored *stored = extent->stored;
    adz_tensor *t =
        adzi_tensor_new(adzi_self(), l->op, stored->dtype, (int)extent->rank, extent->sizes);
    if (t == NULL) {
        return NULL;
    }
    size_t bytes = (size_t)(extent->end - extent->begin);
    char *to = adzi_stored_begin(stored, t->data, t->numel);
    if (adzi_source_read(l->op, l->source, l->data + extent->begin, to, bytes) != ADZ_OK) {
        adzi_drop(t);
        return NULL;
    }
    if (adzi_host_is_big_endian()) {
        adzi_swap_bytes(to, (size_t)t->numel, (size_t)stored->bits / 8);
    }
    return t;
}

/* A tensor whose elements are in the mapped file. It is copied instead if it is empty, if its
 * address is not a multiple of its element's size, if the byte order differs, or if its elements
 * are converted. */
static adz_tensor *mapped(const loading *l, const adzi_extent *extent)
{
    char *at = (char *)l->map->address + l->data + extent->begin;
    const adz_dtype dtype = extent->stored->dtype;
    if ((uintptr_t)at % adz_dtype_size(dtype) != 0 || adzi_host_is_big_endian() ||
        extent->begin == extent->end || extent->stored->kind != ADZI_STORED_AS_IS) {
        return copied(l, extent);
    }
    adzi_storage *storage = adzi_storage_around(at, (size_t)(extent->end - extent->begin));
    if (storage == NULL) {
        return adzi_fail_memory(l->op, ADZI_ALIGNMENT);
    }
    adzi_storage_hand_over(storage, mapping_release, l->map);
    atomic_fetch_add(&l->map->refs, 1);
    adz_tensor *t =
        adzi_tensor_over(adzi_self(), l->op, storage, dtype, (int)extent->rank, extent->sizes);
    adzi_storage_release(storage); /* the tensor has taken a reference */
    return t;
}

/* Checks that each bool is 0 or 1, because kernels rely on it. */
static bool check_bools(const loading *l, const adzi_extent *extent, const adz_tensor *t)
{
    const unsigned char *items = (const unsigned char *)t->data;
    for (int64_t i = 0; t->dtype == ADZ_BOOL && i < t->numel; ++i) {
        if (items[i] > 1) {
            adzi_shown shown;
            adzi_error(l->op, ADZ_ERR_FORMAT,
                "%s: tensor %s: element %lld is the byte %d, which is no BOOL", l->where,
                adzi_show(&shown, extent->name), (long long)i, items[i]);
            return false;
        }
    }
    return true;
}

/* Notes that a tensor is not read, and why. Its bytes have been checked. */
static bool leave_out(
    const loading *l, const adzi_extent *extent, adz_safetensors *file, const char *reason)
{
    if (!adzi_safetensors_append_unread(file, extent->name, reason)) {
        adzi_fail_memory(l->op, strlen(reason));
        return false;
    }
    return true;
}

static bool load_tensor(const loading *l, const adzi_extent *extent, adz_safetensors *file)
{
    char reason[120];
    if (extent->stored->kind == ADZI_STORED_UNREAD) {
        snprintf(reason, sizeof reason, "dtype %s is not offered", extent->stored->safetensors);
        return leave_out(l, extent, file, reason);
    }
    if (extent->rank > ADZ_MAX_RANK) {
        snprintf(reason, sizeof reason, "%zu dimensions are above %d", extent->rank, ADZ_MAX_RANK);
        return leave_out(l, extent, file, reason);
    }
    adz_tensor *t = l->map != NULL ? mapped(l, extent) : copied(l, extent);
    if (t == NULL) {
        return false;
    }
    const int64_t bad = adzi_stored_widen(extent->stored, t->data, t->numel);
    if (bad < t->numel) {
        adzi_drop(t);
        snprintf(reason, sizeof reason, "element %lld of its %s does not fit int64", (long long)bad,
            extent->stored->safetensors);
        return leave_out(l, extent, file, reason);
    }
    bool done = check_bools(l, extent, t);
    if (done && !adzi_safetensors_append(file, extent->name, t)) {
        adzi_fail_memory(l->op, strlen(extent->name));
        done = false;
    }
    adzi_drop(t);
    return done;
}

/* ---- the file ------------------------------------------------------------------------------- */

static bool load_metadata(const char *op, json_t *json, adz_safetensors *file)
{
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(json, ADZI_METADATA), key, value)
    {
        if (!adzi_safetensors_append_metadata(file, key, json_string_value(value))) {
            adzi_fail_memory(op, strlen(key));
            return false;
        }
    }
    return true;
}

/* Warns of tensors that were left out. A file of which nothing could be read is an error. */
static bool report_unread(const loading *l, const adz_safetensors *file)
{
    static const char way_out[] =
        "convert it to one of F64, F32, F16, BF16, BOOL or an integer that fits int64";
    adzi_shown shown;
    if (file->n_unread == 0) {
        return true;
    }
    const char *name = adzi_show(&shown, file->unread[0].key), *reason = file->unread[0].value;
    if (file->n_tensors == 0) {
        adzi_error(l->op, ADZ_ERR_UNSUPPORTED, "%s: tensor %s: %s; %s before saving", l->where,
            name, reason, way_out);
        return false;
    }
    adzi_warn(l->op, "%s: tensor %s%s left out, the other %zu are read: %s; %s", l->where, name,
        file->n_unread == 1 ? " is" : " and more are", file->n_tensors, reason, way_out);
    return true;
}

/* Loads metadata and tensors, after the header has been checked. */
static adz_safetensors *load_body(loading *l, const adzi_safetensors_header *header, bool map)
{
    if (map && l->source->bytes == NULL) { /* what came through a pipe is in memory already */
        l->map = mapping_new(l->op, l->source);
        if (l->map == NULL) {
            return NULL;
        }
    }
    adz_safetensors *file = adz_safetensors_new();
    bool done = file != NULL && load_metadata(l->op, header->json, file);
    for (size_t i = 0; i < header->count && done; ++i) {
        done = load_tensor(l, &header->extents[i], file);
    }
    if (l->map != NULL) {
        mapping_release(NULL, l->map);
    }
    done = done && report_unread(l, file);
    if (!done) {
        adz_safetensors_free(&file);
    }
    return file;
}

/* Reads and checks the header, then loads the tensors. */
static adz_safetensors *load_checked(loading *l, size_t header_size, bool map)
{
    char *text = adzi_alloc(header_size);
    if (text == NULL) {
        return adzi_fail_memory(l->op, header_size);
    }
    adzi_safetensors_header header;
    adz_status status = adzi_source_read(l->op, l->source, 8, text, header_size);
    if (status == ADZ_OK) {
        const adzi_header_file of = { l->op, l->where, l->source->size - l->data };
        status = adzi_safetensors_parse(&of, text, header_size, &header);
    }
    adzi_free(text, header_size);
    if (status != ADZ_OK) {
        return NULL;
    }
    adz_safetensors *file = load_body(l, &header, map);
    adzi_safetensors_header_free(&header);
    return file;
}

/* Checks the length of the header, then loads the file. */
static adz_safetensors *load(const char *op, const adzi_source *source, bool map)
{
    adzi_shown shown;
    const char *where = adzi_show(&shown, source->name);
    if (source->size < 8) {
        return adzi_fail(op, ADZ_ERR_FORMAT,
            "%s: %llu bytes are too few for a safetensors file; is it cut short?", where,
            (unsigned long long)source->size);
    }
    unsigned char prefix[8];
    if (adzi_source_read(op, source, 0, prefix, sizeof prefix) != ADZ_OK) {
        return NULL;
    }
    uint64_t header_size = adzi_read_little(prefix, sizeof prefix);
    if (header_size > ADZI_HEADER_MOST) {
        return adzi_fail(op, ADZ_ERR_FORMAT,
            "%s: a header of %llu bytes is announced, above %d; this is no safetensors file", where,
            (unsigned long long)header_size, ADZI_HEADER_MOST);
    }
    if (header_size > source->size - 8) {
        return adzi_fail(op, ADZ_ERR_FORMAT,
            "%s: a header of %llu bytes is announced, but the file has %llu; is it cut short?",
            where, (unsigned long long)header_size, (unsigned long long)source->size);
    }
    loading l = { op, where, source, 8 + header_size, NULL };
    return load_checked(&l, (size_t)header_size, map);
}

adz_safetensors *adz_safetensors_load(const char *path, const adz_safetensors_options *options)
{
    ADZI_HOLD_REPORTS;
    ADZI_NOT_CAPTURED(ADZI_MAKES_OBJECT, NULL);
    const char *op = "adz_safetensors_load";
    adz_safetensors_options o = ADZ_SAFETENSORS_OPTIONS;
    if (!ADZ_OPTIONS_READ(op, ADZ_SAFETENSORS_OPTIONS, &o, options)) {
        return NULL;
    }
    adzi_source source;
    if (adzi_source_open(op, path, &source) != ADZ_OK) {
        return NULL;
    }
    adz_safetensors *file = load(op, &source, o.map);
    adzi_source_close(&source);
    return file;
}

adz_safetensors *adz_safetensors_from_memory(const void *bytes, size_t size)
{
    ADZI_HOLD_REPORTS;
    ADZI_NOT_CAPTURED(ADZI_MAKES_OBJECT, NULL);
    const char *op = "adz_safetensors_from_memory";
    if (bytes == NULL) {
        return adzi_fail_null(op, "bytes");
    }
    adzi_source source;
    adzi_source_memory(&source, bytes, size);
    return load(op, &source, false);
}
