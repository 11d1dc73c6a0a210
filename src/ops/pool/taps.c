#include "ops/pool/taps.h"

#include "base/capture.h"

/* The tables follow from sizes and attributes alone, so the host writes them, and they are
 * constants of a captured call. */

/* Tells a capture and a trace that the host has written the elements of `t`. */
static void written_by_host(adz_tensor *t)
{
    adzi_trace_constant(t);
    adzi_capture *capture = adzi_capture_of(adzi_self());
    if (capture != NULL && t->numel > 0) {
        capture->constant(capture, t);
    }
}

/* The windows of the gradient in the order of the positions i of x. Windows that see i are
 * neighbours, because starts and ends never fall. */
typedef struct {
    const adzi_axis *axis;
    int64_t first,
        last; /* windows before `first` end before i, those from `last` on begin behind */
} gradient_walk;

static adzi_window next_of_gradient(gradient_walk *walk, int64_t i)
{
    for (; walk->first < walk->axis->out; ++walk->first) {
        const adzi_window p = adzi_axis_window(walk->axis, walk->first);
        if (p.start + p.count > i) {
            break;
        }
    }
    while (walk->last < walk->axis->out && adzi_axis_window(walk->axis, walk->last).start <= i) {
        ++walk->last;
    }
    const int64_t count = walk->last - walk->first;
    return (adzi_window){ walk->first, count > 0 ? count : 0 };
}

/* Writes positions[n] and returns the most positions of one window. */
static int64_t fill_windows(const adzi_axis *axis, bool transposed, int64_t n, adzi_window *windows)
{
    gradient_walk walk = { axis, 0, 0 };
    int64_t most = 0;
    for (int64_t j = 0; j < n; ++j) {
        windows[j] = transposed ? next_of_gradient(&walk, j) : adzi_axis_window(axis, j);
        most = windows[j].count > most ? windows[j].count : most;
    }
    return most;
}

static void fill_weights(
    const adzi_axis *axis, bool transposed, const adzi_taps *t, double *weights)
{
    for (int64_t j = 0; j < t->n; ++j) {
        for (int64_t k = 0; k < t->most; ++k) {
            const adzi_window p = t->windows[j];
            double weight = 0;
            if (k < p.count && transposed) {
                const int64_t window = p.start + k;
                weight = adzi_axis_weight(axis, window, j - adzi_axis_window(axis, window).start);
            } else if (k < p.count) {
                weight = adzi_axis_weight(axis, j, k);
            }
            weights[j * t->most + k] = weight;
        }
    }
}

/* Finds out whether all windows are alike and equally far apart. */
static void find_step(adzi_taps *t)
{
    const int64_t step = t->n > 1 ? t->windows[1].start : 0;
    bool alike = step > 0;
    for (int64_t j = 0; j < t->n && alike; ++j) {
        alike = t->windows[j].start == j * step && t->windows[j].count == t->most;
        for (int64_t k = 0; k < t->most && t->weights != NULL && alike; ++k) {
            alike = t->weights[j * t->most + k] == t->weights[0];
        }
    }
    t->step = alike ? step : 0;
    t->width = t->most;
}

bool adzi_taps_of(
    const char *op, const adzi_axis *axis, bool weighted, bool transposed, adzi_taps *taps)
{
    const int64_t n = transposed ? axis->in : axis->out;
    adz_tensor *windows = adzi_scratch(op, ADZ_I64, 2, (int64_t[]){ n, 2 });
    if (windows == NULL) {
        return false;
    }
    adzi_window *written = (adzi_window *)(void *)windows->data;
    *taps = (adzi_taps){ .windows = written,
        .n = n,
        .in = transposed ? axis->out : axis->in,
        .dilation = axis->dilation };
    taps->most = fill_windows(axis, transposed, n, written);
    written_by_host(windows);
    if (weighted) {
        adz_tensor *weights = adzi_scratch(op, ADZ_F64, 2, (int64_t[]){ n, taps->most });
        if (weights == NULL) {
            return false;
        }
        fill_weights(axis, transposed, taps, (double *)(void *)weights->data);
        taps->weights = (const double *)(const void *)weights->data;
        written_by_host(weights);
    }
    find_step(taps);
    return true;
}

bool adzi_taps_of_depth(
    const char *op, const adzi_axis *axis, bool weighted, bool transposed, adzi_taps *taps)
{
    if (axis->kind == ADZI_AXIS_WINDOW && axis->in == 1 && axis->out == 1 && axis->kernel == 1) {
        *taps = (adzi_taps){ .n = 1, .in = 1, .most = 1, .dilation = 1 };
        return true;
    }
    return adzi_taps_of(op, axis, weighted, transposed, taps);
}

adz_tensor *adzi_axis_matrix(const char *op, const adzi_axis *axis, adz_dtype dtype)
{
    adz_tensor *matrix = adzi_scratch(op, ADZ_F64, 2, (int64_t[]){ axis->out, axis->in });
    if (matrix == NULL) {
        return NULL;
    }
    double *elements = (double *)(void *)matrix->data;
    memset(elements, 0, (size_t)matrix->numel * sizeof *elements);
    for (int64_t j = 0; j < axis->out; ++j) {
        const adzi_window p = adzi_axis_window(axis, j);
        for (int64_t k = 0; k < p.count; ++k) {
            elements[j * axis->in + p.start + k] = adzi_axis_weight(axis, j, k);
        }
    }
    written_by_host(matrix);
    return adz_to(matrix, dtype);
}
