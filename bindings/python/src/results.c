/* Results of the library as Python has them. */
#include "adzp.h"

#include <string.h>

PyObject *adzp_dtype_class;

PyObject *adzp_from_bool(bool on)
{
    return PyBool_FromLong(on);
}

PyObject *adzp_from_shape(adz_shape shape)
{
    int n = shape.rank < 0 ? 0 : shape.rank;
    PyObject *made = PyTuple_New(n);
    for (int i = 0; made != NULL && i < n; ++i) {
        PyObject *size = PyLong_FromLongLong(shape.sizes[i]);
        if (size == NULL || PyTuple_SetItem(made, i, size) != 0) {
            Py_CLEAR(made);
        }
    }
    return made;
}

PyObject *adzp_from_dims(adz_dims dims)
{
    int n = dims.count < 0 ? 0 : dims.count;
    PyObject *made = PyTuple_New(n);
    for (int i = 0; made != NULL && i < n; ++i) {
        PyObject *dim = PyLong_FromLong(dims.dims[i]);
        if (dim == NULL || PyTuple_SetItem(made, i, dim) != 0) {
            Py_CLEAR(made);
        }
    }
    return made;
}

/* adze.float32 and so on: the class finds them by their numbers. */
PyObject *adzp_from_dtype(adz_dtype dtype)
{
    if (adzp_dtype_class == NULL) {
        return PyLong_FromLong((long)dtype);
    }
    return PyObject_CallFunction(adzp_dtype_class, "i", (int)dtype);
}

PyObject *adzp_from_string(const char *text)
{
    return text == NULL ? Py_NewRef(Py_None)
                        : PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

PyObject *adzp_from_text(adz_text text)
{
    return text.bytes == NULL ? Py_NewRef(Py_None)
                              : PyUnicode_DecodeUTF8(text.bytes, (Py_ssize_t)text.size, "replace");
}

PyObject *adzp_from_list(adz_tensor *const *items, size_t n)
{
    PyObject *made = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; made != NULL && i < n; ++i) {
        PyObject *one = adzp_from_tensor(items[i]);
        if (one == NULL || PyList_SetItem(made, (Py_ssize_t)i, one) != 0) {
            Py_CLEAR(made);
        }
    }
    return made;
}

PyObject *adzp_from_named(adz_named_list list)
{
    PyObject *made = PyList_New((Py_ssize_t)list.count);
    for (size_t i = 0; made != NULL && i < list.count; ++i) {
        PyObject *tensor = adzp_from_tensor(list.items[i].tensor);
        PyObject *pair = tensor == NULL ? NULL : Py_BuildValue("(sN)", list.items[i].name, tensor);
        if (pair == NULL || PyList_SetItem(made, (Py_ssize_t)i, pair) != 0) {
            Py_CLEAR(made);
        }
    }
    return made;
}
