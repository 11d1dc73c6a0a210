/* What a program has to know of a published network: the most tokens of a text, and the ids that
 * end one. */
#include "pretrained/info.h"

#include <string.h>

#include "adze/models/pretrained.h"
#include "models.h"
#include "pretrained/folder.h"
#include "pretrained/pooling.h"

static const char eos[] = "eos_token_id";

/* ---- the configuration ---------------------------------------------------------------------- */

json_t *adzi_models_kept_config(const char *op, adz_module *module)
{
    adz_named_list buffers = adz_module_named_buffers(module);
    for (size_t i = 0; i < buffers.count; ++i) {
        if (strcmp(buffers.items[i].name, MODELS_CONFIG) == 0) {
            const adz_tensor *text = buffers.items[i].tensor;
            return adzi_models_json_parse(op, "the module's configuration",
                adz_tensor_data_constant(text), (size_t)adz_tensor_numel(text));
        }
    }
    return models_fail(op, ADZ_ERR_ARGUMENT,
        "the module is a %s that adz_pretrained_open has not read", adz_module_name(module));
}

/* ---- ids that end a text -------------------------------------------------------------------- */

/* Reads the ids of an entry, a number, a list of numbers, or null. `ids` may be NULL, or has room
 * for as many as there are. Numbers below 0 are no ids. False with the error recorded. */
static bool read_ends(const models_json *entry, int64_t *ids, size_t *count)
{
    const bool list = json_is_array(entry->value);
    const bool none = entry->value == NULL || json_is_null(entry->value);
    const size_t n = list ? json_array_size(entry->value) : none ? 0 : 1;
    *count = 0;
    for (size_t i = 0; i < n; ++i) {
        const models_json one = list ? adzi_models_json_at(entry, i) : *entry;
        int64_t id;
        if (!adzi_models_json_whole_of(&one, INT64_MIN, INT64_MAX, &id)) {
            return false;
        }
        if (id >= 0) {
            if (ids != NULL) {
                ids[*count] = id;
            }
            ++*count;
        }
    }
    return true;
}

bool adzi_models_take_ends(const models_json *config, const char *folder, json_t *root)
{
    static const char file[] = "generation_config.json";
    char path[MODELS_PATH];
    size_t count;
    json_t *generation;
    if (!adzi_models_folder_json(config->op, folder, file, path, &generation)) {
        return false;
    }
    const models_json all = adzi_models_json_root(config->op, path, generation);
    const models_json theirs = adzi_models_json_member(&all, eos);
    const models_json own = adzi_models_json_member(config, eos);
    bool good = (generation == NULL || adzi_models_json_is_object(&all)) &&
                read_ends(&theirs, NULL, &count);
    if (good && theirs.value != NULL && !json_is_null(theirs.value)) {
        good = json_object_set(root, eos, json_object_get(generation, eos)) == 0;
        if (!good) {
            adz_error_format(
                config->op, ADZ_ERR_MEMORY, "memory for the configuration was refused");
        }
    } else if (good) {
        good = read_ends(&own, NULL, &count);
    }
    json_decref(generation);
    return good;
}

adz_tensor *adz_pretrained_eos_token_ids(adz_module *module)
{
    static const char op[] = "adz_pretrained_eos_token_ids";
    if (module == NULL) {
        adz_error_null(op, "module");
        return NULL;
    }
    json_t *config = adzi_models_kept_config(op, module);
    const models_json root = adzi_models_json_root(op, "the module's configuration", config);
    const models_json entry = adzi_models_json_member(&root, eos);
    size_t count;
    int64_t *ids = config != NULL && read_ends(&entry, NULL, &count)
                       ? adzi_models_alloc((count + 1) * sizeof *ids)
                       : NULL;
    adz_tensor *t = NULL;
    if (ids != NULL) {
        read_ends(&entry, ids, &count);
        t = adz_tensor_from(ids, ADZ_SHAPE((int64_t)count), ADZ_I64);
    }
    adzi_models_free(ids);
    json_decref(config);
    return t;
}

/* ---- the most tokens ------------------------------------------------------------------------ */

/* The most positions of a language model by its configuration, or 0; -1 with the error recorded. */
static int64_t positions_of(const char *op, adz_module *module)
{
    static const char *const names[] = { "max_position_embeddings", "n_positions" };
    json_t *config = adzi_models_kept_config(op, module);
    const models_json root = adzi_models_json_root(op, "the module's configuration", config);
    int64_t positions = config != NULL ? 0 : -1;
    for (int i = 0; i < 2 && positions == 0; ++i) {
        const models_json entry = adzi_models_json_member(&root, names[i]);
        const bool given = entry.value != NULL && !json_is_null(entry.value);
        if (given && !adzi_models_json_whole_of(&entry, 0, INT64_MAX, &positions)) {
            positions = -1;
        }
    }
    json_decref(config);
    return positions;
}

/* The most positions; with `texts`, of a network with a pooling the tokens to which it cuts texts.
 */
static int64_t most_of(const char *op, adz_module *module, bool texts)
{
    if (module == NULL) {
        adz_error_null(op, "module");
        return -1;
    }
    const models_sentence *sentence = adzi_models_sentence_of(module, NULL);
    return sentence == NULL ? positions_of(op, module)
           : texts          ? sentence->max_seq_length
                            : sentence->max_positions;
}

int64_t adz_pretrained_max_positions(adz_module *module)
{
    return most_of("adz_pretrained_max_positions", module, false);
}

int64_t adz_pretrained_max_seq_length(adz_module *module)
{
    return most_of("adz_pretrained_max_seq_length", module, true);
}
