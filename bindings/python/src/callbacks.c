/* Functions of Python that the library calls. They take the interpreter's lock, and keep what
 * Python raised until the call of the library that ran them is over (adzp_raise). */
#include "adzp.h"

#include <math.h>
#include <string.h>

bool adzp_callable(adzp_call *call, PyObject *v, const char *argument, bool optional, void **to)
{
    *to = NULL;
    if (v == Py_None && optional) {
        return true;
    }
    if (!PyCallable_Check(v)) {
        return adzp_wrong(call, argument, "a function", v);
    }
    call->work = ADZP_LONG + 1;
    *to = v;
    return true;
}

/* Calls a function of Python with tensors. A new reference; NULL with the exception kept. */
PyObject *adzp_call_with(void *user, size_t n, adz_tensor *const *inputs)
{
    PyObject *arguments = PyTuple_New((Py_ssize_t)n), *result = NULL;
    for (size_t i = 0; arguments != NULL && i < n; ++i) {
        PyObject *x = adzp_from_tensor(inputs[i]);
        if (x == NULL || PyTuple_SetItem(arguments, (Py_ssize_t)i, x) != 0) {
            Py_CLEAR(arguments);
        }
    }
    if (arguments != NULL) {
        result = PyObject_Call(user, arguments, NULL);
        Py_DECREF(arguments);
    }
    return result;
}

/* The tensor that a function returned, borrowed from the scope around the callback. */
adz_tensor *adzp_handed_out(PyObject *result, const char *who)
{
    if (result == NULL) {
        return NULL;
    }
    if (!adzp_is_tensor(result)) {
        PyObject *type = PyType_GetName(Py_TYPE(result));
        PyErr_Format(PyExc_TypeError, "%s: the function must return a Tensor, not %V", who, type,
            "another type");
        Py_XDECREF(type);
        return NULL;
    }
    adz_tensor *t = adz_scope_return(adz_scope_open(), ((adzp_tensor_object *)result)->t);
    if (t == NULL) {
        adzp_raise();
    }
    return t;
}

adz_tensor *adzp_call_tensor(void *user, size_t n, adz_tensor *const *inputs, const char *who)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *result = adzp_call_with(user, n, inputs);
    adz_tensor *t = adzp_handed_out(result, who);
    Py_XDECREF(result);
    if (t == NULL) {
        adzp_save_exception(who);
    }
    PyGILState_Release(lock);
    return t;
}

adz_tensor *adzp_on_map(adz_tensor *x, void *user)
{
    return adzp_call_tensor(user, 1, &x, "function");
}

adz_tensor *adzp_on_ode(adz_tensor *t, adz_tensor *y, void *user)
{
    return adzp_call_tensor(user, 2, (adz_tensor *[]){ t, y }, "function");
}

adz_tensor *adzp_on_nothing(void *user)
{
    return adzp_call_tensor(user, 0, NULL, "function");
}

adz_tensor *adzp_on_distance(adz_tensor *a, adz_tensor *b, void *user)
{
    return adzp_call_tensor(user, 2, (adz_tensor *[]){ a, b }, "distance_function");
}

/* A factor for the rate of an epoch. */
double adzp_on_epoch(int64_t epoch, int group, void *user)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *result = PyObject_CallFunction(user, "Li", (long long)epoch, group);
    double factor = result == NULL ? -1 : PyFloat_AsDouble(result);
    Py_XDECREF(result);
    if (factor == -1 && PyErr_Occurred()) {
        adzp_save_exception("lr_lambda");
        factor = NAN;
    }
    PyGILState_Release(lock);
    return factor;
}

/* A token that was generated: function(row, step, id, text, finished). Generation goes on unless it
 * returns False. */
bool adzp_on_generated(const adz_generated *token, void *user)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    const char *bytes = token->text.bytes == NULL ? "" : token->text.bytes;
    PyObject *text = PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)token->text.size, "replace");
    PyObject *result = text == NULL ? NULL
                                    : PyObject_CallFunction(user, "LLLOO", (long long)token->row,
                                          (long long)token->step, (long long)token->id, text,
                                          token->finished ? Py_True : Py_False);
    bool on = result != NULL && result != Py_False;
    if (result == NULL) {
        adzp_save_exception("on_token");
    }
    Py_XDECREF(text);
    Py_XDECREF(result);
    PyGILState_Release(lock);
    return on;
}

/* What a function returned, a tensor or a tuple or list of them, as a tuple. A new reference; NULL
 * with an exception. */
PyObject *adzp_returned(PyObject *result, const char *who)
{
    if (adzp_is_tensor(result)) {
        return PyTuple_Pack(1, result);
    }
    if (PyTuple_Check(result) || PyList_Check(result)) {
        return PySequence_Tuple(result);
    }
    PyObject *type = PyType_GetName(Py_TYPE(result));
    PyErr_Format(PyExc_TypeError, "%s: it must return a Tensor or a tuple of them, not %V", who,
        type, "another type");
    Py_XDECREF(type);
    return NULL;
}

/* The results of a function of several tensors, of which there are up to `room`. */
static int fill(PyObject *result, size_t room, adz_tensor **outputs)
{
    PyObject *all = result == NULL ? NULL : adzp_returned(result, "function");
    Py_ssize_t n = all == NULL ? 0 : PyTuple_Size(all);
    if (all != NULL && (n == 0 || (size_t)n > room)) {
        PyErr_Format(
            PyExc_ValueError, "function: it must return 1 to %zu tensors, not %zd", room, n);
        n = 0;
    }
    for (Py_ssize_t i = 0; i < n; ++i) {
        outputs[i] = adzp_handed_out(PyTuple_GetItem(all, i), "function");
        n = outputs[i] == NULL ? 0 : n;
    }
    Py_XDECREF(all);
    return (int)n;
}

int adzp_on_tensors(adz_tensor *const *inputs, size_t n, adz_tensor **outputs, void *user)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *result = adzp_call_with(user, n, inputs);
    int count = fill(result, 16, outputs);
    Py_XDECREF(result);
    if (count == 0) {
        adzp_save_exception("function");
    }
    PyGILState_Release(lock);
    return count;
}

/* user is a tuple of a function and the number of its results. */
adz_status adzp_on_results(adz_tensor **results, void *user)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    size_t wanted = PyLong_AsSize_t(PyTuple_GetItem(user, 1));
    PyObject *result = adzp_call_with(PyTuple_GetItem(user, 0), 0, NULL);
    int count = fill(result, wanted, results);
    if (count != 0 && (size_t)count != wanted) {
        PyErr_Format(PyExc_ValueError, "function: it has returned %d tensors, but %zu before",
            count, wanted);
        count = 0;
    }
    Py_XDECREF(result);
    if (count == 0) {
        adzp_save_exception("function");
    }
    adz_status status = count == 0 ? adz_error_code() : ADZ_OK;
    PyGILState_Release(lock);
    return status;
}
