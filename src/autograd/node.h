/* The tape: one node per recorded call, with edges to the nodes that computed its inputs. */
#ifndef ADZI_AUTOGRAD_NODE_H
#define ADZI_AUTOGRAD_NODE_H

#include "adze/autograd.h"
#include "adze/operator.h"
#include "autograd/attr.h"
#include "tensor/tensor.h"

typedef struct adzi_node adzi_node;

/** The description of an operator, of the library or of a user. */
typedef struct adz_operator adzi_op;

/** Where the gradient of one input goes, and the input's value if the backward reads it. */
typedef struct adzi_edge {
    adzi_node *node;   /* the node that computed the input, or NULL */
    adz_tensor *leaf;  /* the input itself if it is a leaf, or NULL; both NULL: no gradient */
    adz_tensor *saved; /* the saved input, or NULL; if equal to `leaf`, both share a reference */
    uint32_t version;  /* version of the input's storage when the input was saved */
    uint16_t result;   /* the input is this result of `node` */
    bool recomputed;   /* the backward reads the input, which `node` may have to compute again */
} adzi_edge;

/** What a node keeps of a result, whose tensor may be released before the backward. */
typedef struct adzi_result {
    adzi_storage *saved; /* the elements, if the backward reads them */
    adz_tensor *retains; /* the living tensor on which adz_retain_grad was called; not owned */
    struct adzi_hook_list *hooks;
    uint32_t version;
    uint8_t dtype, rank;
    int64_t sizes[ADZ_MAX_RANK];
} adzi_result;

/** A tensor that an operator saved and that is neither an input nor a result. */
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
    uint16_t readers; /* edges that lead to result 0 and are `again` */
    uint32_t bytes;
    union {
        struct adzi_entry *entry; /* of the running backward, or NULL */
        adzi_node *next_dead;     /* once the last reference is gone */
    };
    const char *file; /* where the user called the operator, under ADZ_SITES */
    int line;
    bool released; /* a backward has released what the node saved */
    bool saves;    /* the node holds saved values */
    bool targeted; /* the running backward is adz_autograd_grad's, for some inputs only */
    bool watched;  /* some result has, or had, hooks or a tensor that retains its gradient */
    adzi_result *results;
    adzi_extra *extras;
    void *attr; /* the operator's attributes, behind the extras; autograd/attr.h */
    /* Computes result 0 again, by calls of operators, from what the node has saved; or NULL. */
    adz_tensor *(*recompute)(adzi_node *node);
    atomic_bool kept; /* some node has saved result 0, so computing it again would save nothing */
    adzi_edge inputs[];
};

/** True if a gradient of input i is wanted. During a backward that asks for some inputs only, true
 * if that backward needs it. */
bool adzi_needs(const adzi_node *node, int i);

/* ---- recording ------------------------------------------------------------------------------- */

/**
 * Makes a node with an edge per input and a copy of the attributes. Inputs that want no gradient
 * get an empty edge. The caller has the one reference. NULL with the error recorded if memory was
 * refused.
 */
adzi_node *adzi_node_new(adzi_thread *thread, const adzi_op *op, adz_tensor *const *inputs,
    int n_inputs, int n_results, int n_extras, const void *attr, size_t attr_size);

/** Makes `t` result k of the node. `t` gets a reference to the node. The node must be new, so that
 * no other thread has a reference. */
void adzi_node_attach(adzi_node *node, int k, adz_tensor *t);

/** Saves input i's value for the backward. `value` is the input, or a copy made before it changed.
 */
void adzi_node_save_input(adzi_node *node, int i, adz_tensor *value);

/**
 * Saves input i of a product, or leaves it to the node that computed the input to compute it again.
 * `work` is the number of multiply-adds of the product for each element of the input. Note [Inputs
 * that are computed again] in saved.c says when. adzi_saved_input reads the input in either case.
 */
void adzi_node_save_factor(adzi_node *node, int i, adz_tensor *value, int64_t work);

/** Whether a result of this size is computed again at all: only under adz_set_recomputing(). */
bool adzi_is_worth_recomputing(const adz_tensor *t);

/** Tells the node of a tensor that ends, and whose readers may compute it again. */
void adzi_result_ends(adz_tensor *t);

/** Saves result k's value, which must be contiguous from its storage's start. */
void adzi_node_save_result(adzi_node *node, int k, adz_tensor *t);

/** Saves a tensor that is neither an input nor a result in slot `slot`. */
void adzi_node_save_extra(adzi_node *node, int slot, adz_tensor *t);

/* ---- reading, in a backward ------------------------------------------------------------------ */

/** Saved input i; NULL with ADZ_ERR_VERSION if it was changed in place after it was saved, or with
 * the error of the call that computes it again. */
adz_tensor *adzi_saved_input(adzi_node *node, int i);

/**
 * Releases saved input i before the backward ends. A backward calls this after it has read the
 * input for the last time, so that a gradient can be written to the memory of the input. Does
 * nothing if the graph is kept.
 */
void adzi_release_input(adzi_node *node, int i);

/**
 * A new tensor over the elements of saved result k, borrowed from the scope. While the thread
 * records, the tensor is connected to this node again, for second derivatives.
 */
adz_tensor *adzi_saved_result(adzi_node *node, int k);

/**
 * Like adzi_saved_result, but the tensor leads to the call that computed input i. The gradient of
 * the tensor must be that of the input. The node itself is then not kept by what is computed from
 * the tensor. A tensor for a leaf leads to the node, as that of adzi_saved_result does.
 */
adz_tensor *adzi_saved_result_as_input(adzi_node *node, int k, int i);

/** The tensor that adzi_node_save_extra saved; NULL with ADZ_ERR_VERSION if it was changed since.
 */
adz_tensor *adzi_saved_extra(adzi_node *node, int slot);

/** Rank and sizes of input i; the input must want a gradient or have been saved. */
adz_shape adzi_input_shape(const adzi_node *node, int i);

/** Rank and sizes of result k. */
adz_shape adzi_result_shape(const adzi_node *node, int k);

/** Gives back one reference of a node. The last one frees it, and without recursion every node that
 * only it kept. */
void adzi_node_release(adzi_thread *thread, adzi_node *node);

/** Releases everything that a node saved. */
void adzi_node_release_saved(adzi_node *node);

/* ---- hooks ----------------------------------------------------------------------------------- */

typedef struct adzi_hook {
    adz_tensor_hook call;               /* NULL in a list of hooks that run afterwards */
    adz_post_accumulate_grad_hook done; /* NULL in a list of hooks that see the gradient before */
    void *user;
    adz_hook_end end; /* called when the hook ends; or NULL */
    uint64_t id;
} adzi_hook;

typedef struct adzi_hook_list {
    adzi_hook *hooks;
    size_t count, capacity;
} adzi_hook_list;

/** Tells the owner of a hook, if it wants to know, that the hook has ended. */
void adzi_hook_ended(const adzi_hook *hook);

/** Runs the hooks over *grad (a reference that the caller owns), replacing it. */
adz_status adzi_hooks_run(const char *op, const adzi_hook_list *list, adz_tensor **grad);

/** Runs the hooks of leaf `t` after its gradient was accumulated. */
adz_status adzi_hooks_run_after(const char *op, const adzi_hook_list *list, adz_tensor *t);

#endif
