/* The groups of tests of test_jumps. Each runs its tests and returns how many failed. */
#ifndef ADZE_TESTS_AUTOGRAD_JUMPS_TESTS_H
#define ADZE_TESTS_AUTOGRAD_JUMPS_TESTS_H

int modules_tests(void);
int backward_tests(void);
int callbacks_tests(void);

#endif
