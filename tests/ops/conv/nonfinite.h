/* Geometries for facts about infinite and NaN elements. Each of them takes another way through the
 * kernels. */
#ifndef ADZE_TESTS_OPS_CONV_NONFINITE_H
#define ADZE_TESTS_OPS_CONV_NONFINITE_H

#include "ops/conv/conv.h"

static const conv_plain nonfinite_sizes[] = {
    /* patches in blocks, with strides and dilations */
    { 1, 1, 2, 3, { 5, 6 }, { 0, 0 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1 } },
    { 2, 2, 3, 2, { 9, 8 }, { 0, 0 }, { 3, 2 }, { 2, 3 }, { 1, 0 }, { 2, 1 } },
    { 1, 1, 2, 3, { 12, 70 }, { 0, 0 }, { 2, 2 }, { 1, 1 }, { 0, 1 }, { 1, 3 } },
    /* kernels of more taps than a range holds */
    { 1, 1, 2, 2, { 2, 3 }, { 0, 0 }, { 13, 11 }, { 1, 1 }, { 12, 10 }, { 1, 1 } },
    /* depthwise, in frames and in pieces of rows */
    { 2, 3, 1, 1, { 6, 7 }, { 0, 0 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1 } },
    { 1, 2, 1, 2, { 9, 9 }, { 0, 0 }, { 3, 2 }, { 2, 2 }, { 1, 0 }, { 1, 2 } },
    { 1, 2, 1, 1, { 4, 40 }, { 0, 0 }, { 2, 3 }, { 1, 11 }, { 1, 2 }, { 1, 1 } },
    { 1, 2, 1, 1, { 3, 3 }, { 0, 0 }, { 10, 9 }, { 1, 1 }, { 9, 8 }, { 1, 1 } },
};

enum { NONFINITE_SIZES = sizeof nonfinite_sizes / sizeof *nonfinite_sizes };

/* Geometry i with the sizes of the small image. */
static inline conv_plain nonfinite_plain(int i)
{
    conv_plain c = nonfinite_sizes[i];
    for (int d = 0; d < 2; ++d) {
        c.small[d] =
            (c.big[d] + 2 * c.padding[d] - c.dilation[d] * (c.kernel[d] - 1) - 1) / c.stride[d] + 1;
    }
    return c;
}

static inline adz_conv_options nonfinite_options(const conv_plain *c)
{
    adz_conv_options o = ADZ_CONV_OPTIONS;
    o.stride = adz_shape_of(2, c->stride);
    o.padding = adz_shape_of(2, c->padding);
    o.dilation = adz_shape_of(2, c->dilation);
    o.groups = c->groups;
    return o;
}

/* Random numbers, of which element `at` of all of them is `value`. */
static inline adz_tensor *nonfinite_in(adz_shape shape, int64_t at, double value)
{
    adz_tensor *t = adz_randn(shape, ADZ_F64);
    adz_tensor_data_f64(t)[at % adz_tensor_numel(t)] = value;
    return t;
}

#define NONFINITE_WEIGHT(c) \
    ADZ_SHAPE((c).groups *(c).maps, (c).channels, (c).kernel[0], (c).kernel[1])
#define NONFINITE_BIG(c)   ADZ_SHAPE((c).n, (c).groups *(c).channels, (c).big[0], (c).big[1])
#define NONFINITE_SMALL(c) ADZ_SHAPE((c).n, (c).groups *(c).maps, (c).small[0], (c).small[1])

#endif
