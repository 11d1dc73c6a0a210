#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "bench.h"

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct rusage usage(void)
{
    struct rusage all;
    getrusage(RUSAGE_SELF, &all);
    return all;
}

double processor_time(void)
{
    struct rusage all = usage();
    return (double)(all.ru_utime.tv_sec + all.ru_stime.tv_sec) +
           1e-6 * (double)(all.ru_utime.tv_usec + all.ru_stime.tv_usec);
}

long page_faults(void)
{
    return usage().ru_minflt;
}

long long process_bytes(const char *key)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long long kilobytes = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0) {
            kilobytes = atoll(line + strlen(key) + 1);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return 1024 * kilobytes;
}

/* Not getrusage's: that one remembers what the process was before exec, a script's interpreter. */
long peak_resident(void)
{
    return (long)(process_bytes("VmHWM") / 1024);
}

void reset_process_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file != NULL) {
        fputs("5\n", file);
        fclose(file);
    }
}

void end_on_error(adz_status status, const char *message, void *user)
{
    fprintf(stderr, "%s: %s: %s\n", (const char *)user, adz_status_name(status), message);
    exit(EXIT_FAILURE);
}

int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

timing timing_of(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return (timing){ values[count / 2], values[0] };
}

enum { ROUNDS = 41 };

timing measure(void (*work)(void *), void *user, int calls)
{
    double seconds[ROUNDS];
    for (int i = 0; i < calls; ++i) {
        work(user);
    }
    for (int r = 0; r < ROUNDS; ++r) {
        double start = now();
        for (int i = 0; i < calls; ++i) {
            work(user);
        }
        seconds[r] = (now() - start) / calls;
    }
    return timing_of(seconds, ROUNDS);
}

const char *json_text(const char *text)
{
    static char out[1024];
    size_t n = 0;
    for (; *text != '\0' && n + 3 < sizeof out; ++text) {
        if (*text == '"' || *text == '\\') {
            out[n++] = '\\';
        }
        out[n++] = (unsigned char)*text < ' ' ? ' ' : *text;
    }
    out[n] = '\0';
    return out;
}

/* ---- options -------------------------------------------------------------------------------- */

static bool read_number(const option *o, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    bool good = end != text && *end == '\0' && value >= o->least && value <= o->most &&
                (o->kind != AN_INTEGER || value == (double)(int64_t)value);
    if (!good) {
        fprintf(stderr, "adze-bench: --%s must be a number from %g to %g, not '%s'\n", o->name,
            o->least, o->most, text);
    } else if (o->kind == AN_INTEGER) {
        *(int64_t *)o->value = (int64_t)value;
    } else {
        *(double *)o->value = value;
    }
    return good;
}

static bool read_word(const option *o, const char *text)
{
    for (int i = 0; o->words[i] != NULL; ++i) {
        if (strcmp(o->words[i], text) == 0) {
            *(int *)o->value = i;
            return true;
        }
    }
    fprintf(stderr, "adze-bench: --%s cannot be '%s'; there are", o->name, text);
    for (int i = 0; o->words[i] != NULL; ++i) {
        fprintf(stderr, " %s", o->words[i]);
    }
    fputc('\n', stderr);
    return false;
}

bool read_options(int argc, char **argv, const option *options, const char **what)
{
    for (int i = 0; i < argc; ++i) {
        if (strncmp(argv[i], "--", 2) != 0 && what != NULL) {
            *what = argv[i];
            continue;
        }
        const option *o = options;
        while (o->name != NULL && (strlen(argv[i]) < 3 || strcmp(o->name, argv[i] + 2) != 0)) {
            ++o;
        }
        if (o->name == NULL) {
            fprintf(stderr, "adze-bench: there is no '%s' here; see adze-bench --help\n", argv[i]);
            return false;
        }
        if (o->kind == A_FLAG) {
            *(bool *)o->value = true;
        } else if (++i == argc) {
            fprintf(stderr, "adze-bench: --%s needs a value\n", o->name);
            return false;
        } else if (o->kind == A_TEXT) {
            *(const char **)o->value = argv[i];
        } else if (!(o->kind == A_WORD ? read_word(o, argv[i]) : read_number(o, argv[i]))) {
            return false;
        }
    }
    return true;
}

/* ---- who calls malloc -----------------------------------------------------------------------
 *
 * The program's own definitions stand before the C library's for everybody in the process. glibc
 * offers what they replace under other names; elsewhere nothing is counted.
 */

static atomic_ullong allocations;

uint64_t system_allocations(void)
{
    return atomic_load_explicit(&allocations, memory_order_relaxed);
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *block, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

static void count(void)
{
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
}

void *malloc(size_t bytes)
{
    count();
    return __libc_malloc(bytes);
}

void *calloc(size_t number, size_t bytes)
{
    count();
    return __libc_calloc(number, bytes);
}

void *realloc(void *block, size_t bytes)
{
    count();
    return __libc_realloc(block, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    count();
    return __libc_memalign(alignment, bytes);
}

void *memalign(size_t alignment, size_t bytes)
{
    count();
    return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    count();
    void *made = __libc_memalign(alignment, bytes);
    if (made == NULL) {
        return ENOMEM;
    }
    *block = made;
    return 0;
}
#endif
