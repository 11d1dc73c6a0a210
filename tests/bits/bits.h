/* The rows of the table of hashes. Each row is a group of small trainings, and its hash is of all
 * results and of all weights after the last step. */
#ifndef ADZE_TESTS_BITS_BITS_H
#define ADZE_TESTS_BITS_BITS_H

#include "hash.h"

/** Called for each row: computes its hash in a dtype, f32 or f64. */
typedef void (*row_function)(hash *h, adz_dtype dtype, const void *user);

/** Adds a row. Does nothing if the command line names other rows. */
void row(const char *group, const char *name, row_function run, const void *user);

/** Notes that a type of a module, an optimizer, a scheduler or an operator is part of a row. With
 * --covered the program prints each of them once. */
void covered(const char *kind, const char *name);

/** Notes the types of a module and of its children. */
void note_types(adz_module *module);

/** Ends the program with the recorded error unless `good`. */
void must(bool good, const char *what);

/** Adds the rows of the operators, one for each family, of the modules, of
 * the optimizers, of networks, and of arithmetic. */
void operator_rows(void);
void module_rows(void);
void optimizer_rows(void);
void network_rows(void);
void arithmetic_rows(void);

#endif
