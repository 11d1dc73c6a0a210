#include "ops/facts.h"

/* p[0] = align_corners, p[1] = rank of the size, p[2 ..] its sizes */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_affine_grid(a->in[0], case_shape(a, 1), a->p[0] != 0), out);
}

/* The identity gives the coordinates of the elements, the column first. */
FACT(the_identity_gives_coordinates)
{
    adz_tensor *theta = adz_reshape(VALUES(ADZ_F64, 1, 0, 0, 0, 1, 0), ADZ_SHAPE(1, 2, 3));
    adz_tensor *y = adz_affine_grid(theta, ADZ_SHAPE(1, 7, 2, 3), true);
    ASSERT_VALUES(adz_flatten(y, 0, -1), ADZ_F64, -1, -1, 0, -1, 1, -1, -1, 1, 0, 1, 1, 1);
    y = adz_affine_grid(theta, ADZ_SHAPE(1, 7, 1, 4), false);
    ASSERT_VALUES(adz_flatten(y, 0, -1), ADZ_F64, -0.75, 0, -0.25, 0, 0.25, 0, 0.75, 0);
}

/* Half the size, moved to the right. */
FACT(maps_are_applied)
{
    adz_tensor *theta = adz_reshape(VALUES(ADZ_F64, 0.5, 0, 0.25, 0, 2, 0), ADZ_SHAPE(1, 2, 3));
    adz_tensor *y = adz_affine_grid(theta, ADZ_SHAPE(1, 1, 2, 2), true);
    ASSERT_VALUES(adz_flatten(y, 0, -1), ADZ_F64, -0.25, -2, 0.75, -2, -0.25, 2, 0.75, 2);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_identity_gives_coordinates),
    cmocka_unit_test(maps_are_applied),
};

const op_case affine_grid_case = {
    .name = "affine_grid",
    .call = call,
    .samples = {
        { .in = { IN(1, 2, 3) }, .p = { 1, 4, 1, 1, 1, 1 } },
        { .in = { IN(3, 2, 3) }, .p = { 1, 4, 3, 1, 5, 2 } },
        { .in = { IN(2, 2, 3) }, .p = { 0, 4, 2, 3, 4, 5 } },
        { .in = { IN_T(2, 2, 3) }, .p = { 1, 4, 2, 3, 2, 1 } },
        { .in = { IN(1, 3, 4) }, .p = { 0, 5, 1, 2, 2, 3, 4 } },
        { .in = { IN(2, 3, 4) }, .p = { 1, 5, 2, 1, 3, 1, 2 } },
    },
    .rejects = {
        { .in = { IN(2, 2, 3) }, .p = { 0, 3, 2, 3, 4 }, .status = ADZ_ERR_SHAPE, .says = "size has 3 numbers" },
        { .in = { IN(2, 3, 4) }, .p = { 0, 4, 2, 3, 4, 5 }, .status = ADZ_ERR_SHAPE, .says = "it is [N, 2, 3]" },
        { .in = { IN(2, 2, 3) }, .p = { 0, 4, 1, 3, 4, 5 }, .status = ADZ_ERR_SHAPE, .says = "does not fit size" },
        { .in = { IN(0, 2, 3) }, .p = { 0, 4, 0, 3, 4, 5 }, .status = ADZ_ERR_SHAPE, .says = "sizes are 1 or more" },
        { .in = { IN_TYPED(ADZ_I64, 2, 2, 3) }, .p = { 0, 4, 2, 3, 4, 5 }, .status = ADZ_ERR_DTYPE },
    },
    .inputs = { "theta" },
    .no_empty = true,
    .first_order_only = true,
    FACTS(facts),
};
