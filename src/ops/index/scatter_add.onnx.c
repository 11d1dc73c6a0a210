/* The node ScatterElements. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "adze/ops/index.h"
#include "export/onnx.h"

adzi_onnx_printer adzi_onnx_print_scatter_add;

/* How updates are combined: the only word of the row, or the one for a product, the largest or the
 * smallest element. A word is a value of the attribute "reduction"; one in capitals is a node. */
static const char *reduction_of(const adzi_onnx *g, char room[8])
{
    const char *words = adzi_onnx_type(g);
    if (strchr(words, ' ') == NULL) {
        return words;
    }
    const int64_t reduce = adzi_onnx_attr_whole(g, "reduce");
    const int k = reduce == ADZ_SCATTER_PROD ? 0 : reduce == ADZ_SCATTER_AMAX ? 1 : 2;
    for (int i = 0; i < k; ++i) {
        words = strchr(words, ' ') + 1;
    }
    snprintf(room, 8, "%.*s", (int)strcspn(words, " "), words);
    return room;
}

/* Elements k ... k + 1 of a value along a dimension. */
static const char *slice_at(adzi_onnx *g, const char *name, int64_t dim, int64_t k)
{
    const int64_t end = k + 1;
    const char *y = adzi_onnx_temporary(g);
    adzi_onnx_node(g, "Slice",
        ADZI_NAMES(
            name, adzi_onnx_ints(g, &k, 1), adzi_onnx_ints(g, &end, 1), adzi_onnx_ints(g, &dim, 1)),
        ADZI_NAMES(y), ADZI_NO_ATTRS);
    return y;
}

enum { MOST_SLICES = 64 };

/* Before opset 18, the node has no reduction by Max or Min. Updates of one slice along the
 * dimension never meet, because they differ in their other dimensions. So slice by slice, the
 * elements at the indices are taken, combined with the updates, and put back. */
static bool print_extremes(
    adzi_onnx *g, const char *type, const char *x, const char *index, const char *updates)
{
    const int64_t dim = adzi_onnx_attr_whole(g, "dim");
    const int64_t n = adzi_onnx_input(g, 1)->sizes[dim];
    const adzi_onnx_attrs axis = ADZI_ATTRS(ADZI_ATTR_INT("axis", dim));
    if (n > MOST_SLICES) {
        return adzi_onnx_refuse(g,
            "of more than 64 maxima or minima along its dimension has no counterpart in ONNX before opset 18");
    }
    for (int64_t k = 0; k < n; ++k) {
        const char *at = slice_at(g, index, dim, k), *here = adzi_onnx_temporary(g);
        adzi_onnx_node(g, "GatherElements", ADZI_NAMES(x, at), ADZI_NAMES(here), axis);
        here = adzi_onnx_step(g, type, here, slice_at(g, updates, dim, k));
        const char *y = k + 1 < n ? adzi_onnx_temporary(g) : adzi_onnx_out(g, 0);
        adzi_onnx_node(g, "ScatterElements", ADZI_NAMES(x, at, here), ADZI_NAMES(y), axis);
        x = y;
    }
    return n > 0 || adzi_onnx_last(g, "Identity", ADZI_NAMES(x), ADZI_NO_ATTRS);
}

/* The updates are cut to the sizes of the index, which a node needs. Products of truths are those
 * of 0 and 1. */
bool adzi_onnx_print_scatter_add(adzi_onnx *g)
{
    const adzi_traced_value *index = adzi_onnx_input(g, 1), *from = adzi_onnx_input(g, 2);
    const char *updates = adzi_onnx_in(g, 2);
    if (index->rank == 0) {
        return adzi_onnx_refuse(g, "of a scalar has no counterpart in ONNX");
    }
    int64_t starts[ADZ_MAX_RANK] = { 0 };
    bool same = true;
    for (int d = 0; d < index->rank; ++d) {
        same = same && index->sizes[d] == from->sizes[d];
    }
    if (!same) {
        const char *cut = adzi_onnx_temporary(g);
        adzi_onnx_node(g, "Slice",
            ADZI_NAMES(updates, adzi_onnx_ints(g, starts, (size_t)index->rank),
                adzi_onnx_ints(g, index->sizes, (size_t)index->rank)),
            ADZI_NAMES(cut), ADZI_NO_ATTRS);
        updates = cut;
    }
    char room[8];
    const char *reduction = reduction_of(g, room), *x = adzi_onnx_in(g, 0);
    if (isupper((unsigned char)reduction[0])) {
        return print_extremes(g, reduction, x, adzi_onnx_in(g, 1), updates);
    }
    const adzi_onnx_attrs attrs = ADZI_ATTRS(ADZI_ATTR_INT("axis", adzi_onnx_attr_whole(g, "dim")),
        ADZI_ATTR_TEXT("reduction", reduction));
    if (from->dtype != ADZ_BOOL || reduction[0] != 'm') {
        return adzi_onnx_last(
            g, "ScatterElements", ADZI_NAMES(x, adzi_onnx_in(g, 1), updates), attrs);
    }
    x = adzi_onnx_cast(g, x, ADZ_BOOL, ADZ_U8);
    updates = adzi_onnx_cast(g, updates, ADZ_BOOL, ADZ_U8);
    const char *y = adzi_onnx_temporary(g);
    adzi_onnx_node(
        g, "ScatterElements", ADZI_NAMES(x, adzi_onnx_in(g, 1), updates), ADZI_NAMES(y), attrs);
    adzi_onnx_cast_to(g, y, adzi_onnx_out(g, 0), ADZ_BOOL);
    return true;
}
