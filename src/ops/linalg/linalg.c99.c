/* Products of matrices, as linear layers and as matmul. */
#include "export/c99/printer.h"

/* x and y as [N, D] and [N, H] if that is possible, so that there is one product and no batch. */
static void as_rows(adzi_c99_value *x, adzi_c99_value *y)
{
    adzi_c99_value rows_x, rows_y;
    if (adzi_c99_rows(x, &rows_x) && adzi_c99_rows(y, &rows_y)) {
        *x = rows_x;
        *y = rows_y;
    }
}

ADZI_C99_PRINTER(linear)
{
    adzi_c99_value x = adzi_c99_at_least_matrix(adzi_c99_in(c, call, 0));
    adzi_c99_value y = adzi_c99_at_least_matrix(adzi_c99_out(c, call, 0));
    const adzi_c99_value w = adzi_c99_transposed(adzi_c99_in(c, call, 1), 0, 1);
    as_rows(&x, &y);
    adzi_c99_product(
        c, &(adzi_c99_operands){ .a = &x, .b = &w, .bias = adzi_c99_in(c, call, 2), .y = &y });
}

ADZI_C99_PRINTER(linear_relu)
{
    const adzi_c99_value *y = adzi_c99_out(c, call, 0);
    if (adzi_c99_drops_nothing(c, adzi_c99_attr(call, "p", 0))) {
        adzi_c99_linear(c, call);
        adzi_c99_map(c, y, "= $a < 0 ? 0 : $a", y);
    }
}

/* The operand as it is multiplied: transposed if the attribute says so. */
static adzi_c99_value operand(const adzi_c99_call *call, const char *flag, const adzi_c99_value *v)
{
    adzi_c99_value matrix = adzi_c99_at_least_matrix(v);
    return adzi_c99_attr(call, flag, 0) != 0
               ? adzi_c99_transposed(&matrix, matrix.rank - 2, matrix.rank - 1)
               : matrix;
}

/* A vector on the right is a column. */
static adzi_c99_value right(const adzi_c99_call *call, const adzi_c99_value *v)
{
    const adzi_c99_value matrix = operand(call, "transpose_b", v);
    return v->rank == 1 ? adzi_c99_transposed(&matrix, 0, 1) : matrix;
}

/* y as [..., m, n], with the dimensions that a vector on either side has removed. */
static adzi_c99_value product_of(
    const adzi_c99_value *y, const adzi_c99_value *a, const adzi_c99_value *b)
{
    adzi_c99_value full = *y;
    if (b->rank == 1) {
        full.sizes[full.rank] = 1;
        full.strides[full.rank++] = 0;
    }
    if (a->rank == 1) {
        full.sizes[full.rank] = full.rank > 0 ? full.sizes[full.rank - 1] : 1;
        full.strides[full.rank] = full.rank > 0 ? full.strides[full.rank - 1] : 0;
        full.sizes[full.rank - 1] = 1;
        full.strides[full.rank - 1] = 0;
        ++full.rank;
    }
    return full;
}

ADZI_C99_PRINTER(matmul)
{
    const adzi_c99_value *a = adzi_c99_in(c, call, 0), *b = adzi_c99_in(c, call, 1);
    const adzi_c99_value left = operand(call, "transpose_a", a), r = right(call, b);
    const adzi_c99_value y = product_of(adzi_c99_out(c, call, 0), a, b);
    adzi_c99_product(c, &(adzi_c99_operands){ .a = &left, .b = &r, .y = &y });
}
