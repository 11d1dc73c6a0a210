#include "ops/facts.h"

/* p[0] = mode, p[1] = scale_factor, p[2] = align_corners, p[3] = rank of the size, p[4 ..] its
 * sizes */
static int call(const op_args *a, adz_tensor **out)
{
    adz_interpolate_options o = ADZ_INTERPOLATE_OPTIONS;
    o.mode = (adz_interpolate_mode)a->p[0];
    o.scale_factor = a->p[1];
    o.align_corners = a->p[2] != 0;
    return case_one(adz_interpolate(a->in[0], case_shape(a, 3), &o), out);
}

static bool config(const json_t *config, op_args *a)
{
    const char *mode = config_text(config, "mode", "nearest");
    a->p[0] = strcmp(mode, "nearest") == 0 ? 0 : strcmp(mode, "linear") == 0 ? 1 : 2;
    a->p[1] = config_number(config, "scale_factor", 0);
    a->p[2] = config_flag(config, "align_corners", false);
    if (config_has(config, "size")) {
        config_shape(config, "size", a, 3);
    }
    return true;
}

static adz_tensor *resized(
    adz_tensor *x, int64_t size, adz_interpolate_mode mode, bool align_corners)
{
    adz_interpolate_options o;
    adz_interpolate_options_init(&o, sizeof o);
    o.mode = mode;
    o.align_corners = align_corners;
    adz_tensor *row = adz_reshape(x, ADZ_SHAPE(1, 1, adz_tensor_numel(x)));
    return adz_reshape(adz_interpolate(row, ADZ_SHAPE(size), &o), ADZ_SHAPE(size));
}

FACT(small_rows)
{
    adz_tensor *x = VALUES(ADZ_F32, 0, 4, 2);
    ASSERT_VALUES(resized(x, 6, ADZ_INTERPOLATE_NEAREST, false), ADZ_F32, 0, 0, 4, 4, 2, 2);
    ASSERT_VALUES(resized(x, 2, ADZ_INTERPOLATE_NEAREST, false), ADZ_F32, 0, 4);
    ASSERT_VALUES(resized(x, 6, ADZ_INTERPOLATE_LINEAR, false), ADZ_F32, 0, 1, 3, 3.5, 2.5, 2);
    ASSERT_VALUES(resized(x, 5, ADZ_INTERPOLATE_LINEAR, true), ADZ_F32, 0, 2, 4, 3, 2);
    ASSERT_VALUES(resized(x, 1, ADZ_INTERPOLATE_LINEAR, true), ADZ_F32, 0);
    ASSERT_VALUES(resized(x, 3, ADZ_INTERPOLATE_LINEAR, false), ADZ_F32, 0, 4, 2);
}

/* A signal by a factor, as a vector. The rows and the columns of an image must follow the same
 * formula, and the gradient must count how often each element was taken. */
static adz_tensor *by_factor(adz_tensor *x, double factor)
{
    const int64_t n = adz_tensor_numel(x), m = (int64_t)((double)n * factor);
    adz_interpolate_options o = ADZ_INTERPOLATE_OPTIONS;
    o.scale_factor = factor;
    adz_tensor *row = adz_reshape(x, ADZ_SHAPE(1, 1, n));
    adz_tensor *image = adz_expand(adz_reshape(x, ADZ_SHAPE(1, 1, n, 1)), ADZ_SHAPE(1, 1, n, 2));
    adz_tensor *y = adz_reshape(adz_interpolate(row, ADZ_SHAPE_SCALAR, &o), ADZ_SHAPE(m));
    adz_tensor *high = adz_interpolate(image, ADZ_SHAPE_SCALAR, &o);
    assert_true(adz_equal(adz_reshape(adz_select(high, 3, 0), ADZ_SHAPE(m)), y));
    adz_tensor *wide = adz_interpolate(adz_transpose(image, 2, 3), ADZ_SHAPE_SCALAR, &o);
    assert_true(adz_equal(adz_reshape(adz_select(wide, 2, 0), ADZ_SHAPE(m)), y));
    return y;
}

FACT(nearest_follows_the_factor)
{
    adz_tensor *x = LEAF(10, 20), *y = by_factor(x, 2.3);
    ASSERT_VALUES(y, ADZ_F64, 10, 10, 10, 20);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 3, 1);
    ASSERT_VALUES(gradient_by_expression(y, x), ADZ_F64, 3, 1);
    ASSERT_VALUES(by_factor(x, 1.4), ADZ_F64, 10, 10);
    ASSERT_VALUES(by_factor(x, 2), ADZ_F64, 10, 10, 20, 20);
    ASSERT_VALUES(by_factor(x, 1), ADZ_F64, 10, 20);
    adz_tensor *three = VALUES(ADZ_F64, 0, 4, 2);
    ASSERT_VALUES(by_factor(three, 2.1), ADZ_F64, 0, 0, 0, 4, 4, 2);
    ASSERT_VALUES(by_factor(three, 1.3), ADZ_F64, 0, 0, 4);
}

/* A linear mode copies a dimension whose size stays, also if the factor is not 1. */
FACT(linear_copies_what_keeps_its_size)
{
    adz_interpolate_options o = ADZ_INTERPOLATE_OPTIONS;
    o.mode = ADZ_INTERPOLATE_LINEAR;
    o.scale_factor = 4.0 / 3;
    adz_tensor *x = adz_reshape(VALUES(ADZ_F32, 0, 1), ADZ_SHAPE(1, 1, 2));
    assert_true(adz_equal(adz_interpolate(x, ADZ_SHAPE_SCALAR, &o), x));
    o.mode = ADZ_INTERPOLATE_BILINEAR;
    adz_tensor *image = adz_expand(adz_unsqueeze(x, 2), ADZ_SHAPE(1, 1, 3, 2));
    adz_tensor *y = adz_interpolate(image, ADZ_SHAPE_SCALAR, &o);
    ASSERT_VALUES(adz_flatten(y, 0, -1), ADZ_F32, 0, 1, 0, 1, 0, 1, 0, 1);
}

/* The last position of a row has no right neighbour: the next row must not be read. */
FACT(rows_do_not_touch)
{
    adz_interpolate_options o = ADZ_INTERPOLATE_OPTIONS;
    o.mode = ADZ_INTERPOLATE_LINEAR;
    adz_tensor *x = adz_reshape(VALUES(ADZ_F32, 0, 4, (double)NAN, 6), ADZ_SHAPE(1, 2, 2));
    adz_tensor *y = adz_select(adz_interpolate(x, ADZ_SHAPE(4), &o), 1, 0);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(4)), ADZ_F32, 0, 1, 3, 4);
}

FACT(either_a_size_or_a_factor)
{
    adz_tensor *x = adz_ones(ADZ_SHAPE(1, 1, 3), ADZ_F32);
    adz_interpolate_options o = ADZ_INTERPOLATE_OPTIONS;
    ASSERT_REFUSED(
        adz_interpolate(x, ADZ_SHAPE_SCALAR, NULL), ADZ_ERR_ARGUMENT, "give either a size");
    o.scale_factor = 1e30;
    ASSERT_REFUSED(adz_interpolate(x, ADZ_SHAPE_SCALAR, &o), ADZ_ERR_SHAPE, "scaled by 1e+30");
    o.size = 0;
    ASSERT_REFUSED(adz_interpolate(x, ADZ_SHAPE(2), &o), ADZ_ERR_ARGUMENT, "size is 0");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(small_rows),
    cmocka_unit_test(nearest_follows_the_factor),
    cmocka_unit_test(linear_copies_what_keeps_its_size),
    cmocka_unit_test(rows_do_not_touch),
    cmocka_unit_test(either_a_size_or_a_factor),
};

const op_case interpolate_case = {
    .name = "interpolate",
    .call = call,
    .samples = {
        { .in = { IN(2, 2, 5) }, .p = { 0, 0, 0, 1, 8 } },
        { .in = { IN_T(2, 1, 3, 4) }, .p = { 0, 2 } },
        { .in = { IN(2, 2, 5) }, .p = { 1, 0, 0, 1, 3 } },
        { .in = { IN(1, 2, 4) }, .p = { 1, 1.7, 1 } },
        { .in = { IN(2, 1, 3, 2) }, .p = { 0, 1.4 } },
        { .in = { IN(1, 2, 3) }, .p = { 0, 2.3 } },
        { .in = { IN_T(2, 1, 3, 4) }, .p = { 2, 0, 0, 2, 5, 3 } },
        { .in = { IN(1, 2, 4, 3) }, .p = { 2, 0, 1, 2, 3, 6 } },
        { .in = { IN(1, 1, 3, 3) }, .p = { 2, 1.5 } },
        { .in = { IN(1, 1, 1, 1) }, .p = { 2, 0, 0, 1, 2 } },
        { .in = { IN(0, 2, 4) }, .p = { 0, 0.5 } },
        { .in = { IN(2, 2, 21, 1300) }, .p = { 2, 0, 0, 2, 33, 900 }, .large = true },
    },
    .rejects = {
        { .in = { IN(2, 5) }, .p = { 0, 0, 0, 1, 8 }, .status = ADZ_ERR_SHAPE, .says = "mode nearest" },
        { .in = { IN(2, 2, 5) }, .p = { 2, 0, 0, 1, 8 }, .status = ADZ_ERR_SHAPE, .says = "mode bilinear, which takes [N, C, H, W]" },
        { .in = { IN(2, 2, 5, 5) }, .p = { 1, 0, 0, 1, 8 }, .status = ADZ_ERR_SHAPE, .says = "mode linear" },
        { .in = { IN(2, 2, 0) }, .p = { 0, 0, 0, 1, 8 }, .status = ADZ_ERR_SHAPE, .says = "is empty" },
        { .in = { IN(2, 2, 5) }, .p = { 0, 0, 0, 1, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "size is 0" },
        { .in = { IN(2, 2, 5) }, .p = { 0, 0, 1, 1, 8 }, .status = ADZ_ERR_ARGUMENT, .says = "align_corners" },
        { .in = { IN(2, 2, 5) }, .p = { 0, 2, 0, 1, 8 }, .status = ADZ_ERR_ARGUMENT, .says = "scale_factor 2" },
        { .in = { IN(2, 2, 5) }, .p = { 0, -2 }, .status = ADZ_ERR_ARGUMENT, .says = "scale_factor is -2, but must be finite and 0 or more" },
        { .in = { IN(2, 2, 5) }, .p = { 7, 0, 0, 1, 8 }, .status = ADZ_ERR_ARGUMENT, .says = "mode is 7" },
        { .in = { IN(2, 2, 5) }, .p = { 0, 0.1 }, .status = ADZ_ERR_SHAPE, .says = "a size of 0" },
        { .in = { IN_TYPED(ADZ_I64, 2, 2, 5) }, .p = { 0, 0, 0, 1, 8 }, .status = ADZ_ERR_DTYPE },
    },
    .vectors = { "interpolate" },
    .inputs = { "x" },
    .config = config,
    .first_order_only = true,
    FACTS(facts),
};
