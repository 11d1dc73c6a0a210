/* Nodes of matrix products. */
#include "export/onnx.h"

adzi_onnx_printer adzi_onnx_print_linear, adzi_onnx_print_matmul;
adzi_onnx_batch_rule adzi_onnx_batch_linear, adzi_onnx_batch_matmul;

/* The transposed last two dimensions of input i. */
static const char *turned(adzi_onnx *g, int i)
{
    const int rank = adzi_onnx_input(g, i)->rank;
    int64_t perm[ADZ_MAX_RANK] = { 0 };
    for (int d = 0; d < rank; ++d) {
        perm[d] = d < rank - 2 ? d : d == rank - 2 ? rank - 1 : rank - 2;
    }
    const char *y = adzi_onnx_temporary(g);
    adzi_onnx_node(g, "Transpose", ADZI_NAMES(adzi_onnx_in(g, i)), ADZI_NAMES(y),
        ADZI_ATTRS(ADZI_ATTR_INTS("perm", perm, (size_t)rank)));
    return y;
}

bool adzi_onnx_print_matmul(adzi_onnx *g)
{
    const char *a = adzi_onnx_attr_whole(g, "transpose_a") ? turned(g, 0) : adzi_onnx_in(g, 0);
    const char *b = adzi_onnx_attr_whole(g, "transpose_b") ? turned(g, 1) : adzi_onnx_in(g, 1);
    return adzi_onnx_last(g, "MatMul", ADZI_NAMES(a, b), ADZI_NO_ATTRS);
}

/* The dimension of the product that a batch dimension of an operand becomes: a leading one, that of
 * the rows of a or that of the columns of b; -1 if it is summed over. */
static int dimension_in_product(const adzi_onnx *g, int i)
{
    const adzi_onnx_batch b = *adzi_onnx_batch_in(g, i);
    const int rank = adzi_onnx_input(g, i)->rank, to = adzi_onnx_result(g, 0)->rank;
    const bool turned_over = adzi_onnx_attr_whole(g, i == 0 ? "transpose_a" : "transpose_b") != 0;
    int axis = b.axis;
    if (turned_over && axis >= rank - 2) {
        axis = axis == rank - 2 ? rank - 1 : rank - 2;
    }
    const int summed = i == 0 ? rank - 1 : rank - 2;
    return axis == summed ? -1 : axis + (to - rank);
}

/* Operands with batch dimensions both have them in one dimension of the product. */
bool adzi_onnx_batch_matmul(const adzi_onnx *g)
{
    adzi_onnx_batch y = { -1, 0, 0 };
    for (int i = 0; i < 2; ++i) {
        adzi_onnx_batch b = *adzi_onnx_batch_in(g, i);
        if (b.axis < 0) {
            continue;
        }
        if (adzi_onnx_input(g, 0)->rank < 2 || adzi_onnx_input(g, 1)->rank < 2) {
            return false;
        }
        b.axis = dimension_in_product(g, i);
        if (b.axis < 0 ||
            (y.axis >= 0 && (y.axis != b.axis || y.before != b.before || y.after != b.after ||
                                b.axis >= adzi_onnx_result(g, 0)->rank - 2))) {
            return false;
        }
        y = b;
    }
    /* An operand without the batch broadcasts in this dimension. */
    for (int i = 0; i < 2 && y.axis >= 0; ++i) {
        const adzi_traced_value *x = adzi_onnx_input(g, i);
        const int axis = y.axis - (adzi_onnx_result(g, 0)->rank - x->rank);
        if (adzi_onnx_batch_in(g, i)->axis < 0 && axis >= 0 && axis < x->rank - 2 &&
            x->sizes[axis] != 1) {
            return false;
        }
    }
    *adzi_onnx_batch_out(g, 0) = y;
    return true;
}

/* x W^T + b: Gemm for a matrix x, else MatMul and Add. */
bool adzi_onnx_print_linear(adzi_onnx *g)
{
    const char *y = adzi_onnx_out(g, 0);
    const bool biased = g->call->in[2] >= 0;
    if (adzi_onnx_input(g, 0)->rank == 2 && adzi_is_float(adzi_onnx_input(g, 0)->dtype)) {
        const char *in[] = { adzi_onnx_in(g, 0), adzi_onnx_in(g, 1), adzi_onnx_in(g, 2) };
        adzi_onnx_node(g, "Gemm", (adzi_onnx_names){ in, biased ? 3 : 2 }, ADZI_NAMES(y),
            ADZI_ATTRS(ADZI_ATTR_INT("transB", 1)));
        return !g->failed;
    }
    const char *product = biased ? adzi_onnx_temporary(g) : y;
    adzi_onnx_node(g, "MatMul", ADZI_NAMES(adzi_onnx_in(g, 0), turned(g, 1)), ADZI_NAMES(product),
        ADZI_NO_ATTRS);
    if (biased) {
        adzi_onnx_node(
            g, "Add", ADZI_NAMES(product, adzi_onnx_in(g, 2)), ADZI_NAMES(y), ADZI_NO_ATTRS);
    }
    return !g->failed;
}

/* The last dimension of x is summed over. */
bool adzi_onnx_batch_linear(const adzi_onnx *g)
{
    return adzi_onnx_batch_in(g, 0)->axis < adzi_onnx_input(g, 0)->rank - 1 &&
           adzi_onnx_batch_first(g);
}
