/* Products of all sizes, transposes and factors are right. */
#include "base/alloc.h"
#include "problem.h"
#include "tests.h"

void sizes_and_transposes_on_every_level(void **state)
{
    (void)state;
    /* Other libraries are trusted with the sizes in the second half. */
    static const int64_t sizes[] = { 0, 1, 3, 7, 33, 257, 2, 31, 48, 49, 100 };
    const adzi_gemm_choice choice = adzi_gemm_backend_choice;
    const size_t count = choice == ADZI_GEMM_BY_RULE || choice == ADZI_GEMM_OURS ? COUNT(sizes) : 6;
    int used = adzi_cpu_level;
    for (size_t i = 0; i < count * count * count; ++i) {
        int64_t m = sizes[i % count], n = sizes[i / count % count], k = sizes[i / count / count];
        bool ours = m * n * k <= adzi_gemm_small_limit || choice >= ADZI_GEMM_OURS;
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

/* All combinations of factors, bias and padding, for sizes that have code of their own. */
void factors_bias_and_padding(void **state)
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
                (bits & 8) != 0, bits & 16 ? 5 : 0, 0, bits % 3 == 0 };
            adzi_cpu_level = (int)(rest / COUNT(factors));
            for (; adzi_cpu_level <= adzi_cpu_best() && w.dense < (w.pad > 0 ? 7 : 1); ++w.dense) {
                expect_right(&p, &w);
            }
        }
        free_problem(&p);
    }
    adzi_cpu_level = used;
}

/* The loops of adze compute sizes that BLAS would compute, and BLAS computes sizes of the loops. */
void either_way_is_right(void **state)
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

/* The largest integer of BLAS is lowered: larger sizes are divided, and a larger leading dimension
 * goes to the loops of adze. */
void sizes_beyond_blas_integers(void **state)
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

/* All sizes of C up to 40 x 40, which are one to several tiles with every possible rest, at every
 * instruction set of our tiles. */
void edges_of_tiles(void **state)
{
    (void)state;
    static const int64_t depths[] = { 1, 5, 40 };
    const int64_t limit = adzi_gemm_small_limit;
    const int used = adzi_cpu_level;
    if (adzi_gemm_backend_choice != ADZI_GEMM_OURS) {
        skip();
    }
    adzi_gemm_small_limit = 0;
    for (int64_t i = 0; i < 40 * 40; ++i) {
        problem p = make_problem(i % 40 + 1, i / 40 + 1, depths[(i + i / 40) % 3]);
        for (adzi_cpu_level = 0; adzi_cpu_level <= adzi_cpu_best(); ++adzi_cpu_level) {
            solve_all_ways(&p);
        }
        adzi_cpu_level = used;
        free_problem(&p);
    }
    adzi_gemm_small_limit = limit;
}

/* Large products with full and partial blocks, with and without memory for packed panels. Few rows
 * and many columns make products that our tiles compute as C^T = B A^T where B is transposed. The
 * shape of 170 rows has two layers of k and two blocks of rows, and tiles copy its strips. Those of
 * 1 to 9 rows are dot products, and so are the last rows of 20 and of 40 with AVX-512. */
void large_products_in_blocks(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = { { 999, 40, 200 }, { 41, 1601, 30 }, { 53, 50, 800 },
        { 500, 61, 193 }, { 9, 800, 400 }, { 64, 64, 385 }, { 2, 131, 600 }, { 40, 333, 521 },
        { 96, 390, 300 }, { 97, 390, 257 }, { 17, 70, 3000 }, { 170, 1030, 800 }, { 6, 301, 257 },
        { 3, 300, 250 }, { 1, 70, 1024 }, { 20, 301, 260 } };
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
