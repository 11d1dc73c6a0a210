/* adz_set_matmul_precision: which products ADZ_MATMUL_MEDIUM rounds to bf16, how large their errors
 * are, and that other products do not change.
 *
 * usage: test_precision [ours|as-f32]
 *
 * ours: the library's loops for bf16, where the processor has them. as-f32: f32 products of rounded
 * operands. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>

#include "adze/adze.h"
#include "base/alloc.h"
#include "base/cpu.h"
#include "tensor/gemm/gemm.h"
#include "tensor/kernel/half.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static uint64_t seed = 1;

static uint32_t random_word(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 32);
}

static float uniform(void)
{
    return (float)((double)random_word() / 2147483648.0 - 1.0);
}

/* Small whole numbers: bf16 holds them, and sums of their products are exact in any order. */
static float whole(void)
{
    return (float)((int)(random_word() % 17) - 8);
}

static float *filled(int64_t count, float (*draw)(void))
{
    float *values = malloc((size_t)(count + 1) * sizeof *values);
    for (int64_t i = 0; i < count; ++i) {
        values[i] = draw();
    }
    return values;
}

typedef struct shape {
    int64_t m, n, k;
    bool ta, tb;
    int64_t pad, batch;
    bool repeat_a;
} shape;

/* Rows of A and B end in `pad` values that no product may read: the caller made them NaN. */
static adzi_gemm_args args_of(const shape *s, const float *a, const float *b, float *c)
{
    int64_t columns_a = s->ta ? s->m : s->k, columns_b = s->tb ? s->k : s->n;
    adzi_gemm_args g = { .dtype = ADZ_F32,
        .ta = s->ta,
        .tb = s->tb,
        .m = s->m,
        .n = s->n,
        .k = s->k,
        .alpha = 1,
        .a = a,
        .lda = columns_a + s->pad,
        .b = b,
        .ldb = columns_b + s->pad,
        .c = c,
        .ldc = s->n,
        .batch = s->batch,
        .stride_c = s->m * s->n };
    g.stride_a = s->repeat_a ? 0 : (s->ta ? s->k : s->m) * g.lda;
    g.stride_b = (s->tb ? s->n : s->k) * g.ldb;
    return g;
}

static float *operand(int64_t rows, int64_t columns, int64_t pad, float (*draw)(void))
{
    float *values = filled(rows * (columns + pad), draw);
    for (int64_t i = 0; i < rows * (columns + pad); ++i) {
        values[i] = i % (columns + pad) < columns ? values[i] : NAN;
    }
    return values;
}

static float *operand_a(const shape *s, float (*draw)(void))
{
    int64_t items = s->repeat_a ? 1 : s->batch;
    return operand(items * (s->ta ? s->k : s->m), s->ta ? s->m : s->k, s->pad, draw);
}

static float *operand_b(const shape *s, float (*draw)(void))
{
    return operand(s->batch * (s->tb ? s->n : s->k), s->tb ? s->k : s->n, s->pad, draw);
}

static const shape shapes[] = { { 3, 5, 7, false, false, 0, 1, false },
    { 40, 256, 128, false, true, 0, 1, false }, { 40, 128, 256, false, false, 0, 1, false },
    { 256, 128, 40, true, false, 0, 1, false }, { 130, 70, 210, true, true, 3, 1, false },
    { 1, 300, 200, false, true, 1, 1, false }, { 300, 1, 200, true, false, 0, 1, false },
    { 64, 64, 64, false, true, 0, 5, true }, { 70, 80, 90, true, false, 2, 3, false },
    { 257, 600, 65, true, false, 0, 1, false }, { 600, 257, 65, true, false, 0, 1, false },
    { 500, 333, 77, false, false, 0, 1, false }, { 70, 60, 801, false, true, 0, 1, false },
    { 53, 49, 771, true, false, 1, 1, false }, { 61, 50, 799, true, true, 0, 2, false },
    { 50, 67, 1001, false, false, 0, 1, false }, { 60, 50, 95, false, true, 0, 1, false } };

static void run_at(adz_matmul_precision precision, const adzi_gemm_args *g)
{
    assert_int_equal(adz_set_matmul_precision(precision), ADZ_OK);
    adzi_gemm_run(g);
    assert_int_equal(adz_set_matmul_precision(ADZ_MATMUL_HIGHEST), ADZ_OK);
}

/* ---- the setting ---------------------------------------------------------------------------- */

static void the_setting_is_kept_and_checked(void **state)
{
    (void)state;
    assert_int_equal(adz_get_matmul_precision(), ADZ_MATMUL_HIGHEST);
    assert_int_equal(adz_set_matmul_precision(ADZ_MATMUL_MEDIUM), ADZ_OK);
    assert_int_equal(adz_set_matmul_precision((adz_matmul_precision)3), ADZ_ERR_ARGUMENT);
    assert_non_null(strstr(adz_error_message(), "ADZ_MATMUL_MEDIUM"));
    adz_error_clear();
    assert_int_equal(adz_get_matmul_precision(), ADZ_MATMUL_MEDIUM);
    adz_context *own = adz_context_new();
    assert_null(adz_context_use(own));
    assert_int_equal(adz_get_matmul_precision(), ADZ_MATMUL_HIGHEST);
    assert_int_equal(adz_set_matmul_precision(ADZ_MATMUL_HIGH), ADZ_OK);
    assert_int_equal(adz_get_matmul_precision(), ADZ_MATMUL_HIGH);
    adz_context_use(NULL);
    adz_context_free(&own);
    assert_int_equal(adz_get_matmul_precision(), ADZ_MATMUL_MEDIUM);
    adz_set_matmul_precision(ADZ_MATMUL_HIGHEST);
}

static void it_says_how_medium_is_computed(void **state)
{
    (void)state;
    const char *info = adz_matmul_precision_info();
    assert_non_null(strstr(info, "bf16"));
    if (adzi_cpu_has_fast_bf16()) {
        assert_string_equal(info, "medium: bf16 on AVX512_BF16, by adze's own loops");
    } else {
        assert_non_null(strstr(info, "multiplied in f32"));
    }
}

/* ---- values --------------------------------------------------------------------------------- */

static bool same_value(float x, float y)
{
    return x == y || (isnan(x) && isnan(y));
}

/* A product with 1 gives the rounded value. It is compared with the result of adzi_to_bf16. */
static void every_pattern_is_rounded_to_nearest_even(void **state)
{
    (void)state;
    enum { PATTERNS = 1 << 20 };
    static const uint32_t special[] = { 0, 0x80000000u, 1, 0x7f7fffffu, 0xff7fffffu, 0x7f800000u,
        0xff800000u, 0x7f800001u, 0xffffffffu, 0x7fc00000u, 0x3f808000u, 0x3f818000u, 0x3f808001u,
        0x3f807fffu, 0x7f7f7fffu, 0x7f7f8000u, 0x00008000u, 0x007fffffu };
    float *x = malloc(PATTERNS * sizeof *x), *y = malloc(PATTERNS * sizeof *y), one = 1;
    for (uint32_t i = 0; i < PATTERNS; ++i) {
        x[i] = adzi_float_of(i < COUNT(special) ? special[i] : random_word());
    }
    int used = adzi_cpu_level;
    for (adzi_cpu_level = 0; adzi_cpu_level <= adzi_cpu_best(); ++adzi_cpu_level) {
        shape s = { PATTERNS, 1, 1, false, false, 0, 1, false };
        adzi_gemm_args g = args_of(&s, x, &one, y);
        run_at(ADZ_MATMUL_MEDIUM, &g);
        int64_t wrong = 0;
        for (int64_t i = 0; i < PATTERNS; ++i) {
            wrong += !same_value(y[i], adzi_from_bf16(adzi_to_bf16(x[i])));
        }
        assert_int_equal(wrong, 0);
    }
    adzi_cpu_level = used;
    free(x);
    free(y);
}

static void what_bf16_holds_is_exact(void **state)
{
    (void)state;
    int used = adzi_cpu_level;
    for (size_t i = 0; i < COUNT(shapes) * ADZI_CPU_LEVELS; ++i) {
        const shape *s = &shapes[i % COUNT(shapes)];
        adzi_cpu_level = (int)(i / COUNT(shapes));
        if (adzi_cpu_level > adzi_cpu_best()) {
            break;
        }
        int64_t count = s->m * s->n * s->batch;
        float *a = operand_a(s, whole), *b = operand_b(s, whole), *bias = filled(s->n, whole);
        float *want = filled(count, whole), *got = malloc((size_t)count * sizeof *got);
        memcpy(got, want, (size_t)count * sizeof *got);
        adzi_gemm_args g = args_of(s, a, b, want);
        g.alpha = 2;
        g.beta = i % 2 == 0 ? 0.5 : 0;
        g.bias = i % 3 == 0 ? NULL : bias;
        run_at(ADZ_MATMUL_HIGHEST, &g);
        g.c = got;
        run_at(ADZ_MATMUL_MEDIUM, &g);
        assert_memory_equal(want, got, (size_t)count * sizeof *got);
        free(a);
        free(b);
        free(bias);
        free(want);
        free(got);
    }
    adzi_cpu_level = used;
}

/* Products equal f64 products of the rounded operands closely, and those of the operands as they
 * are to within 3e-3. */
static void the_error_is_that_of_rounding(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(shapes); ++i) {
        const shape *s = &shapes[i];
        float *a = operand_a(s, uniform), *b = operand_b(s, uniform);
        float *c = malloc((size_t)(s->m * s->n * s->batch) * sizeof *c);
        adzi_gemm_args g = args_of(s, a, b, c);
        run_at(ADZ_MATMUL_MEDIUM, &g);
        double off = 0, size = 0;
        for (int64_t e = 0; e < s->m * s->n * s->batch; ++e) {
            int64_t item = e / (s->m * s->n), row = e / s->n % s->m, column = e % s->n;
            double exact = 0, rounded = 0, sum = 0;
            for (int64_t p = 0; p < s->k; ++p) {
                float x = a[item * g.stride_a + (s->ta ? p * g.lda + row : row * g.lda + p)];
                float y = b[item * g.stride_b + (s->tb ? column * g.ldb + p : p * g.ldb + column)];
                exact += (double)x * y;
                rounded +=
                    (double)adzi_from_bf16(adzi_to_bf16(x)) * adzi_from_bf16(adzi_to_bf16(y));
                sum += fabs((double)x * y);
            }
            assert_true(fabs(c[e] - rounded) <= FLT_EPSILON * (double)(s->k + 8) * sum / 4);
            assert_true(fabs(c[e] - exact) <= 0x1.02p-8 * sum);
            off += (c[e] - exact) * (c[e] - exact);
            size += exact * exact;
        }
        double relative = sqrt(off / size);
        if (!(relative < 3.5e-3 && relative > 5e-4)) {
            print_error("shape %zu: relative error %g\n", i, relative);
        }
        assert_true(relative < 3.5e-3 && relative > 5e-4);
        free(a);
        free(b);
        free(c);
    }
}

static void infinities_and_nan_pass_through(void **state)
{
    (void)state;
    for (int large = 0; large < 2; ++large) {
        shape s = { large ? 80 : 8, large ? 96 : 8, large ? 100 : 8, false, true, 0, 1, false };
        float *a = operand_a(&s, whole), *b = operand_b(&s, whole);
        float *c = malloc((size_t)(s.m * s.n) * sizeof *c);
        for (int64_t p = 0; p < s.n * s.k; ++p) {
            b[p] = 1 + fabsf(b[p]);
        }
        a[0] = INFINITY;
        a[s.k] = -INFINITY;
        a[2 * s.k] = NAN;
        a[3 * s.k] = FLT_MAX; /* rounds up to 2^128, which is infinity */
        b[4 * s.k] = 0;       /* multiplied by the infinity in A, it gives NaN */
        adzi_gemm_args g = args_of(&s, a, b, c);
        run_at(ADZ_MATMUL_MEDIUM, &g);
        for (int64_t j = 0; j < s.n; ++j) {
            assert_true(j == 4 ? isnan(c[j]) : c[j] == INFINITY);
            assert_true(j == 4 ? isnan(c[s.n + j]) : c[s.n + j] == -INFINITY);
            assert_true(isnan(c[2 * s.n + j]));
            assert_true(j == 4 ? isnan(c[3 * s.n + j]) : c[3 * s.n + j] == INFINITY);
            assert_true(isfinite(c[5 * s.n + j]));
        }
        free(a);
        free(b);
        free(c);
    }
}

/* ---- what does not change ------------------------------------------------------------------- */

static void other_precisions_and_dtypes_stay(void **state)
{
    (void)state;
    shape s = { 50, 60, 70, false, true, 0, 1, false };
    float *a = operand_a(&s, uniform), *b = operand_b(&s, uniform), want[50 * 60], got[50 * 60];
    adzi_gemm_args g = args_of(&s, a, b, want);
    run_at(ADZ_MATMUL_HIGHEST, &g);
    g.c = got;
    run_at(ADZ_MATMUL_HIGH, &g);
    assert_memory_equal(want, got, sizeof want);
    run_at(ADZ_MATMUL_MEDIUM, &g);
    assert_memory_not_equal(want, got, sizeof want);
    double x[4] = { 0.1, 0.2, 0.3, 0.4 }, y[4], z[4];
    adzi_gemm((adzi_gemm_size){ ADZ_F64, 2, 2, 2 }, (adzi_operand){ x, 2, false },
        (adzi_operand){ x, 2, false }, y, 2);
    adz_set_matmul_precision(ADZ_MATMUL_MEDIUM);
    adzi_gemm((adzi_gemm_size){ ADZ_F64, 2, 2, 2 }, (adzi_operand){ x, 2, false },
        (adzi_operand){ x, 2, false }, z, 2);
    adz_set_matmul_precision(ADZ_MATMUL_HIGHEST);
    assert_memory_equal(y, z, sizeof y);
    free(a);
    free(b);
}

static void threads_change_no_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * COUNT(shapes); ++i) {
        const shape *s = &shapes[i / 2];
        int64_t count = s->m * s->n * s->batch;
        float *a = operand_a(s, uniform), *b = operand_b(s, uniform);
        float *want = malloc((size_t)count * sizeof *want),
              *got = calloc((size_t)count, sizeof *got);
        adz_set_deterministic(i % 2 == 1);
        for (int threads = 1; threads <= 4; ++threads) {
            adz_set_num_threads(threads);
            adzi_gemm_args g = args_of(s, a, b, threads == 1 ? want : got);
            run_at(ADZ_MATMUL_MEDIUM, &g);
            if (threads > 1) {
                assert_memory_equal(want, got, (size_t)count * sizeof *got);
            }
        }
        free(a);
        free(b);
        free(want);
        free(got);
    }
    adz_set_deterministic(false);
    adz_set_num_threads(0);
}

static bool by_our_loops(void)
{
    return adzi_gemm_bf16_choice == ADZI_BF16_OURS ||
           (adzi_gemm_bf16_choice == ADZI_BF16_BY_RULE && adzi_cpu_has_fast_bf16());
}

/* If memory for the rounded operands is refused, the product is computed in f32. Our loops make one
 * request per part. A part without memory is computed in f32, with sums in another order. */
static void refused_memory_gives_the_f32_product(void **state)
{
    (void)state;
    adz_set_num_threads(by_our_loops() ? 1 : 0); /* only requests of this thread can be refused */
    for (size_t i = 0; i < 2 * COUNT(shapes); ++i) {
        const shape *s = &shapes[i / 2];
        size_t bytes = (size_t)(s->m * s->n * s->batch) * sizeof(float);
        float *a = operand_a(s, uniform), *b = operand_b(s, uniform);
        float *exact = malloc(bytes), *medium = malloc(bytes), *got = malloc(bytes);
        adzi_gemm_args g = args_of(s, a, b, exact);
        run_at(ADZ_MATMUL_HIGHEST, &g);
        g.c = medium;
        run_at(ADZ_MATMUL_MEDIUM, &g);
        g.c = got;
        adzi_alloc_fail_at(1 + (int64_t)i % 2);
        run_at(ADZ_MATMUL_MEDIUM, &g);
        assert_true(adzi_alloc_failed() || i % 2 == 1);
        adzi_alloc_fail_at(0);
        assert_int_equal(adz_error_code(), ADZ_OK);
        for (int64_t e = 0; e < s->m * s->n * s->batch; ++e) {
            double to_exact = fabs((double)got[e] - exact[e]);
            double to_medium = fabs((double)got[e] - medium[e]);
            assert_true(to_exact < (i % 2 == 0 && !by_our_loops() ? 1e-30 : 1e-4) ||
                        ((by_our_loops() || i % 2 == 1) && to_medium < 1e-3));
        }
        free(a);
        free(b);
        free(exact);
        free(medium);
        free(got);
    }
    adz_set_num_threads(0);
}

/* ---- training ------------------------------------------------------------------------------- */

/* Loss of Linear(8,64) ReLU Linear(64,64) ReLU Linear(64,1) on y = sum of sines, after 400 steps.
 */
static double trained_loss(adz_matmul_precision precision)
{
    adz_set_matmul_precision(precision);
    adz_manual_seed(7);
    adz_module *model = ADZ_SEQUENTIAL(adz_linear_new(8, 64, NULL), adz_relu_new(),
        adz_linear_new(64, 64, NULL), adz_relu_new(), adz_linear_new(64, 1, NULL));
    adz_optimizer *sgd = adz_sgd_new(adz_module_parameters(model), 0.05, NULL);
    double late = 0;
    for (int step = 0; step < 400; ++step) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *x = adz_randn(ADZ_SHAPE(128, 8), ADZ_F32);
        adz_tensor *y = adz_sum(adz_sin(x), ADZ_DIMS(1), ADZ_KEEPDIM);
        adz_tensor *loss = adz_mse_loss(adz_module_forward(model, x), y, ADZ_REDUCE_MEAN);
        adz_module_zero_grad(model);
        adz_backward(loss);
        adz_optimizer_step(sgd);
        late += step >= 350 ? adz_item(loss) / 50 : 0;
        assert_int_equal(adz_error_code(), ADZ_OK);
        adz_scope_close(scope);
    }
    adz_optimizer_release(&sgd);
    adz_module_release(&model);
    adz_set_matmul_precision(ADZ_MATMUL_HIGHEST);
    return late;
}

static void training_reaches_the_same_loss(void **state)
{
    (void)state;
    double highest = trained_loss(ADZ_MATMUL_HIGHEST), medium = trained_loss(ADZ_MATMUL_MEDIUM);
    if (!(highest < 1 && fabs(medium - highest) < 0.05 * highest)) {
        print_error("highest %g, medium %g\n", highest, medium);
    }
    assert_true(highest < 1); /* y's variance is 3.5 */
    assert_true(medium != highest);
    assert_true(fabs(medium - highest) < 0.05 * highest);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "ours") == 0) {
        if (!adzi_cpu_has_bf16()) {
            print_message("no AVX512_BF16\n");
            return 77;
        }
        adzi_gemm_bf16_choice = ADZI_BF16_OURS;
    } else if (argc > 1) {
        adzi_gemm_bf16_choice = ADZI_BF16_AS_F32;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_setting_is_kept_and_checked),
        cmocka_unit_test(it_says_how_medium_is_computed),
        cmocka_unit_test(every_pattern_is_rounded_to_nearest_even),
        cmocka_unit_test(what_bf16_holds_is_exact),
        cmocka_unit_test(the_error_is_that_of_rounding),
        cmocka_unit_test(infinities_and_nan_pass_through),
        cmocka_unit_test(other_precisions_and_dtypes_stay),
        cmocka_unit_test(threads_change_no_bits),
        cmocka_unit_test(refused_memory_gives_the_f32_product),
        cmocka_unit_test(training_reaches_the_same_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
