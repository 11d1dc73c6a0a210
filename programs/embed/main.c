/* Turns lines of text into vectors, or finds the lines that are nearest to a query. embed --help
 * lists the options. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../examples/pretrained/small.h"
#include "../../examples/shared/arguments.h"
#include "../../examples/shared/files.h"
#include "../../examples/shared/plain_text.h"
#include "../../examples/shared/program.h"
#include "../../examples/text/lines.h"
#include "encoder.h"
#include "small.h"

const char program_name[] = "embed";

static const char help[] =
    "Turns lines of text into vectors by a published model of sentence-transformers,\n"
    "or finds the lines that are nearest to a query.\n"
    "\n"
    "usage: embed [FOLDER] [options]\n"
    "\n"
    "  FOLDER          a model with config.json, model.safetensors, tokenizer.json,\n"
    "                  modules.json and 1_Pooling/config.json, as all-MiniLM-L6-v2\n"
    "                  has them; or a file .gguf of the architecture bert. Without\n"
    "                  it, a small model is trained on the embedded text, to show\n"
    "                  what the program does\n"
    "  --lines FILE    the texts in UTF-8, one in each line; - is standard input,\n"
    "                  which is the default with FOLDER. Without both, the sentences\n"
    "                  of the embedded text\n"
    "\n"
    "What is written\n"
    "  --query TEXT    the lines that are nearest to this text: the cosine of their\n"
    "                  vectors, the number of the line, and the line. Without it, one\n"
    "                  vector a line, numbers with spaces between them\n"
    "  --top N         how many lines are shown for a query (5)\n"
    "  --output FILE   where vectors go, instead of standard output\n"
    "\n"
    "How it is computed\n"
    "  --max-length N  tokens of a text that are read, special ones included (as the\n"
    "                  folder says). The program tells which texts are longer\n"
    "  --batch-size N  texts at a time (32)\n"
    "  --threads N     threads of large loops (as many as there are processors)\n"
    "\n"
    "The small model\n"
    "  --steps N       steps of its training (120)\n"
    "  --save FOLDER   keep it as a folder that embed reads\n"
    "\n"
    "Examples:\n"
    "  embed all-MiniLM-L6-v2 --lines notes.txt --output vectors.txt\n"
    "  embed all-MiniLM-L6-v2 --lines notes.txt --query 'how to build it' --top 3\n";

static const char sample_query[] = "She danced with him at the ball.";

typedef struct options {
    const char *folder, *lines, *query, *output, *save;
    int64_t top, max_length, batch_size, threads, steps;
} options;

static options read_options(int argc, char **argv)
{
    options o = { .top = 5, .batch_size = 32, .steps = 120 };
    argument table[] = { OPTION_TEXT("lines", &o.lines), OPTION_TEXT("query", &o.query),
        OPTION_WHOLE("top", &o.top, 1, 1000000000), OPTION_TEXT("output", &o.output),
        OPTION_WHOLE("max-length", &o.max_length, 1, 1000000000),
        OPTION_WHOLE("batch-size", &o.batch_size, 1, 100000),
        OPTION_WHOLE("threads", &o.threads, 1, 1024), OPTION_WHOLE("steps", &o.steps, 1, 1000000),
        OPTION_TEXT("save", &o.save) };
    const size_t n = sizeof table / sizeof *table;
    const int first = read_arguments(argc, argv, table, n, help);
    if (argc - first > 1) {
        usage_error("%s: give one folder; texts are given as --lines FILE", argv[first + 1]);
    }
    o.folder = first < argc ? argv[first] : NULL;
    if (o.folder != NULL && o.save != NULL) {
        usage_error("--save is for the small model, which is trained without a folder");
    }
    if (o.folder != NULL && find_argument(table, n, "steps")->given) {
        usage_error("--steps is for the small model, which is trained without a folder");
    }
    if (o.folder == NULL && o.lines == NULL && o.query == NULL && o.output == NULL) {
        o.query = sample_query;
    } else if (o.query == NULL && find_argument(table, n, "top")->given) {
        usage_error("--top is for --query, which is missing");
    }
    if (o.query != NULL && o.output != NULL) {
        usage_error("--output is for vectors; leave out --query");
    }
    if (o.query != NULL && *utf8_end(o.query) != '\0') {
        usage_error("--query: it is not UTF-8");
    }
    return o;
}

/* ---- lines ---------------------------------------------------------------------------------- */

typedef struct lines {
    char *bytes; /* of the file; the texts point into it */
    word_list sentences;
    adz_text *texts;
    size_t count;
} lines;

static lines lines_of(const char *path)
{
    const text_lines read = read_lines(path);
    return (lines){ .bytes = read.bytes, .texts = read.texts, .count = read.count };
}

static lines sentence_lines(void)
{
    lines l = { .sentences = embedded_sentences() };
    l.count = l.sentences.count;
    l.texts = allocate(l.count * sizeof *l.texts);
    for (size_t i = 0; i < l.count; ++i) {
        l.texts[i] = (adz_text){ l.sentences.words[i], strlen(l.sentences.words[i]) };
    }
    return l;
}

static void free_lines(lines *l)
{
    free(l->texts);
    free(l->bytes);
    free_words(&l->sentences);
}

/* ---- results -------------------------------------------------------------------------------- */

/* Writes a number with as few digits as give the same float when they are read again. */
static void write_float(FILE *file, float x)
{
    char text[NUMBER_TEXT];
    int digits = 6;
    do {
        snprintf(text, sizeof text, "%.*g", digits, (double)x);
    } while (++digits <= 9 && strtof(text, NULL) != x);
    fputs(text, file);
}

static void write_vectors(const char *path, const float *vectors, size_t n, size_t width)
{
    FILE *file = path != NULL ? create_file(path) : stdout;
    for (size_t i = 0; i < n; ++i) {
        for (size_t k = 0; k < width; ++k) {
            fputs(k > 0 ? " " : "", file);
            write_float(file, vectors[i * width + k]);
        }
        fputc('\n', file);
    }
    if (path != NULL) {
        finish_file(path, file);
        print_text("%s: %zu vector%s of %zu numbers", path, n, plural((int64_t)n), width);
    }
}

typedef struct found {
    double cosine;
    size_t line;
} found;

static int nearest_first(const void *a, const void *b)
{
    const found *x = a, *y = b;
    if (x->cosine != y->cosine) {
        return x->cosine > y->cosine ? -1 : 1;
    }
    return x->line < y->line ? -1 : x->line > y->line;
}

/* The cosine of two vectors; 0 if one of them is zero. */
static double cosine_of(const float *a, const float *b, size_t n)
{
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < n; ++i) {
        ab += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

static void print_nearest(
    const options *o, const lines *l, const float *query, const float *vectors, size_t width)
{
    found *all = allocate(l->count * sizeof *all);
    for (size_t i = 0; i < l->count; ++i) {
        all[i] = (found){ cosine_of(query, vectors + i * width, width), i };
    }
    qsort(all, l->count, sizeof *all, nearest_first);
    for (size_t i = 0; i < l->count && i < (size_t)o->top; ++i) {
        const adz_text text = l->texts[all[i].line];
        char *line = allocate(text.size + 1), *shown = allocate(4 * text.size + 1);
        if (text.size > 0) {
            memcpy(line, text.bytes, text.size);
        }
        make_visible(line, shown);
        printf("%.4f %zu %s\n", all[i].cosine, all[i].line + 1, shown);
        free(line);
        free(shown);
    }
    free(all);
}

static void embed(const options *o, encoder *e, const lines *l)
{
    float *vectors = encode_lines(e, l->texts, l->count, o->batch_size);
    if (o->query != NULL) {
        const adz_text text = { o->query, strlen(o->query) };
        float *query = encode_query(e, text);
        print_nearest(o, l, query, vectors, (size_t)e->width);
        free(query);
    } else {
        write_vectors(o->output, vectors, l->count, (size_t)e->width);
    }
    free(vectors);
}

int main(int argc, char **argv)
{
    setlocale(LC_NUMERIC, "C"); /* numbers have a decimal point, whatever the locale is */
    const options o = read_options(argc, argv);
    report_errors();
    seed_and_threads(1, o.threads);
    const file_use files[] = { { "output", o.output, true }, { "lines", o.lines, false } };
    check_files(files, sizeof files / sizeof *files);
    encoder e = { 0 };
    if (o.folder != NULL) { /* before a wait for standard input */
        e = open_encoder(o.folder, o.max_length);
    }
    const char *path = o.lines != NULL ? o.lines : o.folder != NULL ? "-" : NULL;
    lines l = path != NULL ? lines_of(path) : sentence_lines();
    if (o.folder == NULL) {
        tell_what_to_fetch("embeddings of meaning", "huggingface.co/sentence-transformers",
            "config.json, model.safetensors, tokenizer.json, modules.json, sentence_bert_config.json and 1_Pooling/config.json of all-MiniLM-L6-v2",
            "embed FOLDER --lines FILE");
        e = train_small(o.steps, o.save);
        e.max_length = o.max_length > 0 ? o.max_length : e.max_length;
    }
    if (o.query == sample_query) {
        remark("the sentences that are nearest to '%s':", sample_query);
    }
    embed(&o, &e, &l);
    close_encoder(&e);
    free_lines(&l);
    return finish_output();
}
