/* Shared by the example programs: messages, the values of options, and ending with an error. */
#ifndef EXAMPLES_COMMAND_LINE_H
#define EXAMPLES_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each program's own, for its messages. */
extern const char program_name[];

/* Ends the program with a message on stderr and exit code 1, from any thread. Control characters in
 * the message are shown as escapes, so that no text of a file reaches the terminal as a command. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the program with a message, a hint at --help and exit code 2: the command line itself is
 * wrong, whatever the files hold. After values_are_from(path) it is fail() with the path before the
 * message. */
_Noreturn void usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says that number(), whole(), choice() and set_argument() read values of that file from now on,
 * and so that a bad one is the file's fault; NULL for the command line, the default. The path is
 * kept. */
void values_are_from(const char *path);

/* Says on stderr what went wrong and goes on; finish_output() then returns 1. From any thread. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes a line to stderr under the program's name and goes on. From any thread. */
void remark(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether standard output is in the middle of a line. Messages end that line first. */
void set_line_open(bool open);

/* Ends the program with a message if standard output could not take all that was printed. Returns
 * the exit code for main: 1 after complain(), else 0. */
int finish_output(void);

/* Allocates zeroed memory, to be freed. Ends the program if there is none. */
void *allocate(size_t bytes);

/* Makes an array of `count` elements longer. Ends the program if there is no memory. */
void *reallocate(void *array, size_t count, size_t element);

/* Copies a text, to be freed. Ends the program if there is no memory. */
char *copy_text(const char *text);

/* "s" for any count but 1, to stand behind a noun. */
const char *plural(int64_t count);

/* Parses the value of --option. Ends the program if it is wrong. */
double number(const char *option, const char *text, double low, double high);
int64_t whole(const char *option, const char *text, int64_t low, int64_t high);

/* The index of the text among `count` names. Ends the program if it is none of them. */
int choice(const char *option, const char *text, const char *const *names, int count);

#endif
