/* Packing for the steps of recurrent layers; see Note [Products of one step] in recurrent_layer.h.
 * A unit of recurrent_pack is 64 bytes of columns (16 in f32, 8 in f64). */
#ifndef elem
#include "ops/recurrent/recurrent_groups.h"

#define THIS_FILE "ops/recurrent/recurrent_layer.kernel.c"
#include "tensor/kernel/each_float.h"
#else
#include "ops/recurrent/recurrent_columns.h"
#include "tensor/kernel/transpose.kernel.h"

/* Packs `deep` rows of one gate's panel. Row p of the panel holds element (j, p) of the matrix at
 * `from` for each column j, or element (p, j) if `transposed`. Columns beyond the last are 0, so
 * that products run over whole vectors. */
INLINE void KERNEL(pack_rows)(
    elem *restrict to, const elem *from, int64_t n, int64_t deep, int lanes, bool transposed)
{
    if (!transposed && lanes == VW) {
        KERNEL(transpose)(to, VW, from, n, deep, VW);
        return;
    }
    for (int64_t p = 0; p < deep; ++p, to += VW) {
        if (transposed) {
            const elem *row = from + p * n;
            VSTORE(to, lanes == VW ? VLOAD(row) : VLOAD_PART(row, lanes));
            continue;
        }
        for (int j = 0; j < VW; ++j) {
            to[j] = j < lanes ? from[j * n + p] : ELEM(0);
        }
    }
}

/* Packs panels of VW columns. Within a panel, each block of DEPTH rows holds the gates one after
 * another, in the order in which a step reads them. A step then reads a panel block by block
 * in the order of memory. The panels of the forward hold W^T, those of the backward W. */
void KERNEL(recurrent_pack)(const void *block, int64_t begin, int64_t end);
void KERNEL(recurrent_pack)(const void *block, int64_t begin, int64_t end)
{
    const adzi_recurrent_pack_args *a = block;
    const int64_t n = a->hidden, columns = KERNEL(unit_columns);
    for (int64_t j0 = begin * columns; j0 < end * columns && j0 < n; j0 += VW) {
        elem *to = (elem *)a->to + j0 * a->gates * n;
        int lanes = KERNEL(lanes_from)(n, j0);
        for (int64_t p = 0, deep; p < n; p += deep) {
            deep = KERNEL(deep_from)(n, p);
            for (int gate = 0; gate < a->gates; ++gate, to += deep * VW) {
                const elem *from = (const elem *)a->from + gate * n * n;
                from += a->transposed ? p * n + j0 : j0 * n + p;
                KERNEL(pack_rows)(to, from, n, deep, lanes, a->transposed);
            }
        }
    }
}

/* Packs batch rows in groups. A group of w rows begins at row r0. Element p of its row r goes to
 * to[r0 * width + p * w + r]. A product then reads the w numbers of one p from neighbouring
 * addresses. It runs once per sequence, for h0, in a launch of one unit. */
void KERNEL(recurrent_pack_rows)(const void *block, int64_t begin, int64_t end);
void KERNEL(recurrent_pack_rows)(const void *block, int64_t begin, int64_t end)
{
    const adzi_recurrent_pack_rows_args *a = block;
    for (int64_t r0 = 0, w; begin < end && r0 < a->rows; r0 += w) {
        w = group_width(a->rows - r0);
        const elem *from = (const elem *)a->from + r0 * a->width;
        elem *restrict to = (elem *)a->to + r0 * a->width;
        for (int64_t p = 0; p < a->width; ++p) {
            for (int64_t r = 0; r < w; ++r) {
                to[p * w + r] = from[r * a->width + p];
            }
        }
    }
}

/* Copies the row that each sequence has at its last step. The launch has one unit per row. */
void KERNEL(recurrent_at_ends)(const void *block, int64_t begin, int64_t end);
void KERNEL(recurrent_at_ends)(const void *block, int64_t begin, int64_t end)
{
    const adzi_recurrent_ends_args *a = block;
    for (int64_t row = begin; row < end; ++row) {
        const int64_t t = a->lengths != NULL ? a->lengths[row] - 1 : a->steps - 1;
        memcpy((elem *)a->to + row * a->width,
            (const elem *)a->from + (t * a->rows + row) * a->width,
            (size_t)a->width * sizeof(elem));
    }
}

#endif
