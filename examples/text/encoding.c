#include "encoding.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../shared/command_line.h"

/* The bytes of the character that begins there, 0 where none does: not beyond U+10FFFF, no longer
 * than it has to be, and no half of a pair of UTF-16. */
static size_t length_of(const unsigned char *at, size_t left)
{
    size_t n = at[0] < 0x80 ? 1 : at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : at[0] >= 0xc0 ? 2 : 0;
    if (n < 2 || n > left) {
        return n > left ? 0 : n;
    }
    uint32_t code = at[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; ++i) {
        if ((at[i] & 0xc0u) != 0x80u) {
            return 0;
        }
        code = code << 6 | (at[i] & 0x3fu);
    }
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    return code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : n;
}

/* A text in UTF-16 begins with a mark, or has zero bytes. */
static const char *likely_encoding(const char *text, size_t size)
{
    bool marked =
        size >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0);
    return marked || memchr(text, '\0', size) != NULL ? "UTF-16" : "ISO-8859-1";
}

void check_utf8(const char *path, const char *text, size_t size, const char *instead)
{
    size_t line = 1, n;
    for (size_t at = 0; at < size; at += n) {
        n = length_of((const unsigned char *)text + at, size - at);
        if (n == 0 || text[at] == '\0') {
            fail("%s: line %zu: %s at byte %zu (0x%02x): this is no text in UTF-8; 'iconv -f %s -t "
                 "UTF-8' converts one in that encoding%s",
                path, line, n == 0 ? "no UTF-8" : "a zero byte", at, (unsigned char)text[at],
                likely_encoding(text, size), instead);
        }
        line += text[at] == '\n';
    }
}
