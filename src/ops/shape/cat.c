#include <string.h>

#include "ops/shape/list.h"

/* Joins tensors along a dimension that they have, torch.cat.
 *
 *     y    = x_0, x_1, ... one after the other along dim
 *     dx_i = the slice of dy that x_i was copied to
 *
 * x_i[..., w_i, ...] have equal sizes except along dim, y[..., sum of w_i, ...]. dtypes are
 * promoted to a common one. The node saves no tensor: the widths w_i are attributes. */

/* The attributes of a node. The array has one element per input. */
typedef struct {
    int dim;
    int n;            /* number of inputs */
    int64_t widths[]; /* size of each input along dim; -1 for an input that is skipped */
} cat_attr;

/* Each gradient is a slice of dy, and so a view without a copy. A skipped input has no elements and
 * gets an empty gradient. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const cat_attr *at = adzi_attr(node, cat_attr);
    int64_t start = 0;
    for (int i = 0; i < node->n_inputs; ++i) {
        int64_t end = start + (at->widths[i] > 0 ? at->widths[i] : 0);
        /* Gradients that nobody wants are not sliced, but their width still counts. */
        if (adzi_needs(node, i)) {
            dx[i] = at->widths[i] < 0 ? adz_zeros(ADZ_SHAPE(0), (adz_dtype)dy[0]->dtype)
                                      : adz_slice(dy[0], at->dim, start, end, 1);
            if (dx[i] == NULL) {
                return adzi_status(NULL);
            }
        }
        start = end;
    }
    return ADZ_OK;
}

static const adz_field fields[] = { ADZI_FIELD(cat_attr, dim),
    ADZI_FIELD_TAIL(cat_attr, n, widths) };

const adzi_op adzi_op_cat = { .name = "cat", .backward = backward, ADZI_FIELDS(fields) };

/* PyTorch ignores an empty tensor of rank 1 in any list, so that a loop can begin with an empty
 * tensor. */
static bool is_skipped(const adz_tensor *t)
{
    return t->rank == 1 && t->sizes[0] == 0;
}

/* Works out the shape and the dtype of the result, and fills attr. The first tensor that is not
 * skipped gives the sizes of the other dimensions. */
static bool result_of(adzi_call *call, int dim, cat_attr *attr, adz_shape *shape, adz_dtype *dtype)
{
    /* `first` is the first tensor that is not skipped, or the first of the list if all are. */
    const adz_tensor *first = call->in[0];
    *dtype = (adz_dtype)first->dtype;
    for (int i = 0; i < call->n_in; ++i) {
        first = is_skipped(first) ? call->in[i] : first;
        *dtype = adz_promote_types(*dtype, (adz_dtype)call->in[i]->dtype);
    }
    *shape = adz_shape_of(first->rank, first->sizes);
    if (first->rank == 0) {
        adzi_error("cat", ADZ_ERR_SHAPE, "scalars cannot be joined; use adz_stack");
        return false;
    }
    attr->dim = is_skipped(first) ? 0 : adzi_dim("cat", first, dim);
    if (attr->dim < 0) {
        return false;
    }
    attr->n = call->n_in;
    int64_t total = 0;
    for (int i = 0; i < call->n_in; ++i) {
        const adz_tensor *t = call->in[i];
        /* Every tensor is compared with the first one in all dimensions except the one that is
         * joined. */
        bool skipped = is_skipped(t), same = skipped || t->rank == first->rank;
        for (int d = 0; d < first->rank && same && !skipped; ++d) {
            same = d == attr->dim || t->sizes[d] == first->sizes[d];
        }
        int64_t width = skipped || !same ? 0 : t->sizes[attr->dim];
        attr->widths[i] = skipped ? -1 : width;
        if (!same || __builtin_add_overflow(total, width, &total)) {
            adzi_error("cat", ADZ_ERR_SHAPE,
                "tensor %d%s does not fit %s: sizes must be equal except along dimension %d", i,
                adzi_text_shape(t), adzi_text_shape(first), attr->dim);
            return false;
        }
    }
    shape->sizes[attr->dim] = total;
    int64_t numel;
    return adzi_check_sizes("cat", shape->rank, shape->sizes, *dtype, &numel) == ADZ_OK;
}

/* Copies each input to its part of y. The part is described by a header on the stack, with the
 * strides of y. */
static void copy_inputs(adz_tensor *y, const adzi_call *call, const cat_attr *attr)
{
    adz_tensor window = *y; /* the part of y that an input fills */
    for (int i = 0; i < call->n_in; ++i) {
        const adz_tensor *t = call->in[i];
        if (attr->widths[i] <= 0) {
            continue;
        }
        /* The next part begins where this one ends, so `data` moves by the width. */
        window.sizes[attr->dim] = attr->widths[i];
        window.numel = t->numel;
        adzi_copy(&window, t);
        window.data += attr->widths[i] * y->strides[attr->dim] * (int64_t)adzi_item_size(y);
    }
}

/* Converts the inputs to the common dtype; these conversions are on the tape if needed. The call is
 * written out, because there may be any number of inputs. */
static adz_tensor *cat(adzi_call *call, int dim, cat_attr *attr, size_t attr_size)
{
    adz_shape shape;
    adz_dtype dtype;
    if (!result_of(call, dim, attr, &shape, &dtype)) {
        return NULL;
    }
    for (int i = 0; i < call->n_in; ++i) {
        if (!adzi_convert(call, i, dtype)) {
            return NULL;
        }
    }
    adz_tensor *y = adzi_new(call, dtype, shape.rank, shape.sizes);
    if (y == NULL || !adzi_record(call, 1, &y, attr, attr_size)) {
        return NULL;
    }
    copy_inputs(y, call, attr);
    return adzi_leave(call, y);
}

/* Any number of tensors from 1 to ADZI_LIST_MOST. */
adz_tensor *adz_cat(adz_tensor *const *tensors, size_t n, int dim)
{
    if (!adzi_check_list("cat", tensors, n)) {
        return NULL;
    }
    /* Attributes and the list of inputs are one block of memory, because both have a length that
     * depends on n. The tape keeps copies. */
    size_t attr_size = sizeof(cat_attr) + n * sizeof(int64_t);
    size_t list_size = n * sizeof(adz_tensor *);
    cat_attr *attr = adzi_alloc(attr_size + list_size);
    if (attr == NULL) {
        return adzi_fail_memory("cat", attr_size + list_size);
    }
    adz_tensor **in = (adz_tensor **)(void *)((char *)attr + attr_size);
    memcpy(in, tensors, list_size);
    adzi_call call;
    adz_tensor *y = adzi_enter(&call, &adzi_op_cat, "tensors", in, (int)n, 0)
                        ? cat(&call, dim, attr, attr_size)
                        : NULL;
    adzi_free(attr, attr_size + list_size);
    return y;
}
