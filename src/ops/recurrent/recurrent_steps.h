/* The kernels of one step of a recurrent layer. Included once per element type, inside
 * each_float.h, after recurrent_tiles.h and two functions of the cell. Define CARRIES before: 1 if
 * the gradient of the state before a step has a part that is no product, else 0.
 *
 * KERNEL(cell) computes one batch row: `gates`, c and h. KERNEL(cell_back) computes d, dc and carry
 * from `gates`, before, c, dh and dc. Both get VW columns, padding included, so that loops have a
 * constant length. Only the columns within the hidden state are stored. If SAVED is GATES + 1, the
 * last block of d is the derivative by the product of h, and the one before it by that of x. */

/* The cell of one batch row. What is saved replaces the part of x in a->gates; without saved gates
 * that is a->h itself. */
INLINE void KERNEL(row_forward)(const adzi_recurrent_step_args *a, int64_t row, int64_t j0,
    int lanes, elem (*sums)[MOST_ROWS][VW], int r, elem *h)
{
    const int64_t n = a->hidden, at = row * n + j0;
    elem *gates = (elem *)a->gates + row * SAVED * n + j0;
    CELL_VALUES v;
    v.relu = a->relu;
    for (int gate = 0; gate < GATES; ++gate) {
        KERNEL(take)(v.gates[gate], gates + gate * n, lanes);
        VSTORE(v.product[gate], VLOAD(sums[gate][r]));
        if (a->bias != NULL) {
            KERNEL(take)(v.bias[gate], (const elem *)a->bias + gate * n + j0, lanes);
        } else {
            memset(v.bias[gate], 0, sizeof v.bias[gate]);
        }
    }
    if (STATES == 2 || CARRIES) { /* an RNN reads h_(t-1) by the product alone */
        KERNEL(take)(v.before, (const elem *)state_before(a, row) + at, lanes);
    }
    KERNEL(cell)(&v);
    for (int gate = 0; gate < SAVED && a->gates != a->h; ++gate) {
        KERNEL(give)(gates + gate * n, v.gates[gate], lanes);
    }
    if (STATES == 2) {
        KERNEL(give)((elem *)a->c + at, v.c, lanes);
    }
    KERNEL(give)((elem *)a->h + at, v.h, lanes);
    for (int j = 0; j < VW; ++j) {
        h[j] = v.h[j];
    }
}

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
                    KERNEL(row_forward)(a, r0 + r, j0, lanes, sums, (int)r, h[r]);
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

/* The backward of a row's cell. The dgates by the product of h go to `d`, for packing. */
INLINE void KERNEL(present_back)(const adzi_recurrent_step_args *a, int64_t row, int64_t j0,
    int lanes, KERNEL(cell_values) * v, elem (*d)[MOST_ROWS][VW], int r)
{
    const int64_t n = a->hidden, at = row * n + j0, first = row * SAVED * n + j0;
    elem dy[VW];
    if (a->dy != NULL) {
        KERNEL(take)(dy, (const elem *)a->dy + at, lanes);
        for (int j = 0; j < VW; ++j) {
            v->dh[j] += dy[j];
        }
    }
    for (int gate = 0; gate < SAVED; ++gate) {
        KERNEL(take)(v->gates[gate], (const elem *)a->gates + first + gate * n, lanes);
    }
    if (STATES == 2 || CARRIES) {
        KERNEL(take)(v->before, (const elem *)state_before(a, row) + at, lanes);
    }
    if (STATES == 2) {
        KERNEL(take)(v->c, (const elem *)a->c + at, lanes);
        KERNEL(take)(v->dc, (const elem *)a->dc + at, lanes);
    }
    KERNEL(cell_back)(v);
    for (int gate = 0; gate < SAVED; ++gate) {
        KERNEL(give)((elem *)a->dgates + first + gate * n, v->d[gate], lanes);
    }
    for (int gate = 0; gate < GATES; ++gate) {
        const elem *of_h = v->d[gate < GATES - 1 ? gate : SAVED - 1];
        for (int j = 0; j < VW; ++j) {
            d[gate][r][j] = of_h[j];
        }
    }
    if (STATES == 2) {
        KERNEL(give)((elem *)a->dc + at, v->dc, lanes);
    }
}

/* The backward of one row of a step: dh, the cell or nothing, and what is carried on. With dgates
 * NULL only dh of the initial state is computed. The sums of a row are read before its dgates are
 * written over them. */
INLINE void KERNEL(row_back)(const adzi_recurrent_step_args *a, int64_t row, int64_t j0, int lanes,
    elem (*sums)[MOST_ROWS][VW], int r)
{
    CELL_VALUES v;
    v.relu = a->relu;
    memset(v.carry, 0, sizeof v.carry);
    elem *kept = (elem *)a->dh + row * a->hidden + j0;
    KERNEL(state_gradient)(a, row, j0, lanes, sums, r, v.dh);
    if (a->dgates == NULL) {
        KERNEL(give)(kept, v.dh, lanes);
        return;
    }
    if (is_skipped(a, row)) {
        KERNEL(skip_back)(a, row, j0, lanes, v.dh, sums, r, v.carry);
    } else {
        KERNEL(present_back)(a, row, j0, lanes, &v, sums, r);
    }
    if (CARRIES || a->lengths != NULL) {
        KERNEL(give)(kept, v.carry, lanes);
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
