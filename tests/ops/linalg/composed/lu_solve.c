#include "ops/linalg/decomposition/matrices.h"

/* p[0] = right, p[1] = adjoint; pivots are those of the samples plus 1 */
static int call(const op_args *a, adz_tensor **out)
{
    adz_lu_solve_options o = ADZ_LU_SOLVE_OPTIONS;
    o.left = a->p[0] == 0;
    o.adjoint = a->p[1] != 0;
    adz_tensor *lu = regular_of(a->in[0], case_units[0]);
    return case_one(adz_lu_solve(lu, adz_add_number(a->in[1], 1), a->in[2], &o), out);
}

FACT(all_four_systems)
{
    adz_tensor *a = normal_matrices(ADZ_SHAPE(3, 5, 5)), *pivots, *lu = adz_lu_factor(a, &pivots);
    for (int i = 0; i < 4; ++i) {
        adz_lu_solve_options o = ADZ_LU_SOLVE_OPTIONS;
        o.left = i < 2;
        o.adjoint = i % 2 != 0;
        adz_tensor *b =
            o.left ? adz_ones(ADZ_SHAPE(5, 2), ADZ_F64) : adz_ones(ADZ_SHAPE(2, 5), ADZ_F64);
        adz_tensor *x = adz_lu_solve(lu, pivots, b, &o);
        adz_tensor *of = o.adjoint ? adz_transpose(a, -2, -1) : a;
        adz_tensor *back = o.left ? adz_matmul(of, x) : adz_matmul(x, of);
        assert_true(farthest(back, adz_expand(b, adz_tensor_shape(back))) < 1e-11);
    }
}

FACT(a_pivot_that_is_no_row_is_refused)
{
    adz_tensor *lu = MATRIX(2, 2, 4, 0.5, 1), *b = MATRIX(1, 1, 1);
    ASSERT_REFUSED(adz_lu_solve(lu, VALUES(ADZ_I64, 0, 2), b, NULL), ADZ_ERR_INDEX, "a pivot");
    ASSERT_REFUSED(adz_lu_solve(lu, VALUES(ADZ_I32, 1, 3), b, NULL), ADZ_ERR_INDEX, "a pivot");
    ASSERT_REFUSED(adz_lu_solve(MATRIX(2, 2, 4, 0.5, 0), VALUES(ADZ_I64, 1, 2), b, NULL),
        ADZ_ERR_NUMERIC, "singular");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(all_four_systems),
    cmocka_unit_test(a_pivot_that_is_no_row_is_refused),
};

const op_case lu_solve_case = {
    .name = "lu_solve",
    .call = call,
    .samples = {
        { .in = { IN(3, 3), IN_INDEX(3, 3), IN(3, 2) } },
        { .in = { IN_T(4, 4), IN_INDEX(4, 4), IN_T(4, 1) }, .p = { 0, 1 } },
        { .in = { IN(3, 3), IN_INDEX(3, 3), IN(2, 3) }, .p = { 1, 0 } },
        { .in = { IN(3, 3), IN_INDEX(3, 3), IN(2, 3) }, .p = { 1, 1 } },
        { .in = { IN(2, 3, 3), IN_INDEX(3, 2, 3), IN(3, 2) } },
        { .in = { IN(3, 3), IN_INDEX(3, 3), IN(2, 3, 2) } },
        { .in = { IN(0, 3, 3), IN_INDEX(3, 0, 3), IN(3, 2) } },
        { .in = { IN(1, 1), IN_INDEX(1, 1), IN(1, 2) } },
    },
    .rejects = {
        { .in = { IN(3, 3), IN_INDEX(3, 3), IN(2, 2) }, .status = ADZ_ERR_SHAPE, .says = "lu_solve: lu" },
        { .in = { IN(3, 3), IN_INDEX(3, 2), IN(3, 2) }, .status = ADZ_ERR_SHAPE, .says = "pivots[2]" },
        { .in = { IN(3, 3), IN_INDEX(3, 3), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "no matrix" },
        { .in = { IN(3, 4), IN_INDEX(3, 3), IN(3, 2) }, .status = ADZ_ERR_SHAPE, .says = "no square" },
    },
    .inputs = { "lu", "pivots", "b" },
    FACTS(facts),
};
