/* The interface behind which a schedule is written: its type, its numbers, the rate of an epoch. */
#ifndef ADZI_OPTIM_SCHEDULER_H
#define ADZI_OPTIM_SCHEDULER_H

#include "adze/optim/scheduler.h"
#include "optim/optimizer.h"

enum { ADZI_SCHEDULE_NUMBERS = 7, ADZI_SCHEDULE_MOVING = 3 };

typedef struct adzi_schedule_type {
    const char *name;
    int n_moving; /* how much of `moving` belongs to the state */

    /* The rate of `group` at s->last_epoch, from the rate `lr` that is set. */
    double (*rate)(const adz_scheduler *s, int group, double lr);

    /* Each may be NULL: the rate to start from, where that is not the optimizer's; what `moving`
     * becomes after last_epoch has grown; whether `moving` can be as a file has it; the momentum
     * to set with the rate. */
    double (*base)(const adz_scheduler *s, int group);
    void (*advance)(adz_scheduler *s);
    bool (*is_sound)(const adz_scheduler *s, const double *moving);
    double (*momentum)(const adz_scheduler *s, int group);

    int64_t (*last)(const adz_scheduler *s); /* the last epoch there is; NULL: no end */
    bool takes_metric;                       /* adz_scheduler_step_metric drives it */

    /* Sets last_epoch and `moving` to any point, for adz_scheduler_step_to; may be NULL. */
    void (*move)(adz_scheduler *s, double epoch);
} adzi_schedule_type;

struct adz_scheduler {
    atomic_int refs;
    const adzi_schedule_type *type;
    adz_optimizer *optimizer;
    int64_t last_epoch;
    double numbers[ADZI_SCHEDULE_NUMBERS]; /* what it was made with; each schedule names its own */
    double moving[ADZI_SCHEDULE_MOVING];   /* what changes beside the epoch */
    double *list;                          /* milestones, or numbers for each group */
    size_t n_list;
    int momentum_setting; /* of the optimizer; -1 when the momentum is left alone */
    adz_lr_lambda lambda;
    void *user;
    int n_groups;
    double *base_lrs, *last_lrs, *next_lrs; /* one block, base_lrs first */
};

/** A scheduler like `plan`, which has the type, the numbers and moving; list is copied. Sets the
 * first rates. */
adz_scheduler *adzi_scheduler_new(const char *op, adz_optimizer *optimizer,
    const adz_scheduler *plan, const double *list, size_t n_list);

/** Sets the rates of s->last_epoch; ADZ_ERR_ARGUMENT with nothing set when one is no rate. */
adz_status adzi_scheduler_set_rates(const char *op, adz_scheduler *s);

/** Whether adz_scheduler_set_state would accept these numbers. */
bool adzi_scheduler_fits(const adz_scheduler *s, const double *values, size_t count);

#endif
