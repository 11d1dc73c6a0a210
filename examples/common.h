/* What the example programs share. */
#ifndef ADZE_EXAMPLES_COMMON_H
#define ADZE_EXAMPLES_COMMON_H

#include <stdio.h>
#include <stdlib.h>

#include <adze/adze.h>

/* For adz_on_error: with it, a program need not look at a single return value. */
static inline void die(adz_status status, const char *message, void *user)
{
    (void)user;
    fprintf(stderr, "%s (%s)\n", message, adz_status_name(status));
    exit(1);
}

#endif
