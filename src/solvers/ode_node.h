/* The node of a solution on the tape. */
#ifndef ADZI_SOLVERS_ODE_NODE_H
#define ADZI_SOLVERS_ODE_NODE_H

#include "ops/op.h"
#include "solvers/ode.h"
#include "base/refs.h"

/** What the backward needs besides the tensors. The inputs of the node are y0, the times, the
 * arguments, and then the leaves that the functions use. */
typedef struct adzi_ode_context {
    atomic_int refs; /* nodes that have it */
    adzi_ode ode;    /* without tensors; `ends` and `at` lie in `numbers` */
    int64_t stride;
    double *numbers;
    size_t n_numbers;
    adzi_ode_graph graph;
    bool has_path; /* the node has saved the states at the ends of the steps */
} adzi_ode_context;

enum { ADZI_ODE_FIRST_ARGUMENT = 2 };

/** What the node saves besides inputs: states before some of the steps, and the path. */
enum { ADZI_ODE_STATES, ADZI_ODE_PATH, ADZI_ODE_EXTRAS };

/** Gives a reference back. */
void adzi_ode_context_drop(adzi_ode_context *r);

/**
 * Whether the node has an edge to all leaves on which `y` depends, apart from the n targets and, if
 * it is there, the leaves of a graph. A leaf that the first run has not heard of has none, and
 * would get no gradient. Records an error.
 */
bool adzi_ode_knows_leaves(const char *op, adz_tensor *y, adz_tensor *const *targets, size_t n,
    const adzi_node *node, const adzi_ode_graph *graph);

/** The backward of the node. */
adz_status adzi_ode_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);

#endif
