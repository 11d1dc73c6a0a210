/* The groups of tests of test_checkpoint. Each runs its tests and returns how many failed. */
#ifndef ADZE_TESTS_IO_CHECKPOINT_TESTS_H
#define ADZE_TESTS_IO_CHECKPOINT_TESTS_H

int resume_tests(void);
int mismatch_tests(void);
int weights_tests(void);
int refused_tests(void);
int memory_tests(void);

#endif
