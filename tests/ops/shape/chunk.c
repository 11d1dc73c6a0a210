#include "ops/facts.h"

/* p[0] = dim, p[1] = chunks */
static int call(const op_args *a, adz_tensor **out)
{
    size_t n = 0;
    adz_status status = adz_chunk(a->in[0], (int64_t)a->p[1], (int)a->p[0], out, &n);
    return status == ADZ_OK ? (int)n : 0;
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "dim", 0);
    a->p[1] = config_number(config, "chunks", 1);
    return true;
}

FACT(there_may_be_fewer_than_asked_for)
{
    adz_tensor *out[4];
    size_t n = 0;
    assert_int_equal(adz_chunk(adz_zeros(ADZ_SHAPE(6), ADZ_I32), 4, 0, out, &n), ADZ_OK);
    assert_int_equal(n, 3);
    assert_int_equal(adz_chunk(adz_zeros(ADZ_SHAPE(0), ADZ_I32), 4, 0, out, &n), ADZ_OK);
    assert_int_equal(n, 4);
    assert_int_equal(adz_tensor_numel(out[3]), 0);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(there_may_be_fewer_than_asked_for) };

const op_case chunk_case = {
    .name = "chunk",
    .call = call,
    .samples = {
        { .in = { IN(5, 4) }, .p = { 0, 2 } },
        { .in = { IN_T(5, 4) }, .p = { 1, 3 } },
        { .in = { IN(2, 6) }, .p = { -1, 4 } },
        { .in = { IN(6) }, .p = { 0, 1 } },
        { .in = { IN(1, 3) }, .p = { 0, 5 } },
        { .in = { IN(3, 0) }, .p = { 1, 2 } },
        { .in = { IN(0, 4) }, .p = { 1, 3 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 2, 1 }, .status = ADZ_ERR_DIM },
        { .in = { IN(3, 4) }, .p = { 0, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "0 chunks" },
        { .in = { IN_0 }, .p = { 0, 1 }, .status = ADZ_ERR_DIM },
    },
    .first_order_only = true,
    .vectors = { "chunk" },
    .inputs = { "x" },
    .outputs = { LISTED("y") },
    .config = config,
    FACTS(facts),
};
