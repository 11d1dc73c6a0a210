/* Matrix products against a plain loop, and the same bits from any thread count.
 *
 * usage: test_gemm [WAY [CASES]]
 *
 * WAY is blas: all large f32 products through BLAS; strided or prepared: through oneDNN's module,
 * skipped where the library does not use it; ours or ours-copied: through adze's own loops; '': as
 * the library chooses. CASES names the tests to run, with * and ? for any characters.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <dirent.h>
#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adze/base.h"
#include "base/alloc.h"
#include "base/cpu.h"
#include "tensor/gemm/gemm.h"
#include "tensor/gemm/onednn.h"
#include "base/parallel.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const double untouched = 1234.5; /* what stands between the rows of C and after the last */

enum { ROWS_AFTER = 16 };

static uint64_t seed = 1;

static uint32_t random_word(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33);
}

/* An odd multiple of 2^-16 in (-1, 1). It is exact in f32, so that one reference serves both
 * dtypes; in f64, sums of up to 2^21 products are exact. */
static double random_value(void)
{
    return ((double)(random_word() % 65536) - 32767.5) / 32768.0;
}

static double get(adz_dtype dtype, const void *from, int64_t i)
{
    return dtype == ADZ_F32 ? (double)((const float *)from)[i] : ((const double *)from)[i];
}

static void put(adz_dtype dtype, void *to, int64_t i, double value)
{
    if (dtype == ADZ_F32) {
        ((float *)to)[i] = (float)value;
    } else {
        ((double *)to)[i] = value;
    }
}

static double *random_values(int64_t count)
{
    double *values = malloc((size_t)(count + 1) * sizeof *values);
    for (int64_t i = 0; i < count; ++i) {
        values[i] = random_value();
    }
    return values;
}

/* values[rows, columns] stored as they are or turned, rows `pad` elements longer than needed, NaN
 * in between; *ld is the distance between the stored rows. */
static void *store(adz_dtype dtype, const double *values, int64_t rows, int64_t columns, bool turn,
    int64_t pad, int64_t *ld)
{
    int64_t lines = turn ? columns : rows;
    *ld = (turn ? rows : columns) + pad;
    int64_t total = lines * *ld, after = ROWS_AFTER * *ld;
    void *stored =
        malloc((size_t)(total + after + 1) * (dtype == ADZ_F32 ? sizeof(float) : sizeof(double)));
    for (int64_t i = 0; i < total + after; ++i) {
        put(dtype, stored, i, NAN);
    }
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
            put(dtype, stored, turn ? c * *ld + r : r * *ld + c, values[r * columns + c]);
        }
    }
    return stored;
}

/* A product of op(A)[m, k] and op(B)[k, n] with what it must come to. */
typedef struct problem {
    int64_t m, n, k;
    double *a, *b, *c, *bias; /* logical values, C's before */
    double *product, *size;   /* sums of products, and of their absolute values: exact */
} problem;

static problem make_problem(int64_t m, int64_t n, int64_t k)
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

static void free_problem(problem *p)
{
    free(p->a);
    free(p->b);
    free(p->c);
    free(p->bias);
    free(p->product);
    free(p->size);
}

/* How a problem is put to adzi_gemm_run. */
typedef struct way {
    adz_dtype dtype;
    bool ta, tb;
    double alpha, beta;
    bool bias;
    int64_t pad;
    unsigned dense; /* 1: A is not padded, 2: B, 4: C */
} way;

/* Solves the problem that way; the number of wrong elements. */
static int64_t solve(const problem *p, const way *w)
{
    int64_t m = p->m, n = p->n, k = p->k, lda, ldb, ldc, ld_bias;
    void *a = store(w->dtype, p->a, m, k, w->ta, w->dense & 1 ? 0 : w->pad, &lda);
    void *b = store(w->dtype, p->b, k, n, w->tb, w->dense & 2 ? 0 : w->pad, &ldb);
    void *bias = store(w->dtype, p->bias, 1, n, false, 0, &ld_bias);
    void *c = store(w->dtype, p->c, m, n, false, w->dense & 4 ? 0 : w->pad, &ldc);
    for (int64_t i = 0; i < (m + ROWS_AFTER) * ldc; ++i) {
        if (i % ldc >= n || i / ldc >= m) {
            put(w->dtype, c, i, untouched);
        } else if (w->beta == 0) {
            put(w->dtype, c, i, NAN); /* must be overwritten unread */
        }
    }
    adzi_gemm_args args = { .dtype = w->dtype,
        .ta = w->ta,
        .tb = w->tb,
        .m = m,
        .n = n,
        .k = k,
        .alpha = w->alpha,
        .a = a,
        .lda = lda,
        .b = b,
        .ldb = ldb,
        .beta = w->beta,
        .c = c,
        .ldc = ldc,
        .bias = w->bias ? bias : NULL,
        .batch = 1 };
    adzi_gemm_run(&args);

    double eps = w->dtype == ADZ_F32 ? FLT_EPSILON : DBL_EPSILON;
    int64_t wrong = 0;
    for (int64_t i = 0; i < (m + ROWS_AFTER) * ldc; ++i) {
        int64_t row = i / ldc, column = i % ldc;
        double got = get(w->dtype, c, i);
        if (column >= n || row >= m) {
            wrong += got != untouched;
            continue;
        }
        int64_t e = row * n + column;
        long double plus =
            (w->bias ? p->bias[column] : 0) + (w->beta != 0 ? (long double)w->beta * p->c[e] : 0);
        long double want = (long double)w->alpha * p->product[e] + plus;
        long double scale = fabs(w->alpha) * p->size[e] + 2 * fabsl(plus) + 2;
        wrong += !(fabsl(got - want) <= eps * (long double)(k + 8) * scale / 4);
    }
    free(a);
    free(b);
    free(c);
    free(bias);
    return wrong;
}

static void expect_right(const problem *p, const way *w)
{
    int64_t wrong = solve(p, w);
    if (wrong != 0) {
        print_error("%s%s%s m %lld n %lld k %lld alpha %g beta %g bias %d pad %lld dense %u level "
                    "%d\n",
            w->dtype == ADZ_F32 ? "f32" : "f64", w->ta ? " ta" : "", w->tb ? " tb" : "",
            (long long)p->m, (long long)p->n, (long long)p->k, w->alpha, w->beta, w->bias,
            (long long)w->pad, w->dense, adzi_cpu_level);
    }
    assert_int_equal(wrong, 0);
}

static const double factors[][2] = { { 1, 0 }, { 1, 1 }, { -0.5, 2 }, { 0, 1.5 }, { 2, 0 },
    { 0, 0 } };

/* Both dtypes, all transposes, and in turn all factors with and without bias and padding. */
static void solve_all_ways(const problem *p)
{
    static unsigned turn;
    for (int bits = 0; bits < 8; ++bits, ++turn) {
        const double *f = factors[turn % COUNT(factors)];
        way w = { bits & 1 ? ADZ_F64 : ADZ_F32, (bits & 2) != 0, (bits & 4) != 0, f[0], f[1],
            turn % 5 < 2, turn % 7 < 4 ? 0 : (int64_t)(turn % 7), turn % 8 };
        expect_right(p, &w);
        w.alpha = 1;
        w.beta = 0;
        expect_right(p, &w);
    }
}

static void sizes_and_transposes_on_every_level(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 0, 1, 2, 3, 7, 31, 33, 48, 49, 100, 257 };
    int used = adzi_cpu_level;
    for (size_t i = 0; i < COUNT(sizes) * COUNT(sizes) * COUNT(sizes); ++i) {
        int64_t m = sizes[i % COUNT(sizes)], n = sizes[i / COUNT(sizes) % COUNT(sizes)];
        int64_t k = sizes[i / COUNT(sizes) / COUNT(sizes)];
        bool ours =
            m * n * k <= adzi_gemm_small_limit || adzi_gemm_backend_choice >= ADZI_GEMM_OURS;
        problem p = make_problem(m, n, k);
        for (int level = ours ? ADZI_CPU_BASELINE : adzi_cpu_best(); level <= adzi_cpu_best();
             ++level) {
            adzi_cpu_level = level;
            solve_all_ways(&p);
        }
        free_problem(&p);
    }
    adzi_cpu_level = used;
}

/* Every combination of factors, bias and padding, where each of them has code of its own. */
static void factors_bias_and_padding(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = { { 32, 1, 32 }, { 1, 32, 32 }, { 32, 32, 1 }, { 5, 37, 9 },
        { 37, 5, 300 }, { 60, 70, 80 }, { 1, 300, 200 }, { 300, 1, 200 }, { 4, 4, 0 } };
    int used = adzi_cpu_level;
    for (size_t s = 0; s < COUNT(shapes); ++s) {
        problem p = make_problem(shapes[s][0], shapes[s][1], shapes[s][2]);
        for (unsigned bits = 0; bits < 32 * COUNT(factors) * ADZI_CPU_LEVELS; ++bits) {
            unsigned rest = bits / 32;
            const double *f = factors[rest % COUNT(factors)];
            way w = { bits & 1 ? ADZ_F64 : ADZ_F32, (bits & 2) != 0, (bits & 4) != 0, f[0], f[1],
                (bits & 8) != 0, bits & 16 ? 5 : 0, 0 };
            adzi_cpu_level = (int)(rest / COUNT(factors));
            for (; adzi_cpu_level <= adzi_cpu_best() && w.dense < (w.pad > 0 ? 7 : 1); ++w.dense) {
                expect_right(&p, &w);
            }
        }
        free_problem(&p);
    }
    adzi_cpu_level = used;
}

/* Our own loops on sizes that BLAS would get, and BLAS on sizes that are ours. */
static void either_way_is_right(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = { { 30, 80, 200 }, { 17, 23, 1030 }, { 3, 500, 129 },
        { 1, 1, 5000 }, { 7, 3, 2 }, { 32, 32, 32 }, { 1, 9, 9 }, { 9, 1, 9 } };
    int64_t limit = adzi_gemm_small_limit;
    int used = adzi_cpu_level;
    for (size_t s = 0; s < COUNT(shapes); ++s) {
        problem p = make_problem(shapes[s][0], shapes[s][1], shapes[s][2]);
        adzi_gemm_small_limit = 1 << 19;
        for (adzi_cpu_level = 0; adzi_cpu_level <= adzi_cpu_best(); ++adzi_cpu_level) {
            solve_all_ways(&p);
        }
        adzi_cpu_level = used;
        adzi_gemm_small_limit = 0;
        solve_all_ways(&p);
        adzi_gemm_small_limit = limit;
        free_problem(&p);
    }
}

/* As if BLAS's integers ended early: sizes are cut, far-apart rows go to our loops. */
static void sizes_beyond_blas_integers(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = { { 120, 130, 140 }, { 257, 60, 50 }, { 50, 257, 60 },
        { 50, 60, 257 }, { 1, 257, 257 }, { 257, 1, 257 } };
    static const int64_t limits[] = { 300, 262, 100, 49, 30 };
    int64_t limit = adzi_gemm_size_limit;
    for (size_t s = 0; s < COUNT(shapes); ++s) {
        problem p = make_problem(shapes[s][0], shapes[s][1], shapes[s][2]);
        for (size_t i = 0; i < COUNT(limits); ++i) {
            adzi_gemm_size_limit = limits[i];
            solve_all_ways(&p);
        }
        free_problem(&p);
    }
    adzi_gemm_size_limit = limit;
}

/* ---- batches -------------------------------------------------------------------------------- */

/* A batch must hold what its items come to one by one, bit for bit. */
static void expect_batch_of(adz_dtype dtype, int64_t m, int64_t n, int64_t k, int64_t batch,
    bool repeat_a, bool repeat_b, double alpha, double beta)
{
    int64_t size = dtype == ADZ_F32 ? 4 : 8, sa = repeat_a ? 0 : m * k + 3;
    int64_t sb = repeat_b ? 0 : k * n + 1, sc = m * n + 2, ld;
    double *values = random_values((m * k + 3) * batch);
    char *a = store(dtype, values, batch, m * k + 3, false, 0, &ld);
    free(values);
    values = random_values((k * n + 1) * batch);
    char *b = store(dtype, values, batch, k * n + 1, false, 0, &ld);
    free(values);
    char *c = calloc((size_t)(sc * batch), (size_t)size);
    char *d = calloc((size_t)(sc * batch), (size_t)size);
    bool ta = batch % 2 == 1, tb = m % 2 == 1;
    int64_t lda = ta ? m : k, ldb = tb ? k : n;
    adzi_gemm_batched(dtype, ta, tb, m, n, k, alpha, a, lda, sa, b, ldb, sb, beta, c, n, sc, batch);
    for (int64_t i = 0; i < batch; ++i) {
        adzi_gemm(dtype, ta, tb, m, n, k, alpha, a + i * sa * size, lda, b + i * sb * size, ldb,
            beta, d + i * sc * size, n);
    }
    assert_memory_equal(c, d, (size_t)(sc * batch * size));
    bool zero = true;
    for (int64_t i = 0; i < sc * batch; ++i) {
        zero = zero && get(dtype, c, i) == 0;
    }
    assert_false(zero);
    free(a);
    free(b);
    free(c);
    free(d);
}

static void expect_batch(
    adz_dtype dtype, int64_t m, int64_t n, int64_t k, int64_t batch, bool repeat_a, bool repeat_b)
{
    expect_batch_of(dtype, m, n, k, batch, repeat_a, repeat_b, 1.5, 0.5);
    expect_batch_of(dtype, m, n, k, batch, repeat_a, repeat_b, 1, 0);
}

static void batches_equal_their_items(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = { { 2, 3, 4, 5 }, { 8, 8, 8, 1000 }, { 32, 32, 32, 64 },
        { 50, 60, 70, 9 }, { 300, 200, 100, 3 }, { 1, 64, 64, 200 }, { 500, 30, 400, 2 },
        { 33, 1, 16, 4 }, { 7, 20, 1, 6 } };
    for (int threads = 1; threads <= 3; ++threads) {
        adz_set_num_threads(threads);
        for (size_t s = 0; s < COUNT(shapes); ++s) {
            const int64_t *p = shapes[s];
            for (int bits = 0; bits < 8; ++bits) {
                expect_batch(bits & 1 ? ADZ_F64 : ADZ_F32, p[0], p[1], p[2], p[3], (bits & 2) != 0,
                    (bits & 4) != 0);
            }
        }
    }
    adz_set_num_threads(0);
}

static void nothing_is_nothing(void **state)
{
    (void)state;
    float c[4] = { 1, 2, 3, 4 };
    adzi_gemm(ADZ_F32, false, false, 0, 2, 2, 1, NULL, 2, NULL, 2, 0, c, 2);
    adzi_gemm(ADZ_F32, false, false, 2, 0, 2, 1, NULL, 2, NULL, 1, 0, c, 2);
    adzi_gemm_batched(ADZ_F32, false, false, 2, 2, 2, 1, NULL, 2, 0, NULL, 2, 0, 0, c, 2, 0, 0);
    adzi_gemm(ADZ_I32, true, false, 0, 2, 2, 1, NULL, 2, NULL, 2, 0, c, 2);
    for (int i = 0; i < 4; ++i) {
        assert_true(c[i] == (float)(i + 1));
    }
    adzi_gemm(ADZ_F32, false, false, 2, 2, 0, 1, NULL, 1, NULL, 2, 0.5, c, 2);
    for (int i = 0; i < 4; ++i) {
        assert_true(c[i] == 0.5f * (float)(i + 1));
    }
}

/* ---- integers ------------------------------------------------------------------------------- */

static uint64_t get_int(adz_dtype dtype, const void *from, int64_t i)
{
    return dtype == ADZ_I32   ? ((const uint32_t *)from)[i]
           : dtype == ADZ_I64 ? ((const uint64_t *)from)[i]
                              : ((const uint8_t *)from)[i];
}

static void expect_integers(adz_dtype dtype, bool ta, bool tb, int64_t m, int64_t n, int64_t k)
{
    size_t size = dtype == ADZ_I32 ? 4 : dtype == ADZ_I64 ? 8 : 1;
    int64_t counts[4] = { 2 * m * k, k * n, 2 * m * n, n };
    uint8_t *data[4];
    for (int d = 0; d < 4; ++d) {
        data[d] = malloc(((size_t)counts[d] + 1) * size);
        for (size_t i = 0; i < (size_t)counts[d] * size; ++i) {
            data[d][i] = (uint8_t)random_word();
        }
    }
    uint8_t *before = malloc(((size_t)counts[2] + 1) * size);
    memcpy(before, data[2], (size_t)counts[2] * size);
    int64_t lda = ta ? m : k, ldb = tb ? k : n;
    adzi_gemm_args args = { .dtype = dtype,
        .ta = ta,
        .tb = tb,
        .m = m,
        .n = n,
        .k = k,
        .alpha = 3,
        .a = data[0],
        .lda = lda,
        .b = data[1],
        .ldb = ldb,
        .beta = -2,
        .c = data[2],
        .ldc = n,
        .bias = data[3],
        .batch = 2,
        .stride_a = m * k,
        .stride_b = 0,
        .stride_c = m * n };
    adzi_gemm_run(&args);
    uint64_t mask = size == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * size)) - 1;
    for (int64_t e = 0; e < counts[2]; ++e) {
        int64_t item = e / (m * n), i = e / n % m, j = e % n;
        uint64_t sum = 0;
        for (int64_t p = 0; p < k; ++p) {
            sum += get_int(dtype, data[0], item * m * k + (ta ? p * lda + i : i * lda + p)) *
                   get_int(dtype, data[1], tb ? j * ldb + p : p * ldb + j);
        }
        uint64_t want = 3 * sum - 2 * get_int(dtype, before, e) + get_int(dtype, data[3], j);
        assert_true(get_int(dtype, data[2], e) == (want & mask));
    }
    free(before);
    for (int d = 0; d < 4; ++d) {
        free(data[d]);
    }
}

static void integers_wrap_around(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 0, 1, 3, 17, 70, 300 };
    static const adz_dtype dtypes[] = { ADZ_I32, ADZ_I64, ADZ_U8 };
    int used = adzi_cpu_level;
    adz_set_num_threads(3);
    for (size_t s = 0; s < COUNT(sizes) * COUNT(sizes) * COUNT(sizes); ++s) {
        int64_t m = sizes[s % COUNT(sizes)], n = sizes[s / COUNT(sizes) % COUNT(sizes)];
        int64_t k = sizes[s / COUNT(sizes) / COUNT(sizes)];
        if (m * n * k > 100 * 300 * 70) {
            continue;
        }
        for (int bits = 0; bits < 12; ++bits) {
            adzi_cpu_level = bits % (adzi_cpu_best() + 1);
            expect_integers(dtypes[bits / 4], (bits & 1) != 0, (bits & 2) != 0, m, n, k);
        }
    }
    adzi_cpu_level = used;
    adz_set_num_threads(0);
}

/* ---- the same bits ----------------------------------------------------------------------------
 */

static atomic_int cut_launches;

static void note_cuts(
    adzi_kernel kernel, const void *args, size_t size, int64_t units, int64_t grain)
{
    (void)size;
    if (units >= 2 * grain) {
        atomic_fetch_add(&cut_launches, 1);
    }
    adzi_launch_unobserved(kernel, args, units, grain);
}

/* Fills with random values without a detour over double. */
static void *random_storage(adz_dtype dtype, int64_t count)
{
    void *values = malloc((size_t)count * (dtype == ADZ_F32 ? 4 : 8));
    for (int64_t i = 0; i < count; ++i) {
        put(dtype, values, i, random_value());
    }
    return values;
}

/* The product with 1 thread and with 2, 3 and 4; the number of thread counts that differ. */
static int changed_bits(const adzi_gemm_args *args)
{
    size_t bytes = (size_t)(args->m * args->n) * (args->dtype == ADZ_F32 ? 4 : 8);
    adzi_gemm_args g = *args;
    void *first = calloc(bytes, 1), *other = calloc(bytes, 1);
    g.c = first;
    adz_set_num_threads(1);
    adzi_gemm_run(&g);
    g.c = other;
    int changed = 0;
    for (int threads = 2; threads <= 4; ++threads) {
        memset(other, 0xff, bytes);
        adz_set_num_threads(threads);
        adzi_gemm_run(&g);
        changed += memcmp(first, other, bytes) != 0;
    }
    free(first);
    free(other);
    adz_set_num_threads(0);
    return changed;
}

static const int64_t bit_shapes[][3] = { { 512, 512, 512 }, { 1000, 1000, 100 }, { 257, 513, 129 },
    { 513, 257, 385 }, { 96, 4000, 100 }, { 4000, 96, 100 }, { 97, 3001, 33 }, { 3001, 97, 33 },
    { 2000, 31, 257 }, { 31, 2000, 257 }, { 1, 3000, 1500 }, { 3000, 1, 1500 }, { 1, 2999, 1501 },
    { 2999, 1, 1501 }, { 145, 145, 1000 }, { 200, 200, 2000 }, { 384, 768, 100 }, { 768, 384, 100 },
    { 777, 333, 111 }, { 333, 777, 222 }, { 64, 3072, 768 }, { 64, 768, 3072 }, { 3072, 64, 768 },
    { 100, 5000, 50 }, { 5000, 100, 50 }, { 5000, 3, 500 }, { 3, 5000, 500 }, { 2, 5000, 500 },
    { 5000, 2, 500 }, { 1234, 567, 89 }, { 89, 567, 1234 }, { 640, 641, 64 }, { 193, 191, 500 },
    { 400, 400, 401 }, { 145, 20000, 7 }, { 20000, 145, 7 }, { 1024, 1024, 8 }, { 1500, 1500, 3 },
    { 600, 600, 1 }, { 8000, 48, 48 } };

/* All transposes of one shape; the number of those whose bits depend on the threads. */
static int transposes_that_change(adz_dtype dtype, int64_t m, int64_t n, int64_t k)
{
    void *a = random_storage(dtype, m * k), *b = random_storage(dtype, k * n);
    int changing = 0;
    for (int bits = 0; bits < 4; ++bits) {
        bool ta = (bits & 1) != 0, tb = (bits & 2) != 0;
        adzi_gemm_args g = { .dtype = dtype,
            .ta = ta,
            .tb = tb,
            .m = m,
            .n = n,
            .k = k,
            .alpha = 1,
            .a = a,
            .lda = ta ? m : k,
            .b = b,
            .ldb = tb ? k : n,
            .ldc = n,
            .batch = 1 };
        if (changed_bits(&g) != 0) {
            ++changing;
            print_error("%s%s%s m %lld n %lld k %lld: bits depend on threads\n",
                dtype == ADZ_F32 ? "f32" : "f64", ta ? " ta" : "", tb ? " tb" : "", (long long)m,
                (long long)n, (long long)k);
        }
    }
    free(a);
    free(b);
    return changing;
}

/* Takes every step-th shape. */
static void expect_same_bits(size_t step)
{
    int changing = 0, shapes = 0;
    atomic_store(&cut_launches, 0);
    atomic_store(&adzi_launch_observer, note_cuts);
    for (size_t s = 0; s < COUNT(bit_shapes); s += step, ++shapes) {
        const int64_t *size = bit_shapes[s];
        changing += transposes_that_change(ADZ_F32, size[0], size[1], size[2]);
        changing += transposes_that_change(ADZ_F64, size[0], size[1], size[2]);
    }
    atomic_store(&adzi_launch_observer, NULL);
    assert_int_equal(changing, 0);
    /* 8 cases a shape, 4 launches each: most of them were large enough to be cut */
    assert_true(atomic_load(&cut_launches) > shapes * 8 * 4 / 2);
}

static void same_bits_from_any_thread_count(void **state)
{
    (void)state;
    expect_same_bits(1);
}

static void same_bits_when_deterministic(void **state)
{
    (void)state;
    assert_false(adz_is_deterministic());
    assert_false(adz_set_deterministic(true));
    assert_true(adz_is_deterministic());
    expect_same_bits(5);
    problem p = make_problem(300, 200, 100);
    solve_all_ways(&p);
    free_problem(&p);
    assert_true(adz_set_deterministic(false));
}

/* ---- threads of others ---------------------------------------------------------------------- */

static int threads_of_this_process(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    while (tasks != NULL && readdir(tasks) != NULL) {
        ++count;
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return count;
}

/* Must run before anything else starts threads. */
static void one_thread_means_one(void **state)
{
    (void)state;
    int before = threads_of_this_process();
    if (before == 0) {
        skip();
    }
    adz_set_num_threads(1);
    adzi_gemm_warm();
    float *x = random_storage(ADZ_F32, 500 * 500), *y = calloc(500 * 500, sizeof *y);
    adzi_gemm(ADZ_F32, false, true, 500, 500, 500, 1, x, 500, x, 500, 0, y, 500);
    adzi_gemm(ADZ_F32, false, true, 500, 1, 500, 1, x, 500, x, 500, 0, y, 1);
    assert_int_equal(threads_of_this_process(), before);
    free(x);
    free(y);
    adz_set_num_threads(0);
}

static void openmp_settings_stay(void **state)
{
    (void)state;
    int (*max_threads)(void) = NULL;
    void *symbol = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
    if (symbol == NULL) {
        skip();
    }
    memcpy(&max_threads, &symbol, sizeof symbol);
    int before = max_threads();
    float *x = random_storage(ADZ_F32, 500 * 500), *y = calloc(500 * 500, sizeof *y);
    for (int threads = 1; threads <= 3; ++threads) {
        adz_set_num_threads(threads);
        adzi_gemm(ADZ_F32, false, false, 500, 500, 500, 1, x, 500, x, 500, 0, y, 500);
        assert_int_equal(max_threads(), before);
    }
    free(x);
    free(y);
    adz_set_num_threads(0);
}

/* A product of a size that is cut, hashed. */
static uint64_t product_hash(void)
{
    int64_t n = 300;
    float *x = malloc((size_t)(n * n) * sizeof *x), *y = malloc((size_t)(n * n) * sizeof *y);
    for (int64_t i = 0; i < n * n; ++i) {
        x[i] = (float)(i * 7919 % 1009) / 1009.0f - 0.5f;
    }
    adzi_gemm(ADZ_F32, false, true, n, n, n, 1, x, n, x, n, 0, y, n);
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < (size_t)(n * n) * sizeof *y; ++i) {
        hash = (hash ^ ((unsigned char *)y)[i]) * 1099511628211u;
    }
    free(x);
    free(y);
    return hash;
}

static void *hash_often(void *wanted)
{
    bool same = true;
    for (int i = 0; i < 10; ++i) {
        same = same && product_hash() == *(uint64_t *)wanted;
    }
    return same ? wanted : NULL;
}

static void several_users_multiply_at_once(void **state)
{
    (void)state;
    adz_set_num_threads(2);
    uint64_t wanted = product_hash();
    pthread_t users[4];
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(pthread_create(&users[i], NULL, hash_often, &wanted), 0);
    }
    for (int i = 0; i < 4; ++i) {
        void *same = NULL;
        pthread_join(users[i], &same);
        assert_non_null(same);
    }
    adz_set_num_threads(0);
}

enum { SHORT_SIDE = 50, SHORT_PRODUCTS = 20000 };

/* Short products follow each other so closely that threads meet inside BLAS, where it takes memory.
 */
static void *multiply_often(void *opaque)
{
    const float *x = opaque, *want = x + SHORT_SIDE * SHORT_SIDE;
    float y[SHORT_SIDE * SHORT_SIDE];
    bool same = true;
    for (int i = 0; i < SHORT_PRODUCTS && same; ++i) {
        adzi_gemm(ADZ_F32, false, false, SHORT_SIDE, SHORT_SIDE, SHORT_SIDE, 1, x, SHORT_SIDE, x,
            SHORT_SIDE, 0, y, SHORT_SIDE);
        same = memcmp(y, want, sizeof y) == 0;
    }
    return same ? opaque : NULL;
}

/* Runs early: a BLAS that has no locks goes wrong most often while it has taken little memory. */
static void several_users_call_blas_at_once(void **state)
{
    (void)state;
    adzi_gemm_choice used = adzi_gemm_backend_choice;
    adzi_gemm_backend_choice = ADZI_GEMM_BLAS_ALONE;
    float *x = random_storage(ADZ_F32, 2 * SHORT_SIDE * SHORT_SIDE);
    adzi_gemm(ADZ_F32, false, false, SHORT_SIDE, SHORT_SIDE, SHORT_SIDE, 1, x, SHORT_SIDE, x,
        SHORT_SIDE, 0, x + SHORT_SIDE * SHORT_SIDE, SHORT_SIDE);
    pthread_t users[4];
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(pthread_create(&users[i], NULL, multiply_often, x), 0);
    }
    int wrong = 0;
    for (int i = 0; i < 4; ++i) {
        void *same = NULL;
        pthread_join(users[i], &same);
        wrong += same == NULL;
    }
    free(x);
    adzi_gemm_backend_choice = used;
    assert_int_equal(wrong, 0);
}

static void a_forked_child_multiplies(void **state)
{
    (void)state;
    adz_set_num_threads(2);
    uint64_t wanted = product_hash();
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        _exit(product_hash() == wanted ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    adz_set_num_threads(0);
}

/* Blocks of every kind, whole and cut short; and what happens without memory to copy them to. */
static void large_products_in_blocks(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = { { 999, 40, 200 }, { 41, 1601, 30 }, { 53, 50, 800 },
        { 500, 61, 193 }, { 9, 800, 400 }, { 64, 64, 385 } };
    int used = adzi_cpu_level;
    for (size_t s = 0; s < COUNT(shapes); ++s) {
        problem p = make_problem(shapes[s][0], shapes[s][1], shapes[s][2]);
        for (adzi_cpu_level = 0; adzi_cpu_level <= adzi_cpu_best(); ++adzi_cpu_level) {
            solve_all_ways(&p);
        }
        adzi_cpu_level = used;
        adz_empty_cache();
        adzi_alloc_fail_at(1);
        solve_all_ways(&p);
        adzi_alloc_fail_at(0);
        adz_error_clear();
        free_problem(&p);
    }
}

/* Who multiplies, by the name of a way; false where the library would not use it on this system. */
static bool choose_way(const char *name)
{
    static const struct {
        const char *name;
        adzi_gemm_choice choice;
    } ways[] = { { "", ADZI_GEMM_BY_RULE }, { "blas", ADZI_GEMM_BLAS_ALONE },
        { "strided", ADZI_GEMM_MODULE_STRIDED }, { "prepared", ADZI_GEMM_MODULE_PREPARED },
        { "ours", ADZI_GEMM_OURS }, { "ours-copied", ADZI_GEMM_OURS_COPIED } };
    for (size_t i = 0; i < COUNT(ways); ++i) {
        if (strcmp(name, ways[i].name) == 0) {
            adzi_gemm_backend_choice = ways[i].choice;
        }
    }
    return (adzi_gemm_backend_choice != ADZI_GEMM_MODULE_STRIDED &&
               adzi_gemm_backend_choice != ADZI_GEMM_MODULE_PREPARED) ||
           adzi_gemm_backend_get() != NULL;
}

int main(int argc, char **argv)
{
    if (ONEDNN_MODULE[0] != '\0') {
        setenv("ADZE_ONEDNN", ONEDNN_MODULE, 0);
    }
    if (!choose_way(argc > 1 ? argv[1] : "")) {
        print_message("%s\n", adzi_gemm_backend_info());
        return 77;
    }
    const bool module = adzi_gemm_backend_choice == ADZI_GEMM_MODULE_STRIDED ||
                        adzi_gemm_backend_choice == ADZI_GEMM_MODULE_PREPARED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_means_one),
        cmocka_unit_test(openmp_settings_stay),
        cmocka_unit_test(several_users_call_blas_at_once),
        cmocka_unit_test(sizes_and_transposes_on_every_level),
        cmocka_unit_test(factors_bias_and_padding),
        cmocka_unit_test(either_way_is_right),
        cmocka_unit_test(large_products_in_blocks),
        cmocka_unit_test(sizes_beyond_blas_integers),
        cmocka_unit_test(batches_equal_their_items),
        cmocka_unit_test(nothing_is_nothing),
        cmocka_unit_test(integers_wrap_around),
        cmocka_unit_test(same_bits_from_any_thread_count),
        cmocka_unit_test(same_bits_when_deterministic),
        cmocka_unit_test(several_users_multiply_at_once),
        cmocka_unit_test(a_forked_child_multiplies),
    };
    cmocka_set_test_filter(argc > 2 ? argv[2] : NULL);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (module && adzi_gemm_backend_products() < 1000) {
        print_error("the module computed %llu products\n",
            (unsigned long long)adzi_gemm_backend_products());
        return 1;
    }
    return failed;
}
