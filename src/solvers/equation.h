/* What the solvers share (adze/solvers.h): the function that is solved, and the tensors by which
 * its solution has gradients. */
#ifndef ADZI_SOLVERS_EQUATION_H
#define ADZI_SOLVERS_EQUATION_H

#include "adze/solvers.h"
#include "solvers/functional/functional.h"

enum { ADZI_LEAD = 2 }; /* the most inputs of a function before its arguments */

/** A function of the program, and the arguments with which it is called. */
typedef struct adzi_equation {
    const char *op;               /* the public function, for messages */
    adz_tensor_map map;           /* a function of the state alone; or NULL */
    adz_ode_map ode;              /* a function of time and state; or NULL */
    adz_tensor_function function; /* a function with arguments; or no call */
    void *user;                   /* for `map` and `ode` */
    adz_tensor *arguments[ADZ_SOLVER_ARGUMENTS];
    size_t n;
} adzi_equation;

/** Copies the caller's function and its arguments. False with the error recorded. */
bool adzi_equation_take(
    adzi_equation *e, const adz_tensor_function *function, adz_tensor *const *arguments, size_t n);

/** Checks that a state of this name is a f32 or f64 tensor. Records an error. */
bool adzi_equation_check_state(const char *op, const char *name, const adz_tensor *x);

/** Calls the function with the tensors of `variables` before its arguments. It must give one
 * tensor, of any form. NULL with the error recorded. */
adz_tensor *adzi_equation_result(
    const adzi_equation *e, adz_tensor *const *variables, size_t n_variables);

/**
 * Calls the function with the tensors of `variables` before its arguments. The last one of them is
 * the state, whose shape and dtype the result must have. NULL with the error recorded.
 */
adz_tensor *adzi_equation_call(
    const adzi_equation *e, adz_tensor *const *variables, size_t n_variables);

/** Like adzi_equation_call, but the result may have any shape and must have one element. */
adz_tensor *adzi_equation_number(
    const adzi_equation *e, adz_tensor *const *variables, size_t n_variables);

/** False with ADZ_ERR_UNSUPPORTED recorded if an export calls the function. `what` is the form of
 * the solver, a noun. */
bool adzi_equation_not_exported(const char *op, const char *what);

/** Replaces the arguments by tensors that share their elements and have no graph. False with the
 * error recorded. */
bool adzi_equation_detach(adzi_equation *e);

/**
 * A tensor that stands for `t` in a backward. If that backward gets a graph, it is a view that
 * leads to `t`. Else it is a leaf, which wants a gradient if `t` does.
 */
adz_tensor *adzi_equation_stand_in(adz_tensor *t, bool graph);

/**
 * Stand-ins that lead nowhere for a while. The leaves that a function uses may also be behind the
 * tensors for which it gets stand-ins. A backward that computes the derivative of the function by
 * these leaves must not reach them through the stand-ins, but its graph leads through them.
 *
 * A way that is taken away is kept by another tensor of the scope, so it ends with that tensor if
 * the program's code leaves the backward by a jump.
 */
typedef struct adzi_cuts {
    adz_tensor *items[ADZ_SOLVER_ARGUMENTS + ADZI_LEAD];
    adz_tensor *keepers[ADZ_SOLVER_ARGUMENTS + ADZI_LEAD];
    size_t n;
} adzi_cuts;

/** Takes the way of a stand-in away. Does nothing for a leaf. False with the error recorded if
 * memory was refused. */
bool adzi_cuts_add(adzi_cuts *cuts, adz_tensor *stand_in);

/** Gives all stand-ins their ways back. They must still exist. */
void adzi_cuts_mend(adzi_cuts *cuts);

/** A leaf that shares the elements of `t` and wants a gradient. Unlike adz_requires_grad_, this is
 * no change of settings that a plan would have to notice. */
adz_tensor *adzi_equation_leaf(adz_tensor *t);

/** Leaves that want a gradient, with a reference of each. */
typedef struct adzi_leaves {
    adz_tensor **items;
    size_t count, capacity;
} adzi_leaves;

/** Adds the leaves on which `y` depends and that are neither in the list nor equal to one of the
 * others. False with the error recorded. */
bool adzi_leaves_add(
    adzi_leaves *leaves, const char *op, adz_tensor *y, adz_tensor *const *others, size_t n);

void adzi_leaves_free(adzi_leaves *leaves);

/** The bytes of the graph behind `y`, and of what its nodes have saved except leaves. A tensor
 * counts once for each node that has saved it. -1 with the error recorded. */
int64_t adzi_graph_bytes(adz_tensor *y);

/** Releases all tensors that were made after `mark` but for `tensors`, which the scope keeps; those
 * that are NULL are left out. False with the error recorded, after which none is kept. */
bool adzi_survive(const char *op, size_t mark, adz_tensor *const *tensors, size_t n);

#endif
