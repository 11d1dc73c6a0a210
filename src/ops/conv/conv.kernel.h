/* What the kernels of convolutions are told, and the geometry that they share.
 *
 * Note [Two directions, one kernel]
 *
 * A convolution and its transpose are both a sum over channels and taps of a source image:
 *
 *     result[m, q] = bias[m] + sum over c and t of A[m, c, t] source[c, index(q, t)]
 *
 * A tap t is one element of the kernel. In a convolution, index(q, t) = q stride + t dilation -
 * pad. In a transposed convolution, element r of the result takes part in
 *
 *     index = (r + pad - t dilation) / stride,   where the division leaves no remainder.
 *
 * The elements r with one remainder r mod stride form a phase. All elements of a phase have the
 * same taps, and neighbours in a phase read neighbours of the source. A phase is therefore computed
 * as a convolution with stride 1. No zero is multiplied, whatever the stride is.
 *
 * Depths, heights and widths have their own phases. An image is a volume of depth 1, and a signal
 * is an image of height 1.
 */
#ifndef ADZI_OPS_CONV_CONV_KERNEL_H
#define ADZI_OPS_CONV_CONV_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/threads/addresses.h"

enum {
    ADZI_CONV_AXES = 3,    /* depth, height and width */
    ADZI_CONV_BLOCK = 64,  /* positions of a block */
    ADZI_CONV_DEPTH = 128, /* channels times taps whose patches are packed at a time */
    ADZI_CONV_MAPS = 128   /* the most channels of the result that a task computes */
};

/** One convolution or transposed convolution, or the gradient of its weight. Arrays hold depth,
 * height and width. */
typedef struct adzi_conv_args {
    int64_t batch, groups;
    int64_t channels, maps; /* channels of the source and of the result, per group */
    int64_t source[ADZI_CONV_AXES], result[ADZI_CONV_AXES];
    int64_t kernel[ADZI_CONV_AXES], stride[ADZI_CONV_AXES];
    int64_t dilation[ADZI_CONV_AXES], pad[ADZI_CONV_AXES];
    bool transposed;
    const void *x;      /* the source [batch, groups * channels, depth, height, width] */
    const void *weight; /* [groups * maps, channels * taps], packed by conv_pack if transposed */
    const void *bias;   /* [groups * maps], or NULL */
    void *y;            /* the result [batch, groups * maps, depth, height, width] */
    int64_t blocks;     /* of positions, of all phases */
    int64_t chunks;     /* equal parts of the maps */
    int64_t tasks;      /* groups * chunks * blocks, cut evenly between the workers */
    int64_t workers;
    char *scratch; /* scratch_size bytes for each worker */
    int64_t scratch_size;
} adzi_conv_args;

/** Its pointers for ADZI_ADDRESSES. `at` is empty, or the name of a member and a dot. */
#define ADZI_CONV_ADDRESSES(at) at x, at weight, at bias, at y, at scratch

ADZI_ADDRESSES(adzi_conv_args, ADZI_CONV_ADDRESSES());

/** The gradient of a weight: `y` of conv is read, and dw[groups * maps, channels * taps] written.
 */
typedef struct adzi_conv_weight_args {
    adzi_conv_args conv;
    void *dw;             /* [parts][groups * maps, channels * taps] */
    int64_t parts;        /* partial sums over runs of blocks */
    int64_t depth_chunks; /* parts of channels * taps, see adzi_conv_range */
} adzi_conv_weight_args;

ADZI_ADDRESSES(adzi_conv_weight_args, ADZI_CONV_ADDRESSES(conv.), dw);

/** The weight of a transposed convolution in the order that its kernel reads. */
typedef struct adzi_conv_pack_args {
    adzi_conv_args conv; /* conv.weight is the packed weight, which is written */
    const void *from;    /* [groups * channels, maps, taps] */
    void *to;
} adzi_conv_pack_args;

ADZI_ADDRESSES(adzi_conv_pack_args, ADZI_CONV_ADDRESSES(conv.), from, to);

/** out[i] = the sum over p of parts[p, i]. */
typedef struct adzi_conv_sum_args {
    const void *parts;
    void *out;
    int64_t n, count; /* elements, and partial sums */
} adzi_conv_sum_args;

ADZI_ADDRESSES(adzi_conv_sum_args, parts, out);

/** The elements of an image, or of a kernel, with these sizes. */
static inline int64_t adzi_conv_volume(const int64_t sizes[ADZI_CONV_AXES])
{
    return sizes[0] * sizes[1] * sizes[2];
}

/** One phase along one dimension: position q reads, for tap number i, index q step + offset + i
 * offset_step of the source, and is element start + q stride of the result. */
typedef struct adzi_conv_axis {
    int64_t count;         /* positions */
    int64_t start, stride; /* in the result */
    int64_t first, apart;  /* the first tap of the phase, and the distance of its taps */
    int64_t taps;
    int64_t step, offset, offset_step; /* in the source */
} adzi_conv_axis;

static inline int64_t adzi_conv_phases(const adzi_conv_args *g, int d)
{
    return !g->transposed ? 1 : g->stride[d] < g->result[d] ? g->stride[d] : g->result[d];
}

/** The greatest common divisor of a and b, a < b. `inverse` times a is the divisor modulo b. */
static inline int64_t adzi_conv_divisor(int64_t a, int64_t b, int64_t *inverse)
{
    const int64_t modulus = b;
    int64_t x = 1, y = 0; /* x a0 = a and y a0 = b modulo the modulus */
    while (a != 0) {
        const int64_t times = b / a, rest = b % a, next = y - times * x;
        b = a;
        a = rest;
        y = x;
        x = next;
    }
    *inverse = y < 0 ? y + modulus : y;
    return b;
}

/** a b modulo m, without overflow. a and b are 0 or more. */
static inline int64_t adzi_conv_multiply(int64_t a, int64_t b, int64_t m)
{
    int64_t sum = 0;
    a %= m;
    for (b %= m; b != 0; b /= 2) {
        if (b % 2 != 0) {
            sum = sum < m - a ? sum + a : sum - (m - a);
        }
        a = a < m - a ? a + a : a - (m - a);
    }
    return sum;
}

static inline adzi_conv_axis adzi_conv_axis_of(const adzi_conv_args *g, int d, int64_t phase)
{
    const int64_t stride = g->stride[d], dilation = g->dilation[d], taps = g->kernel[d];
    if (!g->transposed) {
        return (adzi_conv_axis){ .count = g->result[d],
            .start = 0,
            .stride = 1,
            .first = 0,
            .apart = 1,
            .taps = taps,
            .step = stride,
            .offset = -g->pad[d],
            .offset_step = dilation };
    }
    /* Tap t belongs to the phase if t dilation = phase + pad modulo the stride. Divided by their
     * common divisor this is t = index inverse modulo `apart`, so the taps of a phase lie `apart`
     * from each other. */
    int64_t inverse;
    const int64_t divisor = adzi_conv_divisor(dilation % stride, stride, &inverse);
    const int64_t apart = stride / divisor, from_index = phase + g->pad[d];
    const bool whole = from_index % divisor == 0;
    const int64_t first = whole ? adzi_conv_multiply(from_index / divisor, inverse, apart) : taps;
    const bool none = first >= taps;
    return (adzi_conv_axis){ .count = (g->result[d] - phase + stride - 1) / stride,
        .start = phase,
        .stride = stride,
        .first = first,
        .apart = apart,
        .taps = none ? 0 : (taps - 1 - first) / apart + 1,
        .step = 1,
        .offset = none ? 0 : (phase + g->pad[d] - first * dilation) / stride,
        .offset_step = -(dilation / divisor) };
}

/** The number of blocks that `count` elements make. */
static inline int64_t adzi_conv_blocks(int64_t count, int64_t length)
{
    return (count + length - 1) / length;
}

/** A walk over all phases. `weight` counts the elements of a row of the packed weight before the
 * phase, per channel; `block` counts blocks. */
typedef struct adzi_conv_phase {
    adzi_conv_axis d, h, w; /* along depth, height and width */
    int64_t at[ADZI_CONV_AXES];
    int64_t taps;      /* of all dimensions */
    int64_t positions; /* those of one image, times the batch */
    int64_t block, blocks;
    int64_t weight;
} adzi_conv_phase;

static inline void adzi_conv_phase_at(const adzi_conv_args *g, adzi_conv_phase *p)
{
    p->d = adzi_conv_axis_of(g, 0, p->at[0]);
    p->h = adzi_conv_axis_of(g, 1, p->at[1]);
    p->w = adzi_conv_axis_of(g, 2, p->at[2]);
    p->taps = p->d.taps * p->h.taps * p->w.taps;
    p->positions = g->batch * p->d.count * p->h.count * p->w.count;
    p->blocks = adzi_conv_blocks(p->positions, ADZI_CONV_BLOCK);
}

static inline adzi_conv_phase adzi_conv_phase_first(const adzi_conv_args *g)
{
    adzi_conv_phase p = { .at = { 0 }, .block = 0, .weight = 0 };
    adzi_conv_phase_at(g, &p);
    return p;
}

/** Moves to the next phase; false after the last one. */
static inline bool adzi_conv_phase_next(const adzi_conv_args *g, adzi_conv_phase *p)
{
    p->block += p->blocks;
    p->weight += p->taps;
    int d = ADZI_CONV_AXES - 1;
    while (d >= 0 && ++p->at[d] == adzi_conv_phases(g, d)) {
        p->at[d--] = 0;
    }
    if (d < 0) {
        return false;
    }
    adzi_conv_phase_at(g, p);
    return true;
}

/** Some channels and some of their taps, whose patches are packed together. Either all taps of
 * several channels or some taps of one channel. */
typedef struct adzi_conv_range {
    int64_t channel, channels;
    int64_t tap, taps;
} adzi_conv_range;

/** How many ranges `channels` with `taps` taps make; 0 if there are none. */
static inline int64_t adzi_conv_ranges(int64_t channels, int64_t taps)
{
    if (taps == 0) {
        return 0;
    }
    if (taps > ADZI_CONV_DEPTH) {
        return channels * adzi_conv_blocks(taps, ADZI_CONV_DEPTH);
    }
    return adzi_conv_blocks(channels, ADZI_CONV_DEPTH / taps);
}

/** Range i of them. Ranges are made equally long. */
static inline adzi_conv_range adzi_conv_range_at(int64_t channels, int64_t taps, int64_t i)
{
    const int64_t count = adzi_conv_ranges(channels, taps);
    if (taps > ADZI_CONV_DEPTH) {
        const int64_t each = count / channels, part = i % each;
        const int64_t from = taps * part / each, to = taps * (part + 1) / each;
        return (adzi_conv_range){ i / each, 1, from, to - from };
    }
    const int64_t from = channels * i / count, to = channels * (i + 1) / count;
    return (adzi_conv_range){ from, to - from, 0, taps };
}

#endif
