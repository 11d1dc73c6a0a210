/* The groups of tests of test_module. Each runs its tests and returns how many failed. */
#ifndef ADZE_TESTS_NN_MODULE_TESTS_H
#define ADZE_TESTS_NN_MODULE_TESTS_H

int structure_tests(void);
int calls_tests(void);
int state_tests(void);
int refused_tests(void);
int listings_tests(void);
int arguments_tests(void);
int loading_tests(void);
int ownership_tests(void);

#endif
