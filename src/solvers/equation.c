/* Calls of the function that is solved, and the leaves behind its result. */
#include "solvers/equation.h"

#include <string.h>

#include "autograd/engine.h"
#include "base/alloc.h"

bool adzi_equation_take(
    adzi_equation *e, const adz_tensor_function *function, adz_tensor *const *arguments, size_t n)
{
    if (function == NULL || function->call == NULL) {
        adzi_error_null(e->op, "function");
        return false;
    }
    if (n > ADZ_SOLVER_ARGUMENTS) {
        adzi_error(e->op, ADZ_ERR_ARGUMENT, "%zu arguments; at most %d are possible", n,
            ADZ_SOLVER_ARGUMENTS);
        return false;
    }
    if (arguments == NULL && n > 0) {
        adzi_error_null(e->op, "arguments");
        return false;
    }
    e->function = *function;
    e->n = n;
    for (size_t i = 0; i < n; ++i) {
        if (!adzi_check_tensor(e->op, "an argument", arguments[i])) {
            return false;
        }
        if (adzi_is_none(arguments[i])) {
            adzi_error(e->op, ADZ_ERR_ARGUMENT, "argument %zu is ADZ_NONE; leave it out", i);
            return false;
        }
        e->arguments[i] = arguments[i];
    }
    return true;
}

bool adzi_equation_check_state(const char *op, const char *name, const adz_tensor *x)
{
    if (!adzi_check_tensor(op, name, x)) {
        return false;
    }
    if (adzi_is_none(x) || !adzi_is_float((adz_dtype)x->dtype)) {
        adzi_error(op, ADZ_ERR_DTYPE, "%s is %s%s; it must be f32 or f64", name,
            adzi_is_none(x) ? "ADZ_NONE" : adz_dtype_name((adz_dtype)x->dtype),
            adzi_is_none(x) ? "" : adzi_text_shape(x));
        return false;
    }
    return true;
}

static bool fits(const adzi_equation *e, const adz_tensor *y, const adz_tensor *x)
{
    if (!adzi_check_tensor(e->op, "the function's result", y)) {
        return false;
    }
    if (adzi_is_none(y) || y->dtype != x->dtype || !adzi_same_sizes(y, x)) {
        const bool shape = !adzi_is_none(y) && y->dtype == x->dtype;
        adzi_error(e->op, shape ? ADZ_ERR_SHAPE : ADZ_ERR_DTYPE,
            "the function gave %s%s for a state of %s%s; each call must give the shape and dtype of the state",
            adzi_is_none(y) ? "ADZ_NONE" : adz_dtype_name((adz_dtype)y->dtype),
            adzi_is_none(y) ? "" : adzi_text_shape(y), adz_dtype_name((adz_dtype)x->dtype),
            adzi_text_shape(x));
        return false;
    }
    return true;
}

adz_tensor *adzi_equation_result(
    const adzi_equation *e, adz_tensor *const *variables, size_t n_variables)
{
    adz_tensor *inputs[ADZI_LEAD + ADZ_SOLVER_ARGUMENTS], *results[ADZ_FUNCTION_RESULTS] = { NULL };
    int count = 1;
    if (e->map != NULL || e->ode != NULL) {
        results[0] = e->map != NULL ? e->map(variables[0], e->user)
                                    : e->ode(variables[0], variables[1], e->user);
        count = results[0] != NULL;
    } else {
        memcpy(inputs, variables, n_variables * sizeof *inputs);
        for (size_t i = 0; i < e->n; ++i) {
            inputs[n_variables + i] = e->arguments[i];
        }
        count = e->function.call(inputs, n_variables + e->n, results, e->function.user);
    }
    if (count <= 0) {
        if (adzi_pending() == ADZ_OK) {
            adzi_error(e->op, ADZ_ERR_NULL,
                "the function gave nothing for a state of %s and recorded no error; it must give a tensor",
                adzi_text_shape(variables[n_variables - 1]));
        }
        return NULL;
    }
    if (count != 1) {
        return adzi_fail(
            e->op, ADZ_ERR_ARGUMENT, "the function gave %d results; it must give one", count);
    }
    return results[0];
}

adz_tensor *adzi_equation_call(
    const adzi_equation *e, adz_tensor *const *variables, size_t n_variables)
{
    adz_tensor *y = adzi_equation_result(e, variables, n_variables);
    return y != NULL && fits(e, y, variables[n_variables - 1]) ? y : NULL;
}

adz_tensor *adzi_equation_number(
    const adzi_equation *e, adz_tensor *const *variables, size_t n_variables)
{
    adz_tensor *y = adzi_equation_result(e, variables, n_variables);
    if (y == NULL || !adzi_check_tensor(e->op, "the event's result", y)) {
        return NULL;
    }
    if (adzi_is_none(y) || y->numel != 1 || y->dtype != variables[n_variables - 1]->dtype) {
        return adzi_fail(e->op, ADZ_ERR_SHAPE,
            "the event gave %s%s; it must give one element of the dtype of the state, %s",
            adzi_is_none(y) ? "ADZ_NONE" : adz_dtype_name((adz_dtype)y->dtype),
            adzi_is_none(y) ? "" : adzi_text_shape(y),
            adz_dtype_name((adz_dtype)variables[n_variables - 1]->dtype));
    }
    return adz_reshape(y, ADZ_SHAPE_SCALAR);
}

bool adzi_equation_not_exported(const char *op, const char *what)
{
    if (adzi_self()->tracer != NULL) {
        adzi_error(op, ADZ_ERR_UNSUPPORTED,
            "%s cannot be exported; adz_odeint by ADZ_ODE_RK4 or ADZ_ODE_DORMAND_PRINCE can", what);
        return false;
    }
    return true;
}

bool adzi_equation_detach(adzi_equation *e)
{
    for (size_t i = 0; i < e->n; ++i) {
        e->arguments[i] = adz_detach(e->arguments[i]);
        if (e->arguments[i] == NULL) {
            return false;
        }
    }
    return true;
}

adz_tensor *adzi_equation_stand_in(adz_tensor *t, bool graph)
{
    if (graph && adzi_requires_grad(t)) {
        return adz_expand(t, adz_shape_of(t->rank, t->sizes));
    }
    return adzi_requires_grad(t) ? adzi_equation_leaf(t) : adz_detach(t);
}

adz_tensor *adzi_equation_leaf(adz_tensor *t)
{
    adz_tensor *leaf = adz_detach(t);
    if (leaf != NULL) {
        leaf->requires_grad = true;
    }
    return leaf;
}

/* A view of the stand-in, which has a node with one edge, becomes the keeper. */
bool adzi_cuts_add(adzi_cuts *cuts, adz_tensor *stand_in)
{
    adzi_node *node = stand_in->node;
    if (node == NULL) {
        return true;
    }
    const bool before = adz_set_grad_enabled(true); /* the program's function may have ended it */
    adz_tensor *keeper = adz_expand(stand_in, adz_shape_of(stand_in->rank, stand_in->sizes));
    adz_set_grad_enabled(before);
    if (keeper == NULL) {
        return false;
    }
    keeper->node->inputs[0] = node->inputs[0];
    node->inputs[0] = (adzi_edge){ .node = NULL };
    adzi_node_release(adzi_self(), node); /* the view has led to it */
    cuts->items[cuts->n] = stand_in;
    cuts->keepers[cuts->n++] = keeper;
    return true;
}

void adzi_cuts_mend(adzi_cuts *cuts)
{
    for (size_t i = 0; i < cuts->n; ++i) {
        adzi_edge *kept = &cuts->keepers[i]->node->inputs[0];
        cuts->items[i]->node->inputs[0] = *kept;
        *kept = (adzi_edge){ .node = NULL };
    }
    cuts->n = 0;
}

/* ---- leaves ---------------------------------------------------------------------------------- */

/* Whether a tensor is in the list. */
static bool leaves_have(const adzi_leaves *leaves, const adz_tensor *t)
{
    for (size_t i = 0; i < leaves->count; ++i) {
        if (leaves->items[i] == t) {
            return true;
        }
    }
    return false;
}

static bool is_among(const adz_tensor *t, adz_tensor *const *others, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        if (others[i] == t) {
            return true;
        }
    }
    return false;
}

/* This function is not inlined, because ADZI_FLOOR needs its own stack frame. */
__attribute__((noinline)) bool adzi_leaves_add(
    adzi_leaves *leaves, const char *op, adz_tensor *y, adz_tensor *const *others, size_t n)
{
    if (!adzi_requires_grad(y)) {
        return true;
    }
    adzi_run *run = adzi_run_begin(adzi_self(), ADZI_FLOOR());
    if (run == NULL) {
        return false;
    }
    bool good = adzi_run_discover(run, &y, 1);
    for (adzi_leaf_slot *slot = run->leaves; slot != NULL && good; slot = slot->next) {
        if (!slot->leaf->requires_grad || is_among(slot->leaf, others, n) ||
            leaves_have(leaves, slot->leaf)) {
            continue;
        }
        good =
            adzi_grow(&leaves->items, &leaves->capacity, leaves->count + 1, sizeof *leaves->items);
        if (good) {
            leaves->items[leaves->count++] = adzi_retain(slot->leaf);
        } else {
            adzi_fail_memory(op, (leaves->count + 1) * sizeof *leaves->items);
        }
    }
    run->done = true; /* the run has changed no leaf, so none has to be put right */
    adzi_run_end(run);
    return good;
}

static int64_t bytes_of(const adzi_node *node)
{
    int64_t bytes = node->bytes;
    for (int i = 0; i < node->n_inputs; ++i) {
        const adz_tensor *t = node->inputs[i].saved;
        bytes += t != NULL && t != node->inputs[i].leaf ? t->numel * (int64_t)adzi_item_size(t) : 0;
    }
    for (int k = 0; k < node->n_results; ++k) {
        const adzi_storage *s = node->results[k].saved;
        bytes += s != NULL ? (int64_t)s->bytes : 0;
    }
    for (int i = 0; i < node->n_extras; ++i) {
        const adz_tensor *t = node->extras[i].saved;
        bytes += t != NULL ? t->numel * (int64_t)adzi_item_size(t) : 0;
    }
    return bytes;
}

/* This function is not inlined, because ADZI_FLOOR needs its own stack frame. */
__attribute__((noinline)) int64_t adzi_graph_bytes(adz_tensor *y)
{
    adzi_run *run = adzi_requires_grad(y) ? adzi_run_begin(adzi_self(), ADZI_FLOOR()) : NULL;
    int64_t bytes = 0;
    if (run == NULL) {
        return adzi_requires_grad(y) ? -1 : 0;
    }
    const bool good = adzi_run_discover(run, &y, 1);
    for (size_t i = 0; i < run->n_order && good; ++i) {
        bytes += bytes_of(run->order[i]);
    }
    run->done = true; /* the run has changed no leaf, so none has to be put right */
    adzi_run_end(run);
    return good ? bytes : -1;
}

void adzi_leaves_free(adzi_leaves *leaves)
{
    for (size_t i = 0; i < leaves->count; ++i) {
        adzi_drop(leaves->items[i]);
    }
    adzi_free(leaves->items, leaves->capacity * sizeof *leaves->items);
    *leaves = (adzi_leaves){ NULL, 0, 0 };
}

bool adzi_survive(const char *op, size_t mark, adz_tensor *const *tensors, size_t n)
{
    adzi_thread *thread = adzi_self();
    size_t count = 0;
    for (size_t i = 0; i < n; ++i) {
        if (tensors[i] != NULL) {
            adzi_retain(tensors[i]);
            ++count;
        }
    }
    adzi_scope_unwind(thread, mark);
    const bool good = adzi_scope_reserve(thread, count);
    for (size_t i = 0; i < n; ++i) {
        if (tensors[i] == NULL) {
            continue;
        }
        if (good) {
            adzi_borrow(thread, tensors[i]);
        } else {
            adzi_drop(tensors[i]);
        }
    }
    if (!good) {
        adzi_fail_memory(op, count * sizeof(adz_tensor *));
    }
    return good;
}
