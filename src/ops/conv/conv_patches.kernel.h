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
    int64_t item, slice, row, column; /* the first position, within its phase */
    int64_t at, length;               /* columns of the block */
} run;

/* The positions of a block as runs. */
typedef struct runs {
    int64_t n, count; /* runs and positions */
    run run[BLOCK];
} runs;

/* The runs of positions begin .. begin + count - 1 of a phase, at most BLOCK. */
static inline void find_runs(runs *found, const adzi_conv_phase *p, int64_t begin, int64_t count)
{
    const int64_t plane = p->h.count * p->w.count, image = p->d.count * plane;
    int64_t item = begin / image, slice = begin % image / plane;
    int64_t row = begin % plane / p->w.count, column = begin % p->w.count;
    found->n = 0;
    found->count = count;
    for (int64_t at = 0; at < count;) {
        const int64_t left = p->w.count - column, most = count - at;
        const int64_t length = left < most ? left : most;
        found->run[found->n++] = (run){ item, slice, row, column, at, length };
        at += length;
        column = 0;
        if (++row == p->h.count) {
            row = 0;
            if (++slice == p->d.count) {
                slice = 0;
                ++item;
            }
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

/* The index that the first tap of position `at` reads. */
static inline int64_t first_index(const adzi_conv_axis *axis, int64_t at)
{
    return at * axis->step + axis->offset;
}

/* Returns true if some of the indices first .. last, in any order, exist in 0 .. size - 1. */
static inline bool meets(int64_t first, int64_t last, int64_t size)
{
    return first < last ? first < size && last >= 0 : last < size && first >= 0;
}

/* Where the lines of a range's taps begin in a channel of the source, in elements, for a run. A
 * line is a row of one slice of the kernel. -1: the source has no such row. */
typedef struct lines {
    int64_t at[ADZI_CONV_DEPTH];
} lines;

static inline void find_lines(lines *found, const adzi_conv_args *g, const adzi_conv_phase *p,
    const run *r, const adzi_conv_range *range)
{
    const int64_t line = range->tap / p->w.taps;
    const int64_t count = (range->tap + range->taps - 1) / p->w.taps - line + 1;
    int64_t i = line % p->h.taps;
    int64_t slice = first_index(&p->d, r->slice) + line / p->h.taps * p->d.offset_step;
    int64_t row = first_index(&p->h, r->row) + i * p->h.offset_step;
    for (int64_t l = 0; l < count; ++l) {
        const bool exists = is_row(slice, g->source[0]) && is_row(row, g->source[1]);
        found->at[l] = exists ? (slice * g->source[1] + row) * g->source[2] : -1;
        row += p->h.offset_step;
        if (++i == p->h.taps) {
            i = 0;
            row = first_index(&p->h, r->row);
            slice += p->d.offset_step;
        }
    }
}

/* Returns false if no tap of a range reads an element of the source at a block. True may be too
 * careful. Only ranges of large kernels are examined, because others always read something. */
static inline bool reads_source(
    const adzi_conv_args *g, const adzi_conv_phase *p, const runs *at, const adzi_conv_range *range)
{
    const int64_t high = p->h.taps, wide = p->w.taps, last = range->tap + range->taps - 1;
    if (range->taps == p->taps) {
        return true;
    }
    const int64_t front = range->tap / (high * wide), back = last / (high * wide);
    const int64_t top = front == back ? range->tap / wide % high : 0;
    const int64_t bottom = front == back ? last / wide % high : high - 1;
    const bool one_row = front == back && top == bottom;
    const int64_t a = (one_row ? range->tap % wide : 0) * p->w.offset_step;
    const int64_t b = (one_row ? last % wide : wide - 1) * p->w.offset_step;
    for (const run *r = at->run; r < at->run + at->n; ++r) {
        const int64_t slice = first_index(&p->d, r->slice), row = first_index(&p->h, r->row);
        const int64_t from = first_index(&p->w, r->column);
        const int64_t to = from + (r->length - 1) * p->w.step;
        if (meets(
                slice + front * p->d.offset_step, slice + back * p->d.offset_step, g->source[0]) &&
            meets(row + top * p->h.offset_step, row + bottom * p->h.offset_step, g->source[1]) &&
            meets(from + (a < b ? a : b), to + (a < b ? b : a), g->source[2])) {
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

/* Returns true if all taps of neighbours first .. first + count - 1 of a run lie in the source. */
static inline bool run_inside(
    const adzi_conv_args *g, const adzi_conv_phase *p, const run *r, int64_t first, int64_t count)
{
    const int64_t slice = first_index(&p->d, r->slice), row = first_index(&p->h, r->row);
    const int64_t column = first_index(&p->w, r->column + first);
    return all_inside(&p->d, slice, slice, g->source[0]) &&
           all_inside(&p->h, row, row, g->source[1]) &&
           all_inside(&p->w, column, column + (count - 1) * p->w.step, g->source[2]);
}

/* Returns true if some tap of a block lies outside the source. */
static inline bool meets_border(const adzi_conv_args *g, const adzi_conv_phase *p, const runs *at)
{
    for (const run *r = at->run; r < at->run + at->n; ++r) {
        if (!run_inside(g, p, r, 0, r->length)) {
            return true;
        }
    }
    return false;
}

/* Where the image of channel c of a group begins in an item, in elements. */
static inline int64_t channel_of(const adzi_conv_args *g, int64_t item, int64_t group, int64_t c)
{
    return ((item * g->groups + group) * g->channels + c) * adzi_conv_volume(g->source);
}

#endif
