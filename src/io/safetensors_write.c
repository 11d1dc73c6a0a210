/* Writing safetensors files. Tensors with larger elements come first, so that the elements of each
 * tensor start at a multiple of their size. */
#include <jansson.h>
#include <string.h>

#include "base/capture.h"
#include "base/bytes.h"
#include "base/source.h"
#include "io/elements.h"
#include "io/safetensors.h"

/* ---- the header ----------------------------------------------------------------------------- */

/* The extents of the tensors in the data. They are ordered by falling size of an element. Tensors
 * with elements of equal size keep the order of the collection. */
typedef struct layout {
    uint64_t *begins; /* begins[i] is the offset of tensor i */
    size_t count;
    uint64_t data_size; /* bytes of all tensors */
} layout;

static uint64_t bytes_of(const adz_tensor *t)
{
    return (uint64_t)t->numel * adzi_item_size(t);
}

static bool layout_new(const char *op, const adz_safetensors *file, layout *l)
{
    l->count = file->n_tensors;
    l->data_size = 0;
    l->begins = adzi_alloc(l->count * sizeof *l->begins);
    if (l->begins == NULL) {
        adzi_fail_memory(op, l->count * sizeof *l->begins);
        return false;
    }
    for (size_t item = 8; item >= 1; item /= 2) {
        for (size_t i = 0; i < l->count; ++i) {
            if (adzi_item_size(file->tensors[i].tensor) == item) {
                l->begins[i] = l->data_size;
                l->data_size += bytes_of(file->tensors[i].tensor);
            }
        }
    }
    return true;
}

static json_t *shape_of(const adz_tensor *t)
{
    json_t *shape = json_array();
    for (int i = 0; i < t->rank; ++i) {
        if (json_array_append_new(shape, json_integer(t->sizes[i])) != 0) {
            json_decref(shape);
            return NULL;
        }
    }
    return shape;
}

/* The entry of a tensor: {"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}. json_pack fails if
 * the shape is NULL, and owns the shape from then on, even if it fails. */
static json_t *entry_of(const adz_tensor *t, uint64_t begin)
{
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype",
        adzi_stored_dtype((adz_dtype)t->dtype)->safetensors, "shape", shape_of(t), "data_offsets",
        (json_int_t)begin, (json_int_t)(begin + bytes_of(t)));
}

/* Adds the metadata and the entries of all tensors to the header. */
static bool fill_header(json_t *json, const adz_safetensors *file, const layout *l)
{
    if (file->n_metadata > 0) {
        json_t *metadata = json_object();
        for (size_t i = 0; i < file->n_metadata; ++i) {
            if (json_object_set_new(
                    metadata, file->metadata[i].key, json_string(file->metadata[i].value)) != 0) {
                json_decref(metadata);
                return false;
            }
        }
        if (json_object_set_new(json, ADZI_METADATA, metadata) != 0) {
            return false;
        }
    }
    for (size_t i = 0; i < file->n_tensors; ++i) {
        if (json_object_set_new(json, file->tensors[i].name,
                entry_of(file->tensors[i].tensor, l->begins[i])) != 0) {
            return false;
        }
    }
    return true;
}

/* Everything before the data: the length of the text in 8 bytes, and the text. Spaces fill it up to
 * a multiple of 8 bytes, where the data begins. */
typedef struct header {
    char *bytes; /* allocated, `capacity` bytes */
    size_t size, capacity;
} header;

/* Writes the header's JSON as text. */
static adz_status header_text(const char *op, const json_t *json, header *h)
{
    size_t length = json_dumpb(json, NULL, 0, JSON_COMPACT);
    if (length == 0) {
        adzi_fail_memory(op, 0);
        return ADZ_ERR_MEMORY;
    }
    if (length > ADZI_HEADER_MOST - 8) {
        return adzi_error(op, ADZ_ERR_STATE,
            "names and metadata take %zu bytes, above the format's limit of %d", length,
            ADZI_HEADER_MOST);
    }
    h->capacity = 8 + (length + 7) / 8 * 8;
    h->bytes = adzi_alloc(h->capacity);
    if (h->bytes == NULL) {
        adzi_fail_memory(op, h->capacity);
        return ADZ_ERR_MEMORY;
    }
    memset(h->bytes, ' ', h->capacity);
    adzi_write_little((unsigned char *)h->bytes, 8, h->capacity - 8);
    if (json_dumpb(json, h->bytes + 8, length, JSON_COMPACT) != length) {
        adzi_fail_memory(op, length);
        return ADZ_ERR_MEMORY;
    }
    h->size = h->capacity;
    return ADZ_OK;
}

static bool header_new(const char *op, const adz_safetensors *file, const layout *l, header *h)
{
    *h = (header){ NULL, 0, 0 };
    json_t *json = json_object();
    bool filled = json != NULL && fill_header(json, file, l);
    if (!filled) {
        adzi_fail_memory(op, file->n_tensors * 64);
    }
    bool done = filled && header_text(op, json, h) == ADZ_OK;
    json_decref(json);
    return done;
}

/* ---- writing -------------------------------------------------------------------------------- */

static adz_status write_tensor(
    adzi_sink *sink, const adz_safetensors *file, size_t i, adzi_later *later)
{
    const adz_tensor *t = file->tensors[i].tensor;
    if (!file->tensors[i].later) {
        return adzi_sink_tensor(sink, t, false);
    }
    const char *elements = later->elements(later, i);
    return elements != NULL
               ? adzi_sink_items(sink, elements, (size_t)bytes_of(t), adzi_item_size(t), false)
               : adz_error_code();
}

/* A file that lacks tensors of the file that was loaded would look like the whole. */
static bool is_complete(const char *op, const adz_safetensors *file)
{
    adzi_shown shown;
    if (file->n_unread > 0) {
        adzi_error(op, ADZ_ERR_STATE,
            "tensor %s of the file that was loaded could not be read and would be missing; add one of this name, or add the others to a new collection",
            adzi_show(&shown, file->unread[0].key));
    }
    return file->n_unread == 0;
}

/* Writes the header and the tensors, in the order of the layout. */
static adz_status write_all(
    adzi_sink *sink, const adz_safetensors *file, const header *h, adzi_later *later)
{
    adz_status status = adzi_sink_write(sink, h->bytes, h->size);
    for (size_t item = 8; item >= 1; item /= 2) {
        for (size_t i = 0; i < file->n_tensors && status == ADZ_OK; ++i) {
            if (adzi_item_size(file->tensors[i].tensor) == item) {
                status = write_tensor(sink, file, i, later);
            }
        }
    }
    return status;
}

adz_status adzi_safetensors_save(adz_safetensors *file, const char *path, adzi_later *later)
{
    ADZI_HOLD_REPORTS;
    const char *op = "adz_safetensors_save";
    if (!adzi_check_handle(op, "file", file)) {
        return adz_error_code();
    }
    if (path == NULL) {
        return adzi_error_null(op, "path");
    }
    layout l;
    header h;
    adzi_sink sink;
    if (!is_complete(op, file)) {
        return adz_error_code();
    }
    if (!layout_new(op, file, &l)) {
        return adz_error_code();
    }
    adz_status status = header_new(op, file, &l, &h) ? ADZ_OK : adz_error_code();
    if (status == ADZ_OK) {
        status = adzi_sink_open(&sink, op, path);
    }
    if (status == ADZ_OK) {
        status = adzi_sink_end(&sink, write_all(&sink, file, &h, later));
    }
    adzi_free(h.bytes, h.capacity);
    adzi_free(l.begins, l.count * sizeof *l.begins);
    return status;
}

adz_status adz_safetensors_save(adz_safetensors *file, const char *path)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    return adzi_safetensors_save(file, path, NULL);
}

adz_tensor *adz_safetensors_to_memory(adz_safetensors *file)
{
    ADZI_HOLD_REPORTS;
    ADZI_NOT_CAPTURED(ADZI_USES_ELEMENTS, NULL);
    const char *op = "adz_safetensors_to_memory";
    if (!adzi_check_handle(op, "file", file)) {
        return NULL;
    }
    if (adzi_refused(op) != ADZ_OK) {
        return NULL;
    }
    layout l;
    header h;
    if (!is_complete(op, file) || !layout_new(op, file, &l)) {
        return NULL;
    }
    adz_tensor *bytes = NULL;
    if (header_new(op, file, &l, &h)) {
        bytes = adz_empty(ADZ_SHAPE((int64_t)(h.size + l.data_size)), ADZ_U8);
    }
    if (bytes != NULL) {
        adzi_sink sink;
        adzi_sink_memory(&sink, op, bytes->data, (size_t)bytes->numel);
        if (write_all(&sink, file, &h, NULL) != ADZ_OK) {
            bytes = NULL; /* the scope owns the tensor and ends it */
        }
    }
    adzi_free(h.bytes, h.capacity);
    adzi_free(l.begins, l.count * sizeof *l.begins);
    return bytes;
}
