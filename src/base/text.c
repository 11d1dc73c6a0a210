/* Text that grows, and how Python prints numbers. */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/number.h"

void adzi_text_free(adzi_text *text)
{
    adzi_free(text->data, text->capacity);
    *text = (adzi_text){ 0 };
}

/* Makes room for `more` characters and the 0 that ends the text. False if memory was refused, now
 * or earlier. */
static bool reserve(adzi_text *text, size_t more)
{
    text->failed = text->failed ||
                   !adzi_grow(&text->data, &text->capacity, text->length + more + 1, sizeof(char));
    return !text->failed;
}

void adzi_text_add_n(adzi_text *text, const char *part, size_t n)
{
    if (reserve(text, n)) {
        memcpy(text->data + text->length, part, n);
        text->length += n;
        text->data[text->length] = '\0';
    }
}

void adzi_text_add(adzi_text *text, const char *part)
{
    adzi_text_add_n(text, part, strlen(part));
}

void adzi_text_format(adzi_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (n >= 0 && reserve(text, (size_t)n)) {
        va_start(arguments, format);
        vsnprintf(text->data + text->length, (size_t)n + 1, format, arguments);
        va_end(arguments);
        text->length += (size_t)n;
    }
}

void adzi_text_cut(adzi_text *text, size_t length)
{
    if (length < text->length) {
        text->length = length;
        text->data[length] = '\0';
    }
}

const char *adzi_text_get(const adzi_text *text)
{
    return text->data != NULL ? text->data : "";
}

const char *adzi_text_float(double x)
{
    char *text = (char *)(uintptr_t)adzi_text_python(x); /* a buffer of this thread, so writable */
    if (strpbrk(text, ".en") == NULL) {                  /* n: nan and inf */
        memcpy(text + strlen(text), ".0", sizeof ".0");
    }
    return text;
}

const char *adzi_text_bool(bool x)
{
    return x ? "True" : "False";
}
