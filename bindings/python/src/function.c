/* Operators of Python: functions with a backward of their own (adze.autograd.Function), and checks
 * of gradients. */
#include "adzp.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 32 }; /* inputs or results of a recorded call */

/* An operator of this name. It lives as long as the process, because graphs point to it; there are
 * as many as classes have names. */
typedef struct named_operator {
    adz_operator op;
    struct named_operator *next;
    char name[64];
} named_operator;

static named_operator *operators;

/* Where a saved tensor lies: the i-th input, result or further tensor of the call. */
static PyObject *saved_at(adz_node *node, PyObject *place)
{
    const char *kind;
    unsigned long i;
    if (place == Py_None) {
        return Py_NewRef(Py_None);
    }
    if (!PyArg_ParseTuple(place, "sk", &kind, &i)) {
        return NULL;
    }
    adz_tensor *t = kind[0] == 'i'   ? adz_node_input_at(node, i)
                    : kind[0] == 'r' ? adz_node_result_at(node, i)
                                     : adz_node_extra_at(node, i);
    return t == NULL ? NULL : adzp_from_tensor(t);
}

static PyObject *saved_of(adz_node *node, PyObject *places)
{
    Py_ssize_t n = PyTuple_Size(places);
    PyObject *all = n < 0 ? NULL : PyTuple_New(n);
    for (Py_ssize_t i = 0; all != NULL && i < n; ++i) {
        PyObject *one = saved_at(node, PyTuple_GetItem(places, i));
        if (one == NULL || PyTuple_SetItem(all, i, one) != 0) {
            Py_CLEAR(all);
        }
    }
    return all;
}

static bool take_gradients(PyObject *made, size_t n, adz_node *node, adz_tensor **dx)
{
    if (made == NULL || !PyTuple_Check(made) || (size_t)PyTuple_Size(made) != n) {
        return false;
    }
    for (size_t i = 0; i < n; ++i) {
        PyObject *one = PyTuple_GetItem(made, (Py_ssize_t)i);
        if (one != Py_None && adz_node_needs_input_grad(node, i) &&
            (dx[i] = adzp_handed_out(one, "backward")) == NULL) {
            return false;
        }
    }
    return true;
}

/* What a node keeps is a tuple: the function that calls the backward, the number of inputs, the
 * number of results, and where saved tensors are. */
static adz_status on_backward(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *kept = *(PyObject *const *)adz_node_attributes(node), *function, *places;
    PyObject *grads = NULL, *saved = NULL, *made = NULL;
    Py_ssize_t n_inputs = 0, n_results = 0;
    bool fine = PyArg_ParseTuple(kept, "OnnO", &function, &n_inputs, &n_results, &places) &&
                (saved = saved_of(node, places)) != NULL &&
                (grads = adzp_from_list(dy, (size_t)n_results)) != NULL;
    if (fine) {
        made = PyObject_CallFunctionObjArgs(function, saved, grads, NULL);
        fine = take_gradients(made, (size_t)n_inputs, node, dx);
    }
    Py_XDECREF(made);
    Py_XDECREF(grads);
    Py_XDECREF(saved);
    if (!fine) {
        if (!PyErr_Occurred()) {
            adzp_raise();
        }
        adzp_save_exception("backward");
    }
    PyGILState_Release(lock);
    return fine ? ADZ_OK : adz_error_code();
}

static void end_kept(void *attributes)
{
    adzp_end_object(*(PyObject **)attributes);
}

static const adz_operator *operator_named(const char *name)
{
    for (named_operator *o = operators; o != NULL; o = o->next) {
        if (strncmp(o->name, name, sizeof o->name - 1) == 0) {
            return &o->op;
        }
    }
    named_operator *made = calloc(1, sizeof *made);
    if (made == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    strncpy(made->name, name, sizeof made->name - 1);
    made->op = (adz_operator){ .size = sizeof made->op,
        .name = made->name,
        .backward = on_backward,
        .attributes_free = end_kept };
    made->next = operators;
    operators = made;
    return &made->op;
}

static uint32_t mask_of(PyObject *places, char kind)
{
    uint32_t mask = 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(places); ++i) {
        PyObject *place = PyTuple_GetItem(places, i);
        const char *which;
        unsigned long at;
        if (place != Py_None && PyArg_ParseTuple(place, "sk", &which, &at) && which[0] == kind &&
            at < MOST) {
            mask |= 1U << at;
        }
    }
    return mask;
}

/* function_record(name, function, inputs, results, places, extras): puts a call on the tape whose
 * backward is function(saved, gradients). */
static PyObject *function_record(PyObject *self, PyObject *args)
{
    (void)self;
    adzp_call call = { "apply", 0, NULL, NULL, NULL };
    const char *name;
    PyObject *function, *inputs, *results, *places, *extras, *kept = NULL;
    adz_tensor *const *x, *const *y;
    adz_record_options options;
    size_t n = 0, m = 0;
    const adz_operator *op;
    adz_record_options_init(&options, sizeof options);
    if (!PyArg_ParseTuple(args, "sOOOO!O", &name, &function, &inputs, &results, &PyTuple_Type,
            &places, &extras) ||
        (op = operator_named(name)) == NULL) {
        return NULL;
    }
    if (adzp_tensors(&call, inputs, "inputs", false, &x, &n) &&
        adzp_tensors(&call, results, "results", false, &y, &m) && m > 0 &&
        adzp_tensors(&call, extras, "extras", false, &options.extras, &options.n_extras) &&
        (kept = Py_BuildValue("OnnO", function, (Py_ssize_t)n, (Py_ssize_t)m, places)) != NULL &&
        adzp_begin(&call)) {
        options.saved_inputs = mask_of(places, 'i');
        options.saved_results = mask_of(places, 'r');
        options.attributes = &kept;
        options.attributes_size = sizeof kept;
        adz_record(op, x, n, y, m, &options);
        bool recorded = false; /* the node then has the reference */
        for (size_t i = 0; i < m; ++i) {
            recorded = recorded || adz_tensor_requires_grad(y[i]);
        }
        kept = recorded ? NULL : kept;
        adzp_done(&call);
    }
    adzp_end(&call);
    Py_XDECREF(kept);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* gradcheck(function, inputs, second, eps, atol, rtol, seed) -> a dictionary of findings */
static PyObject *gradcheck(PyObject *self, PyObject *args)
{
    (void)self;
    adzp_call call = { "gradcheck", ADZP_LONG + 1, NULL, NULL, NULL };
    PyObject *function, *inputs, *made = NULL;
    adz_tensor *const *x;
    adz_gradcheck_options options;
    adz_gradcheck_report r = { 0 };
    size_t n = 0;
    unsigned long long seed;
    int second;
    void *user;
    adz_gradcheck_options_init(&options, sizeof options);
    if (!PyArg_ParseTuple(args, "OOpdddK", &function, &inputs, &second, &options.eps, &options.atol,
            &options.rtol, &seed)) {
        return NULL;
    }
    options.seed = seed;
    if (adzp_callable(&call, function, "func", false, &user) &&
        adzp_tensors(&call, inputs, "inputs", false, &x, &n) && adzp_begin(&call)) {
        const adz_gradcheck_function f = { adzp_on_tensors, user };
        if (second) {
            adz_gradgradcheck(&f, x, n, &options, &r);
        } else {
            adz_gradcheck(&f, x, n, &options, &r);
        }
        if (adzp_done(&call)) {
            made = Py_BuildValue("{snsd sn sn}", "input", (Py_ssize_t)r.input, "error", r.error,
                "elements", (Py_ssize_t)r.elements, "nonzero", (Py_ssize_t)r.nonzero);
        }
    }
    adzp_end(&call);
    return made;
}

PyMethodDef adzp_function_methods[] = { { "function_record", function_record, METH_VARARGS,
                                            "Behind adze.autograd.Function." },
    { "gradcheck", gradcheck, METH_VARARGS, "Behind adze.autograd.gradcheck." },
    { NULL, NULL, 0, NULL } };
