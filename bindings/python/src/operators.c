/* The operators of Python on tensors, such as a + b, and attributes such as x.shape. */
#include "adzp.h"

typedef PyObject *(*function)(PyObject *const *v);

/* a op b, where each is a tensor or a number. */
static PyObject *binary(PyObject *a, PyObject *b, function call)
{
    bool first = adzp_is_tensor(a), second = adzp_is_tensor(b);
    if ((!first && !adzp_is_number(a)) || (!second && !adzp_is_number(b))) {
        return Py_NewRef(Py_NotImplemented);
    }
    PyObject *v[8] = { a, b };
    return call(v);
}

static PyObject *unary(PyObject *a, function call)
{
    PyObject *v[8] = { a };
    return call(v);
}

#define BINARY(name)                                     \
    static PyObject *on_##name(PyObject *a, PyObject *b) \
    {                                                    \
        return binary(a, b, adzp_c_##name);              \
    }
BINARY(add)
BINARY(sub)
BINARY(mul)
BINARY(div)
BINARY(matmul)
BINARY(add_)
BINARY(sub_)
BINARY(mul_)
BINARY(div_)

/* A number as a tensor without dimensions, of the dtype that it has beside a tensor: that of the
 * tensor, unless the number is of a higher kind. */
static PyObject *beside(PyObject *tensor, PyObject *number)
{
    static const char *const f32 = "float32", *const i64 = "int64";
    adz_dtype dtype = adz_tensor_dtype(((adzp_tensor_object *)tensor)->t);
    bool is_float = !PyLong_Check(number) && !PyIndex_Check(number);
    bool has_float = dtype == ADZ_F32 || dtype == ADZ_F64 || dtype == ADZ_F16 || dtype == ADZ_BF16;
    const char *word = is_float && !has_float                                    ? f32
                       : !is_float && !PyBool_Check(number) && dtype == ADZ_BOOL ? i64
                                                                                 : NULL;
    PyObject *shape = PyTuple_New(0);
    PyObject *name = word != NULL ? PyUnicode_FromString(word) : PyLong_FromLong((long)dtype);
    PyObject *v[8] = { shape, number, name }, *made = NULL;
    if (shape != NULL && name != NULL) {
        made = adzp_c_full(v);
    }
    Py_XDECREF(shape);
    Py_XDECREF(name);
    return made;
}

/* a op b where the library takes tensors alone, at least on the left. */
static PyObject *both(PyObject *a, PyObject *b, function call, bool right_number)
{
    bool first = adzp_is_tensor(a), second = adzp_is_tensor(b);
    if ((!first && !adzp_is_number(a)) || (!second && !adzp_is_number(b))) {
        return Py_NewRef(Py_NotImplemented);
    }
    if ((first && second) || (first && right_number)) {
        return binary(a, b, call);
    }
    PyObject *other = first ? beside(a, b) : beside(b, a);
    PyObject *made = other == NULL ? NULL : first ? binary(a, other, call) : binary(other, b, call);
    Py_XDECREF(other);
    return made;
}

#define BOTH(name, right_number)                         \
    static PyObject *on_##name(PyObject *a, PyObject *b) \
    {                                                    \
        return both(a, b, adzp_c_##name, right_number);  \
    }
BOTH(remainder, true)
BOTH(floor_divide, true)
BOTH(bitwise_and, false)
BOTH(bitwise_or, false)
BOTH(bitwise_xor, false)
BOTH(bitwise_left_shift, false)
BOTH(bitwise_right_shift, false)

/* x op= y where the library has no call in place: the result goes into x, which other objects may
 * share. */
static PyObject *in_place(PyObject *a, PyObject *b, PyObject *(*operate)(PyObject *, PyObject *))
{
    PyObject *made = operate(a, b);
    if (made == NULL || made == Py_NotImplemented) {
        return made;
    }
    adz_dtype old = adz_tensor_dtype(((adzp_tensor_object *)a)->t);
    adz_dtype new = adz_tensor_dtype(((adzp_tensor_object *)made)->t);
    PyObject *v[8] = { a, made }, *same = NULL;
    if (old != new) {
        PyErr_Format(PyExc_TypeError,
            "the result is %s, which a tensor of %s cannot take; write x = x op y",
            adz_dtype_name(new), adz_dtype_name(old));
    } else {
        same = adzp_c_copy_(v);
    }
    Py_DECREF(made);
    return same;
}

#define IN_PLACE(name)                                           \
    static PyObject *on_inplace_##name(PyObject *a, PyObject *b) \
    {                                                            \
        return in_place(a, b, on_##name);                        \
    }
IN_PLACE(remainder)
IN_PLACE(floor_divide)
IN_PLACE(bitwise_and)
IN_PLACE(bitwise_or)
IN_PLACE(bitwise_xor)
IN_PLACE(bitwise_left_shift)
IN_PLACE(bitwise_right_shift)

static PyObject *raised(PyObject *a, PyObject *b)
{
    return binary(a, b, adzp_c_pow);
}

static PyObject *on_inplace_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    return modulus == Py_None ? in_place(a, b, raised) : Py_NewRef(Py_NotImplemented);
}

static PyObject *on_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    return modulus == Py_None ? binary(a, b, adzp_c_pow) : Py_NewRef(Py_NotImplemented);
}

static PyObject *on_negative(PyObject *a)
{
    return unary(a, adzp_c_neg);
}

static PyObject *on_absolute(PyObject *a)
{
    return unary(a, adzp_c_abs);
}

static PyObject *on_invert(PyObject *a)
{
    return unary(a, adzp_c_bitwise_not);
}

static PyObject *on_positive(PyObject *a)
{
    return Py_NewRef(a);
}

static double item(PyObject *self)
{
    return adz_item(((adzp_tensor_object *)self)->t);
}

static int on_bool(PyObject *self)
{
    double value = item(self);
    return adzp_raise() ? -1 : value != 0;
}

static PyObject *on_float(PyObject *self)
{
    double value = item(self);
    return adzp_raise() ? NULL : PyFloat_FromDouble(value);
}

static bool is_whole(const adz_tensor *t)
{
    adz_dtype d = adz_tensor_dtype(t);
    return d == ADZ_I32 || d == ADZ_I64 || d == ADZ_U8 || d == ADZ_BOOL;
}

static PyObject *on_index(PyObject *self)
{
    adz_tensor *t = ((adzp_tensor_object *)self)->t;
    if (!is_whole(t)) {
        PyErr_SetString(
            PyExc_TypeError, "only a tensor of whole numbers with one element is an index");
        return NULL;
    }
    int64_t value = adz_item_i64(t);
    return adzp_raise() ? NULL : PyLong_FromLongLong(value);
}

static PyObject *on_int(PyObject *self)
{
    if (is_whole(((adzp_tensor_object *)self)->t)) {
        return on_index(self);
    }
    PyObject *value = on_float(self);
    PyObject *made = value == NULL ? NULL : PyNumber_Long(value);
    Py_XDECREF(value);
    return made;
}

static PyObject *on_compare(PyObject *a, PyObject *b, int op)
{
    if (!adzp_is_tensor(b) && PyObject_HasAttrString(b, "__array_interface__") &&
        !adzp_is_number(b)) {
        PyErr_SetString(
            PyExc_TypeError, "a tensor is not compared with an array: use adze.tensor(a)");
        return NULL;
    }
    static const function calls[] = { adzp_c_lt, adzp_c_le, adzp_c_eq, adzp_c_ne, adzp_c_gt,
        adzp_c_ge };
    return binary(a, b, calls[op]);
}

static Py_ssize_t on_length(PyObject *self)
{
    adz_tensor *t = ((adzp_tensor_object *)self)->t;
    if (adz_tensor_rank(t) < 1) {
        PyErr_SetString(PyExc_TypeError, "a tensor without dimensions has no len()");
        return -1;
    }
    return (Py_ssize_t)adz_tensor_size(t, 0);
}

PyType_Slot adzp_number_slots[] = { { Py_nb_add, (void *)on_add },
    { Py_nb_subtract, (void *)on_sub }, { Py_nb_multiply, (void *)on_mul },
    { Py_nb_true_divide, (void *)on_div }, { Py_nb_matrix_multiply, (void *)on_matmul },
    { Py_nb_remainder, (void *)on_remainder }, { Py_nb_floor_divide, (void *)on_floor_divide },
    { Py_nb_power, (void *)on_power }, { Py_nb_and, (void *)on_bitwise_and },
    { Py_nb_or, (void *)on_bitwise_or }, { Py_nb_xor, (void *)on_bitwise_xor },
    { Py_nb_invert, (void *)on_invert }, { Py_nb_inplace_add, (void *)on_add_ },
    { Py_nb_inplace_subtract, (void *)on_sub_ }, { Py_nb_inplace_multiply, (void *)on_mul_ },
    { Py_nb_inplace_true_divide, (void *)on_div_ },
    { Py_nb_inplace_remainder, (void *)on_inplace_remainder },
    { Py_nb_inplace_floor_divide, (void *)on_inplace_floor_divide },
    { Py_nb_inplace_power, (void *)on_inplace_power },
    { Py_nb_inplace_and, (void *)on_inplace_bitwise_and },
    { Py_nb_inplace_or, (void *)on_inplace_bitwise_or },
    { Py_nb_inplace_xor, (void *)on_inplace_bitwise_xor },
    { Py_nb_lshift, (void *)on_bitwise_left_shift },
    { Py_nb_rshift, (void *)on_bitwise_right_shift },
    { Py_nb_inplace_lshift, (void *)on_inplace_bitwise_left_shift },
    { Py_nb_inplace_rshift, (void *)on_inplace_bitwise_right_shift },
    { Py_nb_negative, (void *)on_negative }, { Py_nb_positive, (void *)on_positive },
    { Py_nb_absolute, (void *)on_absolute }, { Py_nb_bool, (void *)on_bool },
    { Py_nb_float, (void *)on_float }, { Py_nb_int, (void *)on_int },
    { Py_nb_index, (void *)on_index }, { Py_tp_richcompare, (void *)on_compare },
    { Py_mp_length, (void *)on_length }, { 0, NULL } };
const size_t adzp_number_slot_count = sizeof adzp_number_slots / sizeof *adzp_number_slots - 1;

/* ---- attributes ------------------------------------------------------------------------------ */

static adz_tensor *of(PyObject *self)
{
    return ((adzp_tensor_object *)self)->t;
}

static PyObject *get_shape(PyObject *self, void *unused)
{
    (void)unused;
    return adzp_from_shape(adz_tensor_shape(of(self)));
}

static PyObject *get_dtype(PyObject *self, void *unused)
{
    (void)unused;
    return adzp_from_dtype(adz_tensor_dtype(of(self)));
}

static PyObject *get_ndim(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(adz_tensor_rank(of(self)));
}

static PyObject *get_requires_grad(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(adz_tensor_requires_grad(of(self)));
}

static int set_requires_grad(PyObject *self, PyObject *value, void *unused)
{
    (void)unused;
    if (value == NULL || !PyBool_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "requires_grad must be True or False");
        return -1;
    }
    adz_requires_grad_(of(self), value == Py_True);
    return adzp_raise() ? -1 : 0;
}

static PyObject *get_is_leaf(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(adz_tensor_is_leaf(of(self)));
}

static PyObject *get_grad(PyObject *self, void *unused)
{
    (void)unused;
    return adzp_from_tensor(adz_tensor_grad(of(self)));
}

static int set_grad(PyObject *self, PyObject *value, void *unused)
{
    (void)unused;
    if (value != NULL && value != Py_None && !adzp_is_tensor(value)) {
        PyErr_SetString(PyExc_TypeError, "grad must be a Tensor or None");
        return -1;
    }
    adzp_call call = { "grad", ADZP_TRAINS, NULL, NULL, NULL };
    bool set = adzp_begin(&call);
    if (set) {
        adz_tensor_set_grad(of(self), value == NULL || value == Py_None ? adz_none() : of(value));
        set = adzp_done(&call);
    }
    adzp_end(&call);
    return set ? 0 : -1;
}

PyGetSetDef adzp_own_attributes[] = { { "shape", get_shape, NULL,
                                          "The sizes, outermost first: a tuple.", NULL },
    { "dtype", get_dtype, NULL, "The type of the elements, such as adze.float32.", NULL },
    { "ndim", get_ndim, NULL, "The number of dimensions.", NULL },
    { "requires_grad", get_requires_grad, set_requires_grad,
        "Whether a backward computes a gradient for this tensor. A leaf's can be set.", NULL },
    { "is_leaf", get_is_leaf, NULL, "Whether no recorded operator made this tensor.", NULL },
    { "grad", get_grad, set_grad, "The gradient that backward has accumulated, or None.", NULL },
    { NULL, NULL, NULL, NULL, NULL } };
