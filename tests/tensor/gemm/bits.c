/* Products have the same bits with any number of threads, and on every processor with AVX2 or more.
 */
#include <string.h>

#include "base/threads/parallel.h"
#include "problem.h"
#include "tests.h"

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

/* Computes the product with 1, 2, 3 and 4 threads; returns how many results differ from the
 * first. */
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
    { 600, 600, 1 }, { 8000, 48, 48 }, { 24, 2000, 257 }, { 12, 3001, 300 } };

/* Returns how many transposes of one shape have bits that depend on the number of threads. */
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

/* Compares the bits for every step-th shape of the list. */
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
    /* A shape has 8 cases of 4 launches each. Most of these were large enough to be divided. */
    assert_true(atomic_load(&cut_launches) > shapes * 8 * 4 / 2);
}

void same_bits_from_any_thread_count(void **state)
{
    (void)state;
    expect_same_bits(1);
}

void same_bits_when_deterministic(void **state)
{
    (void)state;
    assert_false(adz_is_deterministic());
    adz_set_deterministic(true);
    assert_true(adz_is_deterministic());
    expect_same_bits(5);
    problem p = make_problem(300, 200, 100);
    solve_all_ways(&p);
    free_problem(&p);
    adz_set_deterministic(false);
}

/* ---- processors ----------------------------------------------------------------------------- */

/* A way to store and scale a product. */
typedef struct variant {
    bool ta, tb, bias, relu;
    double alpha, beta;
    int64_t pad; /* elements between the rows of each matrix */
} variant;

static const variant variants[] = { { false, false, false, false, 1, 0, 0 },
    { true, false, false, false, 1, 1, 0 }, { false, true, true, true, 1, 0, 0 },
    { true, true, true, false, 1, 0, 3 }, { false, false, true, false, 1.5, 0.5, 0 },
    { true, false, false, true, 2, 1, 5 }, { false, true, false, false, 0.5, 0, 2 },
    { false, true, true, false, 1, 0.25, 0 }, { true, true, false, false, 3, 2, 0 } };

/* One product at each level with fused multiply-adds. Returns the levels whose bits differ. */
static int levels_that_differ(adz_dtype dtype, const int64_t *size, const variant *v)
{
    const int64_t m = size[0], n = size[1], k = size[2], item = dtype == ADZ_F32 ? 4 : 8;
    adzi_gemm_args g = { .dtype = dtype,
        .ta = v->ta,
        .tb = v->tb,
        .m = m,
        .n = n,
        .k = k,
        .alpha = v->alpha,
        .lda = (v->ta ? m : k) + v->pad,
        .ldb = (v->tb ? k : n) + v->pad,
        .beta = v->beta,
        .ldc = n + v->pad,
        .relu = v->relu,
        .batch = 1 };
    void *a = random_storage(dtype, (v->ta ? k : m) * g.lda);
    void *b = random_storage(dtype, (v->tb ? n : k) * g.ldb), *bias = random_storage(dtype, n);
    void *c = random_storage(dtype, m * g.ldc), *first = NULL;
    const size_t bytes = (size_t)(m * g.ldc * item);
    g.a = a;
    g.b = b;
    g.bias = v->bias ? bias : NULL;
    const int used = adzi_cpu_level, best = adzi_cpu_best();
    int differ = 0;
    for (adzi_cpu_level = ADZI_CPU_AVX2; adzi_cpu_level <= best; ++adzi_cpu_level) {
        g.c = malloc(bytes);
        memcpy(g.c, c, bytes);
        adzi_gemm_run(&g);
        if (first == NULL) {
            first = g.c;
            continue;
        }
        differ += memcmp(first, g.c, bytes) != 0;
        free(g.c);
    }
    adzi_cpu_level = used;
    free(a);
    free(b);
    free(c);
    free(bias);
    free(first);
    return differ;
}

void same_bits_on_every_processor(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = { { 1, 1, 1 }, { 1, 17, 33 }, { 17, 1, 33 }, { 2, 9, 40 },
        { 3, 5, 7 }, { 5, 33, 130 }, { 8, 8, 300 }, { 16, 24, 9 }, { 33, 34, 35 }, { 1, 300, 700 },
        { 300, 1, 700 }, { 1, 70, 1024 }, { 4, 200, 500 }, { 3, 300, 250 }, { 9, 300, 400 },
        { 12, 97, 800 }, { 20, 301, 260 }, { 40, 600, 530 }, { 64, 64, 385 }, { 64, 65, 769 },
        { 170, 130, 1601 }, { 97, 390, 257 }, { 300, 16, 500 }, { 13, 200, 1000 }, { 60, 70, 1 } };
    int wrong = 0;
    if (adzi_cpu_best() < ADZI_CPU_AVX512 || adzi_gemm_backend_choice == ADZI_GEMM_BLAS_ALONE) {
        skip(); /* there are no two levels to compare */
    }
    for (size_t s = 0; s < COUNT(shapes) * COUNT(variants) * 2; ++s) {
        const int64_t *size = shapes[s / 2 / COUNT(variants)];
        const variant *v = &variants[s / 2 % COUNT(variants)];
        const adz_dtype dtype = s % 2 == 0 ? ADZ_F32 : ADZ_F64;
        if (levels_that_differ(dtype, size, v) != 0) {
            ++wrong;
            print_error("%s%s%s m %d n %d k %d alpha %g beta %g: bits depend on the processor\n",
                dtype == ADZ_F32 ? "f32" : "f64", v->ta ? " ta" : "", v->tb ? " tb" : "",
                (int)size[0], (int)size[1], (int)size[2], v->alpha, v->beta);
        }
    }
    assert_int_equal(wrong, 0);
}
