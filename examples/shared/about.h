/* What all example programs have in common: they answer --help and --version, and end with the same
 * exit codes. It is a header alone, so that a program of one file needs no other source. */
#ifndef EXAMPLES_ABOUT_H
#define EXAMPLES_ABOUT_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <adze/adze.h>

/* What --version calls the program. */
#ifndef PROGRAM_KIND
#define PROGRAM_KIND "an example program"
#endif

/* Exit codes beside 0 and EXIT_FAILURE. */
enum {
    CODE_MISUSED = 2, /* the command line is wrong, whatever the files hold */
    CODE_SIGNAL = 128 /* plus the number of the signal: 130 after Ctrl-C, 143 after SIGTERM */
};

static inline void end_on_signal(int number)
{
    _Exit(CODE_SIGNAL + number);
}

/* From now on Ctrl-C and SIGTERM end the program at once, with their exit code. A shell shows the
 * same number for a program that the signal itself has ended. */
static inline void end_on_signals(void)
{
    signal(SIGINT, end_on_signal);
    signal(SIGTERM, end_on_signal);
}

/* Answers --help (also -h) and --version on standard output. False for any other word. */
static inline bool answers(const char *word, const char *name, const char *help)
{
    if (strcmp(word, "--version") == 0) {
        printf("%s, " PROGRAM_KIND " of adze %s\n", name, adz_version());
        return true;
    }
    if (strcmp(word, "--help") != 0 && strcmp(word, "-h") != 0) {
        return false;
    }
    printf("%s\n--help prints this text, and --version the version of adze.\n"
           "Exit codes: 0 all is done; 1 something failed; 2 the command line is wrong;\n"
           "130 ended by Ctrl-C, 143 by SIGTERM.\n",
        help);
    return true;
}

/* At the end of a program: what it has printed must have arrived. */
static inline void check_output(void)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("standard output could not be written\n", stderr);
        _Exit(EXIT_FAILURE);
    }
}

/* Begins a program that takes at most `most` words and no other options. It ends here if there is a
 * question to answer, or a word that cannot be meant. */
static inline void begin_program(
    const char *name, int argc, char *const *argv, int most, const char *help)
{
    end_on_signals();
    atexit(check_output);
    for (int i = 1; i < argc; ++i) {
        if (answers(argv[i], name, help)) {
            exit(0);
        }
        if (argv[i][0] == '-' || i > most) {
            fprintf(stderr, "%s: '%s' is no option\n%s --help lists the options\n", name, argv[i],
                name);
            exit(CODE_MISUSED);
        }
    }
}

#endif
