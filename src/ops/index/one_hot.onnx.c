/* The node OneHot. */
#include "export/onnx.h"

adzi_onnx_printer adzi_onnx_print_one_hot;

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
        adzi_onnx_last(
            g, "Reshape", ADZI_NAMES(hot, adzi_onnx_ints(g, &classes, 1)), ADZI_NO_ATTRS);
    }
    return !g->failed;
}
