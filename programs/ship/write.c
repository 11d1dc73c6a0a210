/* Writes the functions of a law as a file in C. */
#include <string.h>

#include "../../examples/shared/program.h"
#include "law.h"

/* Names of inputs and results in the header. False if two are the same: the header counts then. */
static bool name_all(const law *l, const law_function *f, const char **inputs, const char **results)
{
    static port ports[PORTS];
    const size_t n = function_ports(l, f, ports), n_inputs = l->n.n_inputs;
    const char *all[LAW_INPUTS + LAW_RESULTS];
    size_t count = 0;
    for (size_t i = 0; i < n_inputs; ++i) {
        inputs[i] = l->n.inputs[i].name;
        all[count++] = inputs[i];
    }
    if (f->vector != NO_VECTOR) {
        inputs[n_inputs] = f->vector == OF_RESULTS  ? "weights"
                           : f->vector == OF_INPUTS ? "direction"
                                                    : "target";
        all[count++] = inputs[n_inputs];
    }
    for (size_t k = 0; k < function_results(l, f); ++k) {
        results[k] = k < n ? ports[k].name : f->derivatives[k - n];
        all[count++] = results[k];
    }
    for (size_t i = 0; i < count; ++i) {
        for (size_t k = 0; k < i; ++k) {
            if (strcmp(all[i], all[k]) == 0) {
                return false;
            }
        }
    }
    return true;
}

static adz_plan *new_plan(law *l, const law_function *f)
{
    adz_tensor *inputs[LAW_INPUTS];
    const char *input_names[LAW_INPUTS], *result_names[LAW_RESULTS];
    adz_plan_options p = ADZ_PLAN_OPTIONS;
    p.inputs = adz_tensor_list_of(inputs, function_inputs(l, f, inputs));
    p.module = l->n.root;
    p.restore = f->vector == TARGET;
    if (name_all(l, f, input_names, result_names)) {
        p.input_names = input_names;
        p.result_names = function_results(l, f) > 1 ? result_names : NULL;
    }
    return adz_plan_new_many(f->compute, l, function_results(l, f), &p);
}

static adz_status write_once(
    law *l, const law_function *functions, const char *path, const adz_c_options *o)
{
    adz_plan *plans[LAW_FUNCTIONS];
    const char *names[LAW_FUNCTIONS];
    size_t n = 0;
    for (const law_function *f = functions; f < functions + LAW_FUNCTIONS; ++f) {
        if (f->wanted) {
            plans[n] = new_plan(l, f);
            names[n++] = f->name;
        }
    }
    const adz_status status = adz_plan_write_c_many(plans, names, n, path, o);
    for (size_t i = 0; i < n; ++i) {
        adz_plan_free(&plans[i]);
    }
    return status;
}

/* The writer says which derivative is constant only by refusing it. A Hessian is constant for every
 * network with ReLU, and a Jacobian for a linear one. It also refuses functions that need the
 * mathematical library, which is asked for last. The last try reports the error. */
void write_law(law *l, const law_function *functions, const char *path, adz_c_options *o)
{
    const bool hessian = functions[LAW_HESSIAN].wanted;
    const int kinds = hessian || functions[LAW_JACOBIAN].wanted ? 3 : 1;
    adz_status status = ADZ_ERR_UNSUPPORTED;
    for (int try = 0; try < 2 * kinds && status == ADZ_ERR_UNSUPPORTED; ++try) {
        const bool last = try == 2 * kinds - 1;
        l->constant_hessian = try % kinds > 0 && hessian;
        l->constant_jacobian = try % kinds > 1;
        o->libm = try >= kinds;
        if (!last) {
            adz_on_error(adz_quiet, NULL);
        }
        status = write_once(l, functions, path, o);
        adz_error_clear();
        report_errors();
        if (!last && status != ADZ_OK && status != ADZ_ERR_UNSUPPORTED) {
            write_once(l, functions, path, o); /* which ends the program with its message */
        }
    }
}
