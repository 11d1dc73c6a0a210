#define _GNU_SOURCE
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char program_name[] = "uci-regression";

static const char help[] =
    "Regression with dropout left on for prediction, on a benchmark with published results.\n"
    "Without FOLDER it learns a toy set whose noise grows from left to right, and draws what the\n"
    "network knows and what it does not.\n"
    "\n"
    "usage: uci-regression [OPTIONS] [FOLDER...]\n"
    "\n"
    "Each FOLDER is a set, or holds folders that are. A set consists of\n"
    "  data.csv       a table with a header line; the column y is predicted from all others\n"
    "  test_rows.txt  one line for each split: its test rows, counted from 0 without the header\n"
    "  hyper.txt      lines of a name and its values: hidden; epochs N or N xM (N times M);\n"
    "                 dropout and tau, the rates and precisions of --grid; and, one value for "
    "each\n"
    "                 split, chosen_dropout_per_split and chosen_tau_per_split\n"
    "\n"
    "  --grid      choose dropout and tau for each split: the best log likelihood on a fifth of "
    "its\n"
    "              training rows\n"
    "  --splits N  at most the first N splits of each set\n"
    "  --epochs N  instead of what hyper.txt says (toy set: 4000)\n"
    "  --passes N  forward passes with dropout on (10000)\n"
    "  --jobs N    splits trained at the same time; the results are the same bits for any number\n"
    "              (as many as there are processors)\n"
    "  --seed N    (1)\n"
    "  --plot FILE the toy set's picture, .svg or .png, drawn by gnuplot; none for none\n"
    "              (uncertainty.svg)\n"
    "\n"
    "The last lines read, one for each set: result: set=... rmse=... rmse_se=... ll=... ll_se=...\n"
    "rmse_no_dropout=... seconds=...; the standard errors (_se) of a single split are given as "
    "0.\n";

enum { GRID = 256, SPLITS, EPOCHS, PASSES, JOBS, SEED, PLOT };

static const struct option table[] = {
    { "help", no_argument, NULL, 'h' },
    { "grid", no_argument, NULL, GRID },
    { "splits", required_argument, NULL, SPLITS },
    { "epochs", required_argument, NULL, EPOCHS },
    { "passes", required_argument, NULL, PASSES },
    { "jobs", required_argument, NULL, JOBS },
    { "seed", required_argument, NULL, SEED },
    { "plot", required_argument, NULL, PLOT },
    { NULL, 0, NULL, 0 },
};

static void set_option(options *o, int which, const char *text)
{
    switch (which) {
    case GRID:
        o->grid = true;
        break;
    case SPLITS:
        o->splits = whole("splits", text, 1, INT32_MAX);
        break;
    case EPOCHS:
        o->epochs = whole("epochs", text, 1, INT32_MAX);
        break;
    case PASSES:
        o->passes = whole("passes", text, 1, 1000000);
        break;
    case JOBS:
        o->jobs = whole("jobs", text, 1, 1024);
        break;
    case SEED:
        o->seed = (uint64_t)whole("seed", text, 0, INT64_MAX);
        break;
    case PLOT:
        o->plot = text;
        break;
    case 'h':
        fputs(help, stdout);
        exit(0);
    default:
        fputs("uci-regression --help lists the options\n", stderr);
        exit(2);
    }
}

options parse_options(int argc, char **argv)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    options o = {
        .splits = INT32_MAX,
        .passes = 10000,
        .jobs = processors > 0 ? processors : 1,
        .seed = 1,
        .plot = "uncertainty.svg",
    };
    for (int which; (which = getopt_long(argc, argv, "h", table, NULL)) != -1;) {
        set_option(&o, which, optarg);
    }
    o.folders = (const char *const *)argv + optind;
    o.n_folders = (size_t)(argc - optind);
    if (o.grid && o.n_folders == 0) {
        fail("--grid chooses for the splits of a set: name its folder");
    }
    return o;
}
