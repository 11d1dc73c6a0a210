/* Modules in safetensors files: collecting the tensors of a module, and loading them. */
#include "io/module.h"
#include "base/capture.h"

#include <string.h>

#include "base/door.h"
#include "base/source.h"
#include "io/finite.h"
#include "io/safetensors.h"
#include "nn/load.h"
#include "nn/module.h"
#include "adze/options.h"

ADZ_OPTIONS_INIT(adz_module_save_options_init, adz_module_save_options, ADZ_MODULE_SAVE_OPTIONS)

/* ---- saving --------------------------------------------------------------------------------- */

/* Prefix and name as one string, which the caller frees with adzi_string_free. */
static char *joined(const char *op, const char *prefix, const char *name)
{
    size_t head = strlen(prefix), tail = strlen(name);
    char *text = adzi_alloc(head + tail + 1);
    if (text == NULL) {
        return adzi_fail_memory(op, head + tail + 1);
    }
    memcpy(text, prefix, head);
    memcpy(text + head, name, tail + 1);
    return text;
}

static bool is_tensor(const void *state, size_t position, const void *t, size_t size)
{
    (void)size;
    return adz_state_dict_at(state, position) == *(adz_tensor *const *)t;
}

/* The index of the first entry of the state that has the tensor of entry `index`. `positions` holds
 * the tensors of all entries before it; a new tensor is added. */
static size_t first_of(const adz_state_dict *state, size_t index, adzi_index *positions)
{
    adz_tensor *t = adz_state_dict_at(state, index);
    size_t first = adzi_index_find(positions, &t, sizeof t, is_tensor, state);
    if (first == ADZI_NOWHERE) {
        adzi_index_enter(positions, &t, sizeof t, index);
        return index;
    }
    return first;
}

/* Adds an entry of the state to the file. If an earlier entry `first` has its tensor, only metadata
 * is added: the entry's name, with the name of `first` as value. */
static adz_status add_entry(const char *op, const adz_state_dict *state, size_t index, size_t first,
    const char *prefix, adz_safetensors *file)
{
    char *name = joined(op, prefix, adz_state_dict_name_at(state, index));
    char *kept = first != index && name != NULL
                     ? joined(op, prefix, adz_state_dict_name_at(state, first))
                     : NULL;
    adz_status status = ADZ_ERR_MEMORY;
    if (name != NULL && first == index) {
        status = adz_safetensors_add(file, name, adz_state_dict_at(state, index));
    } else if (kept != NULL) {
        status = adz_safetensors_set_metadata(file, name, kept);
    }
    adzi_string_free(name);
    adzi_string_free(kept);
    return status;
}

adz_status adzi_module_collect(
    const char *op, adz_module *module, const char *prefix, bool dedup, adz_safetensors *file)
{
    adz_state_dict *state = adz_module_state_dict(module);
    if (state == NULL) {
        return adz_error_code();
    }
    size_t count = adz_state_dict_count(state);
    adzi_index positions = { 0 };
    adz_status status = ADZ_OK;
    if (dedup && !adzi_index_reserve(&positions, count)) {
        adzi_fail_memory(op, 2 * count * sizeof(adzi_index_slot));
        status = ADZ_ERR_MEMORY;
    }
    for (size_t i = 0; i < count && status == ADZ_OK; ++i) {
        size_t first = dedup ? first_of(state, i, &positions) : i;
        status = add_entry(op, state, i, first, prefix, file);
    }
    adzi_index_free(&positions);
    adz_state_dict_free(&state);
    return status;
}

static adz_safetensors *collect(
    const char *op, adz_module *module, const adz_module_save_options *options)
{
    adz_module_save_options o = ADZ_MODULE_SAVE_OPTIONS;
    if (!ADZ_OPTIONS_READ(op, ADZ_MODULE_SAVE_OPTIONS, &o, options)) {
        return NULL;
    }
    if (!adzi_check_module(op, "module", module) ||
        (!o.allow_nonfinite && adzi_module_check_finite(op, module) != ADZ_OK)) {
        return NULL;
    }
    adz_safetensors *file = adz_safetensors_new();
    /* PyTorch's loaders require this entry. */
    if (file != NULL && (adz_safetensors_set_metadata(file, "format", "pt") != ADZ_OK ||
                            adzi_module_collect(op, module, "", o.dedup, file) != ADZ_OK)) {
        adz_safetensors_free(&file);
    }
    return file;
}

adz_safetensors *adz_module_to_safetensors(
    adz_module *module, const adz_module_save_options *options)
{
    ADZI_NOT_CAPTURED(ADZI_MAKES_OBJECT, NULL);
    return collect("adz_module_to_safetensors", module, options);
}

adz_status adz_module_save_with(
    adz_module *module, const char *path, const adz_module_save_options *options)
{
    ADZI_HOLD_REPORTS;
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    if (!adzi_check_module("adz_module_save", "module", module)) {
        return adz_error_code();
    }
    if (path == NULL) {
        return adzi_error_null("adz_module_save", "path");
    }
    adz_safetensors *file = collect("adz_module_save", module, options);
    adz_status status = file != NULL ? adz_safetensors_save(file, path) : adz_error_code();
    adz_safetensors_free(&file);
    return status;
}

adz_status adz_module_save(adz_module *module, const char *path)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    return adz_module_save_with(module, path, NULL);
}

/* ---- loading -------------------------------------------------------------------------------- */

/* Adds the entries that the metadata declares as tied to a tensor of the file, if the module has
 * their names. */
static adz_status add_aliases(const char *op, const adz_load_options *options,
    const adz_safetensors *file, const adz_state_dict *targets, adz_state_dict *state)
{
    adzi_text name = { 0 };
    adz_status status = ADZ_OK;
    for (size_t i = 0; i < file->n_metadata && status == ADZ_OK; ++i) {
        const char *alias = file->metadata[i].key, *kept = file->metadata[i].value;
        size_t position = adzi_safetensors_find(file, kept);
        if (position == file->n_tensors || adzi_safetensors_find(file, alias) != file->n_tensors) {
            continue;
        }
        const adzi_renamed found = adzi_load_rename(op, options, alias, &name);
        if (found == ADZI_RENAME_FAILED) {
            status = adz_error_code();
        } else if (found == ADZI_RENAME_KEEP &&
                   adz_state_dict_get(targets, adzi_text_get(&name)) != NULL) {
            status =
                adz_state_dict_add(state, adzi_text_get(&name), file->tensors[position].tensor);
        }
    }
    adzi_text_free(&name);
    return status;
}

adz_state_dict *adzi_module_pick(const char *op, adz_module *module,
    const adz_load_options *options, const adz_safetensors *file)
{
    adz_state_dict *targets = adz_module_state_dict(module);
    adz_state_dict *state = targets != NULL ? adz_state_dict_new() : NULL;
    adz_status status = state != NULL ? ADZ_OK : ADZ_ERR_MEMORY;
    adzi_text name = { 0 };
    for (size_t i = 0; i < file->n_tensors && status == ADZ_OK; ++i) {
        const adzi_renamed found = adzi_load_rename(op, options, file->tensors[i].name, &name);
        if (found == ADZI_RENAME_FAILED) {
            status = adz_error_code();
        } else if (found == ADZI_RENAME_KEEP) {
            status = adz_state_dict_add(state, adzi_text_get(&name), file->tensors[i].tensor);
        }
    }
    adzi_text_free(&name);
    if (status == ADZ_OK) {
        status = add_aliases(op, options, file, targets, state);
    }
    adz_state_dict_free(&targets);
    if (status != ADZ_OK) {
        adz_state_dict_free(&state);
    }
    return state;
}

adz_status adz_module_load_safetensors_with(
    adz_module *module, adz_safetensors *file, const adz_load_options *options)
{
    ADZI_HOLD_REPORTS;
    ADZI_NOT_CAPTURED(ADZI_USES_ELEMENTS, ADZ_ERR_STATE);
    const char *op = "adz_module_load_safetensors";
    adz_load_options o = ADZ_LOAD_OPTIONS;
    if (!ADZ_OPTIONS_READ(op, ADZ_LOAD_OPTIONS, &o, options) ||
        !adzi_check_module(op, "module", module)) {
        return adz_error_code();
    }
    if (!adzi_check_handle(op, "file", file)) {
        return adz_error_code();
    }
    if (adzi_refused(op) != ADZ_OK) {
        return adzi_pending();
    }
    adz_state_dict *state = adzi_module_pick(op, module, &o, file);
    adz_status status = state != NULL ? adzi_load("adz_module_load_state_dict", module, state, &o)
                                      : adz_error_code();
    adz_state_dict_free(&state);
    return status;
}

adz_status adz_module_load_safetensors(adz_module *module, adz_safetensors *file, bool strict)
{
    adz_load_options options = ADZ_LOAD_OPTIONS;
    options.strict = strict;
    return adz_module_load_safetensors_with(module, file, &options);
}

typedef struct loading {
    adz_module *module;
    adz_safetensors *file;
    const adz_load_options *options;
    adz_status status; /* ADZ_ERR_MEMORY unless the door opens */
} loading;

static bool load_tensors(void *state)
{
    loading *l = state;
    l->status = adz_module_load_safetensors_with(l->module, l->file, l->options);
    return l->status == ADZ_OK;
}

adz_status adz_module_load_with(
    adz_module *module, const char *path, const adz_load_options *options)
{
    ADZI_HOLD_REPORTS;
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    const char *op = "adz_module_load";
    if (!adzi_check_module(op, "module", module)) {
        return adz_error_code();
    }
    if (path == NULL) {
        return adzi_error_null(op, "path");
    }
    if (adzi_refused(op) != ADZ_OK) {
        return adzi_pending();
    }
    adz_safetensors *file = adz_safetensors_load(path, NULL);
    if (file == NULL) {
        return adz_error_code();
    }
    /* Errors about tensors that do not fit begin with the file's path. */
    adzi_shown shown;
    const adzi_door door = { .op = op, .path = adzi_show(&shown, path) };
    loading l = { module, file, options, ADZ_ERR_MEMORY };
    adzi_through_door(&door, load_tensors, &l);
    adz_safetensors_free(&file);
    return l.status;
}

adz_status adz_module_load(adz_module *module, const char *path, bool strict)
{
    adz_load_options options = ADZ_LOAD_OPTIONS;
    options.strict = strict;
    return adz_module_load_with(module, path, &options);
}
