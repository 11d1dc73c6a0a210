/* Draws mistakes with gnuplot, and images as text. */
#include "picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/gnuplot.h"

enum { COLUMNS = 6, MOST = 24, COLUMN_WIDTH = 144 };

/* The picture is one image of pixels, in which the mistakes stand in a grid. The title of each
 * stands above it, in a margin for two lines of text. */
typedef struct grid {
    int64_t columns, rows;
    int64_t height, width; /* of an image with its margins */
    int64_t above, beside; /* the margins, in pixels of the images */
    int64_t zoom; /* each pixel becomes a square of this side: viewers blur what they enlarge */
} grid;

static grid choose_grid(const model *m, int64_t count)
{
    grid g = { .columns = count < COLUMNS ? count : COLUMNS };
    g.rows = (count + COLUMNS - 1) / COLUMNS;
    g.above = 1 + m->width * 2 / 5;
    g.beside = 1 + m->width / 8;
    g.height = m->height + g.above;
    g.width = m->width + g.beside;
    g.zoom = 1 + COLUMN_WIDTH / 2 / (g.width > g.height ? g.width : g.height);
    return g;
}

/* Writes the pixels of the whole picture, row by row from the top; 255 is ink. */
static void write_pixels(
    FILE *script, const grid *g, const model *m, int64_t count, const float *pixels)
{
    fputs("$pixels << END\n", script);
    for (int64_t line = 0; line < g->rows * g->height * g->zoom; ++line) {
        for (int64_t dot = 0; dot < g->columns * g->width * g->zoom; ++dot) {
            const int64_t y = line / g->zoom, x = dot / g->zoom;
            const int64_t image = y / g->height * g->columns + x / g->width;
            const int64_t i = y % g->height - g->above, j = x % g->width;
            int ink = 0;
            if (image < count && i >= 0 && j < m->width) {
                ink =
                    (int)(255 * (double)pixels[(image * m->height + i) * m->width + j] / m->range);
            }
            fprintf(script, "%d ", ink);
        }
        fputc('\n', script);
    }
    fputs("END\n", script);
}

static void write_titles(
    FILE *script, const grid *g, const model *m, const verdict *mistakes, int64_t count)
{
    for (int64_t k = 0; k < count; ++k) {
        const double x = (double)(k % g->columns * g->width * g->zoom) - 0.5;
        const double y = (double)((k / g->columns * g->height + g->above) * g->zoom) - 0.5;
        const verdict *v = &mistakes[k];
        fprintf(script,
            "set object rectangle from %g,%g to %g,%g front fs empty border lc rgb '#999999'\n", x,
            y, x + (double)(m->width * g->zoom), y + (double)(m->height * g->zoom));
        fprintf(script, "set label 'said %lld (%.2f)' at %g,%g front left offset 0,1.5\n",
            (long long)v->digit, v->probability, x, y);
        fprintf(script,
            "set label 'true %lld, no. %lld' at %g,%g front left tc rgb '#666666' offset 0,0.5\n",
            (long long)v->truth, (long long)v->image, x, y);
    }
}

void draw_mistakes(
    const char *path, const model *m, const verdict *mistakes, int64_t count, const float *pixels)
{
    if (plot_file(path) == NULL) {
        return;
    }
    if (count == 0) {
        printf("no picture: there are no mistakes\n");
        return;
    }
    count = count < MOST ? count : MOST;
    const grid g = choose_grid(m, count);
    const int width = COLUMN_WIDTH * (int)g.columns;
    FILE *script = gnuplot_begin(path, width,
        (int)((double)width * (double)(g.rows * g.height) / (double)(g.columns * g.width)));
    if (script != NULL) {
        write_pixels(script, &g, m, count, pixels);
        write_titles(script, &g, m, mistakes, count);
        fprintf(script,
            "unset border\nunset tics\nunset key\nunset colorbox\n"
            "set palette defined (0 'white', 1 'black')\nset cbrange [0:255]\n"
            "set lmargin at screen 0.01\nset rmargin at screen 0.99\n"
            "set tmargin at screen 0.99\nset bmargin at screen 0.01\nset size ratio -1\n"
            "set xrange [-0.5:%g]\nset yrange [%g:-0.5]\n"
            "plot $pixels matrix with image\n",
            (double)(g.columns * g.width * g.zoom) - 0.5,
            (double)(g.rows * g.height * g.zoom) - 0.5);
    }
    gnuplot_end(script, "picture of the worst mistakes", path);
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
