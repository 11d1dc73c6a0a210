/* One running backward: what its parts share, its memory, and which nodes it reaches. */
#ifndef ADZI_AUTOGRAD_RUN_H
#define ADZI_AUTOGRAD_RUN_H

#include "autograd/node.h"

/* Note [One backward inside another]
 *
 * While a backward runs, each node it reaches points to an entry, and each leaf to a slot, that
 * belong to this run. A backward that is started by an operator's backward, or by a hook, puts its
 * own in front and restores the outer ones when it ends, so that both may reach the same node.
 */
typedef struct adzi_run adzi_run;

typedef struct adzi_entry {
    adzi_run *run;
    struct adzi_entry *outer;
    bool wanted;         /* the backward of the node has to run */
    bool captured;       /* adz_autograd_grad was asked for the gradient of a result */
    bool root;           /* the node of an output, retained by the run; edges hold the others */
    bool visited;        /* its edges have been counted down */
    adz_tensor *grads[]; /* the sum per result, or NULL; references of the run */
} adzi_entry;

typedef struct adzi_leaf_slot {
    adzi_run *run;
    struct adzi_leaf_slot *outer, *next;
    adz_tensor *leaf; /* kept alive by an edge of the graph or, if `held`, by the run */
    adz_tensor *grad; /* the sum, or NULL; a reference of the run */
    int64_t pending;  /* edges and outputs that lead to the leaf and have not been visited yet */
    bool held;
    bool placed;    /* a kernel of this run has written to the leaf's place */
    bool committed; /* the leaf's gradient has changed already */
} adzi_leaf_slot;

typedef struct adzi_chunk {
    struct adzi_chunk *next;
    size_t size, used;
} adzi_chunk;

struct adzi_run {
    adzi_thread *thread;
    size_t frame; /* the index of the run's frame in the thread's frames */
    bool create_graph, keep_graph;
    bool commits; /* gradients become those of the leaves; with targets, of these leaves alone */
    bool done;    /* everything has succeeded */
    bool anomaly; /* the thread's anomaly mode, while a backward is called */
    int64_t directions; /* above 0: of the gradients only their derivatives by the upstream ones are
                           asked for, in about so many directions (adzi_autograd_grad_forward) */
    bool express; /* a trace runs, which sees calls of operators only: no fused backward, and sums
                     by operators */
    adzi_node *checked;         /* the node whose gradients call_checked has retained, or NULL */
    adz_tensor *const *targets; /* NULL: all leaves */
    adz_tensor **found;         /* the gradient per target, or NULL; references of the run */
    size_t n_targets;
    adzi_node **order;
    size_t n_order, order_capacity;
    adzi_leaf_slot *leaves;
    adzi_chunk *chunks;
    adzi_node *first_order[16];
    _Alignas(16) char first_chunk[1024];
};

/* Names what backward reports about itself. */
#define ADZI_BACKWARD_NAME "backward"

/**
 * Starts a run, with a frame of the thread's. The run is allocated and does not lie on the stack,
 * because a callback may jump out of it. NULL with the error recorded.
 */
adzi_run *adzi_run_begin(adzi_thread *thread, uintptr_t floor);
void adzi_run_end(adzi_run *run);

/** Memory that lives as long as the run; NULL with the error recorded. */
void *adzi_run_alloc(adzi_run *run, size_t bytes);

/** The run's slot of a leaf, or NULL if the leaf has none. */
static inline adzi_leaf_slot *adzi_run_slot(const adzi_run *run, const adz_tensor *leaf)
{
    adzi_leaf_slot *slot = leaf->gradient != NULL ? leaf->gradient->slot : NULL;
    return slot != NULL && slot->run == run ? slot : NULL;
}

/** Whether the run of `slot`, or a run that encloses it, sums in the place of the leaf. */
static inline bool adzi_is_summed_in(const adzi_leaf_slot *slot)
{
    while (slot != NULL && !slot->placed) {
        slot = slot->outer;
    }
    return slot != NULL;
}

/* ---- the graph of a run, discover.c ---------------------------------------------------------- */

/** Finds every node behind the outputs and orders them, newest first. Without targets, counts the
 * edges and outputs that lead to each leaf. */
bool adzi_run_discover(adzi_run *run, adz_tensor *const *outputs, size_t n);

/** If the run has targets, marks the nodes between the outputs and a target, and counts the edges
 * and outputs that lead to each target that is a leaf. */
bool adzi_run_mark_wanted(adzi_run *run, adz_tensor *const *outputs, size_t n);

/** adzi_run_mark_wanted for the nodes from position `first` of the order on, which were found
 * later.
 */
void adzi_run_mark_from(adzi_run *run, size_t first, adz_tensor *const *outputs, size_t n);

#endif
