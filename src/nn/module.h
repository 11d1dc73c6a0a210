/* A module, for those who walk it. */
#ifndef ADZI_NN_MODULE_H
#define ADZI_NN_MODULE_H

#include <stdatomic.h>

#include "adze/nn/type.h"
#include "base/text.h"
#include "tensor/tensor.h"
#include "base/thread.h"

/** A parameter or a buffer; ADZ_NONE where one was left out. */
typedef struct adzi_slot {
    char *name;
    adz_tensor *tensor;
    bool persistent;
} adzi_slot;

/** Masks to use in place of drawn ones. */
typedef struct adzi_masks {
    adz_tensor *const *items;
    size_t count, next;
} adzi_masks;

typedef struct adzi_child {
    char *name;
    adz_module *module;
} adzi_child;

/** The lists that adz_module_parameters and the like return; made when first asked for. */
typedef struct adzi_listing {
    uint64_t stamp, buffers_stamp; /* of the tree when the listing was made */
    adz_tensor **parameters;
    adz_named_tensor *named; /* names are owned */
    size_t n_parameters, parameters_capacity, named_capacity;
    adz_named_tensor *buffers;
    size_t n_buffers, buffers_capacity;
} adzi_listing;

struct adz_module {
    atomic_int refs;
    bool training;
    adz_module_type type;            /* read once, no further than its size */
    const adz_module_type *identity; /* what adz_module_type_of returns */
    void *state;
    size_t state_size;
    adzi_slot *parameters, *buffers;
    size_t n_parameters, parameters_capacity, n_buffers, buffers_capacity;
    adzi_child *children;
    size_t n_children, children_capacity;
    uint64_t changed;         /* rises with every change of its own structure */
    uint64_t buffers_changed; /* rises when a buffer's tensor is replaced by another */
    const adz_module *parent; /* the one it was added to last, and the name there: for messages */
    const char *name;
    adzi_listing *listing;
    adzi_masks *masks; /* of a replay, for dropouts of any kind; NULL: their generators draw */
};

/* Note [When a listing is stale]
 * A module does not know where it stands, so a change cannot be reported upwards. Instead every
 * change takes a number from one process-wide counter, and the largest number in a tree tells
 * whether anything in it has changed. Recurrent modules replace buffers with every call, which must
 * not end the list of parameters that a training loop holds: so that has a number of its own. */

/** Reports that parameters or children of this module were added or replaced. */
void adzi_module_changed(adz_module *module);

/** Reports that a buffer of this module was replaced by another tensor. */
void adzi_module_buffer_replaced(adz_module *module);

void adzi_listing_free(adzi_listing *listing);

/** The current listing; NULL with the error recorded under `op`. */
const adzi_listing *adzi_module_listing(const char *op, adz_module *module);

/** Visits every module under every name, parents first; `prefix` is "" or ends in a dot. */
typedef adz_status (*adzi_module_visit)(adz_module *module, const char *prefix, void *user);
adz_status adzi_module_walk(
    adz_module *module, adzi_text *prefix, adzi_module_visit visit, void *user);

/** Own parameter i, which exists. */
static inline adz_tensor *adzi_parameter(const adz_module *module, size_t i)
{
    return module->parameters[i].tensor;
}

/** Child i, which exists. */
static inline adz_module *adzi_child_at(const adz_module *module, size_t i)
{
    return module->children[i].module;
}

/** The place of a parameter in the tree, by its path; NULL with the error recorded under `op`. */
adzi_slot *adzi_parameter_slot(const char *op, adz_module *module, const char *path);

/* ---- argument lists ------------------------------------------------------------------------- */

typedef struct adzi_value {
    adz_tensor *tensor;
    char name[ADZ_VALUE_NAME + 1];
} adzi_value;

enum { ADZI_FEW_VALUES = 6 };

struct adz_values {
    size_t count, capacity;
    adzi_value *items; /* few, until that is too short */
    adzi_value few[ADZI_FEW_VALUES];
};

/** A list on the stack; end it with adzi_values_end. */
void adzi_values_begin(adz_values *values);
void adzi_values_end(adz_values *values);

/* ---- constructors --------------------------------------------------------------------------- */

/** Starts a constructor: what it makes until adzi_build_end is freed there, but for what the
 * module keeps. NULL passes through. */
typedef struct adzi_build {
    adzi_thread *thread;
    size_t mark;
} adzi_build;

static inline adzi_build adzi_build_begin(void)
{
    adzi_thread *thread = adzi_self();
    return (adzi_build){ thread, thread->n_temporaries };
}

/** Fails with ADZ_ERR_DTYPE for a dtype that parameters cannot have. */
bool adzi_check_module_dtype(const char *op, adz_dtype dtype);

/** The most features of a module. No tensor has as many, and 16 times as many still fit int64_t. */
#define ADZI_MOST_FEATURES (INT64_MAX / 16)

/**
 * Whether a size of features is between `least` and ADZI_MOST_FEATURES; false with ADZ_ERR_ARGUMENT
 * recorded if not.
 */
bool adzi_check_features(const char *op, const char *name, int64_t size, int64_t least);

/**
 * Whether a number of layers is between `least` and 65535; false with ADZ_ERR_ARGUMENT recorded if
 * not, since making that many would go on until memory is used up.
 */
bool adzi_check_layers(const char *op, const char *name, int64_t n, int64_t least);

/** `module` if `good`; else it ends and the result is NULL. */
static inline adz_module *adzi_build_end(adzi_build build, adz_module *module, bool good)
{
    adzi_scope_unwind(build.thread, build.mark);
    if (!good) {
        adz_module_free(&module);
    }
    return module;
}

#endif
