/* The table, and the line for scripts. */
#ifndef GLU_REPORT_H
#define GLU_REPORT_H

#include "experiment.h"

/* One variant over the runs that are finished. */
typedef struct summary {
    const char *variant;
    int64_t runs, d_ff, parameters;
    double train_loss, val_loss; /* after the last step; means over the runs */
    double error;                /* standard error of val_loss; 0 for a single run */
    double seconds;              /* of one run */
    double *curve;               /* val_loss at each evaluation, mean over the runs */
} summary;

/* One for each variant that has a finished run, in the order of o; `count` receives how many. End
 * it with free_summaries. */
summary *summarize(const options *o, const training *all, size_t *count);
void free_summaries(summary *s, size_t count);

void print_table(const options *o, const summary *s, size_t count);
void print_result_line(const options *o, const summary *s, size_t count, double seconds);

#endif
