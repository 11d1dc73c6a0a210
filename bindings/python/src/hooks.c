/* Hooks of Python on gradients. The library ends them with the tensor or the graph that has them.
 */
#include "adzp.h"

static adz_tensor *on_gradient(adz_tensor *grad, void *user)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *function = Py_NewRef(user); /* which may remove the hook while it runs */
    PyObject *given = adzp_from_tensor(grad);
    PyObject *result = given == NULL ? NULL : PyObject_CallFunctionObjArgs(function, given, NULL);
    adz_tensor *t = result == Py_None ? grad : adzp_handed_out(result, "hook");
    Py_XDECREF(result);
    Py_XDECREF(given);
    Py_DECREF(function);
    if (t == NULL) {
        adzp_save_exception("hook");
    }
    PyGILState_Release(lock);
    return t;
}

static adz_status on_accumulated(adz_tensor *leaf, void *user)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *function = Py_NewRef(user);
    PyObject *given = adzp_from_tensor(leaf);
    PyObject *result = given == NULL ? NULL : PyObject_CallFunctionObjArgs(function, given, NULL);
    bool failed = result == NULL;
    Py_XDECREF(result);
    Py_XDECREF(given);
    Py_DECREF(function);
    if (failed) {
        adzp_save_exception("hook");
    }
    PyGILState_Release(lock);
    return failed ? ADZ_ERR_CANCELLED : ADZ_OK;
}

void adzp_end_object(void *object)
{
    if (Py_IsInitialized()) {
        PyGILState_STATE lock = PyGILState_Ensure();
        PyObject *saved[3];
        PyErr_Fetch(&saved[0], &saved[1], &saved[2]);
        Py_DECREF((PyObject *)object);
        PyErr_Restore(saved[0], saved[1], saved[2]);
        PyGILState_Release(lock);
    }
}

/* hook_add(tensor, function, accumulated) -> the number of the hook */
static PyObject *hook_add(PyObject *self, PyObject *args)
{
    (void)self;
    adzp_call call = { "register_hook", 0, NULL, NULL, NULL };
    PyObject *tensor, *function;
    adz_tensor *t;
    void *user;
    int accumulated;
    if (!PyArg_ParseTuple(args, "OOp", &tensor, &function, &accumulated) ||
        !adzp_tensor(&call, tensor, "tensor", false, &t) ||
        !adzp_callable(&call, function, "hook", false, &user)) {
        return NULL;
    }
    uint64_t id = accumulated ? adz_register_post_accumulate_grad_hook(t, on_accumulated, user)
                              : adz_register_hook(t, on_gradient, user);
    if (id != 0) {
        Py_INCREF(function);
        adz_set_hook_end(t, id, adzp_end_object);
    }
    return adzp_raise() ? NULL : PyLong_FromUnsignedLongLong(id);
}

/* hook_remove(tensor, number) */
static PyObject *hook_remove(PyObject *self, PyObject *args)
{
    (void)self;
    adzp_call call = { "remove", 0, NULL, NULL, NULL };
    PyObject *tensor, *number;
    adz_tensor *t;
    uint64_t id;
    if (!PyArg_ParseTuple(args, "OO", &tensor, &number) ||
        !adzp_tensor(&call, tensor, "tensor", false, &t) ||
        !adzp_uint64(&call, number, "number", &id)) {
        return NULL;
    }
    adz_remove_hook(t, id);
    return adzp_raise() ? NULL : Py_NewRef(Py_None);
}

PyMethodDef adzp_hook_methods[] = { { "hook_add", hook_add, METH_VARARGS,
                                        "Behind Tensor.register_hook." },
    { "hook_remove", hook_remove, METH_VARARGS, "Behind the handles of hooks." },
    { NULL, NULL, 0, NULL } };
