/* The arguments that a layer of the library was made with, from the table of its type
 * (adze/fields.h). */
#include "adzp.h"

static bool put(PyObject *to, const char *name, PyObject *value)
{
    bool fine = value != NULL && PyDict_SetItemString(to, name, value) == 0;
    Py_XDECREF(value);
    return fine;
}

static PyObject *real_of(const adz_field *row, double value)
{
    return row->none_name != NULL && value == row->none ? Py_NewRef(Py_None)
                                                        : PyFloat_FromDouble(value);
}

static PyObject *whole_of(const adz_field *row, int64_t value)
{
    return row->none_name != NULL && (double)value == row->none ? Py_NewRef(Py_None)
                                                                : PyLong_FromLongLong(value);
}

static PyObject *enumerated(const adz_field *row, int value)
{
    int n = 0;
    while (row->values != NULL && row->values[n] != NULL) {
        ++n;
    }
    return value >= 0 && value < n ? PyUnicode_FromString(row->values[value])
                                   : PyLong_FromLong(value);
}

static PyObject *shape_of(const adz_field *row, const adz_shape *shape)
{
    if (shape->rank == 0) {
        return PyLong_FromLongLong((long long)row->value);
    }
    return row->kind == ADZ_FIELD_SIZES && shape->rank == 1 ? PyLong_FromLongLong(shape->sizes[0])
                                                            : adzp_from_shape(*shape);
}

/* The value of a row; None for what Python has no word for. */
static PyObject *value_of(const adz_field *row, const char *at)
{
    switch (row->kind) {
    case ADZ_FIELD_BOOL:
        return PyBool_FromLong(*(const bool *)at);
    case ADZ_FIELD_INT:
        return whole_of(row, *(const int *)at);
    case ADZ_FIELD_I64:
        return whole_of(row, *(const int64_t *)at);
    case ADZ_FIELD_U64:
        return PyLong_FromUnsignedLongLong(*(const uint64_t *)at);
    case ADZ_FIELD_F64:
        return real_of(row, *(const double *)at);
    case ADZ_FIELD_ENUM:
        return enumerated(row, *(const int *)at);
    case ADZ_FIELD_SHAPE:
    case ADZ_FIELD_SIZES:
        return shape_of(row, (const adz_shape *)at);
    default:
        return NULL;
    }
}

/* module_fields(module) -> a dictionary of the arguments by name */
PyObject *adzp_module_fields(PyObject *self, PyObject *module)
{
    (void)self;
    adzp_call call = { "module_fields", 0, NULL, NULL, NULL };
    adz_module *m;
    if (!adzp_handle(&call, module, "module", &adzp_kinds[ADZP_adz_module], false, &m)) {
        return NULL;
    }
    PyObject *made = PyDict_New();
    const adz_module_type *type = adz_module_type_of(m);
    const char *state = adz_module_data(m);
    bool fine = made != NULL;
    adz_error_clear(); /* a module without a state has no arguments */
    for (size_t i = 0; fine && type != NULL && state != NULL && i < type->n_fields; ++i) {
        const adz_field *row = &type->fields[i];
        bool said = PyDict_GetItemString(made, row->name) != NULL;
        /* Of two rows of one name, the second is an enumeration: a rule instead of the numbers. */
        bool counts = !said || (row->kind == ADZ_FIELD_ENUM && *(const int *)(state + row->offset));
        if (row->kind != ADZ_FIELD_DTYPE && row->kind != ADZ_FIELD_MASK && row->count == 0 &&
            counts) {
            fine = put(made, row->name, value_of(row, state + row->offset));
        }
    }
    if (!fine) {
        Py_CLEAR(made);
    }
    return made;
}
