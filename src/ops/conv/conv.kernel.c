/* Kernels of convolutions; see Note [Two directions, one kernel] in conv.kernel.h.
 *
 *     result[m, q] = bias[m] + sum over k of A[m, k] P[k, q]
 *     dA[m, k]     = sum over q of dresult[m, q] P[k, q]
 *
 * k stands for a channel and a tap, q for a position: an item, a slice, a row and a column of the
 * result. Images have slices, one for each index of the depth.
 * P holds the patches, P[k, q] = the source at the index that tap k of position q reads. It never
 * exists as a whole. A block is 64 positions, and a range is at most 128 values of k. The patches
 * of one range in one block are packed into scratch memory and multiplied there.
 *
 * A unit of a launch is a worker with its own scratch memory, which computes a run of tasks. A
 * task of the forward is a block and some maps of a group. A task of the weight's gradient is a
 * range of k, some maps, and a part of the blocks. The parts are added in order afterwards. Ranges,
 * parts and tasks depend on the shapes only, so the bits do not depend on the number of workers. */
#ifndef elem
#define A_STEP(f) 1
#define THIS_FILE "ops/conv/conv.kernel.c"
#include "ops/conv/conv_patches.kernel.h"

#define F64_AT_ALL_LEVELS
#include "tensor/kernel/each_float.h"
#else
#include "tensor/kernel/vector.h"
#include "tensor/gemm/gemm_tiles.kernel.h"
#include "tensor/kernel/transpose.kernel.h"
#include "ops/conv/conv_steps.kernel.h"

/* ---- patches --------------------------------------------------------------------------------- */

/* The lanes low .. high - 1 of a vector in memory, and 0 in the others, whose memory is not read.
 */
#if defined(__AVX512F__) && ELEM_IS_F32
#define LANES(low, high)  ((__mmask16)((1u << (high)) - (1u << (low))))
#define VLOAD_LANES(p, m) _mm512_maskz_loadu_ps(m, p)
#elif defined(__AVX512F__)
#define LANES(low, high)  ((__mmask8)((1u << (high)) - (1u << (low))))
#define VLOAD_LANES(p, m) _mm512_maskz_loadu_pd(m, p)
#elif defined(__AVX2__)
#define LANES(low, high) _mm256_andnot_si256(KERNEL(lanes)((int)(low)), KERNEL(lanes)((int)(high)))
#if ELEM_IS_F32
#define VLOAD_LANES(p, m) _mm256_maskload_ps(p, m)
#else
#define VLOAD_LANES(p, m) _mm256_maskload_pd(p, m)
#endif
#else
typedef struct KERNEL(range_of_lanes) {
    int64_t low, high;
} KERNEL(range_of_lanes);

INLINE VEC KERNEL(vload_lanes)(const elem *p, KERNEL(range_of_lanes) m)
{
    VEC v = { 0 };
    for (int64_t i = m.low; i < m.high; ++i) {
        v[i] = p[i];
    }
    return v;
}
#define LANES(low, high)  ((KERNEL(range_of_lanes)){ low, high })
#define VLOAD_LANES(p, m) KERNEL(vload_lanes)(p, m)
#endif

/* The packed rows of the taps of one column of the kernel, of which each line of the kernel has
 * one, and the indices that they read. */
typedef struct KERNEL(column) {
    elem *to;           /* the run's place in the row of the first channel and the first tap */
    const elem *from;   /* the source image of the first channel */
    int64_t tap, taps;  /* the first tap of this column in the range, and the taps of the range */
    int64_t wide, line; /* from one tap of the column to the next, and the line of the first one */
    int64_t image, channels;
    int64_t first; /* the index along a line that the first position reads */
    inside part;   /* the positions whose index exists */
} KERNEL(column);

/* Copies the indices of a run, which are neighbours in the source. Lanes outside the part become 0.
 * A vector may write beyond the run, where the next run is written later. */
INLINE void KERNEL(copy_column)(const KERNEL(column) * k, const lines *all, const run *r)
{
    const int64_t apart = k->taps * BLOCK;
    for (int64_t v = 0; v < r->length; v += VW) {
        const int64_t low = k->part.low < v ? 0 : k->part.low - v < VW ? k->part.low - v : VW;
        const int64_t high = k->part.high < v ? 0 : k->part.high - v < VW ? k->part.high - v : VW;
        const __typeof__(LANES(low, high)) lanes = LANES(low, high < low ? low : high);
        const int64_t room = BLOCK - r->at - v;
        for (int64_t t = k->tap, line = k->line; t < k->taps; t += k->wide, ++line) {
            const int64_t at = all->at[line];
            const __typeof__(lanes) used = at < 0 ? LANES(0, 0) : lanes;
            elem *vector = k->to + t * BLOCK + v;
            const elem *from = k->from + (at < 0 ? 0 : at + k->first + v);
            if (room >= VW) {
                for (int64_t c = 0; c < k->channels; ++c, vector += apart, from += k->image) {
                    VSTORE(vector, VLOAD_LANES(from, used));
                }
            } else {
                for (int64_t c = 0; c < k->channels; ++c, vector += apart, from += k->image) {
                    VSTORE_PART(vector, VLOAD_LANES(from, used), (int)room);
                }
            }
        }
    }
}
#undef LANES
#undef VLOAD_LANES

/* copy_column for indices that are `step` elements apart in the source, whose rows have `width`. */
INLINE void KERNEL(gather_column)(
    const KERNEL(column) * k, const lines *all, const run *r, int64_t width, int64_t step)
{
    for (int64_t t = k->tap, line = k->line; t < k->taps; t += k->wide, ++line) {
        const int64_t at = all->at[line];
        const inside part = at < 0 ? (inside){ 0, 0 } : k->part;
        const elem *from = k->from + (at < 0 ? 0 : at);
        elem *to = k->to + t * BLOCK;
        for (int64_t c = 0; c < k->channels; ++c, to += k->taps * BLOCK, from += k->image) {
            for (int64_t z = 0; z < part.low; ++z) {
                to[z] = ELEM(0);
            }
            KERNEL(copy_part)(to, from, width, k->first, &part, step);
            for (int64_t z = part.high; z < r->length; ++z) {
                to[z] = ELEM(0);
            }
        }
    }
}

/* Packs the patches of a range: to[row][position], a row of BLOCK elements per channel and tap.
 * Columns up to a multiple of the vector become 0. */
static void KERNEL(pack_patches)(elem *to, const adzi_conv_args *g, const adzi_conv_phase *p,
    const runs *at, int64_t group, const adzi_conv_range *range)
{
    const int64_t padded = (at->count + VW - 1) / VW * VW, skipped = range->tap % p->w.taps;
    KERNEL(column)
    k = { .taps = range->taps,
        .wide = p->w.taps,
        .image = adzi_conv_volume(g->source),
        .channels = range->channels };
    for (const run *r = at->run; r < at->run + at->n; ++r) {
        lines all;
        find_lines(&all, g, p, r, range);
        k.to = to + r->at;
        k.from = (const elem *)g->x + channel_of(g, r->item, group, range->channel);
        for (int64_t j = 0; j < p->w.taps; ++j) {
            k.line = j < skipped;
            k.tap = j - skipped + (j < skipped ? p->w.taps : 0);
            k.first = first_index(&p->w, r->column) + j * p->w.offset_step;
            k.part = indices_inside(k.first, p->w.step, r->length, g->source[2]);
            if (p->w.step == 1) {
                KERNEL(copy_column)(&k, &all, r);
            } else {
                KERNEL(gather_column)(&k, &all, r, g->source[2], p->w.step);
            }
        }
    }
    for (int64_t row = 0; row < range->channels * range->taps && at->count < padded; ++row) {
        memset(to + row * BLOCK + at->count, 0, (size_t)(padded - at->count) * sizeof(elem));
    }
}

/* ---- forward --------------------------------------------------------------------------------- */

/* Scratch memory of a worker in the forward. */
typedef struct KERNEL(room) {
    elem *patches; /* [DEPTH, BLOCK] */
    elem *sums;    /* [MAPS, BLOCK] */
} KERNEL(room);

/* Adds the bias to sums[maps, BLOCK] and writes them to the result, from map `map` on. */
static void KERNEL(put_block)(const adzi_conv_args *g, const adzi_conv_phase *p, const runs *at,
    const elem *sums, int64_t map, int64_t maps, int64_t group)
{
    const elem *bias = g->bias;
    const int64_t image = adzi_conv_volume(g->result);
    for (const run *r = at->run; r < at->run + at->n; ++r) {
        const int64_t slice = p->d.start + r->slice * p->d.stride;
        const int64_t row = p->h.start + r->row * p->h.stride;
        const int64_t first = p->w.start + r->column * p->w.stride, stride = p->w.stride;
        elem *y = (elem *)g->y + ((r->item * g->groups + group) * g->maps + map) * image +
                  (slice * g->result[1] + row) * g->result[2] + first;
        for (int64_t m = 0; m < maps; ++m) {
            const elem b = bias != NULL ? bias[group * g->maps + map + m] : ELEM(0);
            const elem *restrict from = sums + m * BLOCK + r->at;
            elem *restrict to = y + m * image;
            if (stride == 1) {
                for (int64_t z = 0; z < r->length; ++z) {
                    to[z] = from[z] + b;
                }
            } else {
                for (int64_t z = 0; z < r->length; ++z) {
                    to[z * stride] = from[z] + b;
                }
            }
        }
    }
}

/* Returns true if `height` rows of `width` elements, which lie `apart`, are finite. */
static bool KERNEL(all_finite)(const elem *x, int64_t apart, int64_t height, int64_t width)
{
    VEC sum = { 0 };
    for (int64_t i = 0; i < height; ++i, x += apart) {
        for (int64_t j = 0; j < width; j += VW) {
            const int rest = width - j < VW ? (int)(width - j) : VW;
            const VEC v = KERNEL(load)(x + j, rest == VW, rest);
            sum += v - v; /* 0, or NaN */
        }
    }
    elem total = ELEM(0);
    for (int l = 0; l < VW; ++l) {
        total += sum[l];
    }
    return total == ELEM(0);
}

/* Sums over all channels and the taps that read an element of the source, for neighbour z of a run.
 * `a` is the weight of one map, x the source of a group. */
static elem KERNEL(sum_inside)(const adzi_conv_args *g, const adzi_conv_phase *p, const elem *a,
    const elem *x, const run *r, int64_t z)
{
    const int64_t slice = first_index(&p->d, r->slice), row = first_index(&p->h, r->row);
    const int64_t column = first_index(&p->w, r->column + z);
    elem sum = ELEM(0);
    for (int64_t c = 0; c < g->channels; ++c, x += adzi_conv_volume(g->source)) {
        for (int64_t t = 0; t < p->taps; ++t, ++a) {
            const int64_t line = t / p->w.taps;
            const int64_t above = slice + line / p->h.taps * p->d.offset_step;
            const int64_t from = row + line % p->h.taps * p->h.offset_step;
            const int64_t at = column + t % p->w.taps * p->w.offset_step;
            if (is_row(above, g->source[0]) && is_row(from, g->source[1]) &&
                is_row(at, g->source[2])) {
                sum += *a * x[(above * g->source[1] + from) * g->source[2] + at];
            }
        }
    }
    return sum;
}

/* Slow path of a transposed convolution: computes the sums of a block again that are NaN and whose
 * taps lie outside the source in part. The patches hold zeros there, and the product of 0 with an
 * infinite weight is NaN, although the weight does not belong to the result. */
static __attribute__((noinline)) void KERNEL(mend_border)(const adzi_conv_args *g, elem *sums,
    const adzi_conv_phase *p, const runs *at, const elem *a, int64_t maps, int64_t group)
{
    const int64_t depth = g->channels * p->taps;
    for (const run *r = at->run; r < at->run + at->n; ++r) {
        const elem *x = (const elem *)g->x + channel_of(g, r->item, group, 0);
        for (int64_t z = 0; z < r->length; ++z) {
            const bool inside_all = run_inside(g, p, r, z, 1);
            for (int64_t m = 0; m < maps && !inside_all; ++m) {
                elem *sum = &sums[m * BLOCK + r->at + z];
                if (*sum != *sum) {
                    *sum = KERNEL(sum_inside)(g, p, a + m * depth, x, r, z);
                }
            }
        }
    }
}

/* A task of the forward: one block of a phase, maps map .. map + maps - 1 of a group. Sums over k
 * are added up range after range. Ranges of a large kernel that lie outside the source are passed
 * over; a convolution multiplies their weights by the zeros of the padding if that gives NaN. A
 * phase without taps has the bias alone. */
static void KERNEL(forward_block)(const adzi_conv_args *g, const KERNEL(room) * room,
    const adzi_conv_phase *p, int64_t block, int64_t group, int64_t map, int64_t maps)
{
    runs at;
    const int64_t begin = block * BLOCK, left = p->positions - begin;
    find_runs(&at, p, begin, left < BLOCK ? left : BLOCK);
    const int64_t taps = p->taps, depth = g->channels * taps;
    const int64_t ranges = adzi_conv_ranges(g->channels, taps);
    const int64_t whole = adzi_conv_volume(g->kernel);
    const elem *a =
        (const elem *)g->weight + (group * whole + p->weight) * g->maps * g->channels + map * depth;
    const int64_t padded = (at.count + VW - 1) / VW * VW;
    bool started = false;
    for (int64_t i = 0; i < ranges; ++i) {
        const adzi_conv_range range = adzi_conv_range_at(g->channels, taps, i);
        const elem *part = a + range.channel * taps + range.tap;
        const int64_t rows = range.channels * range.taps;
        if (!reads_source(g, p, &at, &range) &&
            (g->transposed || KERNEL(all_finite)(part, depth, maps, rows))) {
            continue;
        }
        KERNEL(pack_patches)(room->patches, g, p, &at, group, &range);
        MULTIPLY({ part, depth, 1 }, { room->patches, BLOCK }, { room->sums, BLOCK },
            { maps, padded, rows }, started);
        started = true;
    }
    if (!started) {
        memset(room->sums, 0, (size_t)(maps * BLOCK) * sizeof(elem));
    } else if (g->transposed && meets_border(g, p, &at) &&
               !KERNEL(all_finite)(room->sums, BLOCK, maps, at.count)) {
        KERNEL(mend_border)(g, room->sums, p, &at, a, maps, group);
    }
    KERNEL(put_block)(g, p, &at, room->sums, map, maps, group);
}

/* Tasks task .. end - 1, all of one group and chunk of maps: blocks first .. first + end - task - 1
 * of all phases. */
static void KERNEL(forward_run)(
    const adzi_conv_args *g, const KERNEL(room) * room, int64_t chunk, int64_t first, int64_t count)
{
    const int64_t group = chunk / g->chunks, part = chunk % g->chunks;
    const int64_t map = g->maps * part / g->chunks, end = g->maps * (part + 1) / g->chunks;
    adzi_conv_phase p = adzi_conv_phase_first(g);
    do {
        int64_t from = first > p.block ? first - p.block : 0;
        int64_t to = first + count - p.block < p.blocks ? first + count - p.block : p.blocks;
        for (; from < to; ++from) {
            KERNEL(forward_block)(g, room, &p, from, group, map, end - map);
        }
    } while (adzi_conv_phase_next(g, &p) && p.block < first + count);
}

/* The forward. A unit is a worker, which computes a run of tasks. Task t is block t % blocks of
 * chunk t / blocks. */
void KERNEL(conv)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_conv_args *g = opaque;
    for (int64_t worker = begin; worker < end; ++worker) {
        KERNEL(room) room = { .patches = (elem *)(void *)(g->scratch + worker * g->scratch_size) };
        room.sums = room.patches + ADZI_CONV_DEPTH * BLOCK;
        int64_t task = g->tasks * worker / g->workers;
        const int64_t last = g->tasks * (worker + 1) / g->workers;
        while (task < last) {
            const int64_t left = g->blocks - task % g->blocks;
            const int64_t count = left < last - task ? left : last - task;
            KERNEL(forward_run)(g, &room, task / g->blocks, task % g->blocks, count);
            task += count;
        }
    }
}

/* ---- gradient of the weight ------------------------------------------------------------------ */

/* Scratch memory of a worker. */
typedef struct KERNEL(weight_room) {
    elem *patches; /* [DEPTH, BLOCK] */
    elem *dy;      /* [BLOCK, MAPS]: the gradient of a block, transposed */
    elem *sums;    /* [DEPTH, MAPS] */
} KERNEL(weight_room);

/* Packs dy of a block transposed: to[position, map]. Runs of one image are neighbours in dy. */
static void KERNEL(pack_gradient)(elem *to, int64_t ld, const adzi_conv_args *g, const runs *at,
    int64_t map, int64_t maps, int64_t group)
{
    const int64_t image = adzi_conv_volume(g->result);
    for (int64_t i = 0; i < at->n;) {
        const run *r = &at->run[i];
        int64_t length = r->length;
        for (++i; i < at->n && at->run[i].item == r->item; ++i) {
            length += at->run[i].length;
        }
        const elem *from = (const elem *)g->y +
                           ((r->item * g->groups + group) * g->maps + map) * image +
                           (r->slice * g->result[1] + r->row) * g->result[2] + r->column;
        KERNEL(transpose)(to + r->at * ld, ld, from, image, length, maps);
    }
}

/* One part of the gradient of a range of k and a chunk of maps, over blocks first .. last - 1. The
 * maps of dy are padded to whole vectors, whose products are not stored. */
static void KERNEL(weight_task)(const adzi_conv_weight_args *args, const KERNEL(weight_room) * room,
    int64_t chunk, int64_t range_at, int64_t part)
{
    const adzi_conv_args *g = &args->conv;
    const adzi_conv_phase p = adzi_conv_phase_first(g);
    const int64_t group = chunk / g->chunks, which = chunk % g->chunks;
    const int64_t map = g->maps * which / g->chunks;
    const int64_t maps = g->maps * (which + 1) / g->chunks - map, ld = (maps + VW - 1) / VW * VW;
    const int64_t taps = adzi_conv_volume(g->kernel), depth = g->channels * taps;
    const adzi_conv_range range = adzi_conv_range_at(g->channels, taps, range_at);
    const int64_t rows = range.channels * range.taps;
    memset(room->dy, 0, (size_t)(BLOCK * ld) * sizeof(elem));
    memset(room->sums, 0, (size_t)(rows * ld) * sizeof(elem));
    const int64_t last = p.blocks * (part + 1) / args->parts;
    for (int64_t block = p.blocks * part / args->parts; block < last; ++block) {
        runs at;
        const int64_t begin = block * BLOCK, left = p.positions - begin;
        find_runs(&at, &p, begin, left < BLOCK ? left : BLOCK);
        KERNEL(pack_gradient)(room->dy, ld, g, &at, map, maps, group);
        if (!reads_source(g, &p, &at, &range) && KERNEL(all_finite)(room->dy, ld, at.count, maps)) {
            continue; /* zeros of the padding times finite numbers */
        }
        KERNEL(pack_patches)(room->patches, g, &p, &at, group, &range);
        MULTIPLY({ room->patches, BLOCK, 1 }, { room->dy, ld }, { room->sums, ld },
            { rows, ld, at.count }, true);
    }
    elem *dw = (elem *)args->dw + ((part * g->groups + group) * g->maps + map) * depth +
               range.channel * taps + range.tap;
    KERNEL(transpose)(dw, depth, room->sums, ld, maps, rows);
}

/* The gradient of the weight. Task t is part t % parts of range t / parts % depth_chunks of chunk
 * t / parts / depth_chunks. */
void KERNEL(conv_weight)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_conv_weight_args *args = opaque;
    const adzi_conv_args *g = &args->conv;
    for (int64_t worker = begin; worker < end; ++worker) {
        KERNEL(weight_room)
        room = { .patches = (elem *)(void *)(g->scratch + worker * g->scratch_size) };
        room.dy = room.patches + ADZI_CONV_DEPTH * BLOCK;
        room.sums = room.dy + ADZI_CONV_MAPS * BLOCK;
        const int64_t last = g->tasks * (worker + 1) / g->workers;
        for (int64_t task = g->tasks * worker / g->workers; task < last; ++task) {
            const int64_t rest = task / args->parts;
            KERNEL(weight_task)
            (args, &room, rest / args->depth_chunks, rest % args->depth_chunks, task % args->parts);
        }
    }
}

/* The sum of the partial sums, in order. A unit is an element. */
void KERNEL(conv_sum)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_conv_sum_args *g = opaque;
    const elem *restrict parts = g->parts;
    elem *restrict out = g->out;
    for (int64_t i = begin; i < end; ++i) {
        out[i] = parts[i];
    }
    for (int64_t p = 1; p < g->count; ++p) {
        const elem *restrict part = parts + p * g->n;
        for (int64_t i = begin; i < end; ++i) {
            out[i] += part[i];
        }
    }
}

/* ---- weights of transposed convolutions ------------------------------------------------------ */

/* Packs weight[groups * channels, maps, taps] as one matrix [maps, channels * taps] per group and
 * phase, with the taps of the phase alone. A unit is a map. */
void KERNEL(conv_pack)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_conv_pack_args *args = opaque;
    const adzi_conv_args *g = &args->conv;
    const int64_t whole = adzi_conv_volume(g->kernel);
    adzi_conv_phase p = adzi_conv_phase_first(g);
    do {
        const int64_t taps = p.taps;
        for (int64_t unit = begin; unit < end && taps > 0; ++unit) {
            const int64_t group = unit / g->maps, m = unit % g->maps;
            const elem *from =
                (const elem *)args->from + (group * g->channels * g->maps + m) * whole;
            elem *row = (elem *)args->to + (group * whole + p.weight) * g->maps * g->channels +
                        m * taps * g->channels;
            for (int64_t c = 0; c < g->channels; ++c, from += g->maps * whole) {
                for (int64_t t = 0; t < taps; ++t) {
                    const int64_t line = t / p.w.taps;
                    const int64_t k = p.d.first + line / p.h.taps * p.d.apart;
                    const int64_t i = p.h.first + line % p.h.taps * p.h.apart;
                    const int64_t j = p.w.first + t % p.w.taps * p.w.apart;
                    *row++ = from[(k * g->kernel[1] + i) * g->kernel[2] + j];
                }
            }
        }
    } while (adzi_conv_phase_next(g, &p));
}
#endif
