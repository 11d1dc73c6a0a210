/* Draws the toy set and the predictions with gnuplot. */
#include "plot.h"

#include <stdio.h>
#include <string.h>

#include "../shared/gnuplot.h"

static void write_data(FILE *script, const picture *p)
{
    fputs("$curve << END\n", script);
    for (size_t i = 0; i < p->n_curve; ++i) {
        const curve_point *c = &p->curve[i];
        fprintf(script, "%.4g %.4g %.4g %.4g %.4g %.4g\n", c->x, c->truth, c->noise, c->mean,
            c->spread, c->total);
    }
    fputs("END\n$rows << END\n", script);
    for (size_t i = 0; i < p->n_rows; ++i) {
        fprintf(script, "%.4g %.4g\n", (double)p->x[i], (double)p->y[i]);
    }
    fputs("END\n", script);
}

static void write_script(FILE *script, const picture *p)
{
    write_data(script, p);
    fputs(
        "set key top left reverse Left opaque box lc rgb '#cccccc' samplen 2 spacing 1.25 width -4 height 0.4\n"
        "set border 3 lc rgb '#666666'\nset tics nomirror out\n"
        "set label 'no rows here' at 0.25,-2.7 center tc rgb '#666666'\n"
        "set xlabel 'x'\nset ylabel 'y'\nset xrange [-4.5:4.5]\nset yrange [-3:5]\n"
        "plot $curve using 1:($4-2*$6):($4+2*$6) with filledcurves fc rgb '#cfe2f3' title 'predicted: with the noise, 2 deviations',\\\n"
        " $curve using 1:($4-2*$5):($4+2*$5) with filledcurves fc rgb '#7fb2de' title 'predicted: dropout passes alone, 2 deviations',\\\n"
        " $rows using 1:2 with points pt 7 ps 0.35 lc rgb '#777777' title 'training rows',\\\n"
        " $curve using 1:($2-2*$3) with lines dt 3 lw 1.5 lc rgb 'black' notitle,\\\n"
        " $curve using 1:($2+2*$3) with lines dt 3 lw 1.5 lc rgb 'black' title 'truth: with the noise, 2 deviations',\\\n"
        " $curve using 1:2 with lines dt 2 lw 2 lc rgb 'black' title 'truth',\\\n"
        " $curve using 1:4 with lines lw 2.5 lc rgb '#1f5fa8' title 'predicted mean'\n",
        script);
}

void draw_picture(const char *path, const picture *p)
{
    if (strcmp(path, "none") == 0) {
        return;
    }
    FILE *script = gnuplot_begin(path, 800, 480);
    if (script != NULL) {
        write_script(script, p);
    }
    gnuplot_end(script, "picture", path);
}
