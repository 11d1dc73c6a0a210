/* What a function changes, and how it is put back: buffers, generators, gradients, the state of
 * optimizers, and tensors that are changed in place. Exports (trace.c) and plans with the option
 * `restore` (restore.c) use it. A trace copies tensors before they are changed in place by itself,
 * because their earlier elements are a part of the file. */
#ifndef ADZI_PLAN_SNAPSHOT_H
#define ADZI_PLAN_SNAPSHOT_H

#include "base/index.h"
#include "base/random_generator.h"
#include "base/tracer.h"
#include "nn/module.h"
#include "optim/optimizer.h"

/** A buffer of a module before the function was called. */
typedef struct adzi_kept_buffer {
    adz_module *module;
    size_t index;       /* among the module's buffers */
    adz_tensor *tensor; /* retained */
    adz_tensor *copy;   /* of the elements; owned */
    uint32_t version;
} adzi_kept_buffer;

/** The gradient of a leaf before the function used it. */
typedef struct adzi_kept_gradient {
    adz_tensor *leaf;  /* retained */
    adz_tensor *grad;  /* retained, or NULL for none */
    adz_tensor *copy;  /* of the elements of `grad`; owned */
    uint32_t version;  /* of the storage of `grad` */
    uint32_t of_place; /* the version of the place, if the leaf has one */
    bool spoiled;
    bool replaced; /* the function has dropped, zeroed or set it before it read it */
} adzi_kept_gradient;

/** What an optimizer kept for a parameter. */
typedef struct adzi_kept_update {
    int64_t steps;
    uint32_t fresh;
    double numbers[ADZ_OPTIMIZER_NUMBERS];
    adz_tensor *state[ADZ_OPTIMIZER_STATES]; /* retained, or NULL for none */
} adzi_kept_update;

/** An optimizer before its first step in the function. */
typedef struct adzi_kept_optimizer {
    adz_optimizer *optimizer;  /* kept */
    adzi_kept_update *updates; /* one per parameter of all groups */
    size_t count;
} adzi_kept_optimizer;

/** The elements of a storage before it was changed in place. */
typedef struct adzi_kept_contents {
    adz_tensor *tensor; /* one that has the storage; retained */
    char *copy;         /* of all bytes of the storage; owned */
    uint32_t version;
} adzi_kept_contents;

typedef struct adzi_kept_state {
    const char *op;
    adzi_kept_buffer *buffers;
    size_t n_buffers, buffers_capacity;
    adzi_kept_gradient *gradients;
    size_t n_gradients, gradients_capacity;
    adzi_index by_leaf; /* positions in `gradients` */
    adzi_kept_optimizer *optimizers;
    size_t n_optimizers, optimizers_capacity;
    adzi_kept_contents *contents;
    size_t n_contents, contents_capacity;
    adzi_index by_storage; /* positions in `contents` */
    adzi_draws draws;
} adzi_kept_state;

/** Keeps the buffers of a module, which may be NULL. NULL with the error recorded under `op`. */
adzi_kept_state *adzi_kept_new(const char *op, adz_module *module);

/** Keeps the gradient of a leaf unless it is kept already. NULL with the error recorded. */
adzi_kept_gradient *adzi_kept_add_gradient(
    adzi_kept_state *kept, adzi_gradient *gradient, bool replaced);

/** Keeps the state of an optimizer unless it is kept already. NULL with the error recorded. */
adzi_kept_optimizer *adzi_kept_add_optimizer(adzi_kept_state *kept, adz_optimizer *optimizer);

/** What was kept for a parameter of an optimizer; NULL if it is not kept. */
const adzi_kept_update *adzi_kept_update_of(
    const adzi_kept_state *kept, const adzi_parameter_position *position);

/** Keeps all elements of the storage of `t` unless they are kept already. False with the error
 * recorded. */
bool adzi_kept_add_contents(adzi_kept_state *kept, adz_tensor *t);

/** Keeps buffer `index` of a module, which is or was `t`, unless it is kept already. False with the
 * error recorded. */
bool adzi_kept_add_buffer(adzi_kept_state *kept, adz_module *module, size_t index, adz_tensor *t);

/** Whether a change of the elements of `t` will be undone. */
bool adzi_kept_has(const adzi_kept_state *kept, const adz_tensor *t);

/** Puts everything back and frees the struct. Cannot fail. */
void adzi_kept_restore(adzi_kept_state *kept);

#endif
