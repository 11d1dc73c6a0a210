/* Draws mistakes, and images as text. */
#include "picture.h"

#include <math.h>
#include <stdio.h>

#include "../shared/svg.h"

enum { COLUMNS = 6, MOST = 24, SIDE = 124, GAP = 20, TITLE = 44, SHADES = 24 };

/* The shade of a pixel: 0 is the background, SHADES is ink. */
static int shade_of(const model *m, float pixel)
{
    return (int)fmax(0, fmin(SHADES, (double)pixel / m->range * SHADES + 0.5));
}

/* Writes all pixels of one shade as one path, in which equal neighbours of a row are one
 * rectangle. The unit is a pixel. */
static void write_shade(FILE *svg, const model *m, const float *pixels, int shade)
{
    const int grey = 255 - 255 * shade / SHADES;
    fprintf(svg, "<path fill=\"rgb(%d,%d,%d)\" d=\"", grey, grey, grey);
    for (int64_t y = 0; y < m->height; ++y) {
        const float *row = pixels + y * m->width;
        for (int64_t x = 0, end; x < m->width; x = end) {
            for (end = x + 1; end < m->width && shade_of(m, row[end]) == shade_of(m, row[x]);) {
                ++end;
            }
            if (shade_of(m, row[x]) == shade) {
                fprintf(svg, "M%lld %lldh%lldv1h-%lldz", (long long)x, (long long)y,
                    (long long)(end - x), (long long)(end - x));
            }
        }
    }
    fputs("\"/>\n", svg);
}

/* Writes an image with its frame; `x` and `y` are its upper left corner. */
static void write_image(FILE *svg, const model *m, const float *pixels, double x, double y)
{
    const int64_t side = m->width > m->height ? m->width : m->height;
    fprintf(svg, "<g transform=\"translate(%g %g) scale(%.4f)\" shape-rendering=\"crispEdges\">\n",
        x, y, (double)SIDE / (double)side);
    for (int shade = 1; shade <= SHADES; ++shade) {
        write_shade(svg, m, pixels, shade);
    }
    fprintf(svg,
        "</g>\n<rect x=\"%g\" y=\"%g\" width=\"%.1f\" height=\"%.1f\" fill=\"none\""
        " stroke=\"#999999\"/>\n",
        x, y, (double)SIDE * (double)m->width / (double)side,
        (double)SIDE * (double)m->height / (double)side);
}

void draw_mistakes(
    const char *path, const model *m, const verdict *mistakes, int64_t count, const float *pixels)
{
    char title[64];
    if (plot_file(path) == NULL) {
        return;
    }
    if (count == 0) {
        printf("no picture: there are no mistakes\n");
        return;
    }
    count = count < MOST ? count : MOST;
    const int64_t columns = count < COLUMNS ? count : COLUMNS;
    const int64_t lines = (count + columns - 1) / columns;
    FILE *svg = svg_begin((int)(GAP + columns * (SIDE + GAP)), (int)(GAP + lines * (SIDE + TITLE)));
    for (int64_t k = 0; k < count; ++k) {
        const verdict *v = &mistakes[k];
        const double x = (double)(GAP + k % columns * (SIDE + GAP));
        const double y = (double)(TITLE + k / columns * (SIDE + TITLE));
        snprintf(title, sizeof title, "said %lld (%.2f)", (long long)v->digit, v->probability);
        svg_text(svg, &(svg_label){ .x = x, .y = y - 22 }, title);
        snprintf(
            title, sizeof title, "true %lld, no. %lld", (long long)v->truth, (long long)v->image);
        svg_text(svg, &(svg_label){ .x = x, .y = y - 7, .color = "#666666" }, title);
        write_image(svg, m, pixels + k * m->height * m->width, x, y);
    }
    svg_end(svg, "picture of the worst mistakes", path);
}

void print_image(const model *m, const float *pixels)
{
    static const char shades[] = " .:-=+*#%@";
    for (int64_t y = 0; y < m->height; ++y) {
        fputs("  |", stdout);
        for (int64_t x = 0; x < m->width; ++x) {
            const double ink = (double)pixels[y * m->width + x] / m->range * 9.999;
            const char c = shades[ink < 0 ? 0 : ink > 9 ? 9 : (int)ink];
            putchar(c);
            putchar(c);
        }
        fputs("|\n", stdout);
    }
}
