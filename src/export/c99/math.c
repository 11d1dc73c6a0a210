/* Functions that a file brings along: products of rows, and elementary functions for programs
 * without libm. Their results differ from the library's by at most a few units in the last place.
 *
 * Their texts are made of C sources (sources/, tools/c_texts.py). A function of doubles has the
 * name f64_exp and stands for exp in files of doubles. A function that computes with double in
 * files of floats, too, is called wide_exp. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "export/c99/c99.h"

#include "export/c99_texts.h"

enum { COUNT = sizeof texts / sizeof *texts };

_Static_assert(
    (int)COUNT <= (int)ADZI_C99_HELPERS, "adzi_c99's `helpers` has an element for each function");

/* What libm calls a function of doubles. It has an f at its end for floats. */
static const struct {
    const char *name, *libm;
} in_libm[] = { { "acos", "acos" }, { "acosh", "acosh" }, { "asin", "asin" }, { "asinh", "asinh" },
    { "atan", "atan" }, { "atan2", "atan2" }, { "atanh", "atanh" }, { "ceil", "ceil" },
    { "copysign", "copysign" }, { "cos", "cos" }, { "cosh", "cosh" }, { "erf", "erf" },
    { "erfc", "erfc" }, { "exp", "exp" }, { "exp2", "exp2" }, { "expm1", "expm1" },
    { "floor", "floor" }, { "fmod", "fmod" }, { "hypot", "hypot" }, { "lgamma", "lgamma" },
    { "log", "log" }, { "log10", "log10" }, { "log1p", "log1p" }, { "log2", "log2" },
    { "pow", "pow" }, { "round", "rint" }, { "sin", "sin" }, { "sinh", "sinh" }, { "sqrt", "sqrt" },
    { "tan", "tan" }, { "tanh", "tanh" }, { "trunc", "trunc" }, { "wide_cos", "cos" },
    { "wide_exp", "exp" }, { "wide_log", "log" }, { "wide_max", "fmax" }, { "wide_min", "fmin" },
    { "wide_pow", "pow" }, { "wide_sqrt", "sqrt" } };
enum { IN_LIBM = sizeof in_libm / sizeof *in_libm };

static bool is_word(const char *known, const char *name, size_t length)
{
    return strlen(known) == length && strncmp(known, name, length) == 0;
}

/* The index of a text, or -1. */
static int index_of(const char *name, size_t length)
{
    for (int i = 0; i < COUNT; ++i) {
        if (is_word(texts[i].name, name, length)) {
            return i;
        }
    }
    return -1;
}

/* The index of the text f64_name, or -1. */
static int index_of_doubles(const char *name, size_t length)
{
    char wide[64];
    const int n = snprintf(wide, sizeof wide, "f64_%.*s", (int)length, name);
    return n < (int)sizeof wide ? index_of(wide, (size_t)n) : -1;
}

/* The index of @name: that of doubles if the file is one of doubles and there is one. */
static int find(const adzi_c99 *c, const char *name, size_t length)
{
    const int i = c->wide ? index_of_doubles(name, length) : -1;
    return i >= 0 ? i : index_of(name, length);
}

/* What libm calls @name in the file; an empty text if libm has none that would do. */
static void name_in_libm(const adzi_c99 *c, const char *name, size_t length, char libm[24])
{
    const size_t skipped = strncmp(name, "f64_", 4) == 0 ? 4 : 0;
    const bool doubles = c->wide || strncmp(name, "wide_", 5) == 0;
    libm[0] = '\0';
    for (int i = 0; i < IN_LIBM; ++i) {
        if (is_word(in_libm[i].name, name + skipped, length - skipped)) {
            snprintf(libm, 24, "%s%s", in_libm[i].libm, doubles ? "" : "f");
        }
    }
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
    const int known = c->wide ? index_of_doubles(name, length) : -1;
    if (known >= 0) {
        return texts[known].name;
    }
    for (int i = 0; i < IN_LIBM; ++i) {
        if (strncmp(in_libm[i].name, "wide_", 5) == 0 && is_word(in_libm[i].libm, name, length)) {
            return in_libm[i].name;
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

/* Adds the name of the function @name, and notes that it is used. False with the error recorded if
 * there is none. */
static bool add_function(adzi_c99 *c, adzi_text *text, const char *name, size_t length)
{
    const int i = find(c, name, length);
    char libm[24];
    name_in_libm(c, name, length, libm);
    if (c->libm && libm[0] != '\0') {
        adzi_text_add(text, libm);
    } else if (i >= 0) {
        c->helpers[i] = true;
        adzi_text_format(text, "%s_%s", c->name, texts[i].name);
    } else if (libm[0] != '\0') {
        adzi_c99_fail(c, ADZ_ERR_UNSUPPORTED,
            "%s needs %s of the mathematical library; set options.libm", c->current, libm);
    } else {
        adzi_c99_fail(c, ADZ_ERR_STATE, "%.*s: no such function in C", (int)length, name);
    }
    return !c->failed;
}

void adzi_c99_expand(adzi_c99 *c, adzi_text *text, const char *part)
{
    for (const char *at = part; *at != '\0';) {
        const size_t plain = strcspn(at, "@");
        adzi_c99_add_plain(c, text, at, plain);
        at += plain;
        if (*at == '@') {
            const size_t length = length_of(at + 1);
            if (!add_function(c, text, at + 1, length)) {
                return;
            }
            at += 1 + length;
        }
    }
}

/* Whether the file has functions of doubles but sums of products. They add up rounding errors,
 * which -ffast-math takes for 0. Functions of floats keep such sums in volatile variables. */
static bool has_exact_functions(const adzi_c99 *c)
{
    for (int i = 0; i < COUNT; ++i) {
        if (c->helpers[i] && strncmp(texts[i].name, "f64_", 4) == 0 &&
            strcmp(texts[i].name, "f64_dot") != 0) {
            return true;
        }
    }
    return false;
}

/* If the file has functions, promises that no program catches floating-point exceptions. */
static void add_promise(const adzi_text *functions, adzi_text *file)
{
    bool some = false;
    for (int i = 0; i < COUNT && !some; ++i) {
        some = functions[i].length > 0;
    }
    if (some) {
        adzi_text_add(file,
            "/* gcc makes no vector code of loops in which a division that is not needed could raise an\n"
            " * exception. */\n"
            "#if defined __GNUC__ && !defined __clang__ && defined __OPTIMIZE__\n"
            "#pragma GCC optimize(\"no-trapping-math\")\n"
            "#endif\n\n");
    }
}

/* A function stands behind those that it calls in the table, so that the last ones are expanded
 * first: that notes which of the others they need. */
void adzi_c99_functions(adzi_c99 *c, adzi_text *file)
{
    adzi_text expanded[COUNT] = { { 0 } };
    for (int i = COUNT - 1; i >= 0; --i) {
        if (c->helpers[i]) {
            adzi_c99_expand(c, &expanded[i], texts[i].text);
        }
    }
    if (has_exact_functions(c)) {
        adzi_text_add(file,
            "#ifdef __FAST_MATH__\n"
            "#error \"-ffast-math breaks the functions of doubles below; compile without it\"\n"
            "#endif\n\n");
    }
    add_promise(expanded, file);
    for (int i = 0; i < COUNT; ++i) {
        if (expanded[i].failed) {
            file->failed = true;
        }
        if (expanded[i].length > 0) {
            adzi_text_add(file, adzi_text_get(&expanded[i]));
            adzi_text_add(file, "\n");
        }
        adzi_text_free(&expanded[i]);
    }
}
