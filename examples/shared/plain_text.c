/* Checks texts for UTF-8 and control characters, and makes these visible. */
#include "plain_text.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The number of bytes of the UTF-8 character at `at`, 0 if there is none. Overlong forms,
 * surrogates and numbers above U+10FFFF are none. */
static size_t character(const unsigned char *at, unsigned long *code)
{
    static const unsigned long lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t n = at[0] < 0x80 ? 1 : at[0] < 0xc0 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    if (n == 0 || at[0] > 0xf4) {
        return 0;
    }
    *code = n == 1 ? at[0] : at[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; ++i) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
        *code = *code << 6 | (at[i] & 0x3f);
    }
    bool surrogate = *code >= 0xd800 && *code <= 0xdfff;
    return (n > 1 && *code < lowest[n]) || surrogate || *code > 0x10ffff ? 0 : n;
}

/* True for the control characters C0 and C1, which terminals can take for commands. */
static bool is_control(unsigned long code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

bool has_control(const char *text)
{
    unsigned long code = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        size_t n = character(at, &code);
        if (n > 0 && is_control(code)) {
            return true;
        }
        at += n > 0 ? n : 1;
    }
    return false;
}

const char *utf8_end(const char *text)
{
    unsigned long code = 0;
    size_t n = 1;
    while (*text != '\0' && n > 0) {
        n = character((const unsigned char *)text, &code);
        text += n;
    }
    return text;
}

const char *text_fault(const char *text)
{
    if (*utf8_end(text) != '\0') {
        return "is not UTF-8";
    }
    return has_control(text) ? "contains a control character" : NULL;
}

/* Writes a byte as an escape such as \x1b. Returns the length. */
static size_t write_escape(char *to, unsigned char byte)
{
    if (byte == '\n' || byte == '\t' || byte == '\r') {
        to[0] = '\\';
        to[1] = byte == '\n' ? 'n' : byte == '\t' ? 't' : 'r';
        return 2;
    }
    return (size_t)snprintf(to, 5, "\\x%02x", byte);
}

void make_visible(const char *text, char *shown)
{
    char *to = shown;
    unsigned long code = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        size_t n = character(at, &code);
        bool plain = n > 0 && !is_control(code);
        for (n += n == 0; n > 0; --n, ++at) {
            if (plain) {
                *to++ = (char)*at;
            } else {
                to += write_escape(to, *at);
            }
        }
    }
    *to = '\0';
}

enum { WIDTH = 80, INDENT = 2 };

/* The number of characters in the first `bytes` bytes of a text in UTF-8. */
static int count_characters(const char *text, size_t bytes)
{
    int count = 0;
    for (size_t i = 0; i < bytes; ++i) {
        count += ((unsigned char)text[i] & 0xc0) != 0x80; /* the first byte of a character */
    }
    return count;
}

void print_wrapped(FILE *file, const char *text)
{
    const int indent = (int)strspn(text, " ") + INDENT;
    int column = 0;
    while (*text != '\0') {
        size_t spaces = strspn(text, " "), word = strcspn(text + spaces, " ");
        int needed = (int)spaces + count_characters(text + spaces, word);
        if (column > indent && column + needed > WIDTH) {
            fprintf(file, "\n%*s", indent, "");
            column = indent;
            needed -= (int)spaces;
            text += spaces;
            spaces = 0;
        }
        fwrite(text, 1, spaces + word, file);
        column += needed;
        text += spaces + word;
    }
    fputc('\n', file);
}
