/* What the files of the extension adze._adze share: its objects, conversions of arguments and
 * results, errors.
 *
 * The generator (bindings/python/generate.py) writes one function per public function of the
 * library. Such a function converts its arguments, calls the library between adzp_begin and
 * adzp_done, and converts the result. */
#ifndef ADZP_H
#define ADZP_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000 /* Python 3.11: the first whose stable interface has buffers */
#endif
#include <Python.h>

#ifdef Py_GIL_DISABLED
#error \
    "adze needs a Python with a global interpreter lock: build it with python3.x and not with python3.xt"
#endif

#include "adze/adze.h"
#include "adze/dlpack.h"
#include "adze/models.h"
#include "adze/onnx.h"
#include "adze/zoo.h"

/* ---- objects --------------------------------------------------------------------------------- */

/* A tensor of Python: one reference, taken by adz_keep. */
typedef struct adzp_tensor_object {
    PyObject_HEAD adz_tensor *t;
} adzp_tensor_object;

/* Another object of the library, such as a module, and the Python objects that have to live as long
 * as it does. */
typedef struct adzp_handle_object {
    PyObject_HEAD void *p;
    PyObject *kept;         /* a list, or NULL */
    PyObject *held;         /* what the library calls, or NULL; ends behind the library's object */
    void (*leave)(void *p); /* tells the library's object that `held` ends; or NULL */
    bool ends; /* the object of the library ends with this one; false if it belongs to another */
} adzp_handle_object;

/* What the library calls its kinds of objects, and how one of them ends. */
typedef struct adzp_handle_kind {
    const char *name; /* "_adze.module" */
    const char *doc;
    void (*end)(void **p);  /* NULL if the object belongs to another */
    void *(*keep)(void *p); /* one more reference; NULL where the library has none */
    PyObject *type;         /* made by adzp_add_handles */
} adzp_handle_kind;

extern PyObject *adzp_tensor_type; /* the base class, in C */
extern PyObject *adzp_result_type; /* the class of results: adze.Tensor */

bool adzp_is_tensor(PyObject *v);
bool adzp_is_number(PyObject *v);
bool adzp_add_tensor_type(PyObject *module);
bool adzp_add_handles(PyObject *module, adzp_handle_kind *kinds, size_t n);
bool adzp_keep(PyObject *handle, PyObject *object);
PyObject *adzp_check_live(adzp_handle_object *handle);

/* ---- calls ----------------------------------------------------------------------------------- */

/* Above this number of elements a call releases the interpreter's lock. */
#define ADZP_LONG 16384
/* The work of a call that changes gradients or parameters. It releases the interpreter's lock, and
 * takes the lock of training: one thread at a time trains. */
#define ADZP_TRAINS (INT64_MIN / 2)

typedef struct adzp_call {
    const char *name;
    int64_t work; /* elements of the arguments, or ADZP_LONG + 1 for a call that is always long */
    adz_scope *scope;
    PyThreadState *thread;
    PyObject *held; /* what has to live until the call is over */
} adzp_call;

void adzp_prepare_training(void);
bool adzp_begin(adzp_call *call);
bool adzp_done(adzp_call *call);
void adzp_end(adzp_call *call);
void *adzp_room(adzp_call *call, size_t bytes);
bool adzp_hold(adzp_call *call, PyObject *owned);

/* The parameters of a function as Python sees them. */
typedef struct adzp_signature {
    const char *name;
    const char *const *names;
    int count;
    int rest;          /* the parameter that takes several numbers by position; -1: none */
    uint64_t required; /* bit i: parameter i has no default */
} adzp_signature;

bool adzp_bind(const adzp_signature *s, int first, PyObject *const *args, Py_ssize_t n,
    PyObject *names, PyObject **v);

/* ---- errors ---------------------------------------------------------------------------------- */

typedef struct adzp_status_name {
    adz_status status;
    const char *name; /* "ShapeError" */
    const char *doc;
} adzp_status_name;

bool adzp_add_errors(PyObject *module, const adzp_status_name *names, size_t n);
bool adzp_raise(
    void); /* raises the library's error, or what a Python function raised; false if neither */
bool adzp_wrong(const adzp_call *call, const char *argument, const char *wanted, PyObject *got);
void adzp_save_exception(const char *who);
void adzp_on_warning(adz_status status, const char *message, void *user);

/* ---- conversions of arguments ---------------------------------------------------------------- */

typedef struct adzp_word {
    const char *word;
    int value;
} adzp_word;

bool adzp_tensor(
    adzp_call *call, PyObject *v, const char *argument, bool optional, adz_tensor **to);
bool adzp_handle(adzp_call *call, PyObject *v, const char *argument, const adzp_handle_kind *kind,
    bool optional, void *to);
bool adzp_double(adzp_call *call, PyObject *v, const char *argument, double *to);
bool adzp_int64(adzp_call *call, PyObject *v, const char *argument, int64_t *to);
bool adzp_int64_none(adzp_call *call, PyObject *v, const char *argument, int64_t *to);
bool adzp_int(adzp_call *call, PyObject *v, const char *argument, int *to);
bool adzp_size(adzp_call *call, PyObject *v, const char *argument, size_t *to);
bool adzp_uint64(adzp_call *call, PyObject *v, const char *argument, uint64_t *to);
bool adzp_uint32(adzp_call *call, PyObject *v, const char *argument, uint32_t *to);
bool adzp_char(adzp_call *call, PyObject *v, const char *argument, char *to);
bool adzp_bool(adzp_call *call, PyObject *v, const char *argument, bool *to);
bool adzp_word_of(
    adzp_call *call, PyObject *v, const char *argument, const adzp_word *words, int *to);
bool adzp_shape(adzp_call *call, PyObject *v, const char *argument, adz_shape *to);
bool adzp_dims(adzp_call *call, PyObject *v, const char *argument, adz_dims *to);
bool adzp_string(
    adzp_call *call, PyObject *v, const char *argument, bool optional, const char **to);
bool adzp_path(adzp_call *call, PyObject *v, const char *argument, const char **to);
bool adzp_text(adzp_call *call, PyObject *v, const char *argument, adz_text *to);
bool adzp_bytes(adzp_call *call, PyObject *v, const char *argument, const void **to, size_t *n);
bool adzp_callable(adzp_call *call, PyObject *v, const char *argument, bool optional, void **to);
bool adzp_tensors(adzp_call *call, PyObject *v, const char *argument, bool optional,
    adz_tensor *const **to, size_t *n);
bool adzp_handles(adzp_call *call, PyObject *v, const char *argument, const adzp_handle_kind *kind,
    bool optional, void *to, size_t *n);
bool adzp_doubles(adzp_call *call, PyObject *v, const char *argument, bool optional,
    const double **to, size_t *n);
bool adzp_int64s(adzp_call *call, PyObject *v, const char *argument, bool optional,
    const int64_t **to, size_t *n);
bool adzp_strings(adzp_call *call, PyObject *v, const char *argument, bool optional,
    const char *const **to, size_t *n);
bool adzp_texts(adzp_call *call, PyObject *v, const char *argument, bool optional,
    const adz_text **to, size_t *n);
bool adzp_named(
    adzp_call *call, PyObject *v, const char *argument, const adz_named_tensor **to, size_t *n);
bool adzp_same_count(adzp_call *call, const char *argument, size_t n, size_t wanted);

/* ---- conversions of results ------------------------------------------------------------------ */

PyObject *adzp_from_tensor(adz_tensor *t);
PyObject *adzp_from_result(adz_tensor *t, PyObject *first, PyObject *second);
PyObject *adzp_from_handle(const adzp_handle_kind *kind, void *p, bool owned, PyObject *owner);
PyObject *adzp_from_shape(adz_shape shape);
PyObject *adzp_from_dims(adz_dims dims);
PyObject *adzp_from_dtype(adz_dtype dtype);
PyObject *adzp_from_string(const char *text);
PyObject *adzp_from_text(adz_text text);
PyObject *adzp_from_list(adz_tensor *const *items, size_t n);
PyObject *adzp_from_named(adz_named_list list);
PyObject *adzp_from_bool(bool on);
extern PyObject *adzp_dtype_class; /* adze.dtype, set by adze/__init__.py; NULL before */

/* ---- functions of Python, called by the library ---------------------------------------------- */

PyObject *adzp_call_with(void *user, size_t n, adz_tensor *const *inputs);
void adzp_end_object(void *object);
adz_tensor *adzp_call_tensor(void *user, size_t n, adz_tensor *const *inputs, const char *who);
adz_tensor *adzp_handed_out(PyObject *result, const char *who);
PyObject *adzp_returned(PyObject *result, const char *who);
adz_tensor *adzp_on_map(adz_tensor *x, void *user);
adz_tensor *adzp_on_ode(adz_tensor *t, adz_tensor *y, void *user);
adz_tensor *adzp_on_nothing(void *user);
adz_tensor *adzp_on_distance(adz_tensor *a, adz_tensor *b, void *user);
double adzp_on_epoch(int64_t epoch, int group, void *user);
bool adzp_on_generated(const adz_generated *token, void *user);
int adzp_on_tensors(adz_tensor *const *inputs, size_t n, adz_tensor **outputs, void *user);
adz_status adzp_on_results(adz_tensor **results, void *user);
bool adzp_function(adzp_call *call, PyObject *v, const char *argument, size_t behind,
    const adz_tensor_function **to, adz_tensor **held);
bool adzp_events(adzp_call *call, PyObject *v, const char *argument, size_t behind,
    const adz_ode_event **to, size_t *n, adz_tensor **held);
bool adzp_append(adzp_call *call, adz_tensor *const **tensors, size_t *n, adz_tensor *held);
PyObject *adzp_module_of(PyObject *self, PyObject *function);
PyObject *adzp_module_fields(PyObject *self, PyObject *module);

/* Functions that are written by hand, for the module's table. */
extern PyMethodDef adzp_methods[];     /* of the module */
extern PyMethodDef adzp_own_methods[]; /* of tensors */
extern PyGetSetDef adzp_own_attributes[];
extern PyType_Slot adzp_number_slots[]; /* operators of tensors; ends with 0 */
extern const size_t adzp_number_slot_count;
int adzp_get_buffer(PyObject *self, Py_buffer *view, int flags);
void adzp_release_buffer(PyObject *self, Py_buffer *view);

#include "functions.h" /* generated: adzp_c_add and so on, adzp_tensor_methods */

#endif
