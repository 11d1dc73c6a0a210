/* The extension adze._adze: its table of functions, and what adze/__init__.py tells it. */
#include "adzp.h"

#include <string.h>

extern PyMethodDef adzp_share_methods[], adzp_training_methods[], adzp_hook_methods[],
    adzp_loop_methods[], adzp_function_methods[], adzp_optimizer_methods[];

/* set_classes(tensor, dtype): the classes of Python that results have from now on. */
static PyObject *set_classes(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *tensor, *dtype;
    if (!PyArg_ParseTuple(args, "OO", &tensor, &dtype)) {
        return NULL;
    }
    if (!PyType_Check(tensor) ||
        !PyType_IsSubtype((PyTypeObject *)tensor, (PyTypeObject *)adzp_tensor_type)) {
        PyErr_SetString(
            PyExc_TypeError, "set_classes: a class of tensors is a subclass of adze._adze.Tensor");
        return NULL;
    }
    adzp_result_type = Py_NewRef(tensor); /* lives as long as the process, as the extension does */
    adzp_dtype_class = Py_NewRef(dtype);
    return Py_NewRef(Py_None);
}

/* keep(handle, object): the object lives as long as the handle. */
static PyObject *keep(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *handle, *object;
    if (!PyArg_ParseTuple(args, "OO", &handle, &object)) {
        return NULL;
    }
    for (size_t i = 0; i < adzp_kind_count; ++i) {
        if ((PyObject *)Py_TYPE(handle) == adzp_kinds[i].type) {
            return adzp_keep(handle, object) ? Py_NewRef(Py_None) : NULL;
        }
    }
    PyErr_SetString(PyExc_TypeError, "keep: not an object of the library");
    return NULL;
}

static PyMethodDef own[] = { { "set_classes", set_classes, METH_VARARGS,
                                 "Sets the classes of results." },
    { "keep", keep, METH_VARARGS, "Makes an object live as long as a handle." },
    { NULL, NULL, 0, NULL } };

PyMODINIT_FUNC PyInit__adze(void);
PyMODINIT_FUNC PyInit__adze(void)
{
    static PyModuleDef definition = { PyModuleDef_HEAD_INIT, "adze._adze",
        "The functions of the library, made from its headers. Use the package adze.", -1, NULL,
        NULL, NULL, NULL, NULL };
    if (strcmp(adz_version(), ADZP_VERSION) != 0) {
        PyErr_Format(PyExc_ImportError, "adze is %s, but the library that was found is %s",
            ADZP_VERSION, adz_version());
        return NULL;
    }
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL &&
        (PyModule_AddFunctions(module, adzp_functions) != 0 ||
            PyModule_AddFunctions(module, own) != 0 ||
            PyModule_AddFunctions(module, adzp_share_methods) != 0 ||
            PyModule_AddFunctions(module, adzp_training_methods) != 0 ||
            PyModule_AddFunctions(module, adzp_hook_methods) != 0 ||
            PyModule_AddFunctions(module, adzp_loop_methods) != 0 ||
            PyModule_AddFunctions(module, adzp_function_methods) != 0 ||
            PyModule_AddFunctions(module, adzp_optimizer_methods) != 0 ||
            !adzp_add_tensor_type(module) ||
            !adzp_add_handles(module, adzp_kinds, adzp_kind_count) ||
            !adzp_add_errors(module, adzp_status_names, adzp_status_count) ||
            PyModule_AddStringConstant(module, "version", ADZP_VERSION) != 0 ||
            PyModule_AddStringConstant(module, "operators", adzp_operators) != 0 ||
            PyModule_AddStringConstant(module, "layers", adzp_layers) != 0 ||
            PyModule_AddStringConstant(module, "optimizers", adzp_optimizers) != 0 ||
            PyModule_AddStringConstant(module, "schedulers", adzp_schedulers) != 0)) {
        Py_CLEAR(module);
    }
    if (module != NULL) {
        adz_on_warning(adzp_on_warning, NULL);
        adzp_prepare_training();
    }
    return module;
}
