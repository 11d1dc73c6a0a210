#include "ops/linalg/decomposition/scales.h"

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
    ASSERT_REFUSED(
        adz_lstsq(MATRIX(2, 0, 1, 0, 1), MATRIX(1, 1, 1)), ADZ_ERR_NUMERIC, "column 0 depends");
}

SCALE_FACT(gradients_keep_the_scale,
    adz_lstsq(a, adz_to(VALUES(ADZ_F64, 1, 3, -2), adz_tensor_dtype(a))), -2,
    MATRIX(2, 2, 1, 0.5, -1, 3, 1))

FACT(a_matrix_without_full_rank_is_refused)
{
    adz_tensor *a = MATRIX(2, 0.1, 0.1, 0.3, 0.3, 0.7, 0.7), *b = MATRIX(1, 1, 1, 1);
    ASSERT_REFUSED(adz_lstsq(a, b), ADZ_ERR_NUMERIC, "lstsq: a[3, 2] has no full rank");
    adz_tensor *wide = adz_transpose(a, 0, 1);
    ASSERT_REFUSED(adz_lstsq(wide, MATRIX(1, 1, 1)), ADZ_ERR_NUMERIC, "row 1 depends on the rows");
    adz_tensor *both[] = { MATRIX(2, 1, 0, 0, 1, 1, 1), a };
    ASSERT_REFUSED(adz_lstsq(adz_stack(both, 2, 0), b), ADZ_ERR_NUMERIC,
        "a[2, 3, 2], item [1] has no full rank to rounding, or an element that is not finite: column 1 depends on the columns before it");
    for (int place = 0; place < 6; ++place) {
        const double v[] = { place == 0 ? INFINITY : 1, place == 1 ? INFINITY : 2,
            place == 2 ? -INFINITY : 3, place == 3 ? INFINITY : 5, place == 4 ? NAN : 1,
            place == 5 ? INFINITY : 0 };
        adz_tensor *infinite = adz_tensor_from(v, ADZ_SHAPE(3, 2), ADZ_F64);
        ASSERT_REFUSED(adz_lstsq(infinite, b), ADZ_ERR_NUMERIC, "not finite");
        ASSERT_REFUSED(adz_lstsq_by(infinite, b, ADZ_LSTSQ_GELSY), ADZ_ERR_NUMERIC, "not finite");
    }
    /* sums of columns of large matrices, and columns of different units */
    adz_tensor *parts[] = { normal_matrices(ADZ_SHAPE(200, 30)), NULL };
    parts[1] = adz_sum(parts[0], ADZ_DIMS(1), ADZ_KEEPDIM);
    adz_tensor *right = adz_ones(ADZ_SHAPE(200), ADZ_F64);
    ASSERT_REFUSED(adz_lstsq(adz_cat(parts, 2, 1), right), ADZ_ERR_NUMERIC, "column 30 depends");
    assert_true(farthest(adz_lstsq(MATRIX(2, 1e17, 1, 1e17, 2, 1e17, 4), VALUES(ADZ_F64, 3, 5, 9)),
                    VALUES(ADZ_F64, 1e-17, 2)) < 1e-14);
}

FACT(gelsy_gives_the_shortest_solution)
{
    adz_tensor *a = MATRIX_LEAF(2, 0.1, 0.1, 0.3, 0.3, 0.7, 0.7), *b = VALUES(ADZ_F64, 1, 1, 1);
    adz_tensor *x = adz_lstsq_by(a, b, ADZ_LSTSQ_GELSY);
    assert_true(farthest(x, VALUES(ADZ_F64, 0.55 / 0.59, 0.55 / 0.59)) < 1e-14);
    assert_int_equal(adz_tensor_rank(x), 1);
    a = MATRIX_LEAF(2, 2, 1, 0.5, -1, 3, 1);
    adz_tensor *of_qr = adz_lstsq(a, b), *of_svd = adz_lstsq_by(a, b, ADZ_LSTSQ_GELSY);
    assert_true(farthest(of_qr, of_svd) < 1e-14);
    assert_true(farthest(gradient_of(of_qr, a), gradient_of(of_svd, a)) < 1e-14);
    ASSERT_REFUSED(adz_lstsq_by(a, b, (adz_lstsq_driver)7), ADZ_ERR_ARGUMENT, "driver 7");
}

FACT(vectors_are_right_hand_sides)
{
    adz_tensor *a = normal_matrices(ADZ_SHAPE(2, 4, 3)), *b = normal_matrices(ADZ_SHAPE(2, 4));
    adz_tensor *x = adz_lstsq(a, b), *columns = adz_lstsq(a, adz_unsqueeze(b, -1));
    assert_int_equal(adz_tensor_rank(x), 2);
    assert_true(farthest(x, adz_squeeze(columns, -1)) == 0);
    x = adz_lstsq(a, adz_select(b, 0, 1));
    assert_true(farthest(adz_select(x, 0, 1), adz_select(adz_squeeze(columns, -1), 0, 1)) == 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(gradients_keep_the_scale),
    cmocka_unit_test(a_matrix_without_full_rank_is_refused),
    cmocka_unit_test(gelsy_gives_the_shortest_solution),
    cmocka_unit_test(vectors_are_right_hand_sides),
    cmocka_unit_test(a_line_through_points),
};

const op_case lstsq_case = {
    .name = "lstsq",
    .call = call,
    .samples = {
        { .in = { IN(4, 2), IN(4) } },
        { .in = { IN(2, 4, 2), IN(2, 4) } },
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
