/* What the file of a schedule is written with: its type, its numbers, the rate of an epoch. */
#ifndef ADZI_OPTIM_SCHEDULER_H
#define ADZI_OPTIM_SCHEDULER_H

#include "adze/optim/one_cycle.h"
#include "optim/optimizer.h"
#include "base/handle.h"

enum { ADZI_SCHEDULE_NUMBERS = 7, ADZI_SCHEDULE_MOVING = 3 };

/** The rows of adzi_schedule_type.fields: a real number, and a whole one. */
#define ADZI_REAL(its_name, ...)                               \
    {                                                          \
        .name = (its_name), .kind = ADZ_FIELD_F64, __VA_ARGS__ \
    }
#define ADZI_WHOLE(its_name, ...)                              \
    {                                                          \
        .name = (its_name), .kind = ADZ_FIELD_I64, __VA_ARGS__ \
    }

/** The members of an adzi_schedule_type that name its table. */
#define ADZI_NUMBERS(table) .fields = (table), .n_fields = sizeof(table) / sizeof *(table)

typedef struct adzi_schedule_type {
    const char *name;
    int n_moving; /* how many elements of `moving` the state contains */

    /* What `numbers` are, in their order, and their bounds. NULL: the constructor checks them. */
    const adz_field *fields;
    size_t n_fields;

    /* The rate of `group` at s->last_epoch; `lr` is the rate that is set now. NULL: the schedule is
     * made of others, and `go_on` makes its steps. */
    double (*rate)(const adz_scheduler *s, int group, double lr);

    /* The rate of epoch 0 where a SequentialLR begins with it at a milestone. A MultiplicativeLR
     * and a SWALR begin from the rate that is set. NULL: `rate` of the rate to start from. */
    double (*restart)(const adz_scheduler *s, int group, double lr);

    /* Makes a step of the parts. After an error nothing has changed. */
    adz_status (*go_on)(const char *op, adz_scheduler *s);

    /* The rate to start from. NULL: the rate of the optimizer's group. */
    double (*base)(const adz_scheduler *s, int group);

    /* Changes `moving` after last_epoch has been raised. NULL: `moving` does not change. */
    void (*advance)(adz_scheduler *s);

    /* True if `moving` of a loaded state is possible. NULL: any is. */
    bool (*is_sound)(const adz_scheduler *s, const double *moving);

    /* The momentum to set with the rate. NULL: the schedule does not change it. */
    double (*momentum)(const adz_scheduler *s, int group);

    int64_t (*last)(const adz_scheduler *s); /* the last epoch; NULL: there is no last one */
    bool takes_metric;                       /* stepped by adz_scheduler_step_metric */
    bool keeps_initial_lr;                   /* an initial_lr of the group stays as it is */

    /* Sets last_epoch and `moving` to any epoch, for adz_scheduler_step_to. NULL: that fails. */
    void (*move)(adz_scheduler *s, double epoch);
} adzi_schedule_type;

struct adz_scheduler {
    adzi_handle handle;
    atomic_int refs;
    const adzi_schedule_type *type;
    adz_optimizer *optimizer;
    int64_t last_epoch;
    double numbers[ADZI_SCHEDULE_NUMBERS]; /* constants; each schedule has an enum for them */
    double moving[ADZI_SCHEDULE_MOVING];   /* the numbers that change except the epoch */
    double *list;                          /* milestones, or numbers for each group */
    size_t n_list;
    int momentum_setting; /* index of the optimizer's setting that is cycled; -1: none */
    double first_moving[ADZI_SCHEDULE_MOVING]; /* `moving` at epoch 0 */
    adz_lr_lambda lambda;
    adz_cyclic_scale scale; /* NULL, or the scale of CyclicLR */
    void *user;
    adz_scheduler **parts; /* kept; NULL if the schedule is not made of others */
    double *undo;          /* of a schedule with parts: what a failed step puts back */
    size_t n_parts, n_undo;
    int n_groups;
    double *base_lrs, *last_lrs, *next_lrs, *next_momenta; /* one block, base_lrs first */
};

/** Makes a scheduler with type, numbers, moving and the like from `plan`, and with a copy of
 * `list`. Sets the first rates. NULL with the error recorded under `op`. */
adz_scheduler *adzi_scheduler_new(const char *op, adz_optimizer *optimizer,
    const adz_scheduler *plan, const double *list, size_t n_list);

/** Makes a step. After an error nothing has changed. */
adz_status adzi_scheduler_go_on(const char *op, adz_scheduler *s);

/** Sets the rates of epoch 0. `first`: from the rates that are set, else those of a milestone of a
 * SequentialLR. After an error nothing has changed. The schedule has no parts. */
adz_status adzi_scheduler_start(const char *op, adz_scheduler *s, bool first);

/** How many numbers the state has, with those of the parts. */
size_t adzi_scheduler_count(const adz_scheduler *s);

/** Writes the state to adzi_scheduler_count() numbers, and returns how many there are. */
size_t adzi_scheduler_write(const adz_scheduler *s, double *values);

/** Takes a state that fits, and returns how many numbers it has. */
size_t adzi_scheduler_read(adz_scheduler *s, const double *values);

/** True if adz_scheduler_set_state would accept these numbers. */
bool adzi_scheduler_fits(const adz_scheduler *s, const double *values, size_t count);

#endif
