/* What an optimizer's file is written with, and what a checkpoint needs of an optimizer.
 *
 * An optimizer is described by an adz_optimizer_type: settings, states, the update of one parameter
 * as an expression of operators, and kernels that compute it faster. optimizer_type.c reads types,
 * optimizer.c has the groups and their settings, step.c makes the steps, update.c computes the
 * update of one parameter, state.c writes and reads the state. closure.c makes the steps of
 * optimizers that evaluate a closure. */
#ifndef ADZI_OPTIM_OPTIMIZER_H
#define ADZI_OPTIM_OPTIMIZER_H

#include <jansson.h>
#include <stdatomic.h>

#include "adze/optim/type.h"
#include "adze/options.h"
#include "base/handle.h"
#include "base/index.h"
#include "base/isa.h"
#include "base/threads/parallel.h"
#include "base/tracer.h"
#include "tensor/tensor.h"

/** The last power base^step that was computed. Most parameters have the step of the parameter
 * before them, and then adzi_real_pow() is not called again. */
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
    adz_step_context seen; /* what the type's `numbers` gets; the first member */
    const adz_optimizer *optimizer;
    adzi_power *powers; /* of the optimizer, ADZ_MOMENT_POWERS elements */
} adzi_moment;

/** In `kernels` of a type of the library: KERNEL(name) of a kernel file, at the level in use. */
#define ADZI_UPDATE_KERNELS(name)                                     \
    {                                                                 \
        [ADZ_F32] = name##_update_f32, [ADZ_F64] = name##_update_f64, \
    }
/** Declares the kernels of a kernel file, and the functions that ADZI_UPDATE_KERNELS names. */
#define ADZI_UPDATE_KERNEL_TABLE(name)                                                     \
    KERNEL_TABLE_FLOAT(name);                                                              \
    static void name##_update_f32(const adz_update_call *call, int64_t begin, int64_t end) \
    {                                                                                      \
        KERNEL_FOR(name, ADZ_F32)(call, begin, end);                                       \
    }                                                                                      \
    static void name##_update_f64(const adz_update_call *call, int64_t begin, int64_t end) \
    {                                                                                      \
        KERNEL_FOR(name, ADZ_F64)(call, begin, end);                                       \
    }                                                                                      \
    _Static_assert(ADZ_F32 == 0 && ADZ_F64 == 1, "the columns of a table of kernels")

/** The elements of a parameter, in row-major order, that this process updates and whose state it
 * has: begin .. begin+count-1. All of them, unless the optimizer is divided among ranks. */
typedef struct adzi_part {
    int64_t begin, count;
} adzi_part;

/** The state of one parameter. */
typedef struct adzi_kept {
    /** NULL until a step needs the state. It has the shape that the type gives, or else the
     * parameter's shape if the part is all of the parameter, or else [part.count]. */
    adz_tensor *state[ADZ_OPTIMIZER_STATES];
    /** While a step without a kernel runs: the new elements of the part, first of the parameter,
     * then of state k. NULL: they stay as they are. */
    adz_tensor *next[1 + ADZ_OPTIMIZER_STATES];
    adzi_part part;
    int64_t block;                         /* elements of the part that `next` may have at a time */
    uint32_t fresh;                        /* bit k: state k was made in the running step */
    int64_t steps;                         /* raised in a launch */
    double numbers[ADZ_OPTIMIZER_NUMBERS]; /* written in a launch */
} adzi_kept;

/** A group of parameters with its own settings. */
typedef struct adzi_group {
    double settings[ADZ_OPTIMIZER_SETTINGS];
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

struct adzi_search;

struct adz_optimizer {
    adzi_handle handle;
    atomic_int refs;
    const adz_optimizer_type *type;     /* &given */
    const adz_optimizer_type *identity; /* the user's struct, or a static one of the library */
    adz_optimizer_type given;           /* a copy of it; members that it lacks are zero */
    int n_settings, n_states, n_numbers;
    const adzi_shard *shard; /* borrowed; NULL if every part is a whole parameter */
    double defaults[ADZ_OPTIMIZER_SETTINGS];
    adzi_group **groups; /* each has its own block, because launches point to its settings */
    size_t n_groups, groups_capacity;
    uint64_t preparations; /* counts the calls of adzi_optimizer_prepare and _undo */
    bool prepared;         /* neither _update nor _undo has followed the last _prepare */
    adzi_power powers[ADZ_MOMENT_POWERS];
    adzi_index parameters;            /* the addresses of the parameters of all groups */
    const struct adzi_search *search; /* NULL, or how a step evaluates a closure (closure.h) */
    void *memory, *working;           /* what a search keeps, and the copy in a running step */
    adz_tensor *before;               /* the parameters before a running step; NULL between steps */
    adz_tensor *constants[2]; /* of a search, f64 [P]: the lower and the upper bounds, or the scale;
                                 NULL if there are none */
    adz_closure_report report; /* of the last step of a search, if there is one */
    bool reported;
};

/** adz_optimizer_new with the error recorded under `op`. */
adz_optimizer *adzi_optimizer_make(const char *op, const adz_optimizer_type *type,
    adz_tensor_list parameters, const double *settings, size_t n);

/** adz_optimizer_new for a constructor of the library, which gives all settings. The error is
 * recorded under `op`. */
adz_optimizer *adzi_optimizer_new(const char *op, const adz_optimizer_type *type,
    adz_tensor_list parameters, const double *settings);

/** Reads options by a table whose rows are the settings of a type: into the struct `all`, and into
 * all settings but the first, which is "lr". False with the error recorded. */
bool adzi_optimizer_take(const char *op, const adz_options_table *table, const void *options,
    void *all, double settings[ADZ_OPTIMIZER_SETTINGS]);

/** adzi_optimizer_new with the settings of options (adzi_optimizer_take). Errors are recorded under
 * the type's constructor. */
adz_optimizer *adzi_optimizer_from(const adz_optimizer_type *type, const adz_options_table *table,
    adz_tensor_list parameters, double lr, const void *options);

/** Reads the user's type into a new optimizer. False with the error recorded if something is wrong
 * with it. */
bool adzi_optimizer_read_type(
    const char *op, adz_optimizer *optimizer, const adz_optimizer_type *type);

/** The states that a group with these settings needs: bit k for state k. */
static inline uint32_t adzi_optimizer_needs(const adz_optimizer *optimizer, const double *settings)
{
    return optimizer->type->needs != NULL ? optimizer->type->needs(settings)
                                          : (1u << optimizer->n_states) - 1;
}

/** Whether the type takes parameter i of a list. False with the error recorded if its
 * `check_parameter` refuses it, or if its `state_shape` gives sizes that no tensor has. */
bool adzi_type_takes(const char *op, const adz_optimizer *optimizer, const adz_tensor *t, size_t i);

/** The states that a parameter can have: bit k for state k. */
uint32_t adzi_optimizer_states_of(const adz_optimizer *optimizer, const adz_tensor *t);

/** The shape of state k of a parameter. */
adz_shape adzi_state_shape(const adz_optimizer *optimizer, const adz_tensor *t, int k);

/** Whether the type gives state k a shape of its own. Ranks do not divide such a state. */
bool adzi_state_is_undivided(const adz_optimizer *optimizer, const adz_tensor *t, int k);

/** Checks that the settings are in their ranges and that the type accepts them. */
adz_status adzi_check_settings(
    const char *op, const adz_optimizer *optimizer, const double *settings);

/** Checks that `value` is finite and at least 0; the message calls it `name`. */
adz_status adzi_check_not_negative(const char *op, const char *name, double value);

/** Whether schedulers set a setting of this name along with the rate: "momentum" or "beta1". */
bool adzi_setting_is_momentum(const char *name);

/** Releases the tensors of a parameter's state. */
void adzi_kept_release(adzi_kept *kept);

/* ---- the update of one parameter ------------------------------------------------------------- */

/** Whether the type's `update` computes the step of a parameter, and no kernel. A trace sees
 * operators only. */
static inline bool adzi_update_is_expressed(
    const adz_optimizer *optimizer, const adz_tensor *t, const adzi_kept *kept)
{
    const bool kernel = optimizer->type->kernels[t->dtype] != NULL && adzi_self()->tracer == NULL;
    return !kernel && (kept->part.count > 0 || optimizer->type->state_shape != NULL);
}

/** Computes the new elements of parameter i of a group by the type's `update`, or those of the
 * first block, and keeps them in `kept->next`. Nothing else changes. The states exist. False with
 * the error recorded. */
bool adzi_update_express(
    const char *op, adz_optimizer *optimizer, adzi_group *group, size_t i, uint32_t needs);

/** Computes the numbers of a step from a group's settings, for a written step.
 *
 * @param numbers  filled, optimizer->n_numbers elements
 * @param step     1 in the first step in which the parameter has a gradient
 * @param fresh    bit k: state k was made for this step
 */
void adzi_update_numbers(const adz_optimizer *optimizer, const double *settings, int64_t step,
    uint32_t fresh, double *numbers);

/** What the numbers of the step that follows kept->steps are computed from. */
adzi_moment adzi_next_moment(
    adz_optimizer *optimizer, const double *settings, const adzi_kept *kept);

/** Computes the numbers of that step, in f64 into kept->numbers, and in a dtype into `scalars`. */
void adzi_compute_numbers(adz_optimizer *optimizer, const double *settings, adzi_kept *kept,
    void *scalars, adz_dtype dtype);

/** Counts that step. adzi_begin_step computes its numbers before, in f64. */
void adzi_count_step(adz_optimizer *optimizer, const double *settings, adzi_kept *kept);
void adzi_begin_step(adz_optimizer *optimizer, const double *settings, adzi_kept *kept);

/** Counts the step of parameter i of a group, and changes the parameter and its states: by a
 * kernel, or by storing `kept->next` and computing the other blocks. Fails with the error recorded
 * if an `elementwise` type of a program fails for another block than the first one. A trace notices
 * its errors itself. */
bool adzi_update_apply(
    const char *op, adz_optimizer *optimizer, adzi_group *group, size_t i, uint32_t needs);

/** Whether the gradient of parameter i, which exists, can be used. False with the error recorded.
 */
bool adzi_check_gradient(const char *op, const adz_tensor *t, size_t i);

/** The gradient of a parameter, or NULL. A plan is told that the step depends on it. */
static inline adz_tensor *adzi_update_gradient(const adz_tensor *t)
{
    adzi_capture_gradient(t->gradient);
    return t->gradient != NULL ? t->gradient->grad : NULL;
}

/* ---- the step -------------------------------------------------------------------------------- */

/** Does all of a step that can fail: checks gradients, and makes the states that are missing. After
 * a failure nothing has changed. After success adzi_optimizer_update or adzi_optimizer_undo
 * follows. */
adz_status adzi_optimizer_prepare(const char *op, adz_optimizer *optimizer);

/** Updates the parts of all parameters that have a gradient. Fails as adzi_update_apply does. */
adz_status adzi_optimizer_update(const char *op, adz_optimizer *optimizer);

/** Releases what adzi_optimizer_prepare has made. */
void adzi_optimizer_undo(adz_optimizer *optimizer);

/** Ends a step that was left by a jump out of the type's `update`. Call it before states are read.
 */
void adzi_optimizer_settle(adz_optimizer *optimizer);

/** State k with undefined elements, for a part of the parameter `t`. The caller has its one
 * reference. NULL with the error recorded under `op`. */
adz_tensor *adzi_state_new(const char *op, const adz_optimizer *optimizer, const adz_tensor *t,
    int k, const adzi_part *part);

/** The number with which a new state is filled. */
double adzi_state_initial(const adz_optimizer *optimizer, const adzi_group *group, int state);

/* ---- checkpoints ---------------------------------------------------------------------------- */

/** Adds the state tensors to `state` as "state.<index>.<name>", where the parameters of all groups
 * are numbered from 0. An optimizer that counts steps adds "state.<index>.step", an i64 scalar. If
 * this process has a part of a state only, a tensor of zeros with the state's shape stands for it,
 * which takes the memory of one element. */
adz_status adzi_optimizer_collect(const adz_optimizer *optimizer, adz_state_dict *state);

/** Adds the states of parameter i of a group, which is number `index` of all. `stepped`: as if it
 * had made a step, with zeros for what it does not have yet. */
adz_status adzi_optimizer_collect_one(const adz_optimizer *optimizer, const adzi_group *group,
    size_t i, size_t index, bool stepped, adz_state_dict *state);

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
    adz_optimizer *optimizer, const adz_state_dict *state, const json_t *groups);

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
    adz_optimizer *optimizer, const adz_state_dict *state, const json_t *groups);

#endif
