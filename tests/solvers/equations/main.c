/* Solvers as operators, adze/solvers.h. */
#include "solvers/equations/solvers.h"
#include "base/alloc.h"

static int64_t before; /* living tensors when a test begins */

int solvers_open(void **state)
{
    before = adzi_live_tensors();
    *state = adz_scope_open();
    adz_manual_seed(1);
    return *state == NULL;
}

int solvers_close(void **state)
{
    const bool closed = adz_scope_close(*state) == ADZ_OK;
    const int left = (int)(adzi_live_tensors() - before);
    if (left != 0) {
        print_error("%d tensors are left\n", left);
    }
    return !closed || left != 0;
}

jmp_buf out_of_function;
bool solvers_armed;

static adz_tensor *jump(adz_tensor *grad, void *user)
{
    (void)grad;
    (void)user;
    longjmp(out_of_function, 1);
}

void jump_from_gradient(adz_tensor *t)
{
    if (solvers_armed) {
        adz_register_hook(t, jump, NULL);
    }
}

int main(void)
{
    return run_group("root values", root_values, N_ROOT_VALUES) +
           run_group("root gradients", root_gradients, N_ROOT_GRADIENTS) +
           run_group("higher", higher, N_HIGHER) +
           run_group("root refused", root_refused, N_ROOT_REFUSED) +
           run_group("root ends", root_ends, N_ROOT_ENDS) +
           run_group("root plans", root_plans, N_ROOT_PLANS) +
           run_group("root set", root_set, N_ROOT_SET) +
           run_group("ode values", ode_values, N_ODE_VALUES) +
           run_group("ode gradients", ode_gradients, N_ODE_GRADIENTS) +
           run_group("ode graph", ode_graph, N_ODE_GRAPH) +
           run_group("ode refused", ode_refused, N_ODE_REFUSED) +
           run_group("ode ends", ode_ends, N_ODE_ENDS) +
           run_group("ode events", ode_events, N_ODE_EVENTS) +
           run_group("ode fixed events", ode_fixed_events, N_ODE_FIXED_EVENTS) +
           run_group("ode hits", ode_hits, N_ODE_HITS) + run_group("ode bdf", ode_bdf, N_ODE_BDF) +
           run_group("forward", forward, N_FORWARD) +
           run_group("forward hits", forward_hits, N_FORWARD_HITS) +
           run_group("ode backwards", ode_backwards, N_ODE_BACKWARDS) +
           run_group("ode plans", ode_plans, N_ODE_PLANS) +
           run_group("ode adaptive plans", ode_adaptive_plans, N_ODE_ADAPTIVE_PLANS) +
           run_group("ode adaptive gradients", ode_adaptive_gradients, N_ODE_ADAPTIVE_GRADIENTS);
}
