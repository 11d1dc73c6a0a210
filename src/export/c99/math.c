/* Functions that a file brings along: products of rows, and elementary functions for programs
 * without libm. Their results differ from the library's by at most a few units in the last place.
 */
#include <ctype.h>
#include <string.h>

#include "export/c99/c99.h"
#include "export/c99/elementary.h"
#include "export/c99/functions.h"

enum {
    GENERAL = sizeof functions / sizeof *functions,
    COUNT = GENERAL + sizeof elementary / sizeof *elementary
};

_Static_assert(COUNT <= 64, "a bit of adzi_c99's `helpers` stands for each function");

static const function *function_at(int i)
{
    return i < GENERAL ? &functions[i] : &elementary[i - GENERAL];
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

const char *adzi_c99_of_doubles(const char *name, size_t length)
{
    for (int i = 0; i < COUNT; ++i) {
        const function *f = function_at(i);
        if (f->libm != NULL && strncmp(f->name, "wide_", 5) == 0 && strlen(f->libm) == length &&
            strncmp(f->libm, name, length) == 0) {
            return f->name;
        }
    }
    return NULL;
}

void adzi_c99_expand(adzi_c99 *c, adzi_text *text, const char *part)
{
    for (const char *at = part; *at != '\0'; ++at) {
        if (*at != '@') {
            const size_t plain = strcspn(at, "@");
            adzi_text_add_n(text, at, plain);
            at += plain - 1;
            continue;
        }
        const size_t length = length_of(at + 1);
        const int i = index_of(at + 1, length);
        at += length;
        if (i < 0) {
            adzi_c99_fail(c, ADZ_ERR_STATE, "%s: no such function in C", part);
            return;
        }
        const function *f = function_at(i);
        if (c->libm && f->libm != NULL) {
            adzi_text_add(text, f->libm);
            continue;
        }
        if (f->text == NULL) {
            adzi_c99_fail(c, ADZ_ERR_UNSUPPORTED,
                "%s needs %s of the mathematical library; set options.libm", c->current, f->libm);
            return;
        }
        c->helpers |= (uint64_t)1 << i;
        adzi_text_format(text, "%s_%s", c->name, f->name);
    }
}

/* A function stands behind those that it calls in the table, so that the last ones are expanded
 * first: that notes which of the others they need. */
void adzi_c99_functions(adzi_c99 *c, adzi_text *file)
{
    adzi_text texts[COUNT] = { { 0 } };
    for (int i = COUNT - 1; i >= 0; --i) {
        if (c->helpers >> i & 1u) {
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
