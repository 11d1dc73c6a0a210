/* Means of windows and interpolation: avg_pool, adaptive_avg_pool and interpolate. Each element of
 * the result is a weighted sum of the elements that it sees; elements that it does not see do not
 * count, infinite ones included. */
#include "ops/pool/adaptive_pool.h"
#include "ops/pool/interpolate.h"
#include "ops/pool/resample.h"

#include <stdio.h>
#include <string.h>

#include "export/c99/printer.h"

enum { TEXT = ADZI_C99_TEXT, FROM = ADZI_C99_INDEX + 4 * TEXT };

/* One dimension that windows cover: its table, and the tables in the file if the windows differ. */
typedef struct {
    adzi_taps taps;
    int ranges, weights; /* memories; -1 if all windows are alike */
    char window[4], at[4];
} axis;

static void set_weight(adz_tensor *weights, int64_t i, double x)
{
    if (weights->dtype == ADZ_F64) {
        ((double *)weights->data)[i] = x;
    } else {
        ((float *)weights->data)[i] = (float)x;
    }
}

static bool no_memory(adzi_c99 *c, const adzi_c99_call *call)
{
    adzi_c99_fail(c, ADZ_ERR_MEMORY, "no memory for the windows of %s", call->op->name);
    return false;
}

/* Makes the tables of a dimension: start and number of the elements of each window, and weights.
 * False with the error recorded. */
static bool read_axis(adzi_c99 *c, const adzi_c99_call *call, const adzi_axis *from, axis *a)
{
    const char *op = call->op->name;
    if (!adzi_taps_of(op, from, true, false, &a->taps)) {
        return no_memory(c, call);
    }
    const int64_t n = a->taps.n, most = a->taps.most;
    a->ranges = a->weights = -1;
    if (a->taps.step > 0) {
        return true;
    }
    adz_tensor *ranges = adzi_scratch(op, ADZ_I32, 2, (int64_t[]){ n, 2 });
    adz_tensor *weights = adzi_scratch(op, adzi_c99_dtype(c, ADZ_F32), 2, (int64_t[]){ n, most });
    if (ranges == NULL || weights == NULL) {
        return no_memory(c, call);
    }
    for (int64_t j = 0; j < n; ++j) {
        ((int32_t *)ranges->data)[2 * j] = (int32_t)a->taps.windows[j].start;
        ((int32_t *)ranges->data)[2 * j + 1] = (int32_t)a->taps.windows[j].count;
        for (int64_t k = 0; k < most; ++k) {
            set_weight(weights, j * most + k, a->taps.weights[j * most + k]);
        }
    }
    a->ranges = adzi_c99_constant(c, call, ranges, "start and size of the windows");
    a->weights = adzi_c99_constant(c, call, weights, "weights");
    return a->ranges >= 0 && a->weights >= 0;
}

/* Works out the windows of a call. Returns the number of dimensions that they cover; axes[ADZI_AXES
 * - 1] is the last one. `scale`, which is 1, is what the results are multiplied by. */
typedef int axes_function(
    const adzi_c99_call *call, const adzi_c99_value *x, adzi_axis *axes, double *scale);

static int interpolate_axes(
    const adzi_c99_call *call, const adzi_c99_value *x, adzi_axis *axes, double *scale)
{
    (void)scale;
    return adzi_interpolate_axes(x->rank, x->sizes, call->attr, axes);
}

static int adaptive_axes(
    const adzi_c99_call *call, const adzi_c99_value *x, adzi_axis *axes, double *scale)
{
    const adzi_adaptive_attr *attr = call->attr;
    (void)scale;
    adzi_adaptive_axes(x->rank, x->sizes, attr, axes);
    return attr->n;
}

static int window_axes(
    const adzi_c99_call *call, const adzi_c99_value *x, adzi_axis *axes, double *scale)
{
    const adzi_window_attr *attr = call->attr;
    *scale = attr->divisor_override != 0 ? 1 / (double)attr->divisor_override : 1;
    adzi_window_axes(call->op->name, x->rank, x->sizes, attr, axes);
    return attr->n;
}

/* Opens the loop over the elements of a window, and adds their position to an index of x. */
static void open_window(adzi_c99 *c, axis *a, int64_t stride, char *index)
{
    char below[TEXT], position[2 * TEXT], at[24];
    if (a->ranges < 0) {
        adzi_c99_loop(c, a->taps.most, a->at);
        snprintf(position, sizeof position, "(%s * %lld + %s)", a->window, (long long)a->taps.step,
            a->at);
    } else {
        char start[TEXT];
        snprintf(at, sizeof at, "%s * 2", a->window);
        adzi_c99_element(c, a->ranges, at, start, sizeof start);
        snprintf(at, sizeof at, "%s * 2 + 1", a->window);
        adzi_c99_element(c, a->ranges, at, below, sizeof below);
        adzi_c99_range(c, "0", below, 1, a->at);
        snprintf(position, sizeof position, "(%s + %s)", start, a->at);
    }
    adzi_c99_index(index, FROM, position, stride);
}

/* Adds " * weight" for windows that differ. */
static void add_weight(adzi_c99 *c, const axis *a, char *text, size_t size)
{
    if (a->weights >= 0) {
        char index[64], weight[TEXT];
        const size_t used = strlen(text);
        snprintf(index, sizeof index, "%s * %lld + %s", a->window, (long long)a->taps.most, a->at);
        adzi_c99_element(c, a->weights, index, weight, sizeof weight);
        snprintf(text + used, size - used, " * %s", weight);
    }
}

/* The loops of a call: planes, windows of a plane, and elements of a window. */
typedef struct {
    axis axes[ADZI_AXES];
    int first;     /* of the axes that are used */
    double factor; /* of every result */
    adzi_c99_nest nest;
    char from[FROM], to[ADZI_C99_INDEX]; /* the elements of x and y */
} windows;

/* Reads the windows of a call. False with the error recorded if memory was refused. */
static bool read_windows(adzi_c99 *c, const adzi_c99_call *call, axes_function *axes_of, windows *w)
{
    adzi_axis all[ADZI_AXES];
    w->factor = 1;
    w->first = ADZI_AXES - axes_of(call, adzi_c99_in(c, call, 0), all, &w->factor);
    bool good = true;
    for (int d = w->first; d < ADZI_AXES && good; ++d) {
        good = read_axis(c, call, &all[d], &w->axes[d]);
    }
    return good;
}

/* Opens the loops over planes and windows. */
static void open_windows(adzi_c99 *c, windows *w, const adzi_c99_value *x, const adzi_c99_value *y)
{
    const int n = ADZI_AXES - w->first;
    adzi_c99_value planes[2] = { *x, *y };
    w->nest = adzi_c99_nest_of(x->rank - n, x->sizes);
    for (int k = 0; k < 2; ++k) {
        planes[k].rank -= n;
        w->nest.operand[adzi_c99_nest_add(&w->nest, &planes[k])].memory = -1;
    }
    adzi_c99_nest_open(c, &w->nest);
    snprintf(w->from, sizeof w->from, "%s", w->nest.operand[0].index);
    snprintf(w->to, sizeof w->to, "%s", w->nest.operand[1].index);
    for (int d = w->first; d < ADZI_AXES; ++d) {
        axis *a = &w->axes[d];
        adzi_c99_loop(c, a->taps.n, a->window);
        adzi_c99_index(w->to, sizeof w->to, a->window, y->strides[y->rank - ADZI_AXES + d]);
        w->factor *= a->weights < 0 ? a->taps.weights[0] : 1;
    }
}

static void resample(adzi_c99 *c, const adzi_c99_call *call, axes_function *axes_of)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0), *y = adzi_c99_out(c, call, 0);
    windows w;
    char element[8 * TEXT];
    if (!read_windows(c, call, axes_of, &w)) {
        return;
    }
    open_windows(c, &w, x, y);
    adzi_c99_line(c, "float s = 0;");
    for (int d = w.first; d < ADZI_AXES; ++d) {
        open_window(c, &w.axes[d], x->strides[x->rank - ADZI_AXES + d], w.from);
    }
    adzi_c99_element(c, x->memory, w.from, element, sizeof element);
    for (int d = w.first; d < ADZI_AXES; ++d) {
        add_weight(c, &w.axes[d], element, sizeof element);
    }
    adzi_c99_line(c, "s += %s;", element);
    for (int d = w.first; d < ADZI_AXES; ++d) {
        adzi_c99_end(c);
    }
    adzi_c99_element(c, y->memory, w.to, element, sizeof element);
    adzi_c99_line(
        c, w.factor == 1 ? "%s = s;" : "%s = s * %s;", element, adzi_c99_real(c, w.factor));
    for (int d = w.first; d < ADZI_AXES; ++d) {
        adzi_c99_end(c);
    }
    adzi_c99_nest_close(c, &w.nest);
}

ADZI_C99_PRINTER(avg_pool)
{
    resample(c, call, window_axes);
}

ADZI_C99_PRINTER(adaptive_avg_pool)
{
    resample(c, call, adaptive_axes);
}

ADZI_C99_PRINTER(interpolate)
{
    resample(c, call, interpolate_axes);
}
