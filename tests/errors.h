/* What tests ask of a recorded error. */
#ifndef ADZE_TESTS_ERRORS_H
#define ADZE_TESTS_ERRORS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "adze/base.h"

/** Takes the recorded error, which must have this code and contain this text. */
static inline void expect_error(adz_status code, const char *part)
{
    char message[4096];
    adz_status taken = adz_error_take(message, sizeof message);
    if (taken != code || strstr(message, part) == NULL) {
        fail_msg("%s \"%s\" instead of %s \"%s\"", adz_status_name(taken), message,
            adz_status_name(code), part);
    }
}

/** Takes the error of a call that failed, as it must, because one of its arguments is NULL. */
static inline void expect_null(bool failed, const char *function, const char *argument)
{
    char says[160];
    snprintf(says, sizeof says, "%s: %s is NULL", function, argument);
    if (!failed) {
        fail_msg("no failure; expected \"%s\"", says);
    }
    expect_error(ADZ_ERR_NULL, says);
}

#endif
