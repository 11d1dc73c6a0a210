/* A search for a root.
 *
 * Note [A search without the host]
 * Newton's and Anderson's methods keep what they know of each row in tensors: its point, its
 * residual, and whether it has converged. Rows that have converged are held by masks. So one code
 * serves three forms: the ordinary one, for which the host reads after each value of the function
 * whether a row is left; the one with fixed_iterations; and the body of a while loop in a plan or a
 * file (root_while.c). What the host reads in an ordinary call only spares work that masks make
 * without effect, so a loop has the bits of an ordinary call. A step that does not make the
 * residual smaller is halved at the next value of the function. */
#ifndef ADZI_SOLVERS_ROOTS_ROOT_H
#define ADZI_SOLVERS_ROOTS_ROOT_H

#include "solvers/equation.h"

/** The tensors of a search that outlive one value of the function. */
typedef struct adzi_root_state {
    adz_tensor *x;      /* the best point of each row */
    adz_tensor *norm;   /* the largest residual of each row, [N, 1]; a scalar without rows */
    adz_tensor *step;   /* Newton: the direction from x; Anderson: the next point */
    adz_tensor *scale;  /* Newton: the part of the direction to go, shaped like `norm` */
    adz_tensor *good;   /* bool, shaped like `norm`: the row has converged */
    adz_tensor *failed; /* bool, shaped like `norm`: the row has been given up */
    adz_tensor *why;    /* i64 scalar, in a while loop alone: why rows were given up */
} adzi_root_state;

enum { ADZI_ROOT_STATES = 7, ADZI_ROOT_HISTORY = 16 };

/** What a search within a trust region knows besides its state. R is the number of rows, 1 without
 * rows, and n that of unknowns. A field is NULL before the first step, and 0 in a while loop. */
typedef struct adzi_trust {
    adz_tensor *y;         /* [R, n, 1]: the residual at the best point */
    adz_tensor *j;         /* [R, n, n]: the Jacobian there */
    adz_tensor *newton;    /* [R, n, 1]: Newton's step from there */
    adz_tensor *predicted; /* [R, 1, 1]: by how much the model shrinks the square of the residual */
    adz_tensor *reach;     /* [R, 1, 1]: the length of the step */
} adzi_trust;

enum { ADZI_ROOT_TRUST = 5 };

/** One search. */
typedef struct adzi_root {
    adzi_functional f; /* of the running value of the function; the first member */
    adzi_equation e;
    adz_root_options o;
    adz_root_report found;
    adz_shape shape;         /* of x0 */
    bool by_rows;            /* rows are searched for one by one */
    bool wants;              /* gradients may be asked for: the leaves behind the root are noted */
    bool fixed;              /* o.fixed_iterations */
    bool looped;             /* a while loop of a plan or a file searches */
    bool last;               /* no value of the function will follow */
    bool over;               /* the host has seen that no row is left */
    adz_root_reason failure; /* why rows were given up; in a while loop that is state.why */
    adzi_root_state state;
    adz_tensor *more;  /* bool scalar, in a while loop: another value of the function may follow */
    adz_tensor *first; /* bool scalar, in a while loop: the search within a trust region begins */
    adzi_trust trust;
    adzi_leaves leaves;
    adz_tensor *jacobian;   /* of the running call, if it is known */
    double forcing, before; /* Krylov: the tolerance of GMRES; the residual at the last point */
    adz_tensor *points[ADZI_ROOT_HISTORY],
        *residuals[ADZI_ROOT_HISTORY]; /* Anderson's differences */
    size_t n_differences;
} adzi_root;

/** The parts of a search. They give false with the error recorded. */
typedef struct adzi_root_parts {
    bool (*begin)(adzi_root *r); /* from state.x */
    bool (*value)(adzi_root *r); /* one value of the function at the next point, and what follows */
} adzi_root_parts;

extern const adzi_root_parts adzi_root_by_newton, adzi_root_by_anderson;

/** Searches on, from state.x, for the rows that Newton's search has given up: by the dogleg method
 * of Powell within a region in which the linear model is trusted. In between, state.x is [R, n, 1],
 * and a row's numbers are [R, 1, 1]. */
extern const adzi_root_parts adzi_root_by_trust;

/** Searches from state.x. False with the error recorded. All leave the reason in `found`. */
bool adzi_root_newton(adzi_root *r);
bool adzi_root_trust(adzi_root *r);
bool adzi_root_anderson(adzi_root *r);

/** Searches by a while loop. Where a file has found no root, state.x is NaN. False with the error
 * recorded. */
bool adzi_root_while(adzi_root *r);

/** How many differences Anderson's method keeps. */
size_t adzi_root_history(const adzi_root *r);

/** Records why a search from x0 of a shape did not converge. */
adz_status adzi_root_fail(
    const char *op, const adz_root_report *found, adz_shape shape, double tolerance);

/** J^-1 b for J[R, n, n] and b[R, n, 1]; infinite or NaN where J is singular. */
adz_tensor *adzi_root_solve(adz_tensor *j, adz_tensor *b);

/** The distance of 1 from the next number of the dtype. */
double adzi_root_rounding(const adz_tensor *x);

/** One value of the function at `x`, and `work` on it, which fills what adzi_root_keep keeps. */
bool adzi_root_evaluate(adzi_root *r, adz_tensor *x, bool (*work)(adzi_functional *));

/** Hands the state of `s` from a work function to the search. */
bool adzi_root_keep(adzi_functional *f, const adzi_root_state *s);

/** Computes values of the function, behind those that the search has computed, until no row is left
 * or the search may compute no more. False with the error recorded. */
bool adzi_root_values(adzi_root *r, const adzi_root_parts *parts);

/** The largest absolute element of each row, or of all without rows. */
adz_tensor *adzi_root_norm(const adzi_root *r, adz_tensor *y);

/** Reads how many rows are left and how large the residual is, unless nothing is read on the host.
 * Sets `over` and `found`. False with the error recorded. */
bool adzi_root_check_rows(adzi_root *r, const adzi_root_state *s);

/** Notes the leaves behind the value of the running call, if the search ends with it. */
bool adzi_root_note_leaves(adzi_root *r);

/** The Jacobian of the running call as [N, D, D], or [1, n, n] without rows; or NULL. */
adz_tensor *adzi_root_jacobian(adzi_functional *f, bool rows);

/** Whether systems of this size are solved by the whole Jacobian. */
bool adzi_root_is_dense(const adz_root_options *o, int64_t unknowns);

/** A matrix that is known by its products with vectors. */
typedef struct adzi_matrix {
    adz_tensor *(*product)(adz_tensor *v, void *user); /* NULL with the error recorded */
    void *user;
} adzi_matrix;

/** How well a linear system is solved. */
typedef struct adzi_gmres_report {
    double part;     /* |b - A x| / |b| */
    double backward; /* |b - A x| / (|A| |x|), with the largest |A v| / |v| that was seen for |A| */
} adzi_gmres_report;

/**
 * Solves A x = b by GMRES with restarts, until the residual is at most `rtol` times that of 0.
 *
 * @param dimension  vectors before the first restart; slow cycles get more of them, up to 100
 * @return           x, shaped like b, borrowed, also if it did not converge. NULL with the error
 *                   recorded.
 */
adz_tensor *adzi_gmres(
    adzi_matrix a, adz_tensor *b, int dimension, double rtol, adzi_gmres_report *found);

/** Makes the root a result of a node that gives it its gradients. `x` has no other owner but the
 * scope. NULL with the error recorded. */
adz_tensor *adzi_root_record(adzi_root *r, adz_tensor *x);

#endif
