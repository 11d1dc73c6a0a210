#define _GNU_SOURCE
#include "command_line.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile bool line_open;

void set_line_open(bool open)
{
    line_open = open;
}

void fail(const char *format, ...)
{
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    va_list arguments;
    pthread_mutex_lock(&once); /* for good: one thread alone speaks last */
    va_start(arguments, format);
    if (line_open) {
        putchar('\n');
    }
    fflush(stdout);
    fprintf(stderr, "%s: ", program_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    _exit(1); /* not exit: other threads may still be at work */
}

void finish_output(void)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fail("standard output: %s", strerror(errno));
    }
}

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

double number(const char *option, const char *text, double low, double high)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= low && value <= high)) {
        fail("--%s %s: a number from %g to %g is wanted", option, text, low, high);
    }
    return value;
}

int64_t whole(const char *option, const char *text, int64_t low, int64_t high)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < low || value > high) {
        fail("--%s %s: a whole number from %lld to %lld is wanted", option, text, (long long)low,
            (long long)high);
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
    fail("--%s %s: %s is wanted", option, text, all);
}
