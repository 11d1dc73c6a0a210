/* Memory that is shared without copying: with numpy by Python's buffers, with others by DLPack. */
#include "adzp.h"

#include <string.h>

/* Letters of the buffer protocol for dtypes, in their order; NULL where it has none. */
static const char *const letters[] = { "f", "d", "i", "q", "B", "?", "e", NULL };

static adz_dl_data_type dl_type(adz_dtype dtype)
{
    static const adz_dl_data_type types[] = { { 2, 32, 1 }, { 2, 64, 1 }, { 0, 32, 1 },
        { 0, 64, 1 }, { 1, 8, 1 }, { 6, 8, 1 }, { 2, 16, 1 }, { 4, 16, 1 } };
    return types[dtype];
}

/* The memory of a tensor, held by a view: the tensor itself may get other memory, as from
 * Module.to. */
static adz_dl_managed_tensor *handed_out(adz_tensor *t, bool copy)
{
    adz_scope *scope = adz_scope_open();
    adz_dl_managed_tensor *managed = NULL;
    if (adz_tensor_requires_grad(t)) {
        adz_error_set("numpy", ADZ_ERR_GRAPH, "the tensor wants a gradient; share x.detach()");
    } else {
        adz_tensor *same = adz_detach(t);
        managed = adz_tensor_to_dlpack(copy ? adz_clone(same) : same);
    }
    adz_scope_close(scope);
    return managed;
}

/* ---- buffers --------------------------------------------------------------------------------- */

typedef struct exported {
    adz_dl_managed_tensor *managed;
    Py_ssize_t shape[ADZ_MAX_RANK], strides[ADZ_MAX_RANK];
} exported;

static bool fits_request(const Py_buffer *view, bool contiguous, int flags)
{
    bool strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    bool wants_c = (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS;
    bool wants_f = (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS;
    if (!contiguous && (!strided || wants_c)) {
        PyErr_SetString(PyExc_BufferError, "the tensor is not contiguous; share x.contiguous()");
        return false;
    }
    if (wants_f && view->ndim > 1) {
        PyErr_SetString(PyExc_BufferError, "the tensor is not in Fortran's order");
        return false;
    }
    return true;
}

static void fill_view(Py_buffer *view, exported *e, adz_dtype dtype, bool contiguous, int flags)
{
    const adz_dl_tensor *dl = &e->managed->dl_tensor;
    Py_ssize_t item = (Py_ssize_t)adz_dtype_size(dtype), numel = 1;
    for (int i = 0; i < dl->ndim; ++i) {
        e->shape[i] = (Py_ssize_t)dl->shape[i];
        e->strides[i] = (Py_ssize_t)dl->strides[i] * item;
        numel *= e->shape[i];
    }
    view->buf = dl->data;
    view->len = numel * item;
    view->itemsize = item;
    view->readonly = 0;
    view->ndim = (flags & PyBUF_ND) == PyBUF_ND || !contiguous ? dl->ndim : 1;
    view->format =
        (flags & PyBUF_FORMAT) == PyBUF_FORMAT ? (char *)(uintptr_t)letters[dtype] : NULL;
    view->shape = (flags & PyBUF_ND) == PyBUF_ND ? e->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? e->strides : NULL;
    view->suboffsets = NULL;
    view->internal = e;
}

int adzp_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    adz_tensor *t = ((adzp_tensor_object *)self)->t;
    adz_dtype dtype = adz_tensor_dtype(t);
    bool contiguous = adz_tensor_is_contiguous(t);
    view->obj = NULL;
    if (letters[dtype] == NULL) {
        PyErr_SetString(PyExc_BufferError, "numpy has no bfloat16; share x.float()");
        return -1;
    }
    exported *e = PyMem_Malloc(sizeof *e);
    if (e == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    e->managed = handed_out(t, false);
    if (e->managed == NULL) {
        PyMem_Free(e);
        adzp_raise();
        return -1;
    }
    fill_view(view, e, dtype, contiguous, flags);
    if (!fits_request(view, contiguous, flags)) {
        e->managed->deleter(e->managed);
        PyMem_Free(e);
        return -1;
    }
    view->obj = Py_NewRef(self);
    return 0;
}

void adzp_release_buffer(PyObject *self, Py_buffer *view)
{
    exported *e = view->internal;
    (void)self;
    e->managed->deleter(e->managed);
    PyMem_Free(e);
}

/* ---- tensors over buffers -------------------------------------------------------------------- */

/* Memory of Python that a tensor lies over, and how DLPack describes it. */
typedef struct taken {
    adz_dl_managed_tensor managed;
    Py_buffer view;
    int64_t shape[ADZ_MAX_RANK], strides[ADZ_MAX_RANK];
} taken;

/* The last tensor over the memory has ended, on any thread. When Python has ended, its memory has,
 * too. */
static void end_taken(adz_dl_managed_tensor *managed)
{
    if (!Py_IsInitialized()) {
        return;
    }
    PyGILState_STATE lock = PyGILState_Ensure();
    taken *k = managed->manager_ctx;
    PyBuffer_Release(&k->view);
    PyMem_Free(k);
    PyGILState_Release(lock);
}

static bool dtype_of(const Py_buffer *view, adz_dtype *dtype)
{
    const char *format = view->format == NULL ? "B" : view->format;
    format += *format == '@' || *format == '=' || *format == '<';
    char letter = *format;
    if (letter == 'l') { /* long: numpy's int64 here */
        letter = sizeof(long) == 8 || view->itemsize == 8 ? 'q' : 'i';
    }
    for (int i = 0; i < 7 && format[0] != '\0' && format[1] == '\0'; ++i) {
        if (letters[i][0] == letter && (size_t)view->itemsize == adz_dtype_size((adz_dtype)i)) {
            *dtype = (adz_dtype)i;
            return true;
        }
    }
    PyErr_Format(PyExc_TypeError,
        "no dtype of adze has elements of the format '%s'; the dtypes are float32, float64, "
        "int32, int64, uint8, bool and float16",
        view->format == NULL ? "B" : view->format);
    return false;
}

static bool describe(taken *k)
{
    adz_dtype dtype = ADZ_F32;
    const Py_buffer *view = &k->view;
    if (view->ndim > ADZ_MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "the array has %d dimensions, but a tensor has at most %d",
            view->ndim, ADZ_MAX_RANK);
        return false;
    }
    if (!dtype_of(view, &dtype)) {
        return false;
    }
    if (view->suboffsets != NULL || (view->ndim > 0 && view->shape == NULL)) {
        PyErr_SetString(PyExc_ValueError,
            "the array consists of pointers to its parts; copy it with adze.tensor(a)");
        return false;
    }
    Py_ssize_t dense = view->itemsize;
    for (int i = view->ndim - 1; i >= 0 && view->strides == NULL; --i) { /* arrays of ctypes */
        k->shape[i] = view->shape[i];
        k->strides[i] = dense / view->itemsize;
        dense *= view->shape[i];
    }
    for (int i = 0; i < view->ndim && view->strides != NULL; ++i) {
        k->shape[i] = view->shape[i];
        k->strides[i] = view->strides[i] / view->itemsize;
        if (view->strides[i] % view->itemsize != 0 || view->strides[i] < 0) {
            PyErr_SetString(PyExc_ValueError,
                "the array has a stride that is negative or no multiple of its "
                "elements' size; copy it with adze.tensor(a)");
            return false;
        }
    }
    k->managed = (adz_dl_managed_tensor){ .dl_tensor = { .data = view->buf,
                                              .device = { 1, 0 },
                                              .ndim = view->ndim,
                                              .dtype = dl_type(dtype),
                                              .shape = k->shape,
                                              .strides = k->strides },
        .manager_ctx = k,
        .deleter = end_taken };
    return true;
}

/* Whether an object has memory that a tensor can be made of. */
static bool is_array(PyObject *object)
{
    if (PyObject_CheckBuffer(object)) {
        return true;
    }
    PyObject *type = PyType_GetName(Py_TYPE(object));
    PyErr_Format(PyExc_TypeError,
        "a tensor is made of numbers, of lists of them or of an array, not of %V; "
        "adze.from_dlpack takes other libraries' tensors",
        type, "another object");
    Py_XDECREF(type);
    return false;
}

/* from_buffer(object): a tensor over the memory of an array, which both may write. */
static PyObject *from_buffer(PyObject *self, PyObject *object)
{
    (void)self;
    if (!is_array(object)) {
        return NULL;
    }
    taken *k = PyMem_Calloc(1, sizeof *k);
    if (k == NULL) {
        return PyErr_NoMemory();
    }
    if (PyObject_GetBuffer(object, &k->view, PyBUF_FULL_RO) != 0) {
        PyMem_Free(k);
        return NULL;
    }
    PyObject *made = NULL;
    if (k->view.readonly) {
        PyErr_SetString(PyExc_ValueError,
            "the array is read-only, and a tensor over it could be written; copy it with "
            "adze.tensor(a)");
    } else if (describe(k)) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *t = adz_tensor_from_dlpack(&k->managed);
        if (t != NULL) {
            k = NULL; /* the tensor's now */
            made = adzp_from_tensor(t);
        }
        adz_scope_close(scope);
        adzp_raise();
    }
    if (k != NULL) {
        PyBuffer_Release(&k->view);
        PyMem_Free(k);
    }
    return made;
}

/* tensor_of(object): a tensor with a copy of an array's elements. */
static PyObject *tensor_of(PyObject *self, PyObject *object)
{
    (void)self;
    Py_buffer view;
    adz_dtype dtype = ADZ_F32;
    PyObject *made = NULL;
    if (!is_array(object) || PyObject_GetBuffer(object, &view, PyBUF_FULL_RO) != 0) {
        return NULL;
    }
    if (view.ndim > ADZ_MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "%d dimensions, but a tensor has at most %d", view.ndim,
            ADZ_MAX_RANK);
    } else if (dtype_of(&view, &dtype)) {
        adz_scope *scope = adz_scope_open();
        int64_t sizes[ADZ_MAX_RANK];
        for (int i = 0; i < view.ndim; ++i) {
            sizes[i] = view.shape[i];
        }
        adz_tensor *t = adz_empty(adz_shape_of(view.ndim, sizes), dtype);
        if (t != NULL && PyBuffer_ToContiguous(adz_tensor_data(t), &view, view.len, 'C') == 0) {
            made = adzp_from_tensor(t);
        }
        adz_scope_close(scope);
        adzp_raise();
    }
    PyBuffer_Release(&view);
    return made;
}

/* ---- DLPack ---------------------------------------------------------------------------------- */

static void end_capsule(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor")) { /* nobody has taken it */
        adz_dl_managed_tensor *managed = PyCapsule_GetPointer(capsule, "dltensor");
        managed->deleter(managed);
    }
}

/* x.__dlpack__(stream=None, ...): every consumer may take a capsule without a version. */
static PyObject *to_dlpack(PyObject *self, PyObject *args, PyObject *names)
{
    (void)args;
    PyObject *stream = names == NULL ? NULL : PyDict_GetItemString(names, "stream");
    if (stream != NULL && stream != Py_None) {
        PyErr_SetString(PyExc_BufferError,
            "a tensor of adze is in the memory of the processor and has no stream");
        return NULL;
    }
    PyObject *copy = names == NULL ? NULL : PyDict_GetItemString(names, "copy");
    PyObject *device = names == NULL ? NULL : PyDict_GetItemString(names, "dl_device");
    int kind = 1, number = 0;
    if (device != NULL && device != Py_None &&
        (!PyTuple_Check(device) || !PyArg_ParseTuple(device, "ii", &kind, &number) || kind != 1)) {
        PyErr_SetString(PyExc_BufferError, "a tensor of adze is in the memory of the processor");
        return NULL;
    }
    adz_dl_managed_tensor *managed =
        handed_out(((adzp_tensor_object *)self)->t, copy != NULL && copy == Py_True);
    if (managed == NULL) {
        adzp_raise();
        return NULL;
    }
    PyObject *capsule = PyCapsule_New(managed, "dltensor", end_capsule);
    if (capsule == NULL) {
        managed->deleter(managed);
    }
    return capsule;
}

static PyObject *dlpack_device(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return Py_BuildValue("(ii)", 1, 0);
}

/* from_capsule(capsule): a tensor over the memory of another library's, which both may write. */
static PyObject *from_capsule(PyObject *self, PyObject *capsule)
{
    (void)self;
    adz_dl_managed_tensor *managed = PyCapsule_GetPointer(capsule, "dltensor");
    if (managed == NULL) {
        return NULL;
    }
    adz_scope *scope = adz_scope_open();
    adz_tensor *t = adz_tensor_from_dlpack(managed);
    PyObject *made = NULL;
    if (t != NULL) {
        PyCapsule_SetName(capsule, "used_dltensor");
        made = adzp_from_tensor(t);
    }
    adz_scope_close(scope);
    adzp_raise();
    return made;
}

PyMethodDef adzp_share_methods[] = {
    { "from_buffer", from_buffer, METH_O,
        "A tensor over the memory of an array, which is not copied." },
    { "tensor_of", tensor_of, METH_O, "A tensor with a copy of an array's elements." },
    { "from_capsule", from_capsule, METH_O,
        "A tensor over the memory that a capsule of DLPack describes." },
    { NULL, NULL, 0, NULL }
};

static PyObject *item(PyObject *self, PyObject *unused)
{
    (void)unused;
    adz_tensor *t = ((adzp_tensor_object *)self)->t;
    adz_dtype d = adz_tensor_dtype(t);
    if (d == ADZ_I32 || d == ADZ_I64 || d == ADZ_U8 || d == ADZ_BOOL) {
        int64_t value = adz_item_i64(t);
        return adzp_raise()    ? NULL
               : d == ADZ_BOOL ? PyBool_FromLong(value != 0)
                               : PyLong_FromLongLong(value);
    }
    double value = adz_item(t);
    return adzp_raise() ? NULL : PyFloat_FromDouble(value);
}

static PyObject *data_ptr(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromVoidPtr(adz_tensor_data(((adzp_tensor_object *)self)->t));
}

static PyObject *text(PyObject *self, PyObject *unused)
{
    (void)unused;
    adz_tensor *t = ((adzp_tensor_object *)self)->t;
    size_t size = adz_tensor_to_string(t, NULL, 0);
    char *buffer = PyMem_Malloc(size + 1);
    if (buffer == NULL) {
        return PyErr_NoMemory();
    }
    adz_tensor_to_string(t, buffer, size + 1);
    PyObject *made = adzp_raise() ? NULL : adzp_from_string(buffer);
    PyMem_Free(buffer);
    return made;
}

PyMethodDef adzp_own_methods[] = { { "item", item, METH_NOARGS,
                                       "The value of a tensor with one element." },
    { "data_ptr", data_ptr, METH_NOARGS, "The address of the first element." },
    { "_text", text, METH_NOARGS, "The tensor as PyTorch prints it." },
    { "__dlpack__", (PyCFunction)(void (*)(void))to_dlpack, METH_VARARGS | METH_KEYWORDS,
        "Shares the memory with another library: a capsule of DLPack." },
    { "__dlpack_device__", dlpack_device, METH_NOARGS,
        "The device in DLPack's words: (1, 0), the processor." },
    { NULL, NULL, 0, NULL } };
