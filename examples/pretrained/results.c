/* Asks a model for its results by a call, and its folder for sizes. */
#include "results.h"

#include <stdio.h>
#include <string.h>

#include "entry.h"

bool model_gives(adz_module *model, const char *name)
{
    const int64_t id = 0;
    bool gives = false;
    adz_scope *scope = adz_scope_open();
    adz_values *in = adz_values_new(), *out = adz_values_new();
    ADZ_NO_GRAD
    {
        adz_values_add(in, "input_ids", adz_tensor_from(&id, ADZ_SHAPE(1, 1), ADZ_I64));
        adz_module_call(model, in, out);
    }
    for (size_t i = 0; i < adz_values_count(out); ++i) {
        gives = gives || strcmp(adz_values_name_at(out, i), name) == 0;
    }
    adz_values_free(&in);
    adz_values_free(&out);
    adz_scope_close(scope);
    return gives;
}

static bool is_roberta(adz_module *encoder)
{
    return strcmp(adz_module_name(encoder), "RobertaModel") == 0;
}

int64_t padding_of(const char *folder, adz_module *encoder)
{
    int64_t padding = is_roberta(encoder) ? 1 : 0; /* as transformers has it without the entry */
    read_numbers(folder, "config.json", "pad_token_id", &padding, 1);
    return padding;
}

int64_t gguf_positions(const adz_gguf *file)
{
    char key[256];
    int64_t positions = 0;
    snprintf(key, sizeof key, "%s.context_length", adz_gguf_text(file, "general.architecture"));
    if (adz_gguf_kind_of(file, key) == ADZ_GGUF_KIND_INTEGER) {
        adz_gguf_integer(file, key, &positions);
    }
    return positions;
}

/* The positions of a RoBERTa begin behind the index of its padding token. */
int64_t positions_of(const char *folder, adz_module *encoder)
{
    int64_t positions = 0;
    if (ends_with(folder, ".gguf")) {
        adz_gguf *file = adz_gguf_open(folder);
        positions = gguf_positions(file);
        adz_gguf_close(&file);
        return positions;
    }
    if (read_numbers(folder, "config.json", "max_position_embeddings", &positions, 1) == 1 &&
        is_roberta(encoder)) {
        positions -= padding_of(folder, encoder) + 1;
    }
    return positions;
}
