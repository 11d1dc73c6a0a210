#include "ops/facts.h"

/* p[0] = dim, p[1] = eps */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_cosine_similarity(a->in[0], a->in[1], (int)a->p[0], a->p[1]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "dim", 1);
    a->p[1] = config_number(config, "eps", 1e-8);
    return true;
}

FACT(angles)
{
    adz_tensor *a = VALUES(ADZ_F64, 3, 4), *b = VALUES(ADZ_F64, -4, 3);
    assert_true(fabs(adz_item(adz_cosine_similarity(a, b, 0, 1e-8))) < 1e-16);
    assert_true(fabs(adz_item(adz_cosine_similarity(a, a, 0, 1e-8)) - 1) < 1e-15);
    adz_tensor *zero = VALUES(ADZ_F64, 0, 0);
    assert_true(adz_item(adz_cosine_similarity(a, zero, 0, 1e-8)) == 0);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(angles) };

const op_case cosine_similarity_case = {
    .name = "cosine_similarity",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(3, 4) }, .p = { 1, 1e-8 } },
        { .in = { IN_T(3, 4), IN(3, 4) }, .p = { 0, 1e-8 } },
        { .in = { IN(2, 3, 4), IN(3, 1) }, .p = { -1, 1e-8 } },
        { .in = { IN(5), IN(2, 5) }, .p = { 1, 1e-8 } },
        { .in = { IN(1, 3), IN(2, 3) }, .p = { -2, 1e-8 } },
        { .in = { IN(0, 3), IN(0, 3) }, .p = { 1, 1e-8 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3, 5) }, .p = { 1, 1e-8 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3, 4), IN(4) }, .p = { 2, 1e-8 }, .status = ADZ_ERR_DIM, .says = "[3, 4]" },
        { .in = { IN(3, 4), IN(4) }, .p = { 1, -1 }, .status = ADZ_ERR_ARGUMENT, .says = "eps is -1" },
    },
    .broadcasts = true,
    .vectors = { "cosine_similarity" },
    .inputs = { "a", "b" },
    .config = config,
    FACTS(facts),
};
