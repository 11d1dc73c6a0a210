/* Products too small for BLAS to pay: no packing unless B is transposed, everything in registers
 * and the first-level cache. Every element is summed in an order that its product's shape fixes.
 * The loops take any size and any distance between rows, so they also serve what BLAS's integers
 * cannot express. */
#ifndef T
#include "tensor/gemm.h"
#ifdef ADZI_X86
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

enum {
    TILE_ROWS = 4,    /* rows of C in registers at a time, two vectors wide */
    PANEL_DEPTH = 128 /* rows of op(B) copied at a time where B is transposed */
};

#define THIS_FILE "tensor/gemm.kernel.c"
#include "tensor/each_float.h"
#else
#include "tensor/gemm_vec.h"

/* One product with its strides spelled out: op(A)[i, p] is a[i * ai + p * ap]. */
typedef struct K(product) {
    const T *a, *b, *bias;
    T *c;
    int64_t ai, ap, ldb, ldc;
    int64_t m, n, k;
    T alpha, beta;
} K(product);
#define product K(product)

/* A strip of op(B), at most two vectors wide: element [p, j] is b[p * ldb + j]. */
typedef struct K(strip) {
    const T *b;
    int64_t ldb;
    int64_t j;      /* its first column in C */
    int last_lanes; /* columns in its last vector */
} K(strip);
#define strip   K(strip)

INLINE VEC K(load)(const T *from, bool whole, int lanes)
{
    return whole ? VLOAD(from) : VLOAD_PART(from, lanes);
}

/* C = alpha sum + beta C + bias for one vector. */
INLINE void K(finish)(const product *g, T *c, const T *bias, VEC sum, bool whole, int lanes)
{
    if (g->alpha != R(1)) {
        sum *= VSPLAT(g->alpha);
    }
    if (bias != NULL) {
        sum += K(load)(bias, whole, lanes);
    }
    if (g->beta == R(1)) {
        sum += K(load)(c, whole, lanes);
    } else if (g->beta != R(0)) {
        sum = VFMA(VSPLAT(g->beta), K(load)(c, whole, lanes), sum);
    }
    if (whole) {
        VSTORE(c, sum);
    } else {
        VSTORE_PART(c, sum, lanes);
    }
}

/* TILE_ROWS rows of C from row i, across the strip. */
INLINE void K(tile)(const product *g, const strip *s, int64_t i, const int vecs, const bool whole)
{
    VEC sum[TILE_ROWS][2] = { { { 0 } } };
    const T *a = g->a + i * g->ai;
    for (int64_t p = 0; p < g->k; ++p) {
        VEC b[2];
        for (int q = 0; q < vecs; ++q) {
            b[q] = K(load)(s->b + p * s->ldb + q * VW, whole || q + 1 < vecs, s->last_lanes);
        }
        for (int r = 0; r < TILE_ROWS; ++r) {
            VEC x = VSPLAT(a[r * g->ai + p * g->ap]);
            for (int q = 0; q < vecs; ++q) {
                sum[r][q] = VFMA(x, b[q], sum[r][q]);
            }
        }
    }
    for (int r = 0; r < TILE_ROWS; ++r) {
        T *c = g->c + (i + r) * g->ldc + s->j;
        const T *bias = g->bias != NULL ? g->bias + s->j : NULL;
        for (int q = 0; q < vecs; ++q) {
            K(finish)
            (g, c + q * VW, bias != NULL ? bias + q * VW : NULL, sum[r][q], whole || q + 1 < vecs,
                s->last_lanes);
        }
    }
}

/* Row i of C across the strip. Four sums per vector, or the additions would wait for each other. */
INLINE void K(row)(const product *g, const strip *s, int64_t i, const int vecs, const bool whole)
{
    VEC sum[4][2] = { { { 0 } } };
    const T *a = g->a + i * g->ai;
    int64_t p = 0;
    for (; p + 4 <= g->k; p += 4) {
        for (int u = 0; u < 4; ++u) {
            VEC x = VSPLAT(a[(p + u) * g->ap]);
            const T *b = s->b + (p + u) * s->ldb;
            for (int q = 0; q < vecs; ++q) {
                VEC y = K(load)(b + q * VW, whole || q + 1 < vecs, s->last_lanes);
                sum[u][q] = VFMA(x, y, sum[u][q]);
            }
        }
    }
    for (; p < g->k; ++p) {
        VEC x = VSPLAT(a[p * g->ap]);
        for (int q = 0; q < vecs; ++q) {
            VEC y = K(load)(s->b + p * s->ldb + q * VW, whole || q + 1 < vecs, s->last_lanes);
            sum[0][q] = VFMA(x, y, sum[0][q]);
        }
    }
    T *c = g->c + i * g->ldc + s->j;
    const T *bias = g->bias != NULL ? g->bias + s->j : NULL;
    for (int q = 0; q < vecs; ++q) {
        K(finish)
        (g, c + q * VW, bias != NULL ? bias + q * VW : NULL,
            (sum[0][q] + sum[1][q]) + (sum[2][q] + sum[3][q]), whole || q + 1 < vecs,
            s->last_lanes);
    }
}

INLINE void K(rows)(const product *g, const strip *s, const int vecs, const bool whole)
{
    int64_t i = 0;
    for (; i + TILE_ROWS <= g->m; i += TILE_ROWS) {
        K(tile)(g, s, i, vecs, whole);
    }
    for (; i < g->m; ++i) {
        K(row)(g, s, i, vecs, whole);
    }
}

/* All rows of C across a strip of `columns` columns. */
static void K(strip_product)(const product *g, strip *s, int64_t columns)
{
    if (columns == 2 * VW) {
        K(rows)(g, s, 2, true);
    } else if (columns == VW) {
        K(rows)(g, s, 1, true);
    } else if (columns > VW) {
        s->last_lanes = (int)columns - VW;
        K(rows)(g, s, 2, false);
    } else {
        s->last_lanes = (int)columns;
        K(rows)(g, s, 1, false);
    }
}

/* B stored [k, n]: its rows are used where they lie. */
static void K(plain)(const product *g)
{
    for (int64_t j = 0; j < g->n; j += 2 * VW) {
        strip s = { g->b + j, g->ldb, j, 0 };
        K(strip_product)(g, &s, g->n - j < 2 * VW ? g->n - j : 2 * VW);
    }
}

/* to[p * 2 VW + j] = from[j * ld + p] for depth x columns elements. */
INLINE void K(transpose)(T *to, const T *from, int64_t ld, int64_t depth, int64_t columns)
{
    int64_t j = 0;
#if defined(ADZI_X86)
    for (; j + 4 <= columns; j += 4) {
        const T *f = from + j * ld;
        int64_t p = 0;
        for (; p + 4 <= depth; p += 4) {
            T *t = to + p * 2 * VW + j;
#if T_IS_F32
            __m128 w = _mm_loadu_ps(f + p), x = _mm_loadu_ps(f + ld + p);
            __m128 y = _mm_loadu_ps(f + 2 * ld + p), z = _mm_loadu_ps(f + 3 * ld + p);
            _MM_TRANSPOSE4_PS(w, x, y, z);
            _mm_storeu_ps(t, w);
            _mm_storeu_ps(t + 2 * VW, x);
            _mm_storeu_ps(t + 4 * VW, y);
            _mm_storeu_ps(t + 6 * VW, z);
#else
            for (int h = 0; h < 4; h += 2) {
                for (int u = 0; u < 4; u += 2) {
                    __m128d w = _mm_loadu_pd(f + h * ld + p + u);
                    __m128d x = _mm_loadu_pd(f + (h + 1) * ld + p + u);
                    _mm_storeu_pd(t + u * 2 * VW + h, _mm_unpacklo_pd(w, x));
                    _mm_storeu_pd(t + (u + 1) * 2 * VW + h, _mm_unpackhi_pd(w, x));
                }
            }
#endif
        }
        for (; p < depth; ++p) {
            for (int h = 0; h < 4; ++h) {
                to[p * 2 * VW + j + h] = f[h * ld + p];
            }
        }
    }
#endif
    for (; j < columns; ++j) {
        for (int64_t p = 0; p < depth; ++p) {
            to[p * 2 * VW + j] = from[j * ld + p];
        }
    }
}

/* B stored [n, k]: each strip is turned round first, PANEL_DEPTH of its rows at a time. */
static void K(turned)(const product *g)
{
    _Alignas(64) T panel[PANEL_DEPTH * 2 * VW];
    for (int64_t j = 0; j < g->n; j += 2 * VW) {
        int64_t columns = g->n - j < 2 * VW ? g->n - j : 2 * VW;
        product part = *g;
        int64_t p = 0;
        do {
            part.k = g->k - p < PANEL_DEPTH ? g->k - p : PANEL_DEPTH;
            part.a = g->a + p * g->ap;
            K(transpose)(panel, g->b + j * g->ldb + p, g->ldb, part.k, columns);
            strip s = { panel, 2 * VW, j, 0 };
            K(strip_product)(&part, &s, columns);
            part.beta = R(1);
            part.bias = NULL;
            p += PANEL_DEPTH;
        } while (p < g->k);
    }
}

/* c[r * ldc] = alpha <x_r, y> + beta c[r * ldc] + bias[r * bias_step] for row r of x[rows, k]. */
static void K(dots)(const product *g, int64_t rows, const T *x, int64_t ldx, const T *y, int64_t k,
    int64_t ldc, int64_t bias_step)
{
    int tail = (int)(k % VW);
    for (int64_t i = 0; i < rows; i += 4) {
        int64_t left = rows - i < 4 ? rows - i : 4;
        const T *x0 = x + i * ldx; /* a missing row is the first one again */
        const T *x1 = left > 1 ? x0 + ldx : x0;
        const T *x2 = left > 2 ? x0 + 2 * ldx : x0;
        const T *x3 = left > 3 ? x0 + 3 * ldx : x0;
        VEC s0 = { 0 }, s1 = { 0 }, s2 = { 0 }, s3 = { 0 };
        int64_t p = 0;
        for (; p < k - tail; p += VW) {
            VEC v = VLOAD(y + p);
            s0 = VFMA(VLOAD(x0 + p), v, s0);
            s1 = VFMA(VLOAD(x1 + p), v, s1);
            s2 = VFMA(VLOAD(x2 + p), v, s2);
            s3 = VFMA(VLOAD(x3 + p), v, s3);
        }
        if (tail > 0) {
            VEC v = VLOAD_PART(y + p, tail);
            s0 = VFMA(VLOAD_PART(x0 + p, tail), v, s0);
            s1 = VFMA(VLOAD_PART(x1 + p, tail), v, s1);
            s2 = VFMA(VLOAD_PART(x2 + p, tail), v, s2);
            s3 = VFMA(VLOAD_PART(x3 + p, tail), v, s3);
        }
        T sum[4];
        VSUM4(s0, s1, s2, s3, sum);
        for (int64_t r = 0; r < left; ++r) {
            T *c = g->c + (i + r) * ldc;
            T value = g->alpha * sum[r];
            value += g->bias != NULL ? g->bias[(i + r) * bias_step] : R(0);
            *c = g->beta == R(0) ? value : value + g->beta * *c;
        }
    }
}

/* The same where y's elements lie y_step apart: they are collected, a block of k at a time. */
static void K(dots_apart)(const product *g, int64_t rows, const T *x, int64_t ldx, const T *y,
    int64_t y_step, int64_t ldc, int64_t bias_step)
{
    if (y_step == 1 || g->k <= 1) {
        K(dots)(g, rows, x, ldx, y, g->k, ldc, bias_step);
        return;
    }
    _Alignas(64) T together[1024];
    product part = *g;
    for (int64_t p = 0; p < g->k; p += 1024) {
        int64_t k = g->k - p < 1024 ? g->k - p : 1024;
        for (int64_t q = 0; q < k; ++q) {
            together[q] = y[(p + q) * y_step];
        }
        K(dots)(&part, rows, x + p, ldx, together, k, ldc, bias_step);
        part.beta = R(1);
        part.bias = NULL;
    }
}

static void K(one_product)(const adzi_gemm_args *args, product *g)
{
    if (g->n == 1 && !args->ta) {
        K(dots_apart)(g, g->m, g->a, args->lda, g->b, args->tb ? 1 : args->ldb, g->ldc, 0);
    } else if (g->m == 1 && args->tb) {
        K(dots_apart)(g, g->n, g->b, g->ldb, g->a, g->ap, 1, 1);
    } else if (g->n == 1 && g->ldc == 1 && g->bias == NULL) {
        /* A column is a row lying down: C^T = op(B)^T A, with A stored [k, m]. */
        product turned = *g;
        turned.a = g->b;
        turned.ap = args->tb ? 1 : args->ldb;
        turned.b = g->a;
        turned.ldb = args->lda;
        turned.m = 1;
        turned.n = g->m;
        K(plain)(&turned);
    } else if (!args->tb || (g->k == 1 && args->ldb == 1)) {
        K(plain)(g);
    } else {
        K(turned)(g);
    }
}

/* Units are the items of a batch. */
void K(gemm_small)(const void *opaque, int64_t begin, int64_t end);
void K(gemm_small)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_gemm_args *args = opaque;
    bool nothing = args->k == 0 || args->alpha == 0;
    product g = {
        .bias = args->bias,
        .ai = args->ta ? 1 : args->lda,
        .ap = args->ta ? args->lda : 1,
        .ldb = args->ldb,
        .ldc = args->ldc,
        .m = args->m,
        .n = args->n,
        .k = nothing ? 0 : args->k,
        .alpha = nothing ? R(1) : (T)args->alpha,
        .beta = (T)args->beta,
    };
    for (int64_t item = begin; item < end; ++item) {
        g.a = (const T *)args->a + item * args->stride_a;
        g.b = (const T *)args->b + item * args->stride_b;
        g.c = (T *)args->c + item * args->stride_c;
        K(one_product)(args, &g);
    }
}

#undef product
#undef strip
#endif
