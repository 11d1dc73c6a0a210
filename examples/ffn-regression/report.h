/* Reports the results: a table, a line for scripts, a history and a picture. */
#ifndef FFN_REPORT_H
#define FFN_REPORT_H

#include "train.h"

/* Prints the table and, as the last line, the result. */
void print_report(const model *m, const problem *p, const history *h);

void write_history(const char *path, const history *h);

/* Draws the curves, unless the path is "none". */
void plot_history(const char *plot, const model *m, const history *h);

/* Writes one prediction per row, under the target's name. */
void write_predictions(const char *path, const model *m, adz_tensor *y);

#endif
