/* Calls that write their result into their first input. */
#include "ops/op.h"

/* The range of bytes, [low, high), in which the elements of a tensor with elements are. */
static void extent(const adz_tensor *t, const char **low, const char **high)
{
    int64_t down = 0, up = 0;
    for (int i = 0; i < t->rank; ++i) {
        int64_t reach = (t->sizes[i] - 1) * t->strides[i];
        up += reach > 0 ? reach : 0;
        down += reach < 0 ? reach : 0;
    }
    int64_t item = (int64_t)adzi_item_size(t);
    *low = t->data + down * item;
    *high = t->data + (up + 1) * item;
}

/* True if the memory of two tensors overlaps and they are not the same view. An in-place kernel may
 * read element i of the same view before it writes it, but not other elements. */
static bool overlaps_otherwise(const adz_tensor *a, const adz_tensor *b)
{
    if (a->storage != b->storage || a->numel == 0 || b->numel == 0) {
        return false;
    }
    const char *a0, *a1, *b0, *b1;
    extent(a, &a0, &a1);
    extent(b, &b0, &b1);
    bool apart = a1 <= b0 || b1 <= a0;
    bool same = a->data == b->data && adzi_same_sizes(a, b);
    for (int i = 0; i < a->rank && same; ++i) {
        same = a->sizes[i] <= 1 || a->strides[i] == b->strides[i];
    }
    return !apart && !same;
}

bool adzi_begin_inplace(adzi_call *call, bool needs_old)
{
    adz_tensor *x = call->in[0];
    const char *op = call->op->name;
    call->inplace = true;
    adzi_may_be_written(x);
    if (call->record && x->node == NULL && x->requires_grad) {
        adzi_error(op, ADZ_ERR_INPLACE,
            "%s_ would change x%s, a leaf that wants a gradient; use adz_%s, which returns a new tensor, or ADZ_NO_GRAD for an update that is no part of the graph",
            op, adzi_text_shape(x), op);
        return false;
    }
    if (call->record && x->is_view) {
        adzi_error(op, ADZ_ERR_INPLACE,
            "%s_ would change x%s, a view inside a graph; use adz_%s, which returns a new tensor",
            op, adzi_text_shape(x), op);
        return false;
    }
    if (!adzi_is_dense(x)) {
        adzi_error(op, ADZ_ERR_INPLACE,
            "%s_ would write several elements of x%s to one address (it was expanded); use adz_contiguous first",
            op, adzi_text_shape(x));
        return false;
    }
    for (int i = 1; i < call->n_in; ++i) {
        adz_tensor *t = call->in[i];
        if (!adzi_is_none(t) && overlaps_otherwise(x, t)) {
            call->in[i] = adz_clone(t);
            adzi_trace_open(true);
            if (call->in[i] == NULL) {
                return false;
            }
        }
    }
    if (call->record && needs_old) {
        call->old = adzi_compact_copy(op, x);
        if (call->old == NULL) {
            return false;
        }
        if (x->node != NULL) { /* for second derivatives, which go on through the old value */
            adzi_refs_take(&x->node->refs);
            call->old->node = x->node;
            call->old->result = x->result;
            call->old->history = call->old->storage->history;
        }
    }
    return true;
}
