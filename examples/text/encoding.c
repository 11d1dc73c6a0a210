/* Checks that the bytes of a file are text in UTF-8. */
#include "encoding.h"

#include <stdbool.h>
#include <string.h>

#include "../shared/command_line.h"
#include "../shared/plain_text.h"

/* The probable encoding of a text that is not UTF-8. A text in UTF-16 begins with a byte order mark
 * or has zero bytes. */
static const char *likely_encoding(const char *text, size_t size)
{
    bool marked =
        size >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0);
    return marked || memchr(text, '\0', size) != NULL ? "UTF-16" : "ISO-8859-1";
}

void check_utf8(const char *path, const char *text, size_t size, const char *instead)
{
    const char *end = utf8_end(text);
    size_t at = (size_t)(end - text), line = 1;
    if (at == size) {
        return;
    }
    for (const char *before = text; before < end; ++before) {
        line += *before == '\n';
    }
    fail(
        "%s: line %zu: %s at byte %zu (0x%02x): this is no text in UTF-8; 'iconv -f %s -t UTF-8' converts one in that encoding%s",
        path, line, *end == '\0' ? "a zero byte" : "no UTF-8", at, (unsigned char)*end,
        likely_encoding(text, size), instead);
}
