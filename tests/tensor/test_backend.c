/* OpenBLAS computes the products if the module with oneDNN cannot be used or refuses them.
 *
 * usage: test_backend MODULE refuses|version|size|nothing|without-avx512|alien
 *
 * MODULE is the module that module_refusing.c makes. For `alien` it is a file that is no module. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <limits.h>
#include <math.h>

#include "adze/adze.h"
#include "base/cpu.h"
#include "tensor/gemm/gemm.h"
#include "tensor/gemm/onednn.h"
#include "tensor/gemm/onednn_file.h"

enum { MOST = 640 * 640 };

static float a[MOST], b[MOST], bias[640], want[MOST], got[MOST];
static const char *kind;
static bool refuses;

static float number(int64_t i)
{
    return (float)(i * 7919 % 257 - 128) / 128;
}

/* The text about a module of this kind that adz_build_info() must contain. */
static const char *reason(void)
{
    return strcmp(kind, "alien") == 0            ? "test_backend.c: "
           : strcmp(kind, "without-avx512") == 0 ? "a module that refuses has none here"
                                                 : "is no module of this adze";
}

static void nothing_that_cannot_be_used_is_loaded(void **state)
{
    (void)state;
    assert_string_equal(adzi_gemm_backend_info(), "oneDNN not needed yet");
    const adzi_gemm_backend *backend = adzi_gemm_backend_get();
    const char *info = adzi_gemm_backend_info();
    if (refuses) {
        assert_string_equal(info, "a module that refuses (none)");
        assert_string_equal(adz_matmul_precision_info(),
            adzi_cpu_has_fast_bf16() ? "medium: bf16 on AVX512_BF16, by adze's own loops"
                                     : "medium: bf16 on AMX, by a module that refuses");
    } else {
        assert_null(backend);
        assert_memory_equal(info, "no oneDNN (", strlen("no oneDNN ("));
        if (strstr(info, reason()) == NULL) {
            fail_msg("%s does not say %s", info, reason());
        }
        assert_non_null(strstr(adz_matmul_precision_info(),
            adzi_cpu_has_fast_bf16() ? "AVX512_BF16" : "multiplied in f32 (no oneDNN"));
    }
    assert_non_null(strstr(adz_build_info(), adzi_gemm_backend_info()));
}

static void compare(const adzi_gemm_args *g, double tolerance)
{
    for (int64_t i = 0; i < g->batch * g->stride_c; ++i) {
        assert_true(fabs((double)want[i] - got[i]) <= tolerance);
    }
}

/* Products with all transposes, with one item and two, with and without bias and beta. The module
 * gives prepared code for the even k and none for the odd one. */
static void what_the_module_refuses_is_computed(void **state)
{
    (void)state;
    static const adzi_gemm_choice ways[] = { ADZI_GEMM_BY_RULE, ADZI_GEMM_MODULE_STRIDED,
        ADZI_GEMM_MODULE_PREPARED };
    for (int i = 0; i < 3 * 32; ++i) {
        int64_t m = 40, n = 600, k = i & 1 ? 101 : 100, batch = i & 16 ? 2 : 1;
        bool ta = i & 2, tb = i & 4;
        adzi_gemm_args g = { .dtype = ADZ_F32,
            .ta = ta,
            .tb = tb,
            .m = m,
            .n = n,
            .k = k,
            .alpha = 1.5,
            .a = a,
            .lda = ta ? m : k,
            .b = b,
            .ldb = tb ? k : n,
            .beta = i & 8 ? 0.5 : 0,
            .c = want,
            .ldc = n,
            .bias = i & 8 ? bias : NULL,
            .batch = batch,
            .stride_a = m * k,
            .stride_b = n * k,
            .stride_c = m * n };
        for (int64_t e = 0; e < batch * m * n; ++e) {
            want[e] = got[e] = number(e + i);
        }
        adzi_gemm_backend_choice = ADZI_GEMM_BLAS_ALONE;
        adzi_gemm_run(&g);
        adzi_gemm_backend_choice = ways[i / 32];
        g.c = got;
        adzi_gemm_run(&g);
        compare(&g, 1e-4);
        for (int64_t e = 0; e < batch * m * n; ++e) {
            got[e] = number(e + i);
        }
        adz_set_matmul_precision(ADZ_MATMUL_MEDIUM);
        adzi_gemm_run(&g);
        adz_set_matmul_precision(ADZ_MATMUL_HIGHEST);
        compare(&g, 0.5);
    }
    adzi_gemm_backend_choice = ADZI_GEMM_BY_RULE;
    assert_true(refuses == (adzi_gemm_backend_products() > 0));
    assert_int_equal(adz_error_code(), ADZ_OK);
}

/* A product in bf16 whose leading dimension does not fit BLAS's integers. */
static void rows_far_apart_are_computed(void **state)
{
    (void)state;
    adzi_gemm_args g = { .dtype = ADZ_F32,
        .m = 60,
        .n = 80,
        .k = 60,
        .alpha = 1,
        .a = a,
        .lda = 600,
        .b = b,
        .ldb = 600,
        .c = want,
        .ldc = 600,
        .bias = bias,
        .batch = 1 };
    adzi_gemm_run(&g);
    int64_t limit = adzi_gemm_size_limit;
    adzi_gemm_size_limit = 500;
    g.c = got;
    adz_set_matmul_precision(ADZ_MATMUL_MEDIUM);
    adzi_gemm_run(&g);
    adz_set_matmul_precision(ADZ_MATMUL_HIGHEST);
    adzi_gemm_size_limit = limit;
    for (int64_t i = 0; i < g.m; ++i) {
        for (int64_t j = 0; j < g.n; ++j) {
            assert_true(fabs((double)want[i * 600 + j] - got[i * 600 + j]) < 0.3);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        return EXIT_FAILURE;
    }
    kind = argv[2];
    refuses = strcmp(kind, "refuses") == 0;
    char module[PATH_MAX];
    if (realpath(argv[1], module) == NULL) {
        return EXIT_FAILURE;
    }
    setenv("ADZE_ONEDNN", module, 1);
    setenv("ADZE_TEST_MODULE", kind, 1);
    static adzi_gemm_place place;
    adzi_gemm_module_find(&place);
    if (place.path[0] == '\0') { /* the module was refused: everybody may change the build tree */
        print_message("%s\n", place.why_not);
        return 77;
    }
    for (int64_t i = 0; i < MOST; ++i) {
        a[i] = number(i);
        b[i] = number(3 * i + 1);
        bias[i % 640] = number(i + 5);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_that_cannot_be_used_is_loaded),
        cmocka_unit_test(what_the_module_refuses_is_computed),
        cmocka_unit_test(rows_far_apart_are_computed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
