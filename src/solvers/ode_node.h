/* The node of a solution on the tape. */
#ifndef ADZI_SOLVERS_ODE_NODE_H
#define ADZI_SOLVERS_ODE_NODE_H

#include "ops/op.h"
#include "solvers/ode.h"

/** What the backward needs besides the tensors. The inputs of the node are y0, the times, the
 * arguments, and then the leaves that the functions use. */
typedef struct adzi_ode_context {
    adzi_ode ode; /* without tensors; `ends` and `at` lie in `numbers` */
    int64_t stride;
    double *numbers;
    size_t n_numbers;
    adzi_ode_graph graph;
} adzi_ode_context;

enum { ADZI_ODE_FIRST_ARGUMENT = 2 };

/** The backward of the node. */
adz_status adzi_ode_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);

#endif
