/* The groups of tests of test_tokenizer. Each runs its tests and returns how many failed. */
#ifndef ADZE_TESTS_DATA_TOKENIZER_TESTS_H
#define ADZE_TESTS_DATA_TOKENIZER_TESTS_H

int words_tests(void);
int characters_tests(void);
int files_tests(void);
int rules_tests(void);
int types_tests(void);

#endif
