/* Recording errors. Each thread has one record with a code, an operator and a message. */
#ifndef ADZI_BASE_ERROR_H
#define ADZI_BASE_ERROR_H

#include "adze/base.h"

#define ADZI_FORMAT(f, a) __attribute__((format(printf, f, a)))

/** Records an error as "<module path>: <op>: <message>" and returns its code. */
adz_status adzi_error(const char *op, adz_status code, const char *format, ...) ADZI_FORMAT(3, 4);

/** Records an error, for functions that return a pointer. Always returns NULL. */
void *adzi_fail(const char *op, adz_status code, const char *format, ...) ADZI_FORMAT(3, 4);

/** Records ADZ_ERR_MEMORY with the bytes that were requested, live and cached. Returns NULL. */
void *adzi_fail_memory(const char *op, size_t bytes);

/**
 * For an argument that is NULL. If an error is recorded, the NULL is taken for its consequence and
 * the record stays as it is. If not, ADZ_ERR_NULL is recorded with operator and argument. Returns
 * the recorded code.
 */
adz_status adzi_error_null(const char *op, const char *argument);

/** adzi_error_null for operators and modules, which hand a NULL on: if an error is recorded, nobody
 * is told again. */
void adzi_pass_null(const char *op, const char *argument);

/** The name for adzi_error and others if a program gives it: a copy of at most 63 bytes if the
 * error will be recorded, because the program may free its own. NULL and "" give "error". */
const char *adzi_error_name(const char *op);

/** adzi_pass_null for functions that return a pointer. Always returns NULL. */
void *adzi_fail_null(const char *op, const char *argument);

/** The code of the recorded error, or ADZ_OK. */
adz_status adzi_pending(void);

/**
 * The code of the recorded error, or ADZ_OK. Calls that change parameters and calls that save begin
 * with this and refuse to run while an error is recorded. The callback of adz_on_error then hears
 * that `op` was refused, and why. It may jump away, so nothing may be in the caller's hands yet.
 */
adz_status adzi_refused(const char *op);

/** The message of the recorded error for the library's own use: the program has not read it. */
const char *adzi_error_text(void);

/** ADZ_OK if `result` is not NULL, else the recorded code. If no error is recorded, ADZ_ERR_NULL is
 * recorded first. */
adz_status adzi_status(const void *result);

/* Note [Reports after cleaning up]
 * The callback of adz_on_error may end the process or jump away. A call that has made a temporary
 * file, opened a file or begun a module therefore holds reports back until it has cleaned up. Calls
 * may be nested; the outermost one reports. If several errors were recorded in between, the first
 * is reported: the others followed from it. */

/** Holds reports of errors back until the matching adzi_release_reports. */
void adzi_hold_reports(void);

/** Ends a hold. The outermost one calls the context's callback if an error was recorded. */
void adzi_release_reports(void);

/* A call that holds reports back may call the user's code, which reports its own errors at once. It
 * may also jump away, and no hold survives that. The call therefore pauses its holds meanwhile. */

/** Sets the number of holds to 0 and returns what it was, for adzi_resume_reports. */
unsigned adzi_pause_reports(void);
void adzi_resume_reports(unsigned holds);

/** Called when a variable of ADZI_HOLD_REPORTS ends. */
static inline void adzi_release_at_end(const char *unused)
{
    (void)unused;
    adzi_release_reports();
}

/** Holds reports back until the function returns. It stands before the function's first statement.
 */
#define ADZI_HOLD_REPORTS                                                           \
    __attribute__((cleanup(adzi_release_at_end), unused)) const char adzi_hold = 0; \
    adzi_hold_reports()

/** Gives "<op>: <message>" to the context's warning callback. If none is set, prints it on stderr,
 * each text once. */
void adzi_warn(const char *op, const char *format, ...) ADZI_FORMAT(2, 3);

/* Texts for messages, independent of the locale. A text is valid until the thread has asked for
 * ADZI_TEXTS (8) more. */
const char *adzi_text_sizes(int rank, const int64_t *sizes); /* "[4, 10, 512]" */
const char *adzi_text_number(double x);                      /* "0.5", up to 10 digits */
const char *adzi_text_exact(double x); /* the shortest text that reads back as x */

#endif
