/* The groups of tests of test_npy. Each runs its tests and returns how many failed. */
#ifndef ADZE_TESTS_IO_NPY_TESTS_H
#define ADZE_TESTS_IO_NPY_TESTS_H

int dtypes_tests(void);
int files_tests(void);

#endif
