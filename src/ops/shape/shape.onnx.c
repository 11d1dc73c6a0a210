/* Nodes that move elements: reshapes, slices, joins; and where the batch goes in them. */
#include <string.h>

#include "export/onnx.h"

adzi_onnx_printer adzi_onnx_print_cat, adzi_onnx_print_expand, adzi_onnx_print_flip,
    adzi_onnx_print_reshape, adzi_onnx_print_split, adzi_onnx_print_unbind;
adzi_onnx_batch_rule adzi_onnx_batch_cat, adzi_onnx_batch_flip, adzi_onnx_batch_pad,
    adzi_onnx_batch_reshape, adzi_onnx_batch_squeeze, adzi_onnx_batch_transpose,
    adzi_onnx_batch_triangle, adzi_onnx_batch_unbind, adzi_onnx_batch_unsqueeze;
adzi_onnx_lister adzi_onnx_pads, adzi_onnx_permutation, adzi_onnx_squeezed;

/* ---- reshape -------------------------------------------------------------------------------- */

/* The sizes of result k for a node, with `free` for the dimension of the batch. */
static void sizes_of(const adzi_onnx *g, int k, int64_t free, int64_t *sizes)
{
    const adzi_traced_value *y = adzi_onnx_result(g, k);
    memcpy(sizes, y->sizes, sizeof y->sizes);
    if (adzi_onnx_batch_out(g, k)->axis >= 0) {
        sizes[adzi_onnx_batch_out(g, k)->axis] = free;
    }
}

bool adzi_onnx_print_reshape(adzi_onnx *g)
{
    const adzi_traced_value *y = adzi_onnx_result(g, 0);
    int64_t sizes[ADZ_MAX_RANK];
    bool zero = false;
    sizes_of(g, 0, -1, sizes);
    for (int d = 0; d < y->rank; ++d) {
        zero = zero || sizes[d] == 0;
    }
    return adzi_onnx_last(g, "Reshape",
        ADZI_NAMES(adzi_onnx_in(g, 0), adzi_onnx_ints(g, sizes, (size_t)y->rank)),
        ADZI_ATTRS(ADZI_ATTR_INT("allowzero", zero)));
}

/* A reshape keeps the order of the elements, which is before x B x after. The batch is in the
 * dimension of the result whose stretch of the order contains B and nothing but B's neighbours. */
bool adzi_onnx_batch_reshape(const adzi_onnx *g)
{
    const adzi_onnx_batch b = *adzi_onnx_batch_in(g, 0);
    const adzi_traced_value *x = adzi_onnx_input(g, 0), *y = adzi_onnx_result(g, 0);
    if (b.axis < 0) {
        return true;
    }
    int64_t outer = b.before, left = 1;
    for (int d = 0; d < b.axis; ++d) {
        outer *= x->sizes[d];
    }
    int64_t inner = b.after;
    for (int d = b.axis + 1; d < x->rank; ++d) {
        inner *= x->sizes[d];
    }
    for (int d = 0; d < y->rank; ++d) {
        /* left: the product of the sizes before d. The rest of `outer` has to be in d itself. */
        if (left > 0 && outer % left == 0) {
            const int64_t before = outer / left, rest = y->sizes[d];
            int64_t behind = 1;
            for (int i = d + 1; i < y->rank; ++i) {
                behind *= y->sizes[i];
            }
            if (behind > 0 && inner % behind == 0 &&
                before * g->batch_size * (inner / behind) == rest) {
                *adzi_onnx_batch_out(g, 0) = (adzi_onnx_batch){ d, before, inner / behind };
                return true;
            }
        }
        left *= y->sizes[d];
    }
    return false;
}

bool adzi_onnx_print_expand(adzi_onnx *g)
{
    int64_t sizes[ADZ_MAX_RANK];
    sizes_of(g, 0, 1, sizes); /* size 1 broadcasts to that of the input */
    const adzi_traced_value *y = adzi_onnx_result(g, 0), *x = adzi_onnx_input(g, 0);
    for (int d = 0; d < x->rank; ++d) {
        if (x->sizes[d] == 1 && y->sizes[y->rank - x->rank + d] == 0) {
            return adzi_onnx_refuse(g, "makes a dimension of size 0, which runtimes do not do");
        }
    }
    const char *shape = adzi_onnx_ints(g, sizes, (size_t)y->rank);
    return adzi_onnx_last(g, "Expand", ADZI_NAMES(adzi_onnx_in(g, 0), shape), ADZI_NO_ATTRS);
}

/* ---- dimensions ----------------------------------------------------------------------------- */

/* perm[d] is the dimension of x that becomes dimension d. */
size_t adzi_onnx_permutation(const adzi_onnx *g, int64_t *perm)
{
    const int rank = adzi_onnx_input(g, 0)->rank;
    if (rank == 0 || adzi_onnx_list(g, "dims", perm, ADZ_MAX_RANK) > 0) {
        return (size_t)rank;
    }
    for (int d = 0; d < rank; ++d) {
        perm[d] = d;
    }
    const int64_t a = adzi_onnx_attr_whole(g, "dim0"), b = adzi_onnx_attr_whole(g, "dim1");
    perm[a] = b;
    perm[b] = a;
    return (size_t)rank;
}

bool adzi_onnx_batch_transpose(const adzi_onnx *g)
{
    int64_t perm[ADZ_MAX_RANK] = { 0 };
    const size_t rank = adzi_onnx_permutation(g, perm);
    int axis = 0;
    for (size_t d = 0; d < rank; ++d) {
        axis = perm[d] == adzi_onnx_batch_in(g, 0)->axis ? (int)d : axis;
    }
    return adzi_onnx_batch_to(g, axis);
}

bool adzi_onnx_batch_unsqueeze(const adzi_onnx *g)
{
    const int axis = adzi_onnx_batch_in(g, 0)->axis;
    return adzi_onnx_batch_to(g, axis + (axis >= adzi_onnx_attr_whole(g, "dim")));
}

/* True if x without the dimensions of the mask has the sizes of the result. */
static bool leaves_result(const adzi_onnx *g, unsigned mask)
{
    const adzi_traced_value *x = adzi_onnx_input(g, 0), *y = adzi_onnx_result(g, 0);
    int n = 0;
    for (int d = 0; d < x->rank; ++d) {
        if (mask & (1u << d)) {
            if (x->sizes[d] != 1) {
                return false;
            }
        } else if (n >= y->rank || x->sizes[d] != y->sizes[n++]) {
            return false;
        }
    }
    return n == y->rank;
}

/* The dimensions of size 1 that squeeze has removed. Its attributes do not tell; any choice gives
 * the result, but the dimension of the batch must stay. */
static unsigned squeezed_mask(const adzi_onnx *g)
{
    const int axis = adzi_onnx_batch_in(g, 0)->axis;
    for (unsigned mask = 0; mask < 1u << ADZ_MAX_RANK; ++mask) {
        if ((axis < 0 || !(mask & (1u << axis))) && leaves_result(g, mask)) {
            return mask;
        }
    }
    return ~0u;
}

size_t adzi_onnx_squeezed(const adzi_onnx *g, int64_t *dims)
{
    const unsigned mask = squeezed_mask(g);
    size_t n = 0;
    for (int d = 0; d < adzi_onnx_input(g, 0)->rank; ++d) {
        if (mask & (1u << d)) {
            dims[n++] = d;
        }
    }
    return n;
}

bool adzi_onnx_batch_squeeze(const adzi_onnx *g)
{
    const unsigned mask = squeezed_mask(g);
    int axis = adzi_onnx_batch_in(g, 0)->axis;
    for (int d = axis - 1; d >= 0; --d) {
        axis -= (int)(mask >> d & 1u);
    }
    return mask != ~0u && adzi_onnx_batch_to(g, axis);
}

/* ---- parts ---------------------------------------------------------------------------------- */

/* A slice from the last element of each dimension to the first. */
bool adzi_onnx_print_flip(adzi_onnx *g)
{
    int64_t dims[ADZ_MAX_RANK], starts[ADZ_MAX_RANK], ends[ADZ_MAX_RANK], steps[ADZ_MAX_RANK];
    const size_t n = adzi_onnx_list(g, "dims", dims, ADZ_MAX_RANK);
    if (n == 0) {
        return adzi_onnx_last(g, "Identity", ADZI_NAMES(adzi_onnx_in(g, 0)), ADZI_NO_ATTRS);
    }
    for (size_t i = 0; i < n; ++i) {
        starts[i] = steps[i] = -1;
        ends[i] = INT64_MIN;
    }
    return adzi_onnx_last(g, "Slice",
        ADZI_NAMES(adzi_onnx_in(g, 0), adzi_onnx_ints(g, starts, n), adzi_onnx_ints(g, ends, n),
            adzi_onnx_ints(g, dims, n), adzi_onnx_ints(g, steps, n)),
        ADZI_NO_ATTRS);
}

/* Numbers come in pairs from the last dimension in adze; a node has all of one side first. */
size_t adzi_onnx_pads(const adzi_onnx *g, int64_t *pads)
{
    const int rank = adzi_onnx_input(g, 0)->rank;
    int64_t given[2 * ADZ_MAX_RANK];
    const size_t n = adzi_onnx_list(g, "pad", given, 2 * (size_t)ADZ_MAX_RANK);
    memset(pads, 0, 2 * (size_t)rank * sizeof *pads);
    for (size_t i = 0; i < n; ++i) {
        pads[rank - 1 - (int)(i / 2) + (i % 2 == 1 ? rank : 0)] = given[i];
    }
    return 2 * (size_t)rank;
}

bool adzi_onnx_batch_pad(const adzi_onnx *g)
{
    const int axis = adzi_onnx_batch_in(g, 0)->axis;
    return (axis < 0 ||
               adzi_onnx_input(g, 0)->sizes[axis] == adzi_onnx_result(g, 0)->sizes[axis]) &&
           adzi_onnx_batch_first(g);
}

bool adzi_onnx_batch_flip(const adzi_onnx *g)
{
    const int axis = adzi_onnx_batch_in(g, 0)->axis;
    return (axis < 0 || !((unsigned)adzi_onnx_attr_whole(g, "dims") & (1u << axis))) &&
           adzi_onnx_batch_first(g);
}

/* A Slice or Gather for each result that is used: the pieces of split, the indices of unbind. */
static bool split(adzi_onnx *g, bool pieces)
{
    const int64_t dim = adzi_onnx_attr_whole(g, "dim"), step = 1;
    int64_t start = 0;
    for (int k = 0; k < g->call->n_out && !g->failed; ++k) {
        const adzi_traced_value *y = adzi_onnx_result(g, k);
        const int64_t end = pieces ? start + y->sizes[dim] : start + 1;
        if (y->used && pieces) {
            adzi_onnx_node(g, "Slice",
                ADZI_NAMES(adzi_onnx_in(g, 0), adzi_onnx_ints(g, &start, 1),
                    adzi_onnx_ints(g, &end, 1), adzi_onnx_ints(g, &dim, 1),
                    adzi_onnx_ints(g, &step, 1)),
                ADZI_NAMES(adzi_onnx_out(g, k)), ADZI_NO_ATTRS);
        } else if (y->used) {
            adzi_onnx_node(g, "Gather",
                ADZI_NAMES(adzi_onnx_in(g, 0), adzi_onnx_number(g, ADZ_I64, (double)k)),
                ADZI_NAMES(adzi_onnx_out(g, k)), ADZI_ATTRS(ADZI_ATTR_INT("axis", dim)));
        }
        start = end;
    }
    return !g->failed;
}

bool adzi_onnx_print_split(adzi_onnx *g)
{
    return split(g, true);
}

bool adzi_onnx_print_unbind(adzi_onnx *g)
{
    return split(g, false);
}

bool adzi_onnx_batch_unbind(const adzi_onnx *g)
{
    const int axis = adzi_onnx_batch_in(g, 0)->axis, dim = (int)adzi_onnx_attr_whole(g, "dim");
    return axis != dim && adzi_onnx_batch_to(g, axis - (axis > dim));
}

/* The position of the first part with the batch, or -1. */
static int first_with_batch(const adzi_onnx *g)
{
    for (int i = 0; i < g->call->n_in; ++i) {
        if (adzi_onnx_batch_in(g, i)->axis >= 0) {
            return i;
        }
    }
    return -1;
}

/* Part i of a join. A constant of the traced batch size is expanded to that of the run. */
static const char *part(adzi_onnx *g, int i)
{
    const int axis = adzi_onnx_batch_out(g, 0)->axis;
    const char *name = adzi_onnx_in(g, i);
    if (!g->free_batch || axis < 0 || adzi_onnx_batch_in(g, i)->axis >= 0 || name == NULL) {
        return name;
    }
    int64_t sizes[ADZ_MAX_RANK];
    const adzi_traced_value *x = adzi_onnx_input(g, i);
    memcpy(sizes, x->sizes, sizeof sizes);
    const char *batch = adzi_onnx_temporary(g), *shape = adzi_onnx_temporary(g);
    adzi_onnx_node(g, "Shape", ADZI_NAMES(adzi_onnx_in(g, first_with_batch(g))), ADZI_NAMES(batch),
        ADZI_ATTRS(ADZI_ATTR_INT("start", axis), ADZI_ATTR_INT("end", axis + 1)));
    adzi_onnx_node(g, "Concat",
        ADZI_NAMES(adzi_onnx_ints(g, sizes, (size_t)axis), batch,
            adzi_onnx_ints(g, sizes + axis + 1, (size_t)(x->rank - axis - 1))),
        ADZI_NAMES(shape), ADZI_ATTRS(ADZI_ATTR_INT("axis", 0)));
    return adzi_onnx_step(g, "Expand", adzi_onnx_first(g, name, axis), shape);
}

bool adzi_onnx_print_cat(adzi_onnx *g)
{
    const size_t n = (size_t)g->call->n_in;
    const char **in = adzi_alloc(n * sizeof *in);
    if (in == NULL) {
        g->failed = true;
        adzi_fail_memory(g->op, n * sizeof *in);
        return false;
    }
    /* As in PyTorch, an empty vector may be joined to tensors of any rank. */
    size_t parts = 0;
    for (size_t i = 0; i < n; ++i) {
        if (adzi_onnx_input(g, (int)i)->rank == adzi_onnx_result(g, 0)->rank) {
            in[parts++] = part(g, (int)i);
        }
    }
    const bool good = adzi_onnx_last(g, "Concat", (adzi_onnx_names){ in, parts },
        ADZI_ATTRS(ADZI_ATTR_INT("axis", adzi_onnx_attr_whole(g, "dim"))));
    adzi_free(in, n * sizeof *in);
    return good;
}

/* All parts have the batch in one dimension, which is not the one that is joined, or are
 * constants of one number. */
bool adzi_onnx_batch_cat(const adzi_onnx *g)
{
    const int first = first_with_batch(g);
    if (first < 0) {
        return true;
    }
    const adzi_onnx_batch b = *adzi_onnx_batch_in(g, first);
    for (int i = 0; i < g->call->n_in; ++i) {
        const adzi_onnx_batch other = *adzi_onnx_batch_in(g, i);
        const bool same =
            other.axis == b.axis && other.before == b.before && other.after == b.after;
        const bool grows =
            other.axis < 0 && b.before == 1 && b.after == 1 && adzi_onnx_is_uniform(g, i);
        if (!same && !grows) {
            return false;
        }
    }
    *adzi_onnx_batch_out(g, 0) = b;
    return b.axis != adzi_onnx_attr_whole(g, "dim");
}

bool adzi_onnx_batch_triangle(const adzi_onnx *g)
{
    const int axis = adzi_onnx_batch_in(g, 0)->axis;
    return axis < adzi_onnx_input(g, 0)->rank - 2 && adzi_onnx_batch_first(g);
}
