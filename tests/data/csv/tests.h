/* The groups of tests of test_csv. Each runs its tests and returns how many failed. */
#ifndef ADZE_TESTS_DATA_CSV_TESTS_H
#define ADZE_TESTS_DATA_CSV_TESTS_H

int tables_tests(void);
int numbers_tests(void);
int errors_tests(void);
int dialects_tests(void);

#endif
