/* What the files of Levenberg-Marquardt share. levenberg_marquardt.c has the step,
 * least_squares_model.c the linear model of the residuals, and least_squares_extras.c the bounds
 * and the covariance. */
#ifndef ADZI_OPTIM_LEVENBERG_MARQUARDT_H
#define ADZI_OPTIM_LEVENBERG_MARQUARDT_H

#include "optim/closure.h"

/**
 * The sum of the squares of residuals as unit^2 square. The unit is a power of two near the largest
 * residual, so that the squares neither overflow nor underflow. A square that is infinite stands
 * for residuals that are not finite.
 */
typedef struct adzi_squares {
    double unit, square;
} adzi_squares;

/** Half the sum of the squares. Infinite if it overflows. */
double adzi_squares_loss(adzi_squares s);

/**
 * The linear model r + J h of the residuals at a point. Column j of J is divided by scale[j], and
 * the residuals by their unit, so a move z of the model is h[j] = z[j] unit / scale[j].
 * The tensors are f64, with references. Columns that must not move are 0.
 */
typedef struct adzi_lm_model {
    adz_tensor *r;       /* R[K, P] of the factors of the scaled J */
    adz_tensor *right;   /* -Q^T r, [K, 1] */
    adz_tensor *g;       /* the scaled J^T r, [P, 1] */
    adz_tensor *scale;   /* [P], see adzi_lm_memory */
    adz_tensor *lengths; /* [P]: of the columns of J; 0 where a parameter must not move */
    adzi_squares squares;
} adzi_lm_model;

/** The memory of an optimizer. */
typedef struct adzi_lm_memory {
    double func_evals, n_iter; /* of all steps */
    double damping, growth;    /* the next refused move multiplies the damping by `growth` */
    adz_tensor *scale;   /* [P], f64: the largest length that each column of J has had; or NULL */
    adzi_lm_model model; /* in a running step; NULL between steps */
} adzi_lm_memory;

/** Releases the tensors of a model. */
void adzi_lm_model_drop(adzi_lm_model *m);

/**
 * Calls the closure.
 *
 * @param r        receives the residuals as a vector with its graph, in the scope that is open
 * @param squares  receives the sum of their squares
 * @return         false with the error recorded
 */
bool adzi_lm_evaluate(adzi_search_run *run, adz_tensor **r, adzi_squares *squares);

/** Makes the model of the residuals r, which have their graph, and renews the scale of the memory.
 * If `bounded`, parameters at a bound that a decrease of the loss would cross must not move. False
 * with the error recorded. */
bool adzi_lm_model_make(adzi_search_run *run, adz_tensor *r, adzi_squares squares, bool bounded);

/** The largest cosine of an angle between the residuals and a column of J, 0 at a minimum. It does
 * not depend on the units of residuals and parameters. */
double adzi_lm_cosine(const adzi_lm_model *m);

/** The largest absolute value of a gradient of the loss. */
double adzi_lm_gradient(const adzi_lm_model *m);

/** A move, and what the model says of it. */
typedef struct adzi_lm_move {
    adz_tensor *next; /* the parameters after the move, borrowed; NULL with the error recorded */
    double length;    /* of the scaled move, in units of the residuals */
    double size;      /* of the scaled parameters */
    double promised;  /* the part of the sum of squares by which the model says that it falls */
} adzi_lm_move;

/** The move from x with this damping. The part `lr` of it is made, and bounds cut it. */
adzi_lm_move adzi_lm_move_from(
    const adzi_search_run *run, const adzi_lm_model *m, adz_tensor *x, double damping, double lr);

/** The bounds of all parameters as a vector of the parameters' dtype, borrowed. NULL if there are
 * none, or with the error recorded. There are both bounds or none. */
adz_tensor *adzi_lm_bound(const adzi_search_run *run, bool upper);

/** Whether the optimizer is one of adz_levenberg_marquardt_new. */
bool adzi_lm_is(const adz_optimizer *optimizer);

/** Checks that the parameters are within the bounds. False with the error recorded. */
bool adzi_lm_check_bounds(const adzi_search_run *run);

#endif
