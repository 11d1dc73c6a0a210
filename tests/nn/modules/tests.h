/* The groups of tests of test_modules. Each runs its tests and returns how many failed. */
#ifndef ADZE_TESTS_NN_MODULES_TESTS_H
#define ADZE_TESTS_NN_MODULES_TESTS_H

int all_tests(void);
int layers_tests(void);
int feed_forward_tests(void);
int zoo_tests(void);

#endif
