#include "ops/facts.h"

/* p[0] = indexing, p[1] = the number of vectors */
static int call(const op_args *a, adz_tensor **out)
{
    const size_t n = (size_t)a->p[1];
    return adz_meshgrid(a->in, n, (adz_meshgrid_indexing)(int)a->p[0], out) == ADZ_OK ? (int)n : 0;
}

FACT(rows_or_columns_first)
{
    adz_tensor *in[] = { VALUES(ADZ_I64, 1, 2, 3), VALUES(ADZ_I64, 7, 8) }, *out[2];
    assert_int_equal(adz_meshgrid(in, 2, ADZ_MESHGRID_IJ, out), ADZ_OK);
    assert_int_equal(adz_tensor_size(out[0], 0), 3);
    ASSERT_VALUES(adz_reshape(out[0], ADZ_SHAPE(6)), ADZ_I64, 1, 1, 2, 2, 3, 3);
    ASSERT_VALUES(adz_reshape(out[1], ADZ_SHAPE(6)), ADZ_I64, 7, 8, 7, 8, 7, 8);
    assert_int_equal(adz_meshgrid(in, 2, ADZ_MESHGRID_XY, out), ADZ_OK);
    assert_int_equal(adz_tensor_size(out[1], 0), 2);
    ASSERT_VALUES(adz_reshape(out[0], ADZ_SHAPE(6)), ADZ_I64, 1, 2, 3, 1, 2, 3);
    ASSERT_VALUES(adz_reshape(out[1], ADZ_SHAPE(6)), ADZ_I64, 7, 7, 7, 8, 8, 8);
}

FACT(one_vector_is_a_grid_with_one_dimension)
{
    adz_tensor *in[] = { VALUES(ADZ_F32, 1, 2) }, *out[1];
    assert_int_equal(adz_meshgrid(in, 1, ADZ_MESHGRID_XY, out), ADZ_OK);
    ASSERT_VALUES(out[0], ADZ_F32, 1, 2);
}

FACT(a_failure_empties_the_results)
{
    adz_tensor *x = VALUES(ADZ_F32, 1, 2), *in[] = { x, VALUES(ADZ_F64, 1) }, *out[] = { x, x };
    assert_int_equal(adz_meshgrid(in, 2, ADZ_MESHGRID_IJ, out), ADZ_ERR_DTYPE);
    assert_non_null(strstr(adz_error_message(), "tensor 1 is float64"));
    assert_true(out[0] == NULL && out[1] == NULL);
    adz_error_clear();
    assert_int_equal(adz_meshgrid(in, 0, ADZ_MESHGRID_IJ, out), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    assert_int_equal(adz_meshgrid(in, 2, ADZ_MESHGRID_IJ, NULL), ADZ_ERR_NULL);
    adz_error_clear();
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(rows_or_columns_first),
    cmocka_unit_test(one_vector_is_a_grid_with_one_dimension),
    cmocka_unit_test(a_failure_empties_the_results),
};

const op_case meshgrid_case = {
    .name = "meshgrid",
    .call = call,
    .samples = {
        { .in = { IN(3), IN(4) }, .p = { 0, 2 } },
        { .in = { IN_T(3), IN(4) }, .p = { 1, 2 } },
        { .in = { IN(2), IN(3), IN(2) }, .p = { 1, 3 } },
        { .in = { IN(5) }, .p = { 0, 1 } },
        { .in = { IN(1), IN_0, IN(3) }, .p = { 0, 3 } },
        { .in = { IN(0), IN(3) }, .p = { 1, 2 } },
    },
    .rejects = {
        { .in = { IN(2, 3), IN(2) }, .p = { 0, 2 }, .status = ADZ_ERR_SHAPE, .says = "tensor 0[2, 3]" },
        { .in = { IN(2), IN(2) }, .p = { 2, 2 }, .status = ADZ_ERR_ARGUMENT, .says = "indexing is 2" },
        { .in = { IN(1), IN(1), IN(1), IN(1), IN(1), IN(1), IN(1), IN(1), IN(1) }, .p = { 0, 9 },
            .status = ADZ_ERR_SHAPE, .says = "a grid of 9" },
    },
    .broadcasts = true,
    .first_order_only = true,
    FACTS(facts),
};
