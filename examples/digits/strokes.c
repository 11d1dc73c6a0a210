/* Draws digits: smooth curves through a few points, bent by a random wave, at a random position. */
#include "strokes.h"

#include <math.h>
#include <string.h>

#include "options.h"

enum { SIDE = 16, MOST_POINTS = 14, STEPS = 12 };

typedef struct point {
    double x, y;
} point;

/* A curve through points of the unit square; y grows downwards. A corner is the end of one stroke
 * and the beginning of the next. */
typedef struct stroke {
    int digit;
    double share; /* of the drawings of this digit that have the stroke */
    int n;
    point points[MOST_POINTS];
} stroke;

static const stroke strokes[] = {
    { 0, 1, 9,
        { { .5, .08 }, { .24, .24 }, { .18, .5 }, { .24, .77 }, { .5, .92 }, { .76, .77 },
            { .82, .5 }, { .76, .24 }, { .5, .08 } } },
    { 1, .6, 2, { { .28, .32 }, { .52, .08 } } },
    { 1, 1, 2, { { .52, .08 }, { .52, .92 } } },
    { 1, .2, 2, { { .3, .92 }, { .74, .92 } } },
    { 2, 1, 7,
        { { .22, .28 }, { .36, .1 }, { .6, .08 }, { .76, .24 }, { .7, .45 }, { .45, .68 },
            { .22, .92 } } },
    { 2, 1, 2, { { .22, .92 }, { .8, .9 } } },
    { 3, 1, 5, { { .24, .16 }, { .5, .07 }, { .74, .22 }, { .66, .42 }, { .44, .48 } } },
    { 3, 1, 6, { { .44, .48 }, { .7, .55 }, { .78, .73 }, { .6, .91 }, { .36, .92 }, { .2, .8 } } },
    { 4, 1, 2, { { .58, .08 }, { .18, .62 } } },
    { 4, 1, 2, { { .18, .62 }, { .85, .62 } } },
    { 4, 1, 2, { { .62, .3 }, { .62, .93 } } },
    { 4, .3, 2, { { .58, .08 }, { .62, .3 } } },
    { 5, 1, 2, { { .76, .1 }, { .3, .1 } } },
    { 5, 1, 2, { { .3, .1 }, { .27, .46 } } },
    { 5, 1, 6,
        { { .27, .46 }, { .5, .38 }, { .74, .5 }, { .76, .74 }, { .55, .92 }, { .22, .84 } } },
    { 6, 1, 10,
        { { .68, .1 }, { .4, .28 }, { .24, .58 }, { .3, .84 }, { .5, .93 }, { .72, .82 },
            { .74, .62 }, { .55, .5 }, { .36, .55 }, { .25, .68 } } },
    { 7, 1, 2, { { .2, .1 }, { .8, .1 } } },
    { 7, 1, 3, { { .8, .1 }, { .6, .45 }, { .42, .92 } } },
    { 7, .4, 2, { { .36, .5 }, { .74, .5 } } },
    { 8, 1, 13,
        { { .5, .48 }, { .28, .34 }, { .3, .14 }, { .5, .07 }, { .7, .14 }, { .72, .34 },
            { .5, .48 }, { .26, .64 }, { .26, .84 }, { .5, .93 }, { .74, .84 }, { .74, .64 },
            { .5, .48 } } },
    { 9, 1, 8,
        { { .74, .3 }, { .66, .12 }, { .46, .07 }, { .27, .2 }, { .28, .4 }, { .46, .5 },
            { .68, .42 }, { .74, .3 } } },
    { 9, 1, 3, { { .74, .3 }, { .72, .6 }, { .6, .93 } } },
};

enum { STROKES = sizeof strokes / sizeof *strokes };

/* How one drawing is made. */
typedef struct hand {
    double turn[4], from_x,
        from_y;           /* the map from the unit square to pixels: a matrix and a shift */
    double bend, wave[3]; /* largest displacement, and the direction and phase of the wave */
    double radius;        /* of the pen, in pixels */
} hand;

/* ---- the hand -------------------------------------------------------------------------------- */

/* Random numbers of one drawing, from -1 to 1. */
enum {
    ANGLE,
    SLANT,
    WIDE,
    TALL,
    RIGHT,
    DOWN,
    BEND,
    WAVE_X,
    WAVE_Y,
    PHASE,
    PEN,
    PRESSURE,
    LEFT_OUT,
    NUMBERS = LEFT_OUT + STROKES
};

static hand choose_hand(const double *r)
{
    const double pi = 3.14159265358979323846, angle = 0.22 * r[ANGLE], slant = 0.3 * r[SLANT];
    const double wide = SIDE * (0.62 + 0.16 * r[WIDE]), tall = SIDE * (0.76 + 0.14 * r[TALL]);
    hand h = { .bend = 0.05 + 0.05 * r[BEND], .radius = SIDE * (0.05 + 0.022 * r[PEN]) };
    h.turn[0] = cos(angle) * wide;
    h.turn[1] = (-sin(angle) - slant * cos(angle)) * tall;
    h.turn[2] = sin(angle) * wide;
    h.turn[3] = (cos(angle) - slant * sin(angle)) * tall;
    h.from_x = SIDE * (0.5 + 0.06 * r[RIGHT]);
    h.from_y = SIDE * (0.5 + 0.06 * r[DOWN]);
    h.wave[0] = 2 * pi * r[WAVE_X];
    h.wave[1] = 2 * pi * r[WAVE_Y];
    h.wave[2] = pi * r[PHASE];
    return h;
}

/* The coordinates of a point in pixels. A wave that is the same for all strokes keeps them
 * together. */
static point to_pixels(const hand *h, point p)
{
    const double phase = h->wave[0] * p.x + h->wave[1] * p.y + h->wave[2];
    const double x = p.x - 0.5 + h->bend * sin(phase), y = p.y - 0.5 + h->bend * cos(phase);
    return (point){ h->from_x + h->turn[0] * x + h->turn[1] * y,
        h->from_y + h->turn[2] * x + h->turn[3] * y };
}

/* ---- ink ------------------------------------------------------------------------------------- */

/* A point of the Catmull-Rom curve from b to c, whose neighbours are a and d; t is 0 to 1. */
static point on_curve(point a, point b, point c, point d, double t)
{
    const double u = t * t, v = u * t;
    const double wa = -t + 2 * u - v, wb = 2 - 5 * u + 3 * v, wc = t + 4 * u - 3 * v, wd = v - u;
    return (point){ (wa * a.x + wb * b.x + wc * c.x + wd * d.x) / 2,
        (wa * a.y + wb * b.y + wc * c.y + wd * d.y) / 2 };
}

/* Inks the pixels under the pen. The edge of the pen is one pixel wide. */
static void dab(float *pixels, point p, double radius)
{
    const double reach = radius + 0.5;
    for (int y = (int)floor(p.y - reach); y <= (int)(p.y + reach); ++y) {
        for (int x = (int)floor(p.x - reach); x <= (int)(p.x + reach); ++x) {
            const double ink = reach - hypot(x + 0.5 - p.x, y + 0.5 - p.y);
            if (x >= 0 && x < SIDE && y >= 0 && y < SIDE && ink > (double)pixels[y * SIDE + x]) {
                pixels[y * SIDE + x] = (float)(ink < 1 ? ink : 1);
            }
        }
    }
}

static void draw_stroke(float *pixels, const stroke *s, const hand *h)
{
    for (int i = 0; i + 1 < s->n; ++i) {
        const point b = s->points[i], c = s->points[i + 1];
        const point a = i > 0 ? s->points[i - 1] : b, d = i + 2 < s->n ? s->points[i + 2] : c;
        for (int step = 0; step <= 2 * STEPS; ++step) {
            dab(pixels, to_pixels(h, on_curve(a, b, c, d, step / (2.0 * STEPS))), h->radius);
        }
    }
}

images draw_digits(int64_t count, uint64_t seed)
{
    images all = new_images(count, SIDE, SIDE, true);
    adz_generator *generator = adz_generator_new(seed);
    all.range = 255;
    for (int64_t i = 0; i < count; ++i) {
        adz_scope *scope = adz_scope_open();
        const double *r =
            adz_tensor_data_f64(adz_generator_rand(generator, ADZ_SHAPE(NUMBERS + 1), ADZ_F64));
        const float *noise =
            adz_tensor_data_f32(adz_generator_randn(generator, ADZ_SHAPE(SIDE * SIDE), ADZ_F32));
        double centred[NUMBERS];
        for (int k = 0; k < NUMBERS; ++k) {
            centred[k] = 2 * r[k] - 1;
        }
        const hand h = choose_hand(centred);
        float *pixels = all.pixels + i * SIDE * SIDE;
        all.digits[i] = (int64_t)(r[NUMBERS] * CLASSES);
        for (int k = 0; k < STROKES; ++k) {
            if (strokes[k].digit == all.digits[i] && r[LEFT_OUT + k] < strokes[k].share) {
                draw_stroke(pixels, &strokes[k], &h);
            }
        }
        const float pressure = (float)(205 + 50 * centred[PRESSURE]);
        for (int k = 0; k < SIDE * SIDE; ++k) {
            const float value = roundf(pressure * pixels[k] + 22 * noise[k]);
            pixels[k] = value < 0 ? 0 : value > 255 ? 255 : value;
        }
        adz_scope_close(scope);
    }
    adz_generator_free(&generator);
    return all;
}
