#include "ops/facts.h"

/* p[0] = dim, p[1] = size, or 0 for the sizes p[3] .. in the number p[2] */
static int call(const op_args *a, adz_tensor **out)
{
    int dim = (int)a->p[0];
    size_t n = (size_t)a->p[2];
    if (n == 0) {
        size_t count = 0;
        return adz_split(a->in[0], (int64_t)a->p[1], dim, out, CASE_RESULTS, &count) == ADZ_OK
                   ? (int)count
                   : 0;
    }
    int64_t sizes[CASE_PARAMS];
    for (size_t i = 0; i < n; ++i) {
        sizes[i] = (int64_t)a->p[3 + i];
    }
    return adz_split_sizes(a->in[0], sizes, n, dim, out) == ADZ_OK ? (int)n : 0;
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "dim", 0);
    a->p[2] = config_list(config, "sizes", &a->p[3], CASE_PARAMS - 3);
    return true;
}

FACT(pieces_without_a_gradient_count_as_zero)
{
    adz_tensor *x = LEAF(1, 2, 3, 4, 5), *out[3];
    size_t n = 0;
    assert_int_equal(adz_split(x, 2, 0, out, 3, &n), ADZ_OK);
    assert_int_equal(n, 3);
    ASSERT_VALUES(out[2], ADZ_F64, 5);
    ASSERT_VALUES(gradient_of(out[1], x), ADZ_F64, 0, 0, 1, 1, 0);
}

FACT(pieces_are_views)
{
    adz_tensor *x = VALUES(ADZ_I64, 1, 2, 3), *out[2];
    assert_int_equal(adz_split_sizes(x, (int64_t[]){ 1, 2 }, 2, 0, out), ADZ_OK);
    adz_zero_(out[1]);
    ASSERT_VALUES(x, ADZ_I64, 1, 0, 0);
}

FACT(a_failure_leaves_null_in_every_position)
{
    adz_tensor *x = VALUES(ADZ_F32, 1, 2, 3), *out[2] = { x, x };
    assert_int_equal(adz_split(x, 1, 0, out, 2, NULL), ADZ_ERR_ARGUMENT);
    assert_non_null(strstr(adz_error_message(), "3 pieces of size 1, but there is room for 2"));
    assert_true(out[0] == NULL && out[1] == NULL);
    adz_error_clear();
    assert_int_equal(adz_split(x, 1, 0, NULL, 2, NULL), ADZ_ERR_NULL);
    adz_error_clear();
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(pieces_without_a_gradient_count_as_zero),
    cmocka_unit_test(pieces_are_views),
    cmocka_unit_test(a_failure_leaves_null_in_every_position),
};

const op_case split_case = {
    .name = "split",
    .call = call,
    .samples = {
        { .in = { IN(5, 4) }, .p = { 0, 2 } },
        { .in = { IN_T(5, 4) }, .p = { 1, 2 } },
        { .in = { IN(2, 7) }, .p = { -1, 0, 3, 2, 4, 1 } },
        { .in = { IN(6) }, .p = { 0, 0, 3, 0, 6, 0 } },
        { .in = { IN(1, 3) }, .p = { 0, 5 } },
        { .in = { IN(3, 0) }, .p = { 1, 0 } },
        { .in = { IN(0, 4) }, .p = { 1, 3 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 2, 1 }, .status = ADZ_ERR_DIM },
        { .in = { IN(3, 4) }, .p = { 0, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "size 0" },
        { .in = { IN(3, 4) }, .p = { 0, -1 }, .status = ADZ_ERR_ARGUMENT },
        { .in = { IN(3, 4) }, .p = { 0, 0, 2, 2, 2 }, .status = ADZ_ERR_SHAPE, .says = "sum 3" },
        { .in = { IN(3, 4) }, .p = { 0, 0, 2, 4, -1 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN_0 }, .p = { 0, 1 }, .status = ADZ_ERR_DIM },
    },
    .first_order_only = true,
    .vectors = { "split" },
    .inputs = { "x" },
    .outputs = { LISTED("y") },
    .config = config,
    FACTS(facts),
};
