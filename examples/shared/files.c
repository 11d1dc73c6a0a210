#define _GNU_SOURCE
#include "files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command_line.h"

char *read_whole_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail("%s: cannot be opened: %s", path, strerror(errno));
    }
    size_t room = 65536;
    char *text = allocate(room);
    *size = 0;
    for (size_t n; (n = fread(text + *size, 1, room - *size - 1, file)) > 0;) {
        *size += n;
        if (*size + 1 == room) {
            room *= 2;
            text = reallocate(text, room, 1);
        }
    }
    if (ferror(file)) {
        fail("%s: cannot be read: %s", path, strerror(errno));
    }
    fclose(file);
    text[*size] = '\0';
    return text;
}

void check_writable(const char *path)
{
    struct stat there;
    if (stat(path, &there) == 0 && S_ISDIR(there.st_mode)) {
        fail("%s: is a folder; a file is to be written there", path);
    }
    char *folder = copy_text(path), *slash = strrchr(folder, '/');
    const char *name = slash != NULL ? slash + 1 : folder;
    if (*name == '\0') {
        fail("'%s': a file to be written needs a name", path);
    }
    if (slash != NULL) {
        slash[slash == folder ? 1 : 0] = '\0';
    }
    if (access(slash != NULL ? folder : ".", W_OK | X_OK) != 0) {
        fail("%s: cannot be written into %s: %s", path, slash != NULL ? folder : "this folder",
            strerror(errno));
    }
    free(folder);
}

FILE *create_file(const char *path)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        fail("%s: %s", path, strerror(errno));
    }
    return file;
}

void finish_file(const char *path, FILE *file)
{
    bool bad = ferror(file) != 0;
    if (fclose(file) != 0 || bad) {
        fail("%s: %s", path, strerror(errno));
    }
}

void write_field(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text != '\0'; ++text) {
        fputs(*text == '"' ? "\"\"" : (char[]){ *text, '\0' }, file);
    }
    fputc('"', file);
}
