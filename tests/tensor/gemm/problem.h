/* Products of random matrices, stored in many ways, whose results are known. */
#ifndef ADZE_TESTS_TENSOR_GEMM_PROBLEM_H
#define ADZE_TESTS_TENSOR_GEMM_PROBLEM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "adze/base.h"
#include "base/cpu.h"
#include "tensor/gemm/gemm.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const double untouched = 1234.5; /* the elements of C that no product may write */

/* Each stored matrix is followed by so many rows that no product may read or write. */
enum { ROWS_AFTER = 16 };

static uint64_t seed = 1;

static inline uint32_t random_word(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33);
}

/* An odd multiple of 2^-16 in (-1, 1). It is exact in f32, so that one reference serves both
 * dtypes; in f64, sums of up to 2^21 products are exact. */
static inline double random_value(void)
{
    return ((double)(random_word() % 65536) - 32767.5) / 32768.0;
}

static inline double get(adz_dtype dtype, const void *from, int64_t i)
{
    return dtype == ADZ_F32 ? (double)((const float *)from)[i] : ((const double *)from)[i];
}

static inline void put(adz_dtype dtype, void *to, int64_t i, double value)
{
    if (dtype == ADZ_F32) {
        ((float *)to)[i] = (float)value;
    } else {
        ((double *)to)[i] = value;
    }
}

static inline double *random_values(int64_t count)
{
    double *values = malloc((size_t)(count + 1) * sizeof *values);
    for (int64_t i = 0; i < count; ++i) {
        values[i] = random_value();
    }
    return values;
}

/* Allocates `count` random values of the dtype. */
static inline void *random_storage(adz_dtype dtype, int64_t count)
{
    void *values = malloc((size_t)count * (dtype == ADZ_F32 ? 4 : 8));
    for (int64_t i = 0; i < count; ++i) {
        put(dtype, values, i, random_value());
    }
    return values;
}

/* Stores values[rows, columns], transposed if asked for, in rows that are `pad` elements longer
 * than needed and hold NaN there. *ld is the distance between the stored rows. */
static inline void *store(adz_dtype dtype, const double *values, int64_t rows, int64_t columns,
    bool transpose, int64_t pad, int64_t *ld)
{
    int64_t stored_rows = transpose ? columns : rows;
    *ld = (transpose ? rows : columns) + pad;
    int64_t total = stored_rows * *ld, after = ROWS_AFTER * *ld;
    void *stored =
        malloc((size_t)(total + after + 1) * (dtype == ADZ_F32 ? sizeof(float) : sizeof(double)));
    /* All bits set make a NaN of either dtype. */
    memset(stored, 0xff, (size_t)(total + after) * (dtype == ADZ_F32 ? 4 : 8));
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
            put(dtype, stored, transpose ? c * *ld + r : r * *ld + c, values[r * columns + c]);
        }
    }
    return stored;
}

/* A product of op(A)[m, k] and op(B)[k, n], and its result. */
typedef struct problem {
    int64_t m, n, k;
    double *a, *b, *c, *bias; /* values without transposes and padding; C before the product */
    double *product, *size;   /* the sums of products, and of their absolute values; both exact */
} problem;

static inline problem make_problem(int64_t m, int64_t n, int64_t k)
{
    problem p = { m, n, k, random_values(m * k), random_values(k * n), random_values(m * n),
        random_values(n), calloc((size_t)(m * n) + 1, sizeof(double)),
        calloc((size_t)(m * n) + 1, sizeof(double)) };
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t q = 0; q < k; ++q) {
            for (int64_t j = 0; j < n; ++j) {
                double term = p.a[i * k + q] * p.b[q * n + j];
                p.product[i * n + j] += term;
                p.size[i * n + j] += fabs(term);
            }
        }
    }
    return p;
}

static inline void free_problem(problem *p)
{
    free(p->a);
    free(p->b);
    free(p->c);
    free(p->bias);
    free(p->product);
    free(p->size);
}

/* How a problem is stored and passed to adzi_gemm_run. */
typedef struct way {
    adz_dtype dtype;
    bool ta, tb;
    double alpha, beta;
    bool bias;
    int64_t pad;
    unsigned dense; /* a sum of 1, 2 and 4 for A, B and C: this operand is not padded */
    bool relu;      /* results below 0 become 0 */
} way;

/* The operands of a problem in memory, as one way stores them. */
typedef struct operands {
    void *a, *b, *c, *bias;
    int64_t lda, ldb, ldc;
} operands;

static inline operands store_operands(const problem *p, const way *w)
{
    operands o;
    int64_t ld_bias;
    o.a = store(w->dtype, p->a, p->m, p->k, w->ta, w->dense & 1 ? 0 : w->pad, &o.lda);
    o.b = store(w->dtype, p->b, p->k, p->n, w->tb, w->dense & 2 ? 0 : w->pad, &o.ldb);
    o.bias = store(w->dtype, p->bias, 1, p->n, false, 0, &ld_bias);
    o.c = store(w->dtype, p->c, p->m, p->n, false, w->dense & 4 ? 0 : w->pad, &o.ldc);
    for (int64_t row = 0; row < p->m + ROWS_AFTER; ++row) {
        /* With beta 0, C is written without being read. */
        for (int64_t column = 0; row < p->m && w->beta == 0 && column < p->n; ++column) {
            put(w->dtype, o.c, row * o.ldc + column, NAN);
        }
        for (int64_t column = row < p->m ? p->n : 0; column < o.ldc; ++column) {
            put(w->dtype, o.c, row * o.ldc + column, untouched);
        }
    }
    return o;
}

/* Whether one element of C differs from the sum of a plain loop by more than rounding can explain.
 */
static inline bool is_wrong(const problem *p, const way *w, int64_t row, int64_t column, double got)
{
    double eps = w->dtype == ADZ_F32 ? FLT_EPSILON : DBL_EPSILON;
    int64_t e = row * p->n + column;
    long double plus =
        (w->bias ? p->bias[column] : 0) + (w->beta != 0 ? (long double)w->beta * p->c[e] : 0);
    long double want = (long double)w->alpha * p->product[e] + plus;
    want = w->relu && want < 0 ? 0 : want;
    long double scale = fabs(w->alpha) * p->size[e] + 2 * fabsl(plus) + 2;
    return !(fabsl(got - want) <= eps * (long double)(p->k + 8) * scale / 4);
}

/* Compares C with the product of a plain loop; returns the number of wrong elements. */
static inline int64_t count_wrong(const problem *p, const way *w, const void *c, int64_t ldc)
{
    int64_t wrong = 0;
    for (int64_t row = 0; row < p->m + ROWS_AFTER; ++row) {
        int64_t inside = row < p->m ? p->n : 0;
        for (int64_t column = 0; column < ldc; ++column) {
            double got = get(w->dtype, c, row * ldc + column);
            wrong += column < inside ? is_wrong(p, w, row, column, got) : got != untouched;
        }
    }
    return wrong;
}

/* Computes the product as one way stores it, and returns the number of wrong elements. */
static inline int64_t solve(const problem *p, const way *w)
{
    operands o = store_operands(p, w);
    adzi_gemm_args args = { .dtype = w->dtype,
        .ta = w->ta,
        .tb = w->tb,
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .alpha = w->alpha,
        .a = o.a,
        .lda = o.lda,
        .b = o.b,
        .ldb = o.ldb,
        .beta = w->beta,
        .c = o.c,
        .ldc = o.ldc,
        .bias = w->bias ? o.bias : NULL,
        .relu = w->relu,
        .batch = 1 };
    adzi_gemm_run(&args);
    int64_t wrong = count_wrong(p, w, o.c, o.ldc);
    free(o.a);
    free(o.b);
    free(o.c);
    free(o.bias);
    return wrong;
}

static inline void expect_right(const problem *p, const way *w)
{
    int64_t wrong = solve(p, w);
    if (wrong != 0) {
        print_error(
            "%s%s%s m %lld n %lld k %lld alpha %g beta %g bias %d pad %lld dense %u relu %d level %d\n",
            w->dtype == ADZ_F32 ? "f32" : "f64", w->ta ? " ta" : "", w->tb ? " tb" : "",
            (long long)p->m, (long long)p->n, (long long)p->k, w->alpha, w->beta, w->bias,
            (long long)w->pad, w->dense, w->relu, adzi_cpu_level);
    }
    assert_int_equal(wrong, 0);
}

static const double factors[][2] = { { 1, 0 }, { 1, 1 }, { -0.5, 2 }, { 0, 1.5 }, { 2, 0 },
    { 0, 0 } };

/* Solves the problem in both dtypes and with all transposes. Each of these has other factors, bias,
 * padding and ReLU. */
static inline void solve_all_ways(const problem *p)
{
    static unsigned turn;
    for (int bits = 0; bits < 8; ++bits, ++turn) {
        const double *f = factors[turn % COUNT(factors)];
        way w = { bits & 1 ? ADZ_F64 : ADZ_F32, (bits & 2) != 0, (bits & 4) != 0, f[0], f[1],
            turn % 5 < 2, turn % 7 < 4 ? 0 : (int64_t)(turn % 7), turn % 8, turn % 3 == 0 };
        expect_right(p, &w);
        w.alpha = 1;
        w.beta = 0;
        expect_right(p, &w);
    }
}

#endif
