/* The options of text-classifier: the table, the defaults, and the checks. */
#include "options.h"

#include <stdio.h>
#include <string.h>

#include "../pretrained/folder.h"
#include "../shared/steps.h"

const char program_name[] = "text-classifier";

static const char help[] =
    "Trains a classifier of texts: an encoder (AWD-LSTM, QRNN, Transformer,\n"
    "Transformer-XL) and a head that pools over time, from scratch or from the\n"
    "encoder of a language model. Without --data it learns reviews drawn from a\n"
    "grammar, whose verdict a rule decides (see grammar.h); a tenth of the labels is\n"
    "wrong, so that the best possible accuracy is 0.9.\n"
    "\n"
    "usage: text-classifier [OPTIONS]\n"
    "\n"
    "data\n"
    "  --data FILE.csv        table with a header line, in UTF-8\n"
    "  --text COLUMN          the column to read (text)\n"
    "  --label COLUMN         the column to predict (label)\n"
    "  --test SHARE           share of test rows (0.2)\n"
    "  --validation SHARE     share of validation rows among the others (0.1)\n"
    "  --examples N           texts to draw from the grammar (5000)\n"
    "  --write-data FILE.csv  write those texts, with their labels\n"
    "tokens\n"
    "  --tokens KIND          words, characters (words; with --encoder those of the\n"
    "                         language model)\n"
    "  --max-vocab N          size of the vocabulary (10000)\n"
    "  --min-freq N           how often a token must occur to be in it (2)\n"
    "network\n"
    "  --arch NAME            awd-lstm, qrnn, transformer, transformer-xl (awd-lstm)\n"
    "  --layers N             number of layers (2)\n"
    "  --width N              features of an embedded token, and of the encoder's\n"
    "                         result (32)\n"
    "  --hidden N             features inside: of recurrent layers, of feed-forward\n"
    "                         networks (64)\n"
    "  --heads N              transformers: heads of attention (4)\n"
    "  --ffn NAME             transformers: activation, gelu, relu or swish (gelu)\n"
    "  --mask HOW             transformers: on: a token sees the tokens before it;\n"
    "                         off: it sees all tokens, as in fastai's classifiers\n"
    "                         (on)\n"
    "  --memory N             transformer-xl: steps that it remembers (70)\n"
    "  --bidir                awd-lstm: read in both directions\n"
    "  --bptt N               tokens that the encoder reads at once (70)\n"
    "  --max-len N            of a longer text about the last N tokens count (1400)\n"
    "  --head N,N,...         widths of the head's hidden layers; 0 for none (50)\n"
    "  --dropout X            multiplies the usual dropouts of the architecture\n"
    "                         (0.1)\n"
    "transfer\n"
    "  --pretrained FOLDER    put a linear layer on a published encoder (BERT,\n"
    "                         RoBERTa, DistilBERT) and train both; tokens are those\n"
    "                         of the folder. The first --max-len tokens count (256).\n"
    "                         Defaults: --epochs 3, --lr 0.001, --lr-spread 10\n"
    "  --encoder FILE         begin with the encoder of a model that char-lm has\n"
    "                         saved; its architecture and sizes replace those above\n"
    "  --freeze N             train the head alone for the first N epochs (1 with\n"
    "                         --encoder)\n"
    "  --lr-spread X          the first layers' rate is that of the head divided by\n"
    "                         X (2.6 with --encoder, else 1)\n"
    "training\n"
    "  --epochs N             passes over the training texts (20)\n"
    "  --batch-size N         texts per step (32)\n"
    "  --lr X                 highest learning rate (0.005; transformer,\n"
    "                         transformer-xl: 0.003)\n"
    "  --weight-decay X       AdamW's (0.01)\n"
    "  --label-smoothing X    share of the label that is spread over all classes (0)\n"
    "  --clip X               largest norm of the gradient, 0 for any (1)\n"
    "  --seed N               of everything that is random (1)\n"
    "  --threads N            threads of large loops (as many as there are\n"
    "                         processors)\n" HELP_NO_CAPTURE
    "                         (only --arch transformer is captured, for the lengths\n"
    "                         that come often; the others carry a state)\n"
    "files\n"
    "  --save FILE            where to save (classifier.safetensors; with --load\n"
    "                         that file; with --pretrained the folder classifier)\n"
    "  --load FILE            go on from a saved model, or folder\n"
    "  --predict FILE.csv     label texts with the loaded model, without training\n"
    "  --output FILE          where to write predictions (predictions.csv)\n"
    "  --history FILE         where to write loss and accuracy of each epoch\n"
    "                         (history.csv)\n"
    "\n"
    "Ctrl-C and SIGTERM end the training, which is saved and reported; a second one\n"
    "ends the program.\n"
    "The last line reads: result: accuracy=... bag_accuracy=... best_possible=...\n"
    "seconds=...; the bag of words is logistic regression on tf-idf, on the same\n"
    "texts.\n";

static void read_head(void *to, char *text)
{
    network *n = to;
    n->n_head = 0;
    if (strcmp(text, "0") == 0) {
        return;
    }
    for (char *next = text; next != NULL;) {
        char *size = next, *comma = strchr(size, ',');
        next = comma != NULL ? comma + 1 : NULL;
        if (comma != NULL) {
            *comma = '\0';
        }
        if (*size == '\0') {
            usage_error(
                "--head: between, before or after the commas a width is missing; two layers are --head 10,5, and none are --head 0");
        }
        if (n->n_head == MAX_HEAD) {
            usage_error("--head: more than %d widths", MAX_HEAD);
        }
        n->head[n->n_head++] = whole("head", size, 1, 1 << 20);
    }
}

const char *head_text(const network *n, char *buffer, size_t size)
{
    size_t used = (size_t)snprintf(buffer, size, "%s", n->n_head == 0 ? "0" : "");
    for (int i = 0; i < n->n_head && used < size; ++i) {
        used += (size_t)snprintf(
            buffer + used, size - used, "%s%lld", i > 0 ? "," : "", (long long)n->head[i]);
    }
    return buffer;
}

static const char *const archs[] = { "awd-lstm", "qrnn", "transformer", "transformer-xl", NULL };
static const char *const activations[] = { "gelu", "relu", "swish", NULL };
static const char *const masks[] = { "on", "off", NULL };
static const char *const kinds[] = { "words", "characters", NULL };

size_t network_options(network *n, argument *table)
{
    const argument all[] = {
        OPTION_CHOICE("arch", &n->arch, archs),
        OPTION_WHOLE("layers", &n->layers, 1, 1000),
        OPTION_WHOLE("width", &n->width, 1, 1 << 16),
        OPTION_WHOLE("hidden", &n->hidden, 1, 1 << 16),
        OPTION_WHOLE("heads", &n->heads, 1, 1 << 10),
        OPTION_CHOICE("ffn", &n->activation, activations),
        OPTION_WHOLE("memory", &n->memory, 0, 1 << 20),
        OPTION_FLAG("bidir", &n->bidir),
        OPTION_CHOICE("mask", &n->mask, masks),
        OPTION_WHOLE("bptt", &n->bptt, 1, 1 << 20),
        OPTION_WHOLE("max-len", &n->max_len, 1, 1 << 30),
        OPTION_READ("head", n, read_head),
        OPTION_NUMBER("dropout", &n->dropout, 0, 100),
    };
    memcpy(table, all, sizeof all);
    return sizeof all / sizeof *all;
}

static const options defaults = {
    .text_column = "text",
    .label_column = "label",
    .test_share = 0.2,
    .validation_share = 0.1,
    .examples = 5000,
    .max_vocab = 10000,
    .min_freq = 2,
    .network = { .layers = 2,
        .width = 32,
        .hidden = 64,
        .heads = 4,
        .memory = 70,
        .bptt = 70,
        .max_len = 1400,
        .head = { 50 },
        .n_head = 1,
        .dropout = 0.1 },
    .frozen = 1,
    .epochs = 20,
    .batch_size = 32,
    .lr = -1,
    .lr_spread = 2.6,
    .weight_decay = 0.01,
    .clip = 1,
    .seed = 1,
    .output = "predictions.csv",
    .history = "history.csv",
};

static size_t other_options(options *o, argument *table)
{
    const argument all[] = {
        OPTION_TEXT("data", &o->data),
        OPTION_TEXT("text", &o->text_column),
        OPTION_TEXT("label", &o->label_column),
        OPTION_NUMBER("test", &o->test_share, 0.001, 0.999),
        OPTION_NUMBER("validation", &o->validation_share, 0, 0.999),
        OPTION_WHOLE("examples", &o->examples, 10, 10000000),
        OPTION_TEXT("write-data", &o->write_data),
        OPTION_CHOICE("tokens", &o->tokens, kinds),
        OPTION_WHOLE("max-vocab", &o->max_vocab, 10, INT32_MAX),
        OPTION_WHOLE("min-freq", &o->min_freq, 1, INT32_MAX),
        OPTION_TEXT("pretrained", &o->pretrained),
        OPTION_TEXT("encoder", &o->encoder),
        OPTION_WHOLE("freeze", &o->frozen, 0, INT32_MAX),
        OPTION_NUMBER("lr-spread", &o->lr_spread, 1, 1e6),
        OPTION_WHOLE("epochs", &o->epochs, 1, INT32_MAX),
        OPTION_WHOLE("batch-size", &o->batch_size, 2, INT32_MAX),
        OPTION_NUMBER("lr", &o->lr, 1e-12, 1e6),
        OPTION_NUMBER("weight-decay", &o->weight_decay, 0, 1e6),
        OPTION_NUMBER("label-smoothing", &o->smoothing, 0, 1),
        OPTION_NUMBER("clip", &o->clip, 0, 1e6),
        OPTION_WHOLE("seed", &o->seed, 0, 0x1p53),
        OPTION_WHOLE("threads", &o->threads, 1, 1024),
        OPTION_FLAG("no-capture", &o->no_capture),
        OPTION_TEXT("load", &o->load),
        OPTION_TEXT("save", &o->save),
        OPTION_TEXT("predict", &o->predict),
        OPTION_TEXT("output", &o->output),
        OPTION_TEXT("history", &o->history),
    };
    memcpy(table, all, sizeof all);
    return sizeof all / sizeof *all;
}

static bool is_given(argument *table, size_t n, const char *name)
{
    return find_argument(table, n, name)->given;
}

/* An option that would have no effect is an error: the user expected one. */
static void check_given(const options *o, argument *table, size_t n)
{
    int arch = o->network.arch;
    bool attends = arch == ARCH_TRANSFORMER || arch == ARCH_TRANSFORMER_XL;
    const struct {
        const char *name;
        bool used;
        const char *owner;
    } rules[] = {
        { "heads", attends, "--arch transformer and transformer-xl" },
        { "ffn", attends, "--arch transformer and transformer-xl" },
        { "mask", attends, "--arch transformer and transformer-xl" },
        { "memory", arch == ARCH_TRANSFORMER_XL, "--arch transformer-xl" },
        { "no-capture", arch == ARCH_TRANSFORMER || o->load != NULL, "--arch transformer" },
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; ++i) {
        if (!rules[i].used && is_given(table, n, rules[i].name)) {
            usage_error("--%s belongs to %s", rules[i].name, rules[i].owner);
        }
    }
}

/* The options of a tokenizer that is built from the texts. */
static const char *const of_tokens[] = { "tokens", "max-vocab", "min-freq" };

/* A published folder brings its network and its tokens along. */
static void check_published(const options *o, argument *table, size_t n, size_t n_network)
{
    if (o->load != NULL || o->encoder != NULL) {
        usage_error("--pretrained brings an encoder along; leave out --%s",
            o->load != NULL ? "load" : "encoder");
    }
    for (size_t i = 0; i < n_network; ++i) {
        if (table[i].given && strcmp(table[i].name, "max-len") != 0) {
            usage_error("--pretrained brings the network along; leave out --%s", table[i].name);
        }
    }
    if (o->no_capture) {
        usage_error("--no-capture belongs to --arch transformer");
    }
    for (int i = 0; i < 3; ++i) {
        if (is_given(table, n, of_tokens[i])) {
            usage_error("--pretrained brings the tokens along; leave out --%s", of_tokens[i]);
        }
    }
}

/* The defaults of a model on a published encoder. */
static void fill_in_published(options *o, argument *table, size_t n)
{
    o->network.max_len = is_given(table, n, "max-len") ? o->network.max_len : 256;
    o->epochs = is_given(table, n, "epochs") ? o->epochs : 3;
    o->lr = is_given(table, n, "lr") ? o->lr : 0.001;
    o->lr_spread = is_given(table, n, "lr-spread") ? o->lr_spread : 10;
    o->frozen = is_given(table, n, "freeze") ? o->frozen : 0;
}

static void check_network(const network *n)
{
    if (n->bidir && n->arch != ARCH_AWD_LSTM) {
        usage_error("--bidir is for --arch awd-lstm");
    }
    if (n->bidir && n->width % 2 != 0) {
        usage_error("--bidir needs an even --width: half of it for each direction");
    }
    if (n->arch >= ARCH_TRANSFORMER && n->width % n->heads != 0) {
        usage_error("--width %lld is no multiple of --heads %lld", (long long)n->width,
            (long long)n->heads);
    }
}

static void check_options(const options *o, argument *table, size_t n, size_t n_network)
{
    if (o->predict != NULL && o->load == NULL) {
        usage_error("--predict needs --load, the model to predict with");
    }
    if (o->predict != NULL && o->no_capture) {
        usage_error("--no-capture belongs to a training");
    }
    if (o->predict == NULL && is_given(table, n, "output")) {
        usage_error("--output belongs to --predict");
    }
    if (o->load != NULL && o->encoder != NULL) {
        usage_error("--load brings an encoder along; leave out --encoder");
    }
    for (int i = 0; i < 3 && o->load != NULL; ++i) {
        if (is_given(table, n, of_tokens[i])) {
            usage_error("--load brings the tokens along; leave out --%s", of_tokens[i]);
        }
    }
    for (size_t i = 0; i < n_network && o->load != NULL; ++i) {
        if (table[i].given) {
            usage_error("--load brings the network along; leave out --%s", table[i].name);
        }
    }
    static const char *const of_grammar[] = { "examples", "write-data" };
    for (int i = 0; i < 2 && o->data != NULL; ++i) {
        if (is_given(table, n, of_grammar[i])) {
            usage_error("--%s is for texts from the grammar; leave out --data", of_grammar[i]);
        }
    }
    static const char *const of_table[] = { "text", "label" };
    for (int i = 0; i < 2 && o->data == NULL && o->predict == NULL; ++i) {
        if (is_given(table, n, of_table[i])) {
            usage_error("--%s belongs to --data FILE.csv", of_table[i]);
        }
    }
    if (o->predict == NULL && strcmp(o->text_column, o->label_column) == 0) {
        usage_error(
            "--text and --label are both '%s': nothing would be left to predict", o->text_column);
    }
    check_network(&o->network);
}

void fill_in_rate(options *o, const network *n)
{
    bool attends = n->arch == ARCH_TRANSFORMER || n->arch == ARCH_TRANSFORMER_XL;
    o->lr = o->lr > 0 ? o->lr : attends ? 0.003 : 0.005;
}

options parse_options(int argc, char **argv)
{
    options o = defaults;
    argument table[MOST_OPTIONS];
    size_t n_network = network_options(&o.network, table);
    size_t n = n_network + other_options(&o, table + n_network);
    int rest = read_arguments(argc, argv, table, n, help);
    if (rest < argc) {
        usage_error("%s: what is it? Texts are given as --data FILE.csv", argv[rest]);
    }
    o.published = o.pretrained != NULL || (o.load != NULL && is_folder(o.load));
    if (o.save == NULL) {
        o.save = o.load != NULL ? o.load : o.published ? "classifier" : "classifier.safetensors";
    }
    if (o.pretrained != NULL) {
        check_published(&o, table, n, n_network);
    }
    check_options(&o, table, n, n_network);
    if (o.published) {
        fill_in_published(&o, table, n);
        return o;
    }
    if (o.encoder == NULL) { /* otherwise the architecture comes from that file */
        check_given(&o, table, n);
    }
    if (o.encoder == NULL) { /* there are no trained layers to freeze */
        o.frozen = is_given(table, n, "freeze") ? o.frozen : 0;
        o.lr_spread = is_given(table, n, "lr-spread") ? o.lr_spread : 1;
    }
    return o;
}
