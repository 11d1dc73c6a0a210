/* The struct behind adz_module, for the files of src/nn that walk a tree of modules or call one. */
#ifndef ADZI_NN_MODULE_H
#define ADZI_NN_MODULE_H

#include <stdatomic.h>
#include <string.h>

#include "adze/checks.h"
#include "adze/nn/type.h"
#include "base/handle.h"
#include "base/index.h"
#include "base/text.h"
#include "tensor/tensor.h"
#include "base/threads/thread.h"

/** The position of one parameter or buffer in its module. */
typedef struct adzi_slot {
    char *name;
    adz_tensor *tensor; /* ADZ_NONE if the parameter or buffer was left out; NULL if the parameter
                           is parametrised */
    bool persistent;    /* part of the state; always true for a parameter */
} adzi_slot;

/** The masks of a replay: dropouts take them in order instead of drawing their own masks. */
typedef struct adzi_masks {
    adz_tensor *const *items;
    size_t count, next; /* `next` is the first mask that no dropout has taken */
} adzi_masks;

typedef struct adzi_child {
    char *name;
    adz_module *module;
} adzi_child;

/** The lists that adz_module_parameters, adz_module_named_parameters and adz_module_named_buffers
 * return. They are made on the first of these calls. */
typedef struct adzi_listing {
    uint64_t stamp, buffers_stamp; /* Note [When a listing is stale]: of the tree that is listed */
    adz_tensor **parameters;
    adz_named_tensor *named; /* names are owned */
    size_t n_parameters, parameters_capacity, named_capacity;
    adz_named_tensor *buffers;
    size_t n_buffers, buffers_capacity;
} adzi_listing;

/* Note [Who has the references of a module]
 * A parent takes over the reference of whoever adds a child. `parents` counts these references
 * apart from the others, which belong to callers. So it is an error at once if somebody frees a
 * module or gives it to a parent without a reference to it, and not a crash when the parent ends.
 * The mark in `alive` is overwritten when a module ends. As long as its memory has not been used
 * again, a stale pointer is an error. */

/** The mark in `alive`. Any other value means that the pointer does not lead to a module. */
enum { ADZI_MODULE_ALIVE = 0x4d6f6475 };

struct adz_module {
    atomic_int refs;    /* references of all owners */
    atomic_int parents; /* how many of them belong to modules that have this one as a child */
    uint32_t alive;     /* ADZI_MODULE_ALIVE until the module ends */
    bool training;
    bool is_captured;                /* a plan has captured a call of this module */
    adz_module_type type;            /* a copy; fields beyond the user's type->size are zeros */
    const adz_module_type *identity; /* what adz_module_type_of returns */
    void *state;
    size_t state_size;
    adzi_slot *parameters, *buffers;
    size_t n_parameters, parameters_capacity, n_buffers, buffers_capacity;
    adzi_child *children;
    size_t n_children, children_capacity;
    adzi_index names;         /* Note [The index of names] */
    size_t n_parametrized;    /* slots of parameters whose tensor is NULL */
    char *parametrized_name;  /* the name in `type`, if there are such slots; owned */
    uint64_t made;            /* adzi_captures_before, when it was made */
    uint64_t changed;         /* rises with every change of its own structure */
    uint64_t buffers_changed; /* rises when a buffer's tensor is replaced by another */
    const adz_module *parent; /* the module that this one was added to last; used by messages */
    adzi_listing *listing;    /* NULL until a list is asked for */
    adzi_masks *masks;        /* of a replay; NULL: dropouts draw from their generators */
    struct adzi_micro_module *micro; /* of a training with micro-batches (nn/micro_state.h), which
                                        owns it; NULL if there is none */
};

/** True if parameter i may be in half precision: adz_module_type.half_parameters. */
bool adzi_module_may_store(const adz_module *module, size_t i);

/** True if parameter i may be in blocks of Q8_0: adz_module_type.block_parameters. */
bool adzi_module_may_store_blocks(const adz_module *module, size_t i);

/* Note [When a listing is stale]
 * A module can stand in several trees and does not know them, so it cannot report a change to the
 * roots. Instead every change takes a number from one process-wide counter. The largest number in
 * a tree tells whether anything in it has changed. Recurrent modules replace buffers with every
 * call. This must not end the list of parameters that a training loop holds, so the replacement
 * of a buffer has its own number. */

/** Records why a pointer leads to no living module. Always returns false. */
bool adzi_refuse_module(const char *op, const char *argument, const adz_module *module);

/** Whether `module` is a living module. Records an error that names the argument if it is NULL or a
 * stale pointer. */
static inline bool adzi_check_module(const char *op, const char *argument, const adz_module *module)
{
    const bool sound = module != NULL && module->alive == ADZI_MODULE_ALIVE;
    return sound || adzi_refuse_module(op, argument, module);
}

/** How many references of a living module belong to callers and not to parents. */
int adzi_module_refs_of_callers(const adz_module *module);

/** Ends a parent's reference to its child. */
void adzi_module_drop_child(const adz_module *parent, adz_module *child);

/** Removes the child of this name. ADZ_OK, or an error with nothing changed. */
adz_status adzi_module_remove_child(const char *op, adz_module *module, const char *name);

/** Removes the parameter of this name. ADZ_OK, or an error with nothing changed. */
adz_status adzi_module_remove_parameter(const char *op, adz_module *module, const char *name);

/** Ends the reference that a caller handed to a function which has failed. Does nothing if the
 * caller had none, which is an error already. */
void adzi_module_give_back(adz_module *module);

/** Reports that parameters or children of this module were added or replaced. */
void adzi_module_changed(adz_module *module);

/** Reports that a buffer of this module was replaced by another tensor. */
void adzi_module_buffer_replaced(adz_module *module);

void adzi_listing_free(adzi_listing *listing);

/** The lists of the tree as it is now, owned by `module`; NULL with the error recorded under `op`.
 */
const adzi_listing *adzi_module_listing(const char *op, adz_module *module);

/** Visits every module under every name, parents first; `prefix` is "" or ends in a dot. */
typedef adz_status (*adzi_module_visit)(adz_module *module, const char *prefix, void *user);
adz_status adzi_module_walk(
    adz_module *module, adzi_text *prefix, adzi_module_visit visit, void *user);

/** The value of the parametrised parameter i: that of the running call of the module, or one that
 * is computed now, borrowed from the scope. NULL with the error recorded. */
adz_tensor *adzi_parametrized(const adz_module *module, size_t i);

/** The module's own parameter i, without a check of i. Never NULL in a call of the module itself.
 */
static inline adz_tensor *adzi_parameter(const adz_module *module, size_t i)
{
    adz_tensor *t = module->parameters[i].tensor;
    return t != NULL ? t : adzi_parametrized(module, i);
}

/** The lists of a module. A name belongs to one entry of one list. */
enum { ADZI_PARAMETER, ADZI_BUFFER, ADZI_CHILD, ADZI_KINDS };

/* Note [The index of names]
 * A module with many names finds them by an index, which holds an entry for each name or is not
 * used. What adds a name calls adzi_module_named; what removes one frees the index, and the next
 * name that is added makes it again. Looking up changes nothing, so threads may do it at once. */

/** How many entries of a kind a module has. */
size_t adzi_module_count(const adz_module *module, int kind);

/** The position of a name among the entries of a kind, or adzi_module_count() if there is none.
 * `name` has `n` characters and need not end there, because it can be a part of a path. */
size_t adzi_module_position(const adz_module *module, int kind, const char *name, size_t n);

/** Enters the last entry of a kind, which is new, into the index of names. */
void adzi_module_named(adz_module *module, int kind);

/** The position of the module's own parameter of this name, or n_parameters if it has none. */
size_t adzi_parameter_index(const adz_module *module, const char *name);

/** The module's child i, without a check of i. */
static inline adz_module *adzi_child_at(const adz_module *module, size_t i)
{
    return module->children[i].module;
}

/** The child of this name at position `from` or after it; NULL if there is none. Optional children
 * are found so, because the program may add children of other names. */
static inline adz_module *adzi_optional_child(
    const adz_module *module, size_t from, const char *name)
{
    for (size_t i = from; i < module->n_children; ++i) {
        if (strcmp(module->children[i].name, name) == 0) {
            return module->children[i].module;
        }
    }
    return NULL;
}

/** The position of a parameter in the tree, by a path such as "encoder.0.weight"; NULL with the
 * error recorded under `op`, also for a parametrised one. */
adzi_slot *adzi_parameter_slot(const char *op, adz_module *module, const char *path);

/* ---- argument lists ------------------------------------------------------------------------- */

/** One argument or result of a module's call; its name may be "". */
typedef struct adzi_value {
    adz_tensor *tensor;
    char name[ADZ_VALUE_NAME + 1];
} adzi_value;

enum { ADZI_FEW_VALUES = 6 };

struct adz_values {
    adzi_handle handle;
    size_t count, capacity;
    bool handed_on;    /* results of a child that the next child gets: it may leave some unread */
    adzi_value *items; /* points to `few`, or to a block of its own if there are more values */
    adzi_value few[ADZI_FEW_VALUES];
};

/* Note [Arguments that nobody reads]
 * A module reads its arguments by adz_values_argument and the functions next to it. So the library
 * learns from the call itself which names a module takes, also from the modules of users. An
 * argument that is still unread when the call has succeeded is an error: it was misspelt, or the
 * module cannot take it, and the result would ignore it. The error names what the module asked
 * for. */

enum { ADZI_READING_VALUES = 256, ADZI_READING_NAMES = 400 };

/** What a running call has read of its arguments. Values from number ADZI_READING_VALUES on count
 * as read. */
typedef struct adzi_reading {
    const adz_values *values;
    struct adzi_reading *outer;              /* of the call around it, or NULL */
    uint64_t seen[ADZI_READING_VALUES / 64]; /* a bit for each value */
    bool named;                              /* a value has a name, so names are noted */
    size_t length;                           /* of `names` */
    char names[ADZI_READING_NAMES];          /* that the module asked for: "x, h0, lengths" */
} adzi_reading;

/** Begins to note what is read of `values`, until adzi_reading_end. */
void adzi_reading_begin(adzi_thread *thread, adzi_reading *reading, const adz_values *values);
void adzi_reading_end(adzi_thread *thread, adzi_reading *reading);

/** Notes that all values were read, for code that does not use the public functions. */
void adzi_read_all(const adz_values *values);

/** ADZ_OK if every value that is not absent was read; else ADZ_ERR_ARGUMENT, recorded under the
 * name of the module. */
adz_status adzi_reading_check(const adzi_reading *reading, const char *module);

/** Begins a list that lives on the stack of its caller; end it with adzi_values_end. */
void adzi_values_begin(adz_values *values);
void adzi_values_end(adz_values *values);

/* ---- constructors --------------------------------------------------------------------------- */

/** adz_module_new with a copy of a state of `size` bytes. */
adz_module *adzi_module_of(const adz_module_type *type, const void *state, size_t size);

/** The members of an adz_module_type that name its table of fields. */
#define ADZI_MODULE_FIELDS(table) .fields = (table), .n_fields = sizeof(table) / sizeof *(table)

/** The state of a constructor: the position on the thread's stack of temporaries where it began. */
typedef struct adzi_build {
    adzi_thread *thread;
    size_t mark;
} adzi_build;

/** Begins a constructor. Reports of errors are held back until adzi_build_end, which releases the
 * tensors that are made in between; those that became parameters or buffers stay, because the
 * module has a reference to them. */
static inline adzi_build adzi_build_begin(void)
{
    adzi_thread *thread = adzi_self();
    adzi_hold_reports();
    return (adzi_build){ thread, thread->n_temporaries };
}

/** Ends a constructor. Returns `module` if `good`; otherwise frees it and returns NULL. `module`
 * may be NULL if it is not `good`. */
static inline adz_module *adzi_build_end(adzi_build build, adz_module *module, bool good)
{
    adzi_scope_unwind(build.thread, build.mark);
    if (!good) {
        adz_module_release(&module);
    }
    adzi_release_reports();
    return module;
}

#endif
