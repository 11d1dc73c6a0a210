/* What the files of L-BFGS share. lbfgs.c has the step, line_search.c its line search, and
 * lbfgs_memory.c what is kept from step to step. */
#ifndef ADZI_OPTIM_LBFGS_H
#define ADZI_OPTIM_LBFGS_H

#include "optim/closure.h"

/** A line search compares two points with a third one. */
enum { ADZI_LINE_GRADIENTS = 3 };

/** A move s, and the change y of the gradient by it. */
typedef struct adzi_lbfgs_pair {
    adz_tensor *y, *s;
    double ro; /* 1 / (y s) */
} adzi_lbfgs_pair;

/** The memory. Its tensors never change, so copies of a memory share them. */
typedef struct adzi_lbfgs_memory {
    double func_evals, n_iter; /* of all steps */
    double t, prev_loss;       /* the length of the last move, and the loss before it */
    double h_diag;             /* the first approximation of the inverse Hessian is h_diag I, and
                                  h_diag times the squares of the scale if there is one */
    double
        unit; /* losses and gradients are divided by this power of two; 0 before the first step */
    double largest_loss;       /* the largest absolute value that a loss has had */
    adz_tensor *d, *prev_grad; /* the last direction, and the gradient before it; NULL at first */
    adzi_lbfgs_pair *pairs;    /* the oldest one first */
    size_t n, capacity;
    /* In a running step: the gradient, and gradients of a line search. NULL between steps. */
    adz_tensor *g, *gradients[ADZI_LINE_GRADIENTS];
} adzi_lbfgs_memory;

/** Replaces a tensor of a memory. */
void adzi_lbfgs_keep(adz_tensor **slot, adz_tensor *t);

/** Releases the gradients of a line search. */
void adzi_lbfgs_end_line(adzi_lbfgs_memory *m);

/** Forgets the oldest pairs, until at most `most` are left. */
void adzi_lbfgs_forget(adzi_lbfgs_memory *m, size_t most);

/** Adds a pair, of which there will be at most `most`. False with the error recorded. */
bool adzi_lbfgs_remember(const char *op, adzi_lbfgs_memory *m, adzi_lbfgs_pair pair, size_t most);

/** Functions of adzi_search. */
bool adzi_lbfgs_copy(void *memory);
void adzi_lbfgs_drop(void *memory);
adz_status adzi_lbfgs_collect(const void *memory, adz_state_dict *state);
bool adzi_lbfgs_read(const adz_optimizer *o, void *memory, const char *name, adz_tensor *t);
bool adzi_lbfgs_complete(const void *memory);

/**
 * Learns from the last move, and keeps the next direction in the memory.
 *
 * @param scale  the scale in the parameters' dtype; NULL without one
 * @param most   pairs that are kept
 * @return       false with the error recorded
 */
bool adzi_lbfgs_turn(
    const adzi_search_run *run, adzi_lbfgs_memory *m, adz_tensor *scale, size_t most);

/** The relative rounding error of a dtype. */
double adzi_lbfgs_rounding(adz_dtype dtype);

/** Chooses the unit of losses and gradients: 1, unless their squares could overflow or underflow.
 */
double adzi_lbfgs_unit(adz_dtype dtype, double loss, double largest);

/** x times the scale, which may be NULL. */
adz_tensor *adzi_lbfgs_times(adz_tensor *x, adz_tensor *scale);

/** x divided by the scale, which may be NULL. */
adz_tensor *adzi_lbfgs_over(adz_tensor *x, adz_tensor *scale);

/** The sum of the products of two vectors. NaN with the error recorded. */
double adzi_lbfgs_dot(adz_tensor *a, adz_tensor *b);

/** The largest absolute value of a vector. NaN with the error recorded. */
double adzi_lbfgs_largest(adz_tensor *x);

/** The loss at one point of a line: x + t d. */
typedef struct adzi_line_point {
    double t, loss;
    double slope;         /* of the loss with respect to t */
    adz_tensor *gradient; /* of the memory */
} adzi_line_point;

/** A line that starts at x in the direction d. */
typedef struct adzi_line {
    adzi_search_run *run;
    adz_tensor *x, *d;
    double factor;          /* of losses and gradients: 1 / unit, negative to ascend */
    double reach;           /* the largest element of d, divided by the scale */
    double tolerance;       /* the search ends when an interval moves no parameter further */
    int64_t most;           /* evaluations of one search, at most */
    int64_t evaluations;    /* of this line so far */
    adz_tensor **gradients; /* of the memory: ADZI_LINE_GRADIENTS */
    adzi_line_point start;  /* t is 0 */
} adzi_line;

/** Moves the parameters to x + t d, calls the closure and fills `p`. Points where the loss or the
 * slope is not finite get an infinite loss and slope. The gradients of `a` and `b` stay, and those
 * of other points may end. False with the error recorded. */
bool adzi_line_evaluate(adzi_line *line, double t, adzi_line_point *p, const adzi_line_point *a,
    const adzi_line_point *b);

/**
 * Finds a point that satisfies the strong Wolfe conditions: the loss falls by at least 1e-4 of what
 * the slope at the start promises, and the slope has at most 0.9 of its absolute value there.
 *
 * @param t     the first step that is tried
 * @param best  receives the point, or the lowest one that was found before the search had to end
 * @return      false with the error recorded
 */
bool adzi_line_search(adzi_line *line, double t, adzi_line_point *best);

#endif
