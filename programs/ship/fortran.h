/* A Fortran module for a file in C. */
#ifndef SHIP_FORTRAN_H
#define SHIP_FORTRAN_H

#include "law.h"

/* Writes interfaces of the wanted functions of the file with this prefix. */
void write_fortran(
    const char *path, const char *name, law *l, const law_function *functions, bool state);

#endif
