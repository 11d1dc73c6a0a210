/* Loops and branches whose bodies are functions of Python (adze/loops.h). The library calls a body
 * during the call alone, so nothing is kept. */
#include "adzp.h"

#include <string.h>

typedef struct loop {
    PyObject *body,
        *other; /* of a loop: its condition; of a branch: what a false predicate calls */
    size_t n_inputs, n_results; /* of the body */
} loop;

/* Calls a function with n tensors, and fills the results that it returns in a tuple. */
static adz_status call_body(
    PyObject *function, const loop *l, adz_tensor **results, adz_tensor *const *inputs)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *made = adzp_call_with(function, l->n_inputs, inputs);
    PyObject *all = made == NULL ? NULL : adzp_returned(made, "body");
    bool fine = all != NULL && (size_t)PyTuple_Size(all) == l->n_results;
    if (all != NULL && !fine) {
        PyErr_Format(PyExc_ValueError, "body: it must return %zu tensors, not %zd", l->n_results,
            PyTuple_Size(all));
    }
    for (size_t i = 0; fine && i < l->n_results; ++i) {
        results[i] = adzp_handed_out(PyTuple_GetItem(all, (Py_ssize_t)i), "body");
        fine = results[i] != NULL;
    }
    Py_XDECREF(all);
    Py_XDECREF(made);
    if (!fine) {
        adzp_save_exception("body");
    }
    PyGILState_Release(lock);
    return fine ? ADZ_OK : adz_error_code();
}

static adz_status on_body(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const loop *l = user;
    return call_body(l->body, l, results, inputs);
}

static adz_status on_other(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const loop *l = user;
    return call_body(l->other, l, results, inputs);
}

static adz_tensor *on_condition(adz_tensor *const *carries, void *user)
{
    const loop *l = user;
    return adzp_call_tensor(l->other, l->n_inputs, carries, "cond_fn");
}

/* scan(body, carries, inputs, n_results, reverse, length) -> list of tensors */
static PyObject *scan(PyObject *self, PyObject *args)
{
    (void)self;
    adzp_call call = { "scan", ADZP_LONG + 1, NULL, NULL, NULL };
    PyObject *body, *carries, *inputs, *length, *made = NULL;
    adz_tensor *const *c, *const *x, **results;
    adz_scan_options options;
    size_t n = 0, m = 0;
    Py_ssize_t n_results;
    int reverse;
    void *user;
    adz_scan_options_init(&options, sizeof options);
    if (!PyArg_ParseTuple(
            args, "OOOnpO", &body, &carries, &inputs, &n_results, &reverse, &length)) {
        return NULL;
    }
    options.reverse = reverse;
    if (n_results < 0 || n_results > ADZ_LOOP_TENSORS) {
        PyErr_Format(PyExc_ValueError, "scan: results is %zd, but must be 0 to %d", n_results,
            ADZ_LOOP_TENSORS);
        return NULL;
    }
    if (adzp_callable(&call, body, "combine_fn", false, &user) &&
        adzp_tensors(&call, carries, "init", false, &c, &n) &&
        adzp_tensors(&call, inputs, "xs", false, &x, &m) &&
        (length == Py_None || adzp_int64(&call, length, "length", &options.length)) &&
        (results = adzp_room(&call, (n + (size_t)n_results) * sizeof *results)) != NULL &&
        adzp_begin(&call)) {
        loop l = { body, NULL, n + m, n + (size_t)n_results };
        adz_scan(on_body, &l, c, n, x, m, (size_t)n_results, &options, results);
        made = adzp_done(&call) ? adzp_from_list(results, n + (size_t)n_results) : NULL;
    }
    adzp_end(&call);
    return made;
}

/* while_loop(condition, body, carries, max_iterations) -> (list of carries, count, ended) */
static PyObject *while_loop(PyObject *self, PyObject *args)
{
    (void)self;
    adzp_call call = { "while_loop", ADZP_LONG + 1, NULL, NULL, NULL };
    PyObject *condition, *body, *carries, *most, *made = NULL;
    adz_tensor *const *c, **results, *count = NULL, *ended = NULL;
    size_t n = 0;
    int64_t max_iterations = INT64_MAX;
    void *user;
    if (!PyArg_ParseTuple(args, "OOOO", &condition, &body, &carries, &most)) {
        return NULL;
    }
    if (adzp_callable(&call, condition, "cond_fn", false, &user) &&
        adzp_callable(&call, body, "body_fn", false, &user) &&
        adzp_tensors(&call, carries, "carried_inputs", false, &c, &n) &&
        (most == Py_None || adzp_int64(&call, most, "max_iterations", &max_iterations)) &&
        (results = adzp_room(&call, (n + 1) * sizeof *results)) != NULL && adzp_begin(&call)) {
        loop l = { body, condition, n, n };
        adz_while(on_condition, on_body, &l, c, n, max_iterations, results, &count, &ended);
        if (adzp_done(&call)) {
            made = Py_BuildValue("NNN", adzp_from_list(results, n), adzp_from_tensor(count),
                adzp_from_tensor(ended));
        }
    }
    adzp_end(&call);
    return made;
}

/* branch(predicate, if_true, if_false, inputs, n_results) -> list of tensors */
static PyObject *branch(PyObject *self, PyObject *args)
{
    (void)self;
    adzp_call call = { "cond", ADZP_LONG + 1, NULL, NULL, NULL };
    PyObject *predicate, *if_true, *if_false, *inputs, *made = NULL;
    adz_tensor *p, *const *x, **results;
    size_t n = 0;
    Py_ssize_t n_results;
    void *user;
    if (!PyArg_ParseTuple(args, "OOOOn", &predicate, &if_true, &if_false, &inputs, &n_results)) {
        return NULL;
    }
    if (n_results < 1 || n_results > ADZ_LOOP_TENSORS) {
        PyErr_Format(PyExc_ValueError, "cond: results is %zd, but must be 1 to %d", n_results,
            ADZ_LOOP_TENSORS);
        return NULL;
    }
    if (adzp_tensor(&call, predicate, "pred", false, &p) &&
        adzp_callable(&call, if_true, "true_fn", false, &user) &&
        adzp_callable(&call, if_false, "false_fn", false, &user) &&
        adzp_tensors(&call, inputs, "operands", false, &x, &n) &&
        (results = adzp_room(&call, (size_t)n_results * sizeof *results)) != NULL &&
        adzp_begin(&call)) {
        loop l = { if_true, if_false, n, (size_t)n_results };
        adz_branch(p, on_body, on_other, &l, x, n, (size_t)n_results, results);
        made = adzp_done(&call) ? adzp_from_list(results, (size_t)n_results) : NULL;
    }
    adzp_end(&call);
    return made;
}

PyMethodDef adzp_loop_methods[] = { { "scan", scan, METH_VARARGS, "Behind adze.scan." },
    { "while_loop", while_loop, METH_VARARGS, "Behind adze.while_loop." },
    { "branch", branch, METH_VARARGS, "Behind adze.cond." }, { NULL, NULL, 0, NULL } };
