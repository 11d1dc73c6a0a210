/* Calls that adze.json does not describe well enough: gradients, derivatives, plans, modules with
 * several results. */
#include "adzp.h"

#include <string.h>

static const adz_backward_options *options_of(
    adz_backward_options *o, int retain, int create, int unused)
{
    adz_backward_options_init(o, sizeof *o);
    o->retain_graph = retain;
    o->create_graph = create;
    o->allow_unused = unused;
    return o;
}

/* backward(loss): what nearly every training step calls. */
static PyObject *backward(PyObject *self, PyObject *loss)
{
    (void)self;
    adzp_call call = { "backward", ADZP_TRAINS, NULL, NULL, NULL };
    PyObject *made = NULL;
    adz_tensor *t = NULL;
    if (adzp_tensor(&call, loss, "loss", false, &t) && adzp_begin(&call)) {
        adz_backward(t);
        made = adzp_done(&call) ? Py_NewRef(Py_None) : NULL;
    }
    adzp_end(&call);
    return made;
}

/* autograd_backward(outputs, gradients, retain_graph, inputs) */
static PyObject *autograd_backward(PyObject *self, PyObject *args)
{
    (void)self;
    adzp_call call = { "backward", ADZP_TRAINS, NULL, NULL, NULL };
    PyObject *made = NULL, *outputs, *gradients, *inputs;
    adz_tensor *const *o, *const *g;
    adz_backward_options options;
    size_t n = 0, m = 0;
    int retain = 0;
    if (!PyArg_ParseTuple(args, "OOpO", &outputs, &gradients, &retain, &inputs)) {
        return NULL;
    }
    options_of(&options, retain, 0, 0);
    if (adzp_tensors(&call, outputs, "tensors", false, &o, &n) &&
        adzp_tensors(&call, gradients, "grad_tensors", true, &g, &m) &&
        (g == NULL || adzp_same_count(&call, "grad_tensors", m, n)) &&
        adzp_tensors(&call, inputs, "inputs", true, &options.inputs, &options.n_inputs) &&
        adzp_begin(&call)) {
        adz_autograd_backward(o, g, n, &options);
        made = adzp_done(&call) ? Py_NewRef(Py_None) : NULL;
    }
    adzp_end(&call);
    return made;
}

/* autograd_grad(outputs, inputs, gradients, retain_graph, create_graph, allow_unused) */
static PyObject *autograd_grad(PyObject *self, PyObject *args)
{
    (void)self;
    adzp_call call = { "grad", ADZP_TRAINS, NULL, NULL, NULL };
    PyObject *made = NULL, *outputs, *inputs, *gradients;
    adz_tensor *const *o, *const *i, *const *g, **results;
    adz_backward_options options;
    size_t n = 0, m = 0, k = 0;
    int retain, create, unused;
    if (!PyArg_ParseTuple(
            args, "OOOppp", &outputs, &inputs, &gradients, &retain, &create, &unused)) {
        return NULL;
    }
    if (adzp_tensors(&call, outputs, "outputs", false, &o, &n) &&
        adzp_tensors(&call, inputs, "inputs", false, &i, &m) &&
        adzp_tensors(&call, gradients, "grad_outputs", true, &g, &k) &&
        (g == NULL || adzp_same_count(&call, "grad_outputs", k, n)) &&
        (results = adzp_room(&call, m * sizeof *results)) != NULL && adzp_begin(&call)) {
        adz_autograd_grad(o, g, n, i, m, options_of(&options, retain, create, unused), results);
        made = adzp_done(&call) ? adzp_from_list(results, m) : NULL;
    }
    adzp_end(&call);
    return made;
}

/* ---- derivatives of functions ---------------------------------------------------------------- */

typedef struct derivative {
    adz_tensor_function function;
    adz_tensor *const *inputs, *const *vectors;
    size_t n, n_vectors, n_results;
    adz_functional_options options;
    adz_tensor **made; /* receives them */
} derivative;

enum { MOST = ADZ_FUNCTION_INPUTS * ADZ_FUNCTION_RESULTS };

/* How many tensors the function of this name gives; 0 for no such function. */
static size_t compute(const char *which, derivative *d)
{
    const adz_tensor_function *f = &d->function;
    if (strcmp(which, "vjp") == 0) {
        adz_vjp_many(f, d->inputs, d->n, d->vectors, d->n_results, &d->options, d->made);
        return d->n;
    }
    if (strcmp(which, "jvp") == 0) {
        adz_jvp_many(f, d->inputs, d->n, d->vectors, d->n_results, &d->options, d->made);
        return d->n_results;
    }
    if (strcmp(which, "jacobian") == 0) {
        adz_jacobian_many(f, d->inputs, d->n, d->n_results, &d->options, d->made);
        return d->n * d->n_results;
    }
    if (strcmp(which, "jacobian_rows") == 0) {
        adz_jacobian_rows_many(f, d->inputs, d->n, d->n_results, &d->options, d->made);
        return d->n * d->n_results;
    }
    if (strcmp(which, "hessian") == 0) {
        adz_hessian_many(f, d->inputs, d->n, &d->options, d->made);
        return d->n * d->n;
    }
    adz_hvp_many(f, d->inputs, d->n, d->vectors, &d->options, d->made);
    return d->n;
}

static bool derivative_fits(adzp_call *call, const char *which, const derivative *d)
{
    static const char *const known[] = { "vjp", "jvp", "jacobian", "jacobian_rows", "hessian",
        "hvp" };
    bool found = false, by_inputs = strcmp(which, "jvp") == 0 || strcmp(which, "hvp") == 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        found = found || strcmp(which, known[i]) == 0;
    }
    if (!found || d->n < 1 || d->n > ADZ_FUNCTION_INPUTS || d->n_results < 1 ||
        d->n_results > ADZ_FUNCTION_RESULTS) {
        PyErr_Format(PyExc_ValueError, "%s: a function has 1 to %d inputs and 1 to %d results",
            which, ADZ_FUNCTION_INPUTS, ADZ_FUNCTION_RESULTS);
        return false;
    }
    if (by_inputs && d->vectors == NULL) {
        PyErr_Format(PyExc_ValueError, "%s: a vector for each input is needed", which);
        return false;
    }
    return d->vectors == NULL ||
           adzp_same_count(call, "vectors", d->n_vectors, by_inputs ? d->n : d->n_results);
}

/* derivative(which, function, inputs, vectors, n_results, create_graph) -> (derivatives, results)
 */
static PyObject *derivative_of(PyObject *self, PyObject *args)
{
    (void)self;
    const char *which;
    PyObject *function, *inputs, *vectors, *made = NULL;
    Py_ssize_t n_results;
    int create;
    if (!PyArg_ParseTuple(
            args, "sOOOnp", &which, &function, &inputs, &vectors, &n_results, &create)) {
        return NULL;
    }
    adzp_call call = { which, ADZP_LONG + 1, NULL, NULL, NULL };
    derivative d = { .function = { adzp_on_tensors, function },
        .n_results = n_results < 0 ? 0 : (size_t)n_results };
    adz_functional_options_init(&d.options, sizeof d.options);
    d.options.create_graph = create;
    void *user;
    if (adzp_callable(&call, function, "function", false, &user) &&
        adzp_tensors(&call, inputs, "inputs", false, &d.inputs, &d.n) &&
        adzp_tensors(&call, vectors, "vectors", true, &d.vectors, &d.n_vectors) &&
        derivative_fits(&call, which, &d) &&
        (d.made = adzp_room(&call, MOST * sizeof *d.made)) != NULL &&
        (d.options.results = adzp_room(&call, ADZ_FUNCTION_RESULTS * sizeof *d.made)) != NULL &&
        adzp_begin(&call)) {
        size_t n = compute(which, &d);
        if (adzp_done(&call)) {
            PyObject *first = adzp_from_list(d.made, n);
            PyObject *second =
                first == NULL ? NULL : adzp_from_list(d.options.results, d.n_results);
            made = second == NULL ? NULL : Py_BuildValue("NN", first, second);
        }
    }
    adzp_end(&call);
    return made;
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* The options of a plan; false with an exception. */
static bool plan_options(
    adzp_call *call, PyObject *const *given, adz_plan_options *o, Py_ssize_t n_results)
{
    size_t n = 0;
    void *module = NULL;
    adz_plan_options_init(o, sizeof *o);
    if (!adzp_tensors(call, given[0], "inputs", true, &o->inputs.items, &o->inputs.count) ||
        !adzp_strings(call, given[1], "input_names", true, &o->input_names, &n) ||
        (o->input_names != NULL && !adzp_same_count(call, "input_names", n, o->inputs.count)) ||
        !adzp_handle(call, given[2], "module", &adzp_kinds[ADZP_adz_module], true, &module) ||
        !adzp_strings(call, given[3], "result_names", true, &o->result_names, &n)) {
        return false;
    }
    o->module = module;
    return o->result_names == NULL || adzp_same_count(call, "result_names", n, (size_t)n_results);
}

/* plan_new(function, n_results, inputs, input_names, module, result_names, pack_weights, restore)
 */
static PyObject *plan_new(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *function, *given[4], *made = NULL;
    Py_ssize_t n_results;
    int pack, restore;
    adzp_call call = { "plan_new", ADZP_LONG + 1, NULL, NULL, NULL };
    adz_plan_options options;
    void *user;
    if (!PyArg_ParseTuple(args, "OnOOOOpp", &function, &n_results, &given[0], &given[1], &given[2],
            &given[3], &pack, &restore)) {
        return NULL;
    }
    PyObject *pair = Py_BuildValue("On", function, n_results < 0 ? 0 : n_results);
    if (pair != NULL && adzp_callable(&call, function, "function", false, &user) &&
        plan_options(&call, given, &options, n_results)) {
        options.pack_weights = pack;
        options.restore = restore;
        if (adzp_begin(&call)) {
            adz_plan *plan = adz_plan_new_many(
                adzp_on_results, pair, n_results < 0 ? 0 : (size_t)n_results, &options);
            if (adzp_done(&call)) {
                made = adzp_from_handle(&adzp_kinds[ADZP_adz_plan], plan, true, NULL);
            } else {
                adz_plan_free(&plan);
            }
        }
    }
    if (made != NULL && (!adzp_keep(made, pair) || !adzp_keep(made, given[2]))) {
        Py_CLEAR(made);
    }
    adzp_end(&call);
    Py_XDECREF(pair);
    return made;
}

/* ---- modules and optimizers ------------------------------------------------------------------ */

static PyObject *list_of_values(const adz_values *values)
{
    size_t n = adz_values_count(values);
    PyObject *made = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; made != NULL && i < n; ++i) {
        PyObject *one = adzp_from_tensor(adz_values_at(values, i));
        const char *name = adz_values_name_at(values, i);
        PyObject *pair = one == NULL ? NULL : Py_BuildValue("(zN)", name, one);
        if (pair == NULL || PyList_SetItem(made, (Py_ssize_t)i, pair) != 0) {
            Py_CLEAR(made);
        }
    }
    return made;
}

/* module_results(module, arguments): pairs of a name, or None, and a tensor; gives such pairs. */
static PyObject *module_results(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *module, *arguments, *made = NULL;
    adzp_call call = { "module", ADZP_LONG + 1, NULL, NULL, NULL };
    const adz_named_tensor *named;
    adz_module *m;
    size_t n = 0;
    if (!PyArg_ParseTuple(args, "OO", &module, &arguments)) {
        return NULL;
    }
    if (adzp_handle(&call, module, "module", &adzp_kinds[ADZP_adz_module], false, &m) &&
        adzp_named(&call, arguments, "arguments", &named, &n) && adzp_begin(&call)) {
        adz_values *results = adz_values_new();
        adz_module_call_named(m, named, n, results);
        made = adzp_done(&call) ? list_of_values(results) : NULL;
        adz_values_free(&results);
    }
    adzp_end(&call);
    return made;
}

/* optimizer_step_closure(optimizer, closure) -> loss */
static PyObject *step_closure(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *optimizer, *closure, *made = NULL;
    adzp_call call = { "step", ADZP_LONG + 1, NULL, NULL, NULL };
    adz_optimizer *o;
    void *user;
    double loss = 0;
    if (!PyArg_ParseTuple(args, "OO", &optimizer, &closure)) {
        return NULL;
    }
    if (adzp_handle(&call, optimizer, "optimizer", &adzp_kinds[ADZP_adz_optimizer], false, &o) &&
        adzp_callable(&call, closure, "closure", false, &user) &&
        (call.work = ADZP_TRAINS, adzp_begin(&call))) {
        adz_optimizer_step_closure(o, adzp_on_nothing, user, &loss);
        made = adzp_done(&call) ? PyFloat_FromDouble(loss) : NULL;
    }
    adzp_end(&call);
    return made;
}

/* loader_next(loader, n) -> a list of n tensors; None at the end of the epoch */
static PyObject *loader_next(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *loader, *made = NULL;
    Py_ssize_t n;
    adzp_call call = { "loader_next", ADZP_LONG + 1, NULL, NULL, NULL };
    adz_loader *l;
    adz_tensor **batch;
    if (!PyArg_ParseTuple(args, "On", &loader, &n)) {
        return NULL;
    }
    if (n < 1) {
        PyErr_SetString(PyExc_ValueError, "loader_next: a batch has at least one tensor");
        return NULL;
    }
    if (adzp_handle(&call, loader, "loader", &adzp_kinds[ADZP_adz_loader], false, &l) &&
        (batch = adzp_room(&call, (size_t)n * sizeof *batch)) != NULL && adzp_begin(&call)) {
        bool more = adz_loader_next(l, batch);
        if (adzp_done(&call)) {
            made = more ? adzp_from_list(batch, (size_t)n) : Py_NewRef(Py_None);
        }
    }
    adzp_end(&call);
    return made;
}

/* loader_restart(loader): the next batch is the first one of the next epoch, unless the epoch has
 * just begun. */
static PyObject *loader_restart(PyObject *self, PyObject *loader)
{
    (void)self;
    adzp_call call = { "loader_restart", 0, NULL, NULL, NULL };
    adz_loader_position at;
    adz_loader *l;
    if (!adzp_handle(&call, loader, "loader", &adzp_kinds[ADZP_adz_loader], false, &l)) {
        return NULL;
    }
    if (adz_loader_get_position(l, &at) == ADZ_OK && at.consumed > 0) {
        at.consumed = 0;
        ++at.epoch;
        adz_loader_set_position(l, &at);
    }
    return adzp_raise() ? NULL : Py_NewRef(Py_None);
}

PyMethodDef adzp_training_methods[] = {
    { "backward", backward, METH_O,
        "Adds the gradients of a loss of one element to .grad of every leaf." },
    { "autograd_backward", autograd_backward, METH_VARARGS, "Behind adze.autograd.backward." },
    { "autograd_grad", autograd_grad, METH_VARARGS, "Behind adze.autograd.grad." },
    { "derivative", derivative_of, METH_VARARGS, "Behind adze.func." },
    { "plan_new", plan_new, METH_VARARGS, "Behind adze.capture." },
    { "module_results", module_results, METH_VARARGS,
        "Calls a module with named arguments; gives all results." },
    { "optimizer_step_closure", step_closure, METH_VARARGS,
        "One step of an optimizer that calls the loss itself." },
    { "loader_next", loader_next, METH_VARARGS, "The next batch of a loader, or None." },
    { "loader_restart", loader_restart, METH_O, "Leaves the rest of an epoch out." },
    { "module_of", adzp_module_of, METH_O,
        "A module of the library that calls a function of Python." },
    { "module_fields", adzp_module_fields, METH_O, "The arguments of a layer, by name." },
    { NULL, NULL, 0, NULL }
};
