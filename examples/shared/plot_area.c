/* Draws the layers of a panel. */
#include "plot_area.h"

#include <math.h>
#include <stdio.h>

/* ---- places --------------------------------------------------------------------------------- */

/* Where a value is between the ends: 0 to 1. Values far outside stay near, because viewers compute
 * with floats. */
static double portion(const side *s, double value)
{
    const double part = s->scale == SCALE_LOG
                            ? (log(value) - log(s->low)) / (log(s->high) - log(s->low))
                            : (value - s->low) / (s->high - s->low);
    return fmax(-100, fmin(100, part));
}

double x_of(const plot_area *a, double value)
{
    return a->left + (a->right - a->left) * portion(&a->x, value);
}

double y_of(const plot_area *a, double value)
{
    return a->bottom - (a->bottom - a->top) * portion(&a->y, value);
}

bool is_point(const plot_area *a, double x, double y)
{
    return can_show(a->x.scale, x) && can_show(a->y.scale, y);
}

/* ---- layers --------------------------------------------------------------------------------- */

static const char *color_of(const layer *l)
{
    return l->color != NULL ? l->color : "black";
}

static double size_of(const layer *l)
{
    return l->size > 0 ? l->size : l->kind == LAYER_POINTS ? 5 : 1.8;
}

/* The attributes of a line, up to the end of its element. */
static void write_stroke(FILE *svg, const layer *l)
{
    fprintf(svg, " fill=\"none\" stroke=\"%s\" stroke-width=\"%g\" stroke-linejoin=\"round\"",
        color_of(l), size_of(l));
    if (l->dash != NULL) {
        fprintf(svg, " stroke-dasharray=\"%s\"", l->dash);
    } else {
        fputs(" stroke-linecap=\"round\"", svg); /* shows a line between two equal points */
    }
    fputs("/>\n", svg);
}

/* A value between two missing ones has no line: a small disc shows it. */
static void draw_line(FILE *svg, const layer *l, const plot_area *a)
{
    bool begun = false;
    fputs("<path d=\"", svg);
    for (size_t i = 0; i < l->count; ++i) {
        const bool drawn = is_point(a, l->x[i], l->y[i]);
        if (drawn) {
            fprintf(svg, "%c%.2f %.2f", begun ? 'L' : 'M', x_of(a, l->x[i]), y_of(a, l->y[i]));
        }
        begun = drawn;
    }
    fputs("\"", svg);
    write_stroke(svg, l);
    for (size_t i = 0; i < l->count; ++i) {
        const bool before = i > 0 && is_point(a, l->x[i - 1], l->y[i - 1]);
        const bool after = i + 1 < l->count && is_point(a, l->x[i + 1], l->y[i + 1]);
        if (!before && !after && is_point(a, l->x[i], l->y[i])) {
            fprintf(svg, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%g\" fill=\"%s\"/>\n",
                x_of(a, l->x[i]), y_of(a, l->y[i]), size_of(l), color_of(l));
        }
    }
}

static void draw_points(FILE *svg, const layer *l, const plot_area *a)
{
    const char *fill = l->hollow ? "none" : color_of(l), *stroke = l->hollow ? color_of(l) : "none";
    fprintf(svg, "<g fill=\"%s\" stroke=\"%s\">\n", fill, stroke);
    for (size_t i = 0; i < l->count; ++i) {
        if (is_point(a, l->x[i], l->y[i])) {
            fprintf(svg, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%g\"/>\n", x_of(a, l->x[i]),
                y_of(a, l->y[i]), size_of(l) / 2);
        }
    }
    fputs("</g>\n", svg);
}

/* One polygon from `first` to `end`: along y, and back along the other border. */
static void draw_polygon(FILE *svg, const layer *l, const plot_area *a, size_t first, size_t end)
{
    fputs("<polygon points=\"", svg);
    for (size_t i = first; i < end; ++i) {
        fprintf(svg, "%.2f,%.2f ", x_of(a, l->x[i]), y_of(a, l->y[i]));
    }
    for (size_t i = end; i-- > first;) {
        fprintf(svg, "%.2f,%.2f ", x_of(a, l->x[i]), y_of(a, l->to[i]));
    }
    /* The stroke makes a band visible that is one value long. */
    fprintf(svg, "\" fill=\"%s\" stroke=\"%s\" stroke-width=\"0.5\"/>\n", color_of(l), color_of(l));
}

static void draw_band(FILE *svg, const layer *l, const plot_area *a)
{
    size_t first = 0;
    for (size_t i = 0; i <= l->count; ++i) {
        if (i < l->count && is_point(a, l->x[i], l->y[i]) && can_show(a->y.scale, l->to[i])) {
            continue;
        }
        if (i > first) {
            draw_polygon(svg, l, a, first, i);
        }
        first = i + 1;
    }
}

static void draw_intervals(FILE *svg, const layer *l, const plot_area *a)
{
    for (size_t i = 0; i < l->count; ++i) {
        if (is_point(a, l->x[i], l->y[i]) && can_show(a->x.scale, l->to[i])) {
            const double y = y_of(a, l->y[i]), from = x_of(a, l->x[i]), to = x_of(a, l->to[i]);
            fprintf(svg, "<path d=\"M%.2f %.2fH%.2fM%.2f %.2fv8M%.2f %.2fv8\"", from, y, to, from,
                y - 4, to, y - 4);
            write_stroke(svg, l);
        }
    }
}

static void draw_texts(FILE *svg, const layer *l, const plot_area *a)
{
    for (size_t i = 0; i < l->count; ++i) {
        if (is_point(a, l->x[i], l->y[i])) {
            const svg_label label = { x_of(a, l->x[i]), y_of(a, l->y[i]) - 10, 0, "middle",
                color_of(l), false };
            svg_text(svg, &label, l->texts[i]);
        }
    }
}

static void draw_rules(FILE *svg, const layer *l, const plot_area *a)
{
    for (size_t i = 0; i < l->count; ++i) {
        if (can_show(a->x.scale, l->x[i])) {
            const double x = x_of(a, l->x[i]);
            fprintf(svg, "<path d=\"M%.2f %.2fV%.2f\" stroke=\"%s\" stroke-dasharray=\"5 4\"/>\n",
                x, a->top, a->bottom, color_of(l));
            svg_text(svg,
                &(svg_label){ x - 6, a->bottom - 8, x - 6 - a->left, "end", color_of(l), false },
                l->texts[i]);
        }
    }
}

void draw_layer(FILE *svg, const layer *l, const plot_area *a)
{
    static void (*const draw[])(FILE *, const layer *, const plot_area *) = { draw_line,
        draw_points, draw_band, draw_intervals, draw_texts, draw_rules };
    draw[l->kind](svg, l, a);
}

void draw_sample(FILE *svg, const layer *l, double x, double y)
{
    if (l->kind == LAYER_BAND) {
        fprintf(svg, "<rect x=\"%.1f\" y=\"%.1f\" width=\"24\" height=\"10\" fill=\"%s\"/>\n", x,
            y - 5, color_of(l));
    } else if (l->kind == LAYER_POINTS) {
        const plot_area one = { .left = x,
            .right = x + 24,
            .top = y - 5,
            .bottom = y + 5,
            .x = { .low = -1, .high = 1 },
            .y = { .low = -1, .high = 1 } };
        layer sample = *l;
        sample.count = 1;
        sample.x = sample.y = &(double){ 0 };
        draw_points(svg, &sample, &one);
    } else {
        fprintf(svg, "<path d=\"M%.1f %.1fh24\"", x, y);
        write_stroke(svg, l);
    }
}
