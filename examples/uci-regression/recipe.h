/* The recipe: a network with dropout, its training, and its predictions with dropout on. This is
 * the part to copy. The other files read data and print tables. */
#ifndef UCI_RECIPE_H
#define UCI_RECIPE_H

#include <adze/adze.h>

typedef struct network_shape {
    int64_t inputs, hidden, outputs;
    double input_dropout, dropout;
} network_shape;

/* The loss of outputs[N, K] against targets[N, 1]. */
typedef adz_tensor *(*loss_function)(adz_tensor *outputs, adz_tensor *target);

/* Rows x[N, D] and y[N, 1] in f64, in their own units. */
typedef struct samples {
    adz_dataset *train, *test;
} samples;

/* How a network is made, trained and scored. */
typedef struct recipe {
    int64_t hidden;
    double dropout, tau; /* tau is the precision (one over the variance) of the noise that the model
                            assumes, in the target's units */
    int64_t epochs, passes;
    bool capture; /* steps are captured and replayed, with the same bits */
} recipe;

typedef struct score {
    bool complete;          /* false after Ctrl-C, and then the other members are undefined */
    double rmse;            /* RMSE of the mean of the passes, in the target's units */
    double log_likelihood;  /* mean over the test rows */
    double rmse_no_dropout; /* RMSE of one pass without dropout */
    double ridge_rmse;      /* RMSE of ridge regression on the same rows */
} score;

/* Makes a network, which the caller frees with adz_module_release. All functions of this file draw
 * from the default generator. */
adz_module *new_network(const network_shape *shape);

/* Trains on standardised f32 rows, for the epochs of the recipe. The loss is `loss` plus `penalty`
 * times the sum of all squared weights. Returns the number of epochs that are done, which Ctrl-C
 * makes smaller. */
int64_t fit(
    adz_module *network, adz_dataset *rows, loss_function loss, double penalty, const recipe *how);

/* y[passes, N, K] from x[N, D], borrowed from the scope. Each pass draws its own dropout masks. */
adz_tensor *predict_passes(adz_module *network, adz_tensor *x, int64_t passes);

/* Trains a network by the recipe and scores it. */
score train_and_score(const samples *rows, const recipe *how);

#endif
