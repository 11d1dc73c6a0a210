/* The options of the program, as the command line gives them. */
#ifndef FORECAST_OPTIONS_H
#define FORECAST_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../shared/arguments.h"

enum { MOST_OPTIONS = 32 };

/* The kinds of model: four of networks, and the linear model. MODEL_AUTO tries all of them and
 * takes the one with the smallest error on the validation part. */
enum {
    MODEL_MLP,
    MODEL_GRU,
    MODEL_CONV,
    MODEL_TRANSFORMER,
    NETWORKS,
    MODEL_LINEAR = NETWORKS,
    MODELS,
    MODEL_AUTO = MODELS
};

/* How a network says how sure it is: it predicts a variance, or its dropout stays on. */
enum { BAND_VARIANCE, BAND_MC };

/* The options that describe the networks. They are saved together with the weights. */
typedef struct network {
    int model, band;
    bool positive; /* forecast the logarithms, so that forecasts and bands are positive */
    int64_t window, horizon, season;
    int64_t width; /* features inside the network */
    double dropout;
    int64_t members; /* networks whose predictions are averaged */
    int64_t passes;  /* predictions of each network with dropout on, for BAND_MC */
    int64_t seed;
} network;

typedef struct options {
    const char *data, *column; /* NULL: a series that the program makes */
    const char *time;          /* the column of times; NULL: rows are counted */
    network network;
    int64_t epochs, batch_size;
    double lr, weight_decay;
    int64_t jobs;
    bool no_capture;
    const char *load, *save, *output, *plot;
    int64_t forecast; /* steps beyond the end of the series; -1: as many as the horizon */
} options;

/* Reads the command line; ends the program for --help and for what it cannot read. */
options parse_options(int argc, char **argv);

/* Fills the table with the options that describe the networks, whose values are the members of
 * `n`. Returns their number. */
size_t network_options(network *n, argument *table);

/* Ends the program if values of the options do not fit each other. */
void check_network(const network *n);

/* The name of a kind of network: "mlp". */
const char *model_name(int model);

#endif
