/* Trains a language model on a text and lets it write. char-lm --help lists the options. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/files.h"
#include "../shared/plain_text.h"
#include "../shared/program.h"
#include "../shared/ranks.h"
#include "checkpoint.h"
#include "export.h"
#include "sample.h"
#include "train.h"

static void print_header(const options *o, const corpus *c, adz_module *network)
{
    char *shown = allocate(4 * strlen(c->name) + 1);
    make_visible(c->name, shown);
    print_text("%s: %lld tokens to train on, %lld to validate; vocabulary %lld", shown,
        (long long)c->train.n, (long long)c->valid.n, (long long)adz_tokenizer_count(c->tokenizer));
    print_text("%s: %lld layer%s, d-model %lld, %lld parameters; %s", arch_names[o->arch],
        (long long)o->layers, plural(o->layers), (long long)o->width,
        (long long)adz_module_numel(network), adz_build_info());
    print_ranks(o->micro_batches);
    free(shown);
}

/* Writes the files of --export-c and --export-onnx. */
static void write_exports(const options *o, adz_module *network)
{
    if (o->export_c != NULL && is_first_rank()) {
        export_c(o, network);
        printf("C: %s\n", o->export_c);
    }
    if (o->export_onnx != NULL && is_first_rank()) {
        export_onnx(o, network, o->export_onnx);
        printf("ONNX: %s\n", o->export_onnx);
    }
}

/* Makes the tokenizer, from the checkpoint or from the text, then the network, and trains it. */
static void train_and_write(const options *o)
{
    const char *name;
    size_t size;
    const file_use files[] = { { "save", o->save, true }, { "data", o->data, false },
        { "export-c", o->export_c, true }, { "export-onnx", o->export_onnx, true } };
    if (is_first_rank()) {
        check_files(files, sizeof files / sizeof *files);
    }
    char *text = read_corpus(o, &name, &size);
    compare_bytes("the text of --data", text, size);
    adz_tokenizer *tokenizer =
        o->load != NULL ? checkpoint_tokenizer(o->load) : new_tokenizer(o, text, size);
    corpus c = cut_corpus(o, name, text, size, tokenizer);
    free(text);
    if (o->sample != NULL) { /* an invalid --sample is reported before the training */
        adz_scope *scope = adz_scope_open();
        adz_tokenizer_encode(tokenizer, o->sample, strlen(o->sample));
        adz_scope_close(scope);
    }
    adz_module *network = new_network(o, adz_tokenizer_count(tokenizer));
    print_header(o, &c, network);
    train(o, &c, network);
    if (o->sample != NULL && is_first_rank()) {
        write_sample(o, network, tokenizer);
    }
    write_exports(o, network);
    adz_module_release(&network);
    free_corpus(&c);
    adz_tokenizer_free(&tokenizer);
}

/* Writes a sample and the exports that are asked for. */
static void only_write(const options *o)
{
    const file_use files[] = { { "load", o->load, false }, { "export-c", o->export_c, true },
        { "export-onnx", o->export_onnx, true } };
    check_files(files, sizeof files / sizeof *files);
    adz_tokenizer *tokenizer = checkpoint_tokenizer(o->load);
    adz_module *network = new_network(o, adz_tokenizer_count(tokenizer));
    load_checkpoint(o->load, network, NULL, NULL, NULL);
    if (o->sample != NULL) {
        write_sample(o, network, tokenizer);
    }
    write_exports(o, network);
    adz_module_release(&network);
    adz_tokenizer_free(&tokenizer);
}

int main(int argc, char **argv)
{
    setlocale(LC_NUMERIC, "C"); /* numbers have a decimal point, whatever the locale is */
    open_ranks();
    report_errors();
    options o = parse_options(argc, argv);
    seed_and_threads(o.seed, o.threads > 0 ? o.threads : threads_of_rank());
    if (o.load == NULL || (o.sample == NULL && o.export_c == NULL && o.export_onnx == NULL)) {
        train_and_write(&o);
    } else if (is_first_rank()) {
        only_write(&o);
    }
    free_options(&o);
    return finish_output();
}
