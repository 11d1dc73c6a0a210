/* The augmentation of digits: where a blob of ink goes. */
/* These headers come before cmocka's, which defines `fail` as a macro. */
#include "../../examples/digits/augment.h"
#include "../../examples/shared/program.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

const char program_name[] = "test_digits";

enum { IMAGES = 200, SIDE = 41, MIDDLE = SIDE / 2, AWAY = 8 };

/* A blob of ink in an image: its mass, its position from the centre, and its width. */
typedef struct blob {
    double mass, x, y, width;
} blob;

/* Images with a round blob, AWAY pixels to the right of the centre. */
static adz_tensor *draw_blobs(void)
{
    adz_tensor *x = adz_zeros(ADZ_SHAPE(IMAGES, 1, SIDE, SIDE), ADZ_F32);
    float *pixels = adz_tensor_data_f32(x);
    for (int i = 0; i < IMAGES * SIDE * SIDE; ++i) {
        const double across = i % SIDE - MIDDLE - AWAY, down = i / SIDE % SIDE - MIDDLE;
        pixels[i] = (float)exp(-(across * across + down * down) / 8);
    }
    return x;
}

static blob find_blob(const float *pixels)
{
    blob b = { 0 };
    double squares = 0;
    for (int i = 0; i < SIDE * SIDE; ++i) {
        const double ink = (double)pixels[i], x = i % SIDE - MIDDLE, y = i / SIDE - MIDDLE;
        b.mass += ink;
        b.x += ink * x;
        b.y += ink * y;
        squares += ink * (x * x + y * y);
    }
    b.x /= b.mass;
    b.y /= b.mass;
    b.width = sqrt(squares / b.mass - b.x * b.x - b.y * b.y);
    return b;
}

/* Changes the images and finds their blobs. */
static void change(augmentation a, blob *blobs)
{
    adz_scope *scope = adz_scope_open();
    adz_generator *generator = adz_generator_new(7);
    adz_tensor *x = draw_blobs();
    augment(&a, generator, x);
    for (int i = 0; i < IMAGES; ++i) {
        blobs[i] = find_blob(adz_tensor_data_f32(x) + i * SIDE * SIDE);
    }
    adz_generator_free(&generator);
    adz_scope_close(scope);
}

static void near(double a, double b, double tolerance)
{
    if (fabs(a - b) > tolerance) {
        print_error("%g and %g\n", a, b);
        fail();
    }
}

/* The least and the greatest of the values nearly reach the limits and do not pass them. */
static void fills(const double *values, double low, double high)
{
    double least = values[0], greatest = values[0];
    for (int i = 1; i < IMAGES; ++i) {
        least = fmin(least, values[i]);
        greatest = fmax(greatest, values[i]);
    }
    near(least, low, 0.05 * (high - low));
    near(greatest, high, 0.05 * (high - low));
}

static void nothing_without_options(void **state)
{
    (void)state;
    blob blobs[IMAGES];
    change((augmentation){ 0 }, blobs);
    near(blobs[IMAGES - 1].x, AWAY, 1e-4);
    near(blobs[IMAGES - 1].y, 0, 1e-4);
}

static void shifts_in_both_directions(void **state)
{
    (void)state;
    blob blobs[IMAGES];
    double right[IMAGES], down[IMAGES];
    change((augmentation){ .shift = 0.1 }, blobs);
    for (int i = 0; i < IMAGES; ++i) {
        right[i] = blobs[i].x - AWAY;
        down[i] = blobs[i].y;
        near(blobs[i].mass, 8 * 3.14159265, 0.1);
    }
    fills(right, -0.1 * SIDE, 0.1 * SIDE);
    fills(down, -0.1 * SIDE, 0.1 * SIDE);
}

static void turns_around_the_centre(void **state)
{
    (void)state;
    blob blobs[IMAGES];
    double angles[IMAGES];
    change((augmentation){ .rotate = 30 }, blobs);
    for (int i = 0; i < IMAGES; ++i) {
        near(hypot(blobs[i].x, blobs[i].y), AWAY, 0.02);
        near(blobs[i].mass, 8 * 3.14159265, 0.1);
        angles[i] = atan2(blobs[i].y, blobs[i].x) * 180 / 3.14159265;
    }
    fills(angles, -30, 30);
}

/* Distances from the centre and widths change by one factor. */
static void changes_the_size(void **state)
{
    (void)state;
    blob blobs[IMAGES];
    double factors[IMAGES];
    change((augmentation){ .zoom = 0.2 }, blobs);
    for (int i = 0; i < IMAGES; ++i) {
        factors[i] = blobs[i].x / AWAY;
        near(blobs[i].y, 0, 1e-3);
        near(blobs[i].width / (2 * sqrt(2)), factors[i], 0.05);
    }
    fills(factors, 0.8, 1.2);
}

static void noise_has_its_deviation(void **state)
{
    (void)state;
    const augmentation a = { .noise = 0.5 };
    adz_scope *scope = adz_scope_open();
    adz_generator *generator = adz_generator_new(7);
    adz_tensor *x = adz_zeros(ADZ_SHAPE(IMAGES, 1, SIDE, SIDE), ADZ_F32);
    augment(&a, generator, x);
    near(adz_item(adz_mean(x, ADZ_ALL_DIMS, ADZ_DROPDIM)), 0, 0.01);
    near(sqrt(adz_item(adz_mean(adz_square(x), ADZ_ALL_DIMS, ADZ_DROPDIM))), 0.5, 0.01);
    adz_generator_free(&generator);
    adz_scope_close(scope);
}

int main(void)
{
    report_errors();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_without_options),
        cmocka_unit_test(shifts_in_both_directions),
        cmocka_unit_test(turns_around_the_centre),
        cmocka_unit_test(changes_the_size),
        cmocka_unit_test(noise_has_its_deviation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
