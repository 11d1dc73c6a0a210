/* The groups of tests of test_autograd. Each runs its tests and returns how many failed. */
#ifndef ADZE_TESTS_AUTOGRAD_AUTOGRAD_TESTS_H
#define ADZE_TESTS_AUTOGRAD_AUTOGRAD_TESTS_H

int again_tests(void);
int again_graphs_tests(void);
int graphs_tests(void);
int hooks_tests(void);
int inputs_tests(void);
int memory_tests(void);
int leaves_tests(void);

#endif
