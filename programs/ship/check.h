/* Comparing a file in C with the library. */
#ifndef SHIP_CHECK_H
#define SHIP_CHECK_H

#include "law.h"

/* Which file is compared, and how it is compiled. */
typedef struct check {
    const char *folder;   /* of the files in C */
    const char *c_name;   /* in that folder: the file with the functions, or that for CasADi */
    const char *name;     /* prefix of the functions */
    const char *compiler; /* a command */
    bool state;           /* the functions get a state */
    bool casadi;          /* the functions of CasADi are compared, too */
} check;

/* Compiles the file, calls each wanted function with random inputs and compares the results with
 * the library's. Prints the largest difference. Ends the program if one is too large. */
void compare_with_library(const check *c, law *l, const law_function *functions);

/* A function of a file that was compiled. Ends the program if it is missing. `format` has one %s,
 * for the name. */
void *function_of(void *library, const char *format, const char *name);

/* The largest difference between the elements of a tensor and `ours`, over the tensor's largest
 * element; INFINITY if two elements differ of which one is not finite. */
double difference(adz_tensor *wanted, const void *ours);

/* Compares the function of CasADi that belongs to function i of the law: check_casadi.c. */
double compare_casadi(void *library, const char *name, law *l, int i, adz_tensor *const *wanted);

#endif
