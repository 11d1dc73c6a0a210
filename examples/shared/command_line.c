/* Messages on stderr from any thread, memory, and the values of options. */
#define _GNU_SOURCE
#include "command_line.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "about.h"
#include "interrupt.h"
#include "plain_text.h"

static volatile bool line_open;
static volatile bool complained;
static const char *values_file;
static pthread_mutex_t speaking = PTHREAD_MUTEX_INITIALIZER;
static processes these = { .speaks = true };

void set_line_open(bool open)
{
    line_open = open;
}

void values_are_from(const char *path)
{
    values_file = path;
}

/* ---- messages ------------------------------------------------------------------------------- */

void set_processes(const processes *p)
{
    these = *p;
}

/* Bytes of a message, and with a file's name and escapes for control characters. */
enum { MESSAGE = 8192, LONGEST_MESSAGE = 4 * MESSAGE + 1024 };

/* Makes the text of a message, and ends a line that is open on stdout. The caller holds the lock,
 * which guards the buffers. The buffers are static, so that a message about missing memory needs
 * none. A longer message is cut. */
static const char *compose(const char *before, const char *format, va_list arguments)
{
    static char text[MESSAGE], shown[4 * sizeof text], whole[LONGEST_MESSAGE];
    vsnprintf(text, sizeof text, format, arguments);
    make_visible(text, shown);
    snprintf(whole, sizeof whole, "%s%s", before, shown);
    if (line_open) {
        putchar('\n');
        line_open = false;
    }
    fflush(stdout);
    return whole;
}

/* Prints a message with the program's name: in one line, which scripts can search, and on a
 * terminal in lines of 80 characters. The caller holds the lock. */
static void print_message(const char *text)
{
    static char named[LONGEST_MESSAGE + 64];
    snprintf(named, sizeof named, "%s: %s", program_name, text);
    if (isatty(STDERR_FILENO)) {
        print_wrapped(stderr, named);
    } else {
        fprintf(stderr, "%s\n", named);
    }
}

/* Prints a message unless another process prints it. */
static void say(const char *format, va_list arguments)
{
    const char *text = compose("", format, arguments);
    if (these.speaks) {
        print_message(text);
    }
}

/* Ends the program, after a message that no other function prints. The caller holds the lock, which
 * is never unlocked: only one thread prints the last message. */
static _Noreturn void end_with(const char *text)
{
    if (these.end_all != NULL) {
        these.end_all(EXIT_FAILURE, text);
    } else {
        print_message(text);
    }
    _exit(EXIT_FAILURE); /* not exit: other threads may still be at work */
}

void fail(const char *format, ...)
{
    va_list arguments;
    pthread_mutex_lock(&speaking);
    va_start(arguments, format);
    const char *text = compose("", format, arguments);
    va_end(arguments);
    end_with(text);
}

void usage_error(const char *format, ...)
{
    char before[1024] = "";
    va_list arguments;
    pthread_mutex_lock(&speaking);
    if (values_file != NULL) {
        snprintf(before, sizeof before, "%s: ", values_file);
    }
    va_start(arguments, format);
    const char *text = compose(before, format, arguments);
    va_end(arguments);
    if (values_file != NULL) {
        end_with(text);
    }
    if (these.end_all != NULL && !these.speaks) {
        these.end_all(CODE_MISUSED, text);
    }
    print_message(text);
    fprintf(stderr, "%s --help lists the options\n", program_name);
    if (these.end_all != NULL) {
        these.end_all(CODE_MISUSED, NULL);
    }
    _exit(CODE_MISUSED);
}

void complain(const char *format, ...)
{
    va_list arguments;
    pthread_mutex_lock(&speaking);
    complained = true;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
    pthread_mutex_unlock(&speaking);
}

void remark(const char *format, ...)
{
    va_list arguments;
    pthread_mutex_lock(&speaking);
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
    pthread_mutex_unlock(&speaking);
}

void print_text(const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const size_t size = (size_t)vsnprintf(NULL, 0, format, arguments) + 1;
    char *text = allocate(size);
    vsnprintf(text, size, format, again);
    print_wrapped(stdout, text);
    fflush(stdout); /* what comes next may take minutes */
    free(text);
    va_end(again);
    va_end(arguments);
}

int finish_output(void)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fail("standard output: %s", strerror(errno));
    }
    if (these.leave != NULL) {
        these.leave();
    }
    return complained ? EXIT_FAILURE : interrupt_code();
}

/* ---- memory --------------------------------------------------------------------------------- */

void *allocate(size_t bytes)
{
    void *block = calloc(1, bytes > 0 ? bytes : 1);
    if (block == NULL) {
        fail("out of memory");
    }
    return block;
}

void *reallocate(void *array, size_t count, size_t element)
{
    void *block = count <= SIZE_MAX / element ? realloc(array, count * element) : NULL;
    if (block == NULL) {
        fail("out of memory");
    }
    return block;
}

char *copy_text(const char *text)
{
    size_t bytes = strlen(text) + 1;
    return memcpy(allocate(bytes), text, bytes);
}

/* ---- values --------------------------------------------------------------------------------- */

const char *number_text(double x, char *buffer)
{
    int digits = 6;
    do {
        snprintf(buffer, NUMBER_TEXT, "%.*g", digits, x);
    } while (++digits <= 17 && strtod(buffer, NULL) != x);
    return buffer;
}

const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

double number(const char *option, const char *text, double low, double high)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= low && value <= high)) {
        usage_error("--%s %s: a number from %g to %g is wanted", option, text, low, high);
    }
    return value;
}

int64_t whole(const char *option, const char *text, int64_t low, int64_t high)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < low || value > high) {
        usage_error("--%s %s: a whole number from %lld to %lld is wanted", option, text,
            (long long)low, (long long)high);
    }
    return value;
}

int choice(const char *option, const char *text, const char *const *names, int count)
{
    char all[512] = "";
    size_t n = 0;
    for (int i = 0; i < count; ++i) {
        if (strcmp(text, names[i]) == 0) {
            return i;
        }
        const char *before = i == 0 ? "" : i + 1 < count ? ", " : " or ";
        int written = snprintf(all + n, sizeof all - n, "%s%s", before, names[i]);
        n += n + (size_t)written < sizeof all ? (size_t)written : 0;
    }
    usage_error("--%s %s: %s is wanted", option, text, all);
}
