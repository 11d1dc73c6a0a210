/* Paths, folders, and lines and numbers of text files. */
#define _GNU_SOURCE
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../shared/files.h"
#include "options.h"

char *join(const char *folder, const char *name)
{
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/') {
        --n;
    }
    char *path = allocate(n + strlen(name) + 2);
    memcpy(path, folder, n);
    if (name[0] != '\0') {
        path[n] = '/';
        memcpy(path + n + 1, name, strlen(name));
    }
    return path;
}

/* The path is made absolute first, so that "." gives the name of the folder. */
char *last_part(const char *path)
{
    char *whole = realpath(path, NULL);
    if (whole == NULL) {
        fail("%s: %s", path, strerror(errno));
    }
    const char *slash = strrchr(whole, '/');
    char *name = join(slash[1] != '\0' ? slash + 1 : whole, "");
    free(whole);
    return name;
}

bool has_file(const char *folder, const char *name)
{
    char *path = join(folder, name);
    bool has = access(path, F_OK) == 0;
    free(path);
    return has;
}

char **list_folder(const char *folder, size_t *count)
{
    struct dirent **entries = NULL;
    int n = scandir(folder, &entries, NULL, alphasort);
    if (n < 0) {
        fail("%s: %s", folder, strerror(errno));
    }
    char **paths = allocate((size_t)n * sizeof *paths);
    *count = 0;
    for (int i = 0; i < n; ++i) {
        if (entries[i]->d_name[0] != '.') {
            paths[(*count)++] = join(folder, entries[i]->d_name);
        }
        free(entries[i]);
    }
    free(entries);
    return paths;
}

char *read_text(const char *path)
{
    size_t used;
    check_text_file(path);
    char *text = read_whole_file(path, &used);
    if (strlen(text) != used) {
        fail("%s: there is a zero byte, so this is no text; --help says what belongs there", path);
    }
    return text;
}

char *next_line(char **text)
{
    char *line = *text;
    if (*line == '\0') {
        return NULL;
    }
    char *end = line + strcspn(line, "\n");
    *text = end + (*end == '\n');
    *end = '\0';
    if (end > line && end[-1] == '\r') {
        end[-1] = '\0';
    }
    return line;
}

numbers read_numbers(const char *path, size_t line, const char *text)
{
    numbers n = { allocate((strlen(text) / 2 + 1) * sizeof *n.values), 0 };
    for (const char *at = text + strspn(text, " \t"); *at != '\0'; at += strspn(at, " \t")) {
        char *end;
        double value = strtod(at, &end);
        if (end == at || strchr(" \t", *end) == NULL || !isfinite(value)) {
            size_t length = strcspn(at, " \t");
            fail("%s: line %zu: '%.*s' is no number", path, line, (int)(length < 40 ? length : 40),
                at);
        }
        n.values[n.count++] = value;
        at = end;
    }
    return n;
}
