/* Tensors: their storage, their headers, and the functions that read a header. */
#include "tensor/tensor.h"

#include <math.h>
#include <string.h>

#include "base/capture.h"
#include "base/handle.h"
#include "base/tracer.h"
#include "base/errors/unheard.h"
#include "tensor/debug.h"
#include "tensor/shape.h"

/* ADZ_NONE is alive, so that checks for stale pointers let it pass. It has no storage: code that
 * reads elements asks adzi_is_none() first. */
adz_tensor adzi_none = { .alive = ADZI_ALIVE, .rank = 0 };

/* ---- storage --------------------------------------------------------------------------------- */

/* Tensors above 4096 bytes get a storage in its own block. A header that outlives its storage
 * then keeps little memory, and so does a storage that outlives its header. */
enum { JOINED_BYTES = 4096 };

/* The bytes of a storage that has its elements in one block with itself. An empty tensor takes a
 * byte, so that its address is not that of the next block. */
static size_t storage_size(size_t bytes)
{
    return ADZI_ALIGNMENT + (bytes > 0 ? bytes : 1);
}

/* Fills in a storage whose elements follow it at the next multiple of 64 bytes. */
static void storage_init(adzi_storage *storage, size_t bytes, void *user)
{
    *storage = (adzi_storage){
        .refs = 1, .bytes = bytes, .data = (char *)storage + ADZI_ALIGNMENT, .user = user
    };
    adzi_capture *capture = adzi_capture_of(adzi_self());
    if (capture != NULL) {
        capture->stored(capture, storage->data, storage_size(bytes) - ADZI_ALIGNMENT);
    }
}

/* A storage with its elements in one block. NULL if memory was refused. */
static adzi_storage *storage_new(size_t bytes)
{
    adzi_storage *storage = adzi_alloc(storage_size(bytes));
    if (storage != NULL) {
        storage_init(storage, bytes, NULL);
    }
    return storage;
}

/* The deleter of memory that its owner frees and not the library. */
static void leave_alone(void *data, void *user)
{
    (void)data;
    (void)user;
}

adzi_storage *adzi_storage_around(void *data, size_t bytes)
{
    adzi_storage *storage = adzi_alloc(ADZI_ALIGNMENT);
    if (storage != NULL) {
        *storage =
            (adzi_storage){ .refs = 1, .bytes = bytes, .data = data, .deleter = leave_alone };
    }
    return storage;
}

void adzi_storage_hand_over(adzi_storage *storage, void (*deleter)(void *, void *), void *user)
{
    storage->deleter = deleter != NULL ? deleter : leave_alone;
    storage->user = user;
}

void adzi_storage_release(adzi_storage *storage)
{
    if (!adzi_refs_drop(&storage->refs)) {
        return;
    }
    if (storage->deleter != NULL) {
        storage->deleter(storage->data, storage->user);
        adzi_free(storage, ADZI_ALIGNMENT);
    } else if (storage->user != NULL) {
        adzi_free(storage->user, sizeof(adz_tensor) + storage_size(storage->bytes));
    } else {
        adzi_free(storage, storage_size(storage->bytes));
    }
}

/* ---- headers --------------------------------------------------------------------------------- */

/* A header with one reference and without storage, data and sizes. `behind` bytes follow it in its
 * block: room for a storage with its elements, or 0. */
static inline __attribute__((always_inline)) adz_tensor *header_new(
    adzi_thread *thread, const char *op, adz_dtype dtype, int rank, size_t behind)
{
    adz_tensor *t = behind > 0 ? adzi_alloc(sizeof *t + behind) : adzi_handle_alloc(sizeof *t);
    if (t == NULL) {
        return adzi_fail_memory(op, sizeof *t + behind);
    }
    memset(t, 0, offsetof(adz_tensor, sizes));
    atomic_init(&t->refs, 1);
    t->alive = ADZI_ALIVE;
    t->dtype = (uint8_t)dtype;
    t->rank = (uint8_t)rank;
    t->joined = behind > 0;
    adzi_count_tensor(&thread->cache, 1);
    return atomic_load_explicit(&adzi_debug_on, memory_order_relaxed) ? adzi_debug_made(t) : t;
}

adz_tensor *adzi_tensor_new(
    adzi_thread *thread, const char *op, adz_dtype dtype, int rank, const int64_t *sizes)
{
    const int64_t numel = adzi_numel(rank, sizes);
    const size_t bytes = (size_t)numel * adz_dtype_size(dtype);
    const bool joined =
        bytes <= JOINED_BYTES && !atomic_load_explicit(&adzi_handles_kept, memory_order_relaxed);
    adzi_storage *storage = joined ? NULL : storage_new(bytes);
    if (!joined && storage == NULL) {
        return adzi_fail_memory(op, bytes);
    }
    adz_tensor *t = header_new(thread, op, dtype, rank, joined ? storage_size(bytes) : 0);
    if (t == NULL) {
        if (!joined) {
            adzi_storage_release(storage);
        }
        return NULL;
    }
    if (joined) {
        storage = adzi_home(t);
        storage_init(storage, bytes, t);
    }
    t->storage = storage;
    t->data = storage->data;
    t->numel = numel;
    adzi_set_sizes(t, rank, sizes);
    if (thread->tracer != NULL && thread->tracer->made != NULL) {
        thread->tracer->made(thread->tracer, t, op);
    }
    return t;
}

adz_tensor *adzi_tensor_borrowed(
    adzi_thread *thread, const char *op, adz_dtype dtype, int rank, const int64_t *sizes)
{
    if (!adzi_scope_reserve(thread, 1)) {
        return adzi_fail_memory(op, sizeof(adz_tensor *));
    }
    adz_tensor *t = adzi_tensor_new(thread, op, dtype, rank, sizes);
    return t != NULL ? adzi_borrow(thread, t) : NULL;
}

adz_tensor *adzi_tensor_over(adzi_thread *thread, const char *op, adzi_storage *storage,
    adz_dtype dtype, int rank, const int64_t *sizes)
{
    adz_tensor *t = header_new(thread, op, dtype, rank, 0);
    if (t == NULL) {
        return NULL;
    }
    adzi_refs_take(&storage->refs);
    t->storage = storage;
    t->data = storage->data;
    t->numel = adzi_numel(rank, sizes);
    adzi_set_sizes(t, rank, sizes);
    return t;
}

adz_tensor *adzi_tensor_view(adzi_thread *thread, const char *op, adz_tensor *base, int rank,
    const int64_t *sizes, const int64_t *strides, char *data)
{
    adz_tensor *t = header_new(thread, op, (adz_dtype)base->dtype, rank, 0);
    if (t == NULL) {
        return NULL;
    }
    adzi_refs_take(&base->storage->refs);
    t->storage = base->storage;
    t->data = data;
    t->is_view = true;
    t->is_zero = base->is_zero;
    int64_t numel = 1;
    for (int i = 0; i < rank; ++i) {
        numel *= sizes[i];
        t->sizes[i] = sizes[i];
        t->strides[i] = strides[i];
    }
    t->numel = numel;
    return t;
}

void adzi_tensor_adopt(adz_tensor *t, adz_tensor *value)
{
    adzi_storage *before = t->storage;
    adzi_settings_changed();
    adzi_refs_take(&value->storage->refs);
    t->storage = value->storage;
    t->data = value->data;
    t->dtype = value->dtype;
    t->is_view = false;
    t->rank = value->rank; /* weights in blocks have another shape than weights */
    t->numel = value->numel;
    memcpy(t->sizes, value->sizes, sizeof t->sizes);
    memcpy(t->strides, value->strides, sizeof t->strides);
    /* A joined header lies in the block of its own storage, so it keeps that reference. */
    if (!(t->joined && before == adzi_home(t))) {
        adzi_storage_release(before);
    }
    adzi_drop(value);
}

/* A header that lies in one block with its storage is freed with the storage, of which it has a
 * reference. Any other header is a separate block. */
static void bury(adz_tensor *t)
{
    if (t->joined) {
        adzi_storage_release(adzi_home(t));
    } else {
        adzi_handle_free(t, sizeof *t);
    }
}

adzi_tape_calls adzi_tape;

void adzi_tensor_destroy(adz_tensor *t)
{
    adzi_thread *thread = adzi_self();
    t->alive = ADZI_DEAD;
    if (t->gradient != NULL) {
        adzi_tape.gradient_free(t);
    }
    if (t->node != NULL) {
        if (t->recomputable) {
            adzi_tape.result_ends(t);
        }
        adzi_tape.node_release(thread, t->node);
    }
    if (!t->joined || t->storage != adzi_home(t)) {
        adzi_storage_release(t->storage);
    }
    adzi_count_tensor(&thread->cache, -1);
    if (atomic_load_explicit(&adzi_debug_on, memory_order_relaxed)) {
        adzi_debug_ended(t);
    }
    bury(t);
}

bool adzi_refuse_tensor(const char *op, const char *argument, const adz_tensor *t)
{
    if (t == NULL) {
        adzi_pass_null(op, argument);
    } else if (t->alive != ADZI_ALIVE) {
        adzi_error(op, ADZ_ERR_OWNERSHIP,
            "%s is a stale pointer: its scope was closed or it was released; adz_keep it or hand it out with adz_scope_return",
            argument);
    } else {
        adzi_error(op, ADZ_ERR_ARGUMENT, "%s is not optional: ADZ_NONE was given", argument);
    }
    return false;
}

bool adzi_is_contiguous(const adz_tensor *t)
{
    int64_t stride = 1;
    for (int i = t->rank - 1; i >= 0; --i) {
        if (t->sizes[i] != 1) {
            if (t->strides[i] != stride && t->numel != 0) {
                return false;
            }
            stride *= t->sizes[i];
        }
    }
    return true;
}

bool adzi_is_dense(const adz_tensor *t)
{
    for (int i = 0; i < t->rank; ++i) {
        if (t->sizes[i] > 1 && t->strides[i] == 0) {
            return false;
        }
    }
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

int adz_tensor_rank(const adz_tensor *t)
{
    return adzi_check_tensor("adz_tensor_rank", "t", t) ? t->rank : -1;
}

adz_shape adz_tensor_shape(const adz_tensor *t)
{
    if (!adzi_check_tensor("adz_tensor_shape", "t", t)) {
        return adz_shape_of(-1, NULL);
    }
    return adz_shape_of(t->rank, t->sizes);
}

int64_t adz_tensor_size(const adz_tensor *t, int dim)
{
    if (!adzi_check_tensor("adz_tensor_size", "t", t)) {
        return -1;
    }
    if (dim < -t->rank || dim >= t->rank) {
        adzi_error(
            "adz_tensor_size", ADZ_ERR_DIM, "x%s has no dimension %d", adzi_text_shape(t), dim);
        return -1;
    }
    return t->sizes[dim < 0 ? dim + t->rank : dim];
}

int64_t adz_tensor_stride(const adz_tensor *t, int dim)
{
    if (!adzi_check_tensor("adz_tensor_stride", "t", t)) {
        return -1;
    }
    if (dim < -t->rank || dim >= t->rank) {
        adzi_error(
            "adz_tensor_stride", ADZ_ERR_DIM, "x%s has no dimension %d", adzi_text_shape(t), dim);
        return -1;
    }
    return t->strides[dim < 0 ? dim + t->rank : dim];
}

int64_t adz_tensor_numel(const adz_tensor *t)
{
    return adzi_check_tensor("adz_tensor_numel", "t", t) ? t->numel : -1;
}

adz_dtype adz_tensor_dtype(const adz_tensor *t)
{
    return adzi_check_tensor("adz_tensor_dtype", "t", t) ? (adz_dtype)t->dtype : ADZ_F32;
}

bool adz_tensor_is_contiguous(const adz_tensor *t)
{
    return adzi_check_tensor("adz_tensor_is_contiguous", "t", t) && adzi_is_contiguous(t);
}

static const char hands_out[] =
    "the program could read or write elements through the pointer (what an operator of your own does to elements is captured if adz_operator_call runs it as a kernel)";

/* Checks a tensor whose elements the program asks for. It goes on and crashes if it does not look
 * at the result, so this is the last moment to print why the tensor is NULL. */
static bool check_asked(const char *op, const adz_tensor *t)
{
    const bool good = adzi_check_tensor(op, "t", t);
    if (!good) {
        adzi_print_unheard(adzi_self());
    }
    return good;
}

void *adz_tensor_data(adz_tensor *t)
{
    static const char op[] = "adz_tensor_data";
    return check_asked(op, t) && adzi_host_may_touch(op, t, hands_out) ? t->data : NULL;
}

static const char computed[] =
    "the function has computed the elements (what an operator of your own does to elements is captured if adz_operator_call runs it as a kernel)";

const void *adz_tensor_data_constant(const adz_tensor *t)
{
    static const char op[] = "adz_tensor_data_constant";
    if (!check_asked(op, t) || !adzi_host_may(t, op)) {
        return NULL;
    }
    adzi_capture *capture = adzi_capture_of(adzi_self());
    if (capture != NULL && !capture->host_may_read(capture, t)) {
        adzi_is_captured(op, computed); /* the call goes on */
    }
    return t->data;
}

/* The elements of a tensor that has the dtype; NULL with ADZ_ERR_DTYPE recorded if it does not. */
static void *typed_data(const char *op, adz_tensor *t, adz_dtype dtype)
{
    if (!check_asked(op, t)) {
        return NULL;
    }
    if (t->dtype != dtype) {
        return adzi_fail(op, ADZ_ERR_DTYPE, "x%s is %s; convert it with adz_to(x, ...) first",
            adzi_text_shape(t), adz_dtype_name((adz_dtype)t->dtype));
    }
    return adzi_host_may_touch(op, t, hands_out) ? t->data : NULL;
}

float *adz_tensor_data_f32(adz_tensor *t)
{
    return typed_data("adz_tensor_data_f32", t, ADZ_F32);
}

double *adz_tensor_data_f64(adz_tensor *t)
{
    return typed_data("adz_tensor_data_f64", t, ADZ_F64);
}

int64_t *adz_tensor_data_i64(adz_tensor *t)
{
    return typed_data("adz_tensor_data_i64", t, ADZ_I64);
}

void adz_tensor_touch(adz_tensor *t)
{
    static const char op[] = "adz_tensor_touch";
    if (adzi_check_tensor(op, "t", t) &&
        adzi_host_may_touch(op, t, "the host has written elements")) {
        adzi_written(t, op);
    }
}
