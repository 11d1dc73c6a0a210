/* Batches of products, empty products, and products of integers. */
#include <string.h>

#include "problem.h"
#include "tests.h"

/* A batch has the bits of its products computed one by one. */
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
    adzi_gemm_args all = { .dtype = dtype, .ta = ta, .tb = tb, .m = m, .n = n, .k = k };
    all.alpha = alpha, all.beta = beta, all.batch = batch;
    all.a = a, all.lda = lda, all.stride_a = sa;
    all.b = b, all.ldb = ldb, all.stride_b = sb;
    all.c = c, all.ldc = n, all.stride_c = sc;
    adzi_gemm_run(&all);
    for (int64_t i = 0; i < batch; ++i) {
        adzi_gemm_args one = all;
        one.a = a + i * sa * size;
        one.b = b + i * sb * size;
        one.c = d + i * sc * size;
        one.batch = 1;
        adzi_gemm_run(&one);
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

void batches_equal_their_items(void **state)
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

void nothing_is_nothing(void **state)
{
    (void)state;
    float c[4] = { 1, 2, 3, 4 };
    adzi_gemm((adzi_gemm_size){ ADZ_F32, 0, 2, 2 }, (adzi_operand){ NULL, 2, false },
        (adzi_operand){ NULL, 2, false }, c, 2);
    adzi_gemm((adzi_gemm_size){ ADZ_F32, 2, 0, 2 }, (adzi_operand){ NULL, 2, false },
        (adzi_operand){ NULL, 1, false }, c, 2);
    adzi_gemm_run(&(adzi_gemm_args){ .dtype = ADZ_F32,
        .m = 2,
        .n = 2,
        .k = 2,
        .alpha = 1,
        .a = NULL,
        .lda = 2,
        .stride_a = 0,
        .b = NULL,
        .ldb = 2,
        .stride_b = 0,
        .c = c,
        .ldc = 2,
        .stride_c = 0,
        .batch = 0 });
    adzi_gemm((adzi_gemm_size){ ADZ_I32, 0, 2, 2 }, (adzi_operand){ NULL, 2, true },
        (adzi_operand){ NULL, 2, false }, c, 2);
    for (int i = 0; i < 4; ++i) {
        assert_true(c[i] == (float)(i + 1));
    }
    adzi_gemm_run(&(adzi_gemm_args){ .dtype = ADZ_F32,
        .m = 2,
        .n = 2,
        .k = 0,
        .alpha = 1,
        .a = NULL,
        .lda = 1,
        .b = NULL,
        .ldb = 2,
        .beta = 0.5,
        .c = c,
        .ldc = 2,
        .batch = 1 });
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

void integers_wrap_around(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 0, 1, 3, 17, 70, 300 };
    static const adz_dtype dtypes[] = { ADZ_I32, ADZ_I64, ADZ_U8 };
    int used = adzi_cpu_level;
    if (adzi_gemm_backend_choice != ADZI_GEMM_BY_RULE) {
        skip(); /* no other choice changes products of integers */
    }
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
