/* Operators that move elements: cat, pad, flip, triangles and copies. */
#include <stdio.h>
#include <string.h>

#include "export/c99/printer.h"

/* y's elements along `dim` from `start` on, in x's shape. */
static adzi_c99_value part_of(
    const adzi_c99_value *y, const adzi_c99_value *x, int dim, int64_t start)
{
    adzi_c99_value part = *y;
    part.offset += start * y->strides[dim];
    part.sizes[dim] = x->sizes[dim];
    return part;
}

/* ---- cat ------------------------------------------------------------------------------------- */

ADZI_C99_PRINTER(cat)
{
    const adzi_c99_value *y = adzi_c99_out(c, call, 0);
    const int dim = (int)adzi_c99_attr(call, "dim", 0);
    int64_t start = 0;
    for (int i = 0; i < call->n_in; ++i) {
        const adzi_c99_value *x = adzi_c99_in(c, call, i);
        if (x != NULL && x->numel > 0) {
            const adzi_c99_value part = part_of(y, x, dim, start);
            adzi_c99_map(c, &part, "= $a", x);
            start += x->sizes[dim];
        }
    }
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* The elements of a contiguous value in the shape of another. */
static bool in_shape_of(
    adzi_c99 *c, const adzi_c99_value *from, const adzi_c99_value *like, adzi_c99_value *shaped)
{
    int64_t stride = 1;
    *shaped = *from;
    for (int d = from->rank - 1; d >= 0; --d) {
        if (from->sizes[d] != 1 && from->strides[d] != stride) {
            adzi_c99_fail(c, ADZ_ERR_STATE, "reshape has a result that is not contiguous");
            return false;
        }
        stride *= from->sizes[d];
    }
    stride = 1;
    shaped->rank = like->rank;
    for (int d = like->rank - 1; d >= 0; --d) {
        shaped->sizes[d] = like->sizes[d];
        shaped->strides[d] = stride;
        stride *= like->sizes[d];
    }
    return true;
}

/* A reshape that is no view: the elements in row-major order. */
ADZI_C99_PRINTER(reshape)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0);
    adzi_c99_value y;
    if (in_shape_of(c, adzi_c99_out(c, call, 0), x, &y)) {
        adzi_c99_map(c, &y, "= $a", x);
    }
}

/* The value with the dimensions of a flip walked backwards. */
static adzi_c99_value flipped(const adzi_c99_call *call, const adzi_c99_value *value)
{
    const unsigned mask = (unsigned)adzi_c99_attr(call, "dims", 0);
    adzi_c99_value x = *value;
    for (int d = 0; d < x.rank; ++d) {
        if (mask >> d & 1u) {
            x.offset += (x.sizes[d] - 1) * x.strides[d];
            x.strides[d] = -x.strides[d];
        }
    }
    return x;
}

ADZI_C99_PRINTER(flip)
{
    const adzi_c99_value x = flipped(call, adzi_c99_in(c, call, 0));
    adzi_c99_map(c, adzi_c99_out(c, call, 0), "= $a", &x);
}

/* Cuts x and y to the elements that a padding copies. The list of sizes has the low and the high
 * end of the last dimension first; a negative size cuts elements of x off. */
static void keep_common(const adzi_c99_call *call, adzi_c99_value *x, adzi_c99_value *y)
{
    const int64_t *pad = adzi_c99_attr_list(call, "pad");
    const int n = (int)adzi_c99_attr(call, "n", 0);
    for (int d = 0; d < x->rank; ++d) {
        const int at = 2 * (x->rank - 1 - d);
        const int64_t low = at < n ? pad[at] : 0, high = at + 1 < n ? pad[at + 1] : 0;
        const int64_t cut = low < 0 ? -low : 0, last = high < 0 ? -high : 0;
        x->offset += cut * x->strides[d];
        x->sizes[d] -= cut + last;
        y->offset += (low > 0 ? low : 0) * y->strides[d];
        y->sizes[d] = x->sizes[d];
    }
}

/* Padding with a number. */
ADZI_C99_PRINTER(pad)
{
    adzi_c99_value x = *adzi_c99_in(c, call, 0), y = *adzi_c99_out(c, call, 0);
    char value[64];
    snprintf(
        value, sizeof value, "= %s", adzi_c99_number(c, y.dtype, adzi_c99_attr(call, "value", 0)));
    adzi_c99_map(c, &y, value, NULL);
    keep_common(call, &x, &y);
    adzi_c99_map(c, &y, "= $a", &x);
}

/* ---- triangles ------------------------------------------------------------------------------- */

/* The elements at and below a diagonal (tril), or at and above it (triu); zeros elsewhere. */
static void triangle(adzi_c99 *c, const adzi_c99_call *call, bool lower)
{
    const adzi_c99_value *to = adzi_c99_out(c, call, 0), *from = adzi_c99_in(c, call, 0);
    const double offset =
        adzi_c99_attr(call, "diagonal", 0); /* beyond an int, as good as its end */
    const int diagonal = (int)(offset > INT32_MAX    ? INT32_MAX
                               : offset < -INT32_MAX ? -INT32_MAX
                                                     : offset);
    adzi_c99_value y = *to, x = *from;
    y.rank -= 2;
    x.rank -= 2;
    adzi_c99_nest nest = adzi_c99_nest_of(y.rank, y.sizes);
    adzi_c99_nest_add(&nest, &y);
    adzi_c99_nest_add(&nest, &x);
    nest.operand[0].memory = nest.operand[1].memory = -1;
    adzi_c99_nest_open(c, &nest);
    char i[4], j[4], texts[2][ADZI_C99_TEXT];
    const adzi_c99_value *const values[] = { to, from };
    adzi_c99_loop(c, to->sizes[y.rank], i);
    adzi_c99_loop(c, to->sizes[y.rank + 1], j);
    for (int k = 0; k < 2; ++k) {
        char index[ADZI_C99_INDEX];
        memcpy(index, nest.operand[k].index, sizeof index);
        adzi_c99_index(index, sizeof index, i, values[k]->strides[y.rank]);
        adzi_c99_index(index, sizeof index, j, values[k]->strides[y.rank + 1]);
        adzi_c99_element(c, values[k]->memory, index, texts[k], sizeof texts[k]);
    }
    adzi_c99_line(
        c, "%s = %s - %s %s %d ? %s : 0;", texts[0], j, i, lower ? "<=" : ">=", diagonal, texts[1]);
    adzi_c99_end(c);
    adzi_c99_end(c);
    adzi_c99_nest_close(c, &nest);
}

ADZI_C99_PRINTER(tril)
{
    triangle(c, call, true);
}

ADZI_C99_PRINTER(triu)
{
    triangle(c, call, false);
}

/* Zeros, in which the elements of a slice are those of x. */
ADZI_C99_PRINTER(slice_backward)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0), *y = adzi_c99_out(c, call, 0);
    const int dim = (int)adzi_c99_attr(call, "dim", 0);
    adzi_c99_value part = *x;
    adzi_c99_map(c, y, "= 0", NULL);
    part.memory = y->memory;
    part.offset = y->offset + (int64_t)adzi_c99_attr(call, "start", 0) * y->strides[dim];
    memcpy(part.strides, y->strides, sizeof part.strides);
    part.strides[dim] *= (int64_t)adzi_c99_attr(call, "step", 1);
    if (x->numel > 0) {
        adzi_c99_map(c, &part, "= $a", x);
    }
}
