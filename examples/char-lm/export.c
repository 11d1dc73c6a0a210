#include "export.h"

/* What the exported function computes on. */
typedef struct {
    adz_module *network;
    adz_tensor *ids; /* [1, T] */
} window;

/* scores[V] of the token after the window. */
static adz_tensor *next_token(void *user)
{
    const window *w = user;
    adz_values *results = adz_values_new();
    adz_tensor *scores = NULL;
    ADZ_NO_GRAD
    {
        scores = run_network(w->network, w->ids, results);
        scores = adz_select(adz_select(scores, 0, 0), 0, -1);
    }
    adz_values_free(&results);
    return scores;
}

void export_c(const options *o, adz_module *network)
{
    adz_scope *scope = adz_scope_open();
    window w = { network, adz_zeros(ADZ_SHAPE(1, o->context), ADZ_I64) };
    adz_plan_options options = ADZ_PLAN_OPTIONS;
    options.inputs = adz_tensor_list_of(&w.ids, 1);
    options.input_names = (const char *const[]){ "numbers of tokens" };
    options.module = network;
    adz_module_eval(network);
    adz_module_reset(network);
    adz_plan *plan = adz_plan_new(next_token, &w, &options);
    adz_module_reset(network);
    adz_plan_write_c(plan, o->export_c, NULL);
    adz_plan_free(&plan);
    adz_scope_close(scope);
}
