/* DLPack, by which libraries hand tensors to each other without a copy: from adze, and to adze. */
#include "adze/dlpack.h"
#include "base/capture.h"

#include <string.h>

#include "tensor/shape.h"
#include "tensor/tensor.h"

/* Numbers that the DLPack specification assigns to devices and kinds of elements. */
enum { CPU = 1, CODE_INT = 0, CODE_UINT = 1, CODE_FLOAT = 2, CODE_BFLOAT = 4, CODE_BOOL = 6 };

/* DLPack's kind and bits of each dtype, in the order of adz_dtype. */
static const struct {
    uint8_t code, bits;
} types[] = { { CODE_FLOAT, 32 }, { CODE_FLOAT, 64 }, { CODE_INT, 32 }, { CODE_INT, 64 },
    { CODE_UINT, 8 }, { CODE_BOOL, 8 }, { CODE_FLOAT, 16 }, { CODE_BFLOAT, 16 } };

/* ---- from adze ------------------------------------------------------------------------------- */

/* A tensor that was handed out. It holds a reference until its receiver calls the deleter. */
typedef struct {
    adz_dl_managed_tensor managed;
    adz_tensor *t;
} handed_out;

static void end_handed_out(adz_dl_managed_tensor *self)
{
    handed_out *h = self->manager_ctx;
    adzi_drop(h->t);
    adzi_free(h, sizeof *h);
}

adz_dl_managed_tensor *adz_tensor_to_dlpack(adz_tensor *t)
{
    ADZI_NOT_CAPTURED(ADZI_USES_ELEMENTS, NULL);
    static const char op[] = "tensor_to_dlpack";
    if (!adzi_check_tensor(op, "t", t)) {
        return NULL;
    }
    if (adzi_requires_grad(t)) {
        return adzi_fail(
            op, ADZ_ERR_GRAPH, "t%s wants a gradient; hand out adz_detach(t)", adzi_text_shape(t));
    }
    handed_out *h = adzi_alloc_zero(sizeof *h);
    if (h == NULL) {
        return adzi_fail_memory(op, sizeof *h);
    }
    h->t = adzi_retain(t);
    h->managed.manager_ctx = h;
    h->managed.deleter = end_handed_out;
    h->managed.dl_tensor = (adz_dl_tensor){ .data = t->data,
        .device = { CPU, 0 },
        .ndim = t->rank,
        .dtype = { types[t->dtype].code, types[t->dtype].bits, 1 },
        .shape = t->sizes,
        .strides = t->strides };
    return &h->managed;
}

/* ---- to adze --------------------------------------------------------------------------------- */

/* The deleter of a storage that was handed in. */

static void end_taken_in(void *data, void *user)
{
    adz_dl_managed_tensor *managed = user;
    (void)data;
    if (managed->deleter != NULL) {
        managed->deleter(managed);
    }
}

/* Finds the dtype with DLPack's kind and bits. Records an error if there is none. */
static bool find_dtype(const char *op, const adz_dl_tensor *dl, adz_dtype *dtype)
{
    for (int i = 0; i < 8; ++i) {
        if (types[i].code == dl->dtype.code && types[i].bits == dl->dtype.bits &&
            dl->dtype.lanes == 1) {
            *dtype = (adz_dtype)i;
            return true;
        }
    }
    adzi_error(op, ADZ_ERR_UNSUPPORTED,
        "type code %d with %d bits in %d lanes has no dtype in adze; convert it first",
        dl->dtype.code, dl->dtype.bits, dl->dtype.lanes);
    return false;
}

adz_tensor *adz_tensor_from_dlpack(adz_dl_managed_tensor *managed)
{
    ADZI_NOT_CAPTURED(ADZI_USES_ELEMENTS, NULL);
    static const char op[] = "tensor_from_dlpack";
    if (managed == NULL) {
        return adzi_fail_null(op, "managed");
    }
    const adz_dl_tensor *dl = &managed->dl_tensor;
    adz_dtype dtype = ADZ_F32;
    int64_t numel;
    if (dl->device.device_type != CPU) {
        return adzi_fail(op, ADZ_ERR_UNSUPPORTED,
            "the tensor is on device type %d; copy it to the CPU first",
            (int)dl->device.device_type);
    }
    if (dl->shape == NULL && dl->ndim != 0) {
        return adzi_fail(op, ADZ_ERR_NULL, "shape is NULL, but ndim is %d", (int)dl->ndim);
    }
    if (!find_dtype(op, dl, &dtype) ||
        adzi_check_sizes(op, dl->ndim, dl->shape, dtype, &numel) != ADZ_OK) {
        return NULL;
    }
    /* The sum is made of integers, because any offset of the caller is defined for them. */
    char *data = (char *)((uintptr_t)dl->data + dl->byte_offset);
    if (numel > 0 && (dl->data == NULL || (uintptr_t)data % adz_dtype_size(dtype) != 0)) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "the memory is NULL or not aligned to %s", adz_dtype_name(dtype));
    }
    adzi_thread *thread = adzi_self();
    size_t bytes = (size_t)numel * adz_dtype_size(dtype);
    adzi_storage *storage = adzi_scope_reserve(thread, 1) ? adzi_storage_around(data, bytes) : NULL;
    if (storage == NULL) {
        return adzi_fail_memory(op, sizeof *storage);
    }
    adz_tensor *t = adzi_tensor_over(thread, op, storage, dtype, dl->ndim, dl->shape);
    if (t != NULL) {
        adzi_storage_hand_over(storage, end_taken_in, managed);
        if (dl->strides != NULL) {
            memcpy(t->strides, dl->strides, (size_t)dl->ndim * sizeof *t->strides);
            t->is_view = true; /* the elements may be a part of the storage, in any order */
        }
    }
    adzi_storage_release(storage);
    return t != NULL ? adzi_borrow(thread, t) : NULL;
}
