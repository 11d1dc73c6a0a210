/* The groups of tests of test_data. Each runs its tests and returns how many failed. */
#ifndef ADZE_TESTS_DATA_DATA_TESTS_H
#define ADZE_TESTS_DATA_DATA_TESTS_H

int datasets_tests(void);
int loaders_tests(void);
int metrics_tests(void);
int ranks_tests(void);
int standardizer_tests(void);

#endif
