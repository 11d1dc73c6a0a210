/* The options of forecast: the table, the defaults, and the checks. */
#define _GNU_SOURCE
#include "options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../shared/steps.h"
#include "../shared/svg.h"

const char program_name[] = "forecast";

static const char help[] =
    "Forecasts a time series with a linear model or with networks that predict what\n"
    "it leaves, says how sure the forecast is, and compares it with the naive and\n"
    "the seasonal-naive forecast on the last fifth of the series. Without --data it\n"
    "forecasts a series of 360 months that it makes.\n"
    "\n"
    "usage: forecast [OPTIONS]\n"
    "\n"
    "data\n"
    "  --data FILE.csv     table with a header line, one row for each step of time\n"
    "  --column NAME       the column to forecast, also --target. A missing value\n"
    "                      (NA, or an empty field among others) is interpolated and\n"
    "                      left out of all errors\n"
    "  --time COLUMN       the times of the rows, for the picture and the forecasts:\n"
    "                      dates (2024-12-31, 2024-12, 2024Q4, Dec-31-2024,\n"
    "                      20241231, all but the last three also with 23:59:59) or\n"
    "                      numbers (rows are counted)\n"
    "  --season N          steps after which the series repeats itself; 1 if it does\n"
    "                      not (12)\n"
    "  --horizon N         steps to forecast (12)\n"
    "  --window N          steps that a network reads (a season, and at least 24)\n"
    "  --positive          the series is positive: forecast its logarithms, so that\n"
    "                      no forecast and no band is 0 or less. The forecast is the\n"
    "                      median then\n"
    "model\n"
    "  --model NAME        linear: autoregressions, fitted again at each origin;\n"
    "                      mlp, gru, conv or transformer: networks that predict what\n"
    "                      the linear model leaves; auto: the best of the five on\n"
    "                      the validation part (auto)\n"
    "networks\n"
    "  --band KIND         variance: the networks predict a variance; mc: their\n"
    "                      dropout stays on and the noise is measured on the\n"
    "                      validation part (variance)\n"
    "  --width N           features inside a network, a multiple of 4 (16)\n"
    "  --dropout X         share of features that are dropped (0.1)\n"
    "  --members N         networks whose forecasts are averaged (5)\n"
    "  --passes N          forecasts of each network with dropout on, for --band mc\n"
    "                      (50)\n"
    "training\n"
    "  --epochs N          most epochs; the validation part chooses how many, and\n"
    "                      training ends when 20 epochs have brought no smaller\n"
    "                      error there (60)\n"
    "  --batch-size N      windows per step (32)\n"
    "  --lr X              learning rate of AdamW (0.002)\n"
    "  --weight-decay X    its weight decay (0.01)\n"
    "  --seed N            of everything that is random (1)\n"
    "  --jobs N            networks trained at the same time; the results are the\n"
    "                      same bits for any number (as many as there are\n"
    "                      processors)\n"
    "  --no-capture        make each step anew instead of replaying a captured one;\n"
    "                      the results are the same bits\n"
    "files\n"
    "  --save FILE         where to save the model (forecast.safetensors)\n"
    "  --load FILE         forecast with a saved model, without training\n"
    "  --forecast N        steps to forecast beyond the end of the series (the\n"
    "                      horizon)\n"
    "  --output FILE       where to write that forecast with its bands\n"
    "                      (forecast.csv)\n"
    "  --plot FILE         picture, as SVG; none draws none (forecast.svg)\n"
    "\n"
    "The last fifth of the series is the test part, which chooses nothing. The\n"
    "second half of what lies before it is the validation part. It weighs the\n"
    "autoregressions of the linear model and chooses the kind of model and the\n"
    "number of epochs. Then networks are trained on all that lies before the test\n"
    "part. auto takes networks only if they beat the linear model on the validation\n"
    "part by more than chance would. At each origin the linear model is fitted\n"
    "again. The bands, and the share of the networks' prediction that is added,\n"
    "follow from the errors of past forecasts that are known there. Files are\n"
    "written at the end, so Ctrl-C leaves none.\n"
    "The last line reads: result: rmse=... mase=... naive_rmse=...\n"
    "seasonal_naive_rmse=... linear_rmse=... coverage80=... coverage95=...\n"
    "seconds=...\n";

static const char *const models[] = { "mlp", "gru", "conv", "transformer", "linear", "auto", NULL };
static const char *const bands[] = { "variance", "mc", NULL };

enum { LONGEST = 1 << 16, LEAST_WINDOW = 24 };

const char *model_name(int model)
{
    return models[model];
}

size_t network_options(network *n, argument *table)
{
    const argument all[] = {
        OPTION_CHOICE("model", &n->model, models),
        OPTION_CHOICE("band", &n->band, bands),
        OPTION_FLAG("positive", &n->positive),
        OPTION_WHOLE("window", &n->window, 1, LONGEST),
        OPTION_WHOLE("horizon", &n->horizon, 1, LONGEST),
        OPTION_WHOLE("season", &n->season, 1, LONGEST),
        OPTION_WHOLE("width", &n->width, 4, 1 << 12),
        OPTION_NUMBER("dropout", &n->dropout, 0, 0.99),
        OPTION_WHOLE("members", &n->members, 1, 1000),
        OPTION_WHOLE("passes", &n->passes, 2, 100000),
        OPTION_WHOLE("seed", &n->seed, 0, 0x1p53),
    };
    memcpy(table, all, sizeof all);
    return sizeof all / sizeof *all;
}

static const options defaults = {
    .network = { .model = MODEL_AUTO,
        .horizon = 12,
        .season = 12,
        .width = 16,
        .dropout = 0.1,
        .members = 5,
        .passes = 50,
        .seed = 1 },
    .epochs = 60,
    .batch_size = 32,
    .lr = 0.002,
    .weight_decay = 0.01,
    .output = "forecast.csv",
    .plot = "forecast.svg",
    .forecast = -1,
};

static size_t other_options(options *o, argument *table)
{
    const argument all[] = {
        OPTION_TEXT("data", &o->data),
        OPTION_TEXT("column", &o->column),
        OPTION_TEXT("time", &o->time),
        OPTION_WHOLE("epochs", &o->epochs, 1, 100000),
        OPTION_WHOLE("batch-size", &o->batch_size, 1, 1 << 20),
        OPTION_NUMBER("lr", &o->lr, 1e-12, 1e6),
        OPTION_NUMBER("weight-decay", &o->weight_decay, 0, 1e6),
        OPTION_WHOLE("jobs", &o->jobs, 1, 1024),
        OPTION_FLAG("no-capture", &o->no_capture),
        OPTION_TEXT("load", &o->load),
        OPTION_TEXT("save", &o->save),
        OPTION_WHOLE("forecast", &o->forecast, 1, LONGEST),
        OPTION_TEXT("output", &o->output),
        OPTION_TEXT("plot", &o->plot),
    };
    memcpy(table, all, sizeof all);
    return sizeof all / sizeof *all;
}

/* ---- checks --------------------------------------------------------------------------------- */

void check_network(const network *n)
{
    if (n->width % 4 != 0) {
        usage_error("--width %lld: a multiple of 4 is wanted, for the heads of the transformer",
            (long long)n->width);
    }
    if (n->band == BAND_MC && n->dropout == 0) {
        usage_error("--band mc needs a --dropout above 0: its spread is the band");
    }
}

/* An option that would have no effect is an error: the user expected one. */
static void check_given(const options *o, argument *table, size_t n, size_t n_network)
{
    static const char *const of_training[] = { "epochs", "batch-size", "lr", "weight-decay", "jobs",
        "no-capture", "save" };
    for (size_t i = 0; i < n_network && o->load != NULL; ++i) {
        if (table[i].given) {
            usage_error("--load brings the networks along; leave out --%s", table[i].name);
        }
    }
    for (size_t i = 0; i < sizeof of_training / sizeof *of_training && o->load != NULL; ++i) {
        if (find_argument(table, n, of_training[i])->given) {
            usage_error("--load forecasts without training; leave out --%s", of_training[i]);
        }
    }
    static const char *const of_networks[] = { "band", "width", "dropout", "members", "passes",
        "epochs", "batch-size", "lr", "weight-decay", "no-capture" };
    for (size_t i = 0; i < sizeof of_networks / sizeof *of_networks; ++i) {
        if (o->load == NULL && o->network.model == MODEL_LINEAR &&
            find_argument(table, n, of_networks[i])->given) {
            usage_error("--model linear trains no networks; leave out --%s", of_networks[i]);
        }
    }
    if (o->network.band != BAND_MC && find_argument(table, n, "passes")->given) {
        usage_error("--passes belongs to --band mc");
    }
}

static void check_data(const options *o)
{
    if (o->data != NULL && o->column == NULL) {
        usage_error("--data needs --column NAME, the column to forecast");
    }
    if (o->data == NULL && o->column != NULL) {
        usage_error("--column belongs to --data FILE.csv");
    }
    if (o->data == NULL && o->time != NULL) {
        usage_error("--time belongs to --data FILE.csv");
    }
}

options parse_options(int argc, char **argv)
{
    options o = defaults;
    argument table[MOST_OPTIONS];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    o.jobs = processors > 0 ? processors : 1;
    size_t n_network = network_options(&o.network, table);
    size_t n = n_network + other_options(&o, table + n_network);
    int rest = read_arguments(argc, argv, table, n, help);
    if (rest < argc) {
        usage_error("%s: what is it? A table is given as --data FILE.csv", argv[rest]);
    }
    check_given(&o, table, n, n_network);
    check_data(&o);
    check_plot_path(o.plot);
    check_network(&o.network);
    if (!find_argument(table, n, "window")->given) {
        o.network.window = o.network.season > LEAST_WINDOW ? o.network.season : LEAST_WINDOW;
    }
    o.save = o.save == NULL && o.load == NULL ? "forecast.safetensors" : o.save;
    return o;
}
