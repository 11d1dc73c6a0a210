/* The options of uci-regression. */
#define _GNU_SOURCE
#include "options.h"

#include <unistd.h>

#include "../shared/arguments.h"
#include "../shared/svg.h"

const char program_name[] = "uci-regression";

static const char help[] =
    "Regression with dropout left on for prediction, on a benchmark with published\n"
    "results. Without FOLDER it learns a toy set whose noise grows from left to\n"
    "right, and draws how sure the network is.\n"
    "\n"
    "usage: uci-regression [OPTIONS] [FOLDER...]\n"
    "\n"
    "Each FOLDER is a set, or holds folders that are sets. A set consists of\n"
    "  data.csv       a table with a header line; the column y is predicted from all\n"
    "                 others\n"
    "  test_rows.txt  one line for each split: its test rows, counted from 0 without\n"
    "                 the header\n"
    "  hyper.txt      lines of a name and its values: hidden; epochs N or N xM (N\n"
    "                 times M); dropout and tau, the rates and precisions of --grid;\n"
    "                 and, one value for each split, chosen_dropout_per_split and\n"
    "                 chosen_tau_per_split\n"
    "\n"
    "  --grid      choose dropout and tau for each split: the best log likelihood on\n"
    "              a fifth of its training rows\n"
    "  --splits N  at most the first N splits of each set\n"
    "  --epochs N  number of epochs, instead of that in hyper.txt (toy set: 4000)\n"
    "  --passes N  forward passes with dropout on (10000)\n"
    "  --jobs N    splits trained at the same time; the results are the same bits\n"
    "              for any number (as many as there are processors)\n"
    "  --no-capture\n"
    "              make each step anew instead of replaying a captured one; the\n"
    "              results are the same bits\n"
    "  --seed N    of everything that is random (1)\n"
    "  --plot FILE the toy set's picture, as SVG; none draws none\n"
    "              (uncertainty.svg)\n"
    "\n"
    "The last lines read, one for each set: result: set=... rmse=... rmse_se=...\n"
    "ll=... ll_se=... rmse_no_dropout=... ridge_rmse=... seconds=...; a single split\n"
    "has no standard error (_se): it is left out. Ctrl-C and SIGTERM end the program\n"
    "with a report on the finished splits, or on the toy set as it is learnt by\n"
    "then; a second one ends it at once.\n";

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
    argument table[] = {
        OPTION_FLAG("grid", &o.grid),
        OPTION_WHOLE("splits", &o.splits, 1, INT32_MAX),
        OPTION_WHOLE("epochs", &o.epochs, 1, INT32_MAX),
        OPTION_WHOLE("passes", &o.passes, 1, 1000000),
        OPTION_WHOLE("jobs", &o.jobs, 1, 1024),
        OPTION_FLAG("no-capture", &o.no_capture),
        OPTION_WHOLE("seed", &o.seed, 0, 0x1p53),
        OPTION_TEXT("plot", &o.plot),
    };
    int rest = read_arguments(argc, argv, table, sizeof table / sizeof *table, help);
    check_plot_path(o.plot);
    o.folders = (const char *const *)argv + rest;
    o.n_folders = (size_t)(argc - rest);
    if (o.grid && o.n_folders == 0) {
        usage_error("--grid chooses for the splits of a set: name its folder");
    }
    return o;
}
