/* Entries of config.json. */
#include "pretrained/config.h"

#include <math.h>
#include <string.h>

#include "adze/checks.h"
#include "adze/ops/index.h"

/* Entries that change no result of a forward pass: what trained the model and what wrote the file,
 * how text is generated, tokens with a meaning, labels of heads, and what transformers returns. */
static const char *const without_effect[] = { "_name_or_path", "_num_labels", "architectures",
    "bos_token_id", "chunk_size_feed_forward", "classifier_dropout", "dtype", "eos_token_id",
    "finetuning_task", "gradient_checkpointing", "id2label", "initializer_range",
    "is_encoder_decoder", "is_llama_config", "label2id", "model_type", "output_attentions",
    "output_hidden_states", "pad_token_id", "pretraining_tp", "problem_type", "return_dict",
    "sep_token_id", "task_specific_params", "tokenizer_class", "torch_dtype", "torchscript",
    "transformers_version", "use_cache", "transformers.js_config", "qa_dropout",
    "seq_classif_dropout", "tie_weights_", NULL };

/* ---- the table of fields -------------------------------------------------------------------- */

typedef struct {
    const models_json *config;
    const adz_field *rows;
    size_t n_rows;
    const void *values;
} checking;

static adz_status check(void *user)
{
    const checking *c = user;
    return adz_fields_check(c->config->op, c->rows, c->n_rows, c->values) ? ADZ_OK
                                                                          : adz_error_code();
}

/* Reads one entry, or its default. */
static bool read_row(const models_json *config, const adz_field *row, void *values)
{
    const models_json entry = adzi_models_json_member(config, row->name);
    const bool given = entry.value != NULL && !json_is_null(entry.value);
    void *to = (char *)values + row->offset;
    if (row->kind == ADZ_FIELD_BOOL) {
        *(bool *)to = row->value != 0;
        return !given || adzi_models_json_flag_of(&entry, to);
    }
    if (row->kind == ADZ_FIELD_I64) {
        *(int64_t *)to = (int64_t)row->value;
        return !given ||
               adzi_models_json_whole_of(&entry, -((int64_t)1 << 53), (int64_t)1 << 53, to);
    }
    *(double *)to = row->value;
    return !given || adzi_models_json_number_of(&entry, to);
}

bool adzi_models_config_read(
    const models_json *config, const adz_field *rows, size_t n_rows, void *values)
{
    for (size_t i = 0; i < n_rows; ++i) {
        if (!read_row(config, &rows[i], values)) {
            return false;
        }
    }
    checking c = { config, rows, n_rows, values };
    return adz_error_within(config->file, check, &c) == ADZ_OK;
}

/* ---- entries that are known ----------------------------------------------------------------- */

static bool listed(const char *const *names, const char *name)
{
    for (; *names != NULL; ++names) {
        if (strcmp(*names, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_row(const adz_field *rows, size_t n_rows, const char *name)
{
    for (size_t i = 0; i < n_rows; ++i) {
        if (strcmp(rows[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

bool adzi_models_config_known(
    const models_json *config, const adz_field *rows, size_t n_rows, const char *const *others)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)config->value, key, value)
    {
        if (!is_row(rows, n_rows, key) && !listed(others, key) && !listed(without_effect, key)) {
            const models_json entry = adzi_models_json_member(config, key);
            adzi_models_json_fail(&entry, ADZ_ERR_UNSUPPORTED,
                "is an entry that adze does not know, and it might change the results");
            return false;
        }
    }
    return true;
}

/* ---- single entries ------------------------------------------------------------------------- */

bool adzi_models_config_activation(
    const models_json *config, const char *name, const char *fallback, adz_activation *activation)
{
    static const struct {
        const char *name;
        adz_activation activation;
    } known[] = { { "silu", ADZ_ACTIVATION_SILU }, { "swish", ADZ_ACTIVATION_SILU },
        { "gelu", ADZ_ACTIVATION_GELU }, { "gelu_python", ADZ_ACTIVATION_GELU },
        { "gelu_new", ADZ_ACTIVATION_GELU_TANH }, { "gelu_pytorch_tanh", ADZ_ACTIVATION_GELU_TANH },
        { "relu", ADZ_ACTIVATION_RELU } };
    const models_json entry = adzi_models_json_member(config, name);
    const bool given = entry.value != NULL && !json_is_null(entry.value);
    const char *text = given ? adzi_models_json_text_of(&entry) : fallback;
    if (text == NULL) {
        return false;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        if (strcmp(known[i].name, text) == 0) {
            *activation = known[i].activation;
            return true;
        }
    }
    adzi_models_json_fail(
        &entry, ADZ_ERR_UNSUPPORTED, "is \"%.60s\", an activation that adze does not know", text);
    return false;
}

bool adzi_models_config_is_text(const models_json *config, const char *name, const char *wanted)
{
    const models_json entry = adzi_models_json_member(config, name);
    if (entry.value == NULL || json_is_null(entry.value)) {
        return true;
    }
    const char *text = adzi_models_json_text_of(&entry);
    if (text != NULL && strcmp(text, wanted) != 0) {
        adzi_models_json_fail(
            &entry, ADZ_ERR_UNSUPPORTED, "is \"%.60s\", but adze knows \"%s\" only", text, wanted);
        return false;
    }
    return text != NULL;
}

bool adzi_models_config_is_flag(const models_json *config, const char *name, bool wanted)
{
    const models_json entry = adzi_models_json_member(config, name);
    bool value;
    if (entry.value == NULL || json_is_null(entry.value)) {
        return true;
    }
    if (!adzi_models_json_flag_of(&entry, &value)) {
        return false;
    }
    if (value != wanted) {
        adzi_models_json_fail(&entry, ADZ_ERR_UNSUPPORTED, "is %s, but adze knows %s only",
            value ? "true" : "false", wanted ? "true" : "false");
    }
    return value == wanted;
}

bool adzi_models_config_padding(
    const models_json *config, int64_t rows, int64_t fallback, int64_t *padding)
{
    const models_json entry = adzi_models_json_member(config, "pad_token_id");
    *padding = entry.value == NULL ? fallback : ADZ_NO_PADDING;
    return entry.value == NULL || json_is_null(entry.value) ||
           adzi_models_json_whole_of(&entry, -rows, rows - 1, padding);
}
