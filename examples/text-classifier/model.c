/* Builds the classifier, and saves and loads it with its vocabulary and labels. */
#include "model.h"

#include <adze/custom.h>
#include <adze/zoo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../pretrained/folder.h"
#include "pretrained.h"

enum { MOST_SAVED_LABELS = 1000000 };

/* ---- building -------------------------------------------------------------------------------- */

/* Initial values: a table like that of a language model, and linear layers that keep the size of
 * their input. fastai's own deviations (1 for an untied table, 0.02 for layers) suit tables that
 * are loaded and 768 features. With few features the output of attention would be too small
 * compared with the embeddings. */
static adz_status draw_one(adz_module *module, void *user)
{
    (void)user;
    bool table = strcmp(adz_module_name(module), "Embedding") == 0;
    if (table || strcmp(adz_module_name(module), "Linear") == 0) {
        adz_tensor *weight = adz_module_get_parameter(module, "weight");
        double wide = 0.55 / sqrt((double)adz_tensor_size(weight, 1));
        adz_init_normal_(weight, 0, table ? 0.02 : wide, NULL);
    }
    return ADZ_OK;
}

static adz_status draw_transformer(adz_module *module)
{
    adz_fastai_init_transformer(module);
    return adz_module_apply(module, draw_one, NULL);
}

static adz_fastai_config config_of(const network *n)
{
    static const adz_fastai_activation activations[] = { ADZ_FASTAI_ACTIVATION_GELU,
        ADZ_FASTAI_ACTIVATION_RELU, ADZ_FASTAI_ACTIVATION_SWISH };
    static const char *const names[] = { "awd_lstm_clas_config", "awd_lstm_clas_config",
        "tfmer_clas_config", "tfmerXL_clas_config" };
    adz_fastai_config c;
    adz_fastai_config_init(&c, sizeof c, names[n->arch]);
    c.n_layers = n->layers;
    c.emb_sz = c.d_model = n->width;
    c.n_hid = c.d_inner = n->hidden;
    c.qrnn = n->arch == ARCH_QRNN;
    c.bidir = n->bidir;
    c.init = n->arch >= ARCH_TRANSFORMER ? draw_transformer : c.init;
    c.mask = n->mask == MASK_ON;
    c.n_heads = n->heads;
    c.d_head = 0;
    c.act = activations[n->activation];
    c.double_drop = false; /* as in char-lm */
    c.ctx_len = n->bptt;
    c.mem_len = n->memory;
    return c;
}

static adz_module *build(const network *n, int64_t vocabulary, size_t labels)
{
    static const double ps[MAX_HEAD] = { 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1 };
    adz_fastai_config c = config_of(n);
    adz_fastai_text_classifier_options o = ADZ_FASTAI_TEXT_CLASSIFIER_OPTIONS;
    o.bptt = n->bptt;
    o.max_len = n->max_len;
    o.drop_mult = n->dropout;
    o.lin_ftrs = n->head;
    o.n_lin_ftrs = (size_t)n->n_head;
    o.ps = ps;
    o.pad_idx = ADZ_XXPAD;
    return adz_fastai_text_classifier_new(vocabulary, (int64_t)labels, &c, &o);
}

model new_model(const network *n, adz_tokenizer *tokenizer, char **labels, size_t n_labels)
{
    model m = { NULL, tokenizer, labels, n_labels, *n, false, ADZ_XXPAD };
    m.root = build(n, adz_tokenizer_count(tokenizer), n_labels);
    return m;
}

void free_model(model *m)
{
    adz_module_release(&m->root);
    adz_tokenizer_free(&m->tokenizer);
    for (size_t i = 0; i < m->n_labels; ++i) {
        free(m->labels[i]);
    }
    free(m->labels);
}

adz_fastai_groups *groups_of(const model *m)
{
    switch (m->network.arch) {
    case ARCH_TRANSFORMER:
        return adz_fastai_tfmer_clas_split(m->root);
    case ARCH_TRANSFORMER_XL:
        return adz_fastai_tfmer_xl_clas_split(m->root);
    default:
        return adz_fastai_awd_lstm_clas_split(m->root);
    }
}

adz_tensor *scores_of(const model *m, adz_tensor *ids)
{
    return adz_module_forward(m->root, ids);
}

/* ---- the file -------------------------------------------------------------------------------- */

static void set_tokenizer(adz_safetensors *file, const adz_tokenizer *tokenizer)
{
    adz_tensor *bytes = adz_tokenizer_to_memory(tokenizer);
    size_t size = (size_t)adz_tensor_numel(bytes);
    char *text = allocate(size + 1);
    memcpy(text, adz_tensor_data(bytes), size);
    text[size] = '\0';
    adz_safetensors_set_metadata(file, "tokenizer", text);
    free(text);
}

void set_labels(adz_safetensors *file, const model *m)
{
    char key[64], value[32];
    snprintf(value, sizeof value, "%zu", m->n_labels);
    adz_safetensors_set_metadata(file, "labels", value);
    for (size_t i = 0; i < m->n_labels; ++i) {
        snprintf(key, sizeof key, "label.%zu", i);
        adz_safetensors_set_metadata(file, key, m->labels[i]);
    }
}

char **read_labels(const char *path, adz_safetensors *file, size_t *n_labels)
{
    char key[64];
    values_are_from(path);
    *n_labels = (size_t)whole(
        "labels", metadata_text(path, file, "labels", program_name), 2, MOST_SAVED_LABELS);
    values_are_from(NULL);
    char **labels = allocate(*n_labels * sizeof *labels);
    for (size_t i = 0; i < *n_labels; ++i) {
        snprintf(key, sizeof key, "label.%zu", i);
        labels[i] = copy_text(metadata_text(path, file, key, program_name));
        if (i > 0 && strcmp(labels[i - 1], labels[i]) >= 0) {
            fail("%s: its labels are damaged: '%s' stands before '%s'", path, labels[i - 1],
                labels[i]);
        }
    }
    return labels;
}

void save_model(const model *m, const char *path)
{
    if (m->published) {
        save_pretrained(m, path);
        return;
    }
    char key[64], value[256];
    network n = m->network;
    argument table[MOST_OPTIONS];
    size_t n_options = network_options(&n, table);
    adz_safetensors *file = adz_module_to_safetensors(m->root, NULL);
    for (size_t i = 0; i < n_options; ++i) {
        snprintf(key, sizeof key, "option.%s", table[i].name);
        const char *text = table[i].kind == ARGUMENT_READ
                               ? head_text(&n, value, sizeof value)
                               : argument_text(&table[i], value, sizeof value);
        adz_safetensors_set_metadata(file, key, text);
    }
    set_labels(file, m);
    set_tokenizer(file, m->tokenizer);
    adz_safetensors_save(file, path);
    adz_safetensors_free(&file);
}

const char *metadata_text(
    const char *path, adz_safetensors *file, const char *key, const char *maker)
{
    const char *text = adz_safetensors_get_metadata(file, key);
    if (text == NULL) {
        fail("%s: not saved by %s, or by another version of it: its metadata has no '%s'", path,
            maker, key);
    }
    return text;
}

model load_model(const char *path)
{
    if (is_folder(path)) {
        return load_pretrained(path);
    }
    char key[64];
    model m = { .padding = ADZ_XXPAD };
    argument table[MOST_OPTIONS];
    size_t n_options = network_options(&m.network, table);
    adz_safetensors *file = adz_safetensors_load(path, NULL);
    values_are_from(path);
    for (size_t i = 0; i < n_options; ++i) {
        snprintf(key, sizeof key, "option.%s", table[i].name);
        char *text = copy_text(metadata_text(path, file, key, program_name));
        set_argument(&table[i], text);
        free(text);
    }
    values_are_from(NULL);
    m.labels = read_labels(path, file, &m.n_labels);
    const char *tokens = metadata_text(path, file, "tokenizer", program_name);
    m.tokenizer = adz_tokenizer_from_memory(tokens, strlen(tokens), adz_fastai_token_rules());
    m.root = build(&m.network, adz_tokenizer_count(m.tokenizer), m.n_labels);
    adz_module_load_safetensors(m.root, file, true);
    adz_safetensors_free(&file);
    return m;
}
