/* A transport inside one process: each rank is a thread, and messages lie in queues. */
#ifndef ADZE_TESTS_DISTRIBUTED_RANKS_H
#define ADZE_TESTS_DISTRIBUTED_RANKS_H

#include "../errors.h"
#include "adze/adze.h"

/** How the transport of a run behaves. */
typedef struct network {
    uint64_t delays;   /* seed of random pauses; 0 for none */
    size_t largest;    /* bytes of the largest message that it takes; 0 for any */
    int dies, dies_at; /* calls of rank `dies` fail after this many messages; 0 for never */
    bool silent;       /* a failing call records no error */
    bool loses;        /* messages may be left that no rank has received */
} network;

/** What one rank does. It runs on a thread of its own and must end its tensors. */
typedef void (*rank_function)(adz_group *group, void *user);

/** Runs `function` on `ranks` threads, each with its rank's group, and ends the groups. Failed
 * assertions of the ranks fail the test. */
void run_ranks(int ranks, const network *behaviour, rank_function function, void *user);

/** Like assert_true, for code on a rank's thread. */
#define check(condition) check_at((condition), #condition, __FILE__, __LINE__)
void check_at(bool condition, const char *text, const char *file, int line);

/** Takes the recorded error, which must have this code and contain this text. For ranks. */
#define check_error(code, part) check_error_at((code), (part), __FILE__, __LINE__)
void check_error_at(adz_status code, const char *part, const char *file, int line);

/** A number of its own for each rank and element, with many bits. */
double element(int rank, int64_t i);

/** A tensor of such numbers; the dtype's range is kept, and sums of integers do not overflow. */
adz_tensor *numbers_of(int rank, adz_shape shape, adz_dtype dtype);

extern const struct CMUnitTest collectives_tests[], agreement_tests[], faults_tests[],
    data_parallel_tests[], exchanges_tests[], groups_tests[], parallel_faults_tests[],
    parallel_models_tests[], shard_tests[], slices_tests[];
extern const size_t n_collectives_tests, n_agreement_tests, n_faults_tests, n_data_parallel_tests,
    n_exchanges_tests, n_groups_tests, n_parallel_faults_tests, n_parallel_models_tests,
    n_shard_tests, n_slices_tests;

#endif
