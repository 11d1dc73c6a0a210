/* Gradients of a narrow linear layer y[N, H] = x[N, D] w[H, D]^T + b, with D or H at most 4.
 *
 *     z = dy, or dy * factor masked by y > 0
 *     dw[h, d] = sum_n z[n, h] x[n, d],   db[h] = sum_n z[n, h],   dx[n, d] = sum_h z[n, h] w[h, d]
 *
 * One pass over the rows computes all gradients. As separate products and sums, each would read dy
 * and x again, and a general product would mostly fill its tiles with nothing.
 *
 * Narrow inputs: a strip is one vector of outputs. It walks down all rows of dy and keeps its D
 * rows of dw and its db in registers. Narrow outputs: a strip is one vector of inputs. It walks
 * down all rows of x, keeps its H rows of dw in registers, and writes dx on the way.
 *
 * The launch has one unit, because layers of at most 512 rows do not pay for threads. Each gradient
 * has two or four independent sums of every second or fourth row, which are added at the end. The
 * order depends on the shape alone. db of a single output has one sum per lane.
 *
 * Sums run in elem and not in f64, as in a product. With at most 512 rows, a sum of f32 takes at
 * most 257 additions in a row. VFMA rounds once where the instruction set has fused multiply-adds
 * and twice on the baseline, whose bits of dw and dx may therefore differ.
 */
#ifndef elem
#include <stdbool.h>
#include <stddef.h>

#include "ops/linalg/linear.kernel.h"
#include "tensor/kernel/registers.h"
#ifdef ADZI_X86
#include <immintrin.h>
#endif

/* The number of independent sums per gradient. Row r is added to sum r % SUMS, so that an addition
 * does not wait for the one before it. The rows after the last whole group go to sum 0. Four sums
 * of four inputs or outputs would not fit the registers. `count` is the number of inputs or
 * outputs. */
#define SUMS(count) ((count) <= 2 ? 4 : 2)

/* Calls f(..., count, flag) with both as constants, so that loops over them are unrolled. `count`
 * is 1 to ADZI_LINEAR_NARROW. */
#define WITH_CONSTANTS(count, flag, f, ...) \
    do {                                    \
        switch (count) {                    \
            CASE(1, flag, f, __VA_ARGS__)   \
            CASE(2, flag, f, __VA_ARGS__)   \
            CASE(3, flag, f, __VA_ARGS__)   \
            CASE(4, flag, f, __VA_ARGS__)   \
        }                                   \
    } while (0)
#define CASE(count, flag, f, ...)         \
    case count:                           \
        if (flag) {                       \
            f(__VA_ARGS__, count, true);  \
        } else {                          \
            f(__VA_ARGS__, count, false); \
        }                                 \
        break;

#define THIS_FILE "ops/linalg/linear.kernel.c"
#define F64_AT_ALL_LEVELS
#include "tensor/kernel/each_float.h"
#else
#include "tensor/kernel/vector.h"

/* The arguments with their types, copied to a local variable: the compiler knows that what a loop
 * writes does not change them. */
typedef struct KERNEL(narrow) {
    const elem *dy, *y, *x, *w;
    elem *dx, *dw, *db, factor;
    int64_t n, d, h;
} KERNEL(narrow);
#define narrow      KERNEL(narrow)

/* The copy of the arguments. `factor` becomes elem here, once. */
INLINE narrow KERNEL(narrow_of)(const adzi_linear_narrow_args *a)
{
    return (narrow){ .dy = (const elem *)(const void *)a->dy,
        .y = (const elem *)(const void *)a->y,
        .x = (const elem *)(const void *)a->x,
        .w = (const elem *)(const void *)a->w,
        .dx = (elem *)(void *)a->dx,
        .dw = (elem *)(void *)a->dw,
        .db = (elem *)(void *)a->db,
        .factor = ELEM(a->factor),
        .n = a->n,
        .d = a->d,
        .h = a->h };
}

/* One vector of z, that is of dy. With a mask it is 0 where y <= 0, and dy * factor elsewhere. A
 * NaN in y lets dy pass. `gate` and `whole` are constants after inlining, so whole vectors without
 * a mask cost one load. */
INLINE VEC KERNEL(gated)(const narrow *a, int64_t at, const bool gate, const bool whole, int lanes)
{
    VEC v = KERNEL(load)(a->dy + at, whole, lanes);
    if (gate) {
        v = VABOVE0(KERNEL(load)(a->y + at, whole, lanes), VSPLAT(a->factor) * v);
    }
    return v;
}

/* ---- narrow inputs -------------------------------------------------------------------------- */

/* Writes column i of dw[h, d], across one vector of outputs. Its elements lie d apart, so the
 * vector is stored to a buffer and scattered one by one. That happens once per strip, after all
 * rows. With d = 1 the column is contiguous and is stored as a vector. */
INLINE void KERNEL(put_column)(
    elem *dw, VEC sums, const int i, const int d, const bool whole, const int lanes)
{
    if (d == 1) {
        KERNEL(store)(dw, sums, whole, lanes);
        return;
    }
    elem each[VW];
    VSTORE(each, sums);
    for (int l = 0; l < (whole ? VW : lanes); ++l) {
        dw[l * d + i] = each[l];
    }
}

/* The sum of two or four vectors, in one order. It joins the independent sums of a gradient. */
INLINE VEC KERNEL(sum_of)(const VEC *v, const int count)
{
    return count == 4 ? (v[0] + v[1]) + (v[2] + v[3]) : v[0] + v[1];
}

/* dw[h, d] and db across one vector of outputs j .. j + VW - 1, for d inputs. The outer loop walks
 * down the rows, at a distance of h elements in dy. Each row costs one vector of z, and one
 * multiply-add for each input, whose x is copied to all lanes. The sums stay in registers: at most
 * 8 vectors of dw and 4 of db. `lanes` counts the valid outputs of a last vector that is not whole.
 */
INLINE void KERNEL(inputs_strip)(
    const narrow *a, int64_t j, const int d, const bool gate, const bool whole, const int lanes)
{
    /* s[i][g] is sum g of column i of dw, and b[g] is sum g of db. */
    VEC s[ADZI_LINEAR_NARROW][4], b[4];
    for (int g = 0; g < SUMS(d); ++g) {
        b[g] = VSPLAT(ELEM(0));
        for (int i = 0; i < d; ++i) {
            s[i][g] = VSPLAT(ELEM(0));
        }
    }
    const elem *x = a->x;
    const int64_t h = a->h;
    /* Row r belongs to sum r % SUMS, so SUMS rows are independent of each other. */
    int64_t at = j, r = a->n;
    for (; r >= SUMS(d); r -= SUMS(d)) {
        for (int g = 0; g < SUMS(d); ++g, at += h, x += d) {
            VEC z = KERNEL(gated)(a, at, gate, whole, lanes);
            b[g] += z;
            for (int i = 0; i < d; ++i) {
                s[i][g] = VFMA(VSPLAT(x[i]), z, s[i][g]);
            }
        }
    }
    /* Fewer than SUMS rows are left. They go to sum 0, in order. */
    for (; r > 0; --r, at += h, x += d) {
        VEC z = KERNEL(gated)(a, at, gate, whole, lanes);
        b[0] += z;
        for (int i = 0; i < d; ++i) {
            s[i][0] = VFMA(VSPLAT(x[i]), z, s[i][0]);
        }
    }
    for (int i = 0; i < d; ++i) {
        KERNEL(put_column)(a->dw + j * d, KERNEL(sum_of)(s[i], SUMS(d)), i, d, whole, lanes);
    }
    if (a->db != NULL) {
        KERNEL(store)(a->db + j, KERNEL(sum_of)(b, SUMS(d)), whole, lanes);
    }
}

/* dw and db for d inputs, strip by strip. `gate` says whether y masks dy. Every strip reads x
 * again, which is at most 4 * 512 elements and stays in the cache. dy and y are read once. */
INLINE void KERNEL(narrow_inputs)(const narrow *a, const int d, const bool gate)
{
    int64_t j = 0;
    for (; j + VW <= a->h; j += VW) {
        KERNEL(inputs_strip)(a, j, d, gate, true, VW);
    }
    if (j < a->h) {
        KERNEL(inputs_strip)(a, j, d, gate, false, (int)(a->h - j));
    }
}

/* Narrow inputs: d is at most 4 and h is larger. The number of inputs and the mask become
 * constants, which makes eight copies of narrow_inputs. */
NOINLINE void KERNEL(by_inputs)(const adzi_linear_narrow_args *args)
{
    const narrow a = KERNEL(narrow_of)(args);
    WITH_CONSTANTS(a.d, a.y != NULL, KERNEL(narrow_inputs), &a);
}

/* ---- narrow outputs ------------------------------------------------------------------------- */

/* One row's share of dw, and its dx, across a vector of inputs. The vector of x is loaded once and
 * added to h rows of dw. dx is a sum over at most 4 outputs, in their order. Its weights are in the
 * registers `w`, so dx costs no load. */
INLINE void KERNEL(outputs_row)(const narrow *a, int64_t at, const elem *z, const int h,
    const bool dx, const VEC *w, VEC (*sums)[4], const int g, const bool whole, const int lanes)
{
    VEC x = KERNEL(load)(a->x + at, whole, lanes);
    for (int o = 0; o < h; ++o) {
        sums[o][g] = VFMA(VSPLAT(z[o]), x, sums[o][g]);
    }
    if (dx) {
        VEC v = VSPLAT(z[0]) * w[0];
        for (int o = 1; o < h; ++o) {
            v = VFMA(VSPLAT(z[o]), w[o], v);
        }
        KERNEL(store)(a->dx + at, v, whole, lanes);
    }
}

/* dx and dw[h, d] across one vector of inputs j .. j + VW - 1 for h outputs; z[n, h] is the masked
 * dy. The outer loop walks down the rows, at a distance of d elements in x and dx. The h rows of w
 * and the sums of dw stay in registers over all rows: at most 4 and 8 vectors. */
INLINE void KERNEL(outputs_strip)(const narrow *a, const elem *z, int64_t j, const int h,
    const bool dx, const bool whole, const int lanes)
{
    const int64_t d = a->d;
    /* s[o][g] is sum g of row o of dw. w[o] is row o of the weight, 0 if dx is not wanted. */
    VEC s[ADZI_LINEAR_NARROW][4], w[ADZI_LINEAR_NARROW];
    for (int o = 0; o < h; ++o) {
        w[o] = VSPLAT(ELEM(0));
        if (dx) {
            w[o] = KERNEL(load)(a->w + o * d + j, whole, lanes);
        }
        for (int g = 0; g < SUMS(h); ++g) {
            s[o][g] = VSPLAT(ELEM(0));
        }
    }
    /* Row r belongs to sum r % SUMS, so SUMS rows are independent of each other. */
    int64_t at = j, r = a->n;
    for (; r >= SUMS(h); r -= SUMS(h)) {
        for (int g = 0; g < SUMS(h); ++g, at += d, z += h) {
            KERNEL(outputs_row)(a, at, z, h, dx, w, s, g, whole, lanes);
        }
    }
    /* Fewer than SUMS rows are left. They go to sum 0, in order. */
    for (; r > 0; --r, at += d, z += h) {
        KERNEL(outputs_row)(a, at, z, h, dx, w, s, 0, whole, lanes);
    }
    for (int o = 0; o < h; ++o) {
        KERNEL(store)(a->dw + o * d + j, KERNEL(sum_of)(s[o], SUMS(h)), whole, lanes);
    }
}

/* dw and dx for h outputs, strip by strip. `dx` says whether dx is wanted. x is read once, and z
 * once per strip. */
INLINE void KERNEL(narrow_outputs)(const narrow *a, const elem *z, const int h, const bool dx)
{
    int64_t j = 0;
    for (; j + VW <= a->d; j += VW) {
        KERNEL(outputs_strip)(a, z, j, h, dx, true, VW);
    }
    if (j < a->d) {
        KERNEL(outputs_strip)(a, z, j, h, dx, false, (int)(a->d - j));
    }
}

/* db of a single output, whose z is contiguous: one sum per lane (Note [Groups of lanes]). Row r is
 * added to lane r % GW. */
INLINE void KERNEL(bias_of_one)(const narrow *a, const elem *z)
{
    VEC sum[REGS], none[REGS];
    elem of_four[4];
    int64_t r = 0;
#define CLEAR(q)    sum[q] = none[q] = VSPLAT(ELEM(0));
#define ADD(q)      sum[q] += VLOAD(z + r + (q)*VW);
#define ADD_REST(q) sum[q] += VLOAD_PART(z + r + (q)*VW, KERNEL(lanes_of)((int)(a->n - r), q));
    EACH_REG(CLEAR)
    for (; r + GW <= a->n; r += GW) {
        EACH_REG(ADD)
    }
    if (r < a->n) {
        EACH_REG(ADD_REST)
    }
#undef CLEAR
#undef ADD
#undef ADD_REST
    /* VSUM4 adds the lanes of four groups at a time; three of them are empty here. */
    VSUM4(sum, none, none, none, of_four);
    a->db[0] = of_four[0];
}

/* db[h] for 2 to 4 outputs, from the rows of z. Row r is added to sum r % 4 of its output, and the
 * last n % 4 rows to sum 0. z has at most 4 * 512 elements, so this loop needs no vectors. */
INLINE void KERNEL(bias_of_outputs)(const narrow *a, const elem *z)
{
    const int64_t h = a->h, n = a->n;
    for (int64_t o = 0; o < h; ++o) {
        elem sum[4] = { 0 };
        int64_t r = 0;
        for (; r + 4 <= n; r += 4) {
            for (int i = 0; i < 4; ++i) {
                sum[i] += z[(r + i) * h + o];
            }
        }
        for (; r < n; ++r) {
            sum[0] += z[r * h + o];
        }
        a->db[o] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
}

/* Narrow outputs: h is at most 4. The masked dy has at most 4 * 512 elements. It is computed once,
 * to a buffer on the stack, since every strip reads all of it. Without a mask dy is read where it
 * is. */
NOINLINE void KERNEL(by_outputs)(const adzi_linear_narrow_args *args)
{
    const narrow a = KERNEL(narrow_of)(args);
    elem gated[ADZI_LINEAR_NARROW * ADZI_LINEAR_ROWS];
    const elem *z = a.dy;
    const int64_t count = a.n * a.h;
    if (a.y != NULL) {
        int64_t i = 0;
        for (; i + VW <= count; i += VW) {
            VSTORE(gated + i, KERNEL(gated)(&a, i, true, true, VW));
        }
        if (i < count) {
            const int lanes = (int)(count - i);
            VSTORE_PART(gated + i, KERNEL(gated)(&a, i, true, false, lanes), lanes);
        }
        z = gated;
    }
    if (a.db != NULL && a.h == 1) {
        KERNEL(bias_of_one)(&a, z);
    } else if (a.db != NULL) {
        KERNEL(bias_of_outputs)(&a, z);
    }
    WITH_CONSTANTS(a.h, a.dx != NULL, KERNEL(narrow_outputs), &a, z);
}
#undef narrow

/* The entry point; the launch has one unit. If inputs and outputs are both narrow, the way for
 * narrow outputs computes all gradients. The other way leaves dx to a product. */
void KERNEL(linear_narrow)(const void *block, int64_t begin, int64_t end);
void KERNEL(linear_narrow)(const void *block, int64_t begin, int64_t end)
{
    const adzi_linear_narrow_args *a = block;
    if (begin == end) {
        return;
    }
    if (a->h <= ADZI_LINEAR_NARROW) {
        KERNEL(by_outputs)(a);
    } else {
        KERNEL(by_inputs)(a);
    }
}

#endif
