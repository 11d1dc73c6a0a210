/* What an optimizer's file is written with, and what a checkpoint needs of an optimizer.
 *
 * An optimizer is a type: the names and ranges of its settings, the names of its state tensors, and
 * the update of one parameter by a fused kernel. optimizer.c has the groups and
 * their settings, step.c makes the steps, state.c writes and reads the state. */
#ifndef ADZI_OPTIM_OPTIMIZER_H
#define ADZI_OPTIM_OPTIMIZER_H

#include <jansson.h>
#include <stdatomic.h>

#include "adze/optim/optimizer.h"
#include "base/index.h"
#include "base/isa.h"
#include "base/threads/parallel.h"
#include "tensor/tensor.h"

enum {
    ADZI_OPTIM_SETTINGS = 12, /* the most settings of a type; lr is always the first */
    ADZI_OPTIM_STATES = 4,    /* the most state tensors per parameter */
    ADZI_OPTIM_GRAIN = 16384  /* grain of the kernels, in elements */
};

/** Which values a setting can have. */
typedef enum adzi_range {
    ADZI_NOT_NEGATIVE, /* finite, 0 or more */
    ADZI_FLAG,         /* 0 or 1 */
    ADZI_FRACTION,     /* 0 or more and below 1 */
    ADZI_OWN_RANGE     /* the type's `check` says which */
} adzi_range;

/** One setting of an optimizer, named as in PyTorch. */
typedef struct adzi_setting {
    const char *name;
    adzi_range range;
} adzi_setting;

/** The number of bases whose powers are kept: Adam needs beta1^step and beta2^step. */
enum { ADZI_OPTIM_POWERS = 2 };

/** The last power base^step that was computed. Most parameters have the step of the parameter
 * before them, and then pow() is not called again. */
typedef struct adzi_power {
    double base, power;
    int64_t step; /* 0 before the first power is computed */
} adzi_power;

/**
 * What the numbers of one parameter's update are computed from. They are computed in a launch, from
 * memory that lives as long as the optimizer. A replayed step therefore uses the learning rate and
 * the number of steps that hold when it is replayed.
 */
typedef struct adzi_moment {
    const double *settings;
    unsigned fresh;     /* bit k: state k was made in this step and is all zeros */
    int64_t step;       /* 1 in the first step in which the parameter has a gradient */
    adzi_power *powers; /* of the optimizer, ADZI_OPTIM_POWERS elements */
} adzi_moment;

/** base^step. Each base of an optimizer has a number i of its own, under which the last power is
 * kept. */
double adzi_moment_power(const adzi_moment *moment, int i, double base);

/** The most doubles that a type's `numbers` writes for its kernel. */
enum { ADZI_OPTIM_NUMBERS = 12 };

/** The elements of a parameter, in row-major order, that this process updates and whose state it
 * has: begin .. begin+count-1. All of them, unless the optimizer is divided among ranks. */
typedef struct adzi_part {
    int64_t begin, count;
} adzi_part;

/** One parameter's part of a step. Its elements lie in a row, as do those of gradient and states.
 */
typedef struct adzi_update {
    adz_dtype dtype;
    int64_t count;            /* elements to update, 0 or more */
    void *parameter;          /* the first of them */
    const void *gradient;     /* its gradient */
    adz_tensor *const *state; /* state k is valid if bit k of `needs` is set; [count] */
    unsigned needs;           /* the result of the type's `needs` */
    unsigned fresh;           /* bit k: state k was made in this step and is all zeros */
    const double *settings;   /* for settings that choose the kernel or fill a fresh state */
    const void *numbers;      /* written by the type's `numbers` before the kernel runs */
} adzi_update;

/** The description of an optimizer. */
typedef struct adzi_optimizer_type {
    const char *name;
    int n_settings;
    adzi_setting settings[ADZI_OPTIM_SETTINGS];
    int n_states;
    const char *states[ADZI_OPTIM_STATES];
    bool counts_steps; /* the state contains each parameter's number of steps */

    /** Checks settings that depend on each other, and those of ADZI_OWN_RANGE. The other settings
     * are in their ranges already. NULL if there is nothing to check. */
    adz_status (*check)(const char *op, const double *settings);

    /** The states that these settings use: bit k for state k. */
    unsigned (*needs)(const double *settings);

    /** Computes the numbers that the kernel reads, at most ADZI_OPTIM_NUMBERS doubles. Runs in a
     * launch. */
    void (*numbers)(const adzi_moment *moment, void *numbers);

    /** Launches the kernel that changes the parameter. It cannot fail. */
    void (*update)(const adzi_update *update);
} adzi_optimizer_type;

/** The state of one parameter. */
typedef struct adzi_kept {
    /** NULL until a step needs the state. It has the parameter's shape if the part is all of the
     * parameter, else [part.count]. */
    adz_tensor *state[ADZI_OPTIM_STATES];
    adzi_part part;
    unsigned fresh; /* bit k: state k was made in the running step */
    int64_t steps;  /* raised in a launch */
    double numbers[ADZI_OPTIM_NUMBERS];
} adzi_kept;

/** A group of parameters with settings of its own. */
typedef struct adzi_group {
    double settings[ADZI_OPTIM_SETTINGS];
    double initial_lr; /* the rate when the first scheduler was made; NaN before that */
    adz_tensor **parameters;
    adzi_kept *kept; /* one per parameter */
    size_t count;
} adzi_group;

/** What divides an optimizer's state among the ranks of a group (distributed/shard.h). */
typedef struct adzi_shard {
    /** Finds the part of parameter i of a new group. False with the error recorded under `op` if
     * the group cannot have this parameter. */
    bool (*part)(const struct adzi_shard *shard, const char *op, const adz_tensor *t, size_t i,
        adzi_part *part);
} adzi_shard;

struct adz_optimizer {
    atomic_int refs;
    const adzi_optimizer_type *type;
    const adzi_shard *shard; /* borrowed; NULL if every part is a whole parameter */
    double defaults[ADZI_OPTIM_SETTINGS];
    adzi_group **groups; /* each has a block of its own, because launches point to its settings */
    size_t n_groups, groups_capacity;
    adzi_power powers[ADZI_OPTIM_POWERS];
    adzi_index parameters; /* the addresses of the parameters of all groups */
};

/** Makes an optimizer with one group. `settings` has the type's n_settings values. NULL with the
 * error recorded under `op`. */
adz_optimizer *adzi_optimizer_new(const char *op, const adzi_optimizer_type *type,
    adz_tensor_list parameters, const double *settings);

/** Checks that the settings are in their ranges and that the type accepts them. */
adz_status adzi_check_settings(
    const char *op, const adzi_optimizer_type *type, const double *settings);

/** Checks that `value` is finite and at least 0; the message calls it `name`. */
adz_status adzi_check_not_negative(const char *op, const char *name, double value);

/* ---- the step -------------------------------------------------------------------------------- */

/** Does all of a step that can fail: checks gradients, and makes the states that are missing. After
 * a failure nothing has changed. After success adzi_optimizer_update or adzi_optimizer_undo
 * follows. */
adz_status adzi_optimizer_prepare(const char *op, adz_optimizer *optimizer);

/** Updates the parts of all parameters that have a gradient. Cannot fail. */
void adzi_optimizer_update(const char *op, adz_optimizer *optimizer);

/** Releases the states that adzi_optimizer_prepare has made. */
void adzi_optimizer_undo(adz_optimizer *optimizer);

/** A state with undefined elements for a part of the parameter `t`. The caller has its one
 * reference. NULL with the error recorded under `op`. */
adz_tensor *adzi_state_new(const char *op, const adz_tensor *t, const adzi_part *part);

/* ---- checkpoints ---------------------------------------------------------------------------- */

/** Adds the state tensors to `state` as "state.<index>.<name>", where the parameters of all groups
 * are numbered from 0. An optimizer that counts steps adds "state.<index>.step", an i64 scalar. If
 * this process has a part of a state only, a tensor of zeros with the state's shape stands for it,
 * which takes the memory of one element. */
adz_status adzi_optimizer_collect(const adz_optimizer *optimizer, adz_state *state);

/** The groups in the format of PyTorch's param_groups: settings by name, and "params" with the
 * indices of the parameters. The caller owns the result; NULL with ADZ_ERR_MEMORY recorded. */
json_t *adzi_optimizer_groups(const adz_optimizer *optimizer);

/** A tensor of zeros that has the memory of a single element. It stands for elements that lie on
 * several ranks. The caller has one reference. NULL with the error recorded under `op`. */
adz_tensor *adzi_stand_in(const char *op, adz_dtype dtype, int rank, const int64_t *sizes);

/** New settings and states, which have been checked and not yet applied. */
typedef struct adzi_restore adzi_restore;

/** Prepares adzi_optimizer_restore. Of a divided state this process's part is taken. NULL with the
 * error recorded. */
adzi_restore *adzi_restore_new(
    adz_optimizer *optimizer, const adz_state *state, const json_t *groups);

/** Applies it. Cannot fail. adzi_restore_free follows. */
void adzi_restore_commit(adzi_restore *restore);

/** Ends it, whether it was applied or not. A NULL inside is left alone. */
void adzi_restore_free(adzi_restore **restore);

/**
 * Restores the results of adzi_optimizer_collect and adzi_optimizer_groups, and converts dtypes.
 * After an error nothing has changed. Entries of `state` whose names do not begin with "state." are
 * ignored. ADZ_ERR_STATE if the state is that of another type or of other parameters.
 */
adz_status adzi_optimizer_restore(
    adz_optimizer *optimizer, const adz_state *state, const json_t *groups);

#endif
