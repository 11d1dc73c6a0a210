#include "ops/linalg/decomposition/matrices.h"

/* p[0] = upper */
static int call(const op_args *a, adz_tensor **out)
{
    adz_tensor *x = a->in[0];
    x = is_square(x) ? adz_add(x, adz_transpose(x, -2, -1)) : x;
    return case_one(adz_eigvalsh(x, a->p[0] != 0), out);
}

FACT(one_triangle_is_read)
{
    ASSERT_VALUES(adz_eigvalsh(MATRIX(2, 2, NAN, 0, 1), false), ADZ_F64, 1, 2);
    ASSERT_VALUES(adz_eigvalsh(MATRIX(2, 2, 0, NAN, 1), true), ADZ_F64, 1, 2);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(one_triangle_is_read),
};

const op_case eigvalsh_case = {
    .name = "eigvalsh",
    .call = call,
    .samples = {
        { .in = { IN(3, 3) }, .p = { 0 } },
        { .in = { IN_T(4, 4) }, .p = { 1 } },
        { .in = { IN(1, 1) } },
        { .in = { IN(2, 1, 2, 2) } },
        { .in = { IN(0, 0) } },
        { .in = { IN(0, 3, 3) } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .status = ADZ_ERR_SHAPE, .says = "not square" },
        { .in = { IN_TYPED(ADZ_I64, 3, 3) }, .status = ADZ_ERR_DTYPE },
    },
    .needs_distinct = true,
    .inputs = { "a" },
    FACTS(facts),
};
