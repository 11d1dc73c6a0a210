/* The groups of tests of test_optim. Each runs its tests and returns how many failed. */
#ifndef ADZE_TESTS_OPTIM_OPTIM_TESTS_H
#define ADZE_TESTS_OPTIM_OPTIM_TESTS_H

int sgd_tests(void);
int clip_tests(void);
int training_tests(void);
int warning_tests(void);

#endif
