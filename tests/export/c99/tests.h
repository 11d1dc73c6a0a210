/* The groups of tests of test_c99. Each runs its tests and returns how many failed. */
#ifndef ADZE_TESTS_EXPORT_C99_TESTS_H
#define ADZE_TESTS_EXPORT_C99_TESTS_H

int operators_tests(void);
int networks_tests(void);
int modules_tests(void);
int convolution_tests(void);
int product_tests(void);
int training_tests(void);
int gradients_tests(void);
int files_tests(void);
int steps_tests(void);

/* Those of test_c99_values. */
int chain_tests(void);
int special_tests(void);
int integer_tests(void);
int edge_tests(void);

#endif
