/* Puts a program into the locale of its environment before main: nothing in adze may notice. */
#include <locale.h>
#include <stdio.h>

__attribute__((constructor)) static void adopt_locale(void)
{
    if (setlocale(LC_ALL, "") == NULL)
        fputs("the locale of the environment is not installed\n", stderr);
}
