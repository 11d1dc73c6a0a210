/* What the schedules share that move the momentum against the rate, and that have numbers for each
 * group of parameters. */
#ifndef ADZI_OPTIM_MOMENTA_H
#define ADZI_OPTIM_MOMENTA_H

#include "optim/schedules/scheduler.h"

/** Numbers of the options, one for each group of parameters. */
typedef struct adzi_group_numbers {
    const char *name;
    const double *list; /* NULL: `all` is the number of every group */
    size_t n;
    double all;
} adzi_group_numbers;

/** Fills `list` with `n_rows` numbers for each group. Fails if a list does not have one number per
 * group. */
adz_status adzi_fill_groups(const char *op, const adz_optimizer *optimizer,
    const adzi_group_numbers *rows, size_t n_rows, double *list);

/** Finds the setting that is cycled, "momentum" or Adam's "beta1"; -1 if `wanted` is false. False
 * with the error recorded if the optimizer has neither. */
bool adzi_momentum_setting(
    const char *op, const adz_optimizer *optimizer, bool wanted, int *setting);

/** Checks that the optimizer accepts two momenta of every group: those of group g are momenta[g *
 * stride] and the next one. */
adz_status adzi_check_momenta(const char *op, const adz_optimizer *optimizer, const double *momenta,
    size_t stride, int setting);

#endif
