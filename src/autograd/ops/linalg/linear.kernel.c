/* The gradients of a linear layer with few inputs or few outputs and few rows, in one pass over the
 * rows: as products and sums of their own they would each be a call, and read what they share anew.
 */
#ifndef T
#include <stdbool.h>
#include <stddef.h>

#include "autograd/ops/linalg/linear.kernel.h"
#ifdef ADZI_X86
#include <immintrin.h>
#endif

#define INLINE   static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))

/* Rows whose shares are added up apart, or the additions would wait for each other: as many as have
 * room in registers. */
#define GROUPS(few) ((few) <= 2 ? 4 : 2)

/* f(..., few, flag) for 2 to ADZI_LINEAR_FEW inputs or outputs, both known where f is compiled. */
#define FOR_FEW(few, flag, f, ...)        \
    do {                                  \
        switch (few) {                    \
            CASE(2, flag, f, __VA_ARGS__) \
            CASE(3, flag, f, __VA_ARGS__) \
            CASE(4, flag, f, __VA_ARGS__) \
        }                                 \
    } while (0)
#define CASE(few, flag, f, ...)         \
    case few:                           \
        if (flag) {                     \
            f(__VA_ARGS__, few, true);  \
        } else {                        \
            f(__VA_ARGS__, few, false); \
        }                               \
        break;

#define THIS_FILE "autograd/ops/linalg/linear.kernel.c"
#include "tensor/kernel/each_float.h"
#else
#include "tensor/gemm/gemm_vec.h"

/* The same as the arguments, in the function that loops: what it writes cannot change them. */
typedef struct K(narrow) {
    const T *dy, *y, *x, *w;
    T *dx, *dw, *db, factor;
    int64_t n, d, h;
} K(narrow);
#define narrow K(narrow)

INLINE narrow K(narrow_of)(const adzi_linear_narrow_args *a)
{
    return (narrow){ .dy = (const T *)(const void *)a->dy,
        .y = (const T *)(const void *)a->y,
        .x = (const T *)(const void *)a->x,
        .w = (const T *)(const void *)a->w,
        .dx = (T *)(void *)a->dx,
        .dw = (T *)(void *)a->dw,
        .db = (T *)(void *)a->db,
        .factor = R(a->factor),
        .n = a->n,
        .d = a->d,
        .h = a->h };
}

/* What counts of dy, for one vector. */
INLINE VEC K(gated)(const narrow *a, int64_t at, const bool gate, const bool whole, int lanes)
{
    VEC v = K(load)(a->dy + at, whole, lanes);
    if (gate) {
        v = VABOVE0(K(load)(a->y + at, whole, lanes), VSPLAT(a->factor) * v);
    }
    return v;
}

/* ---- few inputs ----------------------------------------------------------------------------- */

/* Writes column i of dw, across one vector of outputs. */
INLINE void K(put_column)(
    T *dw, VEC sums, const int i, const int d, const bool whole, const int lanes)
{
    if (d == 1) {
        K(store)(dw, sums, whole, lanes);
        return;
    }
    T each[VW];
    VSTORE(each, sums);
    for (int l = 0; l < (whole ? VW : lanes); ++l) {
        dw[l * d + i] = each[l];
    }
}

/* The sums of two or four vectors. */
INLINE VEC K(together)(const VEC *v, const int count)
{
    return count == 4 ? (v[0] + v[1]) + (v[2] + v[3]) : v[0] + v[1];
}

/* dw[h, d] and db across one vector of outputs, for d inputs. */
INLINE void K(inputs_strip)(
    const narrow *a, int64_t j, const int d, const bool gate, const bool whole, const int lanes)
{
    VEC s[ADZI_LINEAR_FEW][4], b[4];
    for (int g = 0; g < GROUPS(d); ++g) {
        b[g] = VSPLAT(R(0));
        for (int i = 0; i < d; ++i) {
            s[i][g] = VSPLAT(R(0));
        }
    }
    const T *x = a->x;
    const int64_t h = a->h;
    int64_t at = j, r = a->n;
    for (; r >= GROUPS(d); r -= GROUPS(d)) {
        for (int g = 0; g < GROUPS(d); ++g, at += h, x += d) {
            VEC z = K(gated)(a, at, gate, whole, lanes);
            b[g] += z;
            for (int i = 0; i < d; ++i) {
                s[i][g] = VFMA(VSPLAT(x[i]), z, s[i][g]);
            }
        }
    }
    for (; r > 0; --r, at += h, x += d) {
        VEC z = K(gated)(a, at, gate, whole, lanes);
        b[0] += z;
        for (int i = 0; i < d; ++i) {
            s[i][0] = VFMA(VSPLAT(x[i]), z, s[i][0]);
        }
    }
    for (int i = 0; i < d; ++i) {
        K(put_column)(a->dw + j * d, K(together)(s[i], GROUPS(d)), i, d, whole, lanes);
    }
    if (a->db != NULL) {
        K(store)(a->db + j, K(together)(b, GROUPS(d)), whole, lanes);
    }
}

INLINE void K(few_inputs)(const narrow *a, const int d, const bool gate)
{
    int64_t j = 0;
    for (; j + VW <= a->h; j += VW) {
        K(inputs_strip)(a, j, d, gate, true, VW);
    }
    if (j < a->h) {
        K(inputs_strip)(a, j, d, gate, false, (int)(a->h - j));
    }
}

/* Apart from what one input takes, which is short. */
NOINLINE void K(more_inputs)(const narrow *a, const bool gate)
{
    FOR_FEW(a->d, gate, K(few_inputs), a);
}

NOINLINE void K(by_inputs)(const adzi_linear_narrow_args *args)
{
    const narrow a = K(narrow_of)(args);
    const bool gate = a.y != NULL;
    if (a.d == 1) {
        if (gate) {
            K(few_inputs)(&a, 1, true);
        } else {
            K(few_inputs)(&a, 1, false);
        }
        return;
    }
    K(more_inputs)(&a, gate);
}

/* ---- few outputs ---------------------------------------------------------------------------- */

/* One row's share of dw, and its dx, across a vector of inputs. */
INLINE void K(outputs_row)(const narrow *a, int64_t at, const T *z, const int h, const bool dx,
    const VEC *w, VEC (*sums)[4], const int g, const bool whole, const int lanes)
{
    VEC x = K(load)(a->x + at, whole, lanes);
    for (int o = 0; o < h; ++o) {
        sums[o][g] = VFMA(VSPLAT(z[o]), x, sums[o][g]);
    }
    if (dx) {
        VEC v = VSPLAT(z[0]) * w[0];
        for (int o = 1; o < h; ++o) {
            v = VFMA(VSPLAT(z[o]), w[o], v);
        }
        K(store)(a->dx + at, v, whole, lanes);
    }
}

/* dx and dw[h, d] across one vector of inputs for h outputs, from rows z of what counts of dy. */
INLINE void K(outputs_strip)(const narrow *a, const T *z, int64_t j, const int h, const bool dx,
    const bool whole, const int lanes)
{
    const int64_t d = a->d;
    VEC s[ADZI_LINEAR_FEW][4], w[ADZI_LINEAR_FEW];
    for (int o = 0; o < h; ++o) {
        w[o] = VSPLAT(R(0));
        if (dx) {
            w[o] = K(load)(a->w + o * d + j, whole, lanes);
        }
        for (int g = 0; g < GROUPS(h); ++g) {
            s[o][g] = VSPLAT(R(0));
        }
    }
    int64_t at = j, r = a->n;
    for (; r >= GROUPS(h); r -= GROUPS(h)) {
        for (int g = 0; g < GROUPS(h); ++g, at += d, z += h) {
            K(outputs_row)(a, at, z, h, dx, w, s, g, whole, lanes);
        }
    }
    for (; r > 0; --r, at += d, z += h) {
        K(outputs_row)(a, at, z, h, dx, w, s, 0, whole, lanes);
    }
    for (int o = 0; o < h; ++o) {
        K(store)(a->dw + o * d + j, K(together)(s[o], GROUPS(h)), whole, lanes);
    }
}

INLINE void K(few_outputs)(const narrow *a, const T *z, const int h, const bool dx)
{
    int64_t j = 0;
    for (; j + VW <= a->d; j += VW) {
        K(outputs_strip)(a, z, j, h, dx, true, VW);
    }
    if (j < a->d) {
        K(outputs_strip)(a, z, j, h, dx, false, (int)(a->d - j));
    }
}

/* db[1]: z lies in line. */
INLINE void K(bias_of_one)(const narrow *a, const T *z)
{
    const VEC zero = { 0 };
    VEC sum = zero;
    T of_four[4];
    int64_t r = 0;
    for (; r + VW <= a->n; r += VW) {
        sum += VLOAD(z + r);
    }
    if (r < a->n) {
        sum += VLOAD_PART(z + r, (int)(a->n - r));
    }
    VSUM4(sum, zero, zero, zero, of_four);
    a->db[0] = of_four[0];
}

/* db[h] of rows z, each output's in four sums, for the same reason as above. */
INLINE void K(bias_of_outputs)(const narrow *a, const T *z)
{
    const int64_t h = a->h, n = a->n;
    for (int64_t o = 0; o < h; ++o) {
        T sum[4] = { 0 };
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

/* Apart from what one output takes. */
NOINLINE void K(more_outputs)(const narrow *a, const T *z, const bool dx)
{
    if (a->db != NULL) {
        K(bias_of_outputs)(a, z);
    }
    FOR_FEW(a->h, dx, K(few_outputs), a, z);
}

/* What counts of dy is so little that it is made first. */
NOINLINE void K(by_outputs)(const adzi_linear_narrow_args *args)
{
    const narrow a = K(narrow_of)(args);
    T gated[ADZI_LINEAR_FEW * ADZI_LINEAR_ROWS];
    const T *z = a.dy;
    const int64_t count = a.n * a.h;
    if (a.y != NULL) {
        int64_t i = 0;
        for (; i + VW <= count; i += VW) {
            VSTORE(gated + i, K(gated)(&a, i, true, true, VW));
        }
        if (i < count) {
            const int lanes = (int)(count - i);
            VSTORE_PART(gated + i, K(gated)(&a, i, true, false, lanes), lanes);
        }
        z = gated;
    }
    const bool dx = a.dx != NULL;
    if (a.h == 1) {
        if (a.db != NULL) {
            K(bias_of_one)(&a, z);
        }
        if (dx) {
            K(few_outputs)(&a, z, 1, true);
        } else {
            K(few_outputs)(&a, z, 1, false);
        }
        return;
    }
    K(more_outputs)(&a, z, dx);
}
#undef narrow

void K(linear_narrow)(const void *block, int64_t begin, int64_t end);
void K(linear_narrow)(const void *block, int64_t begin, int64_t end)
{
    const adzi_linear_narrow_args *a = block;
    if (begin == end) {
        return;
    }
    if (a->h <= ADZI_LINEAR_FEW) {
        K(by_outputs)(a);
    } else {
        K(by_inputs)(a);
    }
}

#endif
