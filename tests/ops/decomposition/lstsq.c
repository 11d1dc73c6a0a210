#include "ops/decomposition/matrices.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_lstsq(a->in[0], a->in[1]), out);
}

FACT(a_line_through_points)
{
    adz_tensor *a = MATRIX(2, 1, 0, 1, 1, 1, 2, 1, 3), *b = MATRIX(1, 1, 3, 5, 8);
    assert_true(farthest(adz_lstsq(a, b), MATRIX(1, 0.8, 2.3)) < 1e-14);
    /* of many solutions the shortest */
    assert_true(farthest(adz_lstsq(MATRIX(2, 1, 1), MATRIX(1, 2)), MATRIX(1, 1, 1)) < 1e-15);
    ASSERT_REFUSED(adz_lstsq(MATRIX(2, 0, 1, 0, 1), MATRIX(1, 1, 1)), ADZ_ERR_NUMERIC, "singular");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(a_line_through_points),
};

const op_case lstsq_case = {
    .name = "lstsq",
    .call = call,
    .samples = {
        { .in = { IN(4, 2), IN(4, 3) } },
        { .in = { IN(3, 3), IN(3, 1) } },
        { .in = { IN_T(2, 4), IN_T(2, 2) } },
        { .in = { IN(2, 3, 1), IN(3, 2) } },
        { .in = { IN(3, 2), IN(2, 3, 2) } },
        { .in = { IN(4, 2), IN(4, 0) } },
        { .in = { IN(50, 40), IN(50, 2) }, .large = true },
    },
    .rejects = {
        { .in = { IN(3), IN(3, 1) }, .status = ADZ_ERR_SHAPE, .says = "[..., m, n]" },
        { .in = { IN(3, 2), IN(2, 2) }, .status = ADZ_ERR_SHAPE, .says = "[..., m, n]" },
    },
    .broadcasts = true,
    .needs_distinct = true,
    .f32_tolerance = 2e-2,
    FACTS(facts),
};
