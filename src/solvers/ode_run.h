/* The first run of a solution. */
#ifndef ADZI_SOLVERS_ODE_RUN_H
#define ADZI_SOLVERS_ODE_RUN_H

#include "solvers/ode.h"

/** What a run collects. */
typedef struct adzi_ode_run {
    adzi_ode *ode;
    adz_tensor *y, *first; /* the state, and f there; first is NULL if it is not known */
    adz_tensor *state;     /* with which the next step begins: y, or differences (ode_bdf.h) */
    adz_tensor *stiff[3];  /* of ADZ_ODE_BDF: the Jacobian and the factors, or NULL */
    adz_tensor *out;       /* [T, ...], the states at the times */
    adz_tensor *kept;      /* [C, ...], states for the backward; NULL if none is wanted */
    adz_tensor *memory;    /* of ode->ends */
    adz_tensor *path; /* [room, n], f64, after each step of ADZ_ODE_BDF, for forward derivatives;
                         NULL if none is wanted, or if it would take too much memory */
    int64_t stride, next;               /* of the kept states; the next time */
    adz_tensor *hits;                   /* memory of ode->hits */
    adz_tensor *hit_times, *hit_states; /* [room] and [room, ...], in the order of ode->hits */
    double t, h; /* the time, with error control or events; the next step, with error control */
    int64_t counts[ADZ_ODE_EVENTS]; /* hits of each event */
    double signs[ADZ_ODE_EVENTS];   /* of the functions of the events */
    size_t mark;                    /* of the scope: what was made before stays */
    bool records;                   /* steps are recorded for `graph` */
    int64_t most_steps;             /* of which the graph may be kept */
    adzi_ode_graph graph;           /* its states lie in `list` */
    adz_tensor *list, *fresh[2];
    size_t n_fresh; /* states of the running step */
} adzi_ode_run;

/** Checks the tensors, and whether the form of the solution can be computed, captured or exported.
 * Sets n_times. False with the error recorded. */
bool adzi_ode_check(adzi_ode *ode, const adz_tensor *y0);

/** Reads the times, which must all increase or all decrease, into `at`, and mirrors them (Note
 * [Time backwards]). If a plan captures, `at` stays NULL, and each replay checks its times. False
 * with the error recorded. */
bool adzi_ode_read_times(adzi_ode *ode);

/** Checks the times of a solution in a plan, also in each replay. False with the error recorded. */
bool adzi_ode_check_times(adzi_ode *ode);

/** Whether the steps are those of a while loop: with error control, in a plan or an export. */
bool adzi_ode_may_while(const adzi_ode *ode);

/** The solution by a while loop, without gradients. False with the error recorded. */
bool adzi_ode_while(adzi_ode *ode, adz_tensor *y0, adz_tensor **results);

/** Whether the steps are scans: fixed steps of a Runge-Kutta method, in a plan or an export. -1
 * with the error recorded. */
int adzi_ode_may_scan(const adzi_ode *ode, const adz_tensor *y0);

/** The solution by scans over its steps. The results have the graph of the steps. False with the
 * error recorded. */
bool adzi_ode_scan(adzi_ode *ode, adz_tensor *y0, adz_tensor **results);

/** Checks the states of fixed steps, also in each replay. `y` is one of them. False with the error
 * recorded. */
bool adzi_ode_check_finite(const adzi_ode *ode, adz_tensor *out, const adz_tensor *y);

/** Replaces the state and the arguments by leaves if the steps are to be recorded. False with the
 * error recorded. */
bool adzi_ode_graph_begin(adzi_ode_run *run, const adz_tensor *y0, adz_tensor *const *arguments);

/** Takes up the states of a step that was accepted, after which the graph may be given up. False
 * with the error recorded. */
bool adzi_ode_graph_take(adzi_ode_run *run, adzi_ode_move *move);

/** Begins to hear which leaves the functions use. They belong to the scope. False with the error
 * recorded. */
bool adzi_ode_leaves_begin(adzi_ode_run *run);

/** The following steps are not recorded. */
void adzi_ode_leaves_records_no_more(adzi_ode *ode);

/** The run is over. */
void adzi_ode_leaves_end(adzi_ode *ode);

/** A step of the run. */
bool adzi_ode_run_step(adzi_ode_run *run, const adzi_ode_span *span, adzi_ode_move *move);

/** Finds the signs of the functions of the events, -1, 0 or 1, right after the first time. `reach`
 * is the time in which rounding errors of the state grow as its slope run->first says. */
bool adzi_ode_events_begin(adzi_ode_run *run, double reach);

/** Notes the hits of a step that was accepted. If one of them ends the solution, ode->ended says
 * so, and ode->n_times becomes the number of times up to there. False with the error recorded. */
bool adzi_ode_take_hits(adzi_ode_run *run, const adzi_ode_span *span, const adzi_ode_move *move);

/** The results of a run: the states at the times, and what was collected of each event. */
bool adzi_ode_run_results(const adzi_ode_run *run, adz_tensor **results);

/** Steps with error control, to the last time or to the event. */
bool adzi_ode_adapt(adzi_ode_run *run);

/** The steps of ADZ_ODE_BDF, from run->t with run->h. */
bool adzi_ode_adapt_bdf(adzi_ode_run *run, double end);

/** Notes the end of one more step, which goes no further than `stop`. False with the error recorded
 * if none may be tried. */
bool adzi_ode_may_step(adzi_ode_run *run, double stop);

/** Room for the end and the order of one more step. False with the error recorded. */
bool adzi_ode_reserve_end(adzi_ode_run *run);

/** Accepts step k: finds the events in it and writes the states at its times. True in *over if an
 * event has ended the solution. */
bool adzi_ode_accept(
    adzi_ode_run *run, int64_t k, const adzi_ode_span *span, adzi_ode_move *move, bool *over);

/** Keeps the state before step k, if it is one of those to keep. */
bool adzi_ode_keep_state(adzi_ode_run *run, int64_t k);

/** Writes the states at the times in step k to `out`. */
bool adzi_ode_write_states(adzi_ode_run *run, const adzi_ode_span *span, const adzi_ode_move *move);

/** Goes on to the end of a step, and releases what the step has made. */
bool adzi_ode_go_on(adzi_ode_run *run, adzi_ode_move *move);

#endif
