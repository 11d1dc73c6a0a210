/* The trace of a function: what it computes, as operators, attributes, inputs and results. The
 * writers of C99 and ONNX print it.
 *
 * A trace is made by calling the function once while the thread reports every call of a primitive
 * operator (base/tracer.h). Trainings are not disturbed: generators, buffers and all other tensors
 * have the contents that they had before. */
#ifndef ADZI_EXPORT_TRACE_H
#define ADZI_EXPORT_TRACE_H

#include "adze/nn.h"
#include "adze/plan.h"
#include "ops/op.h"
#include "base/index.h"
#include "export/rows.h"
#include "optim/optimizer.h"
#include "plan/snapshot.h"

/** Computes a forward or a step on tensors that it finds through `user`. The result is borrowed
 * from a scope around the call; NULL with an error recorded. */
typedef adz_tensor *(*adzi_export_function)(void *user);

/** What is exported. */
typedef struct adzi_export {
    adzi_export_function function; /* if there is one result; else NULL */
    void *user;
    adz_tensor_list inputs; /* tensors whose contents differ from run to run */
    const bool *reads; /* of each: the function has read it when its plan was made; NULL: unknown */
    const char *const *input_names; /* one for each; NULL: "input", or "input0", "input1", ... */
    adz_module *module; /* names parameters and buffers as its state does; NULL: there is none */
    bool step; /* the function may be a training step: a trace has its gradients and updates, and
                  what the step changes. False: backwards and optimizers are refused */
    adz_plan_results_function several; /* if `function` is NULL: it has n_results results */
    size_t n_results;                  /* only read for `several` */
    const char *const *result_names;   /* one for each; NULL: the writer chooses */
    const char *name;                  /* of the function in C; NULL: "run" */
    bool texts; /* operators may say by a text how C computes them (c_element) */
} adzi_export;

typedef enum adzi_value_kind {
    ADZI_VALUE_INPUT,     /* one of the inputs of the export */
    ADZI_VALUE_PARAMETER, /* a parameter of the module */
    ADZI_VALUE_BUFFER,    /* a buffer of the module */
    ADZI_VALUE_CONSTANT,  /* a tensor that no reported call made */
    ADZI_VALUE_RESULT,    /* a result of a call */
    ADZI_VALUE_STATE,     /* what an optimizer keeps for a parameter */
    ADZI_VALUE_GRADIENT,  /* a gradient from before the function was called */
    ADZI_VALUE_NUMBER     /* a number of an optimizer's update: adzi_update_numbers */
} adzi_value_kind;

/** A tensor at one point of time: an in-place call makes a new value for the tensor it changes. */
typedef struct adzi_traced_value {
    adzi_value_kind kind;
    adz_dtype dtype;
    int rank;
    int64_t sizes[ADZ_MAX_RANK], strides[ADZ_MAX_RANK];
    char *name;           /* owned; NULL for constants and results */
    adz_tensor *tensor;   /* the tensor that held it first; the trace retains it */
    adz_tensor *contents; /* a copy from before the tensor was changed in place, owned; NULL if it
                             was not changed */
    uint32_t version;     /* of the storage before that change */
    int call, result;     /* the call that made a result, and its position there; -1 for others */
    int again;            /* the newest value that repeats it; itself if there is none */
    int instead;        /* of a result: the value that replaces it if the step goes backward; -1 */
    int becomes;        /* the value of the same variable after a step; itself if it stays */
    const char *reader; /* the function by which the program has read it, or NULL */
    adz_tensor *leaf;   /* whose gradient or state it is; retained; NULL for others */
    adzi_parameter_position position; /* of a state or a number */
    int which;                        /* the number of the state or number */
    int64_t ahead;  /* of a number: the steps of the parameter before it in the function */
    uint32_t fresh; /* of a number: bit k if the traced step has made state k */
    bool entered;   /* of an input: an operator took it */
    bool used;      /* an output, or a value that a variable becomes, depends on it */
    bool gone;      /* a result of a body that has ended, which nothing outside may use */
} adzi_traced_value;

/** A tensor that the traced calls have used, and the value that it holds now. */
typedef struct adzi_traced_tensor {
    adz_tensor *tensor; /* retained */
    int first, value;   /* the value that it held first, and the one that it holds now */
    uint32_t version;   /* of the storage, while the tensor holds this value */
    size_t before;      /* the tensor before this one with the same storage; ADZI_NOWHERE: none */
} adzi_traced_tensor;

/** A call of a primitive operator. */
typedef struct adzi_traced_call {
    const adz_operator *op;
    const adzi_row *row; /* of an operator with this name; NULL: there is none */
    adzi_row *own_row;   /* `row` of an operator with a text for C; owned; else NULL */
    void *attr;          /* a copy, owned; NULL if the call has none */
    size_t attr_size;
    int n_in, n_out;
    int *in;      /* values; -1 for ADZ_NONE. Owned, with `out` behind it. */
    int *out;     /* values */
    char *path;   /* the modules that were called, "encoder.2.ffn"; owned; "" outside modules */
    bool inplace; /* out[0] is the tensor of in[0] with other elements */
    bool used;    /* an output depends on it */
} adzi_traced_call;

/** A region that is open: Note [Regions] in trace_regions.c. */
typedef struct adzi_traced_region {
    size_t call; /* that began the body which runs */
    int first;   /* the first value of the body that runs */
} adzi_traced_region;

/** A storage that was made while the trace ran. */
typedef struct adzi_traced_birth {
    const adzi_storage *storage; /* may have ended; a storage at its address has a later entry */
    const char *op;              /* that made it */
    bool accounted; /* a constant that its maker declares, or written by the program itself */
} adzi_traced_birth;

typedef struct adzi_trace {
    adzi_tracer tracer;                     /* first, so that reports find the trace */
    const char *op;                         /* the public function, for messages */
    bool (*prints)(const adz_operator *op); /* the writer has a printer; NULL: for all operators */
    adzi_traced_value *values;
    size_t n_values, values_capacity;
    adzi_traced_call *calls;
    size_t n_calls, calls_capacity;
    int n_inputs; /* the inputs are the values 0 .. n_inputs-1 */
    int *outputs; /* the values of what the function returned */
    size_t n_outputs;
    adz_tensor **returned;           /* what it returned; borrowed, valid in its scope */
    const char *const *output_names; /* those of the export, or NULL */
    adzi_traced_tensor *tensors;
    size_t n_tensors, tensors_capacity;
    size_t *storages; /* the newest tensor of each storage */
    size_t n_storages, storages_capacity;
    adzi_index by_tensor, by_storage; /* positions in these two lists */
    adzi_traced_birth *births;
    size_t n_births, births_capacity;
    adzi_traced_region *regions; /* that are open, the innermost last */
    size_t n_regions, regions_capacity;
    bool failed;      /* something was refused */
    bool step, texts; /* as in adzi_export */
    bool backward;    /* the function has called a backward */
    char moved[160];  /* the call that has moved running statistics by those of its batch, or "" */
    adzi_kept_state *kept; /* while the function runs: what is put back after it; else NULL */
} adzi_trace;

/**
 * Calls the function and traces its calls. An operator that the writer does not print, and that
 * has an expression (adz_operator's `expression`), is traced as the calls of its expression.
 *
 * @param op      the public function, for messages
 * @param prints  true for operators that the writer prints itself; NULL: it prints all of them
 * @return        the caller's; NULL with an error recorded that names the call in question
 */
adzi_trace *adzi_trace_new(
    const char *op, const adzi_export *what, bool (*prints)(const adz_operator *op));

/** What the writers export of a plan. */
adzi_export adzi_export_of(const adz_plan *plan);

/** Frees a trace and sets the pointer to NULL. NULL inside is allowed. */
void adzi_trace_free(adzi_trace **trace);

/** Adds "softmax(dim=1)" and the path of its modules, for messages about a call. */
const char *adzi_traced_text(adzi_text *text, const adzi_traced_call *call);

/** The elements of a value that is no result, as a contiguous tensor borrowed from the scope. */
adz_tensor *adzi_traced_contents(const adzi_trace *trace, int value);

/** Frees what a call owns. */
void adzi_traced_call_end(adzi_traced_call *call);

/* ---- for trace_record.c and trace.c ---------------------------------------------------------- */

/** The functions that the thread reports to. */
extern const adzi_tracer adzi_trace_reports;

/** A report of the thread: an operator begins. Notes which inputs it takes. */
void adzi_trace_note_entered(adzi_tracer *tracer, adz_tensor *const *in, int n);

/** Undoes and frees a trace whose function was left by a jump. */
void adzi_trace_abandon(adzi_tracer *tracer);

/** Appends a value that `t` holds from now on. `name` is copied; NULL for none. -1 with the error
 * recorded if memory was refused. */
int adzi_trace_add_value(adzi_trace *trace, adzi_value_kind kind, adz_tensor *t, const char *name);

/** The value that `t` holds now. A tensor that no call made becomes a constant. -1 with the error
 * recorded. */
int adzi_trace_value_of(adzi_trace *trace, adz_tensor *t);

/** Records that memory was refused. Returns false. */
bool adzi_trace_refuse_memory(adzi_trace *trace, size_t bytes);

/** Makes `t`, which is retained, hold an existing value. `version` is that of its storage while it
 * does. False with the error recorded if memory was refused. */
bool adzi_trace_hold(adzi_trace *trace, adz_tensor *t, int value, uint32_t version);

/** Appends a value shaped like t, which no tensor holds yet. -1 with the error recorded. */
int adzi_trace_append(adzi_trace *trace, adzi_value_kind kind, adz_tensor *t, const char *name);

/** The traced tensor that is t, or that is the same view of the same storage, or ADZI_NOWHERE.
 * `shares` becomes true if some traced tensor has the storage of t and depends on the inputs. */
size_t adzi_trace_find(const adzi_trace *trace, const adz_tensor *t, bool *shares);

/** Whether the elements of `t` are those of a tensor that calls before value `first` have used. */
bool adzi_trace_shares_before(const adzi_trace *trace, const adz_tensor *t, int first);

/** Whether a call or a report has used `t`. */
bool adzi_trace_knows(const adzi_trace *trace, const adz_tensor *t);

/** The value that `t` held first, or -1 if nothing has used it. */
int adzi_trace_first_value(const adzi_trace *trace, const adz_tensor *t);

/** `t` in the layout of `like`: t itself, or a copy that a call of the trace makes. Later calls
 * make views of the operator's result, and a writer that knows values by their memory needs the
 * same strides.
 */
adz_tensor *adzi_trace_with_layout(adz_tensor *t, const adz_tensor *like);

/** The name of the value that `t` held first, or NULL. */
const char *adzi_trace_name_of(const adzi_trace *trace, const adz_tensor *t);

/* ---- trace_regions.c: bodies of loops and branches ------------------------------------------- */

/** A call was appended to the trace. Opens and closes regions. False with the error recorded. */
bool adzi_trace_note_region(adzi_trace *trace, size_t call);

/** See adzi_tracer. */
size_t adzi_trace_begun(const adzi_tracer *tracer);
bool adzi_trace_repeat(adzi_tracer *tracer, size_t body);
size_t adzi_trace_captured(const adzi_tracer *tracer, size_t body, adz_tensor **found, size_t room);

/** Makes `t` hold a value, and all other tensors that have held the same one as t. */
bool adzi_trace_renew(adzi_trace *trace, adz_tensor *t, int value, uint32_t version);

/** Whether a call may change `t`, which holds `value`, in place. A body may not change what is
 * there in every step. Records an error that names the operator if not. */
bool adzi_trace_may_change(adzi_trace *trace, const adz_tensor *t, int value, const char *op);

/** Whether no body runs, in which a call of `function` would be repeated. Records an error if not.
 */
bool adzi_trace_is_outside(adzi_trace *trace, const char *function);

/** Marks the calls and values that the outputs depend on. */
void adzi_trace_mark_used(adzi_trace *trace);

/** The call that began the region that call `end` goes on with or ends. */
size_t adzi_trace_region_begin(const adzi_trace *trace, size_t end);

/** What a call does to regions. */
static inline adzi_region adzi_trace_region_of(const adzi_traced_call *call)
{
    return call->row != NULL ? call->row->region : ADZI_NO_REGION;
}

/** Whether a call overwrites the old elements of its first input without reading them. */
static inline bool adzi_trace_overwrites(const adzi_traced_call *c)
{
    return c->inplace && c->row != NULL && c->row->overwrites;
}

/** Whether a call with this row begins a region; goes on with one, or ends one. */
static inline bool adzi_region_begins(adzi_region region)
{
    return region == ADZI_SCAN || region == ADZI_WHILE || region == ADZI_BRANCH;
}

static inline bool adzi_region_ends(adzi_region region)
{
    return region == ADZI_SCAN_END || region == ADZI_WHILE_END || region == ADZI_BRANCH_END;
}

/* ---- training.c: the reports of a training step ---------------------------------------------- */

adz_status adzi_trace_note_backward(adzi_tracer *tracer);
void adzi_trace_note_gradient(adzi_tracer *tracer, adzi_gradient *gradient, bool replaced);
adz_status adzi_trace_note_step(adzi_tracer *tracer, adz_optimizer *optimizer);
bool adzi_trace_note_update(
    adzi_tracer *tracer, adz_tensor *t, const adzi_parameter_position *position, int k);
adz_status adzi_trace_note_refused(adzi_tracer *tracer, const char *function, const char *why);
void adzi_trace_note_moves(adzi_tracer *tracer);

/** Chooses between the two forms of a call whose row is `decomposed`: its expression if the
 * function has called a backward, which goes on from there, or else the call. */
void adzi_trace_choose(adzi_trace *trace);

/** Fills in `becomes` of all values. Call it before anything is put back. False with the error
 * recorded if a second run of the step would differ. */
bool adzi_trace_find_changes(adzi_trace *trace);

/* ---- untraced.c: what is computed outside the calls ------------------------------------------ */

/** Reports of the thread: a tensor that was made, a constant, a launch outside a call. */
void adzi_trace_note_made(adzi_tracer *tracer, const adz_tensor *t, const char *op);
void adzi_trace_note_constant(adzi_tracer *tracer, const adz_tensor *t);
void adzi_trace_note_launch(adzi_tracer *tracer);

/** Whether a tensor that no call made is a constant: it is older than the trace, or its maker says
 * so. Records an error if not. */
bool adzi_trace_is_constant(adzi_trace *trace, const adz_tensor *t);

/** Whether a file may hold the weights that the trace uses: none is NaN or infinite. Records an
 * error if not. */
bool adzi_trace_is_finite(const adzi_trace *trace);

/** Whether the tensor's storage was not made while the trace ran. */
bool adzi_trace_is_older(const adzi_trace *trace, const adz_tensor *t);

#endif
