#include "ops/conv/conv.h"

/* The text says how large image and kernel are: a digit per dimension, "5432" for 5 x 4 and 3 x 2.
 */
static int call(const op_args *a, adz_tensor **out)
{
    const adz_conv_options o = conv_options(a);
    const char *t = a->text;
    return case_one(adz_fold(a->in[0], ADZ_SHAPE(t[0] - '0', t[1] - '0'),
                        ADZ_SHAPE(t[2] - '0', t[3] - '0'), &o),
        out);
}

static bool config(const json_t *json, op_args *args)
{
    double sizes[4];
    static char text[5];
    config_list(json, "output_size", sizes, 2);
    config_list(json, "kernel_size", sizes + 2, 2);
    for (int i = 0; i < 4; ++i) {
        text[i] = (char)('0' + (int)sizes[i]);
    }
    args->text = text;
    return conv_config(json, args);
}

/* Every element is counted once for each patch that it is in. */
FACT(patches_that_overlap_are_added)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_F64, 1, 2, 3, 4), ADZ_SHAPE(1, 1, 4));
    adz_tensor *patches = adz_unfold(x, ADZ_SHAPE(1, 2), NULL);
    adz_tensor *y = adz_fold(patches, ADZ_SHAPE(1, 4), ADZ_SHAPE(1, 2), NULL);
    ASSERT_VALUES(adz_flatten(y, 0, -1), ADZ_F64, 1, 4, 6, 4);
}

FACT(bad_sizes_are_refused)
{
    adz_tensor *x = adz_ones(ADZ_SHAPE(1, 8, 4), ADZ_F32);
    assert_non_null(adz_fold(x, ADZ_SHAPE(3), ADZ_SHAPE(2), NULL));
    ASSERT_REFUSED(adz_fold(x, ADZ_SHAPE(0), ADZ_SHAPE(2), NULL), ADZ_ERR_ARGUMENT, "output_size");
    ASSERT_REFUSED(adz_fold(x, ADZ_SHAPE(4), ADZ_SHAPE(2), NULL), ADZ_ERR_SHAPE, "3 x 3 positions");
    ASSERT_REFUSED(adz_fold(x, ADZ_SHAPE(4), ADZ_SHAPE(3), NULL), ADZ_ERR_SHAPE, "3 x 3 elements");
    ASSERT_REFUSED(adz_fold(x, ADZ_SHAPE(4), ADZ_SHAPE(5), NULL), ADZ_ERR_SHAPE, "spans 5");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(patches_that_overlap_are_added),
    cmocka_unit_test(bad_sizes_are_refused),
};

const op_case fold_case = {
    .name = "fold",
    .call = call,
    .samples = {
        { .in = { IN(2, 18, 25) }, .p = { [PADDING] = 1 }, .text = "5432" },
        { .in = { IN_T(2, 8, 4) }, .p = { [STRIDE] = 2, 3 }, .text = "4522" },
        { .in = { IN(8, 49) }, .p = { [DILATION] = 3, 2, [PADDING] = 2 }, .text = "6522" },
        { .in = { IN(1, 1, 1) }, .text = "1111" },
        { .in = { IN(0, 8, 4) }, .text = "3322" },
        { .in = { IN(2, 0, 4) }, .text = "3322" },
        { .in = { IN(2, 900, 49) }, .text = "9933", .large = true },
    },
    .rejects = {
        { .in = { IN(1, 7, 4) }, .status = ADZ_ERR_SHAPE, .says = "2 x 2", .text = "3322" },
        { .in = { IN(1, 1, 4, 4) }, .status = ADZ_ERR_SHAPE, .says = "rank 4", .text = "3322" },
        { .in = { IN_TYPED(ADZ_I64, 1, 8, 4) }, .status = ADZ_ERR_DTYPE, .text = "3322" },
    },
    .first_order_only = true,
    .vectors = { "fold" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
