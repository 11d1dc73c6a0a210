/* ship's files of a law with two results, whose Jacobians have to be transposed for CasADi. */
#include <adze/adze.h>

#include "../../examples/ship/casadi.h"
#include "../../examples/ship/check.h"
#include "../../examples/ship/law.h"

enum { IN = 3, HIDDEN = 5, OUT = 2, ROWS = 9 };

const char program_name[] = "test_ship";

static adz_module *fitted(int64_t n)
{
    adz_module *scale = adz_standardizer_new(n, ADZ_F64);
    adz_standardizer_fit(scale, adz_randn(ADZ_SHAPE(ROWS, n), ADZ_F64));
    return scale;
}

static law new_law(void)
{
    law l = { .n_in = IN, .n_out = OUT };
    adz_module *net = ADZ_SEQUENTIAL(
        adz_linear_new(IN, HIDDEN, NULL), adz_tanh_new(), adz_linear_new(HIDDEN, OUT, NULL));
    l.m.root = ADZ_SEQUENTIAL(fitted(IN), net, fitted(OUT));
    adz_module_to(l.m.root, ADZ_F64);
    adz_module_eval(l.m.root);
    l.x = adz_keep(adz_randn(ADZ_SHAPE(1, IN), ADZ_F64));
    l.v = adz_keep(adz_randn(ADZ_SHAPE(1, IN), ADZ_F64));
    l.u = adz_keep(adz_randn(ADZ_SHAPE(1, OUT), ADZ_F64));
    return l;
}

int main(void)
{
    adz_on_error(adz_die, NULL);
    adz_manual_seed(3);
    law l = new_law();
    law_function functions[LAW_FUNCTIONS];
    adz_plan *plans[LAW_FUNCTIONS];
    const char *names[LAW_FUNCTIONS];
    list_functions(functions);
    for (size_t i = 0; i < LAW_FUNCTIONS; ++i) {
        adz_tensor *inputs[2];
        adz_plan_options o = ADZ_PLAN_OPTIONS;
        o.inputs = adz_tensor_list_of(inputs, function_inputs(&l, &functions[i], inputs));
        o.module = l.m.root;
        plans[i] = adz_plan_new_many(functions[i].compute, &l, functions[i].n_results, &o);
        names[i] = functions[i].name;
        functions[i].wanted = true;
    }
    adz_c_options c = ADZ_C_OPTIONS;
    c.precision = ADZ_F64;
    c.state = ADZ_C_STATE_CALLER;
    adz_plan_write_c_many(plans, names, LAW_FUNCTIONS, "two.c", &c);
    write_casadi("two_casadi.c", "two.c", "two", &l, functions);
    const check k = { ".", "two_casadi.c", "two", "cc", true, true };
    compare_with_library(&k, &l, functions);
    for (size_t i = 0; i < LAW_FUNCTIONS; ++i) {
        adz_plan_free(&plans[i]);
    }
    free_law(&l);
    return 0;
}
