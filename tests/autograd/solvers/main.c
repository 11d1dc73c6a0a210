/* Solvers as operators, adze/solvers.h. */
#include "autograd/solvers/solvers.h"

int solvers_open(void **state)
{
    *state = adz_scope_open();
    adz_manual_seed(1);
    return *state == NULL;
}

int solvers_close(void **state)
{
    return adz_scope_close(*state);
}

int main(void)
{
    return run_group("root values", root_values, N_ROOT_VALUES) +
           run_group("root gradients", root_gradients, N_ROOT_GRADIENTS) +
           run_group("higher", higher, N_HIGHER) +
           run_group("root refused", root_refused, N_ROOT_REFUSED) +
           run_group("ode values", ode_values, N_ODE_VALUES) +
           run_group("ode gradients", ode_gradients, N_ODE_GRADIENTS) +
           run_group("ode graph", ode_graph, N_ODE_GRAPH) +
           run_group("ode refused", ode_refused, N_ODE_REFUSED);
}
