/* The table next to the published one, and the lines for scripts. */
#ifndef UCI_REPORT_H
#define UCI_REPORT_H

#include "splits.h"

/* Prints the table. A single split has no standard error: the table has neither an error nor a
 * verdict for it, and the result line has nan. */
void print_report(const set_result *results, size_t count);
void print_result_line(const char *name, const outcome *splits, size_t count, double seconds);

#endif
