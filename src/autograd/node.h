/* The tape: one node per recorded call. */
#ifndef ADZI_AUTOGRAD_NODE_H
#define ADZI_AUTOGRAD_NODE_H

#include "adze/autograd.h"
#include "adze/record.h"
#include "autograd/attr.h"
#include "tensor/tensor.h"

typedef struct adzi_node adzi_node;

/** What an operator is to the engine: the same for those inside and outside the library. */
typedef struct adz_operator adzi_op;

/** Where the gradient of one input goes, and the input's value if the backward reads it. */
typedef struct adzi_edge {
    adzi_node *node;   /* what computed the input, or */
    adz_tensor *leaf;  /* the leaf it is; neither: no gradient */
    adz_tensor *saved; /* the input, if saved; `leaf` again stands under leaf's reference */
    uint32_t version;  /* of its storage, when saved */
    uint32_t result;   /* which result of node */
} adzi_edge;

/** What is known of a result once its tensor may be gone. */
typedef struct adzi_result {
    adzi_storage *saved; /* its values, if the backward reads them */
    adz_tensor *retains; /* the living tensor that asked to keep its gradient; not owned */
    struct adzi_hook_list *hooks;
    uint32_t version;
    uint8_t dtype, rank;
    int64_t sizes[ADZ_MAX_RANK];
} adzi_result;

/** A value of its own that an operator saved: neither an input nor a result. */
typedef struct adzi_extra {
    adz_tensor *saved;
    uint32_t version;
} adzi_extra;

struct adzi_entry;

struct adzi_node {
    const adzi_op *op;
    uint64_t sequence; /* higher than that of every node it depends on */
    atomic_int refs;
    uint16_t n_inputs, n_results, n_extras;
    uint32_t bytes;
    union {
        struct adzi_entry *entry; /* the running backward's; NULL outside */
        adzi_node *next_dead;     /* once the last reference is gone */
    };
    const char *file; /* the user's source line, under ADZ_SITES */
    int line;
    bool released; /* a backward has dropped what it saved */
    bool saves;    /* anything at all */
    bool targeted; /* the running backward wants the gradients of some inputs only */
    bool watched;  /* some result has, or had, hooks or a tensor that retains its gradient */
    adzi_result *results;
    adzi_extra *extras;
    void *attr;
    adzi_edge inputs[];
};

/** Whether the gradient of input i is wanted; during a backward, whether that backward wants it. */
bool adzi_needs(const adzi_node *node, int i);

/* ---- recording ---------------------------------------------------------------------------------
 */

/** A node for `n_inputs` inputs; inputs that want no gradient get an empty edge. NULL: no memory.
 */
adzi_node *adzi_node_new(adzi_thread *thread, const adzi_op *op, adz_tensor *const *inputs,
    int n_inputs, int n_results, int n_extras, const void *attr, size_t attr_size);

/** Makes `t` result k of a node that no other thread can know of yet, and its owner. */
void adzi_node_attach(adzi_node *node, int k, adz_tensor *t);

/** Saves input i's value for the backward. `value` is the input, or a copy made before it changed.
 */
void adzi_node_save_input(adzi_node *node, int i, adz_tensor *value);

/** Saves result k's value, which must be contiguous from its storage's start. */
void adzi_node_save_result(adzi_node *node, int k, adz_tensor *t);

/** Saves a value of the operator's own. */
void adzi_node_save_extra(adzi_node *node, int slot, adz_tensor *t);

/* ---- reading, in a backward --------------------------------------------------------------------
 */

/** Saved input i; NULL with ADZ_ERR_VERSION if it was changed in place after it was saved. */
adz_tensor *adzi_saved_input(adzi_node *node, int i);

/**
 * Releases saved input i before the backward ends. A backward calls this after it has read the
 * input for the last time, so that a gradient can be written to the memory of the input. Does
 * nothing if the graph is kept.
 */
void adzi_release_input(adzi_node *node, int i);

/** Saved result k, borrowed from the scope; while the thread records, connected to this node again.
 */
adz_tensor *adzi_saved_result(adzi_node *node, int k);

/** Saved value of the operator's own. */
adz_tensor *adzi_saved_extra(adzi_node *node, int slot);

/** Rank and sizes of input i; the input must want a gradient or have been saved. */
adz_shape adzi_input_shape(const adzi_node *node, int i);

/** Rank and sizes of result k. */
adz_shape adzi_result_shape(const adzi_node *node, int k);

/** Gives back one reference of a node. The last one frees it, and without recursion every node that
 * only it kept. */
void adzi_node_release(adzi_thread *thread, adzi_node *node);

/** Lets go of everything a node saved. */
void adzi_node_drop_saved(adzi_node *node);

/* ---- hooks -------------------------------------------------------------------------------------
 */

typedef struct adzi_hook {
    adz_tensor_hook call;
    void *user;
    uint64_t id;
} adzi_hook;

typedef struct adzi_hook_list {
    adzi_hook *hooks;
    size_t count, capacity;
} adzi_hook_list;

void adzi_hook_list_free(adzi_hook_list *list);

/** Runs the hooks over *grad (a reference that the caller owns), replacing it. */
adz_status adzi_hooks_run(const char *op, const adzi_hook_list *list, adz_tensor **grad);

#endif
