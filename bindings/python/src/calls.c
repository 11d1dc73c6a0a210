/* What every call does before and after the library's function: binding of arguments, scopes, the
 * lock, errors. */
#include "adzp.h"

#include <pthread.h>
#include <string.h>

static PyObject *classes[32]; /* by -status; 0 is adze.Error */
static _Thread_local PyObject
    *raised[3]; /* what a Python function raised, until the call is over */

static const char *base_of(adz_status status)
{
    switch (status) {
    case ADZ_ERR_ARGUMENT:
        return "ValueError";
    case ADZ_ERR_DTYPE:
        return "TypeError";
    case ADZ_ERR_DIM:
    case ADZ_ERR_INDEX:
        return "IndexError";
    case ADZ_ERR_MEMORY:
        return "MemoryError";
    case ADZ_ERR_IO:
        return "OSError";
    case ADZ_ERR_UNSUPPORTED:
        return "NotImplementedError";
    default:
        return NULL;
    }
}

static PyObject *class_of(const adzp_status_name *n)
{
    char name[64];
    PyObject *builtins = PyImport_ImportModule("builtins"), *made = NULL;
    const char *other = base_of(n->status);
    PyObject *second =
        builtins == NULL || other == NULL ? NULL : PyObject_GetAttrString(builtins, other);
    PyOS_snprintf(name, sizeof name, "adze.%s", n->name);
    if (second != NULL) {
        /* NotImplementedError is a RuntimeError, as adze.Error is: that order of bases has a
         * resolution. */
        PyObject *bases = PyTuple_Pack(2, classes[0], second);
        made = bases == NULL ? NULL : PyErr_NewExceptionWithDoc(name, n->doc, bases, NULL);
        Py_XDECREF(bases);
    } else if (!PyErr_Occurred()) {
        made = PyErr_NewExceptionWithDoc(name, n->doc, classes[0], NULL);
    }
    Py_XDECREF(second);
    Py_XDECREF(builtins);
    return made;
}

bool adzp_add_errors(PyObject *module, const adzp_status_name *names, size_t n)
{
    classes[0] = PyErr_NewExceptionWithDoc("adze.Error",
        "An error of the library. `status` is its name, and `operator` is the function that failed.",
        PyExc_RuntimeError, NULL);
    if (classes[0] == NULL || PyModule_AddObjectRef(module, "Error", classes[0]) != 0) {
        return false;
    }
    for (size_t i = 0; i < n; ++i) {
        int at = -(int)names[i].status;
        classes[at] = class_of(&names[i]);
        if (classes[at] == NULL || PyModule_AddObjectRef(module, names[i].name, classes[at]) != 0) {
            return false;
        }
    }
    return true;
}

/* The library's message becomes the exception's, and its record is cleared. */
static void raise_recorded(adz_status status)
{
    PyObject *class = classes[-(int)status] == NULL ? classes[0] : classes[-(int)status];
    PyObject *operator= PyUnicode_FromString(adz_error_operator());
    PyObject *text = PyUnicode_DecodeUTF8(
        adz_error_message(), (Py_ssize_t)strlen(adz_error_message()), "replace");
    PyObject *name = PyUnicode_FromString(adz_status_name(status));
    adz_error_clear();
    PyObject *error = text == NULL ? NULL : PyObject_CallFunctionObjArgs(class, text, NULL);
    if (error != NULL &&
        operator!= NULL && name != NULL &&
            PyObject_SetAttrString(error, "operator", operator) == 0 &&
        PyObject_SetAttrString(error, "status", name) == 0) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    }
    Py_XDECREF(operator);
    Py_XDECREF(text);
    Py_XDECREF(name);
    Py_XDECREF(error);
}

bool adzp_raise(void)
{
    if (raised[0] != NULL) {
        adz_error_clear();
        PyErr_Restore(raised[0], raised[1], raised[2]);
        raised[0] = raised[1] = raised[2] = NULL;
        return true;
    }
    adz_status status = adz_error_code();
    if (status == ADZ_OK) {
        return false;
    }
    raise_recorded(status);
    return true;
}

/* Keeps the first exception of a call until the library has returned. */
void adzp_save_exception(const char *who)
{
    if (raised[0] == NULL) {
        PyErr_Fetch(&raised[0], &raised[1], &raised[2]);
    } else {
        PyErr_Clear();
    }
    if (adz_error_code() == ADZ_OK) {
        adz_error_set(who, ADZ_ERR_CANCELLED, "a Python function raised an exception");
    }
}

/* A warning of the library is one of Python. A filter may make it an exception, which is raised
 * after the call. */
void adzp_on_warning(adz_status status, const char *message, void *user)
{
    (void)status;
    (void)user;
    if (!Py_IsInitialized()) {
        return;
    }
    PyGILState_STATE lock = PyGILState_Ensure();
    if (PyErr_WarnEx(PyExc_UserWarning, message, 1) != 0) {
        if (raised[0] == NULL) {
            PyErr_Fetch(&raised[0], &raised[1], &raised[2]);
        } else {
            PyErr_Clear();
        }
    }
    PyGILState_Release(lock);
}

bool adzp_wrong(const adzp_call *call, const char *argument, const char *wanted, PyObject *got)
{
    PyObject *type = PyType_GetName(Py_TYPE(got));
    if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_TypeError, "%s: %s must be %s, not %V", call->name, argument, wanted,
            type, "another");
    }
    Py_XDECREF(type);
    return false;
}

/* ---- a call ---------------------------------------------------------------------------------- */

/* Backwards, steps and what else changes gradients: the library lets one thread at a time do so to
 * one model (docs/threads.md), and no call knows whose model it trains. A function of Python that
 * such a call runs may make further ones, so the lock counts. It is taken without the interpreter's
 * lock, which the thread that has it may be waiting for. */
static pthread_mutex_t training;

static void make_training_lock(void)
{
    pthread_mutexattr_t counts;
    pthread_mutexattr_init(&counts);
    pthread_mutexattr_settype(&counts, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&training, &counts);
    pthread_mutexattr_destroy(&counts);
}

/* A child of fork has a lock that nobody holds, because its only thread is the one that called. */
void adzp_prepare_training(void)
{
    make_training_lock();
    pthread_atfork(NULL, NULL, make_training_lock);
}

bool adzp_begin(adzp_call *call)
{
    call->scope = adz_scope_open();
    if (call->scope == NULL) {
        adzp_raise();
        return false;
    }
    if (call->work > ADZP_LONG || call->work < 0) {
        call->thread = PyEval_SaveThread();
    }
    if (call->work < 0) {
        pthread_mutex_lock(&training);
    }
    return true;
}

bool adzp_done(adzp_call *call)
{
    if (call->work < 0) {
        pthread_mutex_unlock(&training);
        call->work = 0;
    }
    if (call->thread != NULL) {
        PyEval_RestoreThread(call->thread);
        call->thread = NULL;
    }
    return !adzp_raise();
}

void adzp_end(adzp_call *call)
{
    if (call->scope != NULL) {
        adz_scope_close(call->scope);
    }
    Py_XDECREF(call->held);
}

/* Keeps an object until the call is over. Takes the reference over. */
bool adzp_hold(adzp_call *call, PyObject *owned)
{
    if (owned == NULL) {
        return false;
    }
    if (call->held == NULL && (call->held = PyList_New(0)) == NULL) {
        Py_DECREF(owned);
        return false;
    }
    int failed = PyList_Append(call->held, owned);
    Py_DECREF(owned);
    return failed == 0;
}

/* Memory until the call is over, filled with zeros. */
void *adzp_room(adzp_call *call, size_t bytes)
{
    PyObject *block = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes + 16);
    if (block == NULL || !adzp_hold(call, block)) {
        return NULL;
    }
    char *start = PyBytes_AsString(block);
    memset(start, 0, bytes + 16);
    return start + (16 - (uintptr_t)start % 16) % 16;
}

/* ---- binding --------------------------------------------------------------------------------- */

static bool only_numbers(PyObject *const *args, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; ++i) {
        if (!PyIndex_Check(args[i]) || PyBool_Check(args[i]) || adzp_is_tensor(args[i])) {
            return false;
        }
    }
    return true;
}

/* The numbers x.reshape(2, 3) gives one by one, as one tuple, which v[count] owns. */
static bool gather(const adzp_signature *s, PyObject *const *args, Py_ssize_t n, PyObject **v)
{
    PyObject *all = PyTuple_New(n);
    for (Py_ssize_t i = 0; all != NULL && i < n; ++i) {
        PyTuple_SetItem(all, i, Py_NewRef(args[i]));
    }
    v[s->rest] = v[s->count] = all;
    return all != NULL;
}

static int position_of(const adzp_signature *s, PyObject *name)
{
    for (int i = 0; i < s->count; ++i) {
        if (PyUnicode_CompareWithASCIIString(name, s->names[i]) == 0) {
            return i;
        }
    }
    /* PyTorch's words for what adze calls x, dims and options that every tensor has. */
    static const char *const others[][2] = { { "input", "x" }, { "dim", "dims" },
        { "size", "shape" }, { "other", "b" }, { "other", "number" }, { "axis", "dim" },
        { "axis", "dims" }, { "input", "a" }, { "repeats", "dims" }, { "fill_value", "value" },
        { "data", "t" }, { "start_dim", "start" }, { "end_dim", "end" } };
    for (size_t k = 0; k < sizeof others / sizeof *others; ++k) {
        for (int i = 0; i < s->count && PyUnicode_CompareWithASCIIString(name, others[k][0]) == 0;
             ++i) {
            if (strcmp(s->names[i], others[k][1]) == 0) {
                return i;
            }
        }
    }
    return -1;
}

static bool bind_names(
    const adzp_signature *s, PyObject *const *args, PyObject *names, PyObject **v)
{
    Py_ssize_t n = names == NULL ? 0 : PyTuple_Size(names);
    for (Py_ssize_t k = 0; k < n; ++k) {
        PyObject *name = PyTuple_GetItem(names, k);
        int at = position_of(s, name);
        if (at < 0) {
            PyErr_Format(PyExc_TypeError, "%s() has no argument '%U'", s->name, name);
            return false;
        }
        if (v[at] != NULL) {
            PyErr_Format(PyExc_TypeError, "%s() got argument '%U' twice", s->name, name);
            return false;
        }
        v[at] = args[k];
    }
    return true;
}

/* Puts the arguments in the order of the parameters. v has count + 1 places, of which the last is
 * owned. */
bool adzp_bind(const adzp_signature *s, int first, PyObject *const *args, Py_ssize_t n,
    PyObject *names, PyObject **v)
{
    Py_ssize_t fits = s->count - first, last = s->rest - first;
    if (s->rest >= 0 && n > last + 1 && only_numbers(args + last, n - last)) {
        if (!gather(s, args + last, n - last, v)) {
            return false;
        }
        memcpy(v + first, args, (size_t)last * sizeof *v);
    } else if (n > fits) {
        PyErr_Format(
            PyExc_TypeError, "%s() takes at most %zd arguments, but got %zd", s->name, fits, n);
        return false;
    } else {
        memcpy(v + first, args, (size_t)n * sizeof *v);
    }
    bool bound = bind_names(s, args + n, names, v);
    for (int i = 0; bound && i < s->count; ++i) {
        if (v[i] == NULL && s->required >> i & 1) {
            PyErr_Format(PyExc_TypeError, "%s() needs the argument '%s'", s->name, s->names[i]);
            bound = false;
        }
    }
    if (!bound) {
        Py_CLEAR(v[s->count]);
    }
    return bound;
}
