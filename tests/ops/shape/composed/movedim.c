#include "ops/facts.h"

/* p[0] = count, p[1 .. 3] = source, p[4 .. 6] = destination */
static int call(const op_args *a, adz_tensor **out)
{
    adz_dims source = { .count = (int)a->p[0] }, destination = source;
    for (int i = 0; i < source.count; ++i) {
        source.dims[i] = (int)a->p[1 + i];
        destination.dims[i] = (int)a->p[4 + i];
    }
    return case_one(adz_movedim(a->in[0], source, destination), out);
}

FACT(the_others_keep_their_order)
{
    adz_tensor *x = adz_zeros(ADZ_SHAPE(2, 3, 4, 5), ADZ_F32);
    adz_tensor *y = adz_movedim(x, ADZ_DIMS(0), ADZ_DIMS(-1));
    const adz_shape shape = adz_tensor_shape(y);
    assert_true(shape.sizes[0] == 3 && shape.sizes[1] == 4 && shape.sizes[3] == 2);
    y = adz_movedim(x, ADZ_DIMS(3, 1), ADZ_DIMS(0, 2));
    assert_true(
        adz_tensor_size(y, 0) == 5 && adz_tensor_size(y, 1) == 2 && adz_tensor_size(y, 2) == 3);
    ASSERT_REFUSED(adz_movedim(x, ADZ_DIMS(0, 1), ADZ_DIMS(0)), ADZ_ERR_DIM, "source names 2");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_others_keep_their_order),
};

const op_case movedim_case = {
    .name = "movedim",
    .call = call,
    .samples = {
        { .in = { IN(2, 3, 4) }, .p = { 1, 0, 0, 0, 2 } },
        { .in = { IN_T(2, 3, 4) }, .p = { 2, 0, 1, 0, -1, 0 } },
        { .in = { IN(2, 3) }, .p = { 0 } },
        { .in = { IN(1, 3) }, .p = { 1, 1, 0, 0, 0 } },
        { .in = { IN(0, 2) }, .p = { 1, 0, 0, 0, 1 } },
        { .in = { IN_0 }, .p = { 0 } },
    },
    .rejects = {
        { .in = { IN(2, 3) }, .p = { 2, 0, 0, 0, 0, 1 }, .status = ADZ_ERR_DIM, .says = "twice in source" },
        { .in = { IN(2, 3) }, .p = { 2, 0, 1, 0, 1, 1 }, .status = ADZ_ERR_DIM, .says = "twice in destination" },
        { .in = { IN(2, 3) }, .p = { 1, 2, 0, 0, 0 }, .status = ADZ_ERR_DIM },
    },
    .first_order_only = true,
    .inputs = { "x" },
    FACTS(facts),
};
