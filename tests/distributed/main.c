/* Groups and collectives, over a transport inside one process. */
#include "ranks.h"

#include "../groups.h"

int main(void)
{
    return run_group("groups", groups_tests, n_groups_tests) +
           run_group("collectives", collectives_tests, n_collectives_tests) +
           run_group("agreement", agreement_tests, n_agreement_tests) +
           run_group("exchanges", exchanges_tests, n_exchanges_tests) +
           run_group("faults", faults_tests, n_faults_tests);
}
