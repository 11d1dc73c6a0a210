/* Turns, resizes and shifts images by one map of the plane, with bilinear interpolation. */
#include "augment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The map from points of the new image to points of the old one, in pixels from the centre. */
typedef struct map {
    double cosine, sine; /* of the rotation, multiplied by the change of the size */
    double right, down;
} map;

/* Random numbers of one image, from 0 to 1. */
enum { ANGLE, SIZE, RIGHT, DOWN, NUMBERS };

static map choose_map(const augmentation *a, const double *r, int64_t height, int64_t width)
{
    const double pi = 3.14159265358979323846, angle = (2 * r[ANGLE] - 1) * a->rotate * pi / 180;
    const double size = 1 / (1 + (2 * r[SIZE] - 1) * a->zoom);
    return (map){ .cosine = cos(angle) * size,
        .sine = sin(angle) * size,
        .right = (2 * r[RIGHT] - 1) * a->shift * (double)width,
        .down = (2 * r[DOWN] - 1) * a->shift * (double)height };
}

static double pixel_at(const float *image, int64_t height, int64_t width, int64_t y, int64_t x)
{
    bool inside = y >= 0 && y < height && x >= 0 && x < width;
    return inside ? (double)image[y * width + x] : 0;
}

/* The value between the four pixels around a point. */
static double between(const float *image, int64_t height, int64_t width, double y, double x)
{
    const double top = floor(y), left = floor(x), down = y - top, right = x - left;
    const int64_t i = (int64_t)top, j = (int64_t)left;
    return (1 - down) * ((1 - right) * pixel_at(image, height, width, i, j) +
                            right * pixel_at(image, height, width, i, j + 1)) +
           down * ((1 - right) * pixel_at(image, height, width, i + 1, j) +
                      right * pixel_at(image, height, width, i + 1, j + 1));
}

static void apply_map(const map *m, const float *from, float *to, int64_t height, int64_t width)
{
    const double middle_y = (double)(height - 1) / 2, middle_x = (double)(width - 1) / 2;
    for (int64_t i = 0; i < height; ++i) {
        for (int64_t j = 0; j < width; ++j) {
            const double y = (double)i - middle_y - m->down, x = (double)j - middle_x - m->right;
            to[i * width + j] = (float)between(from, height, width,
                middle_y + m->cosine * y - m->sine * x, middle_x + m->sine * y + m->cosine * x);
        }
    }
}

void augment(const augmentation *a, adz_generator *generator, adz_tensor *x)
{
    const int64_t n = adz_tensor_size(x, 0), height = adz_tensor_size(x, 2);
    const int64_t width = adz_tensor_size(x, 3), size = height * width;
    float *images = adz_tensor_data_f32(x);
    if (a->shift > 0 || a->rotate > 0 || a->zoom > 0) {
        const double *r =
            adz_tensor_data_f64(adz_generator_rand(generator, ADZ_SHAPE(n, NUMBERS), ADZ_F64));
        float *from = allocate((size_t)size * sizeof *from);
        for (int64_t i = 0; i < n; ++i) {
            const map m = choose_map(a, r + i * NUMBERS, height, width);
            memcpy(from, images + i * size, (size_t)size * sizeof *from);
            apply_map(&m, from, images + i * size, height, width);
        }
        free(from);
    }
    if (a->noise > 0) {
        const float *noise =
            adz_tensor_data_f32(adz_generator_randn(generator, ADZ_SHAPE(n * size), ADZ_F32));
        for (int64_t i = 0; i < n * size; ++i) {
            images[i] += (float)a->noise * noise[i];
        }
    }
}
