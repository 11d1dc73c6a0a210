/* Draws charts: chooses the ranges of the axes and the margins, then writes axes, layers and the
 * legend. */
#include "chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "command_line.h"
#include "legend.h"
#include "plot_area.h"

static const char grey[] = "#666666";

/* ---- ranges --------------------------------------------------------------------------------- */

static void widen(const axis *a, double value, double *low, double *high)
{
    if (can_show(a->scale, value)) {
        *low = fmin(*low, value);
        *high = fmax(*high, value);
    }
}

/* The smallest and the largest value of the panel on one axis; low > high if there is none. A value
 * counts only where the layer's other coordinate can be shown too. */
static void range_of_data(const panel *p, bool of_y, double *low, double *high)
{
    const axis *a = of_y ? &p->y : &p->x;
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t k = 0; k < p->count; ++k) {
        const layer *l = &p->layers[k];
        for (size_t i = 0; i < l->count && l->kind != LAYER_RULE; ++i) {
            if (!can_show(p->x.scale, l->x[i]) || !can_show(p->y.scale, l->y[i])) {
                continue;
            }
            widen(a, of_y ? l->y[i] : l->x[i], low, high);
            if (l->to != NULL && (l->kind == LAYER_BAND) == of_y) {
                widen(a, l->to[i], low, high);
            }
        }
    }
}

/* Makes the range so long that its numbers can be told apart. */
static void make_longer(scale s, double *low, double *high)
{
    const double largest = fmax(fabs(*low), fabs(*high));
    if (*high - *low > 1e-12 * largest && *high - *low > 1e-290) {
        return;
    }
    const double more = s == SCALE_TIME ? 43200 : largest > 1e-290 ? largest / 10 : 1;
    *low -= more;
    *high += more;
}

/* Chooses the ends of an axis. Ends that follow from the data are moved to round numbers on a y
 * axis. On an x axis they are those of the data. */
static void choose_range(const axis *a, double low, double high, bool of_y, size_t most, side *s)
{
    const bool both = a->low == a->high, free_low = both || isnan(a->low);
    const bool free_high = both || isnan(a->high);
    s->scale = a->scale;
    s->low = free_low ? fmin(low, free_high ? low : a->high) : a->low;
    s->high = free_high ? fmax(high, s->low) : a->high;
    make_longer(a->scale, &s->low, &s->high);
    if (of_y && a->scale == SCALE_LOG) {
        s->low /= free_low ? 1.1 : 1;
        s->high *= free_high ? 1.1 : 1;
    } else if (of_y && a->scale == SCALE_LINEAR) {
        low = s->low;
        high = s->high;
        extend_to_ticks(&low, &high, most);
        s->low = free_low ? low : s->low;
        s->high = free_high ? high : s->high;
    }
}

/* ---- axes ----------------------------------------------------------------------------------- */

static double widest(const side *s)
{
    double most = 0;
    for (size_t i = 0; i < s->count; ++i) {
        most = fmax(most, fmax(text_width(s->ticks[i].text), text_width(s->ticks[i].below)));
    }
    return most;
}

/* Names stand at 0, 1, 2, ..., the first one at the top. */
static void name_ticks(const axis *a, side *s)
{
    s->low = (double)a->name_count - 0.5;
    s->high = -0.5;
    for (s->count = 0; s->count < a->name_count && s->count < MOST_TICKS; ++s->count) {
        s->ticks[s->count] = (tick){ .at = (double)s->count };
        snprintf(s->ticks[s->count].text, sizeof s->ticks->text, "%s", a->names[s->count]);
    }
}

static size_t limited(double most)
{
    return most < 2 ? 2 : most > MOST_TICKS ? MOST_TICKS : (size_t)most;
}

static void layout_y(const panel *p, double low, double high, plot_area *a)
{
    const size_t most = limited((a->bottom - a->top) / 40);
    if (p->y.names != NULL) {
        name_ticks(&p->y, &a->y);
    } else {
        choose_range(&p->y, low, high, true, most, &a->y);
        a->y.count = make_ticks(a->y.scale, a->y.low, a->y.high, most, a->y.ticks);
    }
    a->left += 14 + widest(&a->y) + (p->y.label != NULL ? 22 : 0);
}

/* Where the text of a mark has its middle: below the mark, or beside it at the panel's ends. */
static double middle_of(const plot_area *a, const tick *t)
{
    const double half = fmax(text_width(t->text), text_width(t->below)) / 2 + 2;
    return fmax(a->begin + half, fmin(a->end - half, x_of(a, t->at)));
}

static bool has_points(const panel *p)
{
    bool any = false;
    for (size_t i = 0; i < p->count; ++i) {
        any = any || p->layers[i].kind == LAYER_POINTS;
    }
    return any;
}

/* Takes fewer marks until their texts have room. */
static void layout_x(const panel *p, double low, double high, plot_area *a)
{
    size_t most = limited((a->right - a->left) / 40);
    choose_range(&p->x, low, high, false, most, &a->x);
    if (p->x.low == p->x.high && p->x.scale != SCALE_LOG && has_points(p)) {
        const double room = (a->x.high - a->x.low) / 50; /* for the first and the last point */
        a->x.low -= room;
        a->x.high += room;
    }
    for (; most >= 2; --most) {
        a->x.count = make_ticks(a->x.scale, a->x.low, a->x.high, most, a->x.ticks);
        double apart = INFINITY;
        for (size_t i = 1; i < a->x.count; ++i) {
            apart = fmin(apart, middle_of(a, &a->x.ticks[i]) - middle_of(a, &a->x.ticks[i - 1]));
        }
        if (apart >= widest(&a->x) + 14) {
            break;
        }
    }
}

static void draw_axis_x(FILE *svg, const panel *p, const plot_area *a)
{
    double down = 19; /* to the last line of the marks' texts */
    for (size_t i = 0; i < a->x.count; ++i) {
        const tick *t = &a->x.ticks[i];
        const double x = x_of(a, t->at);
        fprintf(svg,
            "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#e8e8e8\"/><path d=\"M%.1f %.1fv5\" stroke=\"%s\"/>\n",
            x, a->top, a->bottom, x, a->bottom, grey);
        svg_label label = { middle_of(a, t), a->bottom + 19, 0, "middle", grey, false };
        svg_text(svg, &label, t->text);
        if (t->below[0] != '\0') {
            label.y += 15;
            down = 34;
            svg_text(svg, &label, t->below);
        }
    }
    if (p->x.label != NULL) {
        const svg_label label = { (a->left + a->right) / 2, a->bottom + down + 21,
            a->right - a->left, "middle", NULL, false };
        svg_text(svg, &label, p->x.label);
    }
}

static void draw_axis_y(FILE *svg, const panel *p, const plot_area *a, double left)
{
    for (size_t i = 0; i < a->y.count; ++i) {
        const tick *t = &a->y.ticks[i];
        const double y = y_of(a, t->at);
        fprintf(svg,
            "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#e8e8e8\"/><path d=\"M%.1f %.1fh-5\" stroke=\"%s\"/>\n",
            a->left, y, a->right, a->left, y, grey);
        svg_text(svg, &(svg_label){ a->left - 9, y + 4, 0, "end", grey, false }, t->text);
    }
    if (p->y.label != NULL) {
        const svg_label label = { left + 15, (a->top + a->bottom) / 2, a->bottom - a->top, "middle",
            NULL, true };
        svg_text(svg, &label, p->y.label);
    }
}

/* ---- panels --------------------------------------------------------------------------------- */

/* Chooses the axes and the place of the legend: in the area, or beside it if it would cover data.
 */
static box layout(const panel *p, plot_area *a)
{
    double low, high;
    box b = legend_size(p);
    range_of_data(p, true, &low, &high);
    layout_y(p, low, high, a);
    range_of_data(p, false, &low, &high);
    layout_x(p, low, high, a);
    if (b.height > 0 && !place_legend(p, a, &b) && a->right - a->left > 2 * b.width) {
        a->right -= b.width;
        layout_x(p, low, high, a);
        b.x = a->right + 12;
        b.y = a->top;
    }
    return b;
}

static void draw_panel(
    FILE *svg, const panel *p, size_t number, double left, double right, int height)
{
    const double below = 26 + (p->x.scale == SCALE_TIME ? 14 : 0) + (p->x.label != NULL ? 22 : 0);
    plot_area a = { .left = left,
        .begin = left,
        .end = right,
        .right = right - 22,
        .top = p->title != NULL ? 34 : 16,
        .bottom = height - below };
    const box b = layout(p, &a);
    draw_axis_y(svg, p, &a, left);
    draw_axis_x(svg, p, &a);
    if (p->title != NULL) {
        svg_text(svg,
            &(svg_label){ .x = (a.left + a.right) / 2,
                .y = 22,
                .room = a.right - a.left,
                .anchor = "middle" },
            p->title);
    }
    fprintf(svg,
        "<clipPath id=\"area%zu\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/></clipPath>\n"
        "<g clip-path=\"url(#area%zu)\">\n",
        number, a.left, a.top, a.right - a.left, a.bottom - a.top, number);
    for (size_t k = 0; k < p->count; ++k) {
        draw_layer(svg, &p->layers[k], &a);
    }
    fprintf(svg, "</g>\n<path d=\"M%.1f %.1fV%.1fH%.1f\" fill=\"none\" stroke=\"%s\"/>\n", a.left,
        a.top, a.bottom, a.right, grey);
    if (b.height > 0) {
        draw_legend(svg, p, &b);
    }
}

static bool has_values(const panel *p)
{
    double low, high;
    range_of_data(p, false, &low, &high);
    return low <= high;
}

void draw_chart(
    const char *path, const char *what, const panel *panels, size_t count, int width, int height)
{
    double shares = 0, left = 0;
    if (plot_file(path) == NULL) {
        return;
    }
    for (size_t i = 0; i < count; ++i) {
        shares += panels[i].share > 0 ? panels[i].share : 1;
        if (!has_values(&panels[i])) {
            complain(
                "no %s: no value can be drawn: there is none, or none is a finite number", what);
            return;
        }
    }
    FILE *svg = svg_begin(width, height);
    for (size_t i = 0; i < count; ++i) {
        const double right = left + width * (panels[i].share > 0 ? panels[i].share : 1) / shares;
        draw_panel(svg, &panels[i], i, left, right, height);
        left = right;
    }
    svg_end(svg, what, path);
}
