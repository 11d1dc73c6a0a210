/* Shared by the example programs: messages, the values of options, and ending with an error. */
#ifndef EXAMPLES_COMMAND_LINE_H
#define EXAMPLES_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The name of the program in its messages. Each program defines it. */
extern const char program_name[];

/* How a program ends that runs as several processes. */
typedef struct processes {
    bool speaks; /* false: another process prints what remark() and complain() would print here */

    /* Ends all processes. The message was printed already if it is NULL. If the function is NULL or
     * returns, the process ends by itself. */
    void (*end_all)(int code, const char *message);

    /* Called by finish_output(). May be NULL. */
    void (*leave)(void);
} processes;

/* Declares how the program ends. Without this call it is a single process. */
void set_processes(const processes *p);

/* Ends the program with a message on stderr and exit code 1, from any thread. Control characters in
 * the message are shown as escapes, so that no text of a file reaches the terminal as a command. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the program with a message, a hint at --help and exit code 2: the command line itself is
 * wrong, whatever the files hold. After values_are_from(path) it is fail() with the path before the
 * message. */
_Noreturn void usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Declares that the values which number(), whole(), choice() and set_argument() read from now on
 * come from this file, so that messages name it. NULL means the command line, which is the default.
 * The path must stay valid. */
void values_are_from(const char *path);

/* Prints a message on stderr and returns; finish_output() will return 1. Any thread may call it. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a line with the program's name on stderr and returns. Any thread may call it. */
void remark(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a text on stdout at once, in lines of at most 80 characters (print_wrapped). */
void print_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Declares whether standard output is in the middle of a line. Messages end that line first. */
void set_line_open(bool open);

/* Call it at the end of main. Ends the program with a message if standard output could not take all
 * that was printed. Returns the exit code for main: 1 after complain(), else 130 or 143 after a
 * signal (interrupt.h), else 0. */
int finish_output(void);

/* Allocates zeroed memory, to be freed. Ends the program if there is none. */
void *allocate(size_t bytes);

/* Makes an array of `count` elements longer. Ends the program if there is no memory. */
void *reallocate(void *array, size_t count, size_t element);

/* Copies a text, to be freed. Ends the program if there is no memory. */
char *copy_text(const char *text);

/* Writes a number with as few digits as give the same double when they are read again. Returns the
 * buffer, for which NUMBER_TEXT bytes are enough. */
enum { NUMBER_TEXT = 32 };
const char *number_text(double x, char *buffer);

/* The ending of a noun after a number: "" for 1 and "s" for any other count. */
const char *plural(int64_t count);

/* Parses the value of --option. Ends the program if it is wrong. */
double number(const char *option, const char *text, double low, double high);
int64_t whole(const char *option, const char *text, int64_t low, int64_t high);

/* The index of the text among `count` names. Ends the program if it is none of them. */
int choice(const char *option, const char *text, const char *const *names, int count);

#endif
