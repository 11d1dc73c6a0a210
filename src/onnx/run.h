/* The table of operators, and what an operator sees when it runs. */
#ifndef ADZI_ONNX_RUN_H
#define ADZI_ONNX_RUN_H

#include "model.h"

/* ---- the table ------------------------------------------------------------------------------ */

#define MANY 4096u /* inputs or outputs: any number */

/** One meaning of an operator. A row serves from its opset on, up to the next row of that name. */
struct reader_operator {
    const char *name;
    int since, until;   /* opsets; until 0: all later ones */
    size_t least, most; /* inputs */
    size_t outputs;     /* the most; 0 means 1 */

    /** The attributes that it takes, "axis:i mode:s=linear|cubic": name, kind (f, i, s, t, g, and
     * F, I, S for lists), and for texts the values that are supported. Others are refused. */
    const char *attributes;

    /** The inputs that no gradient passes: bit i stands for input i. ALL_FIXED for an operator
     * without a derivative. Weights that only such inputs read are buffers. */
    uint32_t fixed;

    /** One of these computes. `run` returns output 0 (and sets others by adzi_reader_set), borrowed
     * from the scope; ADZ_NONE if it has set all outputs itself; NULL with an error recorded. */
    adz_tensor *(*run)(const reader_call *call);
    adz_tensor *(*unary)(adz_tensor *x);
    adz_tensor *(*binary)(adz_tensor *a, adz_tensor *b);

    /** Refuses at loading what the words of `attributes` cannot say, with adzi_reader_refuse; NULL
     * for nothing. */
    adz_status (*check)(const reader_model *model, const reader_node *node);
};

#define ALL_FIXED 0xffffffffu

/** The row of an operator with a function `run`. */
#define ROW(name, since, until, least, most, outputs, attributes, fixed, run)              \
    {                                                                                      \
        name, since, until, least, most, outputs, attributes, fixed, run, NULL, NULL, NULL \
    }

/** A part of the table. It ends with a row without a name. */
extern const reader_operator adzi_reader_activations[];
extern const reader_operator adzi_reader_attention[];
extern const reader_operator adzi_reader_boxes[];
extern const reader_operator adzi_reader_control[];
extern const reader_operator adzi_reader_convolutions[];
extern const reader_operator adzi_reader_elementwise[];
extern const reader_operator adzi_reader_indices[];
extern const reader_operator adzi_reader_losses[];
extern const reader_operator adzi_reader_norms[];
extern const reader_operator adzi_reader_orders[];
extern const reader_operator adzi_reader_pads[];
extern const reader_operator adzi_reader_pools[];
extern const reader_operator adzi_reader_products[];
extern const reader_operator adzi_reader_quantized[];
extern const reader_operator adzi_reader_recurrent[];
extern const reader_operator adzi_reader_reductions[];
extern const reader_operator adzi_reader_resize[];
extern const reader_operator adzi_reader_sequences[];
extern const reader_operator adzi_reader_shapes[];
extern const reader_operator adzi_reader_signals[];
extern const reader_operator adzi_reader_various[];

/** Row i of the whole table, for tests/onnx/operators.c; NULL at its end. */
const reader_operator *adzi_reader_row(size_t i);

/** Finds the row of a node, and checks its inputs, outputs and attributes. */
adz_status adzi_reader_check(const reader_model *model, reader_node *node);

/** Records ADZ_ERR_UNSUPPORTED with the node's name, operator and opset. Returns its code. */
adz_status adzi_reader_refuse(const reader_node *node, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- a run ---------------------------------------------------------------------------------- */

/** Numbers that are known on the host. */
typedef union reader_number {
    int64_t i; /* integers and truth values */
    double f;  /* floats */
} reader_number;

typedef struct reader_numbers {
    adz_dtype dtype;
    adz_shape shape;
    size_t n;
    reader_number *at;
} reader_numbers;

/** A value during a run: neither is set where it is not computed yet. */
typedef struct reader_slot {
    adz_tensor *t;
    bool owned; /* t is released after its last use */
    reader_numbers *numbers;
} reader_slot;

typedef struct reader_run {
    const reader_model *model;
    adz_module *module;
    reader_slot *slots; /* one for each value of the model */
    reader_arena arena; /* ends with the run */
} reader_run;

struct reader_call {
    reader_run *run;
    const reader_graph *graph;
    const reader_node *node;
};

/* ---- what operators ask of a call ----------------------------------------------------------- */

/** Whether input i is there. */
bool adzi_reader_has(const reader_call *call, size_t i);

/** Input i; ADZ_NONE if it is left out, NULL with an error recorded. */
adz_tensor *adzi_reader_in(const reader_call *call, size_t i);

/** Whether output i is wanted. */
bool adzi_reader_wants(const reader_call *call, size_t i);

/** Sets output i, from 1 on, to a tensor borrowed from the scope. */
void adzi_reader_set(const reader_call *call, size_t i, adz_tensor *t);

/** An attribute; NULL if the node does not have it. */
const reader_attribute *adzi_reader_attribute(const reader_node *node, const char *name);
int64_t adzi_reader_int(const reader_call *call, const char *name, int64_t otherwise);
double adzi_reader_float(const reader_call *call, const char *name, double otherwise);
const char *adzi_reader_string(const reader_call *call, const char *name, const char *otherwise);

/** The numbers of input i on the host: those that the host computed, else the elements of the
 * tensor (at most 4,096, of any dtype), which a captured function may only read of weights and
 * constants. NULL with an error that names the node. */
const reader_numbers *adzi_reader_host(const reader_call *call, size_t i);

/** A list of whole numbers: attribute `name`, or input i if that is there (NO_VALUE: only the
 * attribute). False with an error recorded; `given` says whether it is there at all. */
bool adzi_reader_list(
    const reader_call *call, const char *name, size_t i, reader_numbers *list, bool *given);

/** adzi_reader_list as dimensions of a tensor of this rank; all dimensions if there is no list. */
bool adzi_reader_dims(
    const reader_call *call, const char *name, size_t i, int rank, adz_dims *dims);

/** adzi_reader_list as at most ADZ_MAX_RANK numbers; rank -1 if the list is not given or an error
 * is recorded, which it returns as false. */
bool adzi_reader_shape(const reader_call *call, const char *name, size_t i, adz_shape *shape);

/** A dimension counted from the front, -rank ... rank - 1; -1 with an error recorded. */
int adzi_reader_dim(const reader_call *call, int64_t axis, int rank);

/** Indices of a dimension of this size as int64, counted from its front: negative ones count from
 * its end. */
adz_tensor *adzi_reader_from_front(adz_tensor *index, int64_t size);

/** adzi_reader_from_front of input i. It is computed on the host if the host knows the input. */
adz_tensor *adzi_reader_positions(const reader_call *call, size_t i, int64_t size);

/** The range that Slice takes of a dimension: start and end are clamped as ONNX defines, and a step
 * that is longer than the dimension is shortened. Returns the number of elements. */
int64_t adzi_reader_slice(int64_t size, int64_t *start, int64_t *end, int64_t *step);

/** The one number of input i, known on the host; `otherwise` if the input is left out. False with
 * an error recorded. The second is for whole numbers, which f64 may not hold. */
bool adzi_reader_number(const reader_call *call, size_t i, double otherwise, double *value);
bool adzi_reader_whole(const reader_call *call, size_t i, int64_t otherwise, int64_t *value);

/** A vector as a tensor of this rank that varies along one dimension and is 1 long in the others. A
 * negative dimension counts from the end. */
adz_tensor *adzi_reader_along(adz_tensor *vector, int rank, int dim);

/** Records an error that names the node. Returns NULL. */
adz_tensor *adzi_reader_fail(const reader_call *call, adz_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** log(1 + e^x) for all x, while adz_softplus gives x from a threshold on. */
adz_tensor *adzi_reader_softplus(adz_tensor *x);

/** The dtype of a target of Cast and others; false with an error recorded. Under the option f64
 * every float is f64. */
bool adzi_reader_target(const reader_call *call, int64_t element, adz_dtype *dtype);

/** A list of numbers as a tensor, borrowed from the scope. */
adz_tensor *adzi_reader_from_numbers(reader_run *run, const reader_numbers *numbers);

/* ---- running -------------------------------------------------------------------------------- */

/** Whether a shape has at most as many elements as the host follows. */
bool adzi_reader_few(adz_shape shape);

/** Memory for numbers, which ends with the run; NULL with the error recorded. */
reader_numbers *adzi_reader_numbers(const reader_call *call, adz_dtype dtype, adz_shape shape);

/** Runs the nodes of a graph whose inputs are set in run->slots. */
adz_status adzi_reader_nodes(reader_run *run, const reader_graph *graph);

/** The tensor of a value, borrowed from the scope or the module. */
adz_tensor *adzi_reader_value(reader_run *run, size_t value);

/** Whether the host knows all numbers of a value. */
bool adzi_reader_is_host(const reader_run *run, size_t value);

/** A view of all of t that the innermost scope owns. */
adz_tensor *adzi_reader_another(adz_tensor *t);

/** Ends what a value holds. */
void adzi_reader_drop(reader_run *run, size_t value);

#endif
