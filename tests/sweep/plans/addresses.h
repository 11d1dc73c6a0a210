/* Whether the tables of addresses (src/base/threads/addresses.h) name every address that a launch
 * has.
 *
 * While a plan captures, each launch is looked at: a word that no table names must not lie in
 * memory of the library. A number may do so by chance, but its bits would have to be those of an
 * address in use, some one in 2^40. */
#ifndef ADZE_TESTS_SWEEP_ADDRESSES_H
#define ADZE_TESTS_SWEEP_ADDRESSES_H

#include <stddef.h>

/* Makes the memory of the library known. Call it before anything is made. `complain` is called with
 * what is wrong. */
void addresses_begin(void (*complain)(const char *what));

/* Looks at the launches that follow in the captured function that calls it. Does nothing if no plan
 * captures. */
void addresses_look(void);

/* The number of tables whose launches were looked at. */
size_t addresses_tables(void);

#endif
