#include "ops/pool/windows.h"

#include <math.h>

/* Where the windows of pooling and interpolation lie.
 *
 *     window     start = j stride - padding, and every dilation-th position from there
 *     adaptive   floor(j in / out) .. ceil((j + 1) in / out) - 1
 *     nearest    floor(j scale)
 *     linear     the two positions around (j + 1/2) scale - 1/2, or around j scale with
 * align_corners
 *
 * Positions outside x are left out. Starts and ends of windows never fall as j rises, if there is
 * no dilation. */

const adz_field adzi_adaptive_fields[2] = { ADZI_FIELD_HIDDEN(adzi_adaptive_attr, n),
    ADZI_FIELD_AS(adzi_adaptive_attr, output_size, "output_size", ADZ_FIELD_I64, .counted = true,
        ADZ_CLOSED(-1, INT32_MAX)) };

/* ---- one window ---------------------------------------------------------------------------- */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static adzi_window window(const adzi_axis *axis, int64_t j)
{
    const int64_t first = j * axis->stride - axis->padding, d = axis->dilation;
    /* Positions before x are skipped, as whole steps of the dilation. */
    const int64_t skipped = first < 0 ? smaller((-first + d - 1) / d, axis->kernel) : 0;
    const int64_t start = first + skipped * d;
    const int64_t left = start < axis->in ? (axis->in - start + d - 1) / d : 0;
    return (adzi_window){ start, smaller(axis->kernel - skipped, left) };
}

static adzi_window adaptive(const adzi_axis *axis, int64_t j)
{
    const int64_t start = j * axis->in / axis->out;
    const int64_t end = ((j + 1) * axis->in + axis->out - 1) / axis->out;
    return (adzi_window){ start, end - start };
}

/* PyTorch computes this position in f32, so the library does, too: another rounding would pick
 * another element. Whole scales are exact for any j. */
static adzi_window nearest(const adzi_axis *axis, int64_t j)
{
    const float scale = axis->scale > 0 ? (float)axis->scale : (float)axis->in / (float)axis->out;
    const int64_t position = scale == 1.0F   ? j
                             : scale == 0.5F ? j / 2
                                             : (int64_t)floorf((float)j * scale);
    return (adzi_window){ smaller(position, axis->in - 1), 1 };
}

/* The position of x, with a fraction, at which position j of y lies. A dimension that keeps its
 * size is copied, whatever the scale is. */
static double linear_at(const adzi_axis *axis, int64_t j)
{
    double at;
    if (axis->in == axis->out) {
        at = (double)j;
    } else if (axis->align_corners) {
        at = axis->out > 1 ? (double)(axis->in - 1) / (double)(axis->out - 1) * (double)j : 0;
    } else {
        const double scale = axis->scale > 0 ? axis->scale : (double)axis->in / (double)axis->out;
        at = scale * ((double)j + 0.5) - 0.5;
    }
    return at < 0 ? 0 : at > (double)(axis->in - 1) ? (double)(axis->in - 1) : at;
}

static adzi_window linear(const adzi_axis *axis, int64_t j)
{
    const int64_t start = (int64_t)linear_at(axis, j);
    return (adzi_window){ start, start < axis->in - 1 ? 2 : 1 };
}

adzi_window adzi_axis_window(const adzi_axis *axis, int64_t j)
{
    switch (axis->kind) {
    case ADZI_AXIS_ADAPTIVE:
        return adaptive(axis, j);
    case ADZI_AXIS_NEAREST:
        return nearest(axis, j);
    case ADZI_AXIS_LINEAR:
        return linear(axis, j);
    case ADZI_AXIS_WINDOW:
        break;
    }
    return window(axis, j);
}

double adzi_axis_weight(const adzi_axis *axis, int64_t j, int64_t k)
{
    const adzi_window seen = adzi_axis_window(axis, j);
    if (axis->kind == ADZI_AXIS_LINEAR && seen.count == 2) {
        const double rest = linear_at(axis, j) - (double)seen.start;
        return k == 0 ? 1 - rest : rest;
    }
    if (axis->sum || axis->kind == ADZI_AXIS_LINEAR) {
        return 1;
    }
    if (axis->kind == ADZI_AXIS_WINDOW && axis->include_pad) {
        /* Padding counts, but not what a last window has beyond it (ceil_mode). */
        const int64_t first = j * axis->stride - axis->padding;
        return 1 / (double)(smaller(first + axis->kernel, axis->in + axis->padding) - first);
    }
    return 1 / (double)seen.count;
}

adzi_axis *adzi_axes_begin(adzi_axis axes[ADZI_AXES], int n)
{
    for (int d = 0; d < ADZI_AXES - n; ++d) {
        axes[d] = (adzi_axis){
            .kind = ADZI_AXIS_WINDOW, .in = 1, .out = 1, .kernel = 1, .stride = 1, .dilation = 1
        };
    }
    return axes + ADZI_AXES - n;
}

/* ---- arguments ----------------------------------------------------------------------------- */

/* The padding is at most half of a window. */
static bool check_padding(const char *op, const adzi_window_attr *attr)
{
    for (int i = 0; i < attr->n; ++i) {
        const int64_t reach = attr->dilation[i] * (attr->kernel_size[i] - 1) + 1;
        if (attr->padding[i] > reach / 2) {
            adzi_error(op, ADZ_ERR_ARGUMENT,
                "padding %lld is more than half of the window of %lld positions (kernel_size %lld, dilation %lld); use at most %lld",
                (long long)attr->padding[i], (long long)reach, (long long)attr->kernel_size[i],
                (long long)attr->dilation[i], (long long)(reach / 2));
            return false;
        }
    }
    return true;
}

bool adzi_read_window(const char *op, const adz_shape *kernel_size, const adz_shape *stride,
    const adz_shape *padding, adzi_window_attr *attr)
{
    if (!adzi_spread_given(op, "kernel_size", kernel_size, attr->n, attr->kernel_size)) {
        return false;
    }
    memcpy(attr->stride, attr->kernel_size, sizeof attr->stride);
    return adzi_spread(op, "stride", stride, attr->n, attr->stride) &&
           adzi_spread(op, "padding", padding, attr->n, attr->padding) && check_padding(op, attr);
}

bool adzi_check_planes(const char *op, const adz_tensor *x, int n)
{
    static const char *const forms[ADZI_AXES] = { "[N, C, L] or [C, L]",
        "[N, C, H, W] or [C, H, W]", "[N, C, D, H, W] or [C, D, H, W]" };
    if (x->rank < n + 1 || x->rank > n + 2) {
        adzi_error(op, ADZ_ERR_SHAPE, "x%s must be %s", adzi_text_shape(x), forms[n - 1]);
        return false;
    }
    for (int d = x->rank - n; d < x->rank; ++d) {
        if (x->sizes[d] == 0) {
            adzi_error(op, ADZ_ERR_SHAPE,
                "dimension %d of x%s is empty; only the batch and the channels may be", d,
                adzi_text_shape(x));
            return false;
        }
    }
    return true;
}

/* The number of windows: PyTorch's rule, by which the last window of ceil_mode begins inside x or
 * its left padding. */
static int64_t windows_of(const adzi_axis *a, bool ceil_mode)
{
    const int64_t room = a->in + 2 * a->padding - a->dilation * (a->kernel - 1) - 1;
    const int64_t steps = room + (ceil_mode ? a->stride - 1 : 0);
    if (steps < 0) {
        return 0;
    }
    const int64_t out = steps / a->stride + 1;
    return ceil_mode && (out - 1) * a->stride >= a->in + a->padding ? out - 1 : out;
}

bool adzi_window_axes(
    const char *op, int rank, const int64_t *sizes, const adzi_window_attr *attr, adzi_axis *axes)
{
    adzi_axis *a = adzi_axes_begin(axes, attr->n);
    for (int i = 0; i < attr->n; ++i, ++a) {
        const int d = rank - attr->n + i;
        *a = (adzi_axis){ .kind = ADZI_AXIS_WINDOW,
            .in = sizes[d],
            .kernel = attr->kernel_size[i],
            .stride = attr->stride[i],
            .padding = attr->padding[i],
            .dilation = attr->dilation[i],
            .include_pad = attr->count_include_pad,
            .sum = attr->divisor_override != 0 };
        a->out = windows_of(a, attr->ceil_mode);
        if (a->out < 1) {
            adzi_error(op, ADZ_ERR_SHAPE,
                "a window of %lld positions (kernel_size %lld, dilation %lld) does not fit into dimension %d of x%s with padding %lld; use a smaller kernel or a larger x",
                (long long)(a->dilation * (a->kernel - 1) + 1), (long long)a->kernel,
                (long long)a->dilation, d, adzi_text_sizes(rank, sizes), (long long)a->padding);
            return false;
        }
    }
    return true;
}

void adzi_adaptive_axes(
    int rank, const int64_t *sizes, const adzi_adaptive_attr *attr, adzi_axis *axes)
{
    adzi_axis *a = adzi_axes_begin(axes, attr->n);
    for (int i = 0; i < attr->n; ++i) {
        a[i] = (adzi_axis){ .kind = ADZI_AXIS_ADAPTIVE,
            .in = sizes[rank - attr->n + i],
            .out = attr->output_size[i],
            .dilation = 1 };
    }
}

bool adzi_read_adaptive(
    const char *op, int n, const adz_shape *output_size, adzi_adaptive_attr *attr)
{
    attr->n = n;
    bool good = adzi_spread_given(op, "output_size", output_size, n, attr->output_size);
    for (int i = 0; i < n && good; ++i) {
        good = adzi_field_takes(op, &adzi_adaptive_fields[1], (double)attr->output_size[i]);
    }
    return good;
}

adz_status adzi_planes_rule(const char *op, adz_result *y, int n, const adzi_axis *axes)
{
    int64_t numel;
    for (int i = 0; i < n; ++i) {
        y->shape.sizes[y->shape.rank - n + i] = axes[ADZI_AXES - n + i].out;
    }
    return adzi_check_sizes(op, y->shape.rank, y->shape.sizes, y->dtype, &numel);
}

adz_status adzi_window_rule(adz_result *y, adz_tensor *const *in, void *windows)
{
    adzi_windows *w = windows;
    const adzi_window_attr *at = &w->at.window;
    return adzi_check_planes(w->op, in[0], at->n) &&
                   adzi_window_axes(w->op, in[0]->rank, in[0]->sizes, at, w->axes)
               ? adzi_planes_rule(w->op, y, at->n, w->axes)
               : adzi_status(NULL);
}

adz_status adzi_adaptive_rule(adz_result *y, adz_tensor *const *in, void *windows)
{
    adzi_windows *w = windows;
    adzi_adaptive_attr *at = &w->at.adaptive;
    const adz_tensor *x = in[0];
    if (!adzi_check_planes(w->op, x, at->n)) {
        return adzi_status(NULL);
    }
    for (int i = 0; i < at->n; ++i) {
        const int64_t size = x->sizes[x->rank - at->n + i];
        at->output_size[i] = at->output_size[i] < 0 ? size : at->output_size[i];
        if (size > INT32_MAX) {
            return adzi_error(w->op, ADZ_ERR_SHAPE,
                "x%s is too large: %lld positions of a dimension", adzi_text_shape(x),
                (long long)size);
        }
    }
    adzi_adaptive_axes(x->rank, x->sizes, at, w->axes);
    return adzi_planes_rule(w->op, y, at->n, w->axes);
}
