#include "ops/linalg/decomposition/matrices.h"

#define TRIANGULAR(on_left, ones)                                                                \
    (adz_solve_triangular_options)                                                               \
    {                                                                                            \
        .size = sizeof(adz_solve_triangular_options), .left = (on_left), .unitriangular = (ones) \
    }

/* p[0]: upper, p[1]: left, p[2]: unitriangular */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_solve_triangular(regular_of(a->in[0], case_units[0]), a->in[1],
                        a->p[0] != 0, &TRIANGULAR(a->p[1] != 0, a->p[2] != 0)),
        out);
}

FACT(the_other_triangle_is_not_read)
{
    adz_tensor *a = MATRIX_LEAF(2, 2, NAN, 1, 4);
    adz_tensor *x = adz_solve_triangular(a, MATRIX(1, 2, 5), false, NULL);
    ASSERT_VALUES(adz_reshape(x, ADZ_SHAPE(2)), ADZ_F64, 1, 1);
    ASSERT_VALUES(adz_reshape(gradient_of(x, a), ADZ_SHAPE(4)), ADZ_F64, -0.375, 0, -0.25, -0.25);
    x = adz_solve_triangular(
        MATRIX(2, NAN, 3, NAN, NAN), MATRIX(1, 5, 1), true, &TRIANGULAR(true, true));
    ASSERT_VALUES(adz_reshape(x, ADZ_SHAPE(2)), ADZ_F64, 2, 1);
}

FACT(zeros_on_a_diagonal_are_named)
{
    adz_tensor *a = adz_reshape(VALUES(ADZ_F64, 1, 0, 0, 1, 1, 1, 1, 0), ADZ_SHAPE(2, 1, 2, 2));
    ASSERT_REFUSED(adz_solve_triangular(a, MATRIX(1, 1, 1), true, NULL), ADZ_ERR_NUMERIC,
        "a[2, 1, 2, 2], item [1, 0] is singular: element 1 of its diagonal is 0");
    adz_tensor *three = adz_ones(ADZ_SHAPE(3, 2, 1), ADZ_F64); /* three systems for each matrix */
    ASSERT_REFUSED(adz_solve_triangular(a, three, true, NULL), ADZ_ERR_NUMERIC,
        "a[2, 1, 2, 2], item [1, 0] is singular: element 1 of its diagonal is 0");
    assert_non_null(adz_solve_triangular(a, MATRIX(1, 1, 1), true, &TRIANGULAR(true, true)));
}

/* The first zero of the first item that has one, wherever items are solved together. */
FACT(zeros_in_a_large_batch_are_named)
{
    for (int64_t n = 8; n <= 20; n += 12) {
        adz_tensor *a = adz_clone(adz_expand(adz_eye(n, n, ADZ_F64), ADZ_SHAPE(21, n, n)));
        double *e = adz_tensor_data_f64(a);
        e[(13 * n + 3) * n + 3] = e[(13 * n + 5) * n + 5] = e[(14 * n + 1) * n + 1] = 0;
        adz_tensor *each = adz_ones(ADZ_SHAPE(21, n, 1), ADZ_F64);
        adz_tensor *one = adz_ones(ADZ_SHAPE(n, 1), ADZ_F64);
        ASSERT_REFUSED(adz_solve_triangular(a, each, true, NULL), ADZ_ERR_NUMERIC,
            "item [13] is singular: element 3 of its diagonal is 0");
        ASSERT_REFUSED(adz_solve_triangular(a, one, false, NULL), ADZ_ERR_NUMERIC,
            "item [13] is singular: element 3 of its diagonal is 0");
        assert_non_null(adz_solve_triangular(a, each, true, &TRIANGULAR(true, true)));
        each = adz_ones(ADZ_SHAPE(2, 21, n, 1), ADZ_F64);
        ASSERT_REFUSED(adz_solve_triangular(a, each, true, NULL), ADZ_ERR_NUMERIC,
            "item [13] is singular: element 3 of its diagonal is 0");
    }
}

FACT(every_side_and_triangle_solves)
{
    for (int64_t n = 1; n <= 100; n += 33) {
        for (int way = 0; way < 8; ++way) {
            const bool upper = way & 1, left = way & 2, unit = way & 4;
            adz_tensor *a = adz_mul_number(normal_matrices(ADZ_SHAPE(n, n)), 0.5 / (double)n);
            a = adz_add(upper ? adz_triu(a, 1) : adz_tril(a, -1), adz_eye(n, n, ADZ_F64));
            a = unit ? a : adz_mul_number(a, 2);
            adz_tensor *b = normal_matrices(left ? ADZ_SHAPE(n, 7) : ADZ_SHAPE(7, n));
            adz_tensor *x = adz_solve_triangular(a, b, upper, &TRIANGULAR(left, unit));
            adz_tensor *back = left ? adz_matmul(a, x) : adz_matmul(x, a);
            if (!(farthest(back, b) < 1e-13)) {
                fail_msg("n = %d, way %d: off by %g", (int)n, way, farthest(back, b));
            }
        }
    }
}

/* Both triangles, with and without a diagonal, from both sides, and with one column. */
static adz_tensor *all_solutions(adz_tensor *a)
{
    adz_tensor *t = regular(a), *parts[9];
    for (int way = 0; way < 8; ++way) {
        parts[way] = adz_solve_triangular(t, a, way & 1, &TRIANGULAR(way & 2, way & 4));
    }
    parts[8] = adz_solve_triangular(t, adz_narrow(a, -1, 0, 1), true, NULL);
    return adz_cat(parts, 9, -1);
}

FACT(items_do_not_mix)
{
    assert_items_do_not_mix(all_solutions, false);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_other_triangle_is_not_read),
    cmocka_unit_test(zeros_on_a_diagonal_are_named),
    cmocka_unit_test(zeros_in_a_large_batch_are_named),
    cmocka_unit_test(every_side_and_triangle_solves),
    cmocka_unit_test(items_do_not_mix),
};

const op_case solve_triangular_case = {
    .name = "solve_triangular",
    .call = call,
    .samples = {
        { .in = { IN(3, 3), IN(3, 2) }, .p = { 0, 1 } },
        { .in = { IN(3, 3), IN(3, 2) }, .p = { 1, 1 } },
        { .in = { IN_T(4, 4), IN_T(2, 4) }, .p = { 1, 0 } },
        { .in = { IN(3, 3), IN(3, 1) }, .p = { 0, 1, 1 } },
        { .in = { IN(2, 3, 3), IN(1, 3) }, .p = { 0, 0, 1 } },
        { .in = { IN(3, 3), IN(2, 1, 3, 2) }, .p = { 1, 1 } },
        { .in = { IN(0, 0), IN(0, 2) }, .p = { 1, 1 } },
        { .in = { IN(1, 1), IN(1, 0) }, .p = { 0, 1 } },
        { .in = { IN(70, 70), IN(70, 9) }, .p = { 0, 1 }, .large = true },
        { .in = { IN(2, 70, 70), IN(2, 70, 140) }, .p = { 1, 1 }, .large = true },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3, 2) }, .p = { 0, 1 }, .status = ADZ_ERR_SHAPE, .says = "not square" },
        { .in = { IN(3, 3), IN(3) }, .p = { 0, 1 }, .status = ADZ_ERR_SHAPE, .says = "no matrix" },
        { .in = { IN(3, 3), IN(3) }, .p = { 0, 0 }, .status = ADZ_ERR_SHAPE, .says = "no matrix" },
        { .in = { IN(3, 3), IN(4, 2) }, .p = { 0, 1 }, .status = ADZ_ERR_SHAPE, .says = "3 rows" },
        { .in = { IN(2, 3, 3), IN(4, 3, 1) }, .p = { 0, 1 }, .status = ADZ_ERR_SHAPE },
    },
    .broadcasts = true,
    FACTS(facts),
};
