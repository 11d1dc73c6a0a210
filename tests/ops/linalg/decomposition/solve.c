#include "ops/linalg/decomposition/matrices.h"

/* p[0]: the matrices are taken as they are */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(
        adz_solve(a->p[0] != 0 ? a->in[0] : regular_of(a->in[0], case_units[0]), a->in[1]), out);
}

FACT(small_systems_have_exact_solutions)
{
    adz_tensor *a = MATRIX(2, 0, 2, 4, 1), *b = VALUES(ADZ_F64, 2, 9);
    ASSERT_VALUES(adz_solve(a, b), ADZ_F64, 2, 1);
    ASSERT_VALUES(adz_solve(MATRIX(1, 4), VALUES(ADZ_F64, 2)), ADZ_F64, 0.5);
}

FACT(singular_items_are_named)
{
    adz_tensor *a =
        adz_reshape(VALUES(ADZ_F64, 1, 2, 3, 4, 1, 2, 2, 4, 1, 1, 1, 1), ADZ_SHAPE(3, 2, 2));
    ASSERT_REFUSED(adz_solve(a, adz_ones(ADZ_SHAPE(3, 2, 1), ADZ_F64)), ADZ_ERR_NUMERIC,
        "a[3, 2, 2], item [1] is singular: pivot 1 is 0");
    ASSERT_REFUSED(adz_solve(MATRIX(2, 0, 1, 0, 1), VALUES(ADZ_F64, 1, 1)), ADZ_ERR_NUMERIC,
        "a[2, 2] is singular: pivot 0 is 0");
}

/* A residual in units of the rounding error: |a x - b| / (eps n |a| |x|). */
FACT(residuals_are_small)
{
    static const int64_t sizes[] = { 1, 2, 3, 8, 16, 17, 31, 32, 33, 64, 65, 100, 200 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        for (int64_t k = 1; k <= 40; k += 39) {
            const int64_t n = sizes[i];
            adz_tensor *a = normal_matrices(ADZ_SHAPE(n, n)), *b = normal_matrices(ADZ_SHAPE(n, k));
            adz_tensor *x = adz_solve(a, b);
            const double size = farthest(a, adz_zeros(ADZ_SHAPE(1), ADZ_F64)) *
                                farthest(x, adz_zeros(ADZ_SHAPE(1), ADZ_F64)) * (double)n;
            const double residual = farthest(adz_matmul(a, x), b) / size / 0x1p-52;
            if (!(residual < 10)) {
                fail_msg("n = %d, k = %d: the residual is %g", (int)n, (int)k, residual);
            }
        }
    }
}

static adz_tensor *captured(void *user)
{
    return adz_solve(user, adz_ones(ADZ_SHAPE(2, 2, 1), ADZ_F64));
}

FACT(replays_report_singular_matrices)
{
    adz_tensor *a = adz_clone(adz_expand(adz_eye(2, 2, ADZ_F64), ADZ_SHAPE(2, 2, 2)));
    adz_tensor *sum = NULL;
    adz_plan *plan = adz_plan_new(captured, a, NULL);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    double *elements = adz_tensor_data_f64(a);
    elements[0] = 0.5;
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    sum = adz_sum(adz_plan_output(plan), ADZ_ALL_DIMS, ADZ_DROPDIM);
    ASSERT_VALUES(sum, ADZ_F64, 5);
    elements[7] = 0;
    assert_int_equal(adz_plan_run(plan), ADZ_ERR_NUMERIC);
    assert_non_null(strstr(adz_error_message(), "item [1] is singular: pivot 1 is 0"));
    adz_error_clear();
    adz_plan_free(&plan);
}

/* Solutions with one column, with several, and with the transposed matrices. */
static adz_tensor *all_solutions(adz_tensor *a)
{
    adz_tensor *b = adz_narrow(a, -1, 0, 1), *leaf = adz_requires_grad_(adz_clone(b), true);
    adz_tensor *transposed = gradient_by_expression(adz_solve(a, leaf), leaf);
    adz_tensor *parts[] = { adz_solve(a, b), adz_solve(a, a), transposed };
    return adz_cat(parts, 3, -1);
}

FACT(items_do_not_mix)
{
    assert_items_do_not_mix(all_solutions, false);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(small_systems_have_exact_solutions),
    cmocka_unit_test(singular_items_are_named),
    cmocka_unit_test(residuals_are_small),
    cmocka_unit_test(replays_report_singular_matrices),
    cmocka_unit_test(items_do_not_mix),
};

const op_case solve_case = {
    .name = "solve",
    .call = call,
    .samples = {
        { .in = { IN(3, 3), IN(3, 2) } },
        { .in = { IN_T(4, 4), IN_T(4, 1) } },
        { .in = { IN(1, 1), IN(1, 3) } },
        { .in = { IN(2, 3, 3), IN(3, 2) } },
        { .in = { IN(3, 3), IN(2, 1, 3, 2) } },
        { .in = { IN(2, 3, 3), IN(2, 3) } },
        { .in = { IN(3, 3), IN(3) } },
        { .in = { IN(0, 0), IN(0, 2) } },
        { .in = { IN(2, 0, 3, 3), IN(3, 2) } },
        { .in = { IN(3, 3), IN(3, 0) } },
        { .in = { IN(40, 40), IN(40, 3) }, .large = true },
        { .in = { IN(3, 70, 70), IN(3, 70, 20) }, .large = true },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3, 2) }, .status = ADZ_ERR_SHAPE, .says = "not square" },
        { .in = { IN(3), IN(3, 2) }, .status = ADZ_ERR_SHAPE, .says = "no matrix" },
        { .in = { IN(3, 3), IN(4, 2) }, .status = ADZ_ERR_SHAPE, .says = "3 rows" },
        { .in = { IN(2, 3, 3), IN(4, 3, 1) }, .status = ADZ_ERR_SHAPE, .says = "broadcast" },
        { .in = { IN_TYPED(ADZ_I64, 3, 3), IN(3, 1) }, .p = { 1 }, .status = ADZ_ERR_DTYPE },
    },
    .broadcasts = true,
    FACTS(facts),
};
