/* The options of the program, as the command line gives them. */
#ifndef UCI_OPTIONS_H
#define UCI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../shared/command_line.h"

typedef struct options {
    const char *const *folders; /* n_folders paths; without one the toy set is used */
    size_t n_folders;
    bool grid;
    int64_t splits; /* the largest number of splits of each set */
    int64_t epochs; /* 0: the number in the set's hyper.txt */
    int64_t passes;
    int64_t jobs;
    bool no_capture;
    int64_t seed;
    const char *plot;
} options;

/* Reads the command line; ends the program for --help and for what it cannot read. */
options parse_options(int argc, char **argv);

#endif
