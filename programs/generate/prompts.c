/* Reads the prompts. */
#include "prompts.h"

#include <stdlib.h>
#include <string.h>

#include "../../examples/shared/command_line.h"
#include "../../examples/shared/files.h"
#include "../../examples/text/encoding.h"

static prompts of_file(const char *path)
{
    size_t size;
    const bool standard = strcmp(path, "-") == 0;
    const char *name = standard ? "standard input" : path;
    prompts p = { .bytes = read_whole_file(standard ? "/dev/stdin" : path, &size) };
    check_utf8(name, p.bytes, size, "");
    for (const char *at = p.bytes, *end = at + size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop != NULL ? stop : end;
        const size_t length = (size_t)(stop - at);
        p.texts = reallocate(p.texts, p.count + 1, sizeof *p.texts);
        p.texts[p.count++] = (adz_text){ at, length - (length > 0 && at[length - 1] == '\r') };
        at = stop + 1;
    }
    if (p.count == 0) {
        fail("%s: there are no lines", name);
    }
    return p;
}

prompts read_prompts(const options *o)
{
    if (o->file != NULL) {
        return of_file(o->file);
    }
    prompts p = { .count = o->n_prompts };
    p.texts = allocate(p.count * sizeof *p.texts);
    for (size_t i = 0; i < p.count; ++i) {
        p.texts[i] = (adz_text){ o->prompts[i], strlen(o->prompts[i]) };
    }
    return p;
}

void free_prompts(prompts *p)
{
    free(p->texts);
    free(p->bytes);
}
