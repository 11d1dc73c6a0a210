/* Joins the lines of the embedded text. */
#include "text.h"

#include <string.h>

#include "../shared/command_line.h"
#include "chapters.h"

const char embedded_name[] = "Pride and Prejudice, chapters 1 to 6 (Jane Austen, 1813)";

/* The number of bytes of the lines, each with its newline. Copies them to `at` unless it is NULL.
 */
static size_t join(const char *const *lines, char *at)
{
    size_t size = 0;
    for (; *lines != NULL; ++lines) {
        size_t n = strlen(*lines);
        if (at != NULL) {
            memcpy(at + size, *lines, n);
            at[size + n] = '\n';
        }
        size += n + 1;
    }
    return size;
}

char *embedded_text(size_t *size)
{
    const size_t first = join(chapters_1_to_3, NULL), second = join(chapters_4_to_6, NULL);
    char *text = allocate(first + second + 1);
    join(chapters_1_to_3, text);
    join(chapters_4_to_6, text + first);
    *size = first + second;
    return text;
}
