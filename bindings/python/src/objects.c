/* The types of objects: tensors, and one type for each other kind of object of the library. */
#include "adzp.h"

#include <stdlib.h>
#include <string.h>

PyObject *adzp_tensor_type;
PyObject *adzp_result_type;

/* ---- tensors --------------------------------------------------------------------------------- */

bool adzp_is_tensor(PyObject *v)
{
    return (PyObject *)Py_TYPE(v) == adzp_result_type ||
           PyObject_TypeCheck(v, (PyTypeObject *)adzp_tensor_type);
}

/* A Python object with a reference of its own, of the given class. */
static PyObject *wrapped(PyTypeObject *class, adz_tensor *t)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot(class, Py_tp_alloc);
    adzp_tensor_object *made = (adzp_tensor_object *)allocate(class, 0);
    if (made != NULL) {
        made->t = adz_keep(t);
        if (made->t == NULL) {
            Py_DECREF(made);
            adzp_raise();
            return NULL;
        }
    }
    return (PyObject *)made;
}

/* A tensor of a call; None for one that was left out. */
PyObject *adzp_from_tensor(adz_tensor *t)
{
    if (t == NULL || t == adz_none()) {
        return Py_NewRef(Py_None);
    }
    return wrapped((PyTypeObject *)adzp_result_type, t);
}

/* As adzp_from_tensor, but an argument that comes back, as from calls in place, stays the object
 * that it is. */
PyObject *adzp_from_result(adz_tensor *t, PyObject *first, PyObject *second)
{
    if (first != NULL && adzp_is_tensor(first) && ((adzp_tensor_object *)first)->t == t) {
        return Py_NewRef(first);
    }
    if (second != NULL && adzp_is_tensor(second) && ((adzp_tensor_object *)second)->t == t) {
        return Py_NewRef(second);
    }
    return adzp_from_tensor(t);
}

/* Tensor(other): a second Python object of the same tensor, as a subclass needs it. */
static PyObject *tensor_new(PyTypeObject *class, PyObject *args, PyObject *names)
{
    PyObject *other = NULL;
    if (names != NULL && PyDict_Size(names) > 0) {
        PyErr_SetString(
            PyExc_TypeError, "Tensor() takes no keywords; adze.tensor makes a tensor of numbers");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "O", &other)) {
        return NULL;
    }
    if (!adzp_is_tensor(other)) {
        PyErr_SetString(
            PyExc_TypeError, "Tensor() takes a Tensor; adze.tensor makes one of numbers");
        return NULL;
    }
    return wrapped(class, ((adzp_tensor_object *)other)->t);
}

static void tensor_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    adzp_tensor_object *object = (adzp_tensor_object *)self;
    if (object->t != NULL && adz_release(&object->t) != ADZ_OK) {
        PyObject *saved[3];
        PyErr_Fetch(&saved[0], &saved[1], &saved[2]);
        adzp_raise();
        PyErr_WriteUnraisable(NULL);
        PyErr_Restore(saved[0], saved[1], saved[2]);
    }
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* Two Python objects of one tensor have one hash. */
static Py_hash_t tensor_hash(PyObject *self)
{
    uintptr_t at = (uintptr_t)((adzp_tensor_object *)self)->t;
    Py_hash_t hash = (Py_hash_t)(at >> 4 | at << (8 * sizeof at - 4));
    return hash == -1 ? -2 : hash;
}

/* The methods of tensors are those that the generator has found and those written by hand. */
static PyMethodDef *all_methods(void)
{
    size_t a = 0, b = 0;
    while (adzp_tensor_methods[a].ml_name != NULL) {
        ++a;
    }
    while (adzp_own_methods[b].ml_name != NULL) {
        ++b;
    }
    PyMethodDef *all =
        PyMem_Malloc((a + b + 1) * sizeof *all); /* lives as long as the type: for ever */
    if (all != NULL) {
        memcpy(all, adzp_tensor_methods, a * sizeof *all);
        memcpy(all + a, adzp_own_methods, (b + 1) * sizeof *all);
    }
    return all;
}

bool adzp_add_tensor_type(PyObject *module)
{
    static PyType_Slot slots[64] = { { Py_tp_new, (void *)tensor_new },
        { Py_tp_dealloc, (void *)tensor_dealloc }, { Py_tp_hash, (void *)tensor_hash },
        { Py_bf_getbuffer, (void *)adzp_get_buffer },
        { Py_bf_releasebuffer, (void *)adzp_release_buffer }, { Py_tp_getset, adzp_own_attributes },
        { Py_tp_doc, "The part of adze.Tensor that is written in C." } };
    PyMethodDef *methods = all_methods();
    slots[7].slot = Py_tp_methods;
    slots[7].pfunc = methods;
    memcpy(slots + 8, adzp_number_slots, (adzp_number_slot_count + 1) * sizeof *slots);
    PyType_Spec spec = { "adze._adze.Tensor", sizeof(adzp_tensor_object), 0,
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots };
    adzp_tensor_type = methods == NULL ? NULL : PyType_FromSpec(&spec);
    adzp_result_type = adzp_tensor_type;
    return adzp_tensor_type != NULL &&
           PyModule_AddObjectRef(module, "Tensor", adzp_tensor_type) == 0;
}

/* ---- other objects --------------------------------------------------------------------------- */

static adzp_handle_kind *kinds_of_all;
static size_t n_kinds;

static const adzp_handle_kind *kind_of(PyTypeObject *type)
{
    for (size_t i = 0; i < n_kinds; ++i) {
        if ((PyObject *)type == kinds_of_all[i].type) {
            return &kinds_of_all[i];
        }
    }
    return NULL;
}

static int handle_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((adzp_handle_object *)self)->kept);
    Py_VISIT(((adzp_handle_object *)self)->held);
    return 0;
}

static int handle_clear(PyObject *self)
{
    /* The library may still call what is kept: the object ends before it. */
    adzp_handle_object *object = (adzp_handle_object *)self;
    const adzp_handle_kind *kind = kind_of(Py_TYPE(self));
    if (object->p != NULL && object->leave != NULL) {
        object->leave(object->p);
    }
    if (object->p != NULL && object->ends && kind != NULL && kind->end != NULL) {
        kind->end(&object->p);
        if (adzp_raise()) {
            PyErr_WriteUnraisable(NULL);
        }
    }
    object->p = NULL;
    Py_CLEAR(object->held);
    Py_CLEAR(object->kept);
    return 0;
}

static void handle_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject *saved[3];
    PyObject_GC_UnTrack(self);
    PyErr_Fetch(&saved[0], &saved[1], &saved[2]);
    handle_clear(self);
    PyErr_Restore(saved[0], saved[1], saved[2]);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static Py_hash_t handle_hash(PyObject *self)
{
    uintptr_t at = (uintptr_t)((adzp_handle_object *)self)->p;
    return (Py_hash_t)(at >> 4);
}

/* Two Python objects of one module are equal. */
static PyObject *handle_compare(PyObject *a, PyObject *b, int op)
{
    if (Py_TYPE(a) != Py_TYPE(b) || (op != Py_EQ && op != Py_NE)) {
        return Py_NewRef(Py_NotImplemented);
    }
    bool same = ((adzp_handle_object *)a)->p == ((adzp_handle_object *)b)->p;
    return PyBool_FromLong(same == (op == Py_EQ));
}

bool adzp_add_handles(PyObject *module, adzp_handle_kind *kinds, size_t n)
{
    kinds_of_all = kinds;
    n_kinds = n;
    for (size_t i = 0; i < n; ++i) {
        PyType_Slot slots[] = { { Py_tp_dealloc, (void *)handle_dealloc },
            { Py_tp_traverse, (void *)handle_traverse }, { Py_tp_clear, (void *)handle_clear },
            { Py_tp_hash, (void *)handle_hash }, { Py_tp_richcompare, (void *)handle_compare },
            { Py_tp_doc, (void *)(uintptr_t)kinds[i].doc }, { 0, NULL } };
        PyType_Spec spec = { kinds[i].name, sizeof(adzp_handle_object), 0,
            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots };
        kinds[i].type = PyType_FromSpec(&spec);
        if (kinds[i].type == NULL ||
            PyModule_AddObjectRef(module, strrchr(kinds[i].name, '.') + 1, kinds[i].type) != 0) {
            return false;
        }
    }
    return true;
}

/* Makes an object live at least as long as a handle: what the library calls or reads by a pointer.
 */
bool adzp_keep(PyObject *handle, PyObject *object)
{
    adzp_handle_object *h = (adzp_handle_object *)handle;
    if (object == NULL || object == Py_None) {
        return true;
    }
    if (h->kept == NULL && (h->kept = PyList_New(0)) == NULL) {
        return false;
    }
    return PyList_Append(h->kept, object) == 0;
}

/* An object of the library; None for NULL. A borrowed one is kept, or else its owner is. */
PyObject *adzp_from_handle(const adzp_handle_kind *kind, void *p, bool owned, PyObject *owner)
{
    if (p == NULL) {
        return Py_NewRef(Py_None);
    }
    PyObject *made = NULL;
    adzp_handle_object *object = PyObject_GC_New(adzp_handle_object, (PyTypeObject *)kind->type);
    if (object != NULL) {
        object->p = owned || kind->keep == NULL ? p : kind->keep(p);
        object->ends = owned || kind->keep != NULL;
        object->kept = object->held = NULL;
        object->leave = NULL;
        made = (PyObject *)object;
        PyObject_GC_Track(made);
    }
    if (made != NULL && !owned && !adzp_keep(made, owner)) {
        Py_CLEAR(made);
    }
    if (made == NULL && owned) {
        kind->end(&p);
    }
    return made;
}
