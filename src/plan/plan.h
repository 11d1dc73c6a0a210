/* Plans: functions that were captured as lists of launches.
 *
 * Note [How a function is captured]
 * Each call of the function is captured (captured_call.c). A captured call has the launches in
 * order with copies of their arguments. Addresses in them (base/threads/addresses.h) of memory that
 * was allocated during the call are references: a block, and an offset in it. A plan is made of two
 * captured calls in a row that agree: equal kernels, sizes and numbers of units, and equal
 * arguments of all operators. An argument is equal to another one if both are outside tensors at
 * one address, or if both calls have made it as their nth. So a function that takes other tensors
 * each time does not become a plan.
 *
 * Blocks that were freed before the function returned belong to the run. From the first and the
 * last launch that refers to each of them, memory.c computes a location in one block of memory, and
 * the references are changed to these locations. All other addresses stay as they are. They belong
 * to tensors and objects that live longer than the call, and watch.c notices when one is freed.
 *
 * A tensor that the call makes and that outlives it, such as a gradient, is not read between the
 * begin of a run and the first launch that writes it. Until then its memory is a host: blocks of
 * the run may use it if their last launch comes before that launch.
 *
 * A capture does not change how memory is used, so both calls are ordinary ones. */
#ifndef ADZI_PLAN_PLAN_H
#define ADZI_PLAN_PLAN_H

#include <string.h>

#include "adze/plan.h"
#include "base/capture.h"
#include "base/handle.h"
#include "base/threads/marks.h"
#include "plan/blocks.h"
#include "plan/snapshot.h"
#include "plan/stretch.h"

/** An address among a launch's arguments that lies in a block. */
typedef struct adzi_plan_reference {
    size_t block;  /* an index in `all` */
    size_t offset; /* bytes from the block's begin */
    size_t at;     /* bytes from the begin of the launch's arguments */
} adzi_plan_reference;

/** A launch, or a function of the host if `kernel` is NULL. */
typedef struct adzi_plan_launch {
    adzi_kernel kernel;
    adzi_host_function function;
    char *args; /* once the capture has ended */
    size_t args_at, size;
    const adzi_addresses *addresses;
    int64_t units, grain;
    uint8_t items[ADZI_ELEMENTWISE_OPERANDS]; /* of an elementwise launch: see adzi_capture */
    bool fills;                               /* it is a fill */
    size_t chain; /* how many launches from this one on run block by block; 1 for itself */
    size_t loop;  /* the loop that begins here, counted from 1; 0 for none */
    size_t jump;  /* of a mark: the launch to which it leads */
    size_t first_reference, n_references;
    int64_t ordinal;               /* counts the launches that the call has made */
    size_t n_arguments, n_numbers; /* that the call had before it */
    const char *op;                /* for messages */
    const char *loop_op;           /* the function whose step has made it, or NULL */
    int64_t step, step_moves; /* that step; how many further it is in the next time of a loop */
    const char *composed;     /* of a function of the host: the composition that has called it */
    const char *file;         /* the source line of the call under ADZ_SITES, or NULL */
    int line;
} adzi_plan_launch;

/** An address that each step of a loop moves. */
typedef struct adzi_plan_patch {
    size_t launch, at; /* where it is: a launch, and bytes from the begin of its arguments */
    uintptr_t step;    /* is added to it behind each step */
    int64_t ring;      /* the position of the first step comes again after so many; 0: never */
    int64_t begin;     /* the position of the first step in the ring */
} adzi_plan_patch;

/** Launches that run several times. Note [Loops of launches] in fold.c */
typedef struct adzi_plan_loop {
    size_t first, length; /* the launches of a step */
    int64_t times;
    size_t first_patch, n_patches;
    size_t first_move, n_moves, first_ring, n_rings; /* what its patches are in a replay */
} adzi_plan_loop;

/** An argument of an operator: see argument_of. */
typedef struct adzi_plan_argument {
    uintptr_t what;
    uint64_t layout; /* follows from dtype, sizes and strides */
    const char *op;
} adzi_plan_argument;

enum {
    ADZI_PLAN_UPDATE_TENSORS = 8, /* the most tensors that a movable update uses */
    ADZI_PLAN_UPDATE_LAUNCHES = 8 /* the most launches that it makes */
};

/** The launches by which an optimizer updates a parameter. Note [When a parameter is updated] */
typedef struct adzi_plan_update {
    size_t first, launches; /* in the order in which the call has made them */
    struct adzi_plan_used {
        const char *begin, *end;
        size_t block; /* an index in `all`; SIZE_MAX if the call has not made the tensor */
    } tensors[ADZI_PLAN_UPDATE_TENSORS];
    size_t count; /* of tensors; 0 if the launches have to stay where they are */
} adzi_plan_update;

/** One captured call. */
typedef struct adzi_captured_call {
    adzi_plan_launch *launches;
    size_t n_launches, launches_capacity;
    adzi_plan_reference *references;
    size_t n_references, references_capacity;
    char *args; /* of all launches, each at a multiple of 64 */
    size_t args_bytes, args_capacity;
    adzi_plan_loop *loops;
    size_t n_loops, loops_capacity;
    adzi_plan_patch *patches; /* of all loops */
    size_t n_patches, patches_capacity;
    struct adzi_plan_call *calls; /* of all launches, once they are replayed; else NULL */
    struct adzi_plan_move *moves; /* room for n_patches of each */
    struct adzi_plan_ring *rings;
    bool repeats; /* the function has told of a loop */
    struct adzi_plan_step {
        const char *op;
        int64_t step;
    } steps[8];     /* that run, the innermost one last */
    size_t n_steps; /* also those for which there is no room */
    int64_t n_made; /* launches, also those that are not held any more */
    adzi_stretches stretches;
    adzi_plan_blocks blocks;
    adzi_plan_update update; /* the one that runs */
    adzi_plan_update *updates;
    size_t n_updates, updates_capacity;
    struct adzi_storage **written; /* changed in place, each once */
    size_t n_written, written_capacity;
    adz_tensor **constants; /* written by the host during the call; kept */
    size_t n_constants, constants_capacity;
    adzi_plan_argument *arguments; /* of all operators, in order */
    size_t n_arguments, arguments_capacity;
    struct adzi_plan_seen {
        struct adzi_storage *storage;
        uint32_t version;
    } * seen; /* tensors of which the host has read elements */
    size_t n_seen, seen_capacity;
    struct adzi_plan_number {
        double value;
        const char *op;
        size_t launch; /* the next one, for its source line */
    } * numbers;       /* that the host has given to operators, in order */
    size_t n_numbers, numbers_capacity;
    size_t results_at, n_results; /* the arguments that are the results of the function; none if
                                     it has not returned */
    struct adzi_plan_gradient {
        struct adzi_gradient *gradient;
        adz_tensor *grad; /* at the end of the call; only compared */
    } * gradients;        /* of leaves, on which the call depends */
    size_t n_gradients, gradients_capacity;
    size_t n_sited;     /* launches that have their source line */
    const char *why;    /* the call cannot be replayed, for this reason; NULL if it can */
    const char *why_op; /* the operator that says so */
    struct adzi_plan_carried {
        adz_module *module; /* kept */
        const char *name;   /* of the buffer, which belongs to the module */
        adz_tensor *tensor; /* the buffer before the call; a reference of the captured call */
    } * carried;            /* buffers that the call has replaced */
    size_t n_carried, carried_capacity;
    struct adzi_plan_mode {
        const adz_module *module; /* watched */
        bool training;            /* at the end of the call */
    } * modes;                    /* of modules, on which the call depends */
    size_t n_modes, modes_capacity;
    const adz_module *noted;                  /* the one whose mode was noted last */
    uint8_t items[ADZI_ELEMENTWISE_OPERANDS]; /* of the launch that comes next */
    bool fills;                               /* it is a fill */
    size_t memory_bytes;                      /* of the blocks that belong to the run */
    bool refused;                             /* memory for the captured call was refused */
    bool masked;                              /* undefined bytes of all arguments are zero */
} adzi_captured_call;

/** A function with one result or with several, as the program gives it. */
typedef struct adzi_function {
    adz_plan_function single;          /* if there is one result; else NULL */
    adz_plan_results_function several; /* if `single` is NULL */
    void *user;
    size_t n_results;
} adzi_function;

/** What a plan's launches depend on except the function. */
typedef struct adzi_plan_settings {
    uint64_t epoch;
    const adz_context *context;
    int threads, precision, products;
    bool deterministic, recomputing, grad_enabled;
} adzi_plan_settings;

struct adz_plan {
    adzi_capture capture; /* the first member, so that calls of it lead to the plan */
    adzi_handle handle;
    adzi_capture ordinary; /* the functions of a capture that does not restore */
    adzi_kept_state *kept; /* what is put back after the call that runs; else NULL */
    const char *unkept;    /* the operator that has changed something else, or NULL */
    adzi_function function;
    char **result_names; /* given or not */
    bool named;          /* they were given */
    adz_tensor **inputs; /* kept */
    char **input_names;
    bool *reads; /* of each input: an operator of the first call took it; false if not known */
    size_t n_inputs;
    adz_module *module; /* kept, or NULL */
    bool pack_weights;
    adz_tensor **outputs;  /* the results of the last run; the plan has one reference of each */
    adz_tensor **returned; /* those of the call that runs */
    adzi_captured_call *current; /* the call that runs, or NULL */
    adzi_captured_call *last;    /* the call before; once captured, what is replayed */
    bool captured;
    bool unrolls;                    /* its calls leave out no launches */
    char *memory;                    /* memory_bytes of `last`, once captured */
    struct adzi_plan_packed *packed; /* copies of weights that the launches of `last` read */
    size_t n_packed, packed_capacity;
    adzi_plan_settings settings;
    int attempts; /* calls since the plan was captured last, or since something changed */
    char refusal[2 * ADZI_TEXT_SIZE]; /* why the calls before cannot become a plan */
    size_t captures;
    const char **watched; /* addresses whose memory must not be freed, in order */
    size_t n_watched, watched_capacity;
    _Atomic(bool) stale; /* some of it was freed */
    struct adz_plan *next_watched;
};

/* ---- modes.c ---- */

/** Notes that the call that runs depends on the modes of a module and of all modules below it. */
void adzi_plan_uses_modes(adzi_capture *capture, const adz_module *module);

/** Notes the modes themselves, once the call has ended. Modules that ended with it are left out. */
void adzi_plan_close_modes(adzi_captured_call *c);

/** Whether a module has another mode than at the end of the call. All of them must be alive. */
bool adzi_plan_modes_changed(const adzi_captured_call *c);

/* ---- memory.c ---- */

/** Gives each block that belongs to the run a location, in the plan's memory or in a host, such
 * that blocks in use at the same time do not overlap. Sets memory_bytes. False if memory was
 * refused. */
bool adzi_plan_arrange(adzi_captured_call *call);

/** Changes the references to blocks of the run to their locations in `memory`. */
void adzi_captured_call_move_to(adzi_captured_call *call, char *memory);

/* ---- effects.c ---- */

/** Leaves the launches between marks PROBE and PROBED out. False if memory was refused. */
bool adzi_plan_drop_probes(adzi_captured_call *call);

/* ---- fold.c ---- */

/** Makes loops of launches that repeat themselves, if the function has told of a loop. False if
 * memory was refused. */
bool adzi_plan_fold(adzi_captured_call *call);

/* ---- loops.c ---- */

/** Blocks that a loop uses are in use as long as it runs, and so are those that a loop with a
 * condition and launches around it use. Call it when `first` and `last` of all blocks are those of
 * the launches. */
void adzi_plan_extend_over_loops(adzi_captured_call *call);

/** The mark that a launch is; ADZI_MARK_NONE for all others. */
static inline adzi_mark_kind adzi_plan_mark_of(const adzi_plan_launch *launch)
{
    adzi_mark_args args;
    if (launch->function != adzi_mark) {
        return ADZI_MARK_NONE;
    }
    memcpy(&args, launch->args, sizeof args);
    return (adzi_mark_kind)args.kind;
}

/** The loop to which a launch belongs; NULL for none. */
const adzi_plan_loop *adzi_plan_loop_at(const adzi_captured_call *call, size_t launch);

/** Whether two calls have equal loops. */
bool adzi_plan_same_loops(const adzi_captured_call *a, const adzi_captured_call *b);

/* ---- updates.c ---- */

/** An optimizer begins to update a parameter. Its launches use `n` tensors: the parameter, its
 * gradient, states. */
void adzi_plan_update_begin(adzi_captured_call *call, adz_tensor *const *tensors, int n);

/** The update has ended. Whether its launches may move. */
bool adzi_plan_update_end(adzi_captured_call *call);

/** Finds the launches that refer to each block. */
void adzi_plan_find_uses(adzi_captured_call *call);

/** Moves each update to where its gradient is complete, and finds the launches that refer to each
 * block again. */
void adzi_plan_move_updates(adzi_captured_call *call);

/* ---- arguments.c ---- */

/** An operator is called with n tensors, some of which may be ADZ_NONE. */
void adzi_plan_entered(adzi_capture *capture, const char *op, adz_tensor *const *in, int n);

/** Notes which of `n` tensors from before the call its operators took. */
void adzi_captured_call_reads(
    const adzi_captured_call *call, adz_tensor *const *tensors, bool *reads, size_t n);

/** The plan to which a capture belongs. */
static inline adz_plan *adzi_plan_of(adzi_capture *capture)
{
    return (adz_plan *)(void *)capture;
}

/* ---- captured_call.c ---- */

/** The functions of a plan's capture. They write to plan->current. */
void adzi_capture_init(adzi_capture *capture);

adzi_captured_call *adzi_captured_call_new(void);
void adzi_captured_call_free(adzi_captured_call *call);

/**
 * Copies the buffers that the call has replaced to the tensors that were there before, and puts
 * these back. The next call, and a replay, then find the values at the same address. The thread
 * still captures. False with the error recorded.
 */
bool adzi_captured_call_carry(const char *op, adzi_captured_call *call);

/** Ends the capture of a call that has succeeded: the addresses in `launches` become valid and
 * blocks get locations. False if memory was refused. */
bool adzi_captured_call_close(adzi_captured_call *call);

/** adzi_grow for a list of the captured call. This memory is no part of the call. False if memory
 * was refused, which the call notes. */
bool adzi_captured_call_grow(
    adzi_capture *capture, void *list, size_t *capacity, size_t needed, size_t element);

/** Makes room for one more element of a list of the captured call. */
#define ADZI_GROW_CALL(capture, c, list) \
    adzi_captured_call_grow(             \
        (capture), &(c)->list, &(c)->list##_capacity, (c)->n_##list + 1, sizeof *(c)->list)

/** The addresses of a launch from the first one on, for adzi_next_address. */
static inline adzi_address_cursor adzi_addresses_of(const adzi_plan_launch *launch)
{
    return (adzi_address_cursor){ launch->addresses, launch->size, 0 };
}

/** The reference at an offset of a launch's arguments; NULL if no block of the call is there. */
static inline const adzi_plan_reference *adzi_reference_at(
    const adzi_captured_call *call, const adzi_plan_launch *launch, size_t at)
{
    for (size_t k = 0; k < launch->n_references; ++k) {
        const adzi_plan_reference *one = &call->references[launch->first_reference + k];
        if (one->at == at) {
            return one;
        }
    }
    return NULL;
}

/* ---- results.c ---- */

/**
 * Calls the function. Its results are borrowed from the scope around the call. False with the error
 * recorded: that of the function, or one for a result that is no tensor.
 *
 * @param op       the public function, for messages
 * @param results  room for n_results; all NULL after a failure
 */
bool adzi_function_call(const char *op, const adzi_function *function, adz_tensor **results);

/** Writes the name of result k of n where the program has given none: "output", or "output0",
 * "output1" and so on. */
void adzi_result_name(char *name, size_t size, size_t n, size_t k);

/** Copies the names of the results, and makes room for these. False with the error recorded. */
bool adzi_plan_make_results(const char *op, adz_plan *plan, const adz_plan_options *options);

/** Frees what adzi_plan_make_results has made, and gives the results back. */
void adzi_plan_free_results(adz_plan *plan);

/**
 * Makes the borrowed tensors in plan->returned references of results without a graph, and carries
 * the buffers that the call has replaced. False with the error recorded; the plan has no reference
 * then. The thread still captures.
 */
bool adzi_plan_take_results(const char *op, adz_plan *plan);

/** Makes the results that were taken those of the last run. */
void adzi_plan_show_results(adz_plan *plan);

/* ---- restore.c ---- */

/** Keeps what the next call of the function changes. False with the error recorded. */
bool adzi_plan_restore_begin(const char *op, adz_plan *plan);

/** Puts back what the call has changed. Cannot fail. */
void adzi_plan_restore(adz_plan *plan);

/** Puts back what the call has changed. Returns `good` unless something cannot be put back: false
 * then, with the error recorded. */
bool adzi_plan_restore_end(const char *op, adz_plan *plan, bool good);

/* ---- compare.c ---- */

/** Frees what only comparisons read. No call is compared with this one any more. */
void adzi_captured_call_drop_compared(adzi_captured_call *call);

/** Whether two captured calls agree; false if `a` is NULL. `text` then says where they do not, and
 * what the program can do about it. */
bool adzi_captured_calls_agree(
    const adzi_captured_call *a, const adzi_captured_call *b, char *text, size_t size);

/* ---- weights.c ---- */

/** Packs the parameters that products of the captured call multiply with, and makes the launches
 * read the copies. Call it before adzi_plan_watch. False if memory was refused. */
bool adzi_plan_pack_weights(adz_plan *plan);

/** Bytes of all copies. */
size_t adzi_plan_packed_bytes(const adz_plan *plan);

/** Frees the copies. */
void adzi_plan_free_packed(adz_plan *plan);

/* ---- watch.c ---- */

/** Whether something that the call depends on has changed since its end: a gradient of a leaf, or a
 * tensor of which the host has read elements. No block that the call watches may be freed. */
bool adzi_captured_call_is_old(const adzi_captured_call *call);

/** Notes the memory outside the plan that the last captured call compares and, once it is in use,
 * to which its launches refer. The plan becomes stale when some of it is freed. False if memory was
 * refused.
 */
bool adzi_plan_watch(adz_plan *plan);

/** Ends the watch. */
void adzi_plan_unwatch(adz_plan *plan);

#endif
