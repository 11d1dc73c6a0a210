/* A collection of named tensors: making it, adding to it, and looking up tensors and metadata. */
#include "io/safetensors.h"
#include "base/capture.h"
#include "base/handle.h"

#include <string.h>

#include "base/source.h"
#include "adze/options.h"

/* ---- making and ending ---------------------------------------------------------------------- */

ADZ_OPTIONS_INIT(adz_safetensors_options_init, adz_safetensors_options, ADZ_SAFETENSORS_OPTIONS)

adz_safetensors *adz_safetensors_new(void)
{
    ADZI_NOT_CAPTURED(ADZI_MAKES_OBJECT, NULL);
    adz_safetensors *file = adzi_handle_new(sizeof *file);
    return file != NULL ? file : adzi_fail_memory("adz_safetensors_new", sizeof *file);
}

void adz_safetensors_free(adz_safetensors **address)
{
    adz_safetensors *file = adzi_handle_take("adz_safetensors_free", "file", address);
    if (file == NULL) {
        return;
    }
    for (size_t i = 0; i < file->n_tensors; ++i) {
        adzi_string_free(file->tensors[i].name);
        adzi_drop(file->tensors[i].tensor);
    }
    for (size_t i = 0; i < file->n_metadata; ++i) {
        adzi_string_free(file->metadata[i].key);
        adzi_string_free(file->metadata[i].value);
    }
    for (size_t i = 0; i < file->n_unread; ++i) {
        adzi_string_free(file->unread[i].key);
        adzi_string_free(file->unread[i].value);
    }
    adzi_free(file->unread, file->unread_capacity * sizeof *file->unread);
    adzi_free(file->tensors, file->tensors_capacity * sizeof *file->tensors);
    adzi_free(file->metadata, file->metadata_capacity * sizeof *file->metadata);
    adzi_index_free(&file->names);
    adzi_index_free(&file->keys);
    adzi_handle_end(file, sizeof *file);
}

/* ---- names ---------------------------------------------------------------------------------- */

static bool is_tensor(const void *tensors, size_t extent, const void *name, size_t size)
{
    (void)size;
    return strcmp(((const adzi_named *)tensors)[extent].name, name) == 0;
}

size_t adzi_safetensors_find(const adz_safetensors *file, const char *name)
{
    size_t extent = adzi_index_find(&file->names, name, strlen(name), is_tensor, file->tensors);
    return extent != ADZI_NOWHERE ? extent : file->n_tensors;
}

bool adzi_safetensors_append(adz_safetensors *file, const char *name, adz_tensor *t)
{
    if (!adzi_index_reserve(&file->names, 1) || !adzi_grow(&file->tensors, &file->tensors_capacity,
                                                    file->n_tensors + 1, sizeof *file->tensors)) {
        return false;
    }
    char *copy = adzi_string_copy(name);
    if (copy == NULL) {
        return false;
    }
    adzi_index_enter(&file->names, copy, strlen(copy), file->n_tensors);
    file->tensors[file->n_tensors++] = (adzi_named){ copy, adzi_retain(t), false };
    return true;
}

/* The length of the UTF-8 character at `at`, or 0 if it is not well-formed. */
static size_t character_length(const unsigned char *at, size_t left)
{
    if (at[0] < 0x80) {
        return 1;
    }
    size_t length = at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 0;
    if (length == 0 || length > left) {
        return 0;
    }
    for (size_t i = 1; i < length; ++i) {
        if ((at[i] & 0xc0u) != 0x80u) {
            return 0;
        }
    }
    bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    bool surrogate = at[0] == 0xed && at[1] > 0x9f;
    bool too_high = at[0] == 0xf4 && at[1] > 0x8f;
    return overlong || surrogate || too_high ? 0 : length;
}

bool adzi_is_utf8(const char *bytes, size_t length, size_t *bad)
{
    const unsigned char *at = (const unsigned char *)bytes;
    for (size_t i = 0; i < length;) {
        size_t n = character_length(at + i, length - i);
        if (n == 0) {
            *bad = i;
            return false;
        }
        i += n;
    }
    return true;
}

/* Checks that a text of the caller is not NULL and is UTF-8. */
static adz_status check_text(const char *op, const char *what, const char *text)
{
    size_t bad;
    if (text == NULL) {
        return adzi_error_null(op, what);
    }
    if (!adzi_is_utf8(text, strlen(text), &bad)) {
        return adzi_error(
            op, ADZ_ERR_ARGUMENT, "%s is not UTF-8: its byte %zu is wrong", what, bad);
    }
    return ADZ_OK;
}

/* The index of the tensor that was not read, or n_unread. */
static size_t find_unread(const adz_safetensors *file, const char *name)
{
    size_t i = 0;
    while (i < file->n_unread && strcmp(file->unread[i].key, name) != 0) {
        ++i;
    }
    return i;
}

/* The tensor that was not read has been replaced. */
static void forget_unread(adz_safetensors *file, const char *name)
{
    const size_t at = find_unread(file, name);
    if (at < file->n_unread) {
        adzi_string_free(file->unread[at].key);
        adzi_string_free(file->unread[at].value);
        --file->n_unread;
        memmove(
            &file->unread[at], &file->unread[at + 1], (file->n_unread - at) * sizeof *file->unread);
    }
}

adz_status adz_safetensors_add(adz_safetensors *file, const char *name, adz_tensor *t)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    const char *op = "adz_safetensors_add";
    adzi_shown shown;
    if (!adzi_check_handle(op, "file", file)) {
        return adz_error_code();
    }
    adz_status status = check_text(op, "name", name);
    if (status != ADZ_OK) {
        return status;
    }
    if (!adzi_check_tensor(op, "t", t)) {
        return adz_error_code();
    }
    if (strcmp(name, ADZI_METADATA) == 0) {
        return adzi_error(op, ADZ_ERR_ARGUMENT,
            "a tensor cannot be named %s; strings are set with adz_safetensors_set_metadata", name);
    }
    if (adzi_safetensors_find(file, name) < file->n_tensors) {
        return adzi_error(
            op, ADZ_ERR_ARGUMENT, "there is a tensor named %s already", adzi_show(&shown, name));
    }
    if (!adzi_safetensors_append(file, name, t)) {
        adzi_fail_memory(op, strlen(name) + 1);
        return ADZ_ERR_MEMORY;
    }
    forget_unread(file, name);
    return ADZ_OK;
}

/* ---- metadata ------------------------------------------------------------------------------- */

static bool is_pair(const void *metadata, size_t extent, const void *key, size_t size)
{
    (void)size;
    return strcmp(((const adzi_pair *)metadata)[extent].key, key) == 0;
}

static adzi_pair *find_pair(const adz_safetensors *file, const char *key)
{
    size_t extent = adzi_index_find(&file->keys, key, strlen(key), is_pair, file->metadata);
    return extent != ADZI_NOWHERE ? &file->metadata[extent] : NULL;
}

bool adzi_safetensors_append_metadata(adz_safetensors *file, const char *key, const char *value)
{
    if (!adzi_index_reserve(&file->keys, 1) || !adzi_grow(&file->metadata, &file->metadata_capacity,
                                                   file->n_metadata + 1, sizeof *file->metadata)) {
        return false;
    }
    adzi_pair pair = { adzi_string_copy(key), adzi_string_copy(value) };
    if (pair.key == NULL || pair.value == NULL) {
        adzi_string_free(pair.key);
        adzi_string_free(pair.value);
        return false;
    }
    adzi_index_enter(&file->keys, pair.key, strlen(pair.key), file->n_metadata);
    file->metadata[file->n_metadata++] = pair;
    return true;
}

adz_status adz_safetensors_set_metadata(adz_safetensors *file, const char *key, const char *value)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    const char *op = "adz_safetensors_set_metadata";
    if (!adzi_check_handle(op, "file", file)) {
        return adz_error_code();
    }
    adz_status status = check_text(op, "key", key);
    status = status == ADZ_OK ? check_text(op, "value", value) : status;
    if (status != ADZ_OK) {
        return status;
    }
    adzi_pair *pair = find_pair(file, key);
    char *copy = NULL;
    bool done = pair == NULL ? adzi_safetensors_append_metadata(file, key, value)
                             : (copy = adzi_string_copy(value)) != NULL;
    if (!done) {
        adzi_fail_memory(op, strlen(value) + 1);
        return ADZ_ERR_MEMORY;
    }
    if (pair != NULL) {
        adzi_string_free(pair->value);
        pair->value = copy;
    }
    return ADZ_OK;
}

static bool check_index(const char *op, const adz_safetensors *file, size_t index, size_t count)
{
    if (!adzi_check_handle(op, "file", file)) {
        return false;
    }
    if (index >= count) {
        adzi_error(
            op, ADZ_ERR_INDEX, "index %zu is outside the collection's %zu entries", index, count);
        return false;
    }
    return true;
}

/* ---- tensors that were not read ------------------------------------------------------------- */

bool adzi_safetensors_append_unread(adz_safetensors *file, const char *name, const char *reason)
{
    if (!adzi_grow(
            &file->unread, &file->unread_capacity, file->n_unread + 1, sizeof *file->unread)) {
        return false;
    }
    adzi_pair pair = { adzi_string_copy(name), adzi_string_copy(reason) };
    if (pair.key == NULL || pair.value == NULL) {
        adzi_string_free(pair.key);
        adzi_string_free(pair.value);
        return false;
    }
    file->unread[file->n_unread++] = pair;
    return true;
}

size_t adz_safetensors_unread_count(const adz_safetensors *file)
{
    if (!adzi_check_handle("adz_safetensors_unread_count", "file", file)) {
        return 0;
    }
    return file->n_unread;
}

const char *adz_safetensors_unread_at(const adz_safetensors *file, size_t index)
{
    size_t count = file != NULL ? file->n_unread : 0;
    return check_index("adz_safetensors_unread_at", file, index, count) ? file->unread[index].key
                                                                        : NULL;
}

/* ---- reading a collection ------------------------------------------------------------------- */

size_t adz_safetensors_count(const adz_safetensors *file)
{
    if (!adzi_check_handle("adz_safetensors_count", "file", file)) {
        return 0;
    }
    return file->n_tensors;
}

const char *adz_safetensors_name_at(const adz_safetensors *file, size_t index)
{
    size_t count = file != NULL ? file->n_tensors : 0;
    return check_index("adz_safetensors_name_at", file, index, count) ? file->tensors[index].name
                                                                      : NULL;
}

adz_tensor *adz_safetensors_at(adz_safetensors *file, size_t index)
{
    size_t count = file != NULL ? file->n_tensors : 0;
    return check_index("adz_safetensors_at", file, index, count) ? file->tensors[index].tensor
                                                                 : NULL;
}

adz_tensor *adz_safetensors_get(adz_safetensors *file, const char *name)
{
    const char *op = "adz_safetensors_get";
    adzi_shown shown;
    if (!adzi_check_handle(op, "file", file)) {
        return NULL;
    }
    if (name == NULL) {
        return adzi_fail_null(op, "name");
    }
    size_t position = adzi_safetensors_find(file, name), unread = find_unread(file, name);
    if (position == file->n_tensors && unread < file->n_unread) {
        return adzi_fail(op, ADZ_ERR_UNSUPPORTED, "tensor %s of the file was not read: %s",
            adzi_show(&shown, name), file->unread[unread].value);
    }
    return position < file->n_tensors
               ? file->tensors[position].tensor
               : adzi_fail(op, ADZ_ERR_ARGUMENT, "there is no tensor named %s among the %zu",
                     adzi_show(&shown, name), file->n_tensors);
}

bool adz_safetensors_has(const adz_safetensors *file, const char *name)
{
    return file != NULL && name != NULL && adzi_safetensors_find(file, name) < file->n_tensors;
}

size_t adz_safetensors_metadata_count(const adz_safetensors *file)
{
    if (!adzi_check_handle("adz_safetensors_metadata_count", "file", file)) {
        return 0;
    }
    return file->n_metadata;
}

const char *adz_safetensors_metadata_key_at(const adz_safetensors *file, size_t index)
{
    size_t count = file != NULL ? file->n_metadata : 0;
    return check_index("adz_safetensors_metadata_key_at", file, index, count)
               ? file->metadata[index].key
               : NULL;
}

const char *adz_safetensors_get_metadata(const adz_safetensors *file, const char *key)
{
    if (!adzi_check_handle("adz_safetensors_get_metadata", "file", file)) {
        return NULL;
    }
    if (key == NULL) {
        return adzi_fail_null("adz_safetensors_get_metadata", "key");
    }
    const adzi_pair *pair = find_pair(file, key);
    return pair != NULL ? pair->value : NULL;
}
