/* The gradient of a convolution's weight: every element is a sum of dot products along rows. */
#include <stdio.h>

#include "ops/conv/conv.c99.h"

/* The address of the column `from` behind the index of a row. */
static void address(
    adzi_c99 *c, int memory, char row[ADZI_C99_INDEX], const char *from, char text[ADZI_C99_TEXT])
{
    adzi_c99_join(row, ADZI_C99_INDEX, from);
    adzi_c99_address(c, memory, row, text, ADZI_C99_TEXT);
}

/* Adds the products of a row of dy and a row of x, which a tap moves. */
static void print_row(adzi_c99 *c, const adzi_c99_convolution *k, const char *slice,
    const char *row, const char *tap, char bounds[2][24])
{
    const adzi_c99_axis *a = &k->column;
    char from[ADZI_C99_INDEX] = "", at[ADZI_C99_INDEX] = "", count[64], x[ADZI_C99_TEXT],
         dy[ADZI_C99_TEXT];
    char index[ADZI_C99_INDEX];
    const bool ranged = bounds[0][0] == 'f';
    const int64_t step = k->in.column * a->stride;
    if (ranged) {
        adzi_c99_open(c, "if (first < last) {");
        adzi_c99_add_variable(from, "first", k->out.column);
    }
    adzi_c99_add_meeting(at, a, ranged ? "first" : "", tap, k->in.column);
    adzi_c99_row_index(k, &k->out, k->slice_position, k->position, index);
    address(c, k->out.memory, index, from, dy);
    adzi_c99_row_index(k, &k->in, slice, row, index);
    address(c, k->in.memory, index, at, x);
    snprintf(count, sizeof count, ranged ? "last - first" : "%s", bounds[1]);
    if (step == 1 && k->out.column == 1) {
        adzi_c99_line(c, "sum += @dot(%s, %s, %s);", dy, x, count);
    } else {
        adzi_c99_line(c, "sum += @dot_of_steps(%s, %lld, %s, %lld, %s);", dy,
            (long long)k->out.column, x, (long long)step, count);
    }
    if (ranged) {
        adzi_c99_close(c);
    }
}

/* dw[group, r, k, taps] is the sum over items and positions of
 * dy[r, position] x[k, what the tap meets]. */
ADZI_C99_PRINTER(conv_weight)
{
    adzi_c99_convolution k = adzi_c99_weight_of(c, call);
    char s[4], i[4], j[4], bounds[2][24], index[ADZI_C99_INDEX], slice[ADZI_C99_INDEX],
        row[ADZI_C99_INDEX], element[ADZI_C99_TEXT];
    if (adzi_c99_print_weight_product(c, &k)) {
        return;
    }
    const adzi_c99_mark mark = adzi_c99_mark_of(c);
    adzi_c99_loop_over(c, k.groups, k.group);
    adzi_c99_loop_over(c, k.results, k.r);
    adzi_c99_loop_over(c, k.terms, k.k);
    adzi_c99_loop_over(c, k.slice.taps, s);
    adzi_c99_loop_over(c, k.row.taps, i);
    adzi_c99_loop_over(c, k.column.taps, j);
    adzi_c99_need_block(c, mark);
    adzi_c99_print_tap_range(c, &k.column, j, bounds);
    adzi_c99_line(c, "float sum = 0;");
    adzi_c99_row_index(&k, &k.weight, s, i, index);
    adzi_c99_add_variable(index, j, k.weight.column);
    adzi_c99_element(c, k.weight.memory, index, element, sizeof element);
    const adzi_c99_mark inner = adzi_c99_mark_of(c);
    adzi_c99_loop_over(c, k.batch, k.item);
    adzi_c99_loop_over(c, k.slice.small, k.slice_position);
    adzi_c99_loop_over(c, k.row.small, k.position);
    adzi_c99_open_meeting(c, &k.slice, k.slice_position, s, "slice", slice);
    adzi_c99_open_meeting(c, &k.row, k.position, i, "row", row);
    print_row(c, &k, slice, row, j, bounds);
    adzi_c99_close_to(c, inner);
    adzi_c99_line(c, "%s = sum;", element);
    adzi_c99_close_to(c, mark);
}
