/* Loads a network, and computes it with its derivatives. */
#include "law.h"

/* The standardisers and the network compute with one dtype here, which is that of the file in C. */
static adz_tensor *value(adz_tensor *x, void *user)
{
    const law *l = user;
    adz_tensor *inputs = adz_module_forward(input_standardizer(&l->m), x);
    adz_tensor *y = adz_module_forward(network(&l->m), inputs);
    return adz_standardizer_inverse(target_standardizer(&l->m), y);
}

static adz_tensor *weighted(adz_tensor *x, void *user)
{
    const law *l = user;
    return adz_sum(adz_mul(value(x, user), l->u), ADZ_ALL_DIMS, false);
}

static adz_status run(adz_tensor **results, void *user)
{
    const law *l = user;
    results[0] = value(l->x, user);
    return adz_error_code();
}

static adz_status jacobian(adz_tensor **results, void *user)
{
    const law *l = user;
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    o.results = results;
    results[1] = adz_jacobian_rows(value, user, l->x, &o);
    return adz_error_code();
}

static adz_status jvp(adz_tensor **results, void *user)
{
    const law *l = user;
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    o.results = results;
    results[1] = adz_jvp(value, user, l->x, l->v, &o);
    return adz_error_code();
}

static adz_status vjp(adz_tensor **results, void *user)
{
    const law *l = user;
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    o.results = results;
    results[1] = adz_vjp(value, user, l->x, l->u, &o);
    return adz_error_code();
}

static adz_status hessian(adz_tensor **results, void *user)
{
    const law *l = user;
    if (jacobian(results, user) == ADZ_OK) {
        results[2] = adz_hessian(weighted, user, l->x, NULL);
    }
    return adz_error_code();
}

void list_functions(law_function *functions)
{
    const law_function all[LAW_FUNCTIONS] = {
        [LAW_RUN] = { "run", "the value", NO_VECTOR, 1, run, true },
        [LAW_JACOBIAN] = { "jacobian", "the value and the Jacobian", NO_VECTOR, 2, jacobian,
            false },
        [LAW_JVP] = { "jvp", "the value and the Jacobian times a direction", OF_INPUTS, 2, jvp,
            false },
        [LAW_VJP] = { "vjp", "the value and the gradient of the weighted sum of results",
            OF_RESULTS, 2, vjp, false },
        [LAW_HESSIAN] = { "hessian",
            "the value, the Jacobian and the Hessian of the weighted sum of results", OF_RESULTS, 3,
            hessian, false },
    };
    for (size_t i = 0; i < LAW_FUNCTIONS; ++i) {
        functions[i] = all[i];
    }
}

/* A file of another program may be a model, too, but says less about its network. */
static void check_origin(const char *path)
{
    adz_safetensors *file = adz_safetensors_load(path, NULL);
    if (adz_safetensors_get_metadata(file, "activation") == NULL) {
        fail("%s: ffn-regression has not saved this file, and networks of other programs cannot be "
             "rebuilt; the option --export-c of some of them writes C",
            path);
    }
    adz_safetensors_free(&file);
}

law load_law(const char *path, adz_dtype dtype)
{
    check_origin(path);
    law l = { .m = load_model(path, NULL), .n_out = 1 };
    l.n_in = (int64_t)l.m.n_features;
    adz_module_to(l.m.root, dtype);
    adz_module_eval(l.m.root);
    adz_scope *scope = adz_scope_open();
    l.x = adz_keep(adz_randn(ADZ_SHAPE(1, l.n_in), dtype));
    l.v = adz_keep(adz_randn(ADZ_SHAPE(1, l.n_in), dtype));
    l.u = adz_keep(adz_randn(ADZ_SHAPE(1, l.n_out), dtype));
    adz_scope_close(scope);
    return l;
}

void free_law(law *l)
{
    adz_release(&l->x);
    adz_release(&l->v);
    adz_release(&l->u);
    free_model(&l->m);
}

size_t function_inputs(const law *l, const law_function *f, adz_tensor **inputs)
{
    inputs[0] = l->x;
    inputs[1] = f->vector == OF_RESULTS ? l->u : l->v;
    return f->vector == NO_VECTOR ? 1 : 2;
}
