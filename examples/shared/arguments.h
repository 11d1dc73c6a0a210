/* Reads a command line by a table of options. */
#ifndef EXAMPLES_ARGUMENTS_H
#define EXAMPLES_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command_line.h"

typedef enum argument_kind {
    ARGUMENT_FLAG,   /* bool: no value */
    ARGUMENT_WHOLE,  /* int64_t from low to high */
    ARGUMENT_NUMBER, /* double from low to high */
    ARGUMENT_TEXT,   /* const char * */
    ARGUMENT_CHOICE, /* int: the index of the value among the choices */
    ARGUMENT_READ    /* a value that the function `read` parses */
} argument_kind;

typedef struct argument {
    const char *name; /* without the dashes */
    argument_kind kind;
    void *to; /* where the value is stored */
    double low, high;
    const char *const *choices; /* NULL at the end */
    void (*read)(void *to, char *value);
    bool given; /* true if the command line has the option */
} argument;

#define OPTION_FLAG(name, to)                            \
    {                                                    \
        name, ARGUMENT_FLAG, to, 0, 0, NULL, NULL, false \
    }
#define OPTION_WHOLE(name, to, low, high)                      \
    {                                                          \
        name, ARGUMENT_WHOLE, to, low, high, NULL, NULL, false \
    }
#define OPTION_NUMBER(name, to, low, high)                      \
    {                                                           \
        name, ARGUMENT_NUMBER, to, low, high, NULL, NULL, false \
    }
#define OPTION_TEXT(name, to)                            \
    {                                                    \
        name, ARGUMENT_TEXT, to, 0, 0, NULL, NULL, false \
    }
#define OPTION_CHOICE(name, to, choices)                      \
    {                                                         \
        name, ARGUMENT_CHOICE, to, 0, 0, choices, NULL, false \
    }
#define OPTION_READ(name, to, read)                      \
    {                                                    \
        name, ARGUMENT_READ, to, 0, 0, NULL, read, false \
    }

/* Reads the command line. Words that are no options are moved to the end of argv, and the result is
 * the index of the first of them. Option names cannot be abbreviated. Answers --help and --version
 * (about.h) and ends the program. Ends it with exit code 2 for a word that it cannot read. From now
 * on Ctrl-C and SIGTERM end it with their exit code. */
int read_arguments(int argc, char **argv, argument *table, size_t n, const char *help);

/* Reads one value by the rules of the command line. Ends the program if it does not fit. */
void set_argument(argument *a, char *value);

/* Writes a value as text into a buffer, in the form that set_argument reads. */
const char *argument_text(const argument *a, char *buffer, size_t size);

argument *find_argument(argument *table, size_t n, const char *name);

#endif
