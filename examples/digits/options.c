/* The options of digits: the table, the defaults, and the checks. */
#include "options.h"

#include <stdio.h>
#include <string.h>

#include "../shared/steps.h"
#include "../shared/svg.h"

const char program_name[] = "digits";

static const char help[] =
    "Trains a small convolutional network to read images of digits. Without a file\n"
    "it learns digits that it draws itself, with strokes that are bent and shifted\n"
    "at random.\n"
    "\n"
    "usage: digits [OPTIONS]\n"
    "\n"
    "data\n"
    "  --data FILE.csv        table with a header line and one image in each row:\n"
    "                         the digit, and the pixels in all other columns, row by\n"
    "                         row; 0 is the background\n"
    "  --target COLUMN        the column of the digit, 0 to 9, also --column (digit)\n"
    "  --size HxW             rows and columns of pixels (square images)\n"
    "  --test-rows FILE       test rows of the table, counted from 0 without the\n"
    "                         header: all numbers of a line, or one number in each\n"
    "                         line\n"
    "  --split N              which line of that file, counted from 0 (0)\n"
    "  --images FILE          images in the format IDX, as MNIST has it; they may be\n"
    "                         packed by gzip\n"
    "  --labels FILE          their digits, in IDX\n"
    "  --test-images FILE     test images, in IDX, with --test-labels\n"
    "  --test-labels FILE     their digits\n"
    "  --test SHARE           share of test images, if no option says which they are\n"
    "                         (0.2)\n"
    "  --validation SHARE     share of validation images among the others (0.1)\n"
    "  --examples N           digits to draw, if there is no file (3000)\n"
    "  --write-data FILE.csv  write the drawn digits as a table\n"
    "augmentation: random changes of each training image, new ones in each epoch;\n"
    "0 is none\n"
    "  --shift X              largest shift, as a share of the side (0.1)\n"
    "  --rotate DEGREES       largest rotation (12)\n"
    "  --zoom X               largest change of the size, as a share of it (0.1)\n"
    "  --noise X              deviation of the noise; the brightest pixel counts as\n"
    "                         1 (0.05)\n"
    "network\n"
    "  --channels N,N,...     channels of the convolutions (32,32,64)\n"
    "  --hidden N             features of a hidden linear layer; 0 for none (0)\n"
    "  --dropout X            before the last layer (0.3)\n"
    "training\n"
    "  --epochs N             passes over the training images (30)\n"
    "  --patience N           stop after N epochs without a smaller validation loss,\n"
    "                         which may be before the learning rate has fallen; 0\n"
    "                         for never (0)\n"
    "  --batch-size N         images per step (32)\n"
    "  --lr X                 highest learning rate (0.003)\n"
    "  --weight-decay X       AdamW's (0.01)\n"
    "  --label-smoothing X    share of the label that is spread over all digits (0)\n"
    "  --seed N               of everything that is random (1)\n"
    "  --threads N            threads of large loops (as many as there are\n"
    "                         processors)\n" HELP_NO_CAPTURE "files\n"
    "  --save FILE            where to save (digits.safetensors; with --load that\n"
    "                         file)\n"
    "  --load FILE            go on from a saved model\n"
    "  --predict FILE         read the images of a table or of an IDX file with the\n"
    "                         loaded model, without training\n"
    "  --output FILE.csv      write the predictions to a file, too\n"
    "  --history FILE         where to write the losses of each epoch (history.csv)\n"
    "  --plot FILE            picture of the worst mistakes, as SVG, or none\n"
    "                         (mistakes.svg)\n"
    "  --show N               print N images as text: the worst mistakes, or the\n"
    "                         first images of --predict (1)\n"
    "\n"
    "The weights of the last epoch are kept; where the training stops before it,\n"
    "those of the epoch with the smallest validation loss. Test images have no part\n"
    "in any choice. Ctrl-C and SIGTERM end the training, which is saved and\n"
    "reported; a second one ends the program.\n"
    "The last line reads: result: test_accuracy=... linear_accuracy=...\n"
    "test_loss=... epochs=... seconds=...; linear is a linear classifier of the\n"
    "pixels, on the same images.\n";

static void read_size(void *to, char *text)
{
    options *o = to;
    char *cross = strchr(text, 'x');
    if (cross == NULL) {
        usage_error("--size %s: rows and columns are wanted, such as 28x28", text);
    }
    *cross = '\0';
    o->height = whole("size", text, SHORTEST_SIDE, LONGEST_SIDE);
    o->width = whole("size", cross + 1, SHORTEST_SIDE, LONGEST_SIDE);
}

static const options defaults = {
    .target = "digit",
    .test_share = 0.2,
    .validation_share = 0.1,
    .examples = 3000,
    .augmentation = { .shift = 0.1, .rotate = 12, .zoom = 0.1, .noise = 0.05 },
    .network = { .channels = { 32, 32, 64 }, .n_channels = 3, .dropout = 0.3 },
    .epochs = 30,
    .batch_size = 32,
    .lr = 0.003,
    .weight_decay = 0.01,
    .seed = 1,
    .history = "history.csv",
    .plot = "mistakes.svg",
    .show = 1,
};

static size_t other_options(options *o, argument *table)
{
    const argument all[] = {
        OPTION_TEXT("data", &o->data),
        OPTION_TEXT("target", &o->target),
        OPTION_READ("size", o, read_size),
        OPTION_TEXT("test-rows", &o->test_rows),
        OPTION_WHOLE("split", &o->split, 0, 1000000),
        OPTION_TEXT("images", &o->images),
        OPTION_TEXT("labels", &o->labels),
        OPTION_TEXT("test-images", &o->test_images),
        OPTION_TEXT("test-labels", &o->test_labels),
        OPTION_NUMBER("test", &o->test_share, 0.001, 0.999),
        OPTION_NUMBER("validation", &o->validation_share, 0, 0.999),
        OPTION_WHOLE("examples", &o->examples, 10, 1000000),
        OPTION_TEXT("write-data", &o->write_data),
        OPTION_NUMBER("shift", &o->augmentation.shift, 0, 1),
        OPTION_NUMBER("rotate", &o->augmentation.rotate, 0, 180),
        OPTION_NUMBER("zoom", &o->augmentation.zoom, 0, 0.9),
        OPTION_NUMBER("noise", &o->augmentation.noise, 0, 10),
        OPTION_WHOLE("epochs", &o->epochs, 1, 1000000),
        OPTION_WHOLE("patience", &o->patience, 0, 1000000),
        OPTION_WHOLE("batch-size", &o->batch_size, 1, 1 << 20),
        OPTION_NUMBER("lr", &o->lr, 0, 1e6),
        OPTION_NUMBER("weight-decay", &o->weight_decay, 0, 1e6),
        OPTION_NUMBER("label-smoothing", &o->smoothing, 0, 1),
        OPTION_WHOLE("seed", &o->seed, 0, 0x1p53),
        OPTION_WHOLE("threads", &o->threads, 1, 1024),
        OPTION_FLAG("no-capture", &o->no_capture),
        OPTION_TEXT("load", &o->load),
        OPTION_TEXT("save", &o->save),
        OPTION_TEXT("predict", &o->predict),
        OPTION_TEXT("output", &o->output),
        OPTION_TEXT("history", &o->history),
        OPTION_TEXT("plot", &o->plot),
        OPTION_WHOLE("show", &o->show, 0, 1000000),
    };
    memcpy(table, all, sizeof all);
    return sizeof all / sizeof *all;
}

static bool is_given(argument *table, size_t n, const char *name)
{
    return find_argument(table, n, name)->given;
}

/* Two options of which each needs the other. */
static void check_pair(const char *a, const char *b, const char *a_value, const char *b_value)
{
    if ((a_value == NULL) != (b_value == NULL)) {
        const bool first = a_value != NULL;
        usage_error("--%s needs --%s, the other file of the two", first ? a : b, first ? b : a);
    }
}

/* An option that would have no effect is an error: the user expected one. */
static void check_used(const options *o, argument *table, size_t n)
{
    bool drawn = o->data == NULL && o->images == NULL && o->predict == NULL;
    bool chosen = o->test_rows != NULL || o->test_images != NULL;
    const struct {
        const char *name;
        bool used;
        const char *why;
    } rules[] = {
        { "target", o->data != NULL || o->predict != NULL, "belongs to --data FILE.csv" },
        { "size", o->data != NULL, "belongs to --data FILE.csv" },
        { "test-rows", o->data != NULL, "belongs to --data FILE.csv" },
        { "split", o->test_rows != NULL, "belongs to --test-rows" },
        { "test-images", o->images != NULL, "belongs to --images" },
        { "test", !chosen, "is for data without test images of their own" },
        { "examples", drawn, "is for digits that the program draws" },
        { "write-data", drawn, "is for digits that the program draws" },
        { "patience", o->validation_share > 0, "needs validation images; raise --validation" },
        { "output", o->predict != NULL, "belongs to --predict" },
        { "plot", o->predict == NULL, "belongs to a training" },
        { "save", o->predict == NULL, "belongs to a training" },
        { "history", o->predict == NULL, "belongs to a training" },
        { "no-capture", o->predict == NULL, "belongs to a training" },
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; ++i) {
        if (!rules[i].used && is_given(table, n, rules[i].name)) {
            usage_error("--%s %s", rules[i].name, rules[i].why);
        }
    }
}

static void check_options(const options *o, argument *table, size_t n, size_t n_network)
{
    check_pair("images", "labels", o->images, o->labels);
    check_pair("test-images", "test-labels", o->test_images, o->test_labels);
    if (o->data != NULL && o->images != NULL) {
        usage_error("--data and --images are two sources of images; leave one out");
    }
    if (o->predict != NULL && o->load == NULL) {
        usage_error("--predict needs --load, the model to predict with");
    }
    if (o->predict != NULL && (o->data != NULL || o->images != NULL)) {
        usage_error(
            "--predict does not train; leave out --%s", o->data != NULL ? "data" : "images");
    }
    for (size_t i = 0; i < n_network && o->load != NULL; ++i) {
        if (table[i].given) {
            usage_error("--load brings the network along; leave out --%s", table[i].name);
        }
    }
    check_used(o, table, n);
    check_plot_path(o->plot);
}

options parse_options(int argc, char **argv)
{
    options o = defaults;
    argument table[MOST_OPTIONS];
    size_t n_network = network_options(&o.network, table);
    size_t n = n_network + other_options(&o, table + n_network);
    int rest = read_arguments(argc, argv, table, n, help);
    if (rest < argc) {
        usage_error(
            "%s: what is it? Images are given as --data FILE.csv or --images FILE", argv[rest]);
    }
    if (o.save == NULL) {
        o.save = o.load != NULL ? o.load : "digits.safetensors";
    }
    check_options(&o, table, n, n_network);
    return o;
}
