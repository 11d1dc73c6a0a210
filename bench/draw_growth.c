/* Draws the times that growth.py has measured. It reads lines from standard input:
 *     panel TITLE       begins a panel
 *     line TITLE        begins a line of the panel
 *     SIZE TIME         a point of the line
 *
 * draw-growth FILE.svg */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../examples/shared/chart.h"
#include "../examples/shared/command_line.h"

const char program_name[] = "draw-growth";

enum { MOST_PANELS = 8, MOST_LINES = 8, MOST_POINTS = 64, WIDTH = 300, HEIGHT = 320 };

typedef struct curve {
    char title[64];
    double x[MOST_POINTS], y[MOST_POINTS];
    size_t count;
} curve;

typedef struct chart {
    char title[64];
    curve curves[MOST_LINES];
    layer layers[2 * MOST_LINES];
    size_t count;
} chart;

/* Reads what stands behind the word of a line into the title. */
static void read_title(const char *line, const char *word, char *title, size_t size)
{
    snprintf(title, size, "%s", line + strlen(word));
    title[strcspn(title, "\n")] = '\0';
}

static void read_point(const char *line, curve *c)
{
    if (c == NULL || c->count == MOST_POINTS ||
        sscanf(line, "%lf %lf", &c->x[c->count], &c->y[c->count]) != 2) {
        fail("a panel, a line or a point of a line is wanted: %s", line);
    }
    ++c->count;
}

static size_t read_charts(FILE *file, chart *all)
{
    char line[256];
    size_t count = 0;
    curve *c = NULL;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "panel ", 6) == 0 && count < MOST_PANELS) {
            read_title(line, "panel ", all[count].title, sizeof all->title);
            ++count;
            c = NULL;
        } else if (strncmp(line, "line ", 5) == 0 && count > 0 &&
                   all[count - 1].count < MOST_LINES) {
            c = &all[count - 1].curves[all[count - 1].count++];
            read_title(line, "line ", c->title, sizeof c->title);
        } else {
            read_point(line, c);
        }
    }
    return count;
}

static panel panel_of(chart *c, bool first)
{
    static const char *const colors[] = { "#1f77b4", "#ff7f0e", "#2ca02c", "#d62728" };
    for (size_t i = 0; i < c->count; ++i) {
        const curve *k = &c->curves[i];
        c->layers[i] = (layer){ LAYER_LINE, .title = k->title, .color = colors[i % 4],
            .count = k->count, .x = k->x, .y = k->y };
        c->layers[c->count + i] = (layer){ LAYER_POINTS, .color = colors[i % 4], .size = 4,
            .count = k->count, .x = k->x, .y = k->y };
    }
    return (panel){ .title = c->title,
        .x = { .scale = SCALE_LOG },
        .y = { .label = first ? "ns per multiply-add" : NULL,
            .scale = SCALE_LOG,
            .low = 0.01,
            .high = 0.2 },
        .layers = c->layers,
        .count = 2 * c->count };
}

int main(int argc, char **argv)
{
    static chart all[MOST_PANELS];
    panel panels[MOST_PANELS];
    if (argc != 2) {
        fail("usage: draw-growth FILE.svg, with the data on standard input");
    }
    check_plot_path(argv[1]);
    const size_t count = read_charts(stdin, all);
    for (size_t i = 0; i < count; ++i) {
        panels[i] = panel_of(&all[i], i == 0);
    }
    if (count == 0) {
        fail("standard input holds no panel");
    }
    draw_chart(argv[1], "picture", panels, count, WIDTH * (int)count, HEIGHT);
    return finish_output();
}
