#include "ops/conv/conv.h"

/* Convolutions as expressions of operators, for exports to runtimes that lack them. Each tap of the
 * kernel is one product of matrices over all channels:
 *
 *     y     = bias + sum over t of weight[..., t] x_t,   x_t = x padded, from tap t on, by strides
 *     back  = bias + sum over t of weight[..., t]^T x, with zeros between, moved to tap t
 *
 * An image is a volume of depth 1, a signal is an image of height 1, and an image without a batch
 * has a batch of 1. */

enum { AXES = ADZI_CONV_AXES };

/* A call with all arrays for depth, height and width. */
typedef struct {
    int64_t batch, groups, from, to; /* channels of x and of y, per group */
    int64_t image[AXES], result[AXES], kernel[AXES];
    int64_t stride[AXES], dilation[AXES], before[AXES], after[AXES];
} geometry;

static geometry geometry_of(
    const adzi_conv *at, const adz_tensor *x, const adz_tensor *weight, bool transposed)
{
    geometry g = { .batch = x->rank == at->n + 2 ? x->sizes[0] : 1, .groups = at->groups };
    const int64_t rows = weight->sizes[0] / at->groups;
    g.from = transposed ? rows : weight->sizes[1];
    g.to = transposed ? weight->sizes[1] : rows;
    for (int d = 0; d < AXES; ++d) {
        const int k = d - (AXES - at->n); /* the spatial dimension; below 0: one that is added */
        g.image[d] = k < 0 ? 1 : x->sizes[x->rank - AXES + d];
        g.kernel[d] = k < 0 ? 1 : weight->sizes[2 + k];
        g.stride[d] = k < 0 ? 1 : at->stride[k];
        g.dilation[d] = k < 0 ? 1 : at->dilation[k];
        g.before[d] = k < 0 ? 0 : at->padding[k];
        g.after[d] = k < 0 ? 0 : at->padding_after[k];
        const int64_t reach = g.dilation[d] * (g.kernel[d] - 1) + 1;
        const int64_t pads = g.before[d] + g.after[d];
        g.result[d] = transposed ? (g.image[d] - 1) * g.stride[d] - pads + reach
                                 : (g.image[d] + pads - reach) / g.stride[d] + 1;
    }
    return g;
}

/* The shape of images with these sizes, [N, channels, depth, height, width]. */
static adz_shape images_of(const geometry *g, int64_t channels, const int64_t *sizes)
{
    return ADZ_SHAPE(g->batch, channels, sizes[0], sizes[1], sizes[2]);
}

/* Adds the bias to y[N, O, OD, OH, OW] and gives it the rank of x. */
static adz_tensor *finish(
    const adzi_conv *at, const geometry *g, adz_tensor *y, adz_tensor *bias, const adz_tensor *x)
{
    const int64_t channels = g->groups * g->to;
    if (!adzi_is_none(bias)) {
        y = adz_add(y, adz_reshape(bias, ADZ_SHAPE(channels, 1, 1, 1)));
    }
    adz_shape shape = { .rank = 0 };
    if (x->rank == at->n + 2) {
        shape.sizes[shape.rank++] = g->batch;
    }
    shape.sizes[shape.rank++] = channels;
    for (int d = AXES - at->n; d < AXES; ++d) {
        shape.sizes[shape.rank++] = g->result[d];
    }
    return adz_reshape(y, shape);
}

/* Element t of the kernel as matrices, one per group. */
static adz_tensor *tap_of(const geometry *g, adz_tensor *weight, int64_t t, bool transposed)
{
    const int64_t rows = transposed ? g->from : g->to, columns = transposed ? g->to : g->from;
    adz_tensor *w =
        adz_reshape(weight, ADZ_SHAPE(g->groups, rows, columns, adzi_conv_volume(g->kernel)));
    w = adz_select(w, 3, t);
    return transposed ? adz_transpose(w, -2, -1) : w;
}

/* The position of element t in the kernel. */
static void find_tap(const geometry *g, int64_t t, int64_t tap[AXES])
{
    for (int d = AXES - 1; d >= 0; --d) {
        tap[d] = t % g->kernel[d];
        t /= g->kernel[d];
    }
}

adz_status adzi_conv_expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const adzi_conv *at = attr;
    const adz_tensor *x = in[ADZI_CONV_X];
    const geometry g = geometry_of(at, x, in[ADZI_CONV_WEIGHT], false);
    const int64_t pads[] = { g.before[2], g.after[2], g.before[1], g.after[1], g.before[0],
        g.after[0] };
    adz_tensor *images = adz_reshape(in[ADZI_CONV_X], images_of(&g, g.groups * g.from, g.image));
    images = adz_pad(images, pads, 2 * AXES, 0);
    adz_tensor *sum = NULL;
    for (int64_t t = 0; t < adzi_conv_volume(g.kernel); ++t) {
        adz_tensor *indices = images;
        int64_t tap[AXES];
        find_tap(&g, t, tap);
        for (int d = 0; d < AXES; ++d) {
            const int64_t start = tap[d] * g.dilation[d];
            indices = adz_slice(
                indices, 2 + d, start, start + (g.result[d] - 1) * g.stride[d] + 1, g.stride[d]);
        }
        indices =
            adz_reshape(indices, ADZ_SHAPE(g.batch, g.groups, g.from, adzi_conv_volume(g.result)));
        adz_tensor *part = adz_matmul(tap_of(&g, in[ADZI_CONV_WEIGHT], t, false), indices);
        sum = t == 0 ? part : adz_add(sum, part);
    }
    sum = adz_reshape(sum, images_of(&g, g.groups * g.to, g.result));
    y[0] = finish(at, &g, sum, in[ADZI_CONV_BIAS], x);
    return adzi_status(y[0]);
}

/* z[N, O, D, H, W] with stride - 1 zeros behind each element, moved to tap t on a canvas. */
static adz_tensor *spread(const geometry *g, adz_tensor *z, int64_t t, const int64_t *canvas)
{
    const int64_t images = g->batch * g->groups * g->to, *from = g->image;
    int64_t tap[AXES], sizes[AXES], gaps[4 * AXES - 2] = { 0 }, around[2 * AXES];
    find_tap(g, t, tap);
    for (int d = 0; d < AXES; ++d) {
        const int last = AXES - 1 - d; /* pads are counted from the last dimension */
        sizes[d] = from[d] * g->stride[d];
        gaps[4 * last + 1] = g->stride[d] - 1;
        around[2 * last] = tap[d] * g->dilation[d];
        around[2 * last + 1] = canvas[d] - sizes[d] - around[2 * last];
    }
    z = adz_reshape(z, ADZ_SHAPE(images, from[0], 1, from[1], 1, from[2], 1));
    z = adz_reshape(adz_pad(z, gaps, 4 * AXES - 2, 0), images_of(g, g->groups * g->to, sizes));
    return adz_pad(z, around, 2 * AXES, 0);
}

adz_status adzi_conv_transpose_expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const adzi_conv *at = attr;
    const adz_tensor *x = in[ADZI_CONV_X];
    const geometry g = geometry_of(at, x, in[ADZI_CONV_WEIGHT], true);
    int64_t canvas[AXES];
    for (int d = 0; d < AXES; ++d) {
        const int64_t all = g.image[d] * g.stride[d] + g.dilation[d] * (g.kernel[d] - 1);
        canvas[d] = all < g.before[d] + g.result[d] ? g.before[d] + g.result[d] : all;
    }
    adz_tensor *images = adz_reshape(
        in[ADZI_CONV_X], ADZ_SHAPE(g.batch, g.groups, g.from, adzi_conv_volume(g.image)));
    adz_tensor *sum = NULL;
    for (int64_t t = 0; t < adzi_conv_volume(g.kernel); ++t) {
        adz_tensor *part = adz_matmul(tap_of(&g, in[ADZI_CONV_WEIGHT], t, true), images);
        part = spread(&g, part, t, canvas);
        sum = t == 0 ? part : adz_add(sum, part);
    }
    for (int d = 0; d < AXES; ++d) {
        sum = adz_narrow(sum, 2 + d, g.before[d], g.result[d]);
    }
    y[0] = finish(at, &g, sum, in[ADZI_CONV_BIAS], x);
    return adzi_status(y[0]);
}
