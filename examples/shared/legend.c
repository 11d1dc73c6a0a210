/* Chooses the place of a legend and writes it. */
#include "legend.h"

#include <math.h>

enum { LINE_HEIGHT = 19, INSET = 8 };

/* The number of pieces of a line, of about 8 pixels, that lie in the box. */
static int covered_line(const box *b, double x0, double y0, double x1, double y1)
{
    const double length = fmin(2000, hypot(x1 - x0, y1 - y0));
    const int pieces = 1 + (int)(length / 8);
    int n = 0;
    for (int i = 0; i <= pieces; ++i) {
        const double x = x0 + (x1 - x0) * i / pieces, y = y0 + (y1 - y0) * i / pieces;
        n += x > b->x - 4 && x < b->x + b->width + 4 && y > b->y - 4 && y < b->y + b->height + 4;
    }
    return n;
}

/* How much of a layer the box covers. Bands count where one of their borders runs. */
static int covered(const box *b, const layer *l, const plot_area *a)
{
    int n = 0;
    for (size_t i = 0; i < l->count && l->kind != LAYER_RULE; ++i) {
        if (!is_point(a, l->x[i], l->y[i])) {
            continue;
        }
        const double x = x_of(a, l->x[i]), y = y_of(a, l->y[i]);
        const bool line = (l->kind == LAYER_LINE || l->kind == LAYER_BAND) && i > 0 &&
                          is_point(a, l->x[i - 1], l->y[i - 1]);
        n += line ? covered_line(b, x_of(a, l->x[i - 1]), y_of(a, l->y[i - 1]), x, y)
                  : covered_line(b, x, y, x, y);
        if (l->kind == LAYER_BAND && can_show(a->y.scale, l->to[i])) {
            n += covered_line(b, x, y, x, y_of(a, l->to[i]));
        }
    }
    return n;
}

bool place_legend(const panel *p, const plot_area *a, box *b)
{
    static const double places[][2] = { { 1, 0 }, { 0, 0 }, { 1, 1 }, { 0, 1 }, { 0.5, 0 },
        { 0.5, 1 } };
    int least = -1;
    box best = *b;
    for (size_t k = 0; k < sizeof places / sizeof *places; ++k) {
        b->x = a->left + INSET + places[k][0] * (a->right - a->left - b->width - 2 * INSET);
        b->y = a->top + INSET + places[k][1] * (a->bottom - a->top - b->height - 2 * INSET);
        int n = 0;
        for (size_t i = 0; i < p->count; ++i) {
            n += covered(b, &p->layers[i], a);
        }
        if (least < 0 || n < least) {
            least = n;
            best = *b;
        }
    }
    *b = best;
    return least == 0;
}

box legend_size(const panel *p)
{
    box b = { 0 };
    for (size_t i = 0; i < p->count; ++i) {
        if (p->layers[i].title != NULL) {
            b.width = fmax(b.width, text_width(p->layers[i].title) + 48);
            b.height += b.height > 0 ? LINE_HEIGHT : LINE_HEIGHT + 8;
        }
    }
    return b;
}

void draw_legend(FILE *svg, const panel *p, const box *b)
{
    fprintf(svg,
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"white\" fill-opacity=\"0.85\" stroke=\"#cccccc\"/>\n",
        b->x, b->y, b->width, b->height);
    double y = b->y + 14;
    for (size_t i = 0; i < p->count; ++i) {
        if (p->layers[i].title != NULL) {
            draw_sample(svg, &p->layers[i], b->x + 8, y);
            svg_text(svg, &(svg_label){ .x = b->x + 40, .y = y + 4 }, p->layers[i].title);
            y += LINE_HEIGHT;
        }
    }
}
