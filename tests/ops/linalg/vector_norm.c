#include "ops/facts.h"

/* p[0] = ord, p[1] = count of dims, p[2] .. the dims, p[6] = keepdim */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_vector_norm(a->in[0], a->p[0], case_dims(a, 1), a->p[6] != 0), out);
}

FACT(it_is_the_norm)
{
    adz_tensor *x = VALUES(ADZ_F64, 3, -4);
    assert_true(adz_item(adz_vector_norm(x, 2, ADZ_ALL_DIMS, ADZ_DROPDIM)) == 5);
    assert_true(adz_item(adz_vector_norm(x, INFINITY, ADZ_ALL_DIMS, ADZ_DROPDIM)) == 4);
    assert_true(adz_item(adz_vector_norm(x, 0, ADZ_ALL_DIMS, ADZ_DROPDIM)) == 2);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(it_is_the_norm),
};

const op_case vector_norm_case = {
    .name = "vector_norm",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { 2, 1, 1 } },
        { .in = { IN_T_OF(FILL_AWAY, 3, 4) }, .p = { 3, -1 } },
        { .in = { IN_OF(FILL_AWAY, 2, 3, 2) }, .p = { 1, 2, 0, -1, 0, 0, 1 } },
        { .in = { IN_0_OF(FILL_AWAY) }, .p = { 2, -1 } },
        { .in = { IN(0, 3) }, .p = { 2, 1, 0 } },
        { .in = { IN(1, 2) }, .p = { 2, 1, 0 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 2, 1, 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 2, -1 }, .status = ADZ_ERR_DTYPE },
    },
    .inputs = { "x" },
    FACTS(facts),
};
