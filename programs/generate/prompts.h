/* The prompts of a run. */
#ifndef GENERATE_PROMPTS_H
#define GENERATE_PROMPTS_H

#include <adze/adze.h>

#include "options.h"

typedef struct prompts {
    char *bytes; /* of the file, into which the texts point; NULL without one */
    adz_text *texts;
    size_t count;
} prompts;

/* Those of the command line, or the lines of the file. */
prompts read_prompts(const options *o);
void free_prompts(prompts *p);

#endif
