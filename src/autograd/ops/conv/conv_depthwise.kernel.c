/* Convolutions of groups with one channel and few maps each, as in a depthwise convolution.
 *
 *     result[m, q] = bias[m] + sum over t of w[m, t] source[place(q, t)]
 *     dw[m, t]     = sum over q of dresult[m, q] source[place(q, t)]
 *
 * A product of matrices would have a single row. Here a row of the result is computed in pieces of
 * SPAN elements that stay in the first-level cache, one tap after the other. See
 * Note [Two directions, one kernel] in conv.kernel.h for phases and places. */
#ifndef elem
#define THIS_FILE "autograd/ops/conv/conv_depthwise.kernel.c"
#include "autograd/ops/conv/conv_patches.kernel.h"

enum { SPAN = 512, TAPS = 64 };

#include "tensor/kernel/each_float.h"
#else
#include "tensor/gemm/gemm_vec.h"

/* y[z] += factor x[z step] for `length` elements. */
INLINE void KERNEL(add_scaled)(
    elem *restrict y, elem factor, const elem *restrict x, int64_t step, int64_t length)
{
    const VEC f = VSPLAT(factor);
    int64_t z = 0;
    if (step == 1) {
        for (; z + VW <= length; z += VW) {
            VSTORE(y + z, VFMA(f, VLOAD(x + z), VLOAD(y + z)));
        }
        if (z < length) {
            const int rest = (int)(length - z);
            VSTORE_PART(y + z, VFMA(f, VLOAD_PART(x + z, rest), VLOAD_PART(y + z, rest)), rest);
        }
        return;
    }
    elem gathered[VBYTES / sizeof(elem)];
    for (; z < length; z += VW) {
        const int rest = length - z < VW ? (int)(length - z) : VW;
        for (int l = 0; l < VW; ++l) {
            gathered[l] = l < rest ? x[(z + l) * step] : ELEM(0);
        }
        VSTORE_PART(y + z, VFMA(f, VLOAD(gathered), VLOAD_PART(y + z, rest)), rest);
    }
}

/* One piece of a row of the result: the taps of the phase, added to the bias in sums[0 .. length -
 * 1]. `row` and `column` are the first position; x is the source image. */
static void KERNEL(span)(elem *sums, const adzi_conv_args *g, const adzi_conv_phase *p,
    const elem *x, const elem *weight, int64_t row, int64_t column, int64_t length)
{
    for (int64_t i = 0; i < p->h.taps; ++i) {
        const int64_t from = row * p->h.step + p->h.offset + i * p->h.offset_step;
        if (!is_row(from, g->source[0])) {
            continue;
        }
        for (int64_t j = 0; j < p->w.taps; ++j) {
            const int64_t first = column * p->w.step + p->w.offset + j * p->w.offset_step;
            const inside part = places_inside(first, p->w.step, length, g->source[1]);
            if (part.low < part.high) {
                KERNEL(add_scaled)
                (sums + part.low, weight[i * p->w.taps + j],
                    x + from * g->source[1] + first + part.low * p->w.step, p->w.step,
                    part.high - part.low);
            }
        }
    }
}

/* All positions of one phase in one image of the result. */
static void KERNEL(depthwise_phase)(const adzi_conv_args *g, const adzi_conv_phase *p,
    const elem *x, const elem *weight, elem bias, elem *y)
{
    elem sums[SPAN];
    for (int64_t row = 0; row < p->h.count; ++row) {
        elem *to = y + (p->h.start + row * p->h.stride) * g->result[1] + p->w.start;
        for (int64_t column = 0; column < p->w.count; column += SPAN) {
            const int64_t left = p->w.count - column, length = left < SPAN ? left : SPAN;
            for (int64_t z = 0; z < length; ++z) {
                sums[z] = bias;
            }
            KERNEL(span)(sums, g, p, x, weight, row, column, length);
            for (int64_t z = 0; z < length; ++z) {
                to[(column + z) * p->w.stride] = sums[z];
            }
        }
    }
}

/* The forward. A unit is one image of the result: a map of an item. */
void KERNEL(conv_depthwise)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_conv_args *g = opaque;
    const int64_t maps = g->groups * g->maps, whole = g->kernel[0] * g->kernel[1];
    const int64_t source = g->source[0] * g->source[1], result = g->result[0] * g->result[1];
    for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t item = unit / maps, map = unit % maps, group = map / g->maps;
        const elem *x = (const elem *)g->x + (item * g->groups + group) * source;
        const elem *weight = (const elem *)g->weight + group * g->maps * whole;
        const elem bias = g->bias != NULL ? ((const elem *)g->bias)[map] : ELEM(0);
        adzi_conv_phase p = adzi_conv_phase_first(g);
        do {
            const int64_t taps = p.h.taps * p.w.taps;
            KERNEL(depthwise_phase)
            (g, &p, x, weight + p.weight * g->maps + map % g->maps * taps, bias,
                (elem *)g->y + unit * result);
        } while (adzi_conv_phase_next(g, &p));
    }
}

/* sum += x[0 .. length - 1] y[0 .. length - 1], lane by lane. */
INLINE VEC KERNEL(add_products)(VEC sum, const elem *x, const elem *y, int64_t length)
{
    int64_t z = 0;
    for (; z + VW <= length; z += VW) {
        sum = VFMA(VLOAD(x + z), VLOAD(y + z), sum);
    }
    if (z < length) {
        const int rest = (int)(length - z);
        sum = VFMA(VLOAD_PART(x + z, rest), VLOAD_PART(y + z, rest), sum);
    }
    return sum;
}

/* Adds one piece of a row to the sums of taps tap .. tap + taps - 1, of which each is a vector of
 * partial sums. dy is the piece, `row` and `column` its first position. */
static void KERNEL(weight_span)(VEC *sums, const adzi_conv_args *g, const elem *x, const elem *dy,
    int64_t row, int64_t column, int64_t length, int64_t tap, int64_t taps)
{
    elem gathered[SPAN];
    for (int64_t t = 0; t < taps; ++t) {
        const int64_t i = (tap + t) / g->kernel[1], j = (tap + t) % g->kernel[1];
        const int64_t from = row * g->stride[0] - g->pad[0] + i * g->dilation[0];
        const int64_t first = column * g->stride[1] - g->pad[1] + j * g->dilation[1];
        if (!is_row(from, g->source[0])) {
            continue;
        }
        const inside part = places_inside(first, g->stride[1], length, g->source[1]);
        const elem *places = x + from * g->source[1] + first + part.low * g->stride[1];
        const int64_t count = part.high - part.low;
        if (g->stride[1] != 1) {
            for (int64_t z = 0; z < count; ++z) {
                gathered[z] = places[z * g->stride[1]];
            }
            places = gathered;
        }
        sums[t] = KERNEL(add_products)(sums[t], dy + part.low, places, count);
    }
}

/* The gradient of the weight of one map. A unit is a map; TAPS taps go over all items at a time. */
void KERNEL(conv_depthwise_weight)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_conv_weight_args *args = opaque;
    const adzi_conv_args *g = &args->conv;
    const int64_t maps = g->groups * g->maps, whole = g->kernel[0] * g->kernel[1];
    const int64_t source = g->source[0] * g->source[1], width = g->result[1];
    VEC sums[TAPS];
    for (int64_t unit = begin; unit < end; ++unit) {
        elem *dw = (elem *)args->dw + unit * whole;
        for (int64_t tap = 0; tap < whole; tap += TAPS) {
            const int64_t taps = whole - tap < TAPS ? whole - tap : TAPS;
            memset(sums, 0, sizeof sums);
            for (int64_t at = 0; at < g->items * g->result[0]; ++at) {
                const int64_t item = at / g->result[0], row = at % g->result[0];
                const elem *x = (const elem *)g->x + (item * g->groups + unit / g->maps) * source;
                const elem *dy =
                    (const elem *)g->y + ((item * maps + unit) * g->result[0] + row) * width;
                for (int64_t column = 0; column < width; column += SPAN) {
                    const int64_t length = width - column < SPAN ? width - column : SPAN;
                    KERNEL(weight_span)
                    (sums, g, x, dy + column, row, column, length, tap, taps);
                }
            }
            for (int64_t t = 0; t < taps; ++t) {
                elem total = ELEM(0);
                for (int l = 0; l < VW; ++l) {
                    total += sums[t][l];
                }
                dw[tap + t] = total;
            }
        }
    }
}
#endif
