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

const adz_field adzi_adaptive_fields[2] = { ADZI_FIELD_LIST(adzi_adaptive_attr, n, output_size) };

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

adzi_axis adzi_axis_single(void)
{
    return (adzi_axis){
        .kind = ADZI_AXIS_WINDOW, .in = 1, .out = 1, .kernel = 1, .stride = 1, .dilation = 1
    };
}

/* ---- arguments ----------------------------------------------------------------------------- */

bool adzi_read_pair(const char *op, const char *name, int n, adz_shape given, int64_t least,
    const int64_t *otherwise, int64_t *to)
{
    if (given.rank < 0 || given.rank > n || (given.rank == 0 && otherwise == NULL) ||
        (given.rank > 1 && given.rank != n)) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "%s has %d numbers, but needs 1%s", name, given.rank,
            n == 2 ? " for both dimensions or 2" : "");
        return false;
    }
    for (int i = 0; i < n; ++i) {
        to[i] = given.rank == 0 ? otherwise[i] : given.sizes[given.rank == 1 ? 0 : i];
        if (to[i] < least || to[i] > INT32_MAX) {
            adzi_error(op, ADZ_ERR_ARGUMENT, "%s is %lld, but must be from %lld to 2147483647",
                name, (long long)to[i], (long long)least);
            return false;
        }
    }
    return true;
}

bool adzi_check_padding(const char *op, const adzi_window_attr *attr)
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

bool adzi_check_planes(const char *op, const adz_tensor *x, int n)
{
    if (x->rank < n + 1 || x->rank > n + 2) {
        adzi_error(op, ADZ_ERR_SHAPE, "x%s must be %s", adzi_text_shape(x),
            n == 1 ? "[N, C, L] or [C, L]" : "[N, C, H, W] or [C, H, W]");
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
    axes[0] = adzi_axis_single();
    for (int i = 0; i < attr->n; ++i) {
        const int d = rank - attr->n + i;
        adzi_axis *a = &axes[ADZI_AXES - attr->n + i];
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
    axes[0] = adzi_axis_single();
    for (int i = 0; i < attr->n; ++i) {
        axes[ADZI_AXES - attr->n + i] = (adzi_axis){ .kind = ADZI_AXIS_ADAPTIVE,
            .in = sizes[rank - attr->n + i],
            .out = attr->output_size[i],
            .dilation = 1 };
    }
}

bool adzi_read_adaptive(
    const char *op, const adz_tensor *x, int n, adz_shape given, adzi_adaptive_attr *attr)
{
    attr->n = n;
    if (!adzi_read_pair(op, "output_size", n, given, -1, NULL, attr->output_size) ||
        !adzi_check_planes(op, x, n)) {
        return false;
    }
    for (int i = 0; i < n; ++i) {
        const int64_t in = x->sizes[x->rank - n + i];
        attr->output_size[i] = attr->output_size[i] < 0 ? in : attr->output_size[i];
        if (in > INT32_MAX) {
            adzi_error(op, ADZ_ERR_SHAPE, "x%s is too large: %lld positions of a dimension",
                adzi_text_shape(x), (long long)in);
            return false;
        }
    }
    return true;
}

adz_tensor *adzi_new_planes(
    adzi_call *call, adz_dtype dtype, const adz_tensor *x, int n, const adzi_axis *axes)
{
    int64_t sizes[ADZ_MAX_RANK], numel;
    for (int d = 0; d < x->rank; ++d) {
        const int i = d - (x->rank - n); /* of the axes, where it is not negative */
        sizes[d] = i < 0 ? x->sizes[d] : axes[ADZI_AXES - n + i].out;
    }
    if (adzi_check_sizes(call->op->name, x->rank, sizes, dtype, &numel) != ADZ_OK) {
        return NULL;
    }
    return adzi_new(call, dtype, x->rank, sizes);
}
