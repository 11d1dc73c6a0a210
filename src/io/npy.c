/* Reading and writing npy files, NumPy's format of one array: a magic string, a header that is the
 * text of a Python dict, and the elements. */
#include "adze/io/npy.h"
#include "base/capture.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/source.h"
#include "io/elements.h"
#include "io/npy.h"
#include "base/sink.h"
#include "tensor/copy.h"
#include "adze/options.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

ADZ_OPTIONS_INIT(adz_npy_options_init, adz_npy_options, ADZ_NPY_OPTIONS)

/* ---- reading -------------------------------------------------------------------------------- */

/* Finds where the header's text begins and how long it is. Before it come the magic string, two
 * bytes of version, and the length of the text. The length has 2 bytes in version 1, else 4 bytes.
 */
static adz_status find_header(
    const char *op, const char *where, const adzi_source *source, uint64_t *begin, uint32_t *length)
{
    unsigned char prefix[12] = { 0 };
    size_t n = source->size < sizeof prefix ? (size_t)source->size : sizeof prefix;
    adz_status status = adzi_source_read(op, source, 0, prefix, n);
    if (status != ADZ_OK) {
        return status;
    }
    if (n < 10 || memcmp(prefix, ADZI_NPY_MAGIC, ADZI_NPY_MAGIC_SIZE) != 0) {
        return adzi_error(op, ADZ_ERR_FORMAT, "%s: it does not begin as an npy file does", where);
    }
    int major = prefix[6], minor = prefix[7];
    if (major < 1 || major > 3 || minor != 0) {
        return adzi_error(op, ADZ_ERR_UNSUPPORTED,
            "%s: format version %d.%d; 1.0, 2.0 and 3.0 can be read", where, major, minor);
    }
    *begin = major == 1 ? 10 : 12;
    *length = (uint32_t)adzi_read_little(prefix + 8, major == 1 ? 2 : 4);
    if (source->size < *begin || *length > source->size - *begin) {
        return adzi_error(op, ADZ_ERR_FORMAT,
            "%s: a header of %u bytes is announced, but the file has %llu; is it cut short?", where,
            *length, (unsigned long long)source->size);
    }
    if (*length > 1u << 20) { /* a header of eight sizes has a few hundred bytes */
        return adzi_error(
            op, ADZ_ERR_FORMAT, "%s: a header of %u bytes is too long", where, *length);
    }
    return ADZ_OK;
}

/* Reads the header. `data` is the offset of the elements. */
static adz_status read_header(const char *op, const char *where, const adzi_source *source,
    adzi_npy_header *header, uint64_t *data)
{
    uint64_t begin = 0;
    uint32_t length = 0;
    adz_status status = find_header(op, where, source, &begin, &length);
    if (status != ADZ_OK) {
        return status;
    }
    char *text = adzi_alloc(length);
    if (text == NULL) {
        adzi_fail_memory(op, length);
        return ADZ_ERR_MEMORY;
    }
    status = adzi_source_read(op, source, begin, text, length);
    if (status == ADZ_OK) {
        status = adzi_npy_parse(op, where, text, length, header);
    }
    adzi_free(text, length);
    *data = begin + length;
    return status;
}

/* Checks that the elements of the shape take exactly the bytes that follow the header. */
static adz_status check_size(
    const char *op, const char *where, const adzi_npy_header *h, uint64_t there)
{
    int64_t bytes = h->stored->bits / 8, unused = (int64_t)adz_dtype_size(h->stored->dtype);
    bool fits = true;
    for (int i = 0; i < h->rank && fits; ++i) {
        int64_t counted = h->sizes[i] > 1 ? h->sizes[i] : 1;
        fits = adzi_multiply(bytes, h->sizes[i], &bytes) && adzi_multiply(unused, counted, &unused);
    }
    if (!fits) {
        return adzi_error(op, ADZ_ERR_FORMAT, "%s: the product of its shape %s does not fit", where,
            adzi_text_sizes(h->rank, h->sizes));
    }
    if ((uint64_t)bytes != there) {
        return adzi_error(op, ADZ_ERR_FORMAT,
            "%s: shape %s of '%s' takes %lld bytes, %llu are there%s", where,
            adzi_text_sizes(h->rank, h->sizes), h->stored->npy, (long long)bytes,
            (unsigned long long)there, (uint64_t)bytes > there ? "; is the file cut short?" : "");
    }
    return ADZ_OK;
}

/* Checks that each bool is 0 or 1, because kernels rely on it. */
static adz_status check_bools(const char *op, const char *where, const adz_tensor *t)
{
    const unsigned char *items = (const unsigned char *)t->data;
    for (int64_t i = 0; t->dtype == ADZ_BOOL && i < t->numel; ++i) {
        if (items[i] > 1) {
            return adzi_error(op, ADZ_ERR_FORMAT,
                "%s: element %lld is the byte %d, which is no bool", where, (long long)i, items[i]);
        }
    }
    return ADZ_OK;
}

/* Reverses the order of a list of sizes or strides. */
static void reverse(int rank, int64_t *sizes)
{
    for (int low = 0, high = rank - 1; low < high; ++low, --high) {
        int64_t kept = sizes[low];
        sizes[low] = sizes[high];
        sizes[high] = kept;
    }
}

/* Reads the elements into a tensor, in the order of the file. In Fortran's order the first
 * dimension varies fastest, so the tensor has the sizes in reverse. */
static adz_tensor *read_items(const char *op, const char *where, const adzi_source *source,
    const adzi_npy_header *h, uint64_t data)
{
    int64_t sizes[ADZ_MAX_RANK];
    memcpy(sizes, h->sizes, sizeof sizes);
    if (h->fortran_order) {
        reverse(h->rank, sizes);
    }
    adz_tensor *t = adz_empty(adz_shape_of(h->rank, sizes), h->stored->dtype);
    if (t == NULL) {
        return NULL;
    }
    const size_t item = (size_t)h->stored->bits / 8;
    char *stored = adzi_stored_begin(h->stored, t->data, t->numel);
    if (adzi_source_read(op, source, data, stored, (size_t)t->numel * item) != ADZ_OK) {
        return NULL;
    }
    if (h->big_endian != adzi_host_is_big_endian()) {
        adzi_swap_bytes(stored, (size_t)t->numel, item);
    }
    const int64_t bad = adzi_stored_widen(h->stored, t->data, t->numel);
    if (bad < t->numel) {
        return adzi_fail(op, ADZ_ERR_UNSUPPORTED,
            "%s: element %lld of its %s does not fit int64; convert it with astype to float64 before saving",
            where, (long long)bad, h->stored->numpy);
    }
    return check_bools(op, where, t) == ADZ_OK ? t : NULL;
}

/* A view of t with its dimensions in reverse order. The caller drops it after one copy. */
static adz_tensor *reversed_view(const char *op, adz_tensor *t)
{
    int64_t sizes[ADZ_MAX_RANK], strides[ADZ_MAX_RANK];
    memcpy(sizes, t->sizes, sizeof sizes);
    memcpy(strides, t->strides, sizeof strides);
    reverse(t->rank, sizes);
    reverse(t->rank, strides);
    return adzi_tensor_view(adzi_self(), op, t, t->rank, sizes, strides, t->data);
}

/* A contiguous copy of t with its dimensions in reverse order. */
static adz_tensor *to_row_major(const char *op, adz_tensor *t)
{
    adz_tensor *view = reversed_view(op, t);
    if (view == NULL) {
        return NULL;
    }
    adz_tensor *copy = adz_empty(adz_shape_of(view->rank, view->sizes), (adz_dtype)view->dtype);
    if (copy != NULL) {
        adzi_copy(copy, view);
    }
    adzi_drop(view);
    return copy;
}

static adz_tensor *load(const char *op, const adzi_source *source)
{
    adzi_shown shown;
    const char *where = adzi_show(&shown, source->name);
    adzi_npy_header h;
    uint64_t data;
    if (read_header(op, where, source, &h, &data) != ADZ_OK ||
        check_size(op, where, &h, source->size - data) != ADZ_OK) {
        return NULL;
    }
    adz_scope *scope = adz_scope_open();
    if (scope == NULL) {
        return NULL;
    }
    adz_tensor *t = read_items(op, where, source, &h, data);
    if (t != NULL && h.fortran_order && h.rank > 1) {
        t = to_row_major(op, t);
    }
    return adz_scope_return(scope, t);
}

adz_tensor *adz_npy_load(const char *path)
{
    ADZI_HOLD_REPORTS;
    ADZI_NOT_CAPTURED(ADZI_USES_ELEMENTS, NULL);
    const char *op = "adz_npy_load";
    adzi_source source;
    if (adzi_source_open(op, path, &source) != ADZ_OK) {
        return NULL;
    }
    adz_tensor *t = load(op, &source);
    adzi_source_close(&source);
    return t;
}

adz_tensor *adz_npy_from_memory(const void *bytes, size_t size)
{
    ADZI_HOLD_REPORTS;
    ADZI_NOT_CAPTURED(ADZI_USES_ELEMENTS, NULL);
    const char *op = "adz_npy_from_memory";
    if (bytes == NULL) {
        return adzi_fail_null(op, "bytes");
    }
    adzi_source source;
    adzi_source_memory(&source, bytes, size);
    return load(op, &source);
}

/* ---- writing -------------------------------------------------------------------------------- */

/* The header's text ends at a multiple of HEADER_ALIGNMENT bytes and is shorter than HEADER_MOST.
 */
enum { HEADER_ALIGNMENT = 64, HEADER_MOST = 320 };

/* Writes a shape as the inside of a Python tuple: "3, 4", or "3," for a single size. */
static size_t shape_text(const adz_tensor *t, char *text, size_t size)
{
    size_t n = 0;
    for (int i = 0; i < t->rank; ++i) {
        n += (size_t)snprintf(
            text + n, size - n, "%s%lld", i > 0 ? ", " : "", (long long)t->sizes[i]);
    }
    if (t->rank == 1) {
        n += (size_t)snprintf(text + n, size - n, ",");
    }
    return n;
}

/* Writes everything before the elements, and returns its length. Spaces and a newline fill it up to
 * a multiple of 64 bytes, as NumPy does. */
static size_t make_header(const adz_tensor *t, const adz_npy_options *o, unsigned char *header)
{
    char shape[ADZ_MAX_RANK * 24] = "", text[HEADER_MOST];
    shape_text(t, shape, sizeof shape);
    const char *order = adzi_item_size(t) == 1 ? "|" : o->big_endian ? ">" : "<";
    size_t prefix = o->version == 1 ? 10 : 12;
    size_t n = (size_t)snprintf(text, sizeof text,
        "{'descr': '%s%s', 'fortran_order': %s, 'shape': (%s), }", order,
        adzi_stored_dtype((adz_dtype)t->dtype)->npy, o->fortran_order ? "True" : "False", shape);
    size_t total = (prefix + n + 1 + HEADER_ALIGNMENT - 1) / HEADER_ALIGNMENT * HEADER_ALIGNMENT;
    memset(header, ' ', total);
    memcpy(header, ADZI_NPY_MAGIC, ADZI_NPY_MAGIC_SIZE);
    header[6] = (unsigned char)o->version;
    header[7] = 0;
    adzi_write_little(header + 8, prefix - 8, total - prefix);
    memcpy(header + prefix, text, n);
    header[total - 1] = '\n';
    return total;
}

/* Checks a tensor and the options for saving, and reads the options. */
static bool check(const char *op, adz_tensor *t, const adz_npy_options *options, adz_npy_options *o)
{
    *o = (adz_npy_options)ADZ_NPY_OPTIONS;
    if (!ADZ_OPTIONS_READ(op, ADZ_NPY_OPTIONS, o, options)) {
        return false;
    }
    if (!adzi_check_tensor(op, "t", t)) {
        return false;
    }
    if (o->version < 1 || o->version > 3) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "version is %d, but must be 1, 2 or 3", o->version);
        return false;
    }
    if (adzi_stored_dtype((adz_dtype)t->dtype)->npy == NULL) {
        adzi_error(op, ADZ_ERR_DTYPE, "NumPy has no %s; convert with adz_to(t, ADZ_F32)",
            adz_dtype_name((adz_dtype)t->dtype));
        return false;
    }
    return true;
}

/* Writes header and elements. For Fortran's order the elements of the reversed view are written. */
static adz_status write_all(
    adzi_sink *sink, adz_tensor *t, const adz_npy_options *o, const void *header, size_t n)
{
    adz_status status = adzi_sink_write(sink, header, n);
    if (status != ADZ_OK || !o->fortran_order) {
        return status == ADZ_OK ? adzi_sink_tensor(sink, t, o->big_endian) : status;
    }
    adz_tensor *view = reversed_view(sink->op, t);
    if (view == NULL) {
        return adz_error_code();
    }
    status = adzi_sink_tensor(sink, view, o->big_endian);
    adzi_drop(view);
    return status;
}

adz_status adz_npy_save(adz_tensor *t, const char *path, const adz_npy_options *options)
{
    ADZI_HOLD_REPORTS;
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    const char *op = "adz_npy_save";
    adz_npy_options o;
    unsigned char header[HEADER_MOST + HEADER_ALIGNMENT];
    adzi_sink sink;
    if (!check(op, t, options, &o)) {
        return adz_error_code();
    }
    size_t n = make_header(t, &o, header);
    adz_status status = adzi_sink_open(&sink, op, path);
    return status == ADZ_OK ? adzi_sink_end(&sink, write_all(&sink, t, &o, header, n)) : status;
}

adz_tensor *adz_npy_to_memory(adz_tensor *t, const adz_npy_options *options)
{
    ADZI_HOLD_REPORTS;
    ADZI_NOT_CAPTURED(ADZI_USES_ELEMENTS, NULL);
    const char *op = "adz_npy_to_memory";
    adz_npy_options o;
    unsigned char header[HEADER_MOST + HEADER_ALIGNMENT];
    adzi_sink sink;
    if (!check(op, t, options, &o) || adzi_refused(op) != ADZ_OK) {
        return NULL;
    }
    size_t n = make_header(t, &o, header);
    adz_tensor *bytes =
        adz_empty(ADZ_SHAPE((int64_t)n + t->numel * (int64_t)adzi_item_size(t)), ADZ_U8);
    if (bytes == NULL) {
        return NULL;
    }
    adzi_sink_memory(&sink, op, bytes->data, (size_t)bytes->numel);
    return write_all(&sink, t, &o, header, n) == ADZ_OK ? bytes : NULL;
}
