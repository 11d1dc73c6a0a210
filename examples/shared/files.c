#include "files.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

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
