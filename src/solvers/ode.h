/* Initial value problems.
 *
 * Note [The grid of a solution]
 * A solution chooses its steps in its first run, and notes their ends. A backward goes through the
 * same steps, so it differentiates what was computed. Steps of a fixed
 * number have ends that are computed from the times in tensors. With error control an end is a
 * number, which is constant in the backward, except for the first time and the last one. The other
 * times enter through the dense output of the step in which they lie.
 *
 * Note [Time backwards]
 * Steps of a fixed number may have negative lengths. With error control or events times that
 * decrease are mirrored: everything here then has the time s = -t, which increases, and dy/ds =
 * -f(-s, y). Only what the program gives and gets is t: times, arguments of its functions, times of
 * events, reports and messages. */
#ifndef ADZI_SOLVERS_ODE_H
#define ADZI_SOLVERS_ODE_H

#include <float.h>

#include "solvers/equation.h"
#include "solvers/linear_combination.h"

/** Where an event was hit. */
typedef struct adzi_ode_hit {
    int event;
    int64_t index; /* among the hits of this event */
    int64_t step;  /* in which it lies */
    double at;     /* the time of the solution */
} adzi_ode_hit;

/** What a first run hears: Note [Leaves of a solution]. */
typedef struct adzi_ode_leaves adzi_ode_leaves;

/** One solution, in its first run or in a backward. */
typedef struct adzi_ode {
    adzi_equation e;
    adz_ode_event events[ADZ_ODE_EVENTS]; /* their functions have the arguments of `e` */
    size_t n_events;
    int ended;          /* the event that has ended the solution; -1: none */
    bool needs_end;     /* the solution fails if no event ends it */
    adzi_ode_hit *hits; /* in the order of steps and times; n_hits of all events */
    int64_t n_hits;
    adz_ode_options o;
    adz_ode_report report;
    adz_tensor *times;      /* as given, or what stands for it in a backward */
    int64_t n_times;        /* T, or how many of the times a solution has reached that has ended */
    bool fixed;             /* o.steps equal steps between two times */
    bool by_tensors;        /* ends of steps are computed from `times`, where they depend on it */
    bool mirrored;          /* Note [Time backwards] */
    adz_tensor *sign;       /* in a while loop: -1 if the times decrease, else 1; or NULL */
    bool graph;             /* steps are recorded, and so are the Jacobians in them */
    int chords;             /* the order of derivatives that recorded steps of ADZ_ODE_BDF have */
    double *at;             /* in a first run, and with error control: the times */
    double *ends;           /* with error control, and in a first run with events: the begin of step
                               0, and the end of each step */
    double *orders;         /* of ADZ_ODE_BDF: of each step */
    const adz_tensor *like; /* has the shape and the dtype of y */
    int64_t n_steps;
    adz_ode_report *counts;  /* in the first run: takes up the calls of the function; else NULL */
    adzi_ode_leaves *leaves; /* in a first run that is differentiated: those used so far; or NULL */
} adzi_ode;

/** The rounding error of the dtype of a tensor. */
static inline double adzi_ode_eps(const adz_tensor *t)
{
    return t->dtype == ADZ_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
}

/** Element i of a contiguous tensor of f32 or f64. */
static inline double adzi_ode_element(const adz_tensor *t, int64_t i)
{
    return t->dtype == ADZ_F64 ? ((const double *)(const void *)t->data)[i]
                               : (double)((const float *)(const void *)t->data)[i];
}

enum { ADZI_ODE_RESULTS = 1 + 2 * ADZ_ODE_EVENTS };

/** How many results a solution has: the states at the times, and then for each event the times of
 * its hits and the states there. */
static inline int adzi_ode_results(const adzi_ode *ode)
{
    return 1 + 2 * (int)ode->n_events;
}

/** How many hits an event has. */
static inline int64_t adzi_ode_hits_of(const adzi_ode *ode, int event)
{
    int64_t n = 0;
    for (int64_t i = 0; i < ode->n_hits; ++i) {
        n += ode->hits[i].event == event;
    }
    return n;
}

/** Where a step lies. */
typedef struct adzi_ode_span {
    int64_t k;                   /* the number of the step */
    adz_tensor *t;               /* its begin, a scalar */
    adz_tensor *h;               /* its length; NULL: `length` */
    double from, length;         /* as numbers, with error control only */
    adz_tensor *begin, *measure; /* in a while loop: both as scalars, f64; or NULL */
} adzi_ode_span;

/** What a step computes. */
typedef struct adzi_ode_move {
    adz_tensor *y0, *y1, *error;
    adz_tensor *state; /* with which the next step begins: y1, or differences (ode_bdf.h) */
    adz_tensor *first,
        *last; /* f at the begin, and at the end if the method computes it; or NULL */
    adz_tensor *k[ADZI_COMBINATION_TERMS]; /* the stages, n_stages of them */
    int n_stages;
    /* The dense output at the part p of the step, from 0 to 1, with q = 1 - p, is
     * y0 + h sum_i k[i] (w_i0 p + w_i1 p q + w_i2 p^2 q + w_i3 p^2 q^2) with w_ic = weight(c, i).
     */
    double (*weight)(int c, int i);
    const adzi_ode_span *span; /* its length is h; NULL: h is 1 */
    int order; /* of ADZ_ODE_BDF, else 0: then k[0 .. order] are differences at the end, in f64 */
} adzi_ode_move;

enum { ADZI_ODE_DENSE = 4 };

/** The recorded steps of a first run: Note [Kept graphs] in ode_graph.c. */
typedef struct adzi_ode_graph {
    adz_tensor *y0, *arguments[ADZ_SOLVER_ARGUMENTS]; /* the leaves in which the graph begins */
    adz_tensor **states; /* at the times after the first one, as adzi_ode_states gives them */
    size_t n;            /* of the states; 0: no graph is kept */
} adzi_ode_graph;

/** Copies a graph, with references of the copy. False with the error recorded. */
bool adzi_ode_graph_copy(adzi_ode_graph *copy, const adzi_ode *ode, const adzi_ode_graph *graph);
void adzi_ode_graph_free(adzi_ode_graph *graph);

/** The span of step k of the grid. False with the error recorded. */
bool adzi_ode_span_of(const adzi_ode *ode, int64_t k, adzi_ode_span *span);

/** The program's time for a time of the solution, and the other way round. */
static inline double adzi_ode_time(const adzi_ode *ode, double t)
{
    return ode->mirrored ? -t : t;
}

/** The program's time, as a tensor with a graph, for a tensor of times of the solution, and the
 * other way round. NULL with the error recorded. */
adz_tensor *adzi_ode_time_of(const adzi_ode *ode, adz_tensor *t);

/** The result `y` of a function that was called with these variables, a time and a state. Takes up
 * the leaves that the function has used for the first time. NULL with the error recorded. */
adz_tensor *adzi_ode_heard(
    const adzi_ode *ode, const adzi_equation *e, adz_tensor *const *variables, adz_tensor *y);

/** The leaves that the functions have used: how many there are. */
size_t adzi_ode_leaves_of(const adzi_ode_leaves *leaves, adz_tensor *const **items);

/** dy/dt = f(t, y). */
adz_tensor *adzi_ode_slope(const adzi_ode *ode, adz_tensor *t, adz_tensor *y);

/** One step from y. `move->first` may be known. */
bool adzi_ode_step(
    const adzi_ode *ode, const adzi_ode_span *span, adz_tensor *y, adzi_ode_move *move);
bool adzi_ode_rodas(
    const adzi_ode *ode, const adzi_ode_span *span, adz_tensor *y, adzi_ode_move *move);
bool adzi_ode_bdf(
    const adzi_ode *ode, const adzi_ode_span *span, adz_tensor *state, adzi_ode_move *move);

/** What the first step begins with: y0, or its differences. */
adz_tensor *adzi_ode_state_of(const adzi_ode *ode, adz_tensor *y0);

/** df/dy as [N, D, D], or [1, n, n] without rows. With `graph` it can be differentiated. */
adz_tensor *adzi_ode_jacobian(const adzi_ode *ode, adz_tensor *t, adz_tensor *y, bool graph);

/** The end of a step of ADZ_ODE_BDF as a time, which depends on the first time if that wants a
 * gradient. */
adz_tensor *adzi_ode_end_of(const adzi_ode *ode, const adzi_ode_span *span);

/** The weight of difference i at a part of a step of ADZ_ODE_BDF. */
double adzi_bdf_weight(int i, double part);

/** adzi_ode_dense for ADZ_ODE_BDF. */
adz_tensor *adzi_bdf_dense(const adzi_ode_move *move, adz_tensor *theta, double part);

/** The terms of the dense output of ADZ_ODE_DORMAND_PRINCE: which stages have weights other than 0,
 * and the weights of these stages. Returns how many there are. */
int adzi_ode_dense_terms(
    int columns[ADZI_COMBINATION_TERMS], double weights[ADZI_ODE_DENSE][ADZI_COMBINATION_TERMS]);

/** y + h sum_i a[i] k[i], where a[i] is not 0. If y is NULL, it is 0. */
adz_tensor *adzi_ode_advance(
    const adzi_ode_span *span, adz_tensor *y, adz_tensor *const *k, const double *a, int n);

/** h s. */
adz_tensor *adzi_ode_scaled(const adzi_ode_span *span, adz_tensor *s);

/** t + c h. */
adz_tensor *adzi_ode_moment(const adzi_ode_span *span, double c);

/** The dense output at the part `theta` of the step from 0 to 1. A tensor may have more dimensions
 * than the state, for several times. If it is NULL, the number `part` stands for it. */
adz_tensor *adzi_ode_dense(const adzi_ode_move *move, adz_tensor *theta, double part);

/**
 * The states at the times that lie in a step, from time *next on, which becomes the time after
 * them. Each tensor in `states` holds those at times that follow each other, along a dimension
 * before those of y. Returns how many tensors there are, or -1 with the error recorded.
 */
int adzi_ode_states(const adzi_ode *ode, const adzi_ode_span *span, const adzi_ode_move *move,
    int64_t *next, adz_tensor *states[2]);

/** Looks at event `i` at the end of a step. True in *found if the event lies in the step. `sign` is
 * that of the begin, and becomes that of the end. */
bool adzi_ode_event_within(
    const adzi_ode *ode, int i, const adzi_ode_move *move, double *sign, bool *found);

/** Finds event `i` in a step that begins at `begin` with `sign` and ends without it: *at. */
bool adzi_ode_locate(const adzi_ode *ode, int i, const adzi_ode_span *span,
    const adzi_ode_move *move, double begin, double sign, double *at);

/** The time of a hit and the state there, as expressions of what its step depends on. */
bool adzi_ode_at_hit(const adzi_ode *ode, const adzi_ode_hit *hit, const adzi_ode_span *span,
    const adzi_ode_move *move, adz_tensor **found);

/** The first hit that lies in step k or a later one. */
int64_t adzi_ode_first_hit(const adzi_ode *ode, int64_t k);

/** All steps of a solution from the state y, each recorded. `list` receives `count` tensors, the
 * states at the times after the first one, as adzi_ode_states gives them. `hits` receives the time
 * and the state of each hit; it may be NULL if there are no events. */
bool adzi_ode_replay(
    const adzi_ode *ode, adz_tensor *y, adz_tensor **list, size_t *count, adz_tensor **hits);

/** What a first run keeps for the backward. */
typedef struct adzi_ode_kept {
    adz_tensor *states; /* [C, ...], before every step whose number is a multiple of stride */
    int64_t stride;
    adz_tensor *path;            /* [n_steps, n], f64, after each step of ADZ_ODE_BDF; or NULL */
    const adzi_ode_graph *graph; /* of the recorded steps */
} adzi_ode_kept;

/** Makes the results those of a node that gives them their gradients. False with the error
 * recorded. */
bool adzi_ode_record(
    adzi_ode *ode, adz_tensor *y0, const adzi_ode_kept *kept, adz_tensor **results);

#endif
