/* Arguments of Python as the library takes them. */
#include "adzp.h"

#include <limits.h>
#include <string.h>

bool adzp_is_number(PyObject *v)
{
    if (PyFloat_Check(v) || PyLong_Check(v)) {
        return true;
    }
    return !adzp_is_tensor(v) && PyNumber_Check(v) && !PySequence_Check(v) &&
           PyType_GetSlot(Py_TYPE(v), Py_nb_float) != NULL;
}

bool adzp_tensor(adzp_call *call, PyObject *v, const char *argument, bool optional, adz_tensor **to)
{
    if (adzp_is_tensor(v)) {
        *to = ((adzp_tensor_object *)v)->t;
        int64_t n = adz_tensor_numel(*to);
        call->work += n;
        return true;
    }
    if (v == Py_None && optional) {
        *to = adz_none();
        return true;
    }
    return adzp_wrong(call, argument, optional ? "a Tensor or None" : "a Tensor", v);
}

bool adzp_handle(adzp_call *call, PyObject *v, const char *argument, const adzp_handle_kind *kind,
    bool optional, void *to)
{
    void *p = NULL;
    if (v == Py_None && optional) {
        memcpy(to, &p, sizeof p);
        return true;
    }
    if (!PyObject_TypeCheck(v, (PyTypeObject *)kind->type)) {
        return adzp_wrong(call, argument, kind->name, v);
    }
    p = ((adzp_handle_object *)v)->p;
    if (p == NULL) {
        PyErr_Format(PyExc_ValueError, "%s: %s has been freed", call->name, argument);
        return false;
    }
    memcpy(to, &p, sizeof p);
    return true;
}

/* Whether a whole number of Python is the double that it became. A rounded one would be another
 * element of an int64 tensor. */
static bool exact(adzp_call *call, PyObject *v, const char *argument, double value)
{
    if (!(value >= 9007199254740992.0 || value <= -9007199254740992.0) || PyFloat_Check(v) ||
        adzp_is_tensor(v) || !PyIndex_Check(v)) {
        return true;
    }
    PyObject *whole = PyNumber_Index(v), *back = PyLong_FromDouble(value);
    int same = whole == NULL || back == NULL ? -1 : PyObject_RichCompareBool(whole, back, Py_EQ);
    if (same == 0) {
        PyErr_Format(PyExc_OverflowError,
            "%s: %s is %R, which float64 cannot hold; give a tensor of int64, or a float",
            call->name, argument, v);
    }
    Py_XDECREF(whole);
    Py_XDECREF(back);
    return same == 1;
}

bool adzp_double(adzp_call *call, PyObject *v, const char *argument, double *to)
{
    *to = PyFloat_AsDouble(v);
    if (*to == -1 && PyErr_Occurred()) {
        if (PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Clear();
            return adzp_wrong(call, argument, "a number", v);
        }
        return false;
    }
    return exact(call, v, argument, *to);
}

static bool whole(
    adzp_call *call, PyObject *v, const char *argument, int64_t least, int64_t most, int64_t *to)
{
    PyObject *number = PyIndex_Check(v) ? PyNumber_Index(v) : NULL;
    if (number == NULL) {
        return PyErr_Occurred() ? false : adzp_wrong(call, argument, "a whole number", v);
    }
    *to = PyLong_AsLongLong(number);
    Py_DECREF(number);
    if (*to == -1 && PyErr_Occurred()) {
        return false;
    }
    if (*to < least || *to > most) {
        PyErr_Format(PyExc_OverflowError, "%s: %s is %lld, but must be from %lld to %lld",
            call->name, argument, (long long)*to, (long long)least, (long long)most);
        return false;
    }
    return true;
}

bool adzp_int64(adzp_call *call, PyObject *v, const char *argument, int64_t *to)
{
    return whole(call, v, argument, INT64_MIN, INT64_MAX, to);
}

/* None stands for the number that means "none", INT64_MIN. */
bool adzp_int64_none(adzp_call *call, PyObject *v, const char *argument, int64_t *to)
{
    *to = INT64_MIN;
    return v == Py_None || adzp_int64(call, v, argument, to);
}

bool adzp_int(adzp_call *call, PyObject *v, const char *argument, int *to)
{
    int64_t n = 0;
    if (!whole(call, v, argument, INT_MIN, INT_MAX, &n)) {
        return false;
    }
    *to = (int)n;
    return true;
}

bool adzp_size(adzp_call *call, PyObject *v, const char *argument, size_t *to)
{
    int64_t n = 0;
    if (!whole(call, v, argument, 0, INT64_MAX, &n)) {
        return false;
    }
    *to = (size_t)n;
    return true;
}

bool adzp_uint32(adzp_call *call, PyObject *v, const char *argument, uint32_t *to)
{
    int64_t n = 0;
    if (!whole(call, v, argument, 0, UINT32_MAX, &n)) {
        return false;
    }
    *to = (uint32_t)n;
    return true;
}

bool adzp_uint64(adzp_call *call, PyObject *v, const char *argument, uint64_t *to)
{
    PyObject *number = PyIndex_Check(v) ? PyNumber_Index(v) : NULL;
    if (number == NULL) {
        return PyErr_Occurred() ? false : adzp_wrong(call, argument, "a whole number", v);
    }
    *to = PyLong_AsUnsignedLongLong(number);
    Py_DECREF(number);
    return !PyErr_Occurred();
}

bool adzp_char(adzp_call *call, PyObject *v, const char *argument, char *to)
{
    const char *text;
    if (!adzp_string(call, v, argument, false, &text)) {
        return false;
    }
    if (strlen(text) > 1) {
        return adzp_wrong(call, argument, "one character", v);
    }
    *to = text[0];
    return true;
}

/* A number is refused, because x.sum(0, 1) means two dimensions to some readers. Constructors take
 * it, as PyTorch's do. */
bool adzp_bool(adzp_call *call, PyObject *v, const char *argument, bool *to)
{
    size_t n = strlen(call->name);
    bool number = PyLong_Check(v) && n > 4 && strcmp(call->name + n - 4, "_new") == 0;
    PyObject *type = PyBool_Check(v) || number ? NULL : PyType_GetName(Py_TYPE(v));
    bool other = type != NULL && (PyUnicode_CompareWithASCIIString(type, "bool") == 0 ||
                                     PyUnicode_CompareWithASCIIString(type, "bool_") == 0);
    Py_XDECREF(type);
    if (!PyBool_Check(v) && !number && !other) {
        return adzp_wrong(call, argument, "True or False", v);
    }
    int truth = PyObject_IsTrue(v);
    *to = truth == 1;
    return truth >= 0;
}

/* A word of an enumeration, such as "mean", or its number. */
bool adzp_word_of(
    adzp_call *call, PyObject *v, const char *argument, const adzp_word *words, int *to)
{
    char all[256] = "";
    if (PyUnicode_Check(v)) {
        for (const adzp_word *w = words; w->word != NULL; ++w) {
            if (PyUnicode_CompareWithASCIIString(v, w->word) == 0) {
                *to = w->value;
                return true;
            }
            if (strlen(all) + strlen(w->word) + 3 < sizeof all) {
                strcat(strcat(all, all[0] == '\0' ? "" : ", "), w->word);
            }
        }
        PyErr_Format(PyExc_ValueError, "%s: %s is '%U', but must be one of: %s", call->name,
            argument, v, all);
        return false;
    }
    return adzp_int(call, v, argument, to);
}

/* ---- lists of numbers ------------------------------------------------------------------------ */

/* A sequence as a tuple that lives until the call is over; NULL with an exception. */
static PyObject *sequence(adzp_call *call, PyObject *v, const char *argument, const char *wanted)
{
    if (!PySequence_Check(v) && !PyIter_Check(v)) {
        adzp_wrong(call, argument, wanted, v);
        return NULL;
    }
    if (PyUnicode_Check(v) || adzp_is_tensor(v)) {
        adzp_wrong(call, argument, wanted, v);
        return NULL;
    }
    PyObject *all = PySequence_Tuple(v);
    return adzp_hold(call, all) ? all : NULL;
}

/* One number, or a sequence of up to ADZ_MAX_RANK; their count, or -1 with an exception. */
static int few(adzp_call *call, PyObject *v, const char *argument, int64_t *to)
{
    if (PyIndex_Check(v) && !PyTuple_Check(v)) {
        return adzp_int64(call, v, argument, to) ? 1 : -1;
    }
    PyObject *all = PyTuple_Check(v) ? v : sequence(call, v, argument, "a whole number or several");
    if (all == NULL) {
        return -1;
    }
    Py_ssize_t n = PyTuple_Size(all);
    if (n > ADZ_MAX_RANK) {
        PyErr_Format(PyExc_ValueError,
            "%s: %s has %zd numbers, but a tensor has at most %d dimensions", call->name, argument,
            n, ADZ_MAX_RANK);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; ++i) {
        if (!adzp_int64(call, PyTuple_GetItem(all, i), argument, &to[i])) {
            return -1;
        }
    }
    return (int)n;
}

bool adzp_shape(adzp_call *call, PyObject *v, const char *argument, adz_shape *to)
{
    int64_t sizes[ADZ_MAX_RANK], numel = 1;
    int n = few(call, v, argument, sizes);
    if (n < 0) {
        return false;
    }
    *to = adz_shape_of(n, sizes);
    for (int i = 0; i < n; ++i) {
        numel = sizes[i] > 0 && numel < ADZP_LONG && sizes[i] < ADZP_LONG ? numel * sizes[i]
                                                                          : numel + ADZP_LONG;
    }
    call->work += numel;
    return true;
}

/* None and an empty sequence stand for all dimensions. */
bool adzp_dims(adzp_call *call, PyObject *v, const char *argument, adz_dims *to)
{
    int64_t given[ADZ_MAX_RANK];
    int dims[ADZ_MAX_RANK], n = v == Py_None ? 0 : few(call, v, argument, given);
    for (int i = 0; i < n; ++i) {
        if (given[i] < INT_MIN || given[i] > INT_MAX) {
            PyErr_Format(PyExc_IndexError, "%s: %s names a dimension that no tensor has",
                call->name, argument);
            return false;
        }
        dims[i] = (int)given[i];
    }
    *to = adz_dims_of(n < 0 ? 0 : n, dims);
    return n >= 0;
}

bool adzp_doubles(
    adzp_call *call, PyObject *v, const char *argument, bool optional, const double **to, size_t *n)
{
    *to = NULL;
    *n = 0;
    if (v == Py_None && optional) {
        return true;
    }
    PyObject *all = sequence(call, v, argument, "a sequence of numbers");
    double *made = all == NULL ? NULL : adzp_room(call, (size_t)PyTuple_Size(all) * sizeof *made);
    for (Py_ssize_t i = 0; made != NULL && i < PyTuple_Size(all); ++i) {
        if (!adzp_double(call, PyTuple_GetItem(all, i), argument, &made[i])) {
            return false;
        }
    }
    *to = made;
    *n = all == NULL ? 0 : (size_t)PyTuple_Size(all);
    return made != NULL;
}

bool adzp_int64s(adzp_call *call, PyObject *v, const char *argument, bool optional,
    const int64_t **to, size_t *n)
{
    *to = NULL;
    *n = 0;
    if (v == Py_None && optional) {
        return true;
    }
    PyObject *all = sequence(call, v, argument, "a sequence of whole numbers");
    int64_t *made = all == NULL ? NULL : adzp_room(call, (size_t)PyTuple_Size(all) * sizeof *made);
    for (Py_ssize_t i = 0; made != NULL && i < PyTuple_Size(all); ++i) {
        if (!adzp_int64(call, PyTuple_GetItem(all, i), argument, &made[i])) {
            return false;
        }
    }
    *to = made;
    *n = all == NULL ? 0 : (size_t)PyTuple_Size(all);
    return made != NULL;
}

/* ---- lists of objects ------------------------------------------------------------------------ */

bool adzp_tensors(adzp_call *call, PyObject *v, const char *argument, bool optional,
    adz_tensor *const **to, size_t *n)
{
    *to = NULL;
    *n = 0;
    if (v == Py_None && optional) {
        return true;
    }
    PyObject *all = sequence(call, v, argument, "a sequence of tensors");
    adz_tensor **made =
        all == NULL ? NULL : adzp_room(call, (size_t)PyTuple_Size(all) * sizeof *made);
    for (Py_ssize_t i = 0; made != NULL && i < PyTuple_Size(all); ++i) {
        if (!adzp_tensor(call, PyTuple_GetItem(all, i), argument, true, &made[i])) {
            return false;
        }
    }
    *to = made;
    *n = all == NULL ? 0 : (size_t)PyTuple_Size(all);
    return made != NULL;
}

bool adzp_handles(adzp_call *call, PyObject *v, const char *argument, const adzp_handle_kind *kind,
    bool optional, void *to, size_t *n)
{
    void **made = NULL;
    *n = 0;
    memcpy(to, &made, sizeof made);
    if (v == Py_None && optional) {
        return true;
    }
    PyObject *all = sequence(call, v, argument, "a sequence of objects");
    made = all == NULL ? NULL : adzp_room(call, (size_t)PyTuple_Size(all) * sizeof *made);
    for (Py_ssize_t i = 0; made != NULL && i < PyTuple_Size(all); ++i) {
        if (!adzp_handle(call, PyTuple_GetItem(all, i), argument, kind, false, &made[i])) {
            return false;
        }
    }
    memcpy(to, &made, sizeof made);
    *n = all == NULL ? 0 : (size_t)PyTuple_Size(all);
    return made != NULL;
}

bool adzp_named(
    adzp_call *call, PyObject *v, const char *argument, const adz_named_tensor **to, size_t *n)
{
    PyObject *items = PyDict_Check(v) ? PyDict_Items(v) : Py_NewRef(v);
    if (!adzp_hold(call, items)) {
        return false;
    }
    PyObject *all =
        sequence(call, items, argument, "a dictionary of tensors, or pairs of a name and a tensor");
    adz_named_tensor *made =
        all == NULL ? NULL : adzp_room(call, (size_t)PyTuple_Size(all) * sizeof *made);
    for (Py_ssize_t i = 0; made != NULL && i < PyTuple_Size(all); ++i) {
        PyObject *pair = PyTuple_GetItem(all, i);
        if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2) {
            return adzp_wrong(call, argument, "pairs of a name and a tensor", pair);
        }
        if (!adzp_string(call, PyTuple_GetItem(pair, 0), argument, true, &made[i].name) ||
            !adzp_tensor(call, PyTuple_GetItem(pair, 1), argument, true, &made[i].tensor)) {
            return false;
        }
    }
    *to = made;
    *n = all == NULL ? 0 : (size_t)PyTuple_Size(all);
    return made != NULL;
}

bool adzp_same_count(adzp_call *call, const char *argument, size_t n, size_t wanted)
{
    if (n == wanted) {
        return true;
    }
    PyErr_Format(PyExc_ValueError, "%s: %s has %zu elements, but must have %zu", call->name,
        argument, n, wanted);
    return false;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static const char *utf8(adzp_call *call, PyObject *v, const char *argument, Py_ssize_t *size)
{
    if (!PyUnicode_Check(v)) {
        adzp_wrong(call, argument, "a str", v);
        return NULL;
    }
    return PyUnicode_AsUTF8AndSize(v, size);
}

bool adzp_string(adzp_call *call, PyObject *v, const char *argument, bool optional, const char **to)
{
    Py_ssize_t size = 0;
    *to = NULL;
    if (v == Py_None && optional) {
        return true;
    }
    *to = utf8(call, v, argument, &size);
    if (*to != NULL && (size_t)size != strlen(*to)) {
        PyErr_Format(PyExc_ValueError, "%s: %s has a null character", call->name, argument);
        return false;
    }
    return *to != NULL;
}

bool adzp_path(adzp_call *call, PyObject *v, const char *argument, const char **to)
{
    PyObject *path = NULL;
    if (!PyUnicode_FSConverter(v, &path)) {
        return false;
    }
    *to = PyBytes_AsString(path);
    (void)argument;
    return adzp_hold(call, path) && *to != NULL;
}

bool adzp_text(adzp_call *call, PyObject *v, const char *argument, adz_text *to)
{
    Py_ssize_t size = 0;
    to->bytes = utf8(call, v, argument, &size);
    to->size = (size_t)size;
    return to->bytes != NULL;
}

bool adzp_bytes(adzp_call *call, PyObject *v, const char *argument, const void **to, size_t *n)
{
    if (!PyBytes_Check(v)) {
        return adzp_wrong(call, argument, "bytes", v);
    }
    *to = PyBytes_AsString(v);
    *n = (size_t)PyBytes_Size(v);
    return true;
}

bool adzp_strings(adzp_call *call, PyObject *v, const char *argument, bool optional,
    const char *const **to, size_t *n)
{
    *to = NULL;
    *n = 0;
    if (v == Py_None && optional) {
        return true;
    }
    PyObject *all = sequence(call, v, argument, "a sequence of str");
    const char **made =
        all == NULL ? NULL : adzp_room(call, ((size_t)PyTuple_Size(all) + 1) * sizeof *made);
    for (Py_ssize_t i = 0; made != NULL && i < PyTuple_Size(all); ++i) {
        if (!adzp_string(call, PyTuple_GetItem(all, i), argument, false, &made[i])) {
            return false;
        }
    }
    *to = made;
    *n = all == NULL ? 0 : (size_t)PyTuple_Size(all);
    return made != NULL;
}

bool adzp_texts(adzp_call *call, PyObject *v, const char *argument, bool optional,
    const adz_text **to, size_t *n)
{
    *to = NULL;
    *n = 0;
    if (v == Py_None && optional) {
        return true;
    }
    PyObject *all = sequence(call, v, argument, "a sequence of str");
    adz_text *made = all == NULL ? NULL : adzp_room(call, (size_t)PyTuple_Size(all) * sizeof *made);
    for (Py_ssize_t i = 0; made != NULL && i < PyTuple_Size(all); ++i) {
        if (!adzp_text(call, PyTuple_GetItem(all, i), argument, &made[i])) {
            return false;
        }
    }
    *to = made;
    *n = all == NULL ? 0 : (size_t)PyTuple_Size(all);
    return made != NULL;
}
