/* Parses and checks the header of a safetensors file. The file may come from anybody, so each value
 * is checked before another check relies on it (check_entry). */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/source.h"
#include "io/safetensors.h"
#include "tensor/shape.h"

/* ---- the text ------------------------------------------------------------------------------- */

/* Whether the JSON nests deeper than the format, in which lists of an entry are at depth 3. The
 * text is checked before jansson parses it, because jansson recurses for each level. */
static bool nests_too_deep(const char *text, size_t length)
{
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < length; ++i) {
        char c = text[i];
        if (quoted) {
            i += c == '\\' ? 1u : 0u;
            quoted = c != '"';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            if (++depth > 3) {
                return true;
            }
        } else if (c == '}' || c == ']') {
            --depth;
        }
    }
    return false;
}

/* Parses the header's text as JSON. NULL with the error recorded if it is none. */
static json_t *parse_text(const adzi_header_file *r, const char *text, size_t length)
{
    size_t bad;
    adzi_shown shown;
    if (length == 0 || text[0] != '{') {
        return adzi_fail(r->op, ADZ_ERR_FORMAT,
            "%s: its header does not begin with '{'; this is no safetensors file", r->where);
    }
    if (!adzi_is_utf8(text, length, &bad)) {
        return adzi_fail(
            r->op, ADZ_ERR_FORMAT, "%s: byte %zu of its header is not UTF-8", r->where, bad);
    }
    if (nests_too_deep(text, length)) {
        return adzi_fail(
            r->op, ADZ_ERR_FORMAT, "%s: its header nests deeper than the format does", r->where);
    }
    json_error_t error = { .text = "" }; /* jansson leaves it where it is refused memory */
    json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    enum json_error_code code = json_error_code(&error);
    if (json == NULL && (code == json_error_out_of_memory || code == json_error_unknown)) {
        return adzi_fail_memory(r->op, length);
    }
    if (json == NULL) {
        bool twice = code == json_error_duplicate_key;
        return adzi_fail(r->op, ADZ_ERR_FORMAT, "%s: its header %s, at byte %d: %s", r->where,
            twice ? "gives a name twice" : "is not JSON", error.position,
            adzi_show(&shown, error.text));
    }
    return json;
}

/* ---- one entry ------------------------------------------------------------------------------ */

/* Records ADZ_ERR_FORMAT about one tensor. */
static adz_status bad(const adzi_header_file *r, const char *name, const char *what)
{
    adzi_shown shown;
    return adzi_error(
        r->op, ADZ_ERR_FORMAT, "%s: tensor %s: %s", r->where, adzi_show(&shown, name), what);
}

static adz_status check_dtype(const adzi_header_file *r, const json_t *value, adzi_extent *extent)
{
    adzi_shown tensor, shown;
    if (!json_is_string(value)) {
        return bad(r, extent->name, "its dtype is not a string");
    }
    extent->stored = adzi_stored_safetensors(json_string_value(value));
    if (extent->stored == NULL) {
        return adzi_error(r->op, ADZ_ERR_FORMAT, "%s: tensor %s: dtype %s is unknown", r->where,
            adzi_show(&tensor, extent->name), adzi_show(&shown, json_string_value(value)));
    }
    return ADZ_OK;
}

/* Reads the shape, and computes the bytes of the tensor from it and the dtype. */
static adz_status check_shape(
    const adzi_header_file *r, const json_t *value, adzi_extent *extent, uint64_t *bytes)
{
    if (!json_is_array(value)) {
        return bad(r, extent->name, "its shape is not a list");
    }
    extent->rank = json_array_size(value);
    /* Strides are products of sizes without the zeros, so these products must fit as well. */
    int64_t bits = extent->stored->bits, unused = (int64_t)adz_dtype_size(extent->stored->dtype);
    for (size_t i = 0; i < extent->rank; ++i) {
        const json_t *size = json_array_get(value, i);
        if (!json_is_integer(size) || json_integer_value(size) < 0) {
            return bad(r, extent->name, "a size in its shape is not a whole number from 0 on");
        }
        const int64_t n = json_integer_value(size);
        if (!adzi_multiply(bits, n, &bits) || !adzi_multiply(unused, n > 1 ? n : 1, &unused)) {
            return bad(r, extent->name, "the product of its shape does not fit");
        }
        if (i < ADZ_MAX_RANK) {
            extent->sizes[i] = n;
        }
    }
    if (bits % 8 != 0) {
        return bad(r, extent->name, "its elements do not fill whole bytes");
    }
    *bytes = (uint64_t)bits / 8;
    return ADZ_OK;
}

/* Reads the offsets, which must lie in the data and include `bytes` bytes. */
static adz_status check_offsets(
    const adzi_header_file *r, const json_t *value, adzi_extent *extent, uint64_t bytes)
{
    adzi_shown shown;
    if (!json_is_array(value) || json_array_size(value) != 2) {
        return bad(r, extent->name, "its data_offsets are not a list of two");
    }
    uint64_t ends[2];
    for (size_t i = 0; i < 2; ++i) {
        const json_t *offset = json_array_get(value, i);
        if (!json_is_integer(offset) || json_integer_value(offset) < 0) {
            return bad(r, extent->name, "a data offset is not a whole number from 0 on");
        }
        ends[i] = (uint64_t)json_integer_value(offset);
    }
    extent->begin = ends[0];
    extent->end = ends[1];
    if (extent->begin > extent->end) {
        return bad(r, extent->name, "its data offsets run backwards");
    }
    if (extent->end > r->data_size) {
        return adzi_error(r->op, ADZ_ERR_FORMAT,
            "%s: tensor %s: it ends at byte %llu of the data, of which there are %llu; the file is cut short or its header is wrong",
            r->where, adzi_show(&shown, extent->name), (unsigned long long)extent->end,
            (unsigned long long)r->data_size);
    }
    if (extent->end - extent->begin != bytes) {
        return adzi_error(r->op, ADZ_ERR_FORMAT,
            "%s: tensor %s: %s%s takes %llu bytes, its data offsets give %llu", r->where,
            adzi_show(&shown, extent->name), extent->stored->safetensors,
            extent->rank > ADZ_MAX_RANK ? "" : adzi_text_sizes((int)extent->rank, extent->sizes),
            (unsigned long long)bytes, (unsigned long long)(extent->end - extent->begin));
    }
    return ADZ_OK;
}

/* Checks one entry. The dtype comes first, because the bytes of the shape depend on it. The offsets
 * come last, because they must give as many bytes as the shape. */
static adz_status check_entry(const adzi_header_file *r, const json_t *entry, adzi_extent *extent)
{
    if (!json_is_object(entry)) {
        return bad(r, extent->name, "its entry is not an object");
    }
    const json_t *dtype = json_object_get(entry, "dtype"), *shape = json_object_get(entry, "shape");
    const json_t *offsets = json_object_get(entry, "data_offsets");
    if (dtype == NULL || shape == NULL || offsets == NULL || json_object_size(entry) != 3) {
        return bad(r, extent->name, "its entry must have dtype, shape, data_offsets and no more");
    }
    uint64_t bytes = 0;
    adz_status status = check_dtype(r, dtype, extent);
    status = status == ADZ_OK ? check_shape(r, shape, extent, &bytes) : status;
    return status == ADZ_OK ? check_offsets(r, offsets, extent, bytes) : status;
}

/* Checks that the metadata is an object of strings. */
static adz_status check_metadata(const adzi_header_file *r, json_t *metadata)
{
    if (!json_is_object(metadata)) {
        return adzi_error(
            r->op, ADZ_ERR_FORMAT, "%s: its %s is not an object", r->where, ADZI_METADATA);
    }
    const char *key;
    json_t *value;
    json_object_foreach(metadata, key, value)
    {
        adzi_shown shown;
        if (!json_is_string(value)) {
            return adzi_error(r->op, ADZ_ERR_FORMAT, "%s: metadata %s is not a string", r->where,
                adzi_show(&shown, key));
        }
    }
    return ADZ_OK;
}

/* ---- all entries ---------------------------------------------------------------------------- */

/* For qsort: orders entries by the offsets of their bytes. */
static int by_extent(const void *a, const void *b)
{
    const adzi_extent *x = *(adzi_extent *const *)a, *y = *(adzi_extent *const *)b;
    if (x->begin != y->begin) {
        return x->begin < y->begin ? -1 : 1;
    }
    return x->end != y->end ? (x->end < y->end ? -1 : 1) : 0;
}

/* Checks that each byte of the data belongs to exactly one tensor. */
static adz_status check_cover(const adzi_header_file *r, adzi_extent *extents, size_t count)
{
    adzi_shown one, other;
    adzi_extent **sorted = adzi_alloc(count * sizeof *sorted);
    if (sorted == NULL) {
        adzi_fail_memory(r->op, count * sizeof *sorted);
        return ADZ_ERR_MEMORY;
    }
    for (size_t i = 0; i < count; ++i) {
        sorted[i] = &extents[i];
    }
    qsort(sorted, count, sizeof *sorted, by_extent);
    uint64_t end = 0;
    adz_status status = ADZ_OK;
    for (size_t i = 0; i < count && status == ADZ_OK; ++i) {
        const adzi_extent *extent = sorted[i];
        if (extent->begin < end) {
            status = adzi_error(r->op, ADZ_ERR_FORMAT, "%s: the bytes of tensors %s and %s overlap",
                r->where, adzi_show(&one, sorted[i - 1]->name), adzi_show(&other, extent->name));
        } else if (extent->begin > end) {
            status = adzi_error(r->op, ADZ_ERR_FORMAT,
                "%s: %llu bytes before tensor %s belong to no tensor", r->where,
                (unsigned long long)(extent->begin - end), adzi_show(&one, extent->name));
        }
        end = extent->end;
    }
    adzi_free(sorted, count * sizeof *sorted);
    if (status == ADZ_OK && end != r->data_size) {
        status = adzi_error(r->op, ADZ_ERR_FORMAT, "%s: %llu bytes at its end belong to no tensor",
            r->where, (unsigned long long)(r->data_size - end));
    }
    return status;
}

/* Checks all entries, and writes those of tensors to `extents`. */
static adz_status check_entries(
    const adzi_header_file *r, json_t *json, adzi_extent *extents, size_t *n_extents)
{
    const char *key;
    json_t *value;
    size_t count = 0;
    json_object_foreach(json, key, value)
    {
        bool metadata = strcmp(key, ADZI_METADATA) == 0;
        if (!metadata) {
            extents[count].name = key;
        }
        adz_status status =
            metadata ? check_metadata(r, value) : check_entry(r, value, &extents[count++]);
        if (status != ADZ_OK) {
            return status;
        }
    }
    *n_extents = count;
    return check_cover(r, extents, count);
}

adz_status adzi_safetensors_parse(
    const adzi_header_file *file, const char *text, size_t length, adzi_safetensors_header *header)
{
    json_t *json = parse_text(file, text, length);
    if (json == NULL) {
        return adz_error_code();
    }
    bool metadata = json_object_get(json, ADZI_METADATA) != NULL;
    size_t entries = json_object_size(json) - (metadata ? 1 : 0);
    adzi_extent *list = adzi_alloc_zero(entries * sizeof *list);
    adz_status status = ADZ_ERR_MEMORY;
    if (list == NULL) {
        adzi_fail_memory(file->op, entries * sizeof *list);
    } else {
        status = check_entries(file, json, list, &header->count);
    }
    if (status != ADZ_OK) {
        adzi_free(list, entries * sizeof *list);
        json_decref(json);
        return status;
    }
    header->extents = list;
    header->json = json;
    return ADZ_OK;
}

void adzi_safetensors_header_free(adzi_safetensors_header *header)
{
    adzi_free(header->extents, header->count * sizeof *header->extents);
    json_decref(header->json);
}
