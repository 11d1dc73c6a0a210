/* Shared by the parts of adze-bench. */
#ifndef ADZE_BENCH_H
#define ADZE_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "adze/adze.h"

/* Seconds on a clock that only goes forward. */
double now(void);

/* User and system time of the process, in seconds. */
double processor_time(void);

/* Faults that needed no reading, of the process. */
long page_faults(void);

/* Most memory resident so far, in kB. */
long peak_resident(void);

/* VmHWM or VmRSS of this process, in bytes; 0 where there is no such file. */
long long process_bytes(const char *key);

/* From now on VmHWM counts from what the process holds now. */
void reset_process_peak(void);

/* For adz_on_error: `user` is the program's name. */
void end_on_error(adz_status status, const char *message, void *user);

/* Calls of malloc, calloc, realloc and the like in this process. */
uint64_t system_allocations(void);

int by_value(const void *a, const void *b);

/* The median of `count` values. It sorts them. */
typedef struct {
    double median, least;
} timing;
timing timing_of(double *values, int count);

/* Seconds per call of `work`, each of the rounds long enough for the clock. */
timing measure(void (*work)(void *), void *user, int calls);

/* A string as the inside of a JSON string. */
const char *json_text(const char *text);

/* An option of a command: `--name VALUE`, or `--name` for a flag. */
typedef struct {
    const char *name;
    enum { AN_INTEGER, A_NUMBER, A_WORD, A_FLAG, A_TEXT } kind;
    void *value;              /* int64_t, double, int (which of the words), bool, const char * */
    double least, most;       /* of numbers */
    const char *const *words; /* up to NULL */
} option;

/* Reads the options of a command, up to one without a name; what is left over are names of things,
 * of which the first is stored in *what if that is not NULL. False, with a message on stderr, for
 * what it does not understand. */
bool read_options(int argc, char **argv, const option *options, const char **what);

/* The commands: their arguments without the command itself; they return the exit status. */
int bench_op(int argc, char **argv);
int bench_toy(int argc, char **argv);
int bench_mlp(int argc, char **argv);
int bench_epoch(int argc, char **argv);
int bench_deep(int argc, char **argv);
int bench_derivatives(int argc, char **argv);
int bench_ffn_step(int argc, char **argv);
int bench_loops(int argc, char **argv);

#endif
