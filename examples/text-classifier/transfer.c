/* Reads a checkpoint of char-lm and makes a classifier with its encoder. */
#include "transfer.h"

#include <adze/zoo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/program.h"
#include "data.h"

static const char in_file[] = "model.network."; /* prefix of the language model's names */
static const char in_model[] = "0.module";      /* path of the encoder in the classifier */

/* ---- the file -------------------------------------------------------------------------------- */

static adz_safetensors *open_file(const char *path)
{
    static const char *const entries[] = { "model.options", "model.vocabulary" };
    adz_safetensors *file = adz_safetensors_load(path, NULL);
    for (int i = 0; i < 2; ++i) {
        if (!adz_safetensors_has(file, entries[i])) {
            fail("%s: this is no checkpoint of char-lm: there is no '%s'", path, entries[i]);
        }
    }
    return file;
}

/* Finds the line "name=value" in the text and gives the value to this program's option `to`. */
static void take_option(
    const char *path, const char *text, const char *name, argument *table, size_t n, const char *to)
{
    size_t length = strlen(name);
    const char *line = text;
    while (line != NULL && (strncmp(line, name, length) != 0 || line[length] != '=')) {
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    if (line == NULL) {
        fail("%s: this is no checkpoint of char-lm: its options have no '%s'", path, name);
    }
    char value[64];
    const char *from = line + length + 1;
    size_t size = strcspn(from, "\n");
    snprintf(value, sizeof value, "%.*s", (int)(size < 63 ? size : 63), from);
    if (strcmp(name, "arch") == 0 && strcmp(value, "gpt2") == 0) {
        fail(
            "%s: a gpt2 has no encoder to take over; train a transformer, transformer-xl, awd-lstm or qrnn",
            path);
    }
    if (strcmp(name, "ffn") == 0 && strcmp(value, "gelu") != 0 && strcmp(value, "relu") != 0 &&
        strcmp(value, "swish") != 0) {
        fail(
            "%s: its feed-forward networks are of the kind %s; an encoder with gelu, relu or swish can be taken over",
            path, value);
    }
    set_argument(find_argument(table, n, to), value);
}

/* The network of the command line with the architecture and the sizes of the language model. */
static network network_like(const options *o, const char *text)
{
    static const char *const names[][2] = { { "arch", "arch" }, { "layers", "layers" },
        { "d-model", "width" }, { "hidden", "hidden" }, { "heads", "heads" },
        { "memory", "memory" } };
    network n = o->network;
    argument table[MOST_OPTIONS];
    size_t n_options = network_options(&n, table);
    values_are_from(o->encoder);
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        take_option(o->encoder, text, names[i][0], table, n_options, names[i][1]);
    }
    n.bidir = false;
    if (n.arch >= ARCH_TRANSFORMER) {
        take_option(o->encoder, text, "ffn", table, n_options, "ffn");
    }
    if (n.arch == ARCH_TRANSFORMER) { /* its table of positions is as long as the context */
        take_option(o->encoder, text, "context", table, n_options, "bptt");
    }
    values_are_from(NULL);
    return n;
}

/* ---- the vocabulary -------------------------------------------------------------------------- */

/* The tokens of a vocabulary as texts, for free_words. A token that contains a zero byte is cut
 * there. */
static char **words_of(const adz_tokenizer *tokenizer, size_t *count)
{
    *count = (size_t)adz_tokenizer_count(tokenizer);
    char **words = allocate(*count * sizeof *words);
    for (size_t i = 0; i < *count; ++i) {
        adz_text token = adz_tokenizer_token(tokenizer, (int64_t)i);
        words[i] = allocate(token.size + 1);
        memcpy(words[i], token.bytes, token.size);
    }
    return words;
}

static void free_words(char **words, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        free(words[i]);
    }
    free(words);
}

/* For each new token its row in the old vocabulary, or -1, for free(). `known` receives the number
 * of tokens that have a row. */
static int64_t *rows_of(const adz_tokenizer *old, const adz_tokenizer *now, size_t *known)
{
    size_t n_old, n_new;
    char **old_words = words_of(old, &n_old), **new_words = words_of(now, &n_new);
    int64_t *rows = allocate(n_new * sizeof *rows);
    adz_fastai_old_index(
        (const char *const *)old_words, n_old, (const char *const *)new_words, n_new, rows);
    *known = 0;
    for (size_t i = 0; i < n_new; ++i) {
        *known += rows[i] >= 0;
    }
    free_words(old_words, n_old);
    free_words(new_words, n_new);
    return rows;
}

static adz_tokenizer *tokenizer_like(
    const options *o, const adz_tokenizer *old, const text_table *table, const char *name)
{
    adz_token_kind kind = adz_tokenizer_kind(old);
    if (kind == ADZ_TOKENS_BYTES) {
        fail("%s: a model of bytes leaves no number for padding; train one of characters or words",
            o->encoder);
    }
    return make_tokenizer(table, name, kind, o->max_vocab, o->min_freq);
}

/* ---- the weights ----------------------------------------------------------------------------- */

/* The state of the language model, with the names that it has without the prefix of the file. */
static adz_state_dict *read_state(adz_safetensors *file)
{
    adz_state_dict *state = adz_state_dict_new();
    for (size_t i = 0; i < adz_safetensors_count(file); ++i) {
        const char *name = adz_safetensors_name_at(file, i);
        if (strncmp(name, in_file, sizeof in_file - 1) == 0) {
            adz_state_dict_add(state, name + sizeof in_file - 1, adz_safetensors_at(file, i));
        }
    }
    return state;
}

/* The entries of the part "0" of a state, under names without that prefix. */
static adz_state_dict *encoder_state(const adz_state_dict *all)
{
    adz_state_dict *state = adz_state_dict_new();
    for (size_t i = 0; i < adz_state_dict_count(all); ++i) {
        const char *name = adz_state_dict_name_at(all, i);
        if (strncmp(name, "0.", 2) == 0) {
            adz_state_dict_add(state, name + 2, adz_state_dict_at(all, i));
        }
    }
    return state;
}

static void load_encoder(const model *m, const char *path, const adz_state_dict *converted)
{
    adz_module *encoder = adz_module_get_child(m->root, in_model);
    adz_state_dict *state = encoder_state(converted);
    adz_named_list names = adz_module_named_parameters(encoder);
    for (size_t i = 0; i < names.count; ++i) {
        if (adz_state_dict_get(state, names.items[i].name) == NULL) {
            fail("%s: the language model has no '%s'", path, names.items[i].name);
        }
    }
    adz_module_load_state_dict(encoder, state, false); /* tied tensors occur once */
    adz_state_dict_free(&state);
}

model model_from_language_model(
    const options *o, const text_table *table, const char *name, char **labels, size_t n_labels)
{
    size_t size, known;
    adz_safetensors *file = open_file(o->encoder);
    char *text = read_bytes(file, "model.options", &size);
    network n = network_like(o, text);
    free(text);
    text = read_bytes(file, "model.vocabulary", &size);
    adz_tokenizer *old = adz_tokenizer_from_memory(text, size, adz_fastai_token_rules());
    free(text);
    model m = new_model(&n, tokenizer_like(o, old, table, name), labels, n_labels);
    int64_t *rows = rows_of(old, m.tokenizer, &known);
    size_t tokens = (size_t)adz_tokenizer_count(m.tokenizer);
    printf("%s: its encoder knows %zu of the %zu tokens\n", o->encoder, known, tokens);
    adz_scope *scope = adz_scope_open();
    adz_state_dict *state = read_state(file);
    adz_state_dict *converted = adz_fastai_convert_weights(state, rows, tokens);
    load_encoder(&m, o->encoder, converted);
    adz_state_dict_free(&converted);
    adz_state_dict_free(&state);
    adz_scope_close(scope);
    free(rows);
    adz_tokenizer_free(&old);
    adz_safetensors_free(&file);
    return m;
}
