/* The options of the program, as the command line gives them. */
#ifndef GENERATE_OPTIONS_H
#define GENERATE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_PROMPTS = 64, MOST_STOPS = 32 };

typedef struct options {
    const char *model; /* a folder or a file .gguf; NULL: a small model is trained */
    const char *tokenizer, *file, *save;
    const char *prompts[MOST_PROMPTS];
    size_t n_prompts;
    const char *stops[MOST_STOPS];
    size_t n_stops;
    int64_t tokens, top_k, seed, threads, steps;
    double temperature, top_p, min_p, penalty;
    bool no_cache;
} options;

/* Reads the command line; ends the program for --help and for what it cannot read. */
options read_options(int argc, char **argv);

#endif
