/* Functions that a file brings along: products of rows, and elementary functions for programs
 * without libm. Their results differ from the library's by at most a few units in the last place.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "export/c99/c99.h"
#include "export/c99/elementary.h"
#include "export/c99/functions.h"
#include "export/elementary_f64.h"

/* Functions of doubles are named f64_exp and so on. */
enum {
    GENERAL = sizeof functions / sizeof *functions,
    DOUBLES = sizeof elementary_f64 / sizeof *elementary_f64,
    FIRST_OF_FLOATS = GENERAL + DOUBLES,
    COUNT = FIRST_OF_FLOATS + sizeof elementary / sizeof *elementary
};

_Static_assert(
    (int)COUNT <= (int)ADZI_C99_HELPERS, "adzi_c99's `helpers` has an element for each function");

static const function *function_at(int i)
{
    return i < GENERAL           ? &functions[i]
           : i < FIRST_OF_FLOATS ? &elementary_f64[i - GENERAL]
                                 : &elementary[i - FIRST_OF_FLOATS];
}

static int index_of(const char *name, size_t length)
{
    for (int i = 0; i < COUNT; ++i) {
        const char *known = function_at(i)->name;
        if (strlen(known) == length && strncmp(known, name, length) == 0) {
            return i;
        }
    }
    return -1;
}

/* The function @name of a file: that of doubles if the file is one of doubles and there is one. */
static int find(const adzi_c99 *c, const char *name, size_t length)
{
    char wide[64];
    const int n = snprintf(wide, sizeof wide, "f64_%.*s", (int)length, name);
    const int i = c->wide && n < (int)sizeof wide ? index_of(wide, (size_t)n) : -1;
    return i >= 0 ? i : index_of(name, length);
}

/* What libm calls a function; an empty text if libm has none that would do. Functions of doubles
 * have the name of that of floats without its last letter. */
static void name_in_libm(const adzi_c99 *c, int i, char name[24])
{
    const function *f = function_at(i);
    const bool doubles = i >= GENERAL && i < FIRST_OF_FLOATS;
    const int floats = doubles ? index_of(f->name + 4, strlen(f->name + 4)) : i;
    const char *libm = floats >= 0 ? function_at(floats)->libm : NULL;
    const size_t n = libm != NULL ? strlen(libm) - (c->wide && floats >= FIRST_OF_FLOATS) : 0;
    snprintf(name, 24, "%.*s", (int)n, libm != NULL ? libm : "");
}

static size_t length_of(const char *name)
{
    size_t n = 0;
    while (isalnum((unsigned char)name[n]) || name[n] == '_') {
        ++n;
    }
    return n;
}

bool adzi_c99_is_function(const char *name)
{
    return index_of(name, strlen(name)) >= 0;
}

const char *adzi_c99_of_doubles(const adzi_c99 *c, const char *name, size_t length)
{
    char wide[64];
    const int n = snprintf(wide, sizeof wide, "f64_%.*s", (int)length, name);
    const int known = c->wide && n < (int)sizeof wide ? index_of(wide, (size_t)n) : -1;
    if (known >= 0) {
        return function_at(known)->name;
    }
    for (int i = 0; i < COUNT; ++i) {
        const function *f = function_at(i);
        if (f->libm != NULL && strncmp(f->name, "wide_", 5) == 0 && strlen(f->libm) == length &&
            strncmp(f->libm, name, length) == 0) {
            return f->name;
        }
    }
    return NULL;
}

static bool is_in_word(char x)
{
    return isalnum((unsigned char)x) || x == '_';
}

/* The length of a word or of a decimal number, with its point and its exponent; else 1. */
static size_t token_length(const char *at, size_t n)
{
    const bool number = isdigit((unsigned char)at[0]) != 0;
    size_t i = 0;
    while (
        i < n &&
        (is_in_word(at[i]) ||
            (number && (at[i] == '.' || ((at[i] == '-' || at[i] == '+') && at[i - 1] == 'e'))))) {
        ++i;
    }
    return i > 0 ? i : 1;
}

void adzi_c99_add_plain(const adzi_c99 *c, adzi_text *text, const char *at, size_t n)
{
    if (!c->wide) {
        adzi_text_add_n(text, at, n);
        return;
    }
    for (size_t i = 0; i < n;) {
        const size_t length = token_length(at + i, n - i);
        const bool number = isdigit((unsigned char)at[i]) && strncmp(at + i, "0x", 2) != 0;
        if (length == 5 && strncmp(at + i, "float", 5) == 0) {
            adzi_text_add(text, "double");
        } else {
            const bool marked = number && at[i + length - 1] == 'f';
            adzi_text_add_n(text, at + i, length - marked);
        }
        i += length;
    }
}

void adzi_c99_expand(adzi_c99 *c, adzi_text *text, const char *part)
{
    for (const char *at = part; *at != '\0'; ++at) {
        if (*at != '@') {
            const size_t plain = strcspn(at, "@");
            adzi_c99_add_plain(c, text, at, plain);
            at += plain - 1;
            continue;
        }
        const size_t length = length_of(at + 1);
        const int i = find(c, at + 1, length);
        at += length;
        if (i < 0) {
            adzi_c99_fail(c, ADZ_ERR_STATE, "%s: no such function in C", part);
            return;
        }
        const function *f = function_at(i);
        char libm[24];
        name_in_libm(c, i, libm);
        if (c->libm && libm[0] != '\0') {
            adzi_text_add(text, libm);
            continue;
        }
        if (f->text == NULL) {
            adzi_c99_fail(c, ADZ_ERR_UNSUPPORTED,
                "%s needs %s of the mathematical library; set options.libm", c->current, libm);
            return;
        }
        c->helpers[i] = true;
        adzi_text_format(text, "%s_%s", c->name, f->name);
    }
}

/* A function stands behind those that it calls in the table, so that the last ones are expanded
 * first: that notes which of the others they need. */
void adzi_c99_functions(adzi_c99 *c, adzi_text *file)
{
    adzi_text texts[COUNT] = { { 0 } };
    for (int i = COUNT - 1; i >= 0; --i) {
        if (c->helpers[i]) {
            adzi_c99_expand(c, &texts[i], function_at(i)->text);
        }
    }
    for (int i = 0; i < COUNT; ++i) {
        if (texts[i].failed) {
            file->failed = true;
        }
        if (texts[i].length > 0) {
            adzi_text_add(file, adzi_text_get(&texts[i]));
            adzi_text_add(file, "\n");
        }
        adzi_text_free(&texts[i]);
    }
}
