/* A network and its derivatives as functions that can be captured. */
#include "law.h"

#include <string.h>

#include "../../examples/shared/command_line.h"
#include "train.h"

enum { MOST_PASSES = 1024 };

/* ---- the network as a function of one vector ------------------------------------------------- */

/* A network of one row that goes in and one row that comes out is such a function by itself. */
static bool is_row(const port *p)
{
    return is_float(p) && p->shape.rank == 2 && p->shape.sizes[0] == 1;
}

static adz_tensor *joined(adz_tensor *const *tensors, const port *ports, size_t n)
{
    adz_tensor *rows[PORTS];
    size_t count = 0;
    if (n == 1 && is_row(ports)) {
        return tensors[0];
    }
    for (size_t i = 0; i < n; ++i) {
        if (is_float(&ports[i])) {
            rows[count++] = adz_reshape(tensors[i], ADZ_SHAPE(1, adz_tensor_numel(tensors[i])));
        }
    }
    return count == 1 ? rows[0] : adz_cat(rows, count, 1);
}

/* The parts of a vector that belong to the ports that are floats. */
static void split(adz_tensor *z, const port *ports, size_t n, adz_tensor **parts)
{
    int64_t at = 0;
    for (size_t i = 0; i < n; ++i) {
        if (is_float(&ports[i])) {
            const int64_t size = count_floats(&ports[i], 1);
            const bool all = size == adz_tensor_numel(z);
            adz_tensor *part = all ? z : adz_narrow(z, 1, at, size);
            parts[i] = all && is_row(&ports[i]) ? z : adz_reshape(part, ports[i].shape);
            at += size;
        }
    }
}

static adz_tensor *value(adz_tensor *z, void *user)
{
    const law *l = user;
    adz_tensor *inputs[PORTS], *outputs[PORTS];
    memcpy(inputs, l->inputs, sizeof inputs);
    split(z, l->n.inputs, l->n.n_inputs, inputs);
    l->n.call(&l->n, inputs, outputs);
    return joined(outputs, l->n.outputs, l->n.n_outputs);
}

static adz_tensor *weighted(adz_tensor *z, void *user)
{
    const law *l = user;
    return adz_sum(adz_mul(value(z, user), l->u), ADZ_ALL_DIMS, false);
}

static adz_tensor *point(const law *l)
{
    return joined(l->inputs, l->n.inputs, l->n.n_inputs);
}

/* ---- functions ------------------------------------------------------------------------------- */

static adz_status run(adz_tensor **results, void *user)
{
    const law *l = user;
    l->n.call(&l->n, l->inputs, results);
    return adz_error_code();
}

/* The results of the network from the vector of all of them. Returns where the derivatives go. */
static adz_tensor **set_results(adz_tensor **results, const law *l, adz_tensor *y)
{
    port ports[PORTS];
    const size_t n = function_ports(l, NULL, ports);
    split(y, ports, n, results);
    return results + n;
}

/* A derivative that is the same for every input, plus a zero that is computed from an input, since
 * a written function has no constant results. No number is smaller than itself, so that even an
 * infinite input gives 0. */
static adz_tensor *anchored(const law *l, adz_tensor *derivative)
{
    adz_tensor *z = adz_narrow(point(l), 1, 0, 1);
    adz_tensor *zero = adz_to(adz_lt(z, z), adz_tensor_dtype(z));
    return adz_add(derivative, adz_reshape(zero, ADZ_SHAPE(1)));
}

static adz_status jacobian(adz_tensor **results, void *user)
{
    const law *l = user;
    adz_tensor *y = NULL;
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    o.results = &y;
    adz_tensor *d = adz_jacobian_rows(value, user, point(l), &o);
    *set_results(results, l, y) = l->constant_jacobian ? anchored(l, d) : d;
    return adz_error_code();
}

static adz_status jvp(adz_tensor **results, void *user)
{
    const law *l = user;
    adz_tensor *y = NULL;
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    o.results = &y;
    adz_tensor *d = adz_jvp(value, user, point(l), l->v, &o);
    *set_results(results, l, y) = d;
    return adz_error_code();
}

static adz_status vjp(adz_tensor **results, void *user)
{
    const law *l = user;
    adz_tensor *y = NULL;
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    o.results = &y;
    adz_tensor *d = adz_vjp(value, user, point(l), l->u, &o);
    *set_results(results, l, y) = d;
    return adz_error_code();
}

static adz_status hessian(adz_tensor **results, void *user)
{
    const law *l = user;
    if (jacobian(results, user) == ADZ_OK) {
        adz_tensor *h = adz_hessian(weighted, user, point(l), NULL);
        results[function_ports(l, NULL, NULL) + 1] = l->constant_hessian ? anchored(l, h) : h;
    }
    return adz_error_code();
}

void list_functions(law_function *functions)
{
    const law_function all[LAW_FUNCTIONS] = {
        [LAW_RUN] = { "run", "the value", NO_VECTOR, { NULL }, run, true },
        [LAW_JACOBIAN] = { "jacobian", "the value and the Jacobian", NO_VECTOR, { "jacobian" },
            jacobian, false },
        [LAW_JVP] = { "jvp", "the value and the Jacobian times a direction", OF_INPUTS,
            { "derivative" }, jvp, false },
        [LAW_VJP] = { "vjp", "the value and the gradient of the weighted sum of results",
            OF_RESULTS, { "gradient" }, vjp, false },
        [LAW_HESSIAN] = { "hessian",
            "the value, the Jacobian and the Hessian of the weighted sum of results", OF_RESULTS,
            { "jacobian", "hessian" }, hessian, false },
        [LAW_STEP] = { "step", "a step of training, and gives the loss before it", TARGET,
            { "loss" }, train_step, false },
    };
    for (size_t i = 0; i < LAW_FUNCTIONS; ++i) {
        functions[i] = all[i];
    }
}

size_t function_inputs(const law *l, const law_function *f, adz_tensor **inputs)
{
    memcpy(inputs, l->inputs, l->n.n_inputs * sizeof *inputs);
    inputs[l->n.n_inputs] = f->vector == OF_RESULTS  ? l->u
                            : f->vector == OF_INPUTS ? l->v
                                                     : l->target;
    return l->n.n_inputs + (f->vector == NO_VECTOR ? 0 : 1);
}

size_t function_ports(const law *l, const law_function *f, port *ports)
{
    size_t n = 0;
    const bool step = f != NULL && f->vector == TARGET;
    for (size_t k = 0; k < l->n.n_outputs && !step; ++k) {
        if ((f != NULL && f->derivatives[0] == NULL) || is_float(&l->n.outputs[k])) {
            if (ports != NULL) {
                ports[n] = l->n.outputs[k];
            }
            ++n;
        }
    }
    return n;
}

size_t function_results(const law *l, const law_function *f)
{
    const size_t n = function_ports(l, f, NULL);
    return n + (f->derivatives[0] == NULL ? 0 : f->derivatives[1] == NULL ? 1 : 2);
}

/* ---- tensors --------------------------------------------------------------------------------- */

void make_inputs(law *l)
{
    l->n_in = count_floats(l->n.inputs, l->n.n_inputs);
    l->n_out = count_floats(l->n.outputs, l->n.n_outputs);
    adz_scope *scope = adz_scope_open();
    adz_dtype dtype = ADZ_F32;
    for (size_t i = 0; i < l->n.n_inputs; ++i) {
        const port *p = &l->n.inputs[i];
        dtype = is_float(p) ? p->dtype : dtype;
        l->inputs[i] = adz_keep(adz_zeros(p->shape, p->dtype));
    }
    l->v = adz_keep(adz_zeros(ADZ_SHAPE(1, l->n_in), dtype));
    l->u = adz_keep(adz_zeros(ADZ_SHAPE(1, l->n_out), dtype));
    adz_scope_close(scope);
    draw_inputs(l);
}

void draw_inputs(law *l)
{
    adz_scope *scope = adz_scope_open();
    for (size_t i = 0; i < l->n.n_inputs; ++i) {
        adz_tensor *x = l->inputs[i];
        adz_tensor *drawn = adz_randn(adz_tensor_shape(x), adz_tensor_dtype(l->v));
        adz_copy_(x, is_float(&l->n.inputs[i])
                         ? drawn
                         : adz_to(adz_gt(drawn, adz_zeros_like(drawn)), adz_tensor_dtype(x)));
    }
    adz_copy_(l->u, adz_randn_like(l->u));
    adz_copy_(l->v, adz_randn_like(l->v));
    if (l->target != NULL) {
        draw_target(l);
    }
    adz_scope_close(scope);
}

/* A Jacobian is computed in passes whose code is in the file, so that there can be too many. */
static void check_size(const law *l, const law_function *functions)
{
    const bool hessian = functions[LAW_HESSIAN].wanted;
    const int64_t passes = hessian || l->n_in < l->n_out ? l->n_in : l->n_out;
    if ((hessian || functions[LAW_JACOBIAN].wanted) && passes > MOST_PASSES) {
        fail("--%s: %s has %lld inputs and %lld results, counted by elements, and this takes %lld "
             "passes where at most %d are written; --jvp and --vjp take one",
            functions[hessian ? LAW_HESSIAN : LAW_JACOBIAN].name, l->n.path, (long long)l->n_in,
            (long long)l->n_out, (long long)passes, MOST_PASSES);
    }
}

law load_law(const char *path, const reading_options *o, const law_function *functions)
{
    law l = { .n = load_network(path, o) };
    make_inputs(&l);
    for (int i = LAW_RUN + 1; i < LAW_STEP; ++i) {
        if (functions[i].wanted && (l.n_in == 0 || l.n_out == 0)) {
            fail("%s: --%s: the network has no floats among its %s, so that it has no derivatives",
                path, functions[i].name, l.n_in == 0 ? "inputs" : "results");
        }
    }
    check_size(&l, functions);
    return l;
}

void free_law(law *l)
{
    for (size_t i = 0; i < l->n.n_inputs; ++i) {
        adz_release(&l->inputs[i]);
    }
    adz_optimizer_release(&l->optimizer);
    adz_release(&l->target);
    adz_release(&l->v);
    adz_release(&l->u);
    free_network(&l->n);
}
