/* The groups of tests of test_safetensors. Each runs its tests and returns how many failed. */
#ifndef ADZE_TESTS_IO_SAFETENSORS_TESTS_H
#define ADZE_TESTS_IO_SAFETENSORS_TESTS_H

int round_trip_tests(void);
int hostile_tests(void);
int collection_tests(void);
int system_tests(void);
int mapping_tests(void);
int refused_json_tests(void);
int unread_tests(void);

#endif
