#include "ops/linalg/decomposition/matrices.h"

/* p[0]: upper */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(
        adz_cholesky_solve(a->in[0], regular_of(a->in[1], case_units[1]), a->p[0] != 0), out);
}

FACT(it_solves_with_the_matrix_of_the_factor)
{
    adz_tensor *a = definite(normal_matrices(ADZ_SHAPE(2, 40, 40)));
    adz_tensor *b = normal_matrices(ADZ_SHAPE(40, 3));
    for (int upper = 0; upper < 2; ++upper) {
        adz_tensor *x = adz_cholesky_solve(b, adz_cholesky(a, upper != 0), upper != 0);
        assert_true(farthest(adz_matmul(a, x), b) < 1e-10);
    }
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(it_solves_with_the_matrix_of_the_factor),
};

const op_case cholesky_solve_case = {
    .name = "cholesky_solve",
    .call = call,
    .samples = {
        { .in = { IN(3, 2), IN(3, 3) }, .p = { 0 } },
        { .in = { IN(3, 2), IN(3, 3) }, .p = { 1 } },
        { .in = { IN_T(2, 2), IN_T(2, 2) }, .p = { 0 } },
        { .in = { IN(1, 1), IN(1, 1) }, .p = { 1 } },
        { .in = { IN(2, 3, 1), IN(3, 3) }, .p = { 1 } },
        { .in = { IN(0, 2), IN(0, 0) }, .p = { 0 } },
    },
    .rejects = {
        { .in = { IN(3, 2), IN(3, 4) }, .status = ADZ_ERR_SHAPE, .says = "not square" },
        { .in = { IN(4, 2), IN(3, 3) }, .status = ADZ_ERR_SHAPE, .says = "3 rows" },
    },
    .broadcasts = true,
    FACTS(facts),
};
