/* Systems of nonlinear equations of J. J. Moré, B. S. Garbow and K. E. Hillstrom, "Testing
 * Unconstrained Optimization Software", ACM Transactions on Mathematical Software 7 (1981), with
 * the sizes and the starts of MINPACK's test of its hybrid method: the standard starts times 1, 10
 * and 100. */
#ifndef ADZE_TESTS_ROOT_SYSTEMS_H
#define ADZE_TESTS_ROOT_SYSTEMS_H

#include "solvers/equations/solvers.h"

enum { N_SYSTEMS = 22, MOST_UNKNOWNS = 40 };

typedef struct root_system {
    const char *name;
    adz_tensor_map function;
    int n;
    void (*start)(double *x, int n);
    double root[4]; /* the first unknowns of the only root, where it is known */
    int known;      /* how many of them are given; 0 if the root is not known or not the only one */
} root_system;

extern const root_system root_systems[N_SYSTEMS];

#endif
