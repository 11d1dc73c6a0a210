/* Saving a published network in the form in which it was published. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "adze/io/module.h"
#include "adze/models/pretrained.h"
#include "json.h"
#include "models.h"
#include "pretrained/info.h"
#include "pretrained/pooling.h"

enum { PATH = 1024 };

static const char op[] = "adz_pretrained_save";

static bool path_of(char *path, const char *folder, const char *name)
{
    if (snprintf(path, PATH, "%s/%s", folder, name) < PATH) {
        return true;
    }
    adz_error_format(op, ADZ_ERR_ARGUMENT, "the path of the folder is too long");
    return false;
}

/* ---- the weights ---------------------------------------------------------------------------- */

/* Copies the collection without the further names of tied parameters, and marks it as transformers
 * does. The collection names them in its metadata, which transformers would not read. */
static adz_safetensors *published(adz_safetensors *all)
{
    adz_safetensors *file = adz_safetensors_new();
    bool good = file != NULL && adz_safetensors_set_metadata(file, "format", "pt") == ADZ_OK;
    for (size_t i = 0; i < adz_safetensors_count(all) && good; ++i) {
        good = adz_safetensors_add(
                   file, adz_safetensors_name_at(all, i), adz_safetensors_at(all, i)) == ADZ_OK;
    }
    if (!good) {
        adz_safetensors_free(&file);
    }
    return file;
}

static adz_status save_weights(adz_module *module, const char *path)
{
    adz_module_save_options o = ADZ_MODULE_SAVE_OPTIONS;
    o.dedup = true;
    adz_safetensors *all = adz_module_to_safetensors(module, &o);
    adz_safetensors *file = all != NULL ? published(all) : NULL;
    const adz_status status = file != NULL ? adz_safetensors_save(file, path) : adz_error_code();
    adz_safetensors_free(&file);
    adz_safetensors_free(&all);
    return status;
}

/* ---- the configuration ---------------------------------------------------------------------- */

/* The configuration with the dtype of the parameters; NULL with the error recorded. */
static json_t *config_of(adz_module *module)
{
    json_t *config = adzi_models_kept_config(op, module);
    adz_tensor_list parameters = adz_module_parameters(module);
    if (config != NULL && parameters.count > 0) {
        json_object_del(config, "torch_dtype");
        json_object_set_new(
            config, "dtype", json_string(adz_dtype_name(adz_tensor_dtype(parameters.items[0]))));
    }
    return config;
}

/* Writes the text to a file beside the final one and renames it. */
static adz_status save_json(const json_t *json, const char *folder, const char *name)
{
    char path[PATH], other[PATH];
    if (!path_of(path, folder, name) || !path_of(other, folder, ".adze-json.tmp")) {
        return adz_error_code();
    }
    FILE *stream = fopen(other, "wb");
    bool good = stream != NULL && json_dumpf(json, stream, JSON_INDENT(2) | JSON_SORT_KEYS) == 0 &&
                fputc('\n', stream) != EOF;
    good = stream != NULL && fclose(stream) == 0 && good;
    if (good && rename(other, path) == 0) {
        return ADZ_OK;
    }
    remove(other);
    return adz_error_format(op, ADZ_ERR_IO, "%s cannot be written", path);
}

static adz_status make_folder(const char *path)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST
               ? ADZ_OK
               : adz_error_format(op, ADZ_ERR_IO, "the folder %s cannot be made", path);
}

/* ---- embeddings of sentences ---------------------------------------------------------------- */

/* A row of modules.json. */
static json_t *module_row(int number, const char *path, const char *kind)
{
    char name[16], type[64];
    snprintf(name, sizeof name, "%d", number);
    snprintf(type, sizeof type, "sentence_transformers.models.%s", kind);
    return json_pack(
        "{s:i, s:s, s:s, s:s}", "idx", number, "name", name, "path", path, "type", type);
}

/* The files of a model with a pooling. */
typedef struct {
    json_t *pooling, *modules, *length;
} sentence_files;

/* Makes the files; false if memory was refused. */
static bool make_files(const models_sentence *sentence, int64_t width, sentence_files *f)
{
    f->pooling = json_pack("{s:I, s:b, s:b, s:b, s:b}", "word_embedding_dimension",
        (json_int_t)width, "pooling_mode_cls_token", sentence->pooling == MODELS_POOLING_CLS,
        "pooling_mode_mean_tokens", sentence->pooling == MODELS_POOLING_MEAN,
        "pooling_mode_max_tokens", sentence->pooling == MODELS_POOLING_MAX,
        "pooling_mode_mean_sqrt_len_tokens", 0);
    f->length = json_pack("{s:I, s:b}", "max_seq_length", (json_int_t)sentence->max_seq_length,
        "do_lower_case", sentence->do_lower_case);
    f->modules = json_array();
    return f->pooling != NULL && f->length != NULL &&
           json_array_append_new(f->modules, module_row(0, "", "Transformer")) == 0 &&
           json_array_append_new(f->modules, module_row(1, "1_Pooling", "Pooling")) == 0 &&
           (!sentence->normalize ||
               json_array_append_new(f->modules, module_row(2, "2_Normalize", "Normalize")) == 0);
}

/* Writes modules.json, the configuration of the pooling, and the most tokens of a text, if the
 * model has a pooling. modules.json comes last, because it leads to the others. */
static adz_status save_sentence(const adz_module *module, const char *folder)
{
    int64_t width;
    const models_sentence *sentence = adzi_models_sentence_of(module, &width);
    char below[PATH];
    if (sentence == NULL || sentence->pooling == MODELS_POOLING_NONE) {
        return ADZ_OK;
    }
    sentence_files files;
    adz_status status = ADZ_OK;
    if (!make_files(sentence, width, &files)) {
        status = adz_error_format(op, ADZ_ERR_MEMORY, "memory for modules.json was refused");
    } else if (!path_of(below, folder, "1_Pooling")) {
        status = adz_error_code();
    }
    status = status == ADZ_OK ? make_folder(below) : status;
    status = status == ADZ_OK ? save_json(files.pooling, below, "config.json") : status;
    status =
        status == ADZ_OK ? save_json(files.length, folder, "sentence_bert_config.json") : status;
    status = status == ADZ_OK ? save_json(files.modules, folder, "modules.json") : status;
    json_decref(files.pooling);
    json_decref(files.length);
    json_decref(files.modules);
    return status;
}

/* Refuses a folder whose modules.json would give a pooling to a model without one. */
static adz_status check_sentence(const adz_module *module, const char *folder)
{
    int64_t width;
    const models_sentence *sentence = adzi_models_sentence_of(module, &width);
    models_sentence there;
    if (sentence == NULL || sentence->pooling != MODELS_POOLING_NONE) {
        return ADZ_OK;
    }
    if (!adzi_models_sentence_read(op, folder, &there)) {
        return adz_error_code();
    }
    return there.pooling == MODELS_POOLING_NONE
               ? ADZ_OK
               : adz_error_format(op, ADZ_ERR_ARGUMENT,
                     "%s has a modules.json with a pooling, which this model does not have; remove the file or take another folder",
                     folder);
}

/* Refuses weights that transformers does not read. */
static adz_status check_blocks(adz_module *module)
{
    adz_tensor_list parameters = adz_module_parameters(module);
    for (size_t i = 0; i < parameters.count; ++i) {
        if (adz_tensor_dtype(parameters.items[i]) == ADZ_U8) {
            return adz_error_format(op, ADZ_ERR_UNSUPPORTED,
                "the module has weights in blocks of Q8_0, which transformers does not read; adz_module_to converts them");
        }
    }
    return ADZ_OK;
}

adz_status adz_pretrained_save(adz_module *module, const char *folder)
{
    char path[PATH];
    if (module == NULL) {
        return adz_error_null(op, "module");
    }
    if (folder == NULL) {
        return adz_error_null(op, "folder");
    }
    json_t *config = config_of(module);
    if (config == NULL) {
        return adz_error_code();
    }
    adz_status status =
        path_of(path, folder, "model.safetensors") ? check_blocks(module) : adz_error_code();
    status = status == ADZ_OK ? check_sentence(module, folder) : status;
    status = status == ADZ_OK ? make_folder(folder) : status;
    status = status == ADZ_OK ? save_weights(module, path) : status;
    status = status == ADZ_OK ? save_json(config, folder, "config.json") : status;
    status = status == ADZ_OK ? save_sentence(module, folder) : status;
    json_decref(config);
    return status;
}
