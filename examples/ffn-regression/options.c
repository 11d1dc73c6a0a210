/* The options of ffn-regression: their table, their checks, and the settings that a training keeps.
 */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../shared/arguments.h"
#include "../shared/files.h"
#include "../shared/svg.h"
#include "../shared/ranks.h"
#include "model.h"

const char program_name[] = "ffn-regression";

static const char help[] =
    "Trains a feed-forward network for regression with SGD. Without --data it learns\n"
    "an embedded problem: a noisy function of 8 inputs.\n"
    "\n"
    "usage: ffn-regression [OPTIONS]\n"
    "\n"
    "data\n"
    "  --data FILE.csv        table with a header line; needs --target\n"
    "  --target COLUMN        the column to predict, also --column\n"
    "  --features A,B,...     the columns to predict it from (every other column)\n"
    "  --delimiter C          the character between fields: , ; | tab (,)\n"
    "  --decimal C            the character before a fraction: . or , (.)\n"
    "  --missing HOW          what to do with rows that lack a value: error, drop\n"
    "                         (error)\n"
    "  --test-rows FILE       lines of test rows, counted from 0 without the header\n"
    "  --split N              which line of that file to use, from 0 (0)\n"
    "  --test SHARE           share of test rows, if there is no --test-rows (0.2)\n"
    "  --validation SHARE     share of validation rows among the others; the weights\n"
    "                         with the smallest RMSE there are kept, with 0 the last\n"
    "                         ones (0.1)\n"
    "network\n"
    "  --hidden N,N,...       widths of the hidden layers (50)\n"
    "  --activation NAME      relu, leaky_relu, elu, gelu, silu, tanh, sigmoid\n"
    "                         (relu)\n"
    "  --dropout P            probability of dropout after each hidden layer (0)\n"
    "  --gated                multiply each hidden layer by a linear gate\n"
    "training\n"
    "  --epochs N             passes over the training rows (400)\n"
    "  --batch-size N         rows per step (32)\n"
    "  --micro-batches N      parts of each batch, shared by the processes; the\n"
    "                         result depends on it, not on the number of processes\n"
    "                         (1; 8 under mpirun)\n"
    "  --lr X                 learning rate (0.02)\n"
    "  --momentum X           SGD's (0.9)\n"
    "  --weight-decay X       SGD's (0.0001)\n"
    "  --scheduler NAME       how the rate falls: cosine, step, exponential, none\n"
    "                         (cosine)\n"
    "  --patience N           stop after N epochs without a better validation RMSE\n"
    "                         (0: off)\n"
    "  --seed N               of everything that is random (1)\n" HELP_NO_CAPTURE_OF_RANKS
    "  --threads N            threads of large loops (as many as there are\n"
    "                         processors, divided among the processes of a machine)\n"
    "files\n"
    "  --save FILE            where to save (with --load that file, else\n"
    "                         model.safetensors)\n"
    "  --save-every N         save after every N epochs too (0: at the end only)\n"
    "  --load FILE            go on with an interrupted training, with the bits of a\n"
    "                         training without a break; if its training is over,\n"
    "                         begin another from its weights\n"
    "  --restart              with --load: begin another training in any case\n"
    "  --predict FILE.csv     write predictions with the loaded model, without\n"
    "                         training\n"
    "  --output FILE          where to write predictions (predictions.csv)\n"
    "  --export-c FILE.c      write the model as C99 that needs no library, and\n"
    "                         FILE.h: columns in, a prediction in the target's unit\n"
    "                         out; with --load at once, else after the training\n"
    "  --export-onnx FILE     write the model as ONNX: columns in, predictions in\n"
    "                         the target's unit out; with --load at once, else after\n"
    "                         the training\n"
    "  --history FILE         where to write loss and RMSE of each epoch\n"
    "                         (history.csv)\n"
    "  --plot FILE            loss curve, as SVG; none draws none (loss.svg)\n"
    "\n"
    "Ctrl-C and SIGTERM end the training, save and report; a second one ends the\n"
    "program. Give the same options and --load FILE to go on.\n"
    "mpirun -n N ffn-regression trains on N processes, on one machine or many. A\n"
    "last batch with fewer rows than micro-batches joins the batch before it.\n"
    "The last line reads: result: test_rmse=... test_r2=... ridge_rmse=...\n"
    "trivial_rmse=... train_rmse=... epochs=... seconds=...; ridge: linear\n"
    "regression with a penalty, on the same rows; trivial: the mean of the target.\n";

/* ---- values --------------------------------------------------------------------------------- */

/* Ends the text at its first comma and returns the text behind it, or NULL if there is no comma. */
static char *cut(char *text)
{
    char *comma = strchr(text, ',');
    if (comma != NULL) {
        *comma++ = '\0';
    }
    return comma;
}

static void read_features(void *to, char *text)
{
    options *o = to;
    for (char *next = text; next != NULL;) {
        char *name = next;
        next = cut(name);
        o->features = reallocate(o->features, o->n_features + 1, sizeof *o->features);
        o->features[o->n_features++] = name;
    }
}

static void read_hidden(void *to, char *text)
{
    options *o = to;
    o->n_hidden = 0;
    for (char *next = text; next != NULL;) {
        char *size = next;
        next = cut(size);
        if (*size == '\0') {
            usage_error(
                "--hidden: between, before or after the commas a size is missing; two layers are given as --hidden 20,10");
        }
        if (o->n_hidden == MAX_HIDDEN) {
            usage_error("--hidden: more than %d layers", MAX_HIDDEN);
        }
        o->hidden[o->n_hidden++] = whole("hidden", size, 1, 1 << 20);
    }
}

static void read_delimiter(void *to, char *text)
{
    bool tab = strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0;
    if (!tab && strlen(text) != 1) {
        usage_error("--delimiter %s: one character is wanted, or tab", text);
    }
    *(char *)to = tab ? '\t' : text[0];
}

static void read_decimal(void *to, char *text)
{
    if (strcmp(text, ".") != 0 && strcmp(text, ",") != 0) {
        usage_error("--decimal %s: a point or a comma is wanted", text);
    }
    *(char *)to = text[0];
}

static void read_activation(void *to, char *text)
{
    if (!is_activation(text)) {
        usage_error("--activation %s: no such activation; see --help", text);
    }
    *(const char **)to = text;
}

/* ---- the command line ----------------------------------------------------------------------- */

static const char *const schedules[] = { "none", "cosine", "step", "exponential", NULL };
static const char *const missing[] = { "error", "drop", NULL };

/* The table of options, whose values are the members of `o`. It begins with the shape of the
 * network, followed by the settings that a training keeps. */
enum { SHAPE = 4, N_OPTIONS = 35 };

typedef struct option_table {
    argument rows[N_OPTIONS];
} option_table;

static option_table table_of(options *o)
{
    return (option_table){ {
        OPTION_READ("hidden", o, read_hidden),
        OPTION_READ("activation", &o->activation, read_activation),
        OPTION_NUMBER("dropout", &o->dropout, 0, 0.999),
        OPTION_FLAG("gated", &o->gated),

        OPTION_WHOLE("epochs", &o->epochs, 1, INT32_MAX),
        OPTION_WHOLE("batch-size", &o->batch_size, 1, INT32_MAX),
        OPTION_NUMBER("lr", &o->lr, 0, 1e6),
        OPTION_NUMBER("momentum", &o->momentum, 0, 0.9999),
        OPTION_NUMBER("weight-decay", &o->weight_decay, 0, 1e6),
        OPTION_CHOICE("scheduler", &o->schedule, schedules),
        OPTION_WHOLE("patience", &o->patience, 0, INT32_MAX),
        OPTION_WHOLE("seed", &o->seed, 0, 0x1p53),
        OPTION_NUMBER("test", &o->test_share, 0.001, 0.999),
        OPTION_NUMBER("validation", &o->validation_share, 0, 0.999),
        OPTION_WHOLE("split", &o->split, 0, INT32_MAX),
        OPTION_CHOICE("missing", &o->missing, missing),
        OPTION_WHOLE("micro-batches", &o->micro_batches, 1, MOST_MICRO_BATCHES),

        OPTION_TEXT("data", &o->data),
        OPTION_TEXT("target", &o->target),
        OPTION_READ("features", o, read_features),
        OPTION_READ("delimiter", &o->delimiter, read_delimiter),
        OPTION_READ("decimal", &o->decimal, read_decimal),
        OPTION_TEXT("test-rows", &o->test_rows),
        OPTION_WHOLE("threads", &o->threads, 1, 1024),
        OPTION_FLAG("no-capture", &o->no_capture),
        OPTION_TEXT("save", &o->save),
        OPTION_WHOLE("save-every", &o->save_every, 0, INT32_MAX),
        OPTION_TEXT("load", &o->load),
        OPTION_FLAG("restart", &o->restart),
        OPTION_TEXT("predict", &o->predict),
        OPTION_TEXT("output", &o->output),
        OPTION_TEXT("export-onnx", &o->export_onnx),
        OPTION_TEXT("history", &o->history),
        OPTION_TEXT("plot", &o->plot),
        OPTION_TEXT("export-c", &o->export_c),
    } };
}

const char *training_setting(const options *o, int index, char *value, size_t size)
{
    options copy = *o;
    option_table t = table_of(&copy);
    argument_text(&t.rows[SHAPE + index], value, size);
    return t.rows[SHAPE + index].name;
}

void adopt_setting(options *o, int index, char *text)
{
    char here[64];
    option_table t = table_of(o);
    argument *row = &t.rows[SHAPE + index];
    argument_text(row, here, sizeof here);
    if ((o->given >> (SHAPE + index) & 1) != 0 && strcmp(here, text) != 0) {
        fail(
            "--%s %s: the training in %s goes on with %s; leave the option out, or add --restart to begin another training from its weights",
            row->name, here, o->load, text);
    }
    values_are_from(o->load);
    set_argument(row, text);
    values_are_from(NULL);
}

bool is_given(const options *o, const char *name)
{
    options copy = *o;
    option_table t = table_of(&copy);
    return (o->given >> (find_argument(t.rows, N_OPTIONS, name) - t.rows) & 1) != 0;
}

static void check_options(const options *o)
{
    if (o->data != NULL && o->target == NULL && o->load == NULL) {
        usage_error("--data needs --target, the column to predict");
    }
    if (o->data == NULL && (o->target != NULL || o->n_features > 0 || o->test_rows != NULL) &&
        o->predict == NULL) {
        usage_error("--target, --features and --test-rows belong to --data FILE.csv");
    }
    if (o->predict != NULL && o->load == NULL) {
        usage_error("--predict needs --load, the model to predict with");
    }
    if (o->predict != NULL && o->missing) {
        usage_error("--missing drop: every row of %s must get a prediction", o->predict);
    }
    if (o->export_onnx != NULL && o->load != NULL && (o->predict != NULL || o->restart)) {
        usage_error("--export-onnx with --load writes the loaded model and nothing else");
    }
    if (o->restart && o->load == NULL) {
        usage_error("--restart belongs to --load FILE");
    }
    check_plot_path(o->plot);
    if (o->patience > 0 && o->validation_share == 0) {
        usage_error("--patience needs validation rows: --validation SHARE");
    }
}

/* The temporary file in the folder of --save. Its name never changes, so a file that a killed
 * program left behind is replaced. */
static char *scratch_beside(const char *save)
{
    struct stat there;
    if (stat(save, &there) == 0 && !S_ISREG(there.st_mode)) {
        return NULL;
    }
    size_t size = strlen(save) + sizeof ".training.tmp";
    char *path = allocate(size);
    snprintf(path, size, "%s.training.tmp", save);
    return path;
}

/* Checks all files before anything is read or computed. */
static void check_paths(const options *o)
{
    const char *ending = o->export_c != NULL ? strrchr(o->export_c, '.') : NULL;
    if (o->export_c != NULL && (ending == NULL || strcmp(ending, ".c") != 0)) {
        usage_error("--export-c %s: the name of a C file ends with .c", o->export_c);
    }
    const file_use predicting[] = { { "predict", o->predict, false }, { "load", o->load, false },
        { "output", o->output, true }, { "export-c", o->export_c, true },
        { "export-onnx", o->export_onnx, true } };
    const file_use exporting[] = { { "load", o->load, false }, { "export-c", o->export_c, true },
        { "export-onnx", o->export_onnx, true } };
    bool back = o->load != NULL && same_file(o->load, o->save);
    const file_use training[] = { { "data", o->data, false }, { "test-rows", o->test_rows, false },
        { "load", back ? NULL : o->load, false }, { "save", o->save, true },
        { "export-c", o->export_c, true }, { "export-onnx", o->export_onnx, true },
        { "save", o->scratch, true }, { "history", o->history, true },
        { "plot", plot_file(o->plot), true } };
    if ((o->export_c != NULL || o->export_onnx != NULL) && o->load != NULL && o->predict == NULL) {
        check_files(exporting, sizeof exporting / sizeof *exporting);
    } else if (o->predict != NULL) {
        check_files(predicting, sizeof predicting / sizeof *predicting);
    } else {
        check_files(training, sizeof training / sizeof *training);
    }
}

static const options defaults = {
    .delimiter = ',',
    .decimal = '.',
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
    .output = "predictions.csv",
    .history = "history.csv",
    .plot = "loss.svg",
};

options parse_options(int argc, char **argv)
{
    options o = defaults;
    o.micro_batches = default_micro_batches();
    option_table t = table_of(&o);
    int rest = read_arguments(argc, argv, t.rows, N_OPTIONS, help);
    if (rest < argc) {
        usage_error("%s: what is it? Tables are given as --data FILE.csv", argv[rest]);
    }
    for (int i = 0; i < N_OPTIONS; ++i) {
        o.given |= (uint64_t)t.rows[i].given << i;
    }
    if (o.save == NULL) {
        o.save = o.load != NULL ? o.load : "model.safetensors";
    }
    o.scratch = scratch_beside(o.save);
    check_options(&o);
    if (is_first_rank()) {
        check_paths(&o);
    }
    compare_options(table_of(&o).rows, N_OPTIONS);
    compare_texts("the kind of file that --save names", o.scratch != NULL ? "a file" : "a device");
    return o;
}
