/* The gradient of a solution with error control in a plan: Note [Gradients of while loops of steps]
 * in ode_while_backward.c. */
#ifndef ADZI_SOLVERS_ODE_WHILE_GRADIENT_H
#define ADZI_SOLVERS_ODE_WHILE_GRADIENT_H

#include "ops/op.h"
#include "solvers/ode_while_rows.h"

/** What is found out before the loop, and kept in it. */
typedef struct adzi_ode_graded {
    bool wants;      /* a gradient; else everything behind is empty */
    int64_t most[2]; /* steps whose graph an ordinary call keeps: for times that increase,
                        and for times that decrease */
    bool used[ADZ_SOLVER_ARGUMENTS]; /* arguments on which the function depends */
    adz_tensor **leaves;             /* others that it uses; the scope has them */
    size_t n_leaves;
    adzi_ode_rows rows; /* of the steps that were accepted */
} adzi_ode_graded;

/** Finds out whether the solution has a gradient, and makes room for it. The function is called,
 * without being computed. False with the error recorded, also for a form without gradients. */
bool adzi_ode_graded_begin(const adzi_ode *ode, adz_tensor *y0, adzi_ode_graded *g);

/** Makes the states a result of a node with a gradient, before ode->sign ends. `count` is the
 * number of steps, and `times` are those that increase, f64[T]. False with the error recorded. */
bool adzi_ode_graded_record(const adzi_ode *ode, const adzi_ode_graded *g, adz_tensor *y0,
    adz_tensor *count, adz_tensor *times, adz_tensor **states);

/** What the node of the loop has besides tensors. */
typedef struct adzi_ode_loop_context {
    adzi_ode ode;    /* without tensors */
    int64_t most[2]; /* as in adzi_ode_graded */
    bool slopes;     /* are kept, because the graph of some solutions may be */
    bool used[ADZ_SOLVER_ARGUMENTS];
} adzi_ode_loop_context;

/** What the node saves besides inputs. */
enum {
    ADZI_LOOP_STATES,
    ADZI_LOOP_SLOPES,
    ADZI_LOOP_SPANS,
    ADZI_LOOP_COUNT,
    ADZI_LOOP_SIGN,
    ADZI_LOOP_TIMES,
    ADZI_LOOP_EXTRAS
};

/** The backward of the node. */
adz_status adzi_ode_loop_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);

#endif
