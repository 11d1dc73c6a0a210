#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_tensordot(a->in[0], a->in[1],
                        (adz_dims){ (int)a->p[0], { (int)a->p[1], (int)a->p[2] } },
                        (adz_dims){ (int)a->p[0], { (int)a->p[3], (int)a->p[4] } }),
        out);
}

FACT(shapes)
{
    adz_tensor *a = adz_ones(ADZ_SHAPE(2, 3, 4), ADZ_F32),
               *b = adz_ones(ADZ_SHAPE(4, 5, 3), ADZ_F32);
    adz_tensor *y = adz_tensordot(a, b, ADZ_DIMS(1, 2), ADZ_DIMS(2, 0));
    assert_true(adz_tensor_rank(y) == 2 && adz_tensor_size(y, 1) == 5);
    assert_true(adz_tensor_at(y, (int64_t[]){ 1, 4 }) == 12);
    ASSERT_REFUSED(adz_tensordot(a, b, ADZ_DIMS(1, 1), ADZ_DIMS(2, 0)), ADZ_ERR_DIM, "twice");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(shapes),
};

const op_case tensordot_case = {
    .name = "tensordot",
    .call = call,
    .samples = {
        { .in = { IN(2, 3), IN(3, 2) }, .p = { 1, 1, 0, 0, 0 } },
        { .in = { IN_T(3, 2), IN(3, 4) }, .p = { 1, 0, 0, 0, 0 } },
        { .in = { IN(2, 3, 2), IN(2, 4, 3) }, .p = { 2, 1, 2, 2, 0 } },
        { .in = { IN(2), IN(3) }, .p = { 0 } },
        { .in = { IN(1), IN(1) }, .p = { 1, 0, 0, 0, 0 } },
        { .in = { IN(0, 3), IN(3, 2) }, .p = { 1, 1, 0, 0, 0 } },
    },
    .rejects = {
        { .in = { IN(2, 3), IN(2, 3) }, .p = { 1, 1, 0, 0, 0 }, .status = ADZ_ERR_SHAPE, .says = "sizes 3 and 2" },
        { .in = { IN(2), IN(2) }, .p = { 1, 1, 0, 0, 0 }, .status = ADZ_ERR_DIM },
    },
    .inputs = { "a", "b" },
    FACTS(facts),
};
