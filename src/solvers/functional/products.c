/* Products of vectors with Jacobians and Hessians. */
#include "solvers/functional/functional.h"

static adz_tensor *given(const adzi_functional *f, size_t k)
{
    return f->vectors == NULL ? ADZ_NONE : f->vectors[k];
}

/* A vector for each y. ADZ_NONE stands for 1 where y has one element. */
static bool take_vectors(const adzi_functional *f, adz_tensor **vectors)
{
    for (size_t k = 0; k < f->n_y; ++k) {
        const adz_tensor *y = f->y[k];
        vectors[k] = given(f, k);
        if (!adzi_is_none(vectors[k])) {
            if (!adzi_functional_fits(f, vectors[k], y, "result", k)) {
                return false;
            }
            continue;
        }
        if (y->numel != 1) {
            adzi_error(f->op, ADZ_ERR_SHAPE,
                "result %zu is %s, so its vector cannot be left out; only that of one element can",
                k, adzi_text_shape(y));
            return false;
        }
        vectors[k] = adz_full(adz_tensor_shape(y), 1, (adz_dtype)y->dtype);
        if (vectors[k] == NULL) {
            return false;
        }
    }
    return true;
}

/* A direction for each x. */
static bool take_directions(const adzi_functional *f, adz_tensor **vectors)
{
    for (size_t i = 0; i < f->n; ++i) {
        vectors[i] = given(f, i);
        if (!adzi_is_none(vectors[i]) &&
            !adzi_functional_fits(f, vectors[i], f->inputs[i], "input", i)) {
            return false;
        }
    }
    return true;
}

static bool vjp_of_given(adzi_functional *f)
{
    adz_tensor *vectors[ADZ_FUNCTION_RESULTS];
    f->n_found = f->n;
    return take_vectors(f, vectors) && adzi_functional_vjp(f, vectors, f->found);
}

static bool jvp_of_given(adzi_functional *f)
{
    adz_tensor *vectors[ADZ_FUNCTION_INPUTS];
    f->n_found = f->n_y;
    return take_directions(f, vectors) && adzi_functional_prepare_jvp(f) &&
           adzi_functional_jvp(f, vectors, f->found);
}

/* The Hessian is symmetric, so its product with a vector is a vjp of the gradient. */
static bool vjp_of_gradient(adzi_functional *f)
{
    adz_tensor *vectors[ADZ_FUNCTION_INPUTS];
    f->n_found = f->n;
    return take_directions(f, vectors) && adzi_functional_vjp(f, vectors, f->found);
}

adz_status adz_vjp_many(const adz_tensor_function *function, adz_tensor *const *inputs, size_t n,
    adz_tensor *const *vectors, size_t n_results, const adz_functional_options *options,
    adz_tensor **gradients)
{
    adzi_functional f = { .op = "adz_vjp_many",
        .function = function,
        .inputs = inputs,
        .n = n,
        .n_results = n_results,
        .vectors = vectors };
    return adzi_functional_run(&f, options, vjp_of_given, gradients);
}

adz_status adz_jvp_many(const adz_tensor_function *function, adz_tensor *const *inputs, size_t n,
    adz_tensor *const *vectors, size_t n_results, const adz_functional_options *options,
    adz_tensor **derivatives)
{
    adzi_functional f = { .op = "adz_jvp_many",
        .function = function,
        .inputs = inputs,
        .n = n,
        .n_results = n_results,
        .vectors = vectors };
    if (vectors == NULL) {
        return adzi_error_null(f.op, "vectors");
    }
    return adzi_functional_run(&f, options, jvp_of_given, derivatives);
}

adz_status adz_hvp_many(const adz_tensor_function *function, adz_tensor *const *inputs, size_t n,
    adz_tensor *const *vectors, const adz_functional_options *options, adz_tensor **products)
{
    adzi_functional f = { .op = "adz_hvp_many",
        .function = function,
        .inputs = inputs,
        .n = n,
        .n_results = 1,
        .vectors = vectors,
        .second = true };
    if (vectors == NULL) {
        return adzi_error_null(f.op, "vectors");
    }
    return adzi_functional_run(&f, options, vjp_of_gradient, products);
}

/* One of the three for a function of one tensor. f has the name, the vector and, for hvp, `second`;
 * `work` says which. */
static adz_tensor *run_single(adzi_functional *f, adz_tensor *x, adzi_single *single,
    const adz_functional_options *options, bool (*work)(adzi_functional *))
{
    const adz_tensor_function function = { adzi_single_call, single };
    adz_tensor *found = NULL;
    f->function = &function;
    f->inputs = &x;
    f->n = f->n_results = 1;
    return adzi_single_check(f->op, single->function) &&
                   adzi_functional_run(f, options, work, &found) == ADZ_OK
               ? found
               : NULL;
}

adz_tensor *adz_vjp(adz_tensor_map function, void *user, adz_tensor *x, adz_tensor *v,
    const adz_functional_options *options)
{
    adzi_functional f = { .op = "adz_vjp", .vectors = &v };
    return run_single(&f, x, &(adzi_single){ function, user }, options, vjp_of_given);
}

adz_tensor *adz_jvp(adz_tensor_map function, void *user, adz_tensor *x, adz_tensor *v,
    const adz_functional_options *options)
{
    adzi_functional f = { .op = "adz_jvp", .vectors = &v };
    return run_single(&f, x, &(adzi_single){ function, user }, options, jvp_of_given);
}

adz_tensor *adz_hvp(adz_tensor_map function, void *user, adz_tensor *x, adz_tensor *v,
    const adz_functional_options *options)
{
    adzi_functional f = { .op = "adz_hvp", .vectors = &v, .second = true };
    return run_single(&f, x, &(adzi_single){ function, user }, options, vjp_of_gradient);
}
