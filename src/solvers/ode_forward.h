/* Forward derivatives of solutions of differential equations.
 *
 * Note [Sensitivities beside a solution]
 * A product of a solution's Jacobian with vectors needs no graph of the solution. With the tangents
 * y' of the state and w of what else the function f(t, y, p) uses, the derivative of a step is that
 * step for
 *
 *     dy'/dt = df/dy y' + df/dp w
 *
 * on the same grid. So the tangents are integrated beside the states, by the same formulas, and for
 * the formulas of ADZ_ODE_BDF with the Jacobian at the end of each step. They have no part in the
 * error control, as they have none in CVODES unless it is asked for. So a solution does not depend
 * on whether it is differentiated, and the derivatives are those of the steps that it took, as they
 * are in reverse mode.
 *
 * Note [A node of products]
 * A forward derivative begins as a backward whose upstream gradients are zeros (Note [Forward mode
 * by two gradients] in functional.h). The backward of a solution then computes nothing. It returns
 * zeros as the results of a node, whose backward is the product of the Jacobian with the tangents
 * that reach it. By everything else its derivative is 0, as the upstream gradients are. If several
 * directions are announced, the first product computes the derivatives by all elements at once. */
#ifndef ADZI_SOLVERS_ODE_FORWARD_H
#define ADZI_SOLVERS_ODE_FORWARD_H

#include "adze/plan.h"
#include "solvers/ode_node.h"

/** The tangents of one solution. */
typedef struct adzi_ode_tangents {
    adzi_ode ode;          /* its arguments are leaves where they have tangents, else constants */
    adz_tensor **targets;  /* the state, and then the arguments and leaves that have tangents */
    adz_tensor **found;    /* their gradients; room for n_targets */
    size_t n_targets;      /* the state included */
    int64_t n, p, m;       /* elements of the state, of the other targets; tangents */
    const double *w;       /* [m, p], of the other targets */
    const double *y;       /* [m, n], of the first state */
    const adzi_node *node; /* whose inputs are the leaves that the function may use */
    double *out; /* [m, length], filled: [T, n], and for each event its hits' times and [H, n] */
    int64_t length;
    bool dense;         /* the Jacobian is formed: */
    adz_tensor *at[2];  /* the time and the state of the point */
    adz_tensor *units;  /* the identity, [n, n] */
    adz_tensor **parts; /* room for 1 + n n_targets */
    adz_plan **plan;    /* computes the Jacobian; what it points to may be NULL, and so may it */
    bool refused;       /* the function cannot be captured */
    /* At the last point: */
    double *jacobian;     /* [n, n + p], if dense */
    adz_tensor *u;        /* else: the upstream gradient, by which `found` is differentiated */
    adz_tensor **tangent; /* of the targets; room for n_targets */
} adzi_ode_tangents;

/** f(t, y), and its derivatives there. The value has no graph. NULL with the error recorded. */
adz_tensor *adzi_tangents_at(adzi_ode_tangents *s, adz_tensor *t, adz_tensor *y);

/** The derivatives of f at the last point, [m, n], for tangents y[m, n] of the state. False with
 * the error recorded. */
bool adzi_tangents_slopes(adzi_ode_tangents *s, const double *y, double *slopes);

/** A tensor like `like` of these elements. NULL with the error recorded. */
adz_tensor *adzi_tangents_tensor(const char *op, const adz_tensor *like, const double *elements);

/** Fills `out`. False with the error recorded. */
bool adzi_tangents_steps(adzi_ode_tangents *s);
bool adzi_tangents_bdf(adzi_ode_tangents *s, adz_tensor *path);
bool adzi_tangents_recorded(adzi_ode_tangents *s);

/** Where the time of a hit, or the state there, stands among all results of a solution. */
int64_t adzi_tangents_place(const adzi_ode *ode, int event, int64_t index, bool state);

/** Whether the backward of a solution may return a node of products. */
bool adzi_ode_goes_forward(adzi_node *node, adz_tensor *const *dy);

/** The backward of a solution as a node of products. */
adz_status adzi_ode_forward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);

#endif
