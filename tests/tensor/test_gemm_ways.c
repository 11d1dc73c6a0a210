/* Which implementation the table in gemm.c chooses for a product. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "adze/base.h"
#include "adze/ops.h"
#include "adze/precision.h"
#include "adze/scope.h"
#include "adze/sequences.h"
#include "base/cpu.h"
#include "tensor/gemm/cut.h"
#include "tensor/gemm/loops.h"
#include "tensor/kernel/registers.h"

static adzi_gemm_args product(adz_dtype dtype, bool ta, bool tb, int64_t m, int64_t n, int64_t k)
{
    return (adzi_gemm_args){ .dtype = dtype,
        .ta = ta,
        .tb = tb,
        .m = m,
        .n = n,
        .k = k,
        .alpha = 1,
        .lda = ta ? m : k,
        .ldb = tb ? k : n,
        .ldc = n,
        .batch = 1 };
}

static void expect(const adzi_gemm_args *args, const char *name)
{
    const char *found = adzi_gemm_algorithm_of(args)->name;
    if (strcmp(found, name) != 0) {
        fail_msg("%d x %d x %d goes to %s instead of %s", (int)args->m, (int)args->n, (int)args->k,
            found, name);
    }
}

/* Who computes large products that are not for our loops by the rules. */
static const char *blas(void)
{
    return adzi_blas_missing() == NULL ? "OpenBLAS" : "tiles";
}

static int by_rule(void **state)
{
    (void)state;
    adzi_gemm_backend_choice = ADZI_GEMM_BY_RULE;
    adzi_gemm_bf16_choice = ADZI_BF16_BY_RULE;
    adz_set_matmul_precision(ADZ_MATMUL_HIGHEST);
    return 0;
}

static void every_row_is_complete(void **state)
{
    (void)state;
    assert_true(adzi_gemm_n_algorithms > 1);
    for (int i = 0; i < adzi_gemm_n_algorithms; ++i) {
        const adzi_gemm_algorithm *algorithm = &adzi_gemm_algorithms[i];
        assert_non_null(algorithm->supports);
        assert_non_null(algorithm->run);
        assert_true(strlen(algorithm->name) > 0 && strlen(algorithm->what) > 0 &&
                    strlen(algorithm->why) > 0);
    }
    adzi_gemm_args any = product(ADZ_F32, false, false, 1, 1, 1);
    assert_true(adzi_gemm_algorithms[adzi_gemm_n_algorithms - 1].supports(&any));
}

static void integers_have_loops_of_their_own(void **state)
{
    (void)state;
    static const adz_dtype integers[] = { ADZ_I32, ADZ_I64, ADZ_U8 };
    for (int i = 0; i < 3; ++i) {
        adzi_gemm_args g = product(integers[i], false, false, 500, 500, 500);
        expect(&g, "integer loops");
    }
}

static void small_products_stay_in_small_loops(void **state)
{
    (void)state;
    adzi_gemm_backend_choice = ADZI_GEMM_BLAS_ALONE;
    static const struct {
        adz_dtype dtype;
        bool ta, tb;
        int64_t m, n, k;
        bool small;
    } cases[] = {
        { ADZ_F32, false, false, 32, 32, 64, true },
        { ADZ_F32, true, false, 32, 32, 65, false },
        { ADZ_F32, false, false, 1, 512, 512, true }, /* a short side: four times as much */
        { ADZ_F32, false, false, 512, 1, 513, false },
        { ADZ_F32, false, true, 15, 34, 512, true },
        { ADZ_F32, false, true, 16, 34, 512, false },
        { ADZ_F64, false, false, 32, 32, 32, true }, /* f64: half the limit */
        { ADZ_F64, false, false, 32, 32, 33, false },
        { ADZ_F32, false, false, 500, 500, 0, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        adzi_gemm_args g =
            product(cases[i].dtype, cases[i].ta, cases[i].tb, cases[i].m, cases[i].n, cases[i].k);
        expect(&g, cases[i].small ? "small loops" : blas());
    }
    adzi_gemm_args nothing = product(ADZ_F32, false, false, 500, 500, 500);
    nothing.alpha = 0;
    expect(&nothing, "small loops");
}

static void sides_whose_product_overflows_are_large(void **state)
{
    (void)state;
    adzi_gemm_backend_choice = ADZI_GEMM_BLAS_ALONE;
    adzi_gemm_args g = product(ADZ_F32, false, false, INT64_C(1) << 22, INT64_C(1) << 21, 1 << 21);
    expect(&g, blas());
}

static void sizes_beyond_the_integers_of_blas_go_to_tiles(void **state)
{
    (void)state;
    const int64_t limit = adzi_gemm_size_limit;
    if (adzi_blas_missing() != NULL) {
        skip();
    }
    adzi_gemm_size_limit = 1000;
    adzi_gemm_args g = product(ADZ_F32, false, false, 200, 200, 200);
    adzi_gemm_backend_choice = ADZI_GEMM_BLAS_ALONE;
    expect(&g, blas());
    int64_t *const sizes[] = { &g.lda, &g.ldb, &g.ldc, &g.m, &g.n, &g.k };
    for (int i = 0; i < 6; ++i) {
        *sizes[i] = 1001;
        expect(&g, "tiles");
        *sizes[i] = 1000;
        expect(&g, blas());
    }
    adzi_gemm_size_limit = limit;
}

static void choices_of_tests_are_followed(void **state)
{
    (void)state;
    adzi_gemm_args g = product(ADZ_F32, false, false, 200, 300, 400);
    adzi_gemm_backend_choice = ADZI_GEMM_OURS;
    expect(&g, "tiles");
    adzi_gemm_args vector = product(ADZ_F32, false, false, 1, 3000, 400);
    expect(&vector, "tiles");
    adzi_gemm_backend_choice = ADZI_GEMM_BLAS_ALONE;
    expect(&vector, blas());
}

/* With fused multiply-adds the shape alone decides. */
static void tiles_get_all_matrices_with_vectors(void **state)
{
    (void)state;
    static const struct {
        bool ta, tb;
        int64_t m, n, k;
        const char *name;
    } cases[] = {
        { false, true, 40, 2048, 512, "tiles, W in place" },
        { false, false, 512, 512, 512, "tiles" },
        { true, false, 2048, 2048, 2048, "tiles" },
        { true, false, 512, 16, 512, "tiles" },
        { false, true, 8, 300, 400, "dot products" },
        { false, true, 8, 300, 200, "tiles" },
    };
    const int used = adzi_cpu_level;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        for (int bits = 0; bits < 6; ++bits) {
            const adz_dtype dtype = bits % 2 == 0 ? ADZ_F32 : ADZ_F64;
            adzi_gemm_args g =
                product(dtype, cases[i].ta, cases[i].tb, cases[i].m, cases[i].n, cases[i].k);
            adzi_cpu_level = bits / 2;
            if (adzi_cpu_level <= adzi_cpu_best()) {
                expect(&g, adzi_has_fused() ? cases[i].name : blas());
            }
        }
    }
    adzi_cpu_level = used;
}

/* Vectors are dot products of rows, or sums of rows of B or A^T. */
static void vectors_are_dot_products_or_sums_of_rows(void **state)
{
    (void)state;
    const int used = adzi_cpu_level;
    adzi_gemm_args row = product(ADZ_F32, false, true, 1, 3000, 400);
    adzi_gemm_args column = product(ADZ_F64, false, false, 3000, 1, 400);
    adzi_gemm_args row_of_sums = product(ADZ_F32, false, false, 1, 3000, 400);
    adzi_gemm_args column_of_sums = product(ADZ_F32, true, false, 3000, 1, 400);
    for (adzi_cpu_level = 0; adzi_cpu_level <= adzi_cpu_best(); ++adzi_cpu_level) {
        const bool ours = adzi_has_fused();
        expect(&row, ours ? "dot products" : blas());
        expect(&column, ours ? "dot products" : blas());
        expect(&row_of_sums, ours ? "tiles" : blas());
        expect(&column_of_sums, ours ? "tiles" : blas());
    }
    adzi_cpu_level = used;
}

static void a_user_may_choose_the_blas(void **state)
{
    (void)state;
    adzi_gemm_args g = product(ADZ_F32, false, true, 40, 2048, 512);
    adzi_gemm_args few = product(ADZ_F64, false, true, 8, 300, 400);
    adzi_gemm_args small = product(ADZ_F32, false, false, 32, 32, 32);
    const char *said = adz_build_info();
    assert_null(strstr(said, "products by BLAS"));
    assert_int_equal(adz_get_gemm_backend(), ADZ_GEMM_OWN);
    if (adzi_blas_missing() != NULL) {
        assert_int_equal(adz_set_gemm_backend(ADZ_GEMM_BLAS), ADZ_ERR_UNSUPPORTED);
        assert_non_null(strstr(adz_error_message(), "-Dblas=openblas"));
        adz_error_clear();
        assert_int_equal(adz_get_gemm_backend(), ADZ_GEMM_OWN);
        assert_non_null(strstr(said, "no BLAS"));
        return;
    }
    assert_int_equal(adz_set_gemm_backend(ADZ_GEMM_BLAS), ADZ_OK);
    assert_int_equal(adz_get_gemm_backend(), ADZ_GEMM_BLAS);
    assert_non_null(strstr(adz_build_info(), "products by BLAS"));
    expect(&g, blas());
    expect(&few, blas());
    expect(&small, "small loops");
    assert_int_equal(adz_set_gemm_backend((adz_gemm_backend)2), ADZ_ERR_ARGUMENT);
    assert_non_null(strstr(adz_error_message(), "adz_set_gemm_backend"));
    adz_error_clear();
    assert_int_equal(adz_get_gemm_backend(), ADZ_GEMM_BLAS);
    assert_int_equal(adz_set_gemm_backend(ADZ_GEMM_OWN), ADZ_OK);
    if (adzi_has_fused()) {
        expect(&g, "tiles, W in place");
    }
}

/* Run as `test_gemm_ways environment VALUE` with ADZE_PRODUCTS=VALUE. */
static int check_environment(const char *value)
{
    const bool asked = strcmp(value, "blas") == 0, gets = asked && adzi_blas_missing() == NULL;
    const char *why = asked && !gets ? "ADZE_PRODUCTS=blas ignored: this build has no BLAS"
                      : !asked && strcmp(value, "own") != 0 ? "ignored: it is neither own nor blas"
                                                            : NULL;
    const char *info = adz_build_info();
    const bool said = why != NULL ? strstr(info, why) != NULL : strstr(info, "ignored") == NULL;
    const bool right = adz_get_gemm_backend() == (gets ? ADZ_GEMM_BLAS : ADZ_GEMM_OWN);
    return right && said ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void medium_rounds_f32_alone(void **state)
{
    (void)state;
    adz_set_matmul_precision(ADZ_MATMUL_MEDIUM);
    adzi_gemm_bf16_choice = ADZI_BF16_AS_F32;
    adzi_gemm_args small = product(ADZ_F32, false, false, 8, 8, 8);
    expect(&small, "f32 of rounded operands");
    adzi_gemm_args empty = product(ADZ_F32, false, false, 8, 8, 0);
    expect(&empty, "small loops");
    adzi_gemm_args f64 = product(ADZ_F64, false, false, 8, 8, 8);
    expect(&f64, "small loops");
}

/* Whether a product that is cut along its longer side is worth two threads. */
static bool is_shared(int64_t m, int64_t n, int64_t k)
{
    const adzi_gemm_args g = product(ADZ_F32, false, true, m, n, k);
    const adzi_gemm_cut_rule rule = { .by_columns = n > m, .multiple = 16 };
    const adzi_gemm_cut cut = adzi_gemm_cut_by(&g, &rule);
    return cut.blocks >= 2 * adzi_gemm_cut_grain(&cut);
}

/* The weights of one row come from memory, so fewer multiply-adds of them are worth a thread. */
static void products_of_a_row_are_shared_by_what_they_read(void **state)
{
    (void)state;
    assert_true(is_shared(1, 576, 576));
    assert_true(is_shared(576, 1, 576));
    assert_false(is_shared(1, 192, 576));
    assert_false(is_shared(192, 1, 576));
    assert_false(is_shared(16, 144, 144));
    assert_true(is_shared(16, 512, 512));
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "environment") == 0) {
        return check_environment(argv[2]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_row_is_complete, by_rule),
        cmocka_unit_test_setup(integers_have_loops_of_their_own, by_rule),
        cmocka_unit_test_setup(small_products_stay_in_small_loops, by_rule),
        cmocka_unit_test_setup(sides_whose_product_overflows_are_large, by_rule),
        cmocka_unit_test_setup(sizes_beyond_the_integers_of_blas_go_to_tiles, by_rule),
        cmocka_unit_test_setup(choices_of_tests_are_followed, by_rule),
        cmocka_unit_test_setup(tiles_get_all_matrices_with_vectors, by_rule),
        cmocka_unit_test_setup(vectors_are_dot_products_or_sums_of_rows, by_rule),
        cmocka_unit_test_setup(a_user_may_choose_the_blas, by_rule),
        cmocka_unit_test_setup(medium_rounds_f32_alone, by_rule),
        cmocka_unit_test(products_of_a_row_are_shared_by_what_they_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
