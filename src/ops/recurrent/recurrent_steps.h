/* The kernels of one step of a recurrent layer. Included once per element type, inside
 * each_float.h, after recurrent_tiles.h and two functions of the cell. Define CARRIES before: 1 if
 * the gradient of the state before a step has a part that is no product, else 0.
 *
 * KERNEL(cell) computes one batch row for columns j0 .. j0 + lanes - 1. `sums` is h_(t-1) W^T. It
 * stores what is saved, and h_t in `h` and in a->h.
 *
 * KERNEL(cell_back) gets the whole gradient dh of h_t. It stores dgates, writes the dgates of the
 * product to d for packing, and writes the carried part to `carry` if CARRIES. */

/* Prefetches what the cells of batch rows r0 .. end - 1 will read after their product. So memory is
 * read while the product runs. */
INLINE void KERNEL(fetch_cells)(
    const adzi_recurrent_step_args *a, int64_t r0, int64_t end, int64_t j0, bool back)
{
    const int64_t n = a->hidden;
    for (int64_t row = r0; row < end; ++row) {
        const int64_t at = row * n + j0;
        for (int gate = 0; gate < SAVED; ++gate) {
            FETCH((const elem *)a->gates + (row * SAVED + gate) * n + j0, 0);
        }
        if (a->before != NULL) {
            FETCH((const elem *)a->before + at, 0);
        }
        if (back && a->c != NULL) {
            FETCH((const elem *)a->c + at, 0);
        }
        if (back && a->dy != NULL) {
            FETCH((const elem *)a->dy + at, 0);
        }
    }
}

/* A step that the row does not have: the state stays, and y is 0. */
INLINE void KERNEL(skip)(
    const adzi_recurrent_step_args *a, int64_t r0, int64_t w, int64_t r, int64_t j0, elem *h)
{
    const elem *from = (const elem *)a->from + r0 * a->hidden + j0 * w + r;
    const int lanes = KERNEL(lanes_from)(a->hidden, j0);
    elem *y = (elem *)a->h + (r0 + r) * a->hidden + j0;
    for (int j = 0; j < lanes; ++j) {
        h[j] = from[j * w];
        y[j] = 0;
    }
}

/* One step forward. For each group of rows: prefetch, product, cells, and then h_t in the packed
 * order that the step after reads. `to` is another buffer than `from`, because other units still
 * read h_(t-1). */
INLINE void KERNEL(step_forward)(const adzi_recurrent_step_args *a, int64_t begin, int64_t end)
{
    const int64_t n = a->hidden, columns = KERNEL(unit_columns);
    elem sums[GATES][MOST_ROWS][VW], h[MOST_ROWS][VW];
    for (int64_t j0 = begin * columns; j0 < end * columns && j0 < n; j0 += VW) {
        const elem *panels = (const elem *)a->panels + j0 * GATES * n;
        int lanes = KERNEL(lanes_from)(n, j0);
        for (int64_t r0 = 0, w; r0 < a->rows; r0 += w) {
            w = group_width(a->rows - r0);
            KERNEL(fetch_cells)(a, r0, r0 + w, j0, false);
            KERNEL(products)((const elem *)a->from + r0 * n, 0, panels, n, (int)w, sums);
            for (int64_t r = 0; r < w; ++r) {
                if (is_skipped(a, r0 + r)) {
                    KERNEL(skip)(a, r0, w, r, j0, h[r]);
                } else {
                    KERNEL(cell)(a, r0 + r, j0, lanes, sums, (int)r, h[r]);
                }
            }
            elem *restrict to = (elem *)a->to + r0 * n + j0 * w;
            for (int64_t j = 0; j < lanes; ++j) {
                for (int64_t r = 0; r < w; ++r) {
                    to[j * w + r] = h[r][j];
                }
            }
        }
    }
}

/* The gradient dh of one batch row's state, without the upstream gradient dy of this step: the
 * gates' shares of the product, and what the following step passes back. The last step has no
 * following step, so its dh is the gradient of the layer's last state. */
INLINE void KERNEL(state_gradient)(const adzi_recurrent_step_args *a, int64_t row, int64_t j0,
    int lanes, elem (*sums)[MOST_ROWS][VW], int r, elem *dh)
{
    elem carried[VW];
    const bool carries = CARRIES || a->lengths != NULL;
    if (a->from == NULL) {
        KERNEL(take)(dh, (elem *)a->dh + row * a->hidden + j0, lanes);
        return;
    }
    for (int j = 0; j < VW; ++j) {
#if GATES == 4
        dh[j] = (sums[0][r][j] + sums[1][r][j]) + (sums[2][r][j] + sums[3][r][j]);
#elif GATES == 3
        dh[j] = (sums[0][r][j] + sums[1][r][j]) + sums[2][r][j];
#else
        dh[j] = sums[0][r][j];
#endif
    }
    if (carries) {
        KERNEL(take)(carried, (elem *)a->dh + row * a->hidden + j0, lanes);
        for (int j = 0; j < VW; ++j) {
            dh[j] += carried[j];
        }
    }
}

/* The backward of a step that the row does not have: dh is carried on, and all else is 0. */
INLINE void KERNEL(skip_back)(const adzi_recurrent_step_args *a, int64_t row, int64_t j0, int lanes,
    const elem *dh, elem (*d)[MOST_ROWS][VW], int r, elem *carry)
{
    const elem zeros[VW] = { 0 };
    for (int gate = 0; gate < SAVED; ++gate) {
        KERNEL(give)((elem *)a->dgates + (row * SAVED + gate) * a->hidden + j0, zeros, lanes);
    }
    for (int gate = 0; gate < GATES; ++gate) {
        VSTORE(d[gate][r], VLOAD(zeros));
    }
    VSTORE(carry, VLOAD(dh));
}

/* The backward of one row of a step: dh, the cell or nothing, and what is carried on. With dgates
 * NULL only dh of the initial state is computed. The sums of a row are read before its dgates are
 * written over them. */
INLINE void KERNEL(row_back)(const adzi_recurrent_step_args *a, int64_t row, int64_t j0, int lanes,
    elem (*sums)[MOST_ROWS][VW], int r)
{
    elem dh[VW], dy[VW], carry[VW] = { 0 };
    elem *kept = (elem *)a->dh + row * a->hidden + j0;
    KERNEL(state_gradient)(a, row, j0, lanes, sums, r, dh);
    if (a->dgates == NULL) {
        KERNEL(give)(kept, dh, lanes);
        return;
    }
    if (is_skipped(a, row)) {
        KERNEL(skip_back)(a, row, j0, lanes, dh, sums, r, carry);
    } else {
        if (a->dy != NULL) {
            KERNEL(take)(dy, (const elem *)a->dy + row * a->hidden + j0, lanes);
            for (int j = 0; j < VW; ++j) {
                dh[j] += dy[j];
            }
        }
        KERNEL(cell_back)(a, row, j0, lanes, dh, sums, r, carry);
    }
    if (CARRIES || a->lengths != NULL) {
        KERNEL(give)(kept, carry, lanes);
    }
}

/* One step backward: dh by products with `from`, the dgates of the step after it, then the cells,
 * then packs dgates for the step before. */
INLINE void KERNEL(step_backward)(const adzi_recurrent_step_args *a, int64_t begin, int64_t end)
{
    const int64_t n = a->hidden, columns = KERNEL(unit_columns);
    elem sums[GATES][MOST_ROWS][VW];
    for (int64_t j0 = begin * columns; j0 < end * columns && j0 < n; j0 += VW) {
        const elem *panels = (const elem *)a->panels + j0 * GATES * n;
        int lanes = KERNEL(lanes_from)(n, j0);
        for (int64_t r0 = 0, w; r0 < a->rows; r0 += w) {
            w = group_width(a->rows - r0);
            if (a->dgates != NULL) {
                KERNEL(fetch_cells)(a, r0, r0 + w, j0, true);
            }
            if (a->from != NULL) {
                const elem *from = (const elem *)a->from + r0 * GATES * n;
                KERNEL(products)(from, n * w, panels, n, (int)w, sums);
            }
            for (int64_t r = 0; r < w; ++r) {
                KERNEL(row_back)(a, r0 + r, j0, lanes, sums, (int)r);
            }
            for (int64_t gate = 0; gate < GATES && a->dgates != NULL; ++gate) {
                elem *restrict to = (elem *)a->to + r0 * GATES * n + (gate * n + j0) * w;
                for (int64_t j = 0; j < lanes; ++j) {
                    for (int64_t r = 0; r < w; ++r) {
                        to[j * w + r] = sums[gate][r][j];
                    }
                }
            }
        }
    }
}

/* What the cell's kernel file defines: FORWARD and BACKWARD, the names of its kernels. */
void KERNEL(FORWARD)(const void *block, int64_t begin, int64_t end);
void KERNEL(FORWARD)(const void *block, int64_t begin, int64_t end)
{
    KERNEL(step_forward)(block, begin, end);
}

void KERNEL(BACKWARD)(const void *block, int64_t begin, int64_t end);
void KERNEL(BACKWARD)(const void *block, int64_t begin, int64_t end)
{
    KERNEL(step_backward)(block, begin, end);
}
