/* The groups of tests of test_schedules. Each runs its tests and returns how many failed. */
#ifndef ADZE_TESTS_OPTIM_SCHEDULES_TESTS_H
#define ADZE_TESTS_OPTIM_SCHEDULES_TESTS_H

int composed_tests(void);
int lines_tests(void);
int one_cycle_tests(void);
int plateau_tests(void);
int state_tests(void);
int refused_tests(void);

#endif
