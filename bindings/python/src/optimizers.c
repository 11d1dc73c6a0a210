/* Optimizers whose update is a function of Python (adze/optim/type.h). */
#include "adzp.h"

#include <stdlib.h>
#include <string.h>

/* A type, and the texts that it points to. It lives as long as the process, because optimizers,
 * plans and schedules point to it; adze/optim/own.py makes one for each class and set of defaults.
 */
typedef struct python_type {
    adz_optimizer_type type;
    char name[64], settings[ADZ_OPTIMIZER_SETTINGS][32], states[ADZ_OPTIMIZER_STATES][32];
    int n_settings, n_states;
} python_type;

/* What the running step calls: an update has no pointer of the program's own. */
static _Thread_local struct {
    PyObject *function;
    const python_type *type;
} running;

/* The numbers of an update are its n settings and, behind them, the step. */
#define NUMBERS(n)                                                       \
    static void numbers_##n(double *numbers, const adz_step_context *at) \
    {                                                                    \
        memcpy(numbers, at->settings, (n) * sizeof *numbers);            \
        numbers[n] = (double)at->step;                                   \
    }
NUMBERS(1)
NUMBERS(2)
NUMBERS(3)
NUMBERS(4)
NUMBERS(5)
NUMBERS(6)
NUMBERS(7)
NUMBERS(8)
NUMBERS(9)
NUMBERS(10)
NUMBERS(11)
NUMBERS(12)
NUMBERS(13)
NUMBERS(14)
NUMBERS(15)

static void (*const numbers_of[])(double *, const adz_step_context *) = { NULL, numbers_1,
    numbers_2, numbers_3, numbers_4, numbers_5, numbers_6, numbers_7, numbers_8, numbers_9,
    numbers_10, numbers_11, numbers_12, numbers_13, numbers_14, numbers_15 };

/* ---- the update ------------------------------------------------------------------------------ */

/* A setting as the update sees it: a tensor, or True or False for a flag. */
static PyObject *setting_at(const adz_update *u, const adz_field *row, int i)
{
    if (row->kind != ADZ_FIELD_BOOL) {
        return adzp_from_tensor(u->numbers[i]);
    }
    double on = adz_update_setting(u, i);
    return adz_error_code() != ADZ_OK ? (adzp_raise(), NULL) : PyBool_FromLong(on != 0);
}

static PyObject *arguments_of(const adz_update *u, const python_type *t)
{
    PyObject *states = PyList_New(t->n_states), *numbers = PyList_New(t->n_settings + 1);
    bool fine = states != NULL && numbers != NULL;
    for (int i = 0; fine && i < t->n_states; ++i) {
        PyObject *one = adzp_from_tensor(u->states[i]);
        fine = one != NULL && PyList_SetItem(states, i, one) == 0;
    }
    for (int i = 0; fine && i <= t->n_settings; ++i) {
        PyObject *one = i == t->n_settings ? adzp_from_tensor(u->numbers[i])
                                           : setting_at(u, &t->type.settings[i], i);
        fine = one != NULL && PyList_SetItem(numbers, i, one) == 0;
    }
    PyObject *made = NULL;
    if (fine) {
        PyObject *w = adzp_from_tensor(u->parameter), *g = adzp_from_tensor(u->gradient);
        made = w == NULL || g == NULL ? NULL : PyTuple_Pack(4, w, g, states, numbers);
        Py_XDECREF(w);
        Py_XDECREF(g);
    }
    Py_XDECREF(states);
    Py_XDECREF(numbers);
    return made;
}

static adz_status on_update(adz_tensor **results, const adz_update *update)
{
    if (running.function == NULL) {
        return adz_error_set("step", ADZ_ERR_UNSUPPORTED,
            "the update of this optimizer is a function of Python: call step() of its object");
    }
    PyGILState_STATE lock = PyGILState_Ensure();
    const python_type *t = running.type;
    PyObject *args = arguments_of(update, t);
    PyObject *made = args == NULL ? NULL : PyObject_CallObject(running.function, args);
    bool fine = made != NULL && PyTuple_Check(made) && PyTuple_Size(made) == 1 + t->n_states;
    for (int i = 0; fine && i <= t->n_states; ++i) {
        results[i] = adzp_handed_out(PyTuple_GetItem(made, i), "update");
        fine = results[i] != NULL;
    }
    Py_XDECREF(made);
    Py_XDECREF(args);
    if (!fine) {
        adzp_save_exception("update");
    }
    PyGILState_Release(lock);
    return fine ? ADZ_OK : adz_error_code();
}

/* ---- types, and their optimizers ------------------------------------------------------------- */

static const char capsule_name[] = "adze.optimizer_type";

static bool copy_name(char *to, size_t room, const char *from)
{
    if (strlen(from) >= room || from[0] == '\0') {
        PyErr_Format(PyExc_ValueError, "an optimizer's names have 1 to %zu characters, not '%s'",
            room - 1, from);
        return false;
    }
    memcpy(to, from, strlen(from) + 1);
    return true;
}

static bool add_settings(python_type *t, PyObject *settings)
{
    t->n_settings = (int)PyList_Size(settings);
    if (t->n_settings < 1 || t->n_settings >= ADZ_OPTIMIZER_SETTINGS) {
        PyErr_Format(PyExc_ValueError, "an optimizer has 1 to %d settings, not %d",
            ADZ_OPTIMIZER_SETTINGS - 1, t->n_settings);
        return false;
    }
    for (int i = 0; i < t->n_settings; ++i) {
        const char *name;
        double value;
        int flag;
        if (!PyArg_ParseTuple(PyList_GetItem(settings, i), "sdp", &name, &value, &flag) ||
            !copy_name(t->settings[i], sizeof t->settings[i], name)) {
            return false;
        }
        t->type.settings[i] = (adz_field){
            .name = t->settings[i], .kind = flag ? ADZ_FIELD_BOOL : ADZ_FIELD_F64, .value = value
        };
    }
    return true;
}

static bool add_states(python_type *t, PyObject *states)
{
    t->n_states = (int)PyList_Size(states);
    if (t->n_states > ADZ_OPTIMIZER_STATES) {
        PyErr_Format(PyExc_ValueError, "an optimizer has at most %d states, not %d",
            ADZ_OPTIMIZER_STATES, t->n_states);
        return false;
    }
    for (int i = 0; i < t->n_states; ++i) {
        const char *name = PyUnicode_AsUTF8AndSize(PyList_GetItem(states, i), NULL);
        if (name == NULL || !copy_name(t->states[i], sizeof t->states[i], name)) {
            return false;
        }
        t->type.states[i].name = t->states[i];
    }
    return true;
}

/* optimizer_type(name, settings, states) -> a capsule. Settings are (name, default, is a flag). */
static PyObject *optimizer_type(PyObject *self, PyObject *args)
{
    (void)self;
    const char *name;
    PyObject *settings, *states, *made = NULL;
    if (!PyArg_ParseTuple(args, "sO!O!", &name, &PyList_Type, &settings, &PyList_Type, &states)) {
        return NULL;
    }
    python_type *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return PyErr_NoMemory();
    }
    if (copy_name(t->name, sizeof t->name, name) && add_settings(t, settings) &&
        add_states(t, states)) {
        t->type.size = sizeof t->type;
        t->type.name = t->name;
        t->type.update = on_update;
        t->type.numbers = numbers_of[t->n_settings];
        t->type.n_numbers = (size_t)t->n_settings + 1;
        t->type.whole = true; /* nobody knows what the function computes */
        made = PyCapsule_New(t, capsule_name, NULL);
    }
    if (made == NULL) {
        free(t);
    }
    return made;
}

/* optimizer_of(type, parameters, values) -> an optimizer whose settings have these values */
static PyObject *optimizer_of(PyObject *self, PyObject *args)
{
    (void)self;
    adzp_call call = { "optimizer_new", 0, NULL, NULL, NULL };
    PyObject *capsule, *parameters, *values, *made = NULL;
    adz_tensor *const *p;
    const double *settings;
    size_t n = 0, m = 0;
    if (!PyArg_ParseTuple(args, "OOO", &capsule, &parameters, &values)) {
        return NULL;
    }
    const python_type *t = PyCapsule_GetPointer(capsule, capsule_name);
    if (t != NULL && adzp_tensors(&call, parameters, "params", false, &p, &n) &&
        adzp_doubles(&call, values, "values", false, &settings, &m) && adzp_begin(&call)) {
        adz_optimizer *o = adz_optimizer_new(&t->type, (adz_tensor_list){ p, n }, settings, m);
        if (adzp_done(&call)) {
            made = adzp_from_handle(&adzp_kinds[ADZP_adz_optimizer], o, true, NULL);
        } else {
            adz_optimizer_release(&o);
        }
    }
    adzp_end(&call);
    return made;
}

/* optimizer_step_by(optimizer, type, function): a step whose update is the function. */
static PyObject *optimizer_step_by(PyObject *self, PyObject *args)
{
    (void)self;
    adzp_call call = { "step", ADZP_LONG + 1, NULL, NULL, NULL };
    PyObject *optimizer, *capsule, *function, *made = NULL;
    adz_optimizer *o;
    void *user;
    if (!PyArg_ParseTuple(args, "OOO", &optimizer, &capsule, &function)) {
        return NULL;
    }
    const python_type *t = PyCapsule_GetPointer(capsule, capsule_name);
    if (t != NULL &&
        adzp_handle(&call, optimizer, "optimizer", &adzp_kinds[ADZP_adz_optimizer], false, &o) &&
        adzp_callable(&call, function, "update", false, &user)) {
        if (adz_optimizer_type_of(o) != &t->type) {
            PyErr_SetString(PyExc_TypeError, "step: the optimizer is of another type");
        } else if (call.work = ADZP_TRAINS, adzp_begin(&call)) {
            PyObject *outer = running.function; /* of a step that this function's update makes */
            const python_type *outer_type = running.type;
            running.function = function;
            running.type = t;
            adz_optimizer_step(o);
            running.function = outer;
            running.type = outer_type;
            made = adzp_done(&call) ? Py_NewRef(Py_None) : NULL;
        }
    }
    adzp_end(&call);
    return made;
}

PyMethodDef adzp_optimizer_methods[] = { { "optimizer_type", optimizer_type, METH_VARARGS,
                                             "Behind adze.optim.Optimizer." },
    { "optimizer_of", optimizer_of, METH_VARARGS, "Behind adze.optim.Optimizer." },
    { "optimizer_step_by", optimizer_step_by, METH_VARARGS, "Behind adze.optim.Optimizer." },
    { NULL, NULL, 0, NULL } };
