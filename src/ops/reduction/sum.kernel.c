/* Kernels of sum and mean.
 *
 *     y = scale sum_i x_i,   scale = 1 for a sum and 1/n for a mean
 *
 * A unit of `sum` is one result, or one block of a long one (Note [Few results of many elements] in
 * reduce.h). A unit of sum_join is one result, whose blocks it adds. A unit of sum_rows is a
 * column. There are three ways of walking x:
 *
 *     by_row      contiguous rows of at most one block
 *     by_column   contiguous results: up to 64 are summed together, row by row, so that memory is
 *                 read in order and 4 registers of f64 sums stay in registers
 *     by_result   every other layout: one result after the other, at any stride
 *
 * f32 is summed in f64. Within a block of 512 elements, contiguous rows use eight lanes, which
 * break the chain of dependent additions (Note [Eight lanes] in wide.kernel.h); columns use one sum
 * each. Blocks are added in order. The order thus depends on shape and layout, never on the number
 * of threads or on the width of a register.
 *
 * The walk over columns is that of reduce.kernel.h. The walk by chunks there is not: its chunks run
 * on across outer dimensions and gather strided elements, while a sum begins anew at each outer
 * index and reads strided elements in place. The chunks would change the bits of sums.
 */
#ifndef elem
#include <float.h>
#include <math.h>
#include "tensor/kernel/wide.kernel.h"

#define THIS_FILE "ops/reduction/sum.kernel.c"
#include "ops/reduction/sum.h"
#include "tensor/kernel/each_type.h"
#else

#include "ops/reduction/reduce.kernel.h"
#include "tensor/kernel/running.kernel.h"

#undef OF_DOUBLES
#define OF_DOUBLES (ELEM_IS_FLOAT && !ELEM_IS_F32)

enum {
    KERNEL(lanes) = 8,                 /* independent sums of a row */
    KERNEL(block) = ADZI_SUM_ROWS_MOST /* elements of one sum before sums are added */
};

/* The sum of at most one block of elements at a stride: element i is added to lane i % 8.
 * Contiguous floats take the vector registers. The loops below give the order of additions that
 * Note [Eight lanes] describes. A strided run of floats thus has the bits of a contiguous one. */
static inline RUNNING KERNEL(run_of_block)(const elem *x, int64_t n, int64_t stride)
{
#if ELEM_IS_FLOAT
    if (stride == 1) {
        return EIGHT(sum)(x, n, 0);
    }
#endif
    RUNNING lane[KERNEL(lanes)] = { 0 };
    int64_t i = 0;
    /* The stride is a constant 1 in this loop, so that the compiler vectorises it. */
    if (stride == 1) { /* integers */
        for (; i + KERNEL(lanes) <= n; i += KERNEL(lanes)) {
            for (int j = 0; j < KERNEL(lanes); ++j) {
                lane[j] += (RUNNING)x[i + j];
            }
        }
    }
    for (; i + KERNEL(lanes) <= n; i += KERNEL(lanes)) {
        for (int j = 0; j < KERNEL(lanes); ++j) {
            lane[j] += (RUNNING)x[(i + j) * stride];
        }
    }
    /* Fewer than 8 elements are left. Element i still goes to lane i % 8. */
    for (int j = 0; i < n; ++i, ++j) {
        lane[j] += (RUNNING)x[i * stride];
    }
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/* The sum of n elements at a stride, block after block. The order depends on n alone. An element
 * goes through about n / 512 + 67 additions: 64 in its lane, 3 that join the lanes, one per block.
 * Their number bounds the rounding error, which n additions in a row would make larger. */
static inline RUNNING KERNEL(run)(const elem *x, int64_t n, int64_t stride)
{
    RUNNING total = 0;
    for (int64_t start = 0; start < n; start += KERNEL(block)) {
        int64_t length = n - start < KERNEL(block) ? n - start : KERNEL(block);
        total += KERNEL(run_of_block)(x + start * stride, length, stride);
    }
    return total;
}

#if OF_DOUBLES
/* Slow path of a mean of doubles whose sum is not finite: the sum of all x_i / n of result r. It is
 * finite where the mean fits. The elements are added in the order of the reduced dimensions.
 * PyTorch's mean is infinite there. */
static __attribute__((noinline)) double KERNEL(sum_of_parts)(const adzi_reduce_args *a, int64_t r)
{
    const elem *x = (const elem *)(const void *)a->in + KERNEL(result_offset)(a, r);
    int64_t index[ADZ_MAX_RANK] = { 0 }, offset = 0;
    double total = 0;
    do {
        total += x[offset] * a->scale;
    } while (KERNEL(next)(a, a->n_reduced, index, &offset));
    return total;
}

/* Computes those of n means from r on again that are not finite. The search has no branch in its
 * loop, so it vectorises. */
static inline void KERNEL(mend_means)(const adzi_reduce_args *a, int64_t r, int64_t n)
{
    elem *out = (elem *)(void *)a->out + r;
    int any = 0;
    for (int64_t j = 0; j < n; ++j) {
        any |= !(fabs(out[j]) <= DBL_MAX);
    }
    for (int64_t j = 0; j < n && any && a->scale < 1; ++j) {
        out[j] = isfinite(out[j]) ? out[j] : KERNEL(sum_of_parts)(a, r + j);
    }
}
#endif

/* Writes result r, or partial sum r if the results are cut into blocks. A result is multiplied by
 * the scale in f64 and rounded once. A partial sum stays in the type RUNNING and is not scaled:
 * sum_join scales the total. */
static inline void KERNEL(finish)(const adzi_reduce_args *a, int64_t r, RUNNING sum)
{
    if (a->partial != NULL) {
        ((RUNNING *)(void *)a->partial)[r] = sum;
        return;
    }
#if OF_DOUBLES
    if (!isfinite(sum) && a->scale < 1) {
        sum = KERNEL(sum_of_parts)(a, r);
    } else {
        sum *= adzi_reduce_scale(a);
    }
#elif ELEM_IS_FLOAT
    sum *= adzi_reduce_scale(a);
#endif
    ((OUT *)(void *)a->out)[r] = (OUT)sum;
}

/* Slow path for any layout: one result after the other. The innermost reduced dimension is summed
 * as a run, and the runs are added in the order of the outer reduced dimensions. It also computes
 * sums of all elements, empty sums, and copies where no dimension is reduced. */
static void KERNEL(by_result)(const adzi_reduce_args *a, int64_t begin, int64_t end)
{
    int inner = a->n_reduced - 1;
    for (int64_t r = begin; r < end; ++r) {
        const elem *x = (const elem *)(const void *)a->in + KERNEL(result_offset)(a, r);
        RUNNING total = 0;
        if (a->n > 0) {
            int64_t index[ADZ_MAX_RANK] = { 0 }, offset = 0;
            /* Without a reduced dimension a result is the sum of its single element. */
            int64_t length = inner >= 0 ? a->reduced[inner] : 1;
            int64_t stride = inner >= 0 ? a->reduced_strides[inner] : 1;
            do {
                total += KERNEL(run)(x + offset, length, stride);
            } while (KERNEL(next)(a, inner, index, &offset));
        }
        KERNEL(finish)(a, r, total);
    }
}

#if ELEM_IS_FLOAT
/* Fast path for a matrix x[N, D] that is summed over D, with D at most 512: one call of the eight
 * lanes per row. It gives the bits of by_result and skips the setup of general layouts, which short
 * rows would feel. Rows may lie apart, at the stride of the kept dimension. */
static void KERNEL(by_row)(const adzi_reduce_args *a, int64_t begin, int64_t end)
{
    const int64_t n = a->n, stride = a->kept_strides[0];
    const elem *x = (const elem *)(const void *)a->in + begin * stride;
    elem *out = (elem *)(void *)a->out;
    const double scale = adzi_reduce_scale(a);
    for (int64_t r = begin; r < end; ++r, x += stride) {
        out[r] = (elem)(EIGHT(sum)(x, n, 0) * scale);
    }
#if OF_DOUBLES
    KERNEL(mend_means)(a, begin, end - begin);
#endif
}

#if ELEM_IS_F32
#define WIDEN      WIDEN_f32
#define WIDEN_PART WIDEN_PART_f32
#else
#define WIDEN      WIDEN_f64
#define WIDEN_PART WIDEN_PART_f64
#endif
/* sums[j] = the sum of column j over `rows` rows, for as many columns as four registers hold. The
 * four sums stay in registers over all rows, so a row costs loads and additions and no store. Four
 * registers also keep four independent additions in flight. A column has one sum whatever the width
 * of a register, so its bits do not depend on the instruction set. */
static void KERNEL(four_vectors)(double *sums, const elem *x, int64_t rows, int64_t stride)
{
    wide s0 = { 0 }, s1 = { 0 }, s2 = { 0 }, s3 = { 0 };
    for (int64_t i = 0; i < rows; ++i, x += stride) {
        s0 += WIDEN(x);
        s1 += WIDEN(x + LANES);
        s2 += WIDEN(x + 2 * LANES);
        s3 += WIDEN(x + 3 * LANES);
    }
    wide s[4] = { s0, s1, s2, s3 };
    memcpy(sums, s, sizeof s);
}

#ifdef WIDEN_PART_f32
/* sums[j] = the sum of column j over `rows` rows, for n columns in `vectors` registers, of which
 * the last may be partial. `vectors` is 1 to 4 and constant in each caller, so the branches in the
 * loop are resolved by the compiler. A masked load reads the columns of the last register, so
 * nothing after the row is touched. Unused lanes of that register write 0 to `sums`, which has room
 * for it. */
static inline __attribute__((always_inline)) void KERNEL(some_vectors)(
    double *sums, const elem *x, int64_t n, int64_t rows, int64_t stride, const int vectors)
{
    wide s0 = { 0 }, s1 = { 0 }, s2 = { 0 }, last = { 0 };
    const int before = (vectors - 1) * LANES;
    const some_lanes lanes = LANES_BELOW((int)n - before);
    for (int64_t i = 0; i < rows; ++i, x += stride) {
        if (vectors > 1) {
            s0 += WIDEN(x);
        }
        if (vectors > 2) {
            s1 += WIDEN(x + LANES);
        }
        if (vectors > 3) {
            s2 += WIDEN(x + 2 * LANES);
        }
        last += WIDEN_PART(lanes, x + before);
    }
    wide s[3] = { s0, s1, s2 };
    memcpy(sums, s, (size_t)before * sizeof *sums);
    memcpy(sums + before, &last, sizeof last);
}
#endif
#endif

/* sums[j] = the sum of column j over `rows` rows, for n columns. Each column is summed in the order
 * of its rows. `sums` has room for a whole last register. Strips of four registers walk all rows
 * first. The columns after them take one strip with a partial register, or plain loops where the
 * instruction set has no masked loads. Integers take the plain loops for all columns. */
static inline void KERNEL(add_rows)(
    RUNNING *sums, const elem *x, int64_t n, int64_t rows, int64_t stride)
{
#if ELEM_IS_FLOAT
    for (; n >= FOUR_VECTORS; n -= FOUR_VECTORS, x += FOUR_VECTORS, sums += FOUR_VECTORS) {
        KERNEL(four_vectors)(sums, x, rows, stride);
    }
#endif
    if (n == 0) {
        return;
    }
#if ELEM_IS_FLOAT && defined(WIDEN_PART_f32)
    /* Four copies of some_vectors, one for each number of registers. */
    if (n > 3 * LANES) {
        KERNEL(some_vectors)(sums, x, n, rows, stride, 4);
    } else if (n > 2 * LANES) {
        KERNEL(some_vectors)(sums, x, n, rows, stride, 3);
    } else if (n > LANES) {
        KERNEL(some_vectors)(sums, x, n, rows, stride, 2);
    } else {
        KERNEL(some_vectors)(sums, x, n, rows, stride, 1);
    }
#else
    /* The inner loop runs over columns, which are contiguous and independent, so it vectorises. */
    for (int64_t j = 0; j < n; ++j) {
        sums[j] = 0;
    }
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            sums[j] += (RUNNING)x[i * stride + j];
        }
    }
#endif
}
#undef WIDEN
#undef WIDEN_PART

/* Writes n contiguous results from r on, or their partial sums. It is the function `finish` for a
 * run of columns: the scale is read once. */
static inline void KERNEL(finish_row)(
    const adzi_reduce_args *a, int64_t r, const RUNNING *sums, int64_t n)
{
    if (a->partial != NULL) {
        memcpy((RUNNING *)(void *)a->partial + r, sums, (size_t)n * sizeof *sums);
        return;
    }
    OUT *out = (OUT *)(void *)a->out + r;
#if ELEM_IS_FLOAT
    const double scale = adzi_reduce_scale(a);
    for (int64_t j = 0; j < n; ++j) {
        out[j] = (OUT)(sums[j] * scale);
    }
#if OF_DOUBLES
    KERNEL(mend_means)(a, r, n);
#endif
#else
    for (int64_t j = 0; j < n; ++j) {
        out[j] = (OUT)sums[j];
    }
#endif
}

/* Adds the sums of rows of w columns to their totals. */
INLINE void KERNEL(add_block)(
    void *state, const elem *x, int64_t w, int64_t rows, int64_t stride, bool first)
{
    RUNNING *restrict total = state, part[KERNEL(most_columns)];
    KERNEL(add_rows)(first ? total : part, x, w, rows, stride);
    for (int64_t j = 0; j < w && !first; ++j) {
        total[j] += part[j];
    }
}

/* Fast path for contiguous results, such as x[N, D] summed over N. Up to 64 columns are summed
 * together, in blocks of 512 rows of the innermost reduced dimension. The sums of the blocks are
 * added in order. A group of 64 columns reads 256 consecutive bytes of each row in f32. Its totals
 * and the sums of the running block take 512 bytes each on the stack. A group ends where the
 * innermost kept dimension or the part of the launch ends. Other groups change no bit, because each
 * column keeps its order of additions. */
static void KERNEL(by_column)(const adzi_reduce_args *a, int64_t begin, int64_t end)
{
    for (int64_t w; begin < end; begin += w) {
        RUNNING total[KERNEL(most_columns)];
        w = KERNEL(tile_width)(a, begin, end, KERNEL(most_columns));
        KERNEL(walk_columns)(a, begin, w, KERNEL(add_block), total);
        KERNEL(finish_row)(a, begin, total, w);
    }
}

/* Chooses the walk by the layout alone. It is by columns if the last kept dimension is contiguous,
 * by rows if every result is one short contiguous row, else result by result. The choice does not
 * depend on begin and end, so the parts of a launch agree on the order of additions. */
void KERNEL(sum)(const void *block, int64_t begin, int64_t end);
void KERNEL(sum)(const void *block, int64_t begin, int64_t end)
{
    const adzi_reduce_args *a = block;
    if (a->n > 0 && a->n_kept > 0 && a->n_reduced > 0 && a->kept_strides[a->n_kept - 1] == 1) {
        KERNEL(by_column)(a, begin, end);
#if ELEM_IS_FLOAT
    } else if (KERNEL(has_rows)(a) && a->n <= KERNEL(block)) {
        KERNEL(by_row)(a, begin, end);
#endif
    } else {
        KERNEL(by_result)(a, begin, end);
    }
}

#if ELEM_IS_FLOAT
/* The sums over the rows of one matrix x[n, h] of at most 512 rows, such as the gradient of a bias.
 * A unit is a column. It gives the bits of the kernel `sum` without the setup of general layouts. A
 * single column (h = 1) is contiguous, so the kernel `sum` would take the eight lanes for it. This
 * kernel does it too, and every wider matrix is summed column by column. */
void KERNEL(sum_rows)(const void *block, int64_t begin, int64_t end);
void KERNEL(sum_rows)(const void *block, int64_t begin, int64_t end)
{
    const adzi_sum_rows_args *a = block;
    const elem *x = (const elem *)(const void *)a->in;
    elem *out = (elem *)(void *)a->out;
    if (a->h == 1) {
        out[0] = (elem)EIGHT(sum)(x, a->n, 0);
        return;
    }
    if (a->n == 1) { /* a sum begins with 0, which makes 0 of -0 */
        for (int64_t j = begin; j < end; ++j) {
            out[j] = x[j] + 0;
        }
        return;
    }
    while (begin < end) {
        const int64_t n = end - begin < KERNEL(most_columns) ? end - begin : KERNEL(most_columns);
        double sums[KERNEL(most_columns)];
        KERNEL(add_rows)(sums, x + begin, n, a->n, a->h);
        for (int64_t j = 0; j < n; ++j) {
            out[begin + j] = (elem)sums[j];
        }
        begin += n;
    }
}
#endif

/* Adds the partial sums of each result, block after block. A unit is one result. The partial sums
 * are an array [blocks, results], because blocks are the first kept dimension of the launch that
 * wrote them. `finish` sees a copy of the arguments without `partial`, so it scales the total and
 * writes the result. */
void KERNEL(sum_join)(const void *block, int64_t begin, int64_t end);
void KERNEL(sum_join)(const void *block, int64_t begin, int64_t end)
{
    adzi_reduce_args a = *(const adzi_reduce_args *)block;
    const RUNNING *partial = (const RUNNING *)(const void *)a.partial;
    int64_t results = 1;
    for (int d = 0; d < a.n_kept; ++d) {
        results *= a.kept[d];
    }
    a.partial = NULL;
    for (int64_t r = begin; r < end; ++r) {
        RUNNING total = 0;
        for (int64_t b = 0; b < a.blocks; ++b) {
            total += partial[b * results + r];
        }
        KERNEL(finish)(&a, r, total);
    }
}

#endif
