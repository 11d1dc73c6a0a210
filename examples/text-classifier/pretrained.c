/* Puts a classifier's head on a published encoder, and saves both as a folder. */
#include "pretrained.h"

#include <adze/models.h>
#include <stdio.h>
#include <stdlib.h>

#include "../pretrained/entry.h"
#include "../pretrained/folder.h"
#include "../pretrained/results.h"

enum { ENCODER = 0, HEAD = 1 };

static const double head_dropout = 0.1;
static const char head_file[] = "classifier.safetensors";

/* ---- the network ---------------------------------------------------------------------------- */

typedef struct classifier_state {
    int64_t padding; /* the token that fills rows */
} classifier_state;

/* Scores of a batch: a linear layer of the mean of the last hidden states, over the tokens that are
 * no padding. */
static adz_tensor *classifier_forward(adz_module *self, adz_tensor *ids)
{
    const classifier_state *state = adz_module_data(self);
    adz_tensor *mask = adz_ne_number(ids, (double)state->padding);
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "input_ids", ids);
    adz_values_add(in, "attention_mask", mask);
    adz_module_call(adz_module_child_at(self, ENCODER), in, out);
    adz_tensor *hidden = adz_values_get(out, "last_hidden_state"); /* [B, T, D] */
    adz_values_free(&in);
    adz_values_free(&out);
    adz_tensor *counts = adz_unsqueeze(adz_to(mask, ADZ_F32), -1);
    adz_tensor *sum = adz_sum(adz_mul(hidden, counts), ADZ_DIMS(1), ADZ_DROPDIM);
    adz_tensor *mean = adz_div(sum, adz_sum(counts, ADZ_DIMS(1), ADZ_DROPDIM));
    mean = adz_dropout(mean, head_dropout, adz_module_is_training(self), NULL);
    return adz_module_forward(adz_module_child_at(self, HEAD), mean);
}

static const adz_module_type classifier_type = {
    .size = sizeof(adz_module_type), .name = "PretrainedClassifier", .forward = classifier_forward
};

adz_module *encoder_of(const model *m)
{
    return adz_module_child_at(m->root, ENCODER);
}

adz_module *head_of(const model *m)
{
    return adz_module_child_at(m->root, HEAD);
}

static int64_t width_of(adz_module *encoder, const char *folder)
{
    int64_t width = 0;
    if (model_gives(encoder, "logits") || !model_gives(encoder, "last_hidden_state")) {
        fail("%s: a %s is no encoder; a BERT, RoBERTa or DistilBERT is wanted", folder,
            adz_module_name(encoder));
    }
    const char *const names[] = { "hidden_size", "dim" };
    for (int i = 0; i < 2 && width == 0; ++i) {
        read_number(folder, "config.json", names[i], &width);
    }
    if (width == 0) {
        fail("%s/config.json: hidden_size is missing", folder);
    }
    return width;
}

model open_pretrained(const char *folder, int64_t max_len, char **labels, size_t n_labels)
{
    check_model_path(folder);
    if (ends_with(folder, ".gguf")) {
        fail("%s: this program takes a folder with config.json; embed takes GGUF files", folder);
    }
    adz_module *encoder = adz_pretrained_open(folder, NULL);
    const int64_t width = width_of(encoder, folder);
    const int64_t positions = adz_pretrained_max_positions(encoder);
    const int64_t padding = padding_of(folder, encoder);
    model m = { .labels = labels, .n_labels = n_labels, .published = true, .padding = padding };
    m.network.max_len = positions > 0 && positions < max_len ? positions : max_len;
    m.tokenizer = adz_pretrained_tokenizer_open(folder, NULL);
    m.root = adz_module_new(&classifier_type, sizeof(classifier_state));
    *(classifier_state *)adz_module_data(m.root) = (classifier_state){ padding };
    adz_module_add_child(m.root, "encoder", encoder);
    adz_module *head = adz_linear_new(width, (int64_t)n_labels, NULL);
    adz_init_normal_(adz_module_get_parameter(head, "weight"), 0, 0.02, NULL);
    adz_init_zeros_(adz_module_get_parameter(head, "bias"));
    adz_module_add_child(m.root, "classifier", head);
    return m;
}

/* ---- the folder ----------------------------------------------------------------------------- */

void save_pretrained(const model *m, const char *folder)
{
    char path[FOLDER_PATH], value[32];
    adz_pretrained_save(encoder_of(m), folder);
    adz_tokenizer_save(m->tokenizer, path_in(folder, "tokenizer.json", path));
    adz_safetensors *file = adz_module_to_safetensors(head_of(m), NULL);
    set_labels(file, m);
    snprintf(value, sizeof value, "%lld", (long long)m->network.max_len);
    adz_safetensors_set_metadata(file, "max-len", value);
    adz_safetensors_save(file, path_in(folder, head_file, path));
    adz_safetensors_free(&file);
}

model load_pretrained(const char *folder)
{
    char path[FOLDER_PATH];
    size_t n_labels;
    adz_safetensors *file = adz_safetensors_load(path_in(folder, head_file, path), NULL);
    char **labels = read_labels(path, file, &n_labels);
    values_are_from(path);
    const int64_t max_len =
        whole("max-len", metadata_text(path, file, "max-len", program_name), 1, 1 << 30);
    values_are_from(NULL);
    model m = open_pretrained(folder, max_len, labels, n_labels);
    adz_module_load_safetensors(head_of(&m), file, true);
    adz_safetensors_free(&file);
    return m;
}
