#include "ops/facts.h"

/* p[0] = kernel_size, p[1] = stride (0: the default), p[2] = padding, p[3] = the sizes of y (0: the
 * default) */
static int call(const op_args *a, adz_tensor **out)
{
    adz_max_unpool_options o = ADZ_MAX_UNPOOL_OPTIONS;
    if (a->p[1] != 0) {
        o.stride = ADZ_SHAPE((int64_t)a->p[1]);
    }
    o.padding = ADZ_SHAPE((int64_t)a->p[2]);
    for (int d = 0; d < 2 && a->p[3] != 0; ++d) {
        o.output_size.sizes[o.output_size.rank++] = (int64_t)a->p[3];
    }
    return case_one(adz_max_unpool2d(a->in[0], a->in[1], ADZ_SHAPE((int64_t)a->p[0]), &o), out);
}

/* What a pooling keeps stays, and the rest is 0. The gradient of y goes to those elements. */
FACT(it_undoes_a_pooling)
{
    adz_tensor *leaf = LEAF(1, 5, 2, 3, 9, 7, 4, 8), *at;
    adz_tensor *x = adz_max_pool2d(adz_reshape(leaf, ADZ_SHAPE(1, 2, 4)), ADZ_SHAPE(2), NULL, &at);
    adz_tensor *y = adz_max_unpool2d(x, at, ADZ_SHAPE(2), NULL);
    adz_tensor *kept = adz_mul(y, adz_reshape(adz_arange(1, 9, 1, ADZ_F64), ADZ_SHAPE(1, 2, 4)));
    ASSERT_VALUES(adz_flatten(y, 0, -1), ADZ_F64, 0, 0, 0, 0, 9, 0, 0, 8);
    ASSERT_VALUES(gradient_of(kept, leaf), ADZ_F64, 0, 0, 0, 0, 5, 0, 0, 8);
}

/* Pooling the result with the same windows gives x again, also where windows share elements. */
FACT(pooling_finds_the_elements_again)
{
    adz_max_pool_options pool = ADZ_MAX_POOL_OPTIONS;
    adz_max_unpool_options o;
    adz_max_unpool_options_init(&o, sizeof o);
    pool.stride = o.stride = ADZ_SHAPE(2);
    pool.padding = o.padding = ADZ_SHAPE(1);
    o.output_size = ADZ_SHAPE(7, 8);
    adz_tensor *x = adz_rand(ADZ_SHAPE(2, 3, 7, 8), ADZ_F64), *at;
    adz_tensor *y = adz_max_pool2d(x, ADZ_SHAPE(3, 2), &pool, &at);
    adz_tensor *back = adz_max_unpool2d(y, at, ADZ_SHAPE(3, 2), &o);
    assert_true(adz_equal(adz_max_pool2d(back, ADZ_SHAPE(3, 2), &pool, NULL), y));
    adz_tensor *zero = adz_eq_number(back, 0);
    assert_true(adz_equal(adz_where(zero, x, back), x));
}

FACT(wrong_indices_are_refused)
{
    adz_tensor *x = adz_ones(ADZ_SHAPE(1, 2, 4), ADZ_F32);
    adz_tensor *at = adz_full(ADZ_SHAPE(1, 2, 4), 1000, ADZ_I64);
    ASSERT_REFUSED(adz_max_unpool2d(x, at, ADZ_SHAPE(2), NULL), ADZ_ERR_INDEX, "1000");
    at = adz_full(ADZ_SHAPE(1, 2, 4), -1, ADZ_I64);
    ASSERT_REFUSED(adz_max_unpool2d(x, at, ADZ_SHAPE(2), NULL), ADZ_ERR_INDEX, "-1");
    ASSERT_REFUSED(adz_max_unpool2d(x, x, ADZ_SHAPE(2), NULL), ADZ_ERR_DTYPE, "must be int64");
    adz_max_unpool_options o = ADZ_MAX_UNPOOL_OPTIONS;
    o.output_size = ADZ_SHAPE(1, 2, 3, 4);
    at = adz_zeros(ADZ_SHAPE(1, 2, 4), ADZ_I64);
    ASSERT_REFUSED(
        adz_max_unpool2d(x, at, ADZ_SHAPE(2), &o), ADZ_ERR_ARGUMENT, "output_size has 4 numbers");
    o.size = 2;
    ASSERT_REFUSED(adz_max_unpool2d(x, at, ADZ_SHAPE(2), &o), ADZ_ERR_ARGUMENT, "size is 2");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(it_undoes_a_pooling),
    cmocka_unit_test(pooling_finds_the_elements_again),
    cmocka_unit_test(wrong_indices_are_refused),
};

const op_case max_unpool2d_case = {
    .name = "max_unpool2d",
    .call = call,
    .samples = {
        { .in = { IN(1, 1, 1), IN_INDEX(1, 1, 1, 1) }, .p = { 1 } },
        { .in = { IN(2, 3, 2), IN_INDEX(4, 2, 3, 2) }, .p = { 3, 0, 1 } },
        { .in = { IN(2, 2, 2, 3), IN_INDEX(24, 2, 2, 2, 3) }, .p = { 2 } },
        { .in = { IN_T(2, 2, 2), IN_INDEX(3, 2, 2, 2) }, .p = { 3, 2, 1 } },
        { .in = { IN(2, 2, 2, 3), IN_INDEX(16, 2, 2, 2, 3) }, .p = { 2, 4, 0, 7 } },
        { .in = { IN(0, 2, 3, 2), IN_INDEX(1, 0, 2, 3, 2) }, .p = { 2 } },
    },
    .rejects = {
        { .in = { IN(2, 2, 2, 3), IN_INDEX(2, 2, 2) }, .p = { 2 }, .status = ADZ_ERR_SHAPE, .says = "shaped like x" },
        { .in = { IN(2, 2, 2), IN_INDEX(2, 2, 2, 2) }, .p = { 2, 0, 0, 99 }, .status = ADZ_ERR_ARGUMENT, .says = "exclusive" },
        { .in = { IN(2, 2, 2), IN_INDEX(2, 2, 2, 2) }, .p = { 2, 0, 9 }, .status = ADZ_ERR_ARGUMENT, .says = "1 or more" },
        { .in = { IN(2, 2, 2), IN_INDEX(2, 2, 2, 2) }, .p = { 0 }, .status = ADZ_ERR_ARGUMENT, .says = "kernel_size is [0" },
        { .in = { IN(4), IN_INDEX(2, 4) }, .p = { 2 }, .status = ADZ_ERR_SHAPE, .says = "must be [N, C" },
    },
    .inputs = { "x", "indices" },
    .first_order_only = true,
    FACTS(facts),
};
