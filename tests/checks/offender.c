/* A library that does what adze must not; tests/checks/exports.py has to say so. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

int offender(int value);
void adz_offender(void);

void adz_offender(void)
{
}

int offender(int value)
{
    assert(value != 3);
    if (value == 1)
        exit(1);
    if (value == 2)
        abort();
    return printf("%d\n", value) + fprintf(stderr, "%f\n", strtod("1,5", NULL));
}
