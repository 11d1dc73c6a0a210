/* The loops of a convolution: rows in conv.c99.c, and the columns of a row in conv_columns.c99.c.
 */
#ifndef ADZI_OPS_CONV_C99_H
#define ADZI_OPS_CONV_C99_H

#include "export/c99/slide.h"

/** Where the elements of one of the tensors are: strides by what the loops run over. */
typedef struct adzi_c99_layout {
    int memory;
    int64_t offset, item, group, result, term, slice, row, column;
} adzi_c99_layout;

/** result[item, group, r, row, column] is the sum of weight[group, r, k, taps] times
 * in[item, group, k, ...] over the terms k and over the taps. Transposed, the result is the big
 * image of both axes, and else the small one. */
typedef struct adzi_c99_convolution {
    adzi_c99_layout in, weight, bias, out;
    bool transposed, biased;
    int block; /* how many results are summed at once */
    int64_t batch, groups, results, terms;
    adzi_c99_axis slice, row, column; /* a volume has slices of rows */
    /* Variables; "" for one pass. */
    char item[4], group[4], r[4], k[4];
    char slice_position[4], slice_tap[32], position[4], tap[32];
} adzi_c99_convolution;

/** What computes the gradient of a weight: `in` is x, `out` is dy, and `weight` the result. */
adzi_c99_convolution adzi_c99_weight_of(const adzi_c99 *c, const adzi_c99_call *call);

/** Prints the gradient of a weight whose kernel has one element as a product. False if its kernel
 * has more. */
bool adzi_c99_print_weight_product(adzi_c99 *c, const adzi_c99_convolution *k);

/** The index of the first column of a slice's row at the loops over items and channels. */
void adzi_c99_row_index(const adzi_c99_convolution *k, const adzi_c99_layout *layout,
    const char *slice, const char *row, char index[ADZI_C99_INDEX]);

/** The name of tap `i`. The taps of a transposed convolution run backwards, so that an element of
 * the big image is summed in the order of the small one. */
void adzi_c99_name_tap(
    const adzi_c99_convolution *k, const adzi_c99_axis *axis, const char *i, char tap[32]);

/** "name[variable * step + from]", in `text`, which is returned. */
const char *adzi_c99_column(
    const char *name, const char *variable, int64_t step, int64_t from, char text[ADZI_C99_TEXT]);

/** How many results should be summed at once: 1, 2 or 4. */
int adzi_c99_results_at_once(const adzi_c99_convolution *k);

/** The name of the row of result number `result` of those that are summed at once. */
const char *adzi_c99_result_row(int result);

/** True if no column of a row meets an element. */
bool adzi_c99_all_padding(const adzi_c99_convolution *k);

/** Adds to the row `into` what the taps of a row `w` of the kernel give, from the row `from`. */
void adzi_c99_print_columns(adzi_c99 *c, const adzi_c99_convolution *k);

#endif
