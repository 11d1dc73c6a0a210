/* Blocks of positions of a result as runs, and the indices of a source image that a run reads. */
#ifndef ADZI_OPS_CONV_CONV_PATCHES_KERNEL_H
#define ADZI_OPS_CONV_CONV_PATCHES_KERNEL_H

#include <math.h>
#include <string.h>

#include "ops/conv/conv.kernel.h"
#include "tensor/kernel/registers.h"
#ifdef ADZI_X86
#include <immintrin.h>
#endif

enum { BLOCK = ADZI_CONV_BLOCK };

/* Neighbouring positions of a block in one row of one image. */
typedef struct run {
    int64_t item, row, column; /* the first position, within its phase */
    int64_t at, length;        /* columns of the block */
} run;

/* The positions of a block as runs. */
typedef struct runs {
    int64_t n, count; /* runs and positions */
    run run[BLOCK];
} runs;

/* The runs of positions begin .. begin + count - 1 of a phase, at most BLOCK. */
static inline void find_runs(runs *found, const adzi_conv_phase *p, int64_t begin, int64_t count)
{
    const int64_t image = p->h.count * p->w.count;
    int64_t item = begin / image, row = begin % image / p->w.count, column = begin % p->w.count;
    found->n = 0;
    found->count = count;
    for (int64_t at = 0; at < count;) {
        const int64_t left = p->w.count - column, most = count - at;
        const int64_t length = left < most ? left : most;
        found->run[found->n++] = (run){ item, row, column, at, length };
        at += length;
        column = 0;
        if (++row == p->h.count) {
            row = 0;
            ++item;
        }
    }
}

/* The part low .. high - 1 of a run whose indices first + z step lie in 0 .. size - 1. */
typedef struct inside {
    int64_t low, high;
} inside;

static inline inside indices_inside(int64_t first, int64_t step, int64_t length, int64_t size)
{
    int64_t low = 0, high = length;
    if (first < 0) {
        low = step == 1 ? -first : (-first + step - 1) / step;
        low = low < length ? low : length;
    }
    if (first >= size) {
        high = low;
    } else if (step == 1 ? size - first < high : (size - 1 - first) / step + 1 < high) {
        high = step == 1 ? size - first : (size - 1 - first) / step + 1;
    }
    return (inside){ low, high < low ? low : high };
}

/* Returns true if index `row` exists in an image of so many rows. */
static inline bool is_row(int64_t row, int64_t rows)
{
    return row >= 0 && row < rows;
}

/* Returns true if some of the indices first .. last, in any order, exist in 0 .. size - 1. */
static inline bool meets(int64_t first, int64_t last, int64_t size)
{
    return first < last ? first < size && last >= 0 : last < size && first >= 0;
}

/* Returns false if no tap of a range reads an element of the source at a block. True may be too
 * careful. Only ranges of large kernels are examined, because others always read something. */
static inline bool reads_source(
    const adzi_conv_args *g, const adzi_conv_phase *p, const runs *at, const adzi_conv_range *range)
{
    const int64_t wide = p->w.taps, last = range->tap + range->taps - 1;
    if (range->taps == p->h.taps * wide) {
        return true;
    }
    const int64_t top = range->tap / wide, bottom = last / wide;
    const int64_t left = top == bottom ? range->tap % wide : 0;
    const int64_t right = top == bottom ? last % wide : wide - 1;
    for (const run *r = at->run; r < at->run + at->n; ++r) {
        const int64_t row = r->row * p->h.step + p->h.offset;
        const int64_t from = r->column * p->w.step + p->w.offset;
        const int64_t to = from + (r->length - 1) * p->w.step;
        const int64_t a = left * p->w.offset_step, b = right * p->w.offset_step;
        if (meets(row + top * p->h.offset_step, row + bottom * p->h.offset_step, g->source[0]) &&
            meets(from + (a < b ? a : b), to + (a < b ? b : a), g->source[1])) {
            return true;
        }
    }
    return false;
}

/* Returns true if all taps of the positions whose first taps read indices first .. last lie in 0 ..
 * size - 1. */
static inline bool all_inside(const adzi_conv_axis *axis, int64_t first, int64_t last, int64_t size)
{
    const int64_t reach = (axis->taps - 1) * axis->offset_step;
    return is_row(first + (reach < 0 ? reach : 0), size) &&
           is_row(last + (reach < 0 ? 0 : reach), size);
}

/* Returns true if some tap of a block lies outside the source. */
static inline bool meets_border(const adzi_conv_args *g, const adzi_conv_phase *p, const runs *at)
{
    for (const run *r = at->run; r < at->run + at->n; ++r) {
        const int64_t row = r->row * p->h.step + p->h.offset;
        const int64_t column = r->column * p->w.step + p->w.offset;
        if (!all_inside(&p->h, row, row, g->source[0]) ||
            !all_inside(&p->w, column, column + (r->length - 1) * p->w.step, g->source[1])) {
            return true;
        }
    }
    return false;
}

/* Where the image of channel c of a group begins in an item, in elements. */
static inline int64_t channel_of(const adzi_conv_args *g, int64_t item, int64_t group, int64_t c)
{
    return ((item * g->groups + group) * g->channels + c) * g->source[0] * g->source[1];
}

#endif
