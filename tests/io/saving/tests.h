/* The groups of tests of test_saving. Each runs its tests and returns how many failed. */
#ifndef ADZE_TESTS_IO_SAVING_TESTS_H
#define ADZE_TESTS_IO_SAVING_TESTS_H

int order_tests(void);
int leftovers_tests(void);
int parts_tests(void);

#endif
