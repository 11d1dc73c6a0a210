#include <math.h>

#include "ops/case.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_cumsum(a->in[0], (int)a->p[0]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "dim", 0);
    return true;
}

static void integers_give_i64(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *y = adz_cumsum(adz_full(ADZ_SHAPE(300), 255, ADZ_U8), 0);
    assert_int_equal(adz_tensor_dtype(y), ADZ_I64);
    assert_true(adz_tensor_at(y, (int64_t[]){ 299 }) == 300 * 255);
    y = adz_cumsum(adz_ones(ADZ_SHAPE(2, 3), ADZ_BOOL), 0);
    assert_true(adz_tensor_at(y, (int64_t[]){ 1, 2 }) == 2);
    adz_scope_close(scope);
}

static void f32_keeps_counting(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    int64_t n = (1 << 24) + 64;
    adz_tensor *y = adz_cumsum(adz_ones(ADZ_SHAPE(n), ADZ_F32), 0);
    assert_true(adz_tensor_at(y, (int64_t[]){ n - 1 }) == (double)n);
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(integers_give_i64),
    cmocka_unit_test(f32_keeps_counting) };

const op_case cumsum_case = {
    .name = "cumsum",
    .call = call,
    .samples = {
        { .in = { IN(5) }, .p = { 0 } },
        { .in = { IN(3, 4, 2) }, .p = { 1 } },
        { .in = { IN(3, 4, 2) }, .p = { -1 } },
        { .in = { IN_T(3, 4) }, .p = { 0 } },
        { .in = { IN(3, 1) }, .p = { 1 } },
        { .in = { IN(0, 4) }, .p = { 1 } },
        { .in = { IN(4, 0) }, .p = { 1 } },
        { .in = { IN_0 }, .p = { 0 } },
        { .in = { IN(5, 70) }, .p = { 0 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 2 }, .status = ADZ_ERR_DIM, .says = "[3, 4]" },
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { 0 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .vectors = { "cumsum" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
