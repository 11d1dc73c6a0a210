/* Declarations of the runner of the group `optim` of reference vectors. */
#ifndef ADZE_TESTS_OPS_PARITY_OPTIM_H
#define ADZE_TESTS_OPS_PARITY_OPTIM_H

#include "ops/case.h"
#include "ops/parity.h"

enum { MOST_PARAMETERS = 8, MOST_STEPS = 1000 };

/* The results of a run: a number for each step, and the parameters at the end. */
typedef struct outcome {
    double losses[MOST_STEPS], lrs[MOST_STEPS], norms[MOST_STEPS], momenta[MOST_STEPS];
    int64_t steps;
    const char *names[MOST_PARAMETERS];
    adz_tensor *tensors[MOST_PARAMETERS];
    size_t n;
    const char *prefix; /* what precedes the names of the tensors under "output." */
} outcome;

/** The optimizer of a file's config over the parameters of `r`; NULL if there is none. */
adz_optimizer *make_optimizer(const vector_file *v, const outcome *r);

/** The scheduler of that name, as the config `c` sets it. `warmup` is memory for its lambda. */
adz_scheduler *make_scheduler(
    adz_optimizer *o, const char *name, const json_t *c, adz_lr_warmup *warmup);

#endif
