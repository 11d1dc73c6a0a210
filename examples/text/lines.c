/* Splits a file at the ends of its lines. */
#include "lines.h"

#include <stdbool.h>
#include <string.h>

#include "../shared/command_line.h"
#include "../shared/files.h"
#include "encoding.h"

text_lines read_lines(const char *path)
{
    size_t size, room = 1;
    const bool standard = strcmp(path, "-") == 0;
    const char *name = standard ? "standard input" : path;
    text_lines l = { .bytes = read_whole_file(standard ? "/dev/stdin" : path, &size) };
    check_utf8(name, l.bytes, size, "");
    for (size_t i = 0; i < size; ++i) {
        room += l.bytes[i] == '\n';
    }
    l.texts = allocate(room * sizeof *l.texts);
    for (const char *at = l.bytes, *end = at + size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop != NULL ? stop : end;
        const size_t length = (size_t)(stop - at);
        const bool carriage = length > 0 && at[length - 1] == '\r';
        l.texts[l.count++] = (adz_text){ at, length - carriage };
        at = stop + 1;
    }
    if (l.count == 0) {
        fail("%s: there are no lines", name);
    }
    return l;
}
