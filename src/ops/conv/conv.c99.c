/* Convolutions and transposed ones. A row of the result is summed in memory: the innermost loop
 * runs over its columns, so that compilers use vectors, and an element is still summed in the order
 * of channel, row and column of the kernel. A tap is an element of the kernel. */
#include "ops/conv/conv.c99.h"

#include <stdio.h>
#include <string.h>

/* ---- layouts -------------------------------------------------------------------------------- */

static adzi_c99_layout layout_of(const adzi_c99_value *v, int n, int64_t channels, bool is_result)
{
    const int64_t *strides = v->strides + v->rank - n - 1; /* channel, [[slice,] row,] column */
    return (adzi_c99_layout){ .memory = v->memory,
        .offset = v->offset,
        .item = v->rank == n + 2 ? v->strides[0] : 0,
        .group = strides[0] * channels,
        .result = is_result ? strides[0] : 0,
        .term = is_result ? 0 : strides[0],
        .slice = n == 3 ? strides[1] : 0,
        .row = n >= 2 ? strides[n - 1] : 0,
        .column = strides[n] };
}

static adzi_c99_layout layout_of_weight(
    const adzi_c99_value *v, int n, const adzi_c99_convolution *k)
{
    const int64_t first = k->transposed ? k->terms : k->results;
    return (adzi_c99_layout){ .memory = v->memory,
        .offset = v->offset,
        .group = v->strides[0] * first,
        .result = v->strides[k->transposed ? 1 : 0],
        .term = v->strides[k->transposed ? 0 : 1],
        .slice = n == 3 ? v->strides[2] : 0,
        .row = n >= 2 ? v->strides[n] : 0,
        .column = v->strides[n + 1] };
}

/* The axes of a call; a signal has one row, and an image one slice. */
static void find_axes(adzi_c99_convolution *k, const adzi_c99_call *call, const adzi_c99_value *big,
    const adzi_c99_value *small, const adzi_c99_value *weight)
{
    const int n = weight->rank - 2;
    k->slice = k->row = (adzi_c99_axis){ 1, 1, 1, 1, 1, 0 };
    adzi_c99_axis *axes[3] = { &k->slice, &k->row, &k->column };
    for (int d = 0; d < n; ++d) {
        *axes[3 - n + d] = adzi_c99_axis_of(call, d, big->sizes[big->rank - n + d],
            small->sizes[small->rank - n + d], weight->sizes[2 + d]);
    }
}

static adzi_c99_convolution convolution_of(
    const adzi_c99 *c, const adzi_c99_call *call, bool transposed)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0), *weight = adzi_c99_in(c, call, 1);
    const adzi_c99_value *bias = adzi_c99_in(c, call, 2), *y = adzi_c99_out(c, call, 0);
    const int n = weight->rank - 2;
    adzi_c99_convolution k = { .transposed = transposed,
        .biased = bias != NULL,
        .batch = x->rank == n + 2 ? x->sizes[0] : 1,
        .groups = (int64_t)adzi_c99_attr(call, "groups", 1) };
    k.terms = transposed ? weight->sizes[0] / k.groups : weight->sizes[1];
    k.results = transposed ? weight->sizes[1] : weight->sizes[0] / k.groups;
    k.in = layout_of(x, n, k.terms, false);
    k.out = layout_of(y, n, k.results, true);
    k.weight = layout_of_weight(weight, n, &k);
    if (bias != NULL) {
        k.bias = (adzi_c99_layout){ .memory = bias->memory,
            .offset = bias->offset,
            .group = bias->strides[0] * k.results,
            .result = bias->strides[0] };
    }
    find_axes(&k, call, transposed ? y : x, transposed ? x : y, weight);
    return k;
}

adzi_c99_convolution adzi_c99_weight_of(const adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0), *dy = adzi_c99_in(c, call, 1);
    const adzi_c99_value *dw = adzi_c99_out(c, call, 0);
    const int n = dw->rank - 2;
    adzi_c99_convolution k = { .batch = x->rank == n + 2 ? x->sizes[0] : 1,
        .groups = (int64_t)adzi_c99_attr(call, "groups", 1) };
    k.terms = dw->sizes[1];
    k.results = dw->sizes[0] / k.groups;
    k.in = layout_of(x, n, k.terms, false);
    k.out = layout_of(dy, n, k.results, true);
    k.weight = layout_of_weight(dw, n, &k);
    find_axes(&k, call, x, dy, dw);
    return k;
}

/* True if a kernel covers whole rows of an image, and both are contiguous. */
static bool covers(const adzi_c99_axis *a, int64_t image, int64_t kernel, int64_t column)
{
    return a->small == 1 && a->taps == a->big && a->padding == 0 &&
           (a->dilation == 1 || a->taps == 1) && image == a->big * column && kernel == a->taps;
}

/* Makes one long row of the rows that a kernel covers, and of the channels where it covers them. */
static void join_rows(adzi_c99_convolution *k)
{
    if (k->transposed || k->weight.column != 1 || k->in.column != 1) {
        return;
    }
    if ((k->row.dilation == 1 || k->row.taps == 1) && (k->row.big > 1 || k->row.taps > 1) &&
        covers(&k->column, k->in.row, k->weight.row, 1)) {
        const int64_t width = k->column.big;
        k->column = k->row;
        k->column.big *= width;
        k->column.taps *= width;
        k->column.stride *= width;
        k->column.padding *= width;
        k->column.dilation = 1;
        k->row = (adzi_c99_axis){ 1, 1, 1, 1, 1, 0 };
        k->out.column = k->out.row;
    }
    if (k->row.big == 1 && k->row.taps == 1 && k->row.small == 1 &&
        covers(&k->column, k->in.term, k->weight.term, 1)) {
        k->column.big *= k->terms;
        k->column.taps *= k->terms;
        k->terms = 1;
    }
}

/* ---- products ------------------------------------------------------------------------------- */

static bool is_single(const adzi_c99_axis *a)
{
    return a->taps == 1 && a->stride == 1 && a->padding == 0 && a->big == a->small;
}

static adzi_c99_value matrix_of(
    const adzi_c99_layout *l, const int64_t sizes[4], const int64_t strides[4])
{
    adzi_c99_value v = {
        .memory = l->memory, .offset = l->offset, .rank = 4, .dtype = ADZ_F32, .numel = 1
    };
    for (int d = 0; d < 4; ++d) {
        v.sizes[d] = sizes[d];
        v.strides[d] = strides[d];
        v.numel *= sizes[d];
    }
    return v;
}

/* True for a kernel of one element, so that the positions are the columns of a matrix. */
static bool is_product(const adzi_c99_convolution *k)
{
    const int64_t width = k->column.big, plane = k->row.big * width;
    return is_single(&k->slice) && is_single(&k->row) && is_single(&k->column) &&
           (k->row.big == 1 ||
               (k->in.row == width * k->in.column && k->out.row == width * k->out.column)) &&
           (k->slice.big == 1 ||
               (k->in.slice == plane * k->in.column && k->out.slice == plane * k->out.column));
}

/* The images as [batch, groups, channels, positions]. */
static adzi_c99_value image_of(
    const adzi_c99_convolution *k, const adzi_c99_layout *l, int64_t channels, int64_t channel)
{
    const int64_t positions = k->slice.big * k->row.big * k->column.big;
    return matrix_of(l, (int64_t[]){ k->batch, k->groups, channels, positions },
        (int64_t[]){ l->item, l->group, channel, l->column });
}

/* The weight as [1, groups, results, terms]. */
static adzi_c99_value weight_of(const adzi_c99_convolution *k)
{
    const adzi_c99_layout *w = &k->weight;
    return matrix_of(w, (int64_t[]){ 1, k->groups, k->results, k->terms },
        (int64_t[]){ 0, w->group, w->result, w->term });
}

static void print_product(adzi_c99 *c, const adzi_c99_convolution *k)
{
    const adzi_c99_value weight = weight_of(k);
    const adzi_c99_value x = image_of(k, &k->in, k->terms, k->in.term);
    const adzi_c99_value y = image_of(k, &k->out, k->results, k->out.result);
    const adzi_c99_value bias = matrix_of(&k->bias, (int64_t[]){ 1, k->groups, k->results, 1 },
        (int64_t[]){ 0, k->bias.group, k->bias.result, 0 });
    adzi_c99_product(c,
        &(adzi_c99_operands){ .a = &weight, .b = &x, .bias = k->biased ? &bias : NULL, .y = &y });
}

bool adzi_c99_print_weight_product(adzi_c99 *c, const adzi_c99_convolution *k)
{
    if (!is_product(k)) {
        return false;
    }
    const adzi_c99_value dw = weight_of(k);
    const adzi_c99_value x = image_of(k, &k->in, k->terms, k->in.term);
    const adzi_c99_value columns = adzi_c99_transposed(&x, 2, 3);
    const adzi_c99_value dy = image_of(k, &k->out, k->results, k->out.result);
    if (k->batch != 1) {
        adzi_c99_map(c, &dw, "= 0", NULL);
    }
    adzi_c99_product(
        c, &(adzi_c99_operands){ .a = &dy, .b = &columns, .y = &dw, .accumulate = k->batch != 1 });
    return true;
}

/* ---- texts ---------------------------------------------------------------------------------- */

void adzi_c99_row_index(const adzi_c99_convolution *k, const adzi_c99_layout *l, const char *slice,
    const char *row, char index[ADZI_C99_INDEX])
{
    index[0] = '\0';
    adzi_c99_add_offset(index, l->offset);
    adzi_c99_add_variable(index, k->item, l->item);
    adzi_c99_add_variable(index, k->group, l->group);
    adzi_c99_add_variable(index, k->r, l->result);
    adzi_c99_add_variable(index, k->k, l->term);
    adzi_c99_add_variable(index, slice, l->slice);
    adzi_c99_add_variable(index, row, l->row);
}

/* Prints a pointer to the first column of a row. `declared` is its type and name. */
static void print_pointer(adzi_c99 *c, const adzi_c99_convolution *k, const char *declared,
    const adzi_c99_layout *l, const char *slice, const char *row)
{
    char index[ADZI_C99_INDEX], text[ADZI_C99_TEXT];
    adzi_c99_row_index(k, l, slice, row, index);
    adzi_c99_address(c, l->memory, index, text, sizeof text);
    adzi_c99_line(c, "%s = %s;", declared, text);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Opens the loop over the slices or the rows of the kernel, and finds that of the input: an index
 * with the variable `name`. `tap` receives the name of the kernel's one. */
static void open_taps(adzi_c99 *c, const adzi_c99_convolution *k, const adzi_c99_axis *a,
    const char *position, const char *name, char tap[32], char found[ADZI_C99_INDEX])
{
    char i[4], at[ADZI_C99_INDEX] = "";
    tap[0] = '\0';
    if (adzi_c99_loop_over(c, a->taps, i)) {
        adzi_c99_name_tap(k, a, i, tap);
    }
    if (!k->transposed || (a->big == 1 && a->small == 1 && a->taps == 1 && a->padding == 0)) {
        adzi_c99_open_meeting(c, a, position, tap, name, found);
        return;
    }
    adzi_c99_add_variable(at, position, 1);
    adzi_c99_add_offset(at, a->padding);
    if (tap[0] != '\0') {
        const size_t n = strlen(at);
        snprintf(at + n, sizeof at - n, " - %s * %lld", tap, (long long)a->dilation);
    }
    adzi_c99_line(c, "const int %s = %s;", name, at[0] != '\0' ? at : "0");
    if (a->stride > 1) {
        snprintf(found, ADZI_C99_INDEX, "(%s / %lld)", name, (long long)a->stride);
        adzi_c99_open(c, "if (%s >= 0 && %s < %lld && %s %% %lld == 0) {", name, name,
            (long long)(a->small * a->stride), name, (long long)a->stride);
    } else {
        snprintf(found, ADZI_C99_INDEX, "%s", name);
        adzi_c99_open(c, "if (%s >= 0 && %s < %lld) {", name, name, (long long)a->small);
    }
}

/* Sets the rows of the results to the bias. */
static void print_start(adzi_c99 *c, const adzi_c99_convolution *k)
{
    char q[4], index[ADZI_C99_INDEX], bias[ADZI_C99_TEXT] = "0";
    char text[ADZI_C99_TEXT];
    const bool loop = adzi_c99_loop_over(c, k->transposed ? k->column.big : k->column.small, q);
    for (int result = 0; result < k->block; ++result) {
        if (k->biased) {
            adzi_c99_row_index(k, &k->bias, "", "", index);
            adzi_c99_add_offset(index, result * k->bias.result);
            adzi_c99_element(c, k->bias.memory, index, bias, sizeof bias);
        }
        adzi_c99_column(adzi_c99_result_row(result), q, k->out.column, 0, text);
        adzi_c99_line(c, "%s = %s;", text, bias);
    }
    if (loop) {
        adzi_c99_end(c);
    }
}

/* Adds the products of all terms and taps to the row. */
static void print_sums(adzi_c99 *c, adzi_c99_convolution *k)
{
    char slice[ADZI_C99_INDEX], row[ADZI_C99_INDEX];
    if (adzi_c99_all_padding(k)) {
        return;
    }
    const int terms = adzi_c99_loop_over(c, k->terms, k->k) ? 1 : 0;
    const adzi_c99_mark mark = adzi_c99_mark_of(c);
    open_taps(c, k, &k->slice, k->slice_position, "slice", k->slice_tap, slice);
    open_taps(c, k, &k->row, k->position, "row", k->tap, row);
    print_pointer(c, k, "const float *const from", &k->in, slice, row);
    print_pointer(c, k, "const float *const w", &k->weight, k->slice_tap, k->tap);
    adzi_c99_print_columns(c, k);
    adzi_c99_close_to(c, mark);
    k->k[0] = '\0';
    if (terms > 0) {
        adzi_c99_end(c);
    }
}

static void open_results(adzi_c99 *c, adzi_c99_convolution *k)
{
    char below[24];
    snprintf(below, sizeof below, "%lld", (long long)k->results);
    k->r[0] = '\0';
    if (k->results != k->block) {
        adzi_c99_range(c, "0", below, k->block, k->r);
    }
}

static void print_convolution(adzi_c99 *c, adzi_c99_convolution *k)
{
    if (is_product(k)) {
        print_product(c, k);
        return;
    }
    join_rows(k);
    const adzi_c99_mark mark = adzi_c99_mark_of(c);
    adzi_c99_loop_over(c, k->batch, k->item);
    adzi_c99_loop_over(c, k->groups, k->group);
    k->block = adzi_c99_results_at_once(k);
    open_results(c, k);
    adzi_c99_loop_over(c, k->transposed ? k->slice.big : k->slice.small, k->slice_position);
    adzi_c99_loop_over(c, k->transposed ? k->row.big : k->row.small, k->position);
    adzi_c99_need_block(c, mark);
    for (int result = 0; result < k->block; ++result) {
        char declared[64];
        adzi_c99_layout out = k->out;
        out.offset += result * out.result;
        snprintf(declared, sizeof declared, "float *const %s", adzi_c99_result_row(result));
        print_pointer(c, k, declared, &out, k->slice_position, k->position);
    }
    print_start(c, k);
    print_sums(c, k);
    adzi_c99_close_to(c, mark);
}

ADZI_C99_PRINTER(conv)
{
    adzi_c99_convolution k = convolution_of(c, call, false);
    print_convolution(c, &k);
}

ADZI_C99_PRINTER(conv_transpose)
{
    adzi_c99_convolution k = convolution_of(c, call, true);
    print_convolution(c, &k);
}
