#include "ops/facts.h"

enum { MODE, PADDING, CORNERS };

static int call(const op_args *a, adz_tensor **out)
{
    adz_grid_sample_options o = ADZ_GRID_SAMPLE_OPTIONS;
    o.mode = (adz_grid_mode)(int)a->p[MODE];
    o.padding_mode = (adz_grid_padding)(int)a->p[PADDING];
    o.align_corners = a->p[CORNERS] != 0;
    return case_one(adz_grid_sample(a->in[0], a->in[1], &o), out);
}

/* A row of an image at columns whose coordinates are given. */
static adz_tensor *row_at(adz_tensor *x, adz_tensor *columns, adz_grid_mode mode,
    adz_grid_padding padding, bool align_corners)
{
    const int64_t n = adz_tensor_numel(columns);
    adz_grid_sample_options o;
    adz_grid_sample_options_init(&o, sizeof o);
    o.mode = mode;
    o.padding_mode = padding;
    o.align_corners = align_corners;
    adz_tensor *pair[] = { columns, adz_zeros(ADZ_SHAPE(n), ADZ_F64) };
    adz_tensor *grid = adz_reshape(adz_stack(pair, 2, 1), ADZ_SHAPE(1, 1, n, 2));
    adz_tensor *image = adz_reshape(x, ADZ_SHAPE(1, 1, 1, adz_tensor_numel(x)));
    return adz_flatten(adz_grid_sample(image, grid, &o), 0, -1);
}

FACT(positions_between_elements)
{
    adz_tensor *x = VALUES(ADZ_F64, 1, 2, 4, 8), *at = VALUES(ADZ_F64, -0.75, -0.5, 0, 0.75, 1);
    ASSERT_VALUES(
        row_at(x, at, ADZ_GRID_BILINEAR, ADZ_GRID_ZEROS, false), ADZ_F64, 1, 1.5, 3, 8, 4);
    ASSERT_VALUES(
        row_at(x, at, ADZ_GRID_BILINEAR, ADZ_GRID_BORDER, false), ADZ_F64, 1, 1.5, 3, 8, 8);
    at = VALUES(ADZ_F64, -1, -0.5, 0, 1, 2);
    ASSERT_VALUES(
        row_at(x, at, ADZ_GRID_BILINEAR, ADZ_GRID_ZEROS, true), ADZ_F64, 1, 1.75, 3, 8, 0);
    ASSERT_VALUES(row_at(x, at, ADZ_GRID_NEAREST, ADZ_GRID_ZEROS, true), ADZ_F64, 1, 2, 4, 8, 0);
    /* Halfway between two elements, the even one is taken. */
    at = VALUES(ADZ_F64, -0.5, 0, 0.5, 1, 1.25);
    ASSERT_VALUES(row_at(x, at, ADZ_GRID_NEAREST, ADZ_GRID_ZEROS, false), ADZ_F64, 1, 4, 4, 0, 0);
}

FACT(reflections)
{
    adz_tensor *x = VALUES(ADZ_F64, 1, 2, 4, 8), *at = VALUES(ADZ_F64, -1.75, 1.75, 2.75, 4.25, -5);
    ASSERT_VALUES(
        row_at(x, at, ADZ_GRID_NEAREST, ADZ_GRID_REFLECTION, false), ADZ_F64, 2, 4, 1, 4, 1);
    at = VALUES(ADZ_F64, -3, 3, 5, 7, 2);
    ASSERT_VALUES(
        row_at(x, at, ADZ_GRID_BILINEAR, ADZ_GRID_REFLECTION, true), ADZ_F64, 8, 1, 8, 1, 3);
    at = VALUES(ADZ_F64, -7, 0, 0.5, 9, 1);
    adz_tensor *one = VALUES(ADZ_F64, 5);
    for (int padding = 1; padding < 3; ++padding) {
        for (int corners = 0; corners < 2; ++corners) {
            adz_tensor *y = row_at(one, at, ADZ_GRID_BILINEAR, (adz_grid_padding)padding, corners);
            ASSERT_VALUES(y, ADZ_F64, 5, 5, 5, 5, 5);
        }
    }
}

/* Keys' convolution keeps the elements, and weighs the four around a middle by -3/32 and 19/32. */
FACT(bicubic_weights)
{
    adz_tensor *squares = VALUES(ADZ_F64, 0, 1, 4, 9, 16, 25, 36);
    adz_tensor *at = VALUES(ADZ_F64, -1.0 / 3, 0, 1.0 / 6, -1, 1);
    adz_tensor *image =
        adz_expand(adz_reshape(squares, ADZ_SHAPE(1, 1, 1, 7)), ADZ_SHAPE(1, 1, 7, 7));
    adz_tensor *pair[] = { at, adz_zeros(ADZ_SHAPE(5), ADZ_F64) };
    adz_tensor *grid = adz_reshape(adz_stack(pair, 2, 1), ADZ_SHAPE(1, 1, 5, 2));
    adz_grid_sample_options o = ADZ_GRID_SAMPLE_OPTIONS;
    o.mode = ADZ_GRID_BICUBIC;
    o.align_corners = true;
    adz_tensor *y = adz_flatten(adz_grid_sample(image, grid, &o), 0, -1);
    assert_true(adz_allclose(y, VALUES(ADZ_F64, 4, 9, 12.125, 0, 36), 0, 1e-12, false));
}

/* An element outside of what a position reads does not count, also if it is infinite. */
FACT(only_elements_that_are_read_count)
{
    adz_tensor *x = VALUES(ADZ_F64, INFINITY, 2, 4, NAN);
    adz_tensor *at = VALUES(ADZ_F64, -0.25, 0, 0.25, -5, 5);
    ASSERT_VALUES(
        row_at(x, at, ADZ_GRID_BILINEAR, ADZ_GRID_ZEROS, false), ADZ_F64, 2, 3, NAN, 0, 0);
    x = VALUES(ADZ_F64, 1, 2, 4, INFINITY);
    at = VALUES(ADZ_F64, 1, 1, 7, 9, 1e300);
    adz_tensor *y = row_at(x, at, ADZ_GRID_BILINEAR, ADZ_GRID_BORDER, true);
    ASSERT_VALUES(y, ADZ_F64, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY);
    at = VALUES(ADZ_F64, NAN, INFINITY, -INFINITY, 1e300, -1e300);
    x = VALUES(ADZ_F64, 1, 2, 4, 8);
    ASSERT_VALUES(
        row_at(x, at, ADZ_GRID_BILINEAR, ADZ_GRID_ZEROS, true), ADZ_F64, NAN, NAN, NAN, 0, 0);
    ASSERT_VALUES(
        row_at(x, at, ADZ_GRID_BILINEAR, ADZ_GRID_BORDER, true), ADZ_F64, NAN, 8, 1, 8, 1);
    ASSERT_VALUES(row_at(x, at, ADZ_GRID_NEAREST, ADZ_GRID_ZEROS, true), ADZ_F64, 0, 0, 0, 0, 0);
}

/* The identity gives a volume back, and a half turn turns it. */
FACT(volumes)
{
    adz_tensor *x = adz_randn(ADZ_SHAPE(1, 2, 3, 4, 5), ADZ_F64);
    adz_tensor *theta =
        adz_reshape(VALUES(ADZ_F64, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0), ADZ_SHAPE(1, 3, 4));
    for (int corners = 0; corners < 2; ++corners) {
        adz_grid_sample_options o = ADZ_GRID_SAMPLE_OPTIONS;
        o.align_corners = corners != 0;
        adz_tensor *grid = adz_affine_grid(theta, adz_tensor_shape(x), corners != 0);
        assert_true(adz_allclose(adz_grid_sample(x, grid, &o), x, 1e-12, 1e-12, false));
        adz_tensor *turned = adz_affine_grid(adz_neg(theta), adz_tensor_shape(x), corners != 0);
        adz_tensor *back = adz_flip(adz_grid_sample(x, turned, &o), ADZ_DIMS(2, 3, 4));
        assert_true(adz_allclose(back, x, 1e-12, 1e-12, false));
    }
}

FACT(options_are_checked)
{
    adz_tensor *x = adz_ones(ADZ_SHAPE(1, 1, 2, 2), ADZ_F32);
    adz_grid_sample_options o = ADZ_GRID_SAMPLE_OPTIONS;
    o.size = 3;
    ASSERT_REFUSED(adz_grid_sample(x, x, &o), ADZ_ERR_ARGUMENT, "size is 3");
    o = (adz_grid_sample_options)ADZ_GRID_SAMPLE_OPTIONS;
    o.mode = (adz_grid_mode)9;
    ASSERT_REFUSED(adz_grid_sample(x, x, &o), ADZ_ERR_ARGUMENT, "mode is 9");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(positions_between_elements),
    cmocka_unit_test(reflections),
    cmocka_unit_test(bicubic_weights),
    cmocka_unit_test(only_elements_that_are_read_count),
    cmocka_unit_test(volumes),
    cmocka_unit_test(options_are_checked),
};

const op_case grid_sample_case = {
    .name = "grid_sample",
    .call = call,
    .samples = {
        { .in = { IN(2, 2, 3, 4), IN(2, 2, 3, 2) } },
        { .in = { IN_T(1, 2, 4, 3), IN_T(1, 3, 2, 2) }, .p = { ADZ_GRID_BILINEAR, ADZ_GRID_BORDER, 1 } },
        { .in = { IN(1, 2, 3, 4), IN(1, 2, 3, 2) }, .p = { ADZ_GRID_BILINEAR, ADZ_GRID_REFLECTION } },
        { .in = { IN(1, 1, 3, 4), IN(1, 2, 2, 2) }, .p = { ADZ_GRID_BILINEAR, ADZ_GRID_REFLECTION, 1 } },
        { .in = { IN(1, 2, 3, 4), IN_CONST(1, 2, 3, 2) }, .p = { ADZ_GRID_NEAREST } },
        { .in = { IN(1, 2, 3, 4), IN_CONST(1, 2, 3, 2) }, .p = { ADZ_GRID_NEAREST, ADZ_GRID_BORDER } },
        { .in = { IN(1, 2, 4, 3), IN(1, 2, 2, 2) }, .p = { ADZ_GRID_BICUBIC, ADZ_GRID_ZEROS, 1 } },
        { .in = { IN(1, 1, 3, 4), IN(1, 1, 2, 2) }, .p = { ADZ_GRID_BICUBIC, ADZ_GRID_REFLECTION } },
        { .in = { IN(1, 1, 2, 3, 2), IN(1, 1, 2, 2, 3) } },
        { .in = { IN(1, 2, 2, 3, 2), IN(1, 1, 2, 1, 3) }, .p = { ADZ_GRID_BILINEAR, ADZ_GRID_REFLECTION } },
        { .in = { IN(1, 1, 1, 1), IN(1, 1, 1, 2) }, .p = { ADZ_GRID_BILINEAR, ADZ_GRID_ZEROS } },
        { .in = { IN(0, 2, 3, 4), IN(0, 2, 3, 2) } },
        { .in = { IN(1, 2, 3, 4), IN(1, 0, 3, 2) } },
    },
    .rejects = {
        { .in = { IN(2, 2, 3, 4), IN(1, 2, 3, 2) }, .status = ADZ_ERR_SHAPE, .says = "[N, height, width, 2]" },
        { .in = { IN(2, 2, 3, 4), IN(2, 2, 3, 3) }, .status = ADZ_ERR_SHAPE, .says = "[N, C, H, W]" },
        { .in = { IN(2, 2, 3), IN(2, 2, 1) }, .status = ADZ_ERR_SHAPE, .says = "[N, C, D, H, W]" },
        { .in = { IN(1, 2, 0, 4), IN(1, 2, 3, 2) }, .status = ADZ_ERR_SHAPE, .says = "must have a position" },
        { .in = { IN(1, 1, 2, 3, 2), IN(1, 1, 2, 2, 3) }, .p = { ADZ_GRID_BICUBIC }, .status = ADZ_ERR_ARGUMENT, .says = "use bilinear" },
        { .in = { IN_TYPED(ADZ_I64, 1, 2, 3, 4), IN(1, 2, 3, 2) }, .status = ADZ_ERR_DTYPE, .says = "both must be" },
    },
    .inputs = { "x", "grid" },
    FACTS(facts),
};
