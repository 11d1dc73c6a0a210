/* Reports the results: tables, images as text, a line for scripts, and files. */
#ifndef DIGITS_REPORT_H
#define DIGITS_REPORT_H

#include <stddef.h>

#include "train.h"

/* Prints accuracies, the confusion matrix of the test images with the accuracy of each digit, the
 * worst mistakes and, as the last line, the result. Draws the picture of mistakes. */
void print_report(const options *o, const model *m, const problem *p, const history *h);

void write_history(const char *path, const history *h);

/* Prints what the model says about each image, with the first o->show of them as text, and writes
 * it to o->output unless that is NULL. */
void report_predictions(const options *o, const model *m, adz_dataset *rows);

#endif
