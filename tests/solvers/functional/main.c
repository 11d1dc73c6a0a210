/* The derivatives of functions, adze/functional.h. */
#include "solvers/functional/functional.h"

int main(void)
{
    return run_group("values", functional_values, N_FUNCTIONAL_VALUES) +
           run_group("graphs", functional_graphs, N_FUNCTIONAL_GRAPHS) +
           run_group("refused", functional_refused, N_FUNCTIONAL_REFUSED);
}
