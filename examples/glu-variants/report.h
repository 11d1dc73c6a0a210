/* The results of all variants: a table, and a line for scripts. */
#ifndef GLU_REPORT_H
#define GLU_REPORT_H

#include "experiment.h"

/* The results of one variant, means over its finished runs. */
typedef struct summary {
    const char *variant;
    int64_t runs, d_ff, parameters;
    double train_loss, val_loss; /* after the last step */
    double error;                /* standard error of val_loss; 0 for a single run */
    double seconds;              /* of one run */
    double *curve;               /* val_loss at each evaluation */
} summary;

/* A summary of each variant that has a finished run, in the order of the options. `count` receives
 * their number. Free them with free_summaries. */
summary *summarize(const options *o, const training *all, size_t *count);
void free_summaries(summary *s, size_t count);

void print_table(const options *o, const summary *s, size_t count);
void print_result_line(
    const options *o, const summary *s, size_t count, double simple, double seconds);

#endif
