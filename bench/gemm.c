/* Measures matrix products: small ones in our loops and in BLAS, large ones cut by us and by
 * OpenBLAS's own threads. It prints and checks nothing.
 *
 * usage: bench-gemm [small|cross|cuts|large|backends|backends64|half|ways]
 *
 * Without an argument it runs all parts but the last three. `half` compares weights in half
 * precision with weights in f32. `ways` prints the table that says which
 * implementation gets a product. */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "adze/base.h"
#include "tensor/gemm/gemm.h"
#include "base/threads/parallel.h"

enum { TRIES = 15 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *filled(adz_dtype dtype, int64_t count)
{
    void *values = aligned_alloc(64, (size_t)(count + 16) * 8 / 64 * 64 + 64);
    for (int64_t i = 0; i < count; ++i) {
        double value = (double)(i * 7919 % 1009) / 1009.0 - 0.5;
        if (dtype == ADZ_F32) {
            ((float *)values)[i] = (float)value;
        } else {
            ((double *)values)[i] = value;
        }
    }
    return values;
}

typedef struct problem {
    adzi_gemm_args g;
    void *a, *b, *c;
} problem;

static problem make(adz_dtype dtype, bool ta, bool tb, int64_t m, int64_t n, int64_t k)
{
    problem p = { .a = filled(dtype, m * k), .b = filled(dtype, k * n), .c = filled(dtype, m * n) };
    p.g = (adzi_gemm_args){ .dtype = dtype,
        .ta = ta,
        .tb = tb,
        .m = m,
        .n = n,
        .k = k,
        .alpha = 1,
        .a = p.a,
        .lda = ta ? m : k,
        .b = p.b,
        .ldb = tb ? k : n,
        .c = p.c,
        .ldc = n,
        .batch = 1 };
    return p;
}

static void unmake(problem *p)
{
    free(p->a);
    free(p->b);
    free(p->c);
}

static void straight_to_blas(const adzi_gemm_args *g)
{
    CBLAS_TRANSPOSE ta = g->ta ? CblasTrans : CblasNoTrans, tb = g->tb ? CblasTrans : CblasNoTrans;
    int m = (int)g->m, n = (int)g->n, k = (int)g->k;
    int lda = (int)g->lda, ldb = (int)g->ldb, ldc = (int)g->ldc;
    if (g->dtype == ADZ_F32) {
        cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, 1, g->a, lda, g->b, ldb, 0, g->c, ldc);
    } else {
        cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, 1, g->a, lda, g->b, ldb, 0, g->c, ldc);
    }
}

/* Seconds of one call: the best of several rounds of some milliseconds each. */
static double time_of(void (*call)(const adzi_gemm_args *), const adzi_gemm_args *g, double round)
{
    double best = 1e9;
    int64_t repeats = 1;
    for (int t = 0; t < TRIES;) {
        double start = now();
        for (int64_t i = 0; i < repeats; ++i) {
            call(g);
        }
        double took = now() - start;
        if (took < round && repeats < 1 << 24) {
            repeats = took < round / 100 ? repeats * 10 : (int64_t)((double)repeats * 1.5) + 1;
            continue;
        }
        best = took / (double)repeats < best ? took / (double)repeats : best;
        ++t;
    }
    return best;
}

static void nothing(const void *args, int64_t begin, int64_t end)
{
    (void)args;
    (void)begin;
    (void)end;
}

static void launch_small(const adzi_gemm_args *g)
{
    adzi_launch(nothing, adzi_gemm_args, g, g->m, 64);
}

static void launch_cut(const adzi_gemm_args *g)
{
    adzi_launch(nothing, adzi_gemm_args, g, g->m, 1);
}

/* The products of the first network: Linear(1, 32), ReLU, Linear(32, 1) on 32 rows. */
static void small_products(void)
{
    static const struct {
        const char *what;
        bool ta, tb;
        int64_t m, n, k;
    } list[] = {
        { "forward 1   x[32,1] W[32,1]^T", false, true, 32, 32, 1 },
        { "forward 2   h[32,32] W[1,32]^T", false, true, 32, 1, 32 },
        { "dh          dy[32,1] W[1,32]", false, false, 32, 32, 1 },
        { "dW 2        dy[32,1]^T h[32,32]", true, false, 1, 32, 32 },
        { "dW 1        dz[32,32]^T x[32,1]", true, false, 32, 1, 32 },
        { "dx          dz[32,32] W[32,1]", false, false, 32, 1, 32 },
        { "8 8 8", false, false, 8, 8, 8 },
        { "8 8 8 tb", false, true, 8, 8, 8 },
        { "32 32 32", false, false, 32, 32, 32 },
        { "32 32 32 ta", true, false, 32, 32, 32 },
        { "32 32 32 tb", false, true, 32, 32, 32 },
        { "32 32 32 ta tb", true, true, 32, 32, 32 },
        { "64 32 8 tb", false, true, 64, 32, 8 },
        { "64 8 32 tb", false, true, 64, 8, 32 },
        { "mlp forward x[128,13] W[50,13]^T", false, true, 128, 50, 13 },
        { "mlp dW      dz[128,50]^T x[128,13]", true, false, 50, 13, 128 },
    };
    printf(
        "%-34s %10s %10s %10s %10s\n", "small products, ns", "f32", "f32 BLAS", "f64", "f64 BLAS");
    int64_t limit = adzi_gemm_small_limit;
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i) {
        printf("%-34s", list[i].what);
        for (int d = 0; d < 2; ++d) {
            problem p = make(d == 0 ? ADZ_F32 : ADZ_F64, list[i].ta, list[i].tb, list[i].m,
                list[i].n, list[i].k);
            adzi_gemm_small_limit = 1 << 19;
            double ours = time_of(adzi_gemm_run, &p.g, 2e-3);
            adzi_gemm_small_limit = 0;
            adzi_gemm_backend_choice = ADZI_GEMM_BLAS_ALONE;
            double blas = time_of(adzi_gemm_run, &p.g, 2e-3);
            adzi_gemm_backend_choice = ADZI_GEMM_BY_RULE;
            adzi_gemm_small_limit = limit;
            printf(" %10.1f %10.1f", ours * 1e9, blas * 1e9);
            unmake(&p);
        }
        printf("\n");
    }
}

/* Where tiles overtake the loops for small products: the time of the loops over that of the tiles,
 * by size and transpose. */
static void crossover(void)
{
    static const int64_t shapes[][3] = { { 8, 8, 8 }, { 16, 16, 16 }, { 24, 24, 24 },
        { 32, 32, 32 }, { 40, 40, 40 }, { 48, 48, 48 }, { 64, 64, 64 }, { 32, 64, 8 },
        { 128, 16, 16 }, { 16, 128, 16 }, { 16, 16, 128 }, { 256, 4, 32 }, { 4, 256, 32 },
        { 1, 128, 128 }, { 128, 1, 128 }, { 1, 256, 256 }, { 256, 1, 256 }, { 256, 256, 1 },
        { 2, 128, 128 }, { 8, 64, 64 }, { 7, 31, 33 }, { 80, 80, 80 }, { 128, 64, 64 },
        { 128, 128, 128 }, { 12, 512, 128 }, { 12, 128, 512 }, { 512, 128, 12 }, { 192, 192, 192 },
        { 256, 256, 256 }, { 16, 512, 512 }, { 8, 13, 500 }, { 500, 13, 8 }, { 13, 500, 8 },
        { 8, 500, 13 }, { 10, 2000, 40 }, { 2000, 10, 40 }, { 40, 2000, 10 }, { 50, 130, 40 },
        { 40, 130, 50 } };
    printf("\nsmall loops / tiles         NN    TN    NT    TT      NN    TN    NT    TT\n");
    int64_t limit = adzi_gemm_small_limit;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
        const int64_t *z = shapes[s];
        printf("%4d %4d %4d   ", (int)z[0], (int)z[1], (int)z[2]);
        for (int bits = 0; bits < 8; ++bits) {
            problem p = make(
                bits < 4 ? ADZ_F32 : ADZ_F64, (bits & 1) != 0, (bits & 2) != 0, z[0], z[1], z[2]);
            adzi_gemm_small_limit = 1 << 24;
            double small = time_of(adzi_gemm_run, &p.g, 5e-4);
            adzi_gemm_small_limit = 0;
            adzi_gemm_backend_choice = ADZI_GEMM_OURS;
            double tiles = time_of(adzi_gemm_run, &p.g, 5e-4);
            adzi_gemm_backend_choice = ADZI_GEMM_BY_RULE;
            printf("%s%6.2f", bits % 4 == 0 ? "  f" : "", small / tiles);
            unmake(&p);
        }
        printf("\n");
    }
    adzi_gemm_small_limit = limit;
}

static const int64_t large_shapes[][3] = { { 256, 256, 256 }, { 512, 512, 512 },
    { 1024, 1024, 1024 }, { 64, 3072, 768 }, { 64, 768, 3072 }, { 1024, 768, 3072 },
    { 1024, 3072, 768 }, { 3072, 768, 1024 }, { 4000, 96, 100 }, { 96, 4000, 100 },
    { 128, 128, 4000 }, { 10000, 64, 64 }, { 1, 4096, 4096 }, { 4096, 1, 4096 } };
enum { LARGE_SHAPES = sizeof large_shapes / sizeof *large_shapes };

static int64_t parts_in_a_row;

/* The parts of a launch one after the other, so that only the cutting is measured. */
static void one_after_the_other(
    adzi_kernel kernel, const void *args, size_t size, int64_t units, int64_t grain)
{
    (void)size;
    int64_t parts = units / grain < parts_in_a_row ? units / grain : parts_in_a_row;
    int64_t length = parts > 0 ? (units + parts - 1) / parts : units;
    for (int64_t begin = 0; begin < units; begin += length) {
        kernel(args, begin, begin + length < units ? begin + length : units);
    }
}

static void cuts(void)
{
    printf(
        "\nwhat cutting costs: time of 2 parts, of 4 parts and of the deterministic blocks, all on one thread, over one call's; f32 NT, then f64 NN\n");
    adz_set_num_threads(1);
    for (size_t s = 0; s < LARGE_SHAPES; ++s) {
        const int64_t *z = large_shapes[s];
        printf("%5d %5d %5d  ", (int)z[0], (int)z[1], (int)z[2]);
        for (int d = 0; d < 2; ++d) {
            problem p = make(d == 0 ? ADZ_F32 : ADZ_F64, false, d == 0, z[0], z[1], z[2]);
            double whole = time_of(adzi_gemm_run, &p.g, 1e-2);
            atomic_store(&adzi_launch_observer, one_after_the_other);
            for (parts_in_a_row = 2; parts_in_a_row <= 4; parts_in_a_row += 2) {
                printf(" %6.3f", time_of(adzi_gemm_run, &p.g, 1e-2) / whole);
            }
            atomic_store(&adzi_launch_observer, NULL);
            adz_set_deterministic(true);
            printf(" %6.3f   ", time_of(adzi_gemm_run, &p.g, 1e-2) / whole);
            adz_set_deterministic(false);
            unmake(&p);
        }
        printf("\n");
    }
    adz_set_num_threads(0);
}

static void large_products(void)
{
    int threads = adz_get_num_threads();
    printf(
        "\nlarge products, f32 NT and f64 NN: GFlop/s with 1 thread, then with %d: ours, deterministic, and OpenBLAS's own threads\n",
        threads);
    for (size_t s = 0; s < LARGE_SHAPES; ++s) {
        const int64_t *z = large_shapes[s];
        printf("%5d %5d %5d  ", (int)z[0], (int)z[1], (int)z[2]);
        for (int d = 0; d < 2; ++d) {
            problem p = make(d == 0 ? ADZ_F32 : ADZ_F64, false, d == 0, z[0], z[1], z[2]);
            double work = 2e-9 * (double)z[0] * (double)z[1] * (double)z[2];
            adz_set_num_threads(1);
            double one = time_of(adzi_gemm_run, &p.g, 2e-2);
            adz_set_num_threads(threads);
            double ours = time_of(adzi_gemm_run, &p.g, 2e-2);
            adz_set_deterministic(true);
            double fixed = time_of(adzi_gemm_run, &p.g, 2e-2);
            adz_set_deterministic(false);
            openblas_set_num_threads(threads);
            double blas = time_of(straight_to_blas, &p.g, 2e-2);
            printf(
                "   %7.1f | %7.1f %7.1f %7.1f", work / one, work / ours, work / fixed, work / blas);
            unmake(&p);
        }
        printf("\n");
    }
}

/* ---- OpenBLAS and our tiles ------------------------------------------------------------------ */

enum { WAYS = 3, ROUNDS = 15 };

/* Seconds of the calling thread on a processor: other programs' share does not count. */
static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* OpenBLAS's seconds, and how many times as fast each way is: medians of ratios within a round,
 * because the clock of a shared machine changes from second to second. With one thread its
 * processor time counts, with more the clock's. */
static void time_ways(const adzi_gemm_args *g, bool alone, double out[WAYS])
{
    static const adzi_gemm_choice ways[WAYS] = { ADZI_GEMM_BLAS_ALONE, ADZI_GEMM_OURS,
        ADZI_GEMM_BY_RULE };
    double work = 2.0 * (double)g->m * (double)g->n * (double)g->k;
    double found[WAYS][ROUNDS];
    int repeats = work < 3e7 ? (int)(3e7 / work) + 1 : 1;
    for (int round = -1; round < ROUNDS; ++round) {
        double blas = 0;
        for (int w = 0; w < WAYS; ++w) {
            adzi_gemm_backend_choice = ways[w];
            double start = alone ? cpu_now() : now();
            for (int i = 0; i < repeats; ++i) {
                adzi_gemm_run(g);
            }
            double took = ((alone ? cpu_now() : now()) - start) / repeats;
            blas = w == 0 ? took : blas;
            found[w][round < 0 ? 0 : round] = w == 0 ? took : blas / took;
        }
    }
    for (int w = 0; w < WAYS; ++w) {
        qsort(found[w], ROUNDS, sizeof found[w][0], by_value);
        out[w] = found[w][ROUNDS / 2];
    }
    adzi_gemm_backend_choice = ADZI_GEMM_BY_RULE;
}

/* The three products of a linear layer [rows, in] -> [rows, out], by number of rows. */
static void backends(adz_dtype dtype)
{
    static const int64_t layers[][2] = { { 512, 2048 }, { 2048, 512 }, { 768, 3072 }, { 3072, 768 },
        { 333, 1000 }, { 1000, 333 }, { 130, 50 }, { 2000, 10 }, { 13, 500 }, { 8000, 1 } };
    static const int64_t rows[] = { 1, 4, 8, 40, 128, 200, 512, 2000 };
    int threads = adz_get_num_threads();
    printf(
        "\none linear layer's products, %s: OpenBLAS in microseconds, and how many times as fast are our tiles, and what the rule chooses; with 1 thread, then with %d\n",
        adz_dtype_name(dtype), threads);
    for (size_t s = 0; s < sizeof layers / sizeof *layers * 3; ++s) {
        for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r) {
            int64_t in = layers[s / 3][0], out = layers[s / 3][1], n = rows[r];
            problem p = s % 3 == 0   ? make(dtype, false, true, n, out, in)
                        : s % 3 == 1 ? make(dtype, false, false, n, in, out)
                                     : make(dtype, true, false, out, in, n);
            static const char *const names[] = { "NT", "NN", "TN" };
            if ((double)n * (double)in * (double)out > 2e9) {
                unmake(&p);
                continue;
            }
            printf("%s %5d %5d %5d", names[s % 3], (int)p.g.m, (int)p.g.n, (int)p.g.k);
            for (int t = 0; t < (threads > 1 ? 2 : 1); ++t) {
                double found[WAYS];
                adz_set_num_threads(t == 0 ? 1 : threads);
                time_ways(&p.g, t == 0, found);
                printf(" | %9.1f ", found[0] * 1e6);
                for (int w = 1; w < WAYS; ++w) {
                    printf(" %5.2f", found[w]);
                }
            }
            printf("\n");
            fflush(stdout);
            unmake(&p);
        }
    }
    adz_set_num_threads(0);
}

/* The median over rounds of the time with a weight in f32, divided by the time with one in half
 * precision; one thread, whose processor time counts. */
static double gain_of_half(const adzi_gemm_args *wide, const adzi_gemm_args *half)
{
    const double work = 2.0 * (double)wide->m * (double)wide->n * (double)wide->k;
    const int repeats = work < 3e7 ? (int)(3e7 / work) + 1 : 1;
    double found[ROUNDS];
    for (int round = -1; round < ROUNDS; ++round) {
        double took[2];
        for (int w = 0; w < 2; ++w) {
            const double start = cpu_now();
            for (int i = 0; i < repeats; ++i) {
                adzi_gemm_run(w == 0 ? wide : half);
            }
            took[w] = cpu_now() - start;
        }
        found[round < 0 ? 0 : round] = took[0] / took[1];
    }
    qsort(found, ROUNDS, sizeof found[0], by_value);
    return found[ROUNDS / 2];
}

/* Linear layers whose weight is stored in two bytes, as [out, in] (NT) and as [in, out] (NN). */
static void half_weights(void)
{
    static const int64_t layers[][2] = { { 768, 3072 }, { 3072, 768 }, { 4096, 4096 } };
    static const int64_t rows[] = { 1, 8, 32, 128 };
    printf("\nhow many times as fast is a weight in bf16, and in f16, as one in f32; 1 thread\n");
    adz_set_num_threads(1);
    for (size_t s = 0; s < sizeof layers / sizeof *layers * 2; ++s) {
        for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r) {
            const bool tb = s % 2 == 0;
            problem p = make(ADZ_F32, false, tb, rows[r], layers[s / 2][1], layers[s / 2][0]);
            adzi_gemm_args half = p.g;
            uint16_t *weight = malloc((size_t)(p.g.n * p.g.k) * sizeof *weight);
            for (int64_t i = 0; i < p.g.n * p.g.k; ++i) { /* around 0.5 as f16, and tiny as bf16 */
                weight[i] = (uint16_t)(0x3800 + i % 127);
            }
            half.b = weight;
            printf("%s %5d %5d %5d", tb ? "NT" : "NN", (int)p.g.m, (int)p.g.n, (int)p.g.k);
            for (int f16 = 0; f16 < 2; ++f16) {
                half.b_stored = f16 ? ADZ_F16 : ADZ_BF16;
                printf(" %5.2f", gain_of_half(&p.g, &half));
            }
            printf("\n");
            fflush(stdout);
            free(weight);
            unmake(&p);
        }
    }
    adz_set_num_threads(0);
}

/* The table that says which implementation gets a product. */
static void ways(void)
{
    for (int i = 0; i < adzi_gemm_n_algorithms; ++i) {
        const adzi_gemm_algorithm *algorithm = &adzi_gemm_algorithms[i];
        printf("%-24s %s\n%24s (%s)\n", algorithm->name, algorithm->what, "", algorithm->why);
    }
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    printf("%s\n\n", adz_build_info());
    if (part[0] == '\0' || strcmp(part, "small") == 0) {
        adzi_gemm_args g = { .m = 64 };
        printf("a launch that stays here: %.1f ns; one that is cut: %.0f ns\n\n",
            1e9 * time_of(launch_small, &g, 1e-3), 1e9 * time_of(launch_cut, &g, 1e-3));
        small_products();
    }
    if (part[0] == '\0' || strcmp(part, "cross") == 0) {
        crossover();
    }
    if (part[0] == '\0' || strcmp(part, "cuts") == 0) {
        cuts();
    }
    if (part[0] == '\0' || strcmp(part, "large") == 0) {
        large_products();
    }
    if (part[0] == '\0' || strcmp(part, "backends") == 0) {
        backends(ADZ_F32);
    }
    if (strcmp(part, "ways") == 0) {
        ways();
    }
    if (strcmp(part, "half") == 0) {
        half_weights();
    }
    if (strcmp(part, "backends64") == 0) {
        backends(ADZ_F64);
    }
    return 0;
}
