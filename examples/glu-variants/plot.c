/* Draws the curves and the final losses of all variants with gnuplot. */
#include "plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/gnuplot.h"

/* Colours of the variants. The two variants without a gate are grey. */
static const char *color_of(const char *variant)
{
    static const char *const colors[VARIANTS] = { "#444444", "#999999", "#1f77b4", "#9467bd",
        "#2ca02c", "#ff7f0e", "#d62728" };
    for (int i = 0; i < VARIANTS; ++i) {
        if (variant == variant_names[i]) {
            return colors[i];
        }
    }
    return "black";
}

static int by_loss(const void *a, const void *b)
{
    const summary *const *x = a, *const *y = b;
    return ((*x)->val_loss > (*y)->val_loss) - ((*x)->val_loss < (*y)->val_loss);
}

/* Writes two blocks of data to the script. $curves has a line for each evaluation and a column for
 * each variant. $ends has a line for each variant, the best one first. */
static void write_data(FILE *script, const options *o, const summary *const *sorted, size_t count)
{
    fputs("$curves << END\n", script);
    for (int64_t i = 0; i < o->evaluations; ++i) {
        fprintf(script, "%lld", (long long)(o->steps * (i + 1) / o->evaluations));
        for (size_t v = 0; v < count; ++v) {
            fprintf(script, " %.5f", sorted[v]->curve[i]);
        }
        fputc('\n', script);
    }
    fputs("END\n$ends << END\n", script);
    for (size_t v = 0; v < count; ++v) {
        fprintf(script, "%zu %.5f %.5f \"%s\" 0x%s\n", v, sorted[v]->val_loss, sorted[v]->error,
            sorted[v]->variant, color_of(sorted[v]->variant) + 1);
    }
    fputs("END\n", script);
}

/* Plots the curves without their steep beginning. The key lists the best variant first. */
static void write_curves(FILE *script, const options *o, const summary *const *sorted, size_t count)
{
    double low = sorted[0]->val_loss, high = low;
    for (size_t v = 0; v < count; ++v) {
        for (int64_t i = 0; i < o->evaluations; ++i) {
            low = sorted[v]->curve[i] < low ? sorted[v]->curve[i] : low;
            high =
                i >= o->evaluations / 4 && sorted[v]->curve[i] > high ? sorted[v]->curve[i] : high;
        }
    }
    fprintf(script,
        "set title 'at equal steps and parameters' tc rgb '#444444'\n"
        "set xlabel 'step'\nset ylabel 'validation loss, nats per character'\n"
        "set xrange [0:%lld]\nset yrange [%.5f:%.5f]\nplot ",
        (long long)o->steps, low - 0.03 * (high - low) - 1e-6, high + 0.15 * (high - low) + 1e-6);
    for (size_t v = 0; v < count; ++v) {
        fprintf(script, "%s$curves using 1:%zu with lines lw 2 dt %d lc rgb '%s' title '%s%s'",
            v > 0 ? ",\\\n " : "", v + 2, is_gated(sorted[v]->variant) ? 1 : 2,
            color_of(sorted[v]->variant), sorted[v]->variant,
            is_gated(sorted[v]->variant) ? "" : ", no gate");
    }
    fputc('\n', script);
}

/* The distance of an axis's marks: 1, 2 or 5 times a power of ten, so that the range has two to
 * five marks. */
static double tic_of(double range)
{
    double power = pow(10, floor(log10(range / 2))), times = range / 2 / power;
    return power * (times >= 5 ? 5 : times >= 2 ? 2 : 1);
}

/* Draws the last points on a scale of their own, with standard errors if there are several runs. */
static void write_ends(FILE *script, const options *o, const summary *const *sorted, size_t count)
{
    const summary *worst = sorted[count - 1];
    double low = sorted[0]->val_loss, high = worst->val_loss, most = 0;
    for (size_t v = 0; v < count; ++v) {
        most = sorted[v]->error > most ? sorted[v]->error : most;
    }
    double room = 0.12 * (high - low) + most + 1e-4;
    fprintf(script,
        "set title 'after the last step' tc rgb '#444444'\nunset key\n"
        "set xlabel 'validation loss'\nunset ylabel\nset xrange [%.5f:%.5f]\n"
        "set xtics %g\nset yrange [%zu.5:-0.5]\nset grid ytics lt 1 lc rgb '#e4e4e4'\n"
        "set ytics scale 0\n"
        "plot $ends using 2:1:(%s):ytic(4) with xerrorbars pt 0 lw 1.5 lc rgb '#888888',\\\n"
        " $ends using 2:1:5 with points pt 7 ps 1.4 lc rgb variable,\\\n"
        " $ends using 2:1:(sprintf('%%.3f', $2)) with labels offset 0,0.9 tc rgb '#444444'\n",
        low - room, high + room, tic_of(high - low + 2 * room), count - 1,
        o->runs > 1 ? "$3" : "0");
}

static void write_script(FILE *script, const options *o, const summary *const *sorted, size_t count)
{
    write_data(script, o, sorted, count);
    fputs("set border 3 lc rgb '#666666'\nset tics nomirror out\n"
          "set key top right samplen 3 spacing 1.2\n"
          "set multiplot\nset lmargin at screen 0.08\nset rmargin at screen 0.58\n"
          "set bmargin at screen 0.14\nset tmargin at screen 0.9\n",
        script);
    write_curves(script, o, sorted, count);
    fputs("set lmargin at screen 0.70\nset rmargin at screen 0.97\n", script);
    write_ends(script, o, sorted, count);
    fputs("unset multiplot\n", script);
}

void draw_picture(const options *o, const summary *s, size_t count)
{
    if (strcmp(o->plot, "none") == 0) {
        return;
    }
    const summary *sorted[VARIANTS];
    for (size_t v = 0; v < count; ++v) {
        if (!isfinite(s[v].val_loss)) {
            printf("no picture: the loss of %s is no number\n", s[v].variant);
            return;
        }
        sorted[v] = &s[v];
    }
    qsort(sorted, count, sizeof *sorted, by_loss);
    FILE *script = gnuplot_begin(o->plot, 960, 450);
    if (script != NULL) {
        write_script(script, o, sorted, count);
    }
    gnuplot_end(script, "picture", o->plot);
}
