/* The node ScatterElements. */
#include <stdio.h>
#include <string.h>

#include "adze/ops/index.h"
#include "export/onnx.h"

adzi_onnx_printer adzi_onnx_print_scatter_add;

/* The attribute "reduction": the only word of the row, or the one for a product, the largest or the
 * smallest element. */
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

/* The updates are cut to the sizes of the index, which a node needs. Products, maxima and minima of
 * truths are those of 0 and 1, since onnxruntime has no maximum of truths. */
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
