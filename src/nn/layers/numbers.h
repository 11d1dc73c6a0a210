/* Numbers of modules in their printed form. */
#ifndef ADZI_NN_LAYERS_NUMBERS_H
#define ADZI_NN_LAYERS_NUMBERS_H

#include <stdio.h>

#include "adze/tensor.h"

enum { ADZI_NUMBERS = ADZ_MAX_RANK * 24 }; /* bytes that a printed list takes at most */

/** Prints a list as Python does: 2 for one number, or (2,) as a `tuple`, and (2, 3) for several. -1
 * is printed as a number. */
static inline void adzi_print_numbers(char *text, adz_shape numbers, bool tuple)
{
    const bool parentheses = tuple || numbers.rank != 1;
    int n = snprintf(text, ADZI_NUMBERS, "%s", parentheses ? "(" : "");
    for (int i = 0; i < numbers.rank; ++i) {
        n += snprintf(text + n, (size_t)(ADZI_NUMBERS - n), "%s%lld", i > 0 ? ", " : "",
            (long long)numbers.sizes[i]);
    }
    snprintf(text + n, (size_t)(ADZI_NUMBERS - n), "%s",
        !parentheses        ? ""
        : numbers.rank == 1 ? ",)"
                            : ")");
}

#endif
