/* Reads the prompts. */
#include "prompts.h"

#include <stdlib.h>
#include <string.h>

#include "../../examples/shared/command_line.h"
#include "../../examples/text/lines.h"

prompts read_prompts(const options *o)
{
    if (o->file != NULL) {
        const text_lines lines = read_lines(o->file);
        return (prompts){ lines.bytes, lines.texts, lines.count };
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
