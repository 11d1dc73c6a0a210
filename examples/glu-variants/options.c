/* The options of glu-variants and their checks. */
#define _GNU_SOURCE
#include "options.h"

#include <string.h>
#include <unistd.h>

#include "../shared/svg.h"
#include "resume.h"

const char *const variant_names[VARIANTS] = { "ReLU", "GELU", "GLU", "Bilinear", "ReGLU", "GEGLU",
    "SwiGLU" };

const char program_name[] = "glu-variants";

static const char help[] =
    "Which feed-forward network suits a transformer best? Trains the same small\n"
    "language model of characters with each of seven, from the same seed, on the\n"
    "same text, for as many steps, with as many parameters: ReLU and GELU have two\n"
    "matrices, the gated ones (GLU, Bilinear, ReGLU, GEGLU, SwiGLU) three, of 2/3\n"
    "the width. After Shazeer, \"GLU Variants Improve Transformer\", 2020, and the\n"
    "annotated experiment with it.\n"
    "\n"
    "usage: glu-variants [OPTIONS]\n"
    "\n"
    "  --text FILE      UTF-8; the last tenth is for validation (a novel's first\n"
    "                   chapters)\n"
    "  --variants LIST  names with commas between them (all seven)\n"
    "  --steps N        training steps (1000)\n"
    "  --batch N        windows per step (16)\n"
    "  --length N       characters per window (64)\n"
    "  --d-model N      features of a character, an even number (64)\n"
    "  --layers N       number of layers (2)\n"
    "  --heads N        heads of attention; must divide --d-model (4)\n"
    "  --d-ff N         hidden features; gated networks have 2/3 of them (4 times\n"
    "                   --d-model)\n"
    "  --dropout P      probability of dropout (0.1)\n"
    "  --lr F           factor of Noam's rate (0.5)\n"
    "  --warmup N       steps until the rate is largest (a quarter of --steps)\n"
    "  --clip F         largest norm of the gradient (0.5)\n"
    "  --evaluations N  points of a curve (20)\n"
    "  --runs N         number of seeds; means and their standard errors are\n"
    "                   reported (1)\n"
    "  --seed N         seed of the first run (1)\n"
    "  --jobs N         trainings at the same time; the results have the same bits\n"
    "                   for any number (as many as there are processors)\n"
    "  --no-capture     make each step anew instead of replaying a captured one; the\n"
    "                   results are the same bits\n"
    "  --plot FILE      picture, as SVG; none draws none (glu-variants.svg)\n"
    "  --save FILE      where to save the trainings at the end, also after Ctrl-C\n"
    "                   (glu-variants.safetensors; with --load that file)\n"
    "  --load FILE      go on with an interrupted experiment, with its options and\n"
    "                   with the bits of one without a break\n"
    "\n"
    "The annotated experiment has --d-model 512 --layers 6 --heads 8 --d-ff 2048\n"
    "--length 128 --batch 32 --lr 1 --warmup 2000.\n"
    "\n"
    "Ctrl-C and SIGTERM end the program, which saves all trainings and reports on\n"
    "the finished ones; a second one ends it at once.\n"
    "The last line reads: result: best=... val_loss=... bpc=... bigram_loss=...\n"
    "parameters=... steps=... seconds=...; the bigram model counts pairs of\n"
    "characters.\n";

static void read_variants(options *o, const char *text)
{
    o->n_variants = 0;
    for (const char *at = text; at != NULL;) {
        size_t length = strcspn(at, ",");
        const char *found = NULL;
        for (int i = 0; i < VARIANTS; ++i) {
            if (strlen(variant_names[i]) == length && strncmp(variant_names[i], at, length) == 0) {
                found = variant_names[i];
            }
        }
        for (size_t i = 0; i < o->n_variants && found != NULL; ++i) {
            if (o->variants[i] == found) {
                usage_error("--variants %s: %s stands there twice", text, found);
            }
        }
        if (found == NULL) {
            usage_error(
                "--variants %s: '%.*s' is no variant; there are ReLU, GELU, GLU, Bilinear, ReGLU, GEGLU and SwiGLU",
                text, (int)length, at);
        }
        o->variants[o->n_variants++] = found;
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
}

static void check(options *o)
{
    if (o->d_model % 2 != 0) {
        usage_error("--d-model %lld: must be even", (long long)o->d_model);
    }
    if (o->d_model % o->heads != 0) {
        usage_error(
            "--heads %lld: must divide --d-model %lld", (long long)o->heads, (long long)o->d_model);
    }
    o->d_ff = o->d_ff > 0 ? o->d_ff : 4 * o->d_model;
    o->warmup = o->warmup > 0 ? o->warmup : o->steps / 4 > 0 ? o->steps / 4 : 1;
    o->evaluations = o->evaluations < o->steps ? o->evaluations : o->steps;
}

size_t option_table(options *o, argument *table)
{
    const argument all[] = {
        OPTION_TEXT("text", &o->text),
        OPTION_TEXT("variants", &o->variant_list),
        OPTION_WHOLE("steps", &o->steps, 1, 1000000),
        OPTION_WHOLE("batch", &o->batch, 1, 100000),
        OPTION_WHOLE("length", &o->length, 1, 100000),
        OPTION_WHOLE("d-model", &o->d_model, 1, 100000),
        OPTION_WHOLE("layers", &o->layers, 1, 1000),
        OPTION_WHOLE("heads", &o->heads, 1, 100000),
        OPTION_WHOLE("d-ff", &o->d_ff, 1, 1000000),
        OPTION_NUMBER("dropout", &o->dropout, 0, 0.99),
        OPTION_NUMBER("lr", &o->lr, 1e-9, 1e3),
        OPTION_WHOLE("warmup", &o->warmup, 1, 1000000),
        OPTION_NUMBER("clip", &o->clip, 1e-9, 1e6),
        OPTION_WHOLE("evaluations", &o->evaluations, 1, 10000),
        OPTION_WHOLE("runs", &o->runs, 1, 1000),
        OPTION_WHOLE("seed", &o->seed, 0, 0x1p52),
        OPTION_WHOLE("jobs", &o->jobs, 1, 1024),
        OPTION_TEXT("plot", &o->plot),
        OPTION_TEXT("save", &o->save),
        OPTION_TEXT("load", &o->load),
        OPTION_FLAG("no-capture", &o->no_capture),
    };
    memcpy(table, all, sizeof all);
    return sizeof all / sizeof *all;
}

options parse_options(int argc, char **argv)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    options o = {
        .plot = "glu-variants.svg",
        .variant_list = "ReLU,GELU,GLU,Bilinear,ReGLU,GEGLU,SwiGLU",
        .d_model = 64,
        .layers = 2,
        .heads = 4,
        .length = 64,
        .batch = 16,
        .steps = 1000,
        .evaluations = 20,
        .dropout = 0.1,
        .lr = 0.5,
        .clip = 0.5,
        .runs = 1,
        .jobs = processors > 0 ? processors : 1,
        .seed = 1,
    };
    argument table[MOST_OPTIONS];
    size_t n = option_table(&o, table);
    int rest = read_arguments(argc, argv, table, n, help);
    if (rest < argc) {
        usage_error("'%s' is no option; a text is named by --text", argv[rest]);
    }
    if (o.load != NULL) {
        load_options(&o, table);
    }
    if (o.save == NULL) {
        o.save = o.load != NULL ? o.load : "glu-variants.safetensors";
    }
    check_plot_path(o.plot);
    read_variants(&o, o.variant_list);
    check(&o);
    return o;
}

void free_options(options *o)
{
    adz_safetensors_free(&o->loaded);
}
