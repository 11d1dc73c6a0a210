/* Opening the folder of a published network. */
#include <stdio.h>
#include <string.h>

#include "adze/models/pretrained.h"
#include "adze/options.h"
#include "gguf/model.h"
#include "pretrained/causal_lm.h"
#include "pretrained/families.h"
#include "pretrained/gpt2.h"
#include "pretrained/info.h"

enum { MOST_CONFIG = 1 << 22, PATH = 1024 }; /* bytes of a config.json and of a path */

static const char op[] = "adz_pretrained_open";

static const adz_field fields[] = {
    ADZ_FIELD_PARAMETER_DTYPE(adz_pretrained_options),
    ADZ_FIELD(adz_pretrained_options, as_stored, .value = false),
    ADZ_FIELD(adz_pretrained_options, map, .value = false),
};

ADZ_OPTIONS_TABLE(adz_pretrained_options, ADZ_PRETRAINED_OPTIONS, fields)

bool adzi_models_ends_in(const char *name, const char *end)
{
    const size_t length = strlen(name), own = strlen(end);
    return length >= own && strcmp(name + length - own, end) == 0;
}

/* ---- the family ----------------------------------------------------------------------------- */

static bool has(const char *const *names, const char *name)
{
    for (; *names != NULL; ++names) {
        if (strcmp(*names, name) == 0) {
            return true;
        }
    }
    return false;
}

/* The family of model_type and architecture; NULL with the error recorded. */
static const models_family *family_of(const models_json *config, const char **architecture)
{
    const char *type = adzi_models_json_text(config, "model_type");
    const models_json list = adzi_models_json_member(config, "architectures");
    const models_json first = adzi_models_json_at(&list, 0);
    *architecture = type != NULL ? adzi_models_json_text_of(&first) : NULL;
    if (*architecture == NULL) {
        return NULL;
    }
    const models_family *const tables[] = { adzi_models_decoders, adzi_models_encoders,
        adzi_models_gpt2 };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; ++i) {
        for (const models_family *f = tables[i]; f->model_type != NULL; ++f) {
            if (strcmp(f->model_type, type) == 0 && has(f->architecture, *architecture)) {
                return f;
            }
        }
    }
    adzi_models_json_fail(&first, ADZ_ERR_UNSUPPORTED,
        "is \"%.80s\" of the model_type \"%.80s\", which adze does not have", *architecture, type);
    return NULL;
}

/* ---- the configuration, which the module keeps ---------------------------------------------- */

/* Adds the configuration as text to the module, so that copies and the file that is saved have it.
 */
static bool keep_config(adz_module *module, const json_t *root)
{
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS);
    if (text == NULL) {
        adz_error_format(op, ADZ_ERR_MEMORY, "memory for the configuration was refused");
        return false;
    }
    adz_tensor *bytes =
        adz_tensor_from((const uint8_t *)text, ADZ_SHAPE((int64_t)strlen(text)), ADZ_U8);
    /* jansson frees with the function that it allocates with. */
    json_free_t release;
    json_get_alloc_funcs(NULL, &release);
    release(text);
    return adz_module_add_buffer(module, MODELS_CONFIG, bytes, false) != NULL;
}

/* ---- the folder ----------------------------------------------------------------------------- */

static bool is_language_model(const adz_module *module)
{
    return adzi_models_is_gpt2(module) || adzi_models_is_causal_lm(module);
}

static adz_module *build(models_weights *weights, const models_json *config, json_t *root)
{
    const char *architecture;
    const models_family *family = family_of(config, &architecture);
    if (family == NULL ||
        (weights->find == NULL && !adzi_models_folder_open(weights, weights->file))) {
        return NULL;
    }
    adz_module *module = family->build(weights, config, architecture);
    const bool good =
        module != NULL && adzi_models_all_taken(weights, family->ignored) &&
        (!is_language_model(module) || adzi_models_take_ends(config, weights->file, root)) &&
        keep_config(module, root) && adz_module_eval(module) == ADZ_OK;
    return adzi_models_or_free(good, module);
}

adz_module *adz_pretrained_open(const char *folder, const adz_pretrained_options *options)
{
    adz_pretrained_options o;
    char path[PATH];
    if (folder == NULL) {
        adz_error_null(op, "folder");
        return NULL;
    }
    if (!adz_options_take(op, &adz_pretrained_options_table, &o, options)) {
        return NULL;
    }
    if (o.as_stored && o.dtype != ADZ_F32) {
        return models_fail(op, ADZ_ERR_ARGUMENT,
            "as_stored needs the dtype float32, in which stored weights compute, not %s",
            adz_dtype_name(o.dtype));
    }
    const bool gguf = adzi_models_ends_in(folder, ".gguf");
    if (snprintf(path, sizeof path, gguf ? "%s" : "%s/config.json", folder) >= PATH) {
        return models_fail(op, ADZ_ERR_ARGUMENT, "the path of the folder is too long");
    }
    adz_scope *scope = adz_scope_open();
    models_weights weights = {
        .op = op, .file = folder, .dtype = o.dtype, .as_stored = o.as_stored, .map = o.map
    };
    json_t *root =
        gguf ? adzi_models_gguf_open(&weights, path) : adzi_models_json_load(op, path, MOST_CONFIG);
    const models_json config = adzi_models_json_root(op, path, root);
    adz_module *module =
        root != NULL && adzi_models_json_is_object(&config) ? build(&weights, &config, root) : NULL;
    if (gguf) {
        adzi_models_gguf_close(&weights);
    } else {
        adzi_models_folder_close(&weights);
    }
    adzi_models_weights_end(&weights);
    adz_scope_close(scope);
    json_decref(root);
    return module;
}

adz_tensor *adz_pretrained_cache_new(adz_module *module, int64_t batch, int64_t capacity)
{
    static const char name[] = "adz_pretrained_cache_new";
    if (module == NULL) {
        adz_error_null(name, "module");
        return NULL;
    }
    if (!adz_check_size(name, "batch", batch, 0) ||
        !adz_check_size(name, "capacity", capacity, 0)) {
        return NULL;
    }
    const bool gpt2 = adzi_models_is_gpt2(module);
    if (!is_language_model(module)) {
        return models_fail(name, ADZ_ERR_ARGUMENT, "the module is a %s, which has no cache",
            adz_module_name(module));
    }
    /* Stored weights compute in f32. */
    adz_tensor_list parameters = adz_module_parameters(module);
    const bool doubles = parameters.count > 0 && adz_tensor_dtype(parameters.items[0]) == ADZ_F64;
    return adz_zeros(gpt2 ? adzi_models_gpt2_cache_shape(module, batch, capacity)
                          : adzi_models_cache_shape(module, batch, capacity),
        doubles ? ADZ_F64 : ADZ_F32);
}
