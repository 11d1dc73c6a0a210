/* Groups and collectives, over a transport inside one process. */
#include "ranks.h"

#include "../groups.h"

int main(void)
{
    adz_set_num_threads(1); /* the ranks are threads already, and would wait for each other's */
    return run_group("groups", groups_tests, n_groups_tests) +
           run_group("collectives", collectives_tests, n_collectives_tests) +
           run_group("agreement", agreement_tests, n_agreement_tests) +
           run_group("exchanges", exchanges_tests, n_exchanges_tests) +
           run_group("faults", faults_tests, n_faults_tests) +
           run_group("data_parallel", data_parallel_tests, n_data_parallel_tests) +
           run_group("parallel faults", parallel_faults_tests, n_parallel_faults_tests) +
           run_group("parallel models", parallel_models_tests, n_parallel_models_tests) +
           run_group("slices", slices_tests, n_slices_tests) +
           run_group("shard", shard_tests, n_shard_tests);
}
