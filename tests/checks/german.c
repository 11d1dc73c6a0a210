/* Puts a program into the locale of its environment before main: nothing in adze may notice.
 * gnuplot, which the examples start, does: it reads its own numbers by the locale and hangs. */
#define _GNU_SOURCE
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

__attribute__((constructor)) static void adopt_locale(void)
{
    if (strcmp(program_invocation_short_name, "gnuplot") == 0) {
        return;
    }
    if (setlocale(LC_ALL, "") == NULL)
        fputs("the locale of the environment is not installed\n", stderr);
}
