/* What the example programs share in reading command lines and in giving up. */
#ifndef EXAMPLES_COMMAND_LINE_H
#define EXAMPLES_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each program's own, for its messages. */
extern const char program_name[];

/* Ends the program with a message and exit code 1, from any thread. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether standard output stands in the midst of a line, which fail() ends first. */
void set_line_open(bool open);

/* Ends the program with a message if standard output could not take all that was printed. */
void finish_output(void);

/* Zeroed memory for free(), or the end of the program. */
void *allocate(size_t bytes);

/* An array of `count` elements made longer, or the end of the program. */
void *reallocate(void *array, size_t count, size_t element);

/* A copy for free(), or the end of the program. */
char *copy_text(const char *text);

/* The value of --option, or the end of the program. */
double number(const char *option, const char *text, double low, double high);
int64_t whole(const char *option, const char *text, int64_t low, int64_t high);

/* Which of `count` names the text is, or the end of the program. */
int choice(const char *option, const char *text, const char *const *names, int count);

#endif
