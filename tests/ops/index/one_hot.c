#include "ops/facts.h"

/* p[0] = num_classes */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_one_hot(a->in[0], (int64_t)a->p[0]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "num_classes", -1);
    return true;
}

FACT(the_largest_id_decides_how_many)
{
    adz_tensor *y = adz_one_hot(VALUES(ADZ_I32, 1, 0, 2), -1);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(9)), ADZ_I64, 0, 1, 0, 1, 0, 0, 0, 0, 1);
    ASSERT_REFUSED(adz_one_hot(VALUES(ADZ_I64, 0, 3), 3), ADZ_ERR_INDEX, "index 3 at position [1]");
    ASSERT_REFUSED(adz_one_hot(VALUES(ADZ_I64, 0, -1), -1), ADZ_ERR_INDEX, "index -1");
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(the_largest_id_decides_how_many) };

#define IN_INDEX_T(n, ...)                                                                    \
    {                                                                                         \
        CASE_SIZES_(__VA_ARGS__), .fill = FILL_INDEX, .range = n, .layout = LAYOUT_TRANSPOSED \
    }

const op_case one_hot_case = {
    .name = "one_hot",
    .call = call,
    .samples = {
        { .in = { IN_INDEX(4, 6) }, .p = { 4 } },
        { .in = { IN_INDEX_T(4, 3, 5) }, .p = { 7 } },
        { .in = { IN_INDEX(4, 3, 5) }, .p = { -1 } },
        { .in = { IN_INDEX_0(3) }, .p = { 3 } },
        { .in = { IN_INDEX(1, 1, 3) }, .p = { 1 } },
        { .in = { IN_INDEX(4, 0, 3) }, .p = { 2 } },
    },
    .rejects = {
        { .in = { IN_INDEX(4, 0) }, .p = { -1 }, .status = ADZ_ERR_ARGUMENT, .says = "1 or more" },
        { .in = { IN_INDEX(4, 3) }, .p = { 0 }, .status = ADZ_ERR_ARGUMENT },
        { .in = { IN(3) }, .p = { 3 }, .status = ADZ_ERR_DTYPE },
        { .in = { IN_INDEX(1, 1, 1, 1, 1, 1, 1, 1, 1) }, .p = { 1 }, .status = ADZ_ERR_SHAPE },
    },
    .not_differentiable = true,
    .vectors = { "one_hot" },
    .inputs = { "ids" },
    .config = config,
    FACTS(facts),
};
