/* The functions that compute an optimizer's numbers, as their type gives them (ADZ_C_TEXT). The
 * text is read as C tokens: to find which functions it has, to replace those of math.h by the
 * file's, and to break its lines, because a preprocessor has joined them. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "export/c99/program.h"

enum { LINE = 96 }; /* characters, before which a line is broken at a blank */

/* ---- tokens ---------------------------------------------------------------------------------- */

typedef struct {
    const char *at;
    size_t n;
    bool word, blank;     /* blank: a space comes before it */
    int braces, brackets; /* open before it */
    bool in_enum;
    char before, after; /* the characters around it, without spaces */
} token;

static bool is_in_word(char x)
{
    return isalnum((unsigned char)x) || x == '_';
}

static size_t length_at(const char *at)
{
    size_t n = 0;
    const bool number = isdigit((unsigned char)at[0]);
    while (is_in_word(at[n]) ||
           (number && (at[n] == '.' || ((at[n] == '-' || at[n] == '+') &&
                                           (at[n - 1] == 'e' || at[n - 1] == 'E'))))) {
        ++n;
    }
    return n > 0 ? n : 1;
}

static void step_over(token *t)
{
    const char x = t->n == 1 ? *t->at : '\0';
    t->braces += x == '{' ? 1 : x == '}' ? -1 : 0;
    t->brackets += x == '(' ? 1 : x == ')' ? -1 : 0;
    t->in_enum = x != '}' && (t->in_enum || (t->n == 4 && strncmp(t->at, "enum", 4) == 0));
    t->before = t->n > 0 ? t->at[t->n - 1] : '\0';
    t->at += t->n;
}

/* Goes to the next token; false at the end. Begin with the text in `at`. */
static bool next(token *t)
{
    step_over(t);
    const size_t blanks = strspn(t->at, " \t\n");
    t->blank = blanks > 0;
    t->at += blanks;
    t->n = *t->at != '\0' ? length_at(t->at) : 0;
    t->word = is_in_word(*t->at) && !isdigit((unsigned char)*t->at);
    t->after = t->at[t->n + strspn(t->at + t->n, " \t\n")];
    return t->n > 0;
}

static bool is_function(const token *t)
{
    return t->word && t->after == '(' && t->braces == 0 && t->brackets == 0;
}

static bool is_definition(const token *t)
{
    const bool enumerator =
        t->word && t->in_enum && t->braces > 0 && (t->before == '{' || t->before == ',');
    return is_function(t) || enumerator;
}

static bool same(const token *a, const token *b)
{
    return a->n == b->n && strncmp(a->at, b->at, a->n) == 0;
}

/* Whether a text defines the name of a token. */
static bool defines(const char *text, const token *name)
{
    bool found = false;
    for (token t = { .at = text }; !found && next(&t);) {
        found = is_definition(&t) && same(&t, name);
    }
    return found;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static bool is(const token *t, const char *word)
{
    return strlen(word) == t->n && strncmp(word, t->at, t->n) == 0;
}

/* The file's function that a text calls by another name, or NULL. */
static const char *ours(const adzi_c99 *c, const token *t)
{
    static const char real[] = "adz_real_"; /* the functions of adze/real.h instead of libm's */
    const size_t skipped =
        t->n > strlen(real) && strncmp(t->at, real, strlen(real)) == 0 ? strlen(real) : 0;
    return is(t, "adz_moment_power") ? "moment_power"
                                     : adzi_c99_of_doubles(c, t->at + skipped, t->n - skipped);
}

static bool is_keyword(const token *t)
{
    static const char *const words[] = { "if", "while", "for", "switch", "return", "sizeof" };
    bool found = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
        found = found || is(t, words[i]);
    }
    return found;
}

static size_t texts_of(const adz_optimizer_type *type)
{
    size_t n = 0;
    while (n < ADZ_OPTIMIZER_TEXTS && type->numbers_text[n] != NULL) {
        ++n;
    }
    return n;
}

/* Every function that is called is one of the type's texts, or known. */
static void check_calls(adzi_c99 *c, const adz_optimizer_type *type, const char *text)
{
    for (token t = { .at = text }; next(&t) && !c->failed;) {
        bool good =
            !t.word || t.after != '(' || is_function(&t) || is_keyword(&t) || ours(c, &t) != NULL;
        for (size_t i = 0; i < texts_of(type) && !good; ++i) {
            good = defines(type->numbers_text[i], &t);
        }
        if (!good) {
            adzi_c99_fail(c, ADZ_ERR_UNSUPPORTED,
                "the numbers of the optimizer %s call %.*s, which a file in C does not have; use sqrt, pow, exp, log, fmin, fmax, or a function of its numbers_text",
                type->name, (int)t.n, t.at);
        }
    }
}

/* Two types must not use one name for different things. */
static void check_names(adzi_c99 *c, const adz_optimizer_type *type, const char *text)
{
    for (token t = { .at = text }; next(&t) && !c->failed;) {
        for (size_t i = 0; i < c->n_texts && is_definition(&t) && !c->failed; ++i) {
            if (defines(c->texts[i], &t)) {
                adzi_c99_fail(c, ADZ_ERR_UNSUPPORTED,
                    "numbers_text of the optimizer %s defines %.*s, which that of another optimizer of the file defines as well; give it another name",
                    type->name, (int)t.n, t.at);
            }
        }
    }
}

/* ---- printing -------------------------------------------------------------------------------- */

/* Adds a text with line breaks after ; { and }. */
static void add_lines(adzi_c99 *c, adzi_text *file, const char *text)
{
    size_t begin = file->length;
    bool fresh = true;
    for (token t = { .at = text }; next(&t);) {
        const char x = t.n == 1 ? *t.at : '\0';
        if (!fresh && t.blank && x != '}' && file->length - begin + t.n > LINE) {
            adzi_text_add(file, "\n");
            begin = file->length;
            adzi_text_format(file, "%*s", 4 * (t.braces + 1), "");
        } else if (fresh) {
            begin = file->length;
            adzi_text_format(file, "%*s", 4 * (t.braces - (x == '}' ? 1 : 0)), "");
        } else if (t.blank) {
            adzi_text_add(file, " ");
        }
        const char *function = t.word && t.after == '(' ? ours(c, &t) : NULL;
        if (function != NULL) {
            char call[64];
            snprintf(call, sizeof call, "@%s", function);
            adzi_c99_expand(c, file, call);
        } else {
            adzi_text_add_n(file, t.at, t.n);
        }
        fresh = (x == ';' && t.brackets == 0) || x == '{' || (x == '}' && t.after != ';');
        const bool last = (x == '}' && t.braces == 1) || (x == ';' && t.braces == 0);
        adzi_text_add(file, fresh && last ? "\n\n" : fresh ? "\n" : "");
    }
}

static bool has_text(const adzi_c99 *c, const char *text)
{
    bool has = false;
    for (size_t i = 0; i < c->n_texts && !has; ++i) {
        has = strcmp(c->texts[i], text) == 0;
    }
    return has;
}

static void add_text(adzi_c99 *c, adzi_text *file, const adz_optimizer_type *type, const char *text)
{
    check_calls(c, type, text);
    check_names(c, type, text);
    if (!adzi_grow(&c->texts, &c->texts_capacity, c->n_texts + 1, sizeof *c->texts)) {
        adzi_c99_fail(c, ADZ_ERR_MEMORY, "no memory for the text of the C file");
    }
    if (!c->failed) {
        c->texts[c->n_texts++] = text;
        add_lines(c, file, text);
    }
}

void adzi_c99_type_text(
    adzi_c99 *c, adzi_text *file, const adz_optimizer_type *type, char name[ADZI_C99_NAME])
{
    const size_t n = texts_of(type);
    name[0] = '\0';
    c->current = type->name;
    for (token t = { .at = n > 0 ? type->numbers_text[n - 1] : "" }; next(&t);) {
        if (is_function(&t)) {
            snprintf(name, ADZI_C99_NAME, "%.*s", (int)t.n, t.at);
        }
    }
    if (name[0] == '\0') {
        adzi_c99_fail(c, ADZ_ERR_UNSUPPORTED,
            "the optimizer %s cannot be written in C: its type has a function `numbers`, but no text of it; define the function by ADZ_C_TEXT and set .numbers_text",
            type->name);
    }
    for (size_t i = 0; i < n && file != NULL && !c->failed; ++i) {
        if (!has_text(c, type->numbers_text[i])) {
            add_text(c, file, type, type->numbers_text[i]);
        }
    }
}
