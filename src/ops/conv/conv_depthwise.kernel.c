/* Convolutions of groups with one channel and few maps each, as in a depthwise convolution.
 *
 *     result[m, q] = bias[m] + sum over t of w[m, t] source[index(q, t)]
 *     dw[m, t]     = sum over q of dresult[m, q] source[index(q, t)]
 *
 * A product of matrices would have a single row. A band of the source is copied into a frame of
 * zeros, and a vector of the result is summed in a register, without a look at borders. A row of
 * the frame has its columns sorted by their remainder modulo the stride, so that neighbours of the
 * result read neighbours of the frame. Bands that do not fit into a frame are computed in pieces of
 * SPAN elements of a row, one tap after the other. See Note [Two directions, one kernel] in
 * conv.kernel.h for phases and indices. */
#ifndef elem
#define THIS_FILE "ops/conv/conv_depthwise.kernel.c"
#include "ops/conv/conv_patches.kernel.h"

enum {
    SPAN = 512,   /* elements of a row that are computed at a time */
    TAPS = 64,    /* taps at a time */
    FRAME = 8192, /* elements of a band of the source with zeros around it: 32 kB in f32 */
    STEPS = 8     /* the largest stride of a frame */
};

#define F64_AT_ALL_LEVELS
#include "tensor/kernel/each_float.h"
#else
#include "tensor/kernel/vector.h"
#include "ops/conv/conv_steps.kernel.h"

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
    elem gathered[ADZI_REGISTER_BYTES / sizeof(elem)];
    for (; z < length; z += VW) {
        const int rest = length - z < VW ? (int)(length - z) : VW;
        for (int l = 0; l < VW; ++l) {
            gathered[l] = l < rest ? x[(z + l) * step] : ELEM(0);
        }
        VSTORE_PART(y + z, VFMA(f, VLOAD(gathered), VLOAD_PART(y + z, rest)), rest);
    }
}

/* Adds the products of a weight with the zeros of the padding to sums[0 .. length - 1], except for
 * those of `part`. They are 0, or NaN for a weight that is not finite. A transposed convolution has
 * no padding that is multiplied. */
static void KERNEL(add_padding)(elem *sums, elem weight, inside part, int64_t length)
{
    const elem product = weight * ELEM(0);
    if (product != ELEM(0)) {
        for (int64_t z = 0; z < length; ++z) {
            sums[z] += z < part.low || z >= part.high ? product : ELEM(0);
        }
    }
}

/* One piece of a row of the result: the taps of the phase, added to the bias in sums[0 .. length -
 * 1]. `row` and `column` are the first position; x is the source image. */
static void KERNEL(span)(elem *sums, const adzi_conv_args *g, const adzi_conv_phase *p,
    const elem *x, const elem *weight, int64_t row, int64_t column, int64_t length)
{
    for (int64_t i = 0; i < p->h.taps; ++i) {
        const int64_t from = row * p->h.step + p->h.offset + i * p->h.offset_step;
        const inside none = { 0, 0 };
        const bool exists = is_row(from, g->source[1]);
        if (!exists && g->transposed) {
            continue;
        }
        for (int64_t j = 0; j < p->w.taps; ++j) {
            const elem w = weight[i * p->w.taps + j];
            const int64_t first = column * p->w.step + p->w.offset + j * p->w.offset_step;
            const inside part =
                exists ? indices_inside(first, p->w.step, length, g->source[2]) : none;
            if (!g->transposed) {
                KERNEL(add_padding)(sums, w, part, length);
            }
            if (part.low < part.high) {
                KERNEL(add_scaled)
                (sums + part.low, w, x + from * g->source[2] + first + part.low * p->w.step,
                    p->w.step, part.high - part.low);
            }
        }
    }
}

/* How a phase reads a frame: element c of part k of row r is element (top + r, left + c step + k)
 * of the source, or 0 outside it. Tap t of the position at frame element f reads f + at[t]. */
typedef struct KERNEL(frame) {
    int64_t top, left;
    int64_t step, part; /* the parts of a row, and the elements of a part */
    int64_t width;      /* step * part */
    int64_t rows; /* of the result, that a frame is enough for; 0: the phase cannot be framed */
    int64_t at[TAPS];
} KERNEL(frame);

static KERNEL(frame) KERNEL(frame_of)(const adzi_conv_phase *p)
{
    KERNEL(frame) f = { .rows = 0 };
    const int64_t high = p->h.taps - 1, wide = p->w.taps - 1;
    if (p->w.step > STEPS || p->h.taps * p->w.taps > TAPS || high < 0 || wide < 0) {
        return f;
    }
    const int64_t down = high * p->h.offset_step, right = wide * p->w.offset_step;
    const int64_t above = down < 0 ? down : 0, before = right < 0 ? right : 0;
    f.top = p->h.offset + above;
    f.left = p->w.offset + before;
    f.step = p->w.step;
    f.part = p->w.count + (right < 0 ? -right : right) / f.step + (int64_t)(64 / sizeof(elem));
    f.width = f.step * f.part;
    const int64_t spare = FRAME / f.width - (down < 0 ? -down : down) - 1;
    f.rows = spare < 0 ? 0 : spare / p->h.step + 1;
    for (int64_t t = 0; t < p->h.taps * p->w.taps; ++t) {
        const int64_t column = t % p->w.taps * p->w.offset_step - before;
        f.at[t] = (t / p->w.taps * p->h.offset_step - above) * f.width + column % f.step * f.part +
                  column / f.step;
    }
    return f;
}

/* Copies the rows of the source that rows row .. row + count - 1 of the result read. */
static void KERNEL(fill_frame)(elem *to, const KERNEL(frame) * f, const adzi_conv_args *g,
    const adzi_conv_phase *p, const elem *x, int64_t row, int64_t count)
{
    const int64_t reach = (p->h.taps - 1) * p->h.offset_step;
    const int64_t rows = (count - 1) * p->h.step + (reach < 0 ? -reach : reach) + 1;
    for (int64_t r = 0; r < rows; ++r) {
        const int64_t from = row * p->h.step + f->top + r;
        memset(to, 0, (size_t)f->width * sizeof(elem));
        for (int64_t k = 0; k < f->step; ++k, to += f->part) {
            const inside in = indices_inside(f->left + k, f->step, f->part, g->source[2]);
            if (is_row(from, g->source[1]) && in.low < in.high) {
                KERNEL(copy_part)
                (to, x + from * g->source[2], g->source[2], f->left + k, &in, f->step);
            }
        }
    }
}

/* Writes `rest` elements that are `stride` apart. */
INLINE void KERNEL(put)(elem *to, VEC v, int64_t stride, int rest)
{
    if (stride == 1) {
        KERNEL(store)(to, v, rest == VW, rest);
        return;
    }
    elem lanes[ADZI_REGISTER_BYTES / sizeof(elem)];
    VSTORE(lanes, v);
    for (int l = 0; l < rest; ++l) {
        to[l * stride] = lanes[l];
    }
}

/* `high` rows of the result and `wide` vectors of each, from a frame. `count` elements of a row are
 * left. At least four sums, where there are as many, hide the latency of the multiply-adds. */
INLINE void KERNEL(framed_tile)(const adzi_conv_phase *p, const KERNEL(frame) * f, const elem *from,
    const elem *weight, elem bias, elem *to, int64_t below, int64_t count, const int high,
    const int wide)
{
    const int64_t taps = p->h.taps * p->w.taps, down = p->h.step * f->width;
    const VEC first = VSPLAT(bias);
    VEC sums[4][4];
    ADZI_UNROLLED_FOR(int r = 0; r < 4; ++r)
    {
        sums[r][0] = sums[r][1] = sums[r][2] = sums[r][3] = first;
    }
    for (int64_t t = 0; t < taps; ++t) {
        const VEC w = VSPLAT(weight[t]);
        const elem *index = from + f->at[t];
        ADZI_UNROLLED_FOR(int r = 0; r < high; ++r)
        {
            ADZI_UNROLLED_FOR(int v = 0; v < wide; ++v)
            {
                sums[r][v] = VFMA(w, VLOAD(index + r * down + v * VW), sums[r][v]);
            }
        }
    }
    ADZI_UNROLLED_FOR(int r = 0; r < high; ++r)
    {
        ADZI_UNROLLED_FOR(int v = 0; v < wide; ++v)
        {
            const int64_t rest = count - v * VW;
            KERNEL(put)
            (to + r * below + v * VW * p->w.stride, sums[r][v], p->w.stride,
                rest < VW ? (int)rest : VW);
        }
    }
}

/* `high` rows of the result, one to four, from a frame. */
INLINE void KERNEL(framed_rows)(const adzi_conv_args *g, const adzi_conv_phase *p,
    const KERNEL(frame) * f, const elem *from, const elem *weight, elem bias, elem *to,
    const int high)
{
    const int64_t below = p->h.stride * g->result[2], count = p->w.count, step = p->w.stride;
    int64_t z = 0;
#define TILES(wide)                                                                  \
    for (; z + ((wide)-1) * VW < count; z += (wide)*VW) {                            \
        KERNEL(framed_tile)                                                          \
        (p, f, from + z, weight, bias, to + z * step, below, count - z, high, wide); \
    }
    if (high == 1) {
        TILES(4)
    }
    if (high < 4) {
        TILES(2)
    }
    TILES(1)
#undef TILES
}

/* All positions of one phase in one image of the result, band by band. */
static void KERNEL(framed_phase)(const adzi_conv_args *g, const adzi_conv_phase *p,
    const KERNEL(frame) * f, const elem *x, const elem *weight, elem bias, elem *y)
{
    elem frame[FRAME];
    for (int64_t row = 0; row < p->h.count; row += f->rows) {
        const int64_t left = p->h.count - row, count = left < f->rows ? left : f->rows;
        KERNEL(fill_frame)(frame, f, g, p, x, row, count);
        for (int64_t r = 0; r < count; r += 4) {
            const elem *from = frame + r * p->h.step * f->width;
            elem *to = y + (p->h.start + (row + r) * p->h.stride) * g->result[2] + p->w.start;
            if (count - r >= 4) {
                KERNEL(framed_rows)(g, p, f, from, weight, bias, to, 4);
            } else if (count - r == 3) {
                KERNEL(framed_rows)(g, p, f, from, weight, bias, to, 3);
            } else if (count - r == 2) {
                KERNEL(framed_rows)(g, p, f, from, weight, bias, to, 2);
            } else {
                KERNEL(framed_rows)(g, p, f, from, weight, bias, to, 1);
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
        elem *to = y + (p->h.start + row * p->h.stride) * g->result[2] + p->w.start;
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

static bool KERNEL(all_finite)(const elem *x, int64_t n)
{
    int others = 0;
    for (int64_t i = 0; i < n; ++i) {
        others |= x[i] - x[i] != ELEM(0); /* 0, or NaN */
    }
    return others == 0;
}

/* One phase of one image of the result, a map of an item. */
static void KERNEL(phase_of_image)(
    const adzi_conv_args *g, const adzi_conv_phase *p, const KERNEL(frame) * f, int64_t unit)
{
    const int64_t maps = g->groups * g->maps, whole = g->kernel[1] * g->kernel[2];
    const int64_t source = g->source[1] * g->source[2], result = g->result[1] * g->result[2];
    const int64_t item = unit / maps, map = unit % maps, group = map / g->maps;
    const int64_t taps = p->h.taps * p->w.taps;
    const elem *x = (const elem *)g->x + (item * g->groups + group) * source;
    const elem *w = (const elem *)g->weight + group * g->maps * whole + p->weight * g->maps +
                    map % g->maps * taps;
    const elem bias = g->bias != NULL ? ((const elem *)g->bias)[map] : ELEM(0);
    elem *y = (elem *)g->y + unit * result;
    /* The zeros of a frame would make NaN of infinite weights that do not reach a result. Pieces of
     * rows leave them out, with the same bits. */
    if (f->rows > 0 && (!g->transposed || KERNEL(all_finite)(w, taps))) {
        KERNEL(framed_phase)(g, p, f, x, w, bias, y);
    } else {
        KERNEL(depthwise_phase)(g, p, x, w, bias, y);
    }
}

/* The forward. A unit is one image of the result. A convolution has one phase, whose frame is the
 * same for all images. */
void KERNEL(conv_depthwise)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_conv_args *g = opaque;
    const adzi_conv_phase first = adzi_conv_phase_first(g);
    const KERNEL(frame) frame = KERNEL(frame_of)(&first);
    for (int64_t unit = begin; unit < end; ++unit) {
        if (!g->transposed) {
            KERNEL(phase_of_image)(g, &first, &frame, unit);
            continue;
        }
        adzi_conv_phase p = first;
        do {
            const KERNEL(frame) f = KERNEL(frame_of)(&p);
            KERNEL(phase_of_image)(g, &p, &f, unit);
        } while (adzi_conv_phase_next(g, &p));
    }
}

/* Adds one piece of a row to the sums of taps tap .. tap + taps - 1, of which each is a group of
 * partial sums. dy is the piece, `row` and `column` its first position. */
static void KERNEL(weight_span)(VEC (*sums)[REGS], const adzi_conv_args *g, const elem *x,
    const elem *dy, int64_t row, int64_t column, int64_t length, int64_t tap, int64_t taps)
{
    elem gathered[SPAN];
    const bool finite = KERNEL(all_finite)(dy, length);
    for (int64_t t = 0; t < taps; ++t) {
        const int64_t i = (tap + t) / g->kernel[2], j = (tap + t) % g->kernel[2];
        const int64_t from = row * g->stride[1] - g->pad[1] + i * g->dilation[1];
        const int64_t first = column * g->stride[2] - g->pad[2] + j * g->dilation[2];
        const inside none = { 0, 0 };
        const bool exists = is_row(from, g->source[1]);
        const inside part =
            exists ? indices_inside(first, g->stride[2], length, g->source[2]) : none;
        for (int64_t z = 0; z < length && !finite; ++z) {
            sums[t][0][0] += z < part.low || z >= part.high ? dy[z] * ELEM(0) : ELEM(0);
        }
        if (!exists) {
            continue;
        }
        const elem *indices = x + from * g->source[2] + first + part.low * g->stride[2];
        const int64_t count = part.high - part.low;
        if (g->stride[2] != 1) {
            for (int64_t z = 0; z < count; ++z) {
                gathered[z] = indices[z * g->stride[2]];
            }
            indices = gathered;
        }
        KERNEL(add_products)(sums[t], dy + part.low, indices, count);
    }
}

/* Adds the product of `high` rows of dy, four or one, with what a tap reads in a frame. Lanes
 * behind the end of a row are left out of both, because the frame may hold infinities there. */
INLINE void KERNEL(framed_products)(VEC sum[REGS], const adzi_conv_phase *p,
    const KERNEL(frame) * f, const elem *from_index, const elem *dy, const int high)
{
    const int64_t down = p->h.step * f->width, width = p->w.count;
    VEC a[REGS], b[REGS], c[REGS], d[REGS];
#define CLEAR(q)    a[q] = b[q] = c[q] = d[q] = VSPLAT(ELEM(0));
#define ADD_FOUR(q) sum[q] += (a[q] + b[q]) + (c[q] + d[q]);
#define ADD_ONE(q)  sum[q] += a[q];
    EACH_REG(CLEAR)
    KERNEL(add_products)(a, dy, from_index, width);
    if (high == 4) {
        KERNEL(add_products)(b, dy + width, from_index + down, width);
        KERNEL(add_products)(c, dy + 2 * width, from_index + 2 * down, width);
        KERNEL(add_products)(d, dy + 3 * width, from_index + 3 * down, width);
        EACH_REG(ADD_FOUR)
    } else {
        EACH_REG(ADD_ONE)
    }
#undef CLEAR
#undef ADD_FOUR
#undef ADD_ONE
}

/* Adds one image to the sums of all taps. dy is its gradient, x the source. */
static void KERNEL(framed_weight)(VEC (*sums)[REGS], const adzi_conv_args *g,
    const adzi_conv_phase *p, const KERNEL(frame) * f, const elem *x, const elem *dy)
{
    elem frame[FRAME];
    for (int64_t row = 0; row < p->h.count; row += f->rows) {
        const int64_t left = p->h.count - row, count = left < f->rows ? left : f->rows;
        KERNEL(fill_frame)(frame, f, g, p, x, row, count);
        for (int64_t t = 0; t < p->h.taps * p->w.taps; ++t) {
            for (int64_t r = 0; r < count; r += count - r >= 4 ? 4 : 1) {
                const elem *from_index = frame + r * p->h.step * f->width + f->at[t];
                const elem *from = dy + (row + r) * p->w.count;
                if (count - r >= 4) {
                    KERNEL(framed_products)(sums[t], p, f, from_index, from, 4);
                } else {
                    KERNEL(framed_products)(sums[t], p, f, from_index, from, 1);
                }
            }
        }
    }
}

/* Adds all items to the sums of taps tap .. tap + taps - 1 of one map. */
static void KERNEL(weight_taps)(VEC (*sums)[REGS], const adzi_conv_args *g,
    const adzi_conv_phase *p, const KERNEL(frame) * f, int64_t map, int64_t tap, int64_t taps)
{
    const int64_t maps = g->groups * g->maps, width = g->result[2];
    const int64_t source = g->source[1] * g->source[2], result = g->result[1] * width;
    for (int64_t item = 0; item < g->batch; ++item) {
        const elem *x = (const elem *)g->x + (item * g->groups + map / g->maps) * source;
        const elem *dy = (const elem *)g->y + (item * maps + map) * result;
        if (f->rows > 0) {
            KERNEL(framed_weight)(sums, g, p, f, x, dy);
            continue;
        }
        for (int64_t row = 0; row < g->result[1]; ++row) {
            for (int64_t column = 0; column < width; column += SPAN) {
                const int64_t length = width - column < SPAN ? width - column : SPAN;
                KERNEL(weight_span)
                (sums, g, x, dy + row * width + column, row, column, length, tap, taps);
            }
        }
    }
}

/* The gradient of the weight of one map. A unit is a map; TAPS taps go over all items at a time. */
void KERNEL(conv_depthwise_weight)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_conv_weight_args *args = opaque;
    const adzi_conv_args *g = &args->conv;
    const int64_t whole = g->kernel[1] * g->kernel[2];
    const adzi_conv_phase p = adzi_conv_phase_first(g);
    const KERNEL(frame) f = KERNEL(frame_of)(&p);
    VEC sums[TAPS][REGS];
    for (int64_t unit = begin; unit < end; ++unit) {
        elem *dw = (elem *)args->dw + unit * whole;
        for (int64_t tap = 0; tap < whole; tap += TAPS) {
            const int64_t taps = whole - tap < TAPS ? whole - tap : TAPS;
            memset(sums, 0, sizeof sums);
            KERNEL(weight_taps)(sums, g, &p, &f, unit, tap, taps);
            for (int64_t t = 0; t < taps; ++t) {
                elem total = ELEM(0);
                for (int l = 0; l < GW; ++l) {
                    total += sums[t][l / VW][l % VW];
                }
                dw[tap + t] = total;
            }
        }
    }
}
#endif
