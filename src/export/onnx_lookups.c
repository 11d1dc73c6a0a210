/* Printers of operators that find elements by their indices. */
#include "export/onnx.h"

static int64_t whole(const adzi_onnx *g, const char *name)
{
    return adzi_attr_whole(g->call->op, g->call->attr, name);
}

/* A node of the inputs `in` whose result is the call's. */
static bool last(adzi_onnx *g, const char *type, adzi_onnx_names in, adzi_onnx_attrs attrs)
{
    adzi_onnx_node(g, type, in, ADZI_NAMES(adzi_onnx_out(g, 0)), attrs);
    return !g->failed;
}

bool adzi_onnx_print_embedding(adzi_onnx *g)
{
    return last(g, "Gather", ADZI_NAMES(adzi_onnx_in(g, 1), adzi_onnx_in(g, 0)),
        ADZI_ATTRS(ADZI_ATTR_INT("axis", 0)));
}

static bool refuse_scalar(adzi_onnx *g)
{
    return adzi_onnx_refuse(g, "of a scalar has no counterpart in ONNX");
}

/* Gather of rows, and GatherElements. */
bool adzi_onnx_print_gather(adzi_onnx *g)
{
    if (adzi_onnx_input(g, 0)->rank == 0) {
        return refuse_scalar(g);
    }
    return last(g, adzi_onnx_type(g), ADZI_NAMES(adzi_onnx_in(g, 0), adzi_onnx_in(g, 1)),
        ADZI_ATTRS(ADZI_ATTR_INT("axis", whole(g, "dim"))));
}

/* An index of rank 1 is the batch, or x has it in another dimension. */
bool adzi_onnx_carry_index_select(const adzi_onnx *g)
{
    const adzi_onnx_batch x = *adzi_onnx_batch_in(g, 0);
    adzi_onnx_batch index = *adzi_onnx_batch_in(g, 1);
    if (index.axis < 0) {
        return adzi_onnx_carry_but_dim(g);
    }
    index.axis = (int)whole(g, "dim");
    *adzi_onnx_batch_out(g, 0) = index;
    return x.axis < 0;
}

/* The sizes of index and x are equal but along dim. */
bool adzi_onnx_carry_gather(const adzi_onnx *g)
{
    const adzi_onnx_batch x = *adzi_onnx_batch_in(g, 0), index = *adzi_onnx_batch_in(g, 1);
    *adzi_onnx_batch_out(g, 0) = index;
    return x.axis == index.axis && x.before == index.before && x.after == index.after &&
           (x.axis < 0 || x.axis != whole(g, "dim"));
}

/* The updates are cut to the sizes of the index, which a node needs. */
bool adzi_onnx_print_scatter_add(adzi_onnx *g)
{
    const adzi_traced_value *index = adzi_onnx_input(g, 1), *from = adzi_onnx_input(g, 2);
    const char *updates = adzi_onnx_in(g, 2);
    if (index->rank == 0) {
        return refuse_scalar(g);
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
    return last(g, "ScatterElements", ADZI_NAMES(adzi_onnx_in(g, 0), adzi_onnx_in(g, 1), updates),
        ADZI_ATTRS(ADZI_ATTR_INT("axis", whole(g, "dim")), ADZI_ATTR_TEXT("reduction", "add")));
}

bool adzi_onnx_print_one_hot(adzi_onnx *g)
{
    const adzi_traced_value *y = adzi_onnx_result(g, 0);
    const int64_t values[2] = { 0, 1 }, classes = y->sizes[y->rank - 1];
    const adz_dtype dtype = adzi_onnx_input(g, 0)->dtype;
    const char *ids = adzi_onnx_cast(g, adzi_onnx_in(g, 0), dtype, ADZ_I64);
    const char *number = adzi_onnx_number(g, ADZ_I64, (double)classes);
    const bool scalar = y->rank == 1; /* a node needs a dimension */
    const int64_t one = 1;
    ids = scalar ? adzi_onnx_step(g, "Reshape", ids, adzi_onnx_ints(g, &one, 1)) : ids;
    const char *hot = scalar ? adzi_onnx_temporary(g) : adzi_onnx_out(g, 0);
    adzi_onnx_node(g, "OneHot", ADZI_NAMES(ids, number, adzi_onnx_ints(g, values, 2)),
        ADZI_NAMES(hot), ADZI_ATTRS(ADZI_ATTR_INT("axis", -1)));
    if (scalar) {
        last(g, "Reshape", ADZI_NAMES(hot, adzi_onnx_ints(g, &classes, 1)), ADZI_NO_ATTRS);
    }
    return !g->failed;
}
