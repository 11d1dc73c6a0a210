/* Finds an entry at the top of a JSON file. The library checks the files that it reads; this looks
 * for a few numbers that only programs need. */
#define _GNU_SOURCE
#include "entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../shared/command_line.h"
#include "../shared/files.h"
#include "folder.h"

bool ends_with(const char *path, const char *ending)
{
    const size_t size = strlen(path), n = strlen(ending);
    return size >= n && strcmp(path + size - n, ending) == 0;
}

void check_model_path(const char *path)
{
    if (is_folder(path) && ends_with(path, ".gguf")) {
        fail(
            "%s is a folder, but a name that ends in .gguf stands for one file; name the file in it, or give the folder another name",
            path);
    }
}

static const char *skip_space(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* The first character behind a text in quotes, which begins at `at`. */
static const char *skip_text(const char *at)
{
    for (++at; *at != '\0' && *at != '"'; ++at) {
        at += at[0] == '\\' && at[1] != '\0';
    }
    return *at == '"' ? at + 1 : at;
}

/* The value of an entry of the outermost object, or NULL. */
static const char *find_value(const char *text, const char *name)
{
    const size_t length = strlen(name);
    int depth = 0;
    for (const char *at = text; *at != '\0';) {
        if (*at == '"') {
            const char *end = skip_text(at), *behind = skip_space(end);
            const bool same =
                (size_t)(end - at) == length + 2 && strncmp(at + 1, name, length) == 0;
            if (depth == 1 && same && *behind == ':') {
                return skip_space(behind + 1);
            }
            at = end;
        } else {
            depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
            ++at;
        }
    }
    return NULL;
}

/* The text of a file, for free(); NULL if there is no such file. */
static char *read_file(const char *folder, const char *file, char *path)
{
    size_t size;
    path_in(folder, file, path);
    return access(path, F_OK) == 0 ? read_whole_file(path, &size) : NULL;
}

static bool is_null(const char *value)
{
    return value == NULL || strncmp(value, "null", 4) == 0;
}

bool entry_is_set(const char *folder, const char *file, const char *name)
{
    char path[FOLDER_PATH], *text = read_file(folder, file, path);
    const char *value = text != NULL ? find_value(text, name) : NULL;
    const bool set = !is_null(value) && strncmp(value, "false", 5) != 0;
    free(text);
    return set;
}

bool read_number(const char *folder, const char *file, const char *name, int64_t *to)
{
    char path[FOLDER_PATH], *text = read_file(folder, file, path);
    const char *at = text != NULL ? find_value(text, name) : NULL;
    const bool found = !is_null(at);
    if (found) {
        char *end;
        const long long value = strtoll(at, &end, 10);
        const char *behind = skip_space(end);
        if (end == at || (*behind != ',' && *behind != '}')) {
            fail("%s: %s is not a whole number", path, name);
        }
        *to = value;
    }
    free(text);
    return found;
}
