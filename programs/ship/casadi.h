/* The functions that casadi.external looks for, around a file in C. */
#ifndef SHIP_CASADI_H
#define SHIP_CASADI_H

#include "law.h"

/* Ends the program if CasADi cannot have the network: it knows real numbers alone. */
void check_for_casadi(const law *l);

/* Writes a file that includes `c_name`, a file of doubles whose caller holds the state and which
 * has all functions that `functions` wants. casadi.external finds in it the function `name` and its
 * derivatives jac_, fwd1_, adj1_ and jac_adj1_ as far as they are wanted. Each input and result is
 * a column there, in row-major order of its elements. */
void write_casadi(const char *path, const char *c_name, const char *name, const law *l,
    const law_function *functions);

#endif
