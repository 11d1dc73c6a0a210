/* Reports the results: tables, a line for scripts, and files. */
#ifndef CLASSIFIER_REPORT_H
#define CLASSIFIER_REPORT_H

#include "train.h"

/* Prints accuracies, the confusion matrix of the test texts and, as the last line, the result. */
void print_report(const options *o, const model *m, const problem *p, const history *h);

void write_history(const char *path, const history *h);

/* Writes one line for each text: its most probable label, and the probability of that label. */
void write_predictions(const char *path, const model *m, const verdict *verdicts, size_t count);

#endif
