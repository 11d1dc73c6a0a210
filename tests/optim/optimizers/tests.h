/* The groups of tests of test_optimizers. Each runs its tests and returns how many failed. */
#ifndef ADZE_TESTS_OPTIM_OPTIMIZERS_TESTS_H
#define ADZE_TESTS_OPTIM_OPTIMIZERS_TESTS_H

int blocks_tests(void);
int steps_tests(void);
int state_tests(void);
int restored_tests(void);
int special_tests(void);
int settings_tests(void);
int labml_tests(void); /* tests/zoo/labml_optimizers.c */
int flat_tests(void);
int matrices_tests(void);

#endif
