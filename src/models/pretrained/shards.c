/* The safetensors files of a folder: one, or shards with an index. */
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "pretrained/weights.h"

enum { MOST_SHARDS = 1000, MOST_INDEX = 1 << 26, PATH = 1024 };

typedef struct shards {
    size_t count;
    json_t *index;     /* NULL: one file without an index */
    const char **name; /* of each file, borrowed from the index */
    adz_safetensors **file;
} shards;

/* The file that has a tensor; `count` if there is none. */
static size_t file_of(const shards *s, const char *name)
{
    size_t i = 0;
    while (i < s->count && !adz_safetensors_has(s->file[i], name)) {
        ++i;
    }
    return i;
}

static bool has(models_weights *weights, const char *name)
{
    const shards *s = weights->user;
    return file_of(s, name) < s->count;
}

static adz_tensor *find(models_weights *weights, const char *name, bool as_stored)
{
    const shards *s = weights->user;
    (void)as_stored; /* files have no blocks */
    return adz_safetensors_get(s->file[file_of(s, name)], name);
}

static bool each(
    models_weights *weights, bool (*visit)(models_weights *, const char *name, void *), void *user)
{
    const shards *s = weights->user;
    for (size_t i = 0; i < s->count; ++i) {
        for (size_t k = 0; k < adz_safetensors_count(s->file[i]); ++k) {
            if (!visit(weights, adz_safetensors_name_at(s->file[i], k), user)) {
                return false;
            }
        }
    }
    return true;
}

/* ---- one file ------------------------------------------------------------------------------- */

static bool path_of(const models_weights *weights, char *path, const char *folder, const char *name)
{
    if (snprintf(path, PATH, "%s/%s", folder, name) < PATH) {
        return true;
    }
    adz_error_format(weights->op, ADZ_ERR_ARGUMENT, "the path of the folder is too long");
    return false;
}

/* Reads one file. Its tensors must all be of dtypes that adze has, because none may be missing. */
static bool read_file(models_weights *weights, const char *folder, const char *name)
{
    shards *s = weights->user;
    char path[PATH];
    if (!path_of(weights, path, folder, name)) {
        return false;
    }
    adz_safetensors_options o = ADZ_SAFETENSORS_OPTIONS;
    o.map = weights->map;
    s->file[s->count] = adz_safetensors_load(path, &o);
    if (s->file[s->count] == NULL) {
        return false;
    }
    s->count += 1;
    if (adz_safetensors_unread_count(s->file[s->count - 1]) > 0) {
        adz_error_format(weights->op, ADZ_ERR_UNSUPPORTED,
            "%s: tensor %s has a dtype that adze does not have", path,
            adz_safetensors_unread_at(s->file[s->count - 1], 0));
        return false;
    }
    return true;
}

/* ---- shards --------------------------------------------------------------------------------- */

/* Whether an index may name this file: a name without a folder. */
static bool is_plain(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL && strlen(name) < 200;
}

static size_t shard_of(const shards *s, size_t known, const char *name)
{
    size_t i = 0;
    while (i < known && strcmp(s->name[i], name) != 0) {
        ++i;
    }
    return i;
}

/* Collects the names of the files, each once. */
static bool list_shards(const models_json *map, shards *s, size_t *known)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)map->value, key, value)
    {
        const models_json entry = adzi_models_json_member(map, key);
        const char *name = adzi_models_json_text_of(&entry);
        if (name == NULL) {
            return false;
        }
        if (!is_plain(name)) {
            adzi_models_json_fail(
                &entry, ADZ_ERR_FORMAT, "must be the name of a file in the folder");
            return false;
        }
        const size_t i = shard_of(s, *known, name);
        if (i == *known && *known == MOST_SHARDS) {
            adzi_models_json_fail(
                map, ADZ_ERR_FORMAT, "names more than %d files", (int)MOST_SHARDS);
            return false;
        }
        s->name[i] = name;
        *known += i == *known;
    }
    return true;
}

/* Whether each tensor of the index is in the file that it names, and in no other. */
static bool check_index(const models_json *map, const shards *s)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)map->value, key, value)
    {
        const size_t i = shard_of(s, s->count, json_string_value(value));
        if (!adz_safetensors_has(s->file[i], key)) {
            const models_json entry = adzi_models_json_member(map, key);
            adzi_models_json_fail(
                &entry, ADZ_ERR_FORMAT, "names %s, which has no such tensor", s->name[i]);
            return false;
        }
        for (size_t k = 0; k < s->count; ++k) {
            if (k != i && adz_safetensors_has(s->file[k], key)) {
                const models_json entry = adzi_models_json_member(map, key);
                adzi_models_json_fail(&entry, ADZ_ERR_FORMAT,
                    "names %s, but %s has such a tensor, too", s->name[i], s->name[k]);
                return false;
            }
        }
    }
    return true;
}

static bool read_shards(models_weights *weights, const char *folder, const models_json *map)
{
    shards *s = weights->user;
    size_t known = 0;
    if (!adzi_models_json_is_object(map) || !list_shards(map, s, &known)) {
        return false;
    }
    for (size_t i = 0; i < known; ++i) {
        if (!read_file(weights, folder, s->name[i])) {
            return false;
        }
    }
    return check_index(map, s);
}

/* ---- the folder ----------------------------------------------------------------------------- */

static bool exists(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file != NULL) {
        fclose(file);
    }
    return file != NULL;
}

bool adzi_models_folder_open(models_weights *weights, const char *folder)
{
    char one[PATH], index[PATH];
    weights->has = has;
    weights->find = find;
    weights->each = each;
    shards *s = weights->user =
        adzi_models_alloc(sizeof *s + MOST_SHARDS * (sizeof *s->name + sizeof *s->file));
    if (s == NULL || !path_of(weights, one, folder, "model.safetensors") ||
        !path_of(weights, index, folder, "model.safetensors.index.json")) {
        return false;
    }
    s->file = (adz_safetensors **)(void *)(s + 1);
    s->name = (const char **)(void *)(s->file + MOST_SHARDS);
    if (exists(one)) {
        return read_file(weights, folder, "model.safetensors");
    }
    if (!exists(index)) {
        adz_error_format(weights->op, ADZ_ERR_IO,
            "%s has neither model.safetensors nor model.safetensors.index.json", folder);
        return false;
    }
    s->index = adzi_models_json_load(weights->op, index, MOST_INDEX);
    const models_json root = adzi_models_json_root(weights->op, index, s->index);
    const models_json map = adzi_models_json_member(&root, "weight_map");
    return s->index != NULL && read_shards(weights, folder, &map);
}

void adzi_models_folder_close(models_weights *weights)
{
    shards *s = weights->user;
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < s->count; ++i) {
        adz_safetensors_free(&s->file[i]);
    }
    json_decref(s->index);
    adzi_models_free(s);
    weights->user = NULL;
}
