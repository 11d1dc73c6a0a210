/* The interface behind which an optimizer is written, and the access that a checkpoint needs.
 *
 * An optimizer is a type: names and defaults of its settings, names of its state tensors, and one
 * update of one parameter, a fused kernel. The core does the rest: groups, allocation before any
 * change, versions, state in and out. */
#ifndef ADZI_OPTIM_OPTIMIZER_H
#define ADZI_OPTIM_OPTIMIZER_H

#include <jansson.h>
#include <stdatomic.h>

#include "adze/optim/optimizer.h"
#include "base/index.h"
#include "base/isa.h"
#include "base/parallel.h"
#include "tensor/tensor.h"

enum {
    ADZI_OPTIM_SETTINGS = 12, /* lr is always the first */
    ADZI_OPTIM_STATES = 4,
    ADZI_OPTIM_GRAIN = 16384 /* elements worth a thread of their own */
};

/** Which values a setting can have. */
typedef enum adzi_range {
    ADZI_NOT_NEGATIVE, /* finite, 0 or more */
    ADZI_FLAG,         /* 0 or 1 */
    ADZI_FRACTION,     /* 0 or more and below 1 */
    ADZI_OWN_RANGE     /* the type's `check` says which */
} adzi_range;

typedef struct adzi_setting {
    const char *name;
    adzi_range range;
} adzi_setting;

enum { ADZI_OPTIM_POWERS = 2 };

/** base^step, as it was last asked for. */
typedef struct adzi_power {
    double base, power;
    int64_t step; /* 0: never */
} adzi_power;

/**
 * What the numbers of one parameter's update depend on. They are computed in a launch, from memory
 * that lives as long as the optimizer, so that a replayed step uses the learning rate and the
 * number of steps of its own time.
 */
typedef struct adzi_moment {
    const double *settings;
    unsigned fresh;     /* bit k: state k was made in this step, of zeros */
    int64_t step;       /* 1 in the first step that the parameter takes part in */
    adzi_power *powers; /* ADZI_OPTIM_POWERS of them, which last from one parameter to the next */
} adzi_moment;

/** base^step, mostly what it was for the parameter before; i tells two bases apart. */
double adzi_moment_power(const adzi_moment *moment, int i, double base);

enum { ADZI_OPTIM_NUMBERS = 12 }; /* doubles that an update computes for its kernel, at most */

/** One parameter's part of a step. All tensors are contiguous and have one shape and dtype. */
typedef struct adzi_update {
    adz_tensor *parameter;
    const adz_tensor *gradient;
    adz_tensor *const *state; /* those that `needs` asked for */
    unsigned needs;           /* which states these are, as bits */
    unsigned fresh;           /* bit k: state k was made in this step, of zeros */
    const double *settings;   /* only for what decides which kernel runs on which states */
    const void *numbers;      /* written by the type's `numbers` before the kernel runs */
} adzi_update;

typedef struct adzi_optimizer_type {
    const char *name;
    int n_settings;
    adzi_setting settings[ADZI_OPTIM_SETTINGS];
    int n_states;
    const char *states[ADZI_OPTIM_STATES];
    bool counts_steps; /* each parameter's number of steps belongs to the state */

    /** Refuses settings that do not fit one another; NULL for none. Each is in its range. */
    adz_status (*check)(const char *op, const double *settings);

    /** Which states these settings use, as bits. */
    unsigned (*needs)(const double *settings);

    /** Computes what the kernel reads, at most ADZI_OPTIM_NUMBERS doubles. Runs in a launch. */
    void (*numbers)(const adzi_moment *moment, void *numbers);

    /** Launches the kernel that changes the parameter; cannot fail. */
    void (*update)(const adzi_update *update);
} adzi_optimizer_type;

/** The state of one parameter. */
typedef struct adzi_kept {
    adz_tensor *state[ADZI_OPTIM_STATES]; /* NULL until a step needs it */
    unsigned fresh;
    int64_t steps; /* raised by a launch */
    double numbers[ADZI_OPTIM_NUMBERS];
} adzi_kept;

typedef struct adzi_group {
    double settings[ADZI_OPTIM_SETTINGS];
    double initial_lr; /* NaN until a scheduler is made */
    adz_tensor **parameters;
    adzi_kept *kept; /* one per parameter */
    size_t count;
} adzi_group;

struct adz_optimizer {
    atomic_int refs;
    const adzi_optimizer_type *type;
    double defaults[ADZI_OPTIM_SETTINGS];
    adzi_group **groups; /* each in a block of its own: launches point to the settings */
    size_t n_groups, groups_capacity;
    adzi_power powers[ADZI_OPTIM_POWERS];
    adzi_index parameters; /* the addresses of all groups' */
};

/** A new optimizer with one group. `settings` has the type's n_settings values. */
adz_optimizer *adzi_optimizer_new(const char *op, const adzi_optimizer_type *type,
    adz_tensor_list parameters, const double *settings);

/** Fails for settings outside their ranges, and for those that the type refuses. */
adz_status adzi_check_settings(
    const char *op, const adzi_optimizer_type *type, const double *settings);

/** Fails unless `value` is a finite number of at least 0; names the setting. */
adz_status adzi_check_not_negative(const char *op, const char *name, double value);

/* ---- checkpoints ---------------------------------------------------------------------------- */

/** Adds the state tensors to `state` as "state.<index>.<name>", index counted over all groups, with
 * "state.<index>.step" (i64) where steps are counted. */
adz_status adzi_optimizer_collect(const adz_optimizer *optimizer, adz_state *state);

/** The groups as PyTorch's param_groups: settings by name, and "params" with the indices. A new
 * reference; NULL with ADZ_ERR_MEMORY recorded. */
json_t *adzi_optimizer_groups(const adz_optimizer *optimizer);

/**
 * Restores what the two above gave, converting dtypes: all or nothing. Entries of `state` whose
 * names do not start with "state." are left to others. ADZ_ERR_STATE when it belongs to an
 * optimizer of another kind or over other parameters.
 */
adz_status adzi_optimizer_restore(
    adz_optimizer *optimizer, const adz_state *state, const json_t *groups);

#endif
