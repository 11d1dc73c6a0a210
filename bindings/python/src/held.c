/* Functions of Python that the library keeps: those that solvers call again in a backward, and
 * those that are modules. */
#include "adzp.h"

/* ---- solvers --------------------------------------------------------------------------------- */

/* A function and the tensor that is its last argument, or the last but one where two functions are
 * given. The graph of the solution keeps its arguments, so the function lives as long as a backward
 * may call it. */
typedef struct solved {
    adz_tensor_function function;
    PyObject *callable;
    size_t behind; /* arguments that are such tensors */
    double element;
} solved;

static int on_solved(adz_tensor *const *inputs, size_t n, adz_tensor **outputs, void *user)
{
    solved *s = user;
    return adzp_on_tensors(inputs, n - s->behind, outputs, s->callable);
}

static void end_solved(void *data, void *user)
{
    (void)data;
    if (!Py_IsInitialized()) {
        return;
    }
    PyGILState_STATE lock = PyGILState_Ensure();
    solved *s = user;
    Py_DECREF(s->callable);
    PyMem_Free(s);
    PyGILState_Release(lock);
}

bool adzp_function(adzp_call *call, PyObject *v, const char *argument, size_t behind,
    const adz_tensor_function **to, adz_tensor **held)
{
    void *user;
    if (!adzp_callable(call, v, argument, false, &user)) {
        return false;
    }
    solved *s = PyMem_Calloc(1, sizeof *s);
    if (s == NULL) {
        PyErr_NoMemory();
        return false;
    }
    s->function = (adz_tensor_function){ on_solved, s };
    s->behind = behind;
    adz_scope *scope = adz_scope_open();
    *held = adz_tensor_wrap(&s->element, adz_shape_of(0, NULL), ADZ_F64, end_solved, s);
    bool made = *held != NULL;
    if (made) {
        s->callable = Py_NewRef(v);
        *to = &s->function;
        made = adzp_hold(call, adzp_from_tensor(*held));
    } else {
        PyMem_Free(s);
    }
    adz_scope_close(scope);
    return made || (adzp_raise(), false);
}

/* Functions of events, which one tensor keeps. */
typedef struct several {
    size_t n;
    double element;
    solved each[];
} several;

static void end_several(void *data, void *user)
{
    (void)data;
    if (!Py_IsInitialized()) {
        return;
    }
    PyGILState_STATE lock = PyGILState_Ensure();
    several *s = user;
    for (size_t i = 0; i < s->n; ++i) {
        Py_DECREF(s->each[i].callable);
    }
    PyMem_Free(s);
    PyGILState_Release(lock);
}

/* One event of a triple: a function, its direction, and the hit that ends the solution. */
static bool take_event(
    adzp_call *call, PyObject *v, const char *argument, size_t behind, solved *s, adz_ode_event *to)
{
    void *user;
    if (!PyTuple_Check(v) || PyTuple_Size(v) != 3) {
        return adzp_wrong(call, argument, "triples of a function and two whole numbers", v);
    }
    if (!adzp_callable(call, PyTuple_GetItem(v, 0), argument, false, &user) ||
        !adzp_int(call, PyTuple_GetItem(v, 1), argument, &to->direction) ||
        !adzp_int64(call, PyTuple_GetItem(v, 2), argument, &to->terminal)) {
        return false;
    }
    to->function = (adz_tensor_function){ on_solved, s };
    s->behind = behind;
    s->callable = Py_NewRef(user);
    return true;
}

bool adzp_events(adzp_call *call, PyObject *v, const char *argument, size_t behind,
    const adz_ode_event **to, size_t *n, adz_tensor **held)
{
    if (!PyList_Check(v)) {
        return adzp_wrong(call, argument, "a list", v);
    }
    size_t count = (size_t)PyList_Size(v);
    several *all = PyMem_Calloc(1, sizeof *all + count * sizeof *all->each);
    if (all == NULL) {
        PyErr_NoMemory();
        return false;
    }
    adz_scope *scope = adz_scope_open();
    *held = adz_tensor_wrap(&all->element, adz_shape_of(0, NULL), ADZ_F64, end_several, all);
    adz_ode_event *made = adzp_room(call, count * sizeof *made);
    bool fine = *held != NULL && made != NULL && adzp_hold(call, adzp_from_tensor(*held));
    for (; fine && all->n < count; all->n += fine) {
        fine = take_event(call, PyList_GetItem(v, (Py_ssize_t)all->n), argument, behind,
            &all->each[all->n], &made[all->n]);
    }
    *to = made;
    *n = count;
    if (*held == NULL) {
        PyMem_Free(all);
    }
    adz_scope_close(scope);
    return fine || (adzp_raise(), false);
}

/* The arguments of a function, and behind them the tensor that keeps it. */
bool adzp_append(adzp_call *call, adz_tensor *const **tensors, size_t *n, adz_tensor *held)
{
    adz_tensor **made = adzp_room(call, (*n + 1) * sizeof *made);
    if (made == NULL) {
        return false;
    }
    for (size_t i = 0; i < *n; ++i) {
        made[i] = (*tensors)[i];
    }
    made[(*n)++] = held;
    *tensors = made;
    return true;
}

/* ---- modules --------------------------------------------------------------------------------- */

/* The handle that module_of returns owns the function, so that the collector of cycles sees it. If
 * the library's module outlives its handle, as in a graph, it takes the reference over. */
typedef struct state {
    PyObject *function;
    bool owned; /* by the library's module */
} state;

/* Calls the function with the tensors by position and by name. */
static PyObject *call_with_values(PyObject *function, const adz_values *in)
{
    size_t n = adz_values_count(in);
    PyObject *args = PyList_New(0), *names = PyDict_New(), *result = NULL;
    bool fine = args != NULL && names != NULL;
    for (size_t i = 0; fine && i < n; ++i) {
        const char *name = adz_values_name_at(in, i);
        PyObject *one = adzp_from_tensor(adz_values_at(in, i));
        fine = one != NULL &&
               (name == NULL || name[0] == '\0' ? PyList_Append(args, one) == 0
                                                : PyDict_SetItemString(names, name, one) == 0);
        Py_XDECREF(one);
    }
    PyObject *all = fine ? PyList_AsTuple(args) : NULL;
    result = all == NULL ? NULL : PyObject_Call(function, all, names);
    Py_XDECREF(all);
    Py_XDECREF(args);
    Py_XDECREF(names);
    return result;
}

static bool add_results(adz_values *out, PyObject *result)
{
    PyObject *all = adzp_returned(result, "forward");
    bool fine = all != NULL;
    for (Py_ssize_t i = 0; fine && i < PyTuple_Size(all); ++i) {
        adz_tensor *t = adzp_handed_out(PyTuple_GetItem(all, i), "forward");
        fine = t != NULL && adz_values_add(out, NULL, t) == ADZ_OK;
        if (!fine) {
            adzp_raise();
        }
    }
    Py_XDECREF(all);
    return fine;
}

static adz_status on_call(adz_module *self, const adz_values *in, adz_values *out)
{
    const state *s = adz_module_data(self);
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *result = call_with_values(s->function, in);
    bool fine = result != NULL && add_results(out, result);
    Py_XDECREF(result);
    if (!fine) {
        adzp_save_exception("forward");
    }
    PyGILState_Release(lock);
    return fine ? ADZ_OK : adz_error_code();
}

static void on_destroy(adz_module *self)
{
    state *s = adz_module_data(self);
    if (s->owned) {
        s->owned = false;
        adzp_end_object(s->function);
    }
}

/* The handle ends, and the module may go on. */
static void take_over(void *module)
{
    state *s = adz_module_data(module);
    if (s != NULL && !s->owned) {
        Py_INCREF(s->function);
        s->owned = true;
    }
}

/* The copy would compute with the parameters of the original. */
static adz_status on_copy(adz_module *copy, adz_module *original)
{
    (void)copy;
    (void)original;
    return adz_error_set("adz_module_copy", ADZ_ERR_UNSUPPORTED,
        "a module that is written in Python cannot be copied by the library; copy it with copy.deepcopy");
}

/* module_of(function): a module of the library that calls a function of Python. */
PyObject *adzp_module_of(PyObject *self, PyObject *function)
{
    static const adz_module_type type = { .size = sizeof type,
        .name = "PythonModule",
        .call = on_call,
        .destroy = on_destroy,
        .copy_data = on_copy };
    adzp_call call = { "module_of", 0, NULL, NULL, NULL };
    PyObject *made = NULL;
    void *user;
    (void)self;
    if (adzp_callable(&call, function, "function", false, &user)) {
        adz_module *module = adz_module_new(&type, sizeof(state));
        if (module != NULL) {
            ((state *)adz_module_data(module))->function = function;
            made = adzp_from_handle(&adzp_kinds[ADZP_adz_module], module, true, NULL);
        }
        if (made != NULL) {
            ((adzp_handle_object *)made)->held = Py_NewRef(function);
            ((adzp_handle_object *)made)->leave = take_over;
        }
        adzp_raise();
    }
    adzp_end(&call);
    return made;
}
