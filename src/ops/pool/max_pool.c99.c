/* Maximum pooling: max_pool and adaptive_max_pool in one to three dimensions. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "export/c99/printer.h"

enum { AXES = 3, TEXT = ADZI_C99_TEXT };

/* The loops of a pooling: planes, windows of a plane, and elements of a window. x is [..., in] and
 * y is [..., out] with n dimensions each that windows cover. */
typedef struct {
    const adzi_c99_value *x;
    adzi_c99_nest planes;
    int n;
    char window[AXES][4], position[AXES][4]; /* loop variables */
} windows;

/* Adds one value's planes to the loops. Returns its number. */
static int add_planes(windows *w, adzi_c99_value value)
{
    value.rank -= w->n;
    const int k = adzi_c99_nest_add(&w->planes, &value);
    w->planes.operand[k].memory = -1;
    return k;
}

/* The element of operand k: of x (0) at the position, of a result at the window. */
static void element_of(adzi_c99 *c, windows *w, int k, const adzi_c99_value *value, char text[TEXT])
{
    char(*at)[4] = k == 0 ? w->position : w->window;
    char index[ADZI_C99_INDEX];
    memcpy(index, w->planes.operand[k].index, sizeof index);
    for (int d = 0; d < w->n; ++d) {
        adzi_c99_index(index, sizeof index, at[d], value->strides[value->rank - w->n + d]);
    }
    adzi_c99_element(c, value->memory, index, text, TEXT);
}

/* Opens the loop over the elements of a window along dimension d, and leaves those in the padding
 * out. An adaptive window j covers the positions from j in / out, rounded down, to (j + 1) in /
 * out, rounded up. */
static void open_window(adzi_c99 *c, const adzi_c99_call *call, windows *w, int d)
{
    const int64_t *kernel = adzi_c99_attr_list(call, "kernel_size");
    const int64_t *output = adzi_c99_attr_list(call, "output_size");
    const long long in = w->x->sizes[w->x->rank - w->n + d];
    const char *j = w->window[d];
    char from[80], below[80];
    if (kernel == NULL) {
        const long long out = output[d];
        snprintf(from, sizeof from, "%s * %lld / %lld", j, in, out);
        snprintf(below, sizeof below, "((%s + 1) * %lld + %lld) / %lld", j, in, out - 1, out);
        adzi_c99_range(c, from, below, 1, w->position[d]);
        return;
    }
    const int64_t *stride = adzi_c99_attr_list(call, "stride");
    const int64_t *padding = adzi_c99_attr_list(call, "padding");
    const int64_t *dilation = adzi_c99_attr_list(call, "dilation");
    const long long first = -padding[d], end = first + (kernel[d] - 1) * dilation[d] + 1;
    const adzi_c99_value *y = adzi_c99_out(c, call, 0);
    const long long last = (y->sizes[y->rank - w->n + d] - 1) * stride[d];
    const int used = snprintf(from, sizeof from, "%s * %lld", j, (long long)stride[d]);
    if (first != 0) {
        snprintf(from + used, sizeof from - (size_t)used, " - %lld", -first);
    }
    snprintf(below, sizeof below, "%s * %lld + %lld", j, (long long)stride[d], end);
    adzi_c99_range(c, from, below, dilation[d], w->position[d]);
    if (first < 0 || last + end > in) {
        adzi_c99_open(c, "if (%s < 0 || %s >= %lld) {", w->position[d], w->position[d], in);
        adzi_c99_line(c, "continue;");
        adzi_c99_close(c);
    }
}

/* Whether a window can have padding only: dilated windows can miss x. */
static bool can_miss(const adzi_c99_call *call, const windows *w)
{
    const int64_t *padding = adzi_c99_attr_list(call, "padding");
    const int64_t *dilation = adzi_c99_attr_list(call, "dilation");
    bool found = false;
    for (int d = 0; padding != NULL && d < w->n; ++d) {
        found = found || (padding[d] > 0 && dilation[d] > 1);
    }
    return found;
}

/* Opens the loops over planes and windows, and finds the largest element `most` of each window and
 * its `position` in the memory of x. The first of equal elements wins, and the last NaN. `at`
 * counts the position in its plane, if it is asked for. A window of padding only has -infinity and
 * the position -1. */
static void find_largest(adzi_c99 *c, const adzi_c99_call *call, windows *w, bool counted)
{
    const adzi_c99_value *x = w->x, *y = adzi_c99_out(c, call, 0);
    char element[TEXT], index[ADZI_C99_INDEX];
    adzi_c99_nest_open(c, &w->planes);
    for (int d = 0; d < w->n; ++d) {
        adzi_c99_loop(c, y->sizes[y->rank - w->n + d], w->window[d]);
    }
    adzi_c99_line(
        c, "float most = %s;", can_miss(call, w) ? adzi_c99_real(c, -(double)INFINITY) : "0");
    adzi_c99_line(c, "int position = -1%s;", counted ? ", at = -1" : "");
    for (int d = 0; d < w->n; ++d) {
        open_window(c, call, w, d);
    }
    element_of(c, w, 0, x, element);
    memcpy(index, w->planes.operand[0].index, sizeof index);
    for (int d = 0; d < w->n; ++d) {
        adzi_c99_index(index, sizeof index, w->position[d], x->strides[x->rank - w->n + d]);
    }
    adzi_c99_line(c, "const float e = %s;", element);
    adzi_c99_open(c, "if (position < 0 || e > most || e != e) {");
    adzi_c99_line(c, "most = e;");
    adzi_c99_line(c, "position = %s;", index[0] != '\0' ? index : "0");
    if (counted && w->n == 3) {
        adzi_c99_line(c, "at = (%s * %lld + %s) * %lld + %s;", w->position[0],
            (long long)x->sizes[x->rank - 2], w->position[1], (long long)x->sizes[x->rank - 1],
            w->position[2]);
    } else if (counted && w->n == 2) {
        adzi_c99_line(c, "at = %s * %lld + %s;", w->position[0], (long long)x->sizes[x->rank - 1],
            w->position[1]);
    } else if (counted) {
        adzi_c99_line(c, "at = %s;", w->position[0]);
    }
    adzi_c99_close(c);
    for (int d = 0; d < w->n; ++d) {
        adzi_c99_end(c);
    }
}

static void close_windows(adzi_c99 *c, windows *w)
{
    for (int d = 0; d < w->n; ++d) {
        adzi_c99_end(c);
    }
    adzi_c99_nest_close(c, &w->planes);
}

/* The loops of a call, with the planes of x as operand 0 and those of `y` as operand 1. */
static windows windows_of(adzi_c99 *c, const adzi_c99_call *call, const adzi_c99_value *y)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0);
    int64_t sizes[AXES];
    size_t n = adzi_attr_list(call->op, call->attr, "kernel_size", sizes, AXES);
    n = n > 0 ? n : adzi_attr_list(call->op, call->attr, "output_size", sizes, AXES);
    windows w = { .x = x, .n = (int)n };
    w.planes = adzi_c99_nest_of(x->rank - w.n, x->sizes);
    add_planes(&w, *x);
    add_planes(&w, *y);
    return w;
}

ADZI_C99_PRINTER(max_pool)
{
    const adzi_c99_value *y = adzi_c99_out(c, call, 0);
    const adzi_c99_value *indices = call->n_out > 1 ? adzi_c99_out(c, call, 1) : NULL;
    windows w = windows_of(c, call, y);
    const int to = indices != NULL ? add_planes(&w, *indices) : -1;
    char element[TEXT];
    find_largest(c, call, &w, indices != NULL);
    element_of(c, &w, 1, y, element);
    adzi_c99_line(c, "%s = most;", element);
    if (indices != NULL) {
        element_of(c, &w, to, indices, element);
        adzi_c99_line(c, "%s = at;", element);
    }
    close_windows(c, &w);
}
