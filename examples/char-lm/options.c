/* The options of char-lm: the table, the defaults that depend on other options, and the options of
 * a checkpoint. */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/arguments.h"
#include "../shared/ranks.h"
#include "checkpoint.h"

const char program_name[] = "char-lm";

static const char help[] =
    "Trains a language model on text, character by character, and lets it write.\n"
    "Without --data it learns the first chapters of a novel.\n"
    "\n"
    "usage: char-lm [OPTIONS]\n"
    "\n"
    "text\n"
    "  --data FILE            the text, in UTF-8\n"
    "  --tokens KIND          what a token is: characters, bytes, words (characters)\n"
    "  --max-vocab N          words: size of the vocabulary (60000)\n"
    "  --min-freq N           words: least frequency of a word in it (2)\n"
    "  --validation SHARE     share of the text, at its end, not to learn (0.1)\n"
    "model\n"
    "  --arch NAME            gpt2, transformer, transformer-xl, awd-lstm, qrnn\n"
    "                         (gpt2)\n"
    "  --layers N             number of layers (4; awd-lstm, qrnn: 3)\n"
    "  --heads N              heads of attention; not for awd-lstm and qrnn (4)\n"
    "  --d-model N            features of a token (128)\n"
    "  --hidden N             features inside feed-forward networks, or between\n"
    "                         recurrent layers (4 times d-model; awd-lstm: 13/8,\n"
    "                         qrnn: 11/4 of it)\n"
    "  --context N            tokens that the model sees at a time (64)\n"
    "  --memory N             transformer-xl: tokens remembered (as --context)\n"
    "  --ffn NAME             gelu, relu, swish, or gated: glu, bilinear, reglu,\n"
    "                         geglu, swiglu; not for awd-lstm and qrnn (gelu)\n"
    "  --dropout P            on the output of each layer (0)\n"
    "  --attention-dropout P, --ff-dropout P, --embed-dropout P, --input-dropout P,\n"
    "  --weight-dropout P, --output-dropout P\n"
    "                         one kind of dropout, instead of P from --dropout: P\n"
    "                         for attention, ff and embed (gpt2: ff, embed);\n"
    "                         recurrent: 2/15, 5/3, 4/3 and 2/3 of P for embed,\n"
    "                         input, weight and output, as fastai has it\n"
    "training\n"
    "  --steps N              training steps (2000)\n"
    "  --batch-size N         rows per step (12)\n"
    "  --micro-batches N      parts of each batch, shared by the processes; the\n"
    "                         result depends on it, not on the number of processes\n"
    "                         (1; 8 under mpirun)\n"
    "  --lr X                 highest learning rate (0.001; awd-lstm, qrnn: 0.005)\n"
    "  --schedule NAME        cosine: the rate rises in a line and falls in half a\n"
    "                         cosine. one-cycle: it rises from lr / 25 and falls,\n"
    "                         each in half a cosine, and beta1 moves the other way\n"
    "                         (cosine)\n"
    "  --min-lr X             the last rate (lr / 10; one-cycle: lr / 250000)\n"
    "  --warmup N             steps on which the rate rises (100, but at most a\n"
    "                         tenth of the steps; one-cycle: three tenths)\n"
    "  --beta1 X, --beta2 X   AdamW's (0.9, 0.99; one-cycle: 0.85 for beta1 at the\n"
    "                         highest rate)\n"
    "  --max-beta1 X          one-cycle: beta1 at the first and the last step (0.95)\n"
    "  --weight-decay X       AdamW's, for matrices and tables (0.1)\n"
    "  --clip X               largest norm of the gradient (1)\n"
    "  --alpha X, --beta X    awd-lstm, qrnn: penalty on activations and on their\n"
    "                         changes (0, 0; fastai: 2, 1)\n"
    "  --eval-every N         steps between two validations (500)\n"
    "  --seed N               of everything that is random (1)\n"
    "  --threads N            threads of large loops (as many as there are\n"
    "                         processors, divided among the processes of a machine)\n"
    "  --shard                each process keeps only a part of AdamW's state\n"
    "  --fast                 add up gradients in an order that depends on the\n"
    "                         processes\n" HELP_NO_CAPTURE_OF_RANKS "files\n"
    "  --save FILE            checkpoint, also at Ctrl-C and SIGTERM\n"
    "                         (char-lm.safetensors; with --load the file that it\n"
    "                         names)\n"
    "  --save-every N         steps between two checkpoints before the end (500; 0:\n"
    "                         none); the file is never half written\n"
    "  --stop-after N         stop after N steps, as Ctrl-C would, to go on later\n"
    "                         (0: off)\n"
    "  --load FILE            go on from a checkpoint, with the bits of a training\n"
    "                         without a break\n"
    "  --export-c FILE.c      write the network as C99 that needs no library, and\n"
    "                         FILE.h: numbers of --context tokens in, scores of the\n"
    "                         next one out; with --load at once, else after the\n"
    "                         training\n"
    "  --export-onnx FILE     write the network as ONNX: numbers of --context tokens\n"
    "                         in, scores of the next token after each of them out;\n"
    "                         with --load at once, else after the training\n"
    "writing\n"
    "  --sample-after X       while training, show a short text after X seconds, and\n"
    "                         each time after twice as many; 0 shows none (60)\n"
    "  --sample TEXT          continue TEXT: with --load at once, else after the\n"
    "                         training\n"
    "  --length N             tokens to write (500)\n"
    "  --temperature X        values below 1 prefer likely tokens; 0: always the\n"
    "                         likeliest (0.8)\n"
    "  --top-k N              draw among the N likeliest tokens only (0: all)\n"
    "  --window HOW           gpt2, transformer: when the context is full, half\n"
    "                         keeps the newer half, and slide computes the whole\n"
    "                         context again for each token (half)\n"
    "\n"
    "mpirun -n N char-lm trains on N processes, on one machine or many. A training\n"
    "without --sample shows short texts, the last one before its last line. Ctrl-C\n"
    "and SIGTERM end it after a step, and save; a second one ends the program.\n"
    "The last line of a training reads: result: val_loss=... bpc=... bigram_loss=...\n"
    "tokens_per_second=... seconds=...; the bigram model counts pairs of tokens, in\n"
    "the same text.\n";

const char *const arch_names[] = { "gpt2", "transformer", "transformer-xl", "awd-lstm", "qrnn",
    NULL };
const char *const ffn_names[] = { "gelu", "relu", "swish", "glu", "bilinear", "reglu", "geglu",
    "swiglu", NULL };
static const char *const schedules[] = { "cosine", "one-cycle", NULL };
static const char *const kinds[] = { "characters", "bytes", "words", NULL };
static const char *const windows[] = { "half", "slide", NULL };

static const options defaults = {
    .max_vocab = 60000,
    .min_freq = 2,
    .layers = -1,
    .heads = 4,
    .width = 128,
    .hidden = -1,
    .context = 64,
    .memory = -1,
    .attention_p = -1,
    .ff_p = -1,
    .embed_p = -1,
    .input_p = -1,
    .weight_p = -1,
    .output_p = -1,
    .micro_batches = -1,
    .batch = 12,
    .steps = 2000,
    .warmup = -1,
    .eval_every = 500,
    .seed = 1,
    .valid = 0.1,
    .lr = -1,
    .min_lr = -1,
    .beta1 = -1,
    .max_beta1 = -1,
    .beta2 = 0.99,
    .decay = 0.1,
    .clip = 1,
    .save_every = 500,
    .length = 500,
    .temperature = 0.8,
    .sample_after = 60,
};

/* ---- the table ------------------------------------------------------------------------------ */

enum { N_MODEL = 20, N_SAVED = 36, N_OPTIONS = 52 };

typedef struct option_table {
    argument rows[N_OPTIONS]; /* first the options that a checkpoint fixes, then the other ones that
                                 it saves */
} option_table;

/* Probabilities, for every dropout and for one kind. */
#define DROPOUT_OPTIONS(o)                                             \
    OPTION_NUMBER("dropout", &o->dropout, 0, 0.999),                   \
        OPTION_NUMBER("attention-dropout", &o->attention_p, 0, 0.999), \
        OPTION_NUMBER("ff-dropout", &o->ff_p, 0, 0.999),               \
        OPTION_NUMBER("embed-dropout", &o->embed_p, 0, 0.999),         \
        OPTION_NUMBER("input-dropout", &o->input_p, 0, 0.999),         \
        OPTION_NUMBER("weight-dropout", &o->weight_p, 0, 0.999),       \
        OPTION_NUMBER("output-dropout", &o->output_p, 0, 0.999)

/* How a step is computed. */
#define STEP_OPTIONS(o)                                             \
    OPTION_FLAG("shard", &o->shard), OPTION_FLAG("fast", &o->fast), \
        OPTION_FLAG("no-capture", &o->no_capture)

static option_table table_of(options *o)
{
    return (option_table){ {
        OPTION_CHOICE("arch", &o->arch, arch_names),
        OPTION_CHOICE("tokens", &o->tokens, kinds),
        OPTION_CHOICE("ffn", &o->ffn, ffn_names),
        OPTION_WHOLE("max-vocab", &o->max_vocab, 9, INT32_MAX),
        OPTION_WHOLE("min-freq", &o->min_freq, 1, INT32_MAX),
        OPTION_WHOLE("layers", &o->layers, 1, 1000),
        OPTION_WHOLE("heads", &o->heads, 1, 1000),
        OPTION_WHOLE("d-model", &o->width, 1, 1 << 20),
        OPTION_WHOLE("hidden", &o->hidden, 1, 1 << 20),
        OPTION_WHOLE("context", &o->context, 2, 1 << 20),
        OPTION_WHOLE("memory", &o->memory, 0, 1 << 20),
        DROPOUT_OPTIONS(o),
        OPTION_CHOICE("schedule", &o->schedule, schedules),
        OPTION_WHOLE("micro-batches", &o->micro_batches, 1, MOST_MICRO_BATCHES),
        OPTION_TEXT("data", &o->data),
        OPTION_WHOLE("batch-size", &o->batch, 1, 1 << 20),
        OPTION_WHOLE("steps", &o->steps, 1, INT32_MAX),
        OPTION_WHOLE("warmup", &o->warmup, 0, INT32_MAX),
        OPTION_WHOLE("eval-every", &o->eval_every, 1, INT32_MAX),
        OPTION_WHOLE("seed", &o->seed, 0, 0x1p53),
        OPTION_NUMBER("validation", &o->valid, 0.001, 0.9),
        OPTION_NUMBER("lr", &o->lr, 0, 1e6),
        OPTION_NUMBER("min-lr", &o->min_lr, 0, 1e6),
        OPTION_NUMBER("beta1", &o->beta1, 0, 0.999999),
        OPTION_NUMBER("max-beta1", &o->max_beta1, 0, 0.999999),
        OPTION_NUMBER("beta2", &o->beta2, 0, 0.999999),
        OPTION_NUMBER("weight-decay", &o->decay, 0, 1e6),
        OPTION_NUMBER("clip", &o->clip, 0, 1e30),
        OPTION_NUMBER("alpha", &o->alpha, 0, 1e6),
        OPTION_NUMBER("beta", &o->beta, 0, 1e6),
        OPTION_TEXT("save", &o->save),
        OPTION_WHOLE("stop-after", &o->stop_after, 0, INT32_MAX),
        OPTION_WHOLE("save-every", &o->save_every, 0, INT32_MAX),
        OPTION_TEXT("load", &o->load),
        OPTION_TEXT("sample", &o->sample),
        OPTION_TEXT("export-c", &o->export_c),
        OPTION_TEXT("export-onnx", &o->export_onnx),
        OPTION_WHOLE("length", &o->length, 1, INT32_MAX),
        OPTION_WHOLE("top-k", &o->top_k, 0, INT32_MAX),
        OPTION_WHOLE("threads", &o->threads, 1, 1024),
        OPTION_NUMBER("temperature", &o->temperature, 0, 1e6),
        OPTION_NUMBER("sample-after", &o->sample_after, 0, 1e9),
        OPTION_CHOICE("window", &o->window, windows),
        STEP_OPTIONS(o),
    } };
}

/* ---- defaults that depend on other options -------------------------------------------------- */

static void choose(double *value, double otherwise)
{
    *value = *value < 0 ? otherwise : *value;
}

static void choose_whole(int64_t *value, int64_t otherwise)
{
    *value = *value < 0 ? otherwise : *value;
}

static double at_most(double p)
{
    return p < 0.9 ? p : 0.9;
}

/* Defaults for one-cycle are those of PyTorch and fastai. */
static void fill_in_schedule(options *o)
{
    bool cycle = o->schedule == SCHEDULE_ONE_CYCLE;
    int64_t warmup = o->steps < 1000 ? o->steps / 10 : 100;
    choose_whole(&o->warmup, cycle ? o->steps * 3 / 10 : warmup);
    choose(&o->min_lr, cycle ? o->lr / 25 / 1e4 : o->lr / 10);
    choose(&o->beta1, cycle ? 0.85 : 0.9);
    choose(&o->max_beta1, cycle ? 0.95 : o->beta1);
}

static void fill_in(options *o)
{
    bool recurrent = o->arch == AWD_LSTM || o->arch == QRNN;
    bool attends = o->arch == TRANSFORMER || o->arch == TRANSFORMER_XL;
    double p = o->dropout;
    choose_whole(&o->layers, recurrent ? 3 : 4);
    choose_whole(&o->hidden, o->arch == AWD_LSTM ? o->width * 13 / 8
                             : o->arch == QRNN   ? o->width * 11 / 4
                                                 : o->width * 4);
    choose_whole(&o->memory, o->context);
    choose(&o->attention_p, attends ? p : 0);
    choose(&o->ff_p, recurrent ? 0 : p);
    choose(&o->embed_p, recurrent ? p * 2 / 15 : p);
    choose(&o->input_p, recurrent ? at_most(p * 5 / 3) : 0);
    choose(&o->weight_p, recurrent ? at_most(p * 4 / 3) : 0);
    choose(&o->output_p, recurrent ? p * 2 / 3 : 0);
    choose(&o->lr, recurrent ? 0.005 : 0.001);
    choose_whole(&o->micro_batches, default_micro_batches());
    fill_in_schedule(o);
}

static void check_options(const options *o)
{
    bool recurrent = o->arch == AWD_LSTM || o->arch == QRNN;
    if (!recurrent && o->width % o->heads != 0) {
        usage_error("--heads %lld: they must divide --d-model %lld", (long long)o->heads,
            (long long)o->width);
    }
    if (o->arch == TRANSFORMER_XL && o->width % 2 != 0) {
        usage_error("--d-model %lld: transformer-xl wants an even number", (long long)o->width);
    }
    if (o->ffn != FFN_GELU && recurrent) {
        usage_error(
            "--ffn %s: %s has no feed-forward networks", ffn_names[o->ffn], arch_names[o->arch]);
    }
    bool attends = o->arch == TRANSFORMER || o->arch == TRANSFORMER_XL;
    if ((o->attention_p > 0 && !attends) || (o->ff_p > 0 && recurrent) ||
        (o->input_p > 0 && !recurrent) || (o->weight_p > 0 && !recurrent) ||
        (o->output_p > 0 && o->arch == GPT2)) {
        usage_error("--arch %s has no such dropout; see --help", arch_names[o->arch]);
    }
    if ((o->alpha > 0 || o->beta > 0) && !recurrent) {
        usage_error("--alpha and --beta belong to awd-lstm and qrnn");
    }
    bool cycle = o->schedule == SCHEDULE_ONE_CYCLE;
    if (!cycle && o->max_beta1 != o->beta1) {
        usage_error("--max-beta1 belongs to --schedule one-cycle");
    }
    if (cycle && o->warmup > o->steps) {
        usage_error("--warmup %lld: the cycle has no more than --steps %lld", (long long)o->warmup,
            (long long)o->steps);
    }
    if (o->load == NULL || (o->sample == NULL && o->export_c == NULL && o->export_onnx == NULL)) {
        check_micro_batches(o->micro_batches, o->batch);
    }
}

/* An option that would have no effect is an error: the user expected one. */
static void check_given(option_table *t, const options *o)
{
    if (o->data != NULL && strchr(o->data, '\n') != NULL) {
        usage_error("--data: there is a line break in the name, which a checkpoint cannot keep");
    }
    const char *ending = o->export_c != NULL ? strrchr(o->export_c, '.') : NULL;
    if (o->export_c != NULL && (ending == NULL || strcmp(ending, ".c") != 0)) {
        usage_error("--export-c %s: the name of a C file ends with .c", o->export_c);
    }
    bool recurrent = o->arch == AWD_LSTM || o->arch == QRNN;
    bool of_words = o->tokens == ADZ_TOKENS_WORDS, writes = o->sample != NULL;
    const struct {
        const char *name;
        bool used;
        const char *owner;
    } rules[] = {
        { "heads", !recurrent, "--arch gpt2, transformer and transformer-xl" },
        { "memory", o->arch == TRANSFORMER_XL, "--arch transformer-xl" },
        { "window", o->arch == GPT2 || o->arch == TRANSFORMER, "--arch gpt2 and transformer" },
        { "max-vocab", of_words, "--tokens words" },
        { "min-freq", of_words, "--tokens words" },
        { "length", writes, "--sample" },
        { "sample-after", !writes, "trainings without --sample" },
        { "temperature", writes, "--sample" },
        { "top-k", writes, "--sample" },
        { "window", writes, "--sample" },
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; ++i) {
        if (!rules[i].used && find_argument(t->rows, N_OPTIONS, rules[i].name)->given) {
            usage_error("--%s belongs to %s", rules[i].name, rules[i].owner);
        }
    }
}

/* ---- checkpoints ---------------------------------------------------------------------------- */

char *options_text(const options *o)
{
    options copy = *o;
    option_table t = table_of(&copy);
    size_t size = N_SAVED * 64 + (o->data != NULL ? strlen(o->data) : 0), used = 0;
    char *text = allocate(size), value[4096];
    for (size_t i = 0; i < N_SAVED; ++i) {
        used += (size_t)snprintf(text + used, size - used, "%s=%s\n", t.rows[i].name,
            argument_text(&t.rows[i], value, sizeof value));
    }
    return text;
}

/* Reads the lines that options_text wrote. `text` is cut at the lines' ends and must live as long
 * as the options. */
static void read_options_text(options *o, const char *path, char *text)
{
    option_table t = table_of(o);
    values_are_from(path);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char *value = strchr(line, '=');
        if (value == NULL) {
            fail("%s: '%s' is no option", path, line);
        }
        *value++ = '\0';
        argument *row = find_argument(t.rows, N_SAVED, line);
        if (row == NULL) {
            fail("%s: there is no option '%s'", path, line);
        }
        if (*value != '\0') {
            set_argument(row, value);
        }
    }
    values_are_from(NULL);
}

/* Options in addition to --load must not contradict the model in the checkpoint. A training goes on
 * with its seed as well, while --sample may write with another one. */
static options go_on_with(options *given, option_table *line)
{
    options o = *given;
    o.loaded = checkpoint_options(given->load);
    read_options_text(&o, given->load, o.loaded);
    option_table t = table_of(&o);
    for (size_t i = 0; i < N_SAVED; ++i) {
        char here[4096], there[4096];
        argument_text(&line->rows[i], here, sizeof here);
        argument_text(&t.rows[i], there, sizeof there);
        bool seed = t.rows[i].to == &o.seed && given->sample == NULL;
        if (line->rows[i].given && (i < N_MODEL || seed) && strcmp(here, there) != 0) {
            fail("--%s %s: the model in %s has %s %s", line->rows[i].name, here, given->load,
                line->rows[i].name, there);
        }
        if (line->rows[i].given && line->rows[i].kind == ARGUMENT_TEXT) {
            *(const char **)t.rows[i].to = *(const char **)line->rows[i].to;
        } else if (line->rows[i].given) {
            set_argument(&t.rows[i], here);
        }
    }
    return o;
}

void free_options(options *o)
{
    free(o->loaded);
    o->loaded = NULL;
}

options parse_options(int argc, char **argv)
{
    options o = defaults;
    option_table t = table_of(&o);
    int rest = read_arguments(argc, argv, t.rows, N_OPTIONS, help);
    if (rest < argc) {
        usage_error("%s: what is it? A text is given as --data FILE", argv[rest]);
    }
    if (o.load != NULL) {
        o = go_on_with(&o, &t);
    }
    if (o.save == NULL) {
        o.save = o.load != NULL ? o.load : "char-lm.safetensors";
    }
    fill_in(&o);
    values_are_from(o.load);
    check_options(&o);
    values_are_from(NULL);
    check_given(&t, &o);
    compare_options(table_of(&o).rows, N_OPTIONS);
    return o;
}
