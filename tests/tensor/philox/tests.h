/* The groups of tests of test_philox. Each runs its tests and returns how many failed. */
#ifndef ADZE_TESTS_TENSOR_PHILOX_TESTS_H
#define ADZE_TESTS_TENSOR_PHILOX_TESTS_H

int draws_tests(void);
int distributions_tests(void);
int dropout_tests(void);
int orders_tests(void);

#endif
