#include "files.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "command_line.h"

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
