#define _GNU_SOURCE
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

const char program_name[] = "ffn-regression";

static const char help[] =
    "Trains a feed-forward network for regression with SGD.\n"
    "Without --data it learns an embedded problem: a noisy function of 8 inputs.\n"
    "\n"
    "usage: ffn-regression [OPTIONS]\n"
    "\n"
    "data\n"
    "  --data FILE.csv        table with a header line; needs --target\n"
    "  --target COLUMN        what to predict\n"
    "  --features A,B,...     what to predict it from (every other column)\n"
    "  --delimiter C          between fields: , ; | tab (,)\n"
    "  --missing HOW          rows with missing values: error, drop (error)\n"
    "  --test-rows FILE       test rows, counted from 0 without the header\n"
    "  --split N              which line of that file, from 0 (0)\n"
    "  --test SHARE           share of test rows, without --test-rows (0.2)\n"
    "  --validation SHARE     share of validation rows among the others (0.1)\n"
    "network\n"
    "  --hidden N,N,...       hidden sizes (50)\n"
    "  --activation NAME      relu, leaky_relu, elu, gelu, silu, tanh, sigmoid (relu)\n"
    "  --dropout P            after each hidden layer (0)\n"
    "  --gated                multiply each hidden layer by a linear gate\n"
    "training\n"
    "  --epochs N             (400)\n"
    "  --batch-size N         (32)\n"
    "  --lr X                 learning rate (0.02)\n"
    "  --momentum X           (0.9)\n"
    "  --weight-decay X       (0.0001)\n"
    "  --scheduler NAME       cosine, step, exponential, none (cosine)\n"
    "  --patience N           stop after N epochs without a better validation RMSE, and keep the\n"
    "                         best weights (0: off)\n"
    "  --seed N               (1)\n"
    "  --threads N            (as many as there are processors)\n"
    "files\n"
    "  --save FILE            the model (model.safetensors)\n"
    "  --load FILE            go on from a saved model\n"
    "  --predict FILE.csv     write predictions with the loaded model, without training\n"
    "  --output FILE          where to (predictions.csv)\n"
    "  --history FILE         loss and RMSE of each epoch (history.csv)\n"
    "  --plot FILE            loss curve, .svg or .png, drawn by gnuplot; none for none "
    "(loss.svg)\n"
    "\n"
    "Ctrl-C ends the training, saves and reports; once more ends the program.\n"
    "The last line reads: result: test_rmse=... test_r2=... trivial_rmse=... train_rmse=...\n"
    "epochs=... seconds=...\n";

/* ---- values --------------------------------------------------------------------------------- */

/* Cuts "a,b,c" at the commas; returns the rest, or NULL after the last. */
static char *cut(char *text)
{
    char *comma = strchr(text, ',');
    if (comma != NULL) {
        *comma++ = '\0';
    }
    return comma;
}

static void read_features(options *o, char *text)
{
    for (char *next = text; next != NULL;) {
        char *name = next;
        next = cut(name);
        o->features = reallocate(o->features, o->n_features + 1, sizeof *o->features);
        o->features[o->n_features++] = name;
    }
}

static void read_hidden(options *o, char *text)
{
    o->n_hidden = 0;
    for (char *next = text; next != NULL;) {
        char *size = next;
        next = cut(size);
        if (o->n_hidden == MAX_HIDDEN) {
            fail("--hidden: more than %d layers", MAX_HIDDEN);
        }
        o->hidden[o->n_hidden++] = whole("hidden", size, 1, 1 << 20);
    }
}

static schedule read_schedule(const char *text)
{
    static const char *const names[] = { "cosine", "step", "exponential", "none" };
    static const schedule all[] = { SCHEDULE_COSINE, SCHEDULE_STEP, SCHEDULE_EXPONENTIAL,
        SCHEDULE_NONE };
    return all[choice("scheduler", text, names, 4)];
}

static char read_delimiter(const char *text)
{
    if (strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0) {
        return '\t';
    }
    if (strlen(text) != 1) {
        fail("--delimiter %s: one character is wanted, or tab", text);
    }
    return text[0];
}

static bool read_missing(const char *text)
{
    static const char *const names[] = { "error", "drop" };
    return choice("missing", text, names, 2) == 1;
}

/* ---- the command line ----------------------------------------------------------------------- */

enum {
    DATA = 256,
    TARGET,
    FEATURES,
    DELIMITER,
    MISSING,
    TEST_ROWS,
    SPLIT,
    TEST,
    VALIDATION,
    HIDDEN,
    ACTIVATION,
    DROPOUT,
    GATED,
    EPOCHS,
    BATCH_SIZE,
    LR,
    MOMENTUM,
    WEIGHT_DECAY,
    SCHEDULER,
    PATIENCE,
    SEED,
    THREADS,
    SAVE,
    LOAD,
    PREDICT,
    OUTPUT,
    HISTORY,
    PLOT
};

static const struct option table[] = {
    { "help", no_argument, NULL, 'h' },
    { "data", required_argument, NULL, DATA },
    { "target", required_argument, NULL, TARGET },
    { "features", required_argument, NULL, FEATURES },
    { "delimiter", required_argument, NULL, DELIMITER },
    { "missing", required_argument, NULL, MISSING },
    { "test-rows", required_argument, NULL, TEST_ROWS },
    { "split", required_argument, NULL, SPLIT },
    { "test", required_argument, NULL, TEST },
    { "validation", required_argument, NULL, VALIDATION },
    { "hidden", required_argument, NULL, HIDDEN },
    { "activation", required_argument, NULL, ACTIVATION },
    { "dropout", required_argument, NULL, DROPOUT },
    { "gated", no_argument, NULL, GATED },
    { "epochs", required_argument, NULL, EPOCHS },
    { "batch-size", required_argument, NULL, BATCH_SIZE },
    { "lr", required_argument, NULL, LR },
    { "momentum", required_argument, NULL, MOMENTUM },
    { "weight-decay", required_argument, NULL, WEIGHT_DECAY },
    { "scheduler", required_argument, NULL, SCHEDULER },
    { "patience", required_argument, NULL, PATIENCE },
    { "seed", required_argument, NULL, SEED },
    { "threads", required_argument, NULL, THREADS },
    { "save", required_argument, NULL, SAVE },
    { "load", required_argument, NULL, LOAD },
    { "predict", required_argument, NULL, PREDICT },
    { "output", required_argument, NULL, OUTPUT },
    { "history", required_argument, NULL, HISTORY },
    { "plot", required_argument, NULL, PLOT },
    { NULL, 0, NULL, 0 },
};

static void set_data_option(options *o, int which, char *text)
{
    switch (which) {
    case DATA:
        o->data = text;
        break;
    case TARGET:
        o->target = text;
        break;
    case FEATURES:
        read_features(o, text);
        break;
    case DELIMITER:
        o->delimiter = read_delimiter(text);
        break;
    case MISSING:
        o->drop_missing = read_missing(text);
        break;
    case TEST_ROWS:
        o->test_rows = text;
        break;
    case SPLIT:
        o->split = whole("split", text, 0, INT32_MAX);
        break;
    case TEST:
        o->test_share = number("test", text, 0.001, 0.999);
        break;
    default:
        o->validation_share = number("validation", text, 0, 0.999);
        break;
    }
}

static void set_network_option(options *o, int which, char *text)
{
    o->shaped = true;
    switch (which) {
    case HIDDEN:
        read_hidden(o, text);
        break;
    case ACTIVATION:
        o->activation = text;
        if (!is_activation(text)) {
            fail("--activation %s: no such activation; see --help", text);
        }
        break;
    case DROPOUT:
        o->dropout = number("dropout", text, 0, 0.999);
        break;
    default:
        o->gated = true;
        break;
    }
}

static void set_training_option(options *o, int which, const char *text)
{
    switch (which) {
    case EPOCHS:
        o->epochs = whole("epochs", text, 1, INT32_MAX);
        break;
    case BATCH_SIZE:
        o->batch_size = whole("batch-size", text, 1, INT32_MAX);
        break;
    case LR:
        o->lr = number("lr", text, 0, 1e6);
        break;
    case MOMENTUM:
        o->momentum = number("momentum", text, 0, 0.9999);
        break;
    case WEIGHT_DECAY:
        o->weight_decay = number("weight-decay", text, 0, 1e6);
        break;
    case SCHEDULER:
        o->schedule = read_schedule(text);
        break;
    case PATIENCE:
        o->patience = whole("patience", text, 0, INT32_MAX);
        break;
    case SEED:
        o->seed = (uint64_t)whole("seed", text, 0, INT64_MAX);
        break;
    default:
        o->threads = (int)whole("threads", text, 1, 1024);
        break;
    }
}

static void set_file_option(options *o, int which, const char *text)
{
    const char **places[] = { &o->save, &o->load, &o->predict, &o->output, &o->history, &o->plot };
    *places[which - SAVE] = text;
}

static void check_options(const options *o)
{
    if (o->data != NULL && o->target == NULL && o->load == NULL) {
        fail("--data needs --target, the column to predict");
    }
    if (o->data == NULL && (o->target != NULL || o->n_features > 0 || o->test_rows != NULL) &&
        o->predict == NULL) {
        fail("--target, --features and --test-rows belong to --data FILE.csv");
    }
    if (o->predict != NULL && o->load == NULL) {
        fail("--predict needs --load, the model to predict with");
    }
    if (o->load != NULL && o->shaped) {
        fail("--load brings the network along; leave out --hidden, --activation, --dropout, "
             "--gated");
    }
    if (o->patience > 0 && o->validation_share == 0) {
        fail("--patience needs validation rows: --validation SHARE");
    }
}

options parse_options(int argc, char **argv)
{
    options o = {
        .delimiter = ',',
        .test_share = 0.2,
        .validation_share = 0.1,
        .hidden = { 50 },
        .n_hidden = 1,
        .activation = "relu",
        .epochs = 400,
        .batch_size = 32,
        .lr = 0.02,
        .momentum = 0.9,
        .weight_decay = 1e-4,
        .schedule = SCHEDULE_COSINE,
        .seed = 1,
        .save = "model.safetensors",
        .output = "predictions.csv",
        .history = "history.csv",
        .plot = "loss.svg",
    };
    for (int which; (which = getopt_long(argc, argv, "h", table, NULL)) != -1;) {
        if (which == 'h') {
            fputs(help, stdout);
            exit(0);
        } else if (which == '?') {
            fputs("ffn-regression --help lists the options\n", stderr);
            exit(2);
        } else if (which < HIDDEN) {
            set_data_option(&o, which, optarg);
        } else if (which < EPOCHS) {
            set_network_option(&o, which, optarg);
        } else if (which < SAVE) {
            set_training_option(&o, which, optarg);
        } else {
            set_file_option(&o, which, optarg);
        }
    }
    if (optind < argc) {
        fail("%s: what is it? Tables are given as --data FILE.csv", argv[optind]);
    }
    check_options(&o);
    return o;
}
