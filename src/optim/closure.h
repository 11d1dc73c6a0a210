/* Optimizers that evaluate the user's closure several times in a step (adz_optimizer_step_closure).
 *
 * Such an optimizer has a type for its name and its settings, and an adzi_search for its step and
 * for what it keeps from step to step, its memory. A step works on a copy of the memory. If it
 * fails, the copy and the parameters that it has moved are put back. */
#ifndef ADZI_OPTIM_CLOSURE_H
#define ADZI_OPTIM_CLOSURE_H

#include "optim/optimizer.h"

enum { ADZI_SEARCH_NUMBERS = 8 };

/** The first two numbers of each memory. */
enum { ADZI_SEARCH_EVALUATIONS, ADZI_SEARCH_ITERATIONS };

/** One running step. */
typedef struct adzi_search_run {
    const char *op;
    adz_optimizer *optimizer;
    adz_optimizer_closure closure;
    void *user;
    double settings[ADZ_OPTIMIZER_SETTINGS]; /* when the step began */
    void *memory;                            /* the copy, which the step changes */
    double loss;                             /* for the caller: the loss before the step */
    double after, gradient;                  /* for the report: where the step ends */
    adz_closure_reason reason;               /* for the report */
    adz_dtype dtype;                         /* of all parameters */
    int64_t numel;                           /* the number of elements of all parameters */
    uint64_t preparations;                   /* tells that the closure has ended this step */
} adzi_search_run;

/** A number of a memory. */
typedef struct adzi_search_number {
    const char *name; /* in files and for adz_optimizer_get */
    size_t offset;    /* of a double */
    bool optional;    /* files may lack it */
} adzi_search_number;

/** How an optimizer makes a step. The members below `numbers` are NULL if a memory has no tensors.
 */
typedef struct adzi_search {
    size_t size; /* bytes of a memory, which begins as zeros */
    bool (*step)(adzi_search_run *run);
    adzi_search_number numbers[ADZI_SEARCH_NUMBERS]; /* evaluations and iterations first */

    /** Makes a memory between steps, whose bytes are those of another one, independent of it.
     * False, with the bytes of a memory that owns nothing, if memory was refused. */
    bool (*copy)(void *memory);
    /** Releases what a memory owns. */
    void (*drop)(void *memory);
    /** Adds the tensors to a state, by adzi_search_add. */
    adz_status (*collect)(const void *memory, adz_state_dict *state);
    /** Takes a tensor of a file, by its name. False with the error recorded. */
    bool (*read)(const adz_optimizer *optimizer, void *memory, const char *name, adz_tensor *t);
    /** Checks that a memory that was read is complete. The error names what is missing. */
    bool (*complete)(const void *memory);
} adzi_search;

/** Makes an optimizer that steps by a search. The error is recorded under `op`. */
adz_optimizer *adzi_search_new(const char *op, const adz_optimizer_type *type,
    const adzi_search *search, adz_tensor_list parameters, const double *settings);

/** `update` of a type whose optimizers step by a search: refuses. */
adz_status adzi_search_no_update(adz_tensor **results, const adz_update *update);

/** Begins a run that calls the closure, but is no step: fills what depends on the parameters. False
 * with the error recorded. */
bool adzi_search_open(adzi_search_run *run);

/**
 * Numbers that a program gives for each parameter, as one f64 vector of all of them.
 *
 * @param what  their name in messages: "lower bound"
 * @param list  a tensor per parameter, of its shape or of one element; empty: all are `none`
 * @return      with one reference; NULL with the error recorded
 */
adz_tensor *adzi_search_constant(const char *op, const adz_optimizer *optimizer, const char *what,
    adz_tensor_list list, double none);

/* ---- in a step ------------------------------------------------------------------------------- */

/** Calls the closure. Returns its tensor, in the scope that is open, with its graph. NULL with the
 * error recorded, after which the step must end at once: its memory may be gone. */
adz_tensor *adzi_search_call(adzi_search_run *run);

/**
 * Calls the closure, which has to compute the gradients.
 *
 * @param loss      receives the number that the closure gives
 * @param gradient  receives the gradients of all parameters as one vector, borrowed; zeros where
 *                  there is none
 * @return          false as adzi_search_call
 */
bool adzi_search_evaluate(adzi_search_run *run, double *loss, adz_tensor **gradient);

/** The number of elements of all parameters. */
int64_t adzi_search_numel(const adz_optimizer *optimizer);

/** All parameters as one vector, borrowed. NULL with the error recorded. */
adz_tensor *adzi_search_values(const char *op, const adz_optimizer *optimizer);

/** Writes a vector to the parameters. */
void adzi_search_move(const char *op, adz_optimizer *optimizer, const adz_tensor *values);

/* ---- for optimizer.c, step.c and state.c ----------------------------------------------------- */

/** Ends a step that was left by a failure or by a jump: puts the parameters back. */
void adzi_search_undo(adz_optimizer *optimizer);

/** Ends what a search has made for an optimizer. */
void adzi_search_end(adz_optimizer *optimizer);

/** Number k of a memory. */
double adzi_search_counted(const adz_optimizer *optimizer, const void *memory, int k);

/** The number of the optimizer's memory with this name; NULL if there is none. */
const double *adzi_search_number_of(const adz_optimizer *optimizer, const char *name);

/** The name of number k of the optimizer's memory; NULL if it has no such number. */
const char *adzi_search_number_name(const adz_optimizer *optimizer, int k);

/** Ends the memory of the optimizer or of a state that was read. A NULL is left alone. */
void adzi_search_drop(const adz_optimizer *optimizer, void *memory);

/** Adds the memory to a state, as "state.0.<name>". Nothing before the first step. */
adz_status adzi_search_collect(const adz_optimizer *optimizer, adz_state_dict *state);

/** Adds one tensor to a state, as "state.0.<name>". */
adz_status adzi_search_add(adz_state_dict *state, const char *name, adz_tensor *t);

/** A copy of `count` elements of a tensor of a file, from `begin` on, with one reference. NULL with
 * the error recorded. */
adz_tensor *adzi_search_vector(adz_dtype dtype, const adz_tensor *t, int64_t begin, int64_t count);

/** A memory with what `state` has. NULL with the error recorded. */
void *adzi_search_read(const adz_optimizer *optimizer, const adz_state_dict *state);

#endif
