/* One running backward: what its parts share. */
#ifndef ADZI_AUTOGRAD_ENGINE_H
#define ADZI_AUTOGRAD_ENGINE_H

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
    bool wanted;         /* its backward has to run */
    bool captured;       /* the gradient of some result was asked for */
    bool root;           /* an output's node: we hold it, and its edges hold the rest */
    adz_tensor *grads[]; /* one per result, references of ours */
} adzi_entry;

typedef struct adzi_leaf_slot {
    adzi_run *run;
    struct adzi_leaf_slot *outer, *next;
    adz_tensor *leaf; /* alive: an edge of the run's graph or, if `held`, we have a reference */
    adz_tensor *grad; /* a reference of ours */
    bool held;
} adzi_leaf_slot;

typedef struct adzi_chunk {
    struct adzi_chunk *next;
    size_t size, used;
} adzi_chunk;

struct adzi_run {
    adzi_thread *thread;
    size_t frame; /* its place among the thread's frames */
    bool create_graph, keep_graph;
    bool anomaly;               /* the thread's anomaly mode, while a backward is called */
    adzi_node *checked;         /* the node whose gradients call_checked has retained, or NULL */
    adz_tensor *const *targets; /* NULL: all leaves */
    adz_tensor **found;         /* one per target, references of ours */
    size_t n_targets;
    adzi_node **order;
    size_t n_order, order_capacity;
    adzi_leaf_slot *leaves;
    adzi_chunk *chunks;
    adzi_node *first_order[16];
    _Alignas(16) char first_chunk[1024];
};

/* Names what backward reports about itself. */
extern const char adzi_backward_name[];

/**
 * Starts a run, with a frame of the thread's. The run is allocated and does not lie on the stack,
 * because a callback may jump out of it. NULL with the error recorded.
 */
adzi_run *adzi_run_begin(adzi_thread *thread, uintptr_t floor);
void adzi_run_end(adzi_run *run);

/** Memory that lives as long as the run; NULL with the error recorded. */
void *adzi_run_alloc(adzi_run *run, size_t bytes);

/** Finds every node behind the outputs and orders them, newest first. */
bool adzi_run_discover(adzi_run *run, adz_tensor *const *outputs, size_t n);

/** Under targets: marks the nodes between the outputs and a target. */
bool adzi_run_mark_wanted(adzi_run *run);

/** adzi_run_mark_wanted for the nodes from place `first` of the order on, which were found later.
 */
void adzi_run_mark_from(adzi_run *run, size_t first);

/** The run's slot for a leaf's gradient, made when absent. `hold`: no edge of the graph does. */
adzi_leaf_slot *adzi_run_leaf(adzi_run *run, adz_tensor *leaf, bool hold);

/** Retains the gradient `t` in an empty slot, or adds it to the sum in the slot. False with the
 * error recorded if memory was refused. */
bool adzi_run_deliver(adzi_run *run, adz_tensor **slot, adz_tensor *t);

/** Delivers a gradient of `output`, which is a leaf or the result of a node of the run. */
bool adzi_run_deliver_to(adzi_run *run, adz_tensor *output, adz_tensor *t);

/** Runs the backward of every node that a gradient reaches, then the leaves' hooks. */
bool adzi_run_nodes(adzi_run *run);

/**
 * For a node's backward that has computed its results again, now with a graph: goes on from
 * `outputs` with these gradients, in the same run and to the end of what it has not reached yet. So
 * every gradient is summed in the order in which the graph itself would have it, had it been there
 * from the start. What the outputs depend on besides is what the node depends on.
 */
bool adzi_run_within(
    adzi_node *node, adz_tensor *const *outputs, adz_tensor *const *gradients, size_t n);

/** a += b, b broadcast to a, without the tape; a is contiguous, dtypes are the same. Cannot fail.
 */
void adzi_accumulate(adz_tensor *a, const adz_tensor *b);

#endif
