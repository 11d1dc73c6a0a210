/* The functions in C that read and write the file of weights. A file in C gets those that it calls.
 */
#include <stdio.h>
#include <string.h>

#include "export/c99/weights/weights.h"

#include "export/weights_texts.h" /* of sources/weights.c; a function stands behind those that it calls */

enum { COUNT = sizeof texts / sizeof *texts };

/* Adds the text of a helper, in which `@` becomes "NAME_". */
static void expand(const adzi_c99 *c, const char *text, adzi_text *to)
{
    for (const char *at = text; *at != '\0';) {
        const size_t plain = strcspn(at, "@");
        adzi_c99_add_plain(c, to, at, plain);
        at += plain;
        if (*at == '@') {
            adzi_text_format(to, "%s_", c->name);
            ++at;
        }
    }
    adzi_text_add(to, "\n");
}

void adzi_weights_add_helpers(const adzi_c99 *c, const char *calls, adzi_text *to)
{
    const char *name = c->name;
    bool used[COUNT] = { false };
    for (int i = COUNT - 1; i >= 0; --i) {
        char call[ADZI_C99_NAME + 40];
        snprintf(call, sizeof call, "%s_%s(", name, texts[i].name);
        used[i] = strstr(calls, call) != NULL;
        snprintf(call, sizeof call, "@%s(", texts[i].name);
        for (int k = i + 1; k < COUNT && !used[i]; ++k) {
            used[i] = used[k] && strstr(texts[k].text, call) != NULL;
        }
    }
    for (int i = 0; i < COUNT; ++i) {
        if (used[i]) {
            expand(c, texts[i].text, to);
        }
    }
}
