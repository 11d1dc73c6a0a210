#include "ops/facts.h"

/* p[0] = mode, p[1] = 1 with a padding row, p[2] = that row, p[3] = scale_grad_by_freq, p[4] =
 * include_last_offset, p[5] = sparse. `text` lists the offsets; without it ids are [B, S]. in[2]
 * is absent, so that the inputs have the order of the arguments. */
static int call(const op_args *a, adz_tensor **out)
{
    adz_embedding_bag_options o = ADZ_EMBEDDING_BAG_OPTIONS;
    o.mode = (adz_bag_mode)a->p[0];
    o.padding_idx = a->p[1] != 0 ? (int64_t)a->p[2] : ADZ_NO_PADDING;
    o.scale_grad_by_freq = a->p[3] != 0;
    o.include_last_offset = a->p[4] != 0;
    o.sparse = a->p[5] != 0;
    int64_t at[16], n = 0;
    for (const char *c = a->text; c != NULL && *c != '\0'; ++c) {
        at[n++] = *c - '0';
    }
    adz_tensor *offsets = a->text != NULL ? adz_tensor_from(at, ADZ_SHAPE(n), ADZ_I64) : a->in[2];
    return case_one(adz_embedding_bag(a->in[0], a->in[1], offsets, a->in[3], &o), out);
}

FACT(empty_bags_and_padding_give_zeros)
{
    adz_tensor *w = adz_reshape(VALUES(ADZ_F64, -1, -2, -4), ADZ_SHAPE(3, 1));
    adz_tensor *ids = VALUES(ADZ_I32, 0, 1, 2, 2), *offsets = VALUES(ADZ_I32, 0, 2, 2, 3);
    adz_embedding_bag_options o;
    adz_embedding_bag_options_init(&o, sizeof o);
    o.padding_idx = 2;
    static const double wanted[3][4] = { { -3, 0, 0, 0 }, { -1.5, 0, 0, 0 }, { -1, 0, 0, 0 } };
    for (int mode = 0; mode < 3; ++mode) {
        o.mode = (adz_bag_mode)mode;
        adz_tensor *y = adz_embedding_bag(ids, w, offsets, ADZ_NONE, &o);
        assert_true(adz_equal(y, adz_tensor_from(wanted[mode], ADZ_SHAPE(4, 1), ADZ_F64)));
    }
}

FACT(bags_of_one_size_are_bags_with_offsets)
{
    adz_manual_seed(5);
    adz_tensor *w = adz_requires_grad_(adz_randn(ADZ_SHAPE(6, 3), ADZ_F64), true);
    adz_tensor *ids = adz_randint(0, 6, ADZ_SHAPE(4, 5), ADZ_I64);
    adz_tensor *offsets = VALUES(ADZ_I64, 0, 5, 10, 15, 20),
               *dy = adz_randn(ADZ_SHAPE(4, 3), ADZ_F64);
    adz_embedding_bag_options o = ADZ_EMBEDDING_BAG_OPTIONS;
    o.include_last_offset = true;
    for (int mode = 0; mode < 3; ++mode) {
        for (o.padding_idx = ADZ_NO_PADDING; o.padding_idx <= 0;
             o.padding_idx = o.padding_idx == 0 ? 1 : 0) {
            o.mode = (adz_bag_mode)mode;
            adz_tensor *a = adz_embedding_bag(ids, w, ADZ_NONE, ADZ_NONE, &o);
            adz_tensor *b = adz_embedding_bag(adz_flatten(ids, 0, -1), w, offsets, ADZ_NONE, &o);
            assert_true(adz_allclose(a, b, 1e-15, 1e-15, false));
            assert_true(adz_allclose(gradient_of(adz_mul(a, dy), w), gradient_of(adz_mul(b, dy), w),
                1e-14, 1e-14, false));
        }
    }
}

FACT(the_first_of_equal_elements_has_the_gradient_and_nan_is_the_largest)
{
    adz_tensor *w = LEAF(7, 7, 1, NAN), *table = adz_reshape(w, ADZ_SHAPE(4, 1));
    adz_embedding_bag_options o = ADZ_EMBEDDING_BAG_OPTIONS;
    o.mode = ADZ_BAG_MAX;
    adz_tensor *ids = VALUES(ADZ_I64, 2, 1, 0, 2, 3, 0), *offsets = VALUES(ADZ_I64, 0, 3);
    adz_tensor *y = adz_embedding_bag(ids, table, offsets, ADZ_NONE, &o);
    ASSERT_VALUES(adz_flatten(y, 0, -1), ADZ_F64, 7, NAN);
    ASSERT_VALUES(gradient_of(y, w), ADZ_F64, 0, 1, 0, 1);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(empty_bags_and_padding_give_zeros),
    cmocka_unit_test(bags_of_one_size_are_bags_with_offsets),
    cmocka_unit_test(the_first_of_equal_elements_has_the_gradient_and_nan_is_the_largest),
};

const op_case embedding_bag_case = {
    .name = "embedding_bag",
    .call = call,
    .samples = {
        { .in = { IN_INDEX(5, 3, 4), IN(5, 2), IN_NONE, IN_NONE }, .p = { ADZ_BAG_MEAN } },
        { .in = { IN_INDEX(5, 3, 4), IN(5, 2), IN_NONE, IN(3, 4) }, .p = { ADZ_BAG_SUM, 1, 2 } },
        { .in = { IN_INDEX(3, 3, 2), IN_OF(FILL_DISTINCT, 3, 4), IN_NONE, IN_NONE }, .p = { ADZ_BAG_MAX, 1, -1 } },
        { .in = { IN_INDEX(5, 7), IN_T(5, 2), IN_NONE, IN_NONE }, .p = { ADZ_BAG_MEAN, 1, 1 }, .text = "0335" },
        { .in = { IN_INDEX(5, 7), IN(5, 2), IN_NONE, IN(7) }, .p = { ADZ_BAG_SUM, 0, 0, 0, 1 }, .text = "0146" },
        { .in = { IN_INDEX(5, 7), IN_OF(FILL_DISTINCT, 5, 3), IN_NONE, IN_NONE }, .p = { ADZ_BAG_MAX }, .text = "0025" },
        { .in = { IN_INDEX(4, 9), IN_OF(FILL_DISTINCT, 4, 2), IN_NONE, IN_NONE }, .p = { ADZ_BAG_MAX, 1, 0, 0, 1 }, .text = "02378" },
        { .in = { IN_INDEX(3, 6), IN(3, 1), IN_NONE, IN_NONE }, .p = { ADZ_BAG_SUM }, .text = "0" },
        { .in = { IN_INDEX(1, 0), IN(5, 2), IN_NONE, IN_NONE }, .p = { ADZ_BAG_MAX }, .text = "00" },
        { .in = { IN_INDEX(1, 0), IN(5, 2), IN_NONE, IN_NONE }, .p = { ADZ_BAG_MEAN }, .text = "" },
        { .in = { IN_INDEX(1, 2, 0), IN(5, 2), IN_NONE, IN_NONE }, .p = { ADZ_BAG_MAX } },
        { .in = { IN_INDEX(5, 0, 3), IN(5, 2), IN_NONE, IN_NONE }, .p = { ADZ_BAG_MAX } },
    },
    .rejects = {
        { .in = { IN_INDEX(5, 4), IN(5, 2), IN_NONE, IN_NONE }, .p = { ADZ_BAG_MEAN }, .status = ADZ_ERR_SHAPE, .says = "offsets are absent" },
        { .in = { IN_INDEX(5, 4, 2), IN(5, 2), IN_NONE, IN_NONE }, .p = { ADZ_BAG_MEAN }, .text = "02", .status = ADZ_ERR_SHAPE, .says = "ids[4, 2]" },
        { .in = { IN_INDEX(5, 4), IN(5, 2), IN_NONE, IN_NONE }, .p = { ADZ_BAG_MEAN }, .text = "12", .status = ADZ_ERR_ARGUMENT, .says = "element 0 is 1" },
        { .in = { IN_INDEX(5, 4), IN(5, 2), IN_NONE, IN_NONE }, .p = { ADZ_BAG_MEAN }, .text = "021", .status = ADZ_ERR_ARGUMENT, .says = "element 2 is 1" },
        { .in = { IN_INDEX(5, 4), IN(5, 2), IN_NONE, IN_NONE }, .p = { ADZ_BAG_MEAN }, .text = "05", .status = ADZ_ERR_ARGUMENT, .says = "at most 4" },
        { .in = { IN_INDEX(5, 4, 2), IN(5, 2), IN_NONE, IN(4, 2) }, .p = { ADZ_BAG_MEAN }, .status = ADZ_ERR_ARGUMENT, .says = "mode mean" },
        { .in = { IN_INDEX(5, 4, 2), IN(5, 2), IN_NONE, IN(4) }, .p = { ADZ_BAG_SUM }, .status = ADZ_ERR_SHAPE, .says = "per_sample_weights[4]" },
        { .in = { IN_INDEX(5, 4, 2), IN(5, 2), IN_NONE, IN_NONE }, .p = { ADZ_BAG_MAX, 0, 0, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "scale_grad_by_freq" },
        { .in = { IN_INDEX(5, 4, 2), IN(5, 2), IN_NONE, IN_NONE }, .p = { ADZ_BAG_SUM, 1, 5 }, .status = ADZ_ERR_INDEX, .says = "padding_idx 5" },
        { .in = { IN_INDEX(5, 4, 2), IN(5, 2), IN_NONE, IN_NONE }, .p = { ADZ_BAG_SUM, 0, 0, 0, 0, 1 }, .status = ADZ_ERR_UNSUPPORTED, .says = "sparse" },
        { .in = { IN_INDEX(5, 4, 2), IN(5, 2), IN_NONE, IN_NONE }, .p = { 3 }, .status = ADZ_ERR_ARGUMENT, .says = "mode" },
        { .in = { IN_INDEX(5, 4, 2), IN_TYPED(ADZ_I64, 5, 2), IN_NONE, IN_NONE }, .p = { 0 }, .status = ADZ_ERR_DTYPE, .says = "weight is int64" },
    },
    .inputs = { "ids", "weight", "offsets", "per_sample_weights" },
    FACTS(facts),
};
