/* Lengths of sequences, as the samples of recurrent networks give them. */
#ifndef ADZE_TESTS_OPS_RECURRENT_LENGTHS_H
#define ADZE_TESTS_OPS_RECURRENT_LENGTHS_H

#include "ops/facts.h"

/** The lengths in "241" are 2, 4 and 1. NULL for NULL. */
static inline adz_tensor *lengths_of(const char *text)
{
    int64_t lengths[8], n = 0;
    for (; text != NULL && text[n] != '\0' && n < 8; ++n) {
        lengths[n] = text[n] - '0';
    }
    return text != NULL ? adz_tensor_from(lengths, ADZ_SHAPE(n), ADZ_I64) : NULL;
}

#endif
