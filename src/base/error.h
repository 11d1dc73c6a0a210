/* Recording errors: code, operator, message, per thread. */
#ifndef ADZI_BASE_ERROR_H
#define ADZI_BASE_ERROR_H

#include "adze/base.h"

#define ADZI_FORMAT(f, a) __attribute__((format(printf, f, a)))

/** Records an error as "<module path>: <op>: <message>" and returns its code. */
adz_status adzi_error(const char *op, adz_status code, const char *format, ...) ADZI_FORMAT(3, 4);

/** adzi_error for functions that return a pointer: always NULL. */
void *adzi_fail(const char *op, adz_status code, const char *format, ...) ADZI_FORMAT(3, 4);

/** ADZ_ERR_MEMORY, saying how much was asked for. Returns NULL. */
void *adzi_fail_memory(const char *op, size_t bytes);

/**
 * For an argument that is NULL: leaves a recorded error as it is (the NULL comes from it), else
 * records ADZ_ERR_NULL naming operator and argument. Returns the code.
 */
adz_status adzi_error_null(const char *op, const char *argument);
void *adzi_fail_null(const char *op, const char *argument);

/** The code of the recorded error, or ADZ_OK: what a caller refuses with while one is pending. */
adz_status adzi_pending(void);

/** ADZ_OK when `result` is not NULL, else the recorded code. */
adz_status adzi_status(const void *result);

void adzi_warn(const char *op, const char *format, ...) ADZI_FORMAT(2, 3);

/* Texts for messages, valid for the next few calls on this thread. Independent of the locale. */
const char *adzi_text_sizes(int rank, const int64_t *sizes); /* [4, 10, 512] */
const char *adzi_text_number(double x);                      /* 0.5, never 0,5 */
const char *adzi_text_exact(double x);                       /* the shortest that reads back as x */

#endif
