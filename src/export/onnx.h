/* Writing a trace as an ONNX model: the graph that is being built, and the printers that add the
 * nodes of one call (https://onnx.ai/onnx/operators). */
#ifndef ADZI_EXPORT_ONNX_H
#define ADZI_EXPORT_ONNX_H

#include "adze/export.h"
#include "export/protobuf.h"
#include "export/trace.h"

/** Writes what `what` computes to a file, which is replaced completely or not at all. */
adz_status adzi_write_onnx(
    const char *op, const adzi_export *what, const char *path, const adz_onnx_options *options);

/* ---- the graph ------------------------------------------------------------------------------ */

/**
 * The free batch dimension of a value: dimension `axis` has before * B * after elements for a batch
 * of B, in this order from the outermost to the innermost. axis -1: no size depends on the batch.
 */
typedef struct adzi_onnx_batch {
    int axis;
    int64_t before, after;
} adzi_onnx_batch;

/** A value in the graph. */
typedef struct adzi_onnx_value {
    const char *name;      /* owned by the graph */
    adzi_onnx_batch batch; /* valid while the graph has a free batch dimension */
    bool constant;         /* it depends on no input, parameter or buffer: its elements are known */
    bool stored;           /* it is written as an initialiser */
} adzi_onnx_value;

/** Elements that are written behind the nodes. */
typedef struct adzi_onnx_initialiser {
    adzi_message head;  /* the TensorProto but for its elements */
    int value;          /* whose elements follow; -1: those of `number` follow */
    int64_t number[16]; /* elements of a small constant of the graph itself */
    adz_dtype dtype;
    size_t bytes;
} adzi_onnx_initialiser;

/** A loop or a branch whose nodes are being printed. */
typedef struct adzi_onnx_region {
    size_t begin;          /* the call that began it */
    adzi_message outside;  /* the nodes of the graph around it */
    adzi_message branch;   /* the graph of the first body of a branch */
    const char *condition; /* of a branch; whether a while loop makes its first step */
    size_t test;           /* the call that has the condition of a while loop */
    const char **own;      /* of a while loop: the names of its carries in the body; owned */
    size_t own_bytes;
} adzi_onnx_region;

typedef struct adzi_onnx {
    const char *op; /* the public function, for messages */
    const adzi_trace *trace;
    adzi_onnx_value *values; /* one for each of the trace */
    adzi_message nodes;      /* the nodes, as fields of a GraphProto */
    adzi_onnx_initialiser *initialisers;
    size_t n_initialisers, initialisers_capacity;
    char **names;   /* all names, owned */
    int8_t *dtypes; /* their dtypes; -1 while it is unknown */
    size_t n_names, names_capacity, dtypes_capacity;
    adzi_index by_name;
    size_t n_temporaries;
    adzi_onnx_region *regions; /* that are open, the innermost last */
    size_t n_regions, regions_capacity;
    const char **outputs;         /* the names of the graph's outputs */
    bool free_batch;              /* dimension 0 of the inputs is written as "batch" */
    int64_t batch_size;           /* in the traced call */
    const adzi_traced_call *call; /* the call whose nodes are being printed */
    bool failed;                  /* memory was refused, or a call has no counterpart */
} adzi_onnx;

/** An attribute of a node. */
typedef struct adzi_onnx_attr {
    const char *name;
    enum {
        ADZI_ONNX_FLOAT = 1,
        ADZI_ONNX_INT = 2,
        ADZI_ONNX_STRING = 3,
        ADZI_ONNX_GRAPH = 5,
        ADZI_ONNX_INTS = 7,
        ADZI_ONNX_STRINGS = 8
    } type;
    double number;
    int64_t whole;
    const char *text;
    const int64_t *list;
    size_t n;
    adzi_message *graph; /* is freed with the node */
} adzi_onnx_attr;

/** Makes a name that no value has, from a text. NULL after a failure, as in all calls below. */
const char *adzi_onnx_unique(adzi_onnx *g, const char *text);

/** A name for a result between two nodes of one call. */
const char *adzi_onnx_temporary(adzi_onnx *g);

/** The name of a traced value for a node that reads it. If no node computes it, its elements are
 * written as an initialiser. */
const char *adzi_onnx_name(adzi_onnx *g, int value);

/** Attributes of the call: an integer, flag or enumeration; a number; the numbers of a list, of a
 * mask of dimensions, or a single one, of which `most` are read. 0 and no number if there is no
 * such attribute. */
int64_t adzi_onnx_attr_whole(const adzi_onnx *g, const char *name);
double adzi_onnx_attr_number(const adzi_onnx *g, const char *name);
size_t adzi_onnx_list(const adzi_onnx *g, const char *name, int64_t *values, size_t most);

/** The names of the call's input i, by adzi_onnx_name, and of its result k. "" for an input that
 * was left out. */
const char *adzi_onnx_in(adzi_onnx *g, int i);
const char *adzi_onnx_out(const adzi_onnx *g, int k);

/** The traced values of the call's input i, which was given, and of result k. */
const adzi_traced_value *adzi_onnx_input(const adzi_onnx *g, int i);
const adzi_traced_value *adzi_onnx_result(const adzi_onnx *g, int k);

/** The batch dimension of input i and of result k. */
adzi_onnx_batch *adzi_onnx_batch_in(const adzi_onnx *g, int i);
adzi_onnx_batch *adzi_onnx_batch_out(const adzi_onnx *g, int k);

/** Constants: a list of up to 16 integers, and a number as a tensor of rank 0. */
const char *adzi_onnx_ints(adzi_onnx *g, const int64_t *values, size_t n);
const char *adzi_onnx_number(adzi_onnx *g, adz_dtype dtype, double value);

/** A number with the dtype of input 0. */
const char *adzi_onnx_like_input(adzi_onnx *g, double value);

/** A constant vector of `n` elements that all are `value`. */
const char *adzi_onnx_repeated(adzi_onnx *g, adz_dtype dtype, double value, int64_t n);

/** The names of the inputs or the results of a node. */
typedef struct {
    const char *const *items;
    size_t count;
} adzi_onnx_names;

#define ADZI_NAMES(...)                                       \
    ((adzi_onnx_names){ (const char *const[]){ __VA_ARGS__ }, \
        sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *) })

/** The attributes of a node. */
typedef struct {
    const adzi_onnx_attr *items;
    size_t count;
} adzi_onnx_attrs;

#define ADZI_NO_ATTRS ((adzi_onnx_attrs){ NULL, 0 })
#define ADZI_ATTRS(...)                                          \
    ((adzi_onnx_attrs){ (const adzi_onnx_attr[]){ __VA_ARGS__ }, \
        sizeof((const adzi_onnx_attr[]){ __VA_ARGS__ }) / sizeof(adzi_onnx_attr) })

/**
 * Adds a node. Names that are NULL make the graph fail. Inputs whose dtype the node does not take
 * are converted to a wider one, and results back. Refuses the call if ONNX has no such node.
 */
void adzi_onnx_node(
    adzi_onnx *g, const char *type, adzi_onnx_names in, adzi_onnx_names out, adzi_onnx_attrs attrs);

/** Parts of a node with any number of inputs and outputs, whose dtypes are right: names, and the
 * end, which frees `m`. `out` names the node. */
void adzi_onnx_add_input(adzi_message *m, const char *name);
void adzi_onnx_add_output(adzi_message *m, const char *name);
void adzi_onnx_append(
    adzi_onnx *g, adzi_message *m, const char *type, const char *out, adzi_onnx_attrs attrs);

/** Adds the name, type and shape of an input or an output of a graph. */
enum { ADZI_ONNX_GRAPH_NAME = 2, ADZI_ONNX_GRAPH_INPUT = 11, ADZI_ONNX_GRAPH_OUTPUT = 12 };
void adzi_onnx_add_info(
    adzi_message *graph, const adzi_onnx *g, int field, int value, const char *name);

/** Adds those of a number of rank 0. */
void adzi_onnx_add_scalar_info(adzi_message *graph, int field, adz_dtype dtype, const char *name);

/** Adds the nodes of a call. False if it was refused. */
bool adzi_onnx_print_call(adzi_onnx *g, const adzi_traced_call *call);

/** Frees what regions hold (onnx_regions.c). */
void adzi_onnx_end_regions(adzi_onnx *g);

/** Adds the node whose result is result 0 of the call. False if the graph has failed. */
bool adzi_onnx_last(adzi_onnx *g, const char *type, adzi_onnx_names in, adzi_onnx_attrs attrs);

#define ADZI_ATTR_INT(its_name, value)                              \
    {                                                               \
        .name = (its_name), .type = ADZI_ONNX_INT, .whole = (value) \
    }
#define ADZI_ATTR_FLOAT(its_name, value)                               \
    {                                                                  \
        .name = (its_name), .type = ADZI_ONNX_FLOAT, .number = (value) \
    }
#define ADZI_ATTR_TEXT(its_name, value)                               \
    {                                                                 \
        .name = (its_name), .type = ADZI_ONNX_STRING, .text = (value) \
    }
/** A list of one text. */
#define ADZI_ATTR_TEXTS(its_name, value)                               \
    {                                                                  \
        .name = (its_name), .type = ADZI_ONNX_STRINGS, .text = (value) \
    }
#define ADZI_ATTR_INTS(its_name, values, count)                                    \
    {                                                                              \
        .name = (its_name), .type = ADZI_ONNX_INTS, .list = (values), .n = (count) \
    }

/** A node whose result is a temporary, which is returned. */
const char *adzi_onnx_step(adzi_onnx *g, const char *type, const char *a, const char *b);

/** For nodes that take [N, C, ...] with n dimensions behind the channels: input 0, which gets a
 * batch of 1 if it has none; the name for the node's result; and the end of the call, which takes
 * that batch away. */
const char *adzi_onnx_batched(adzi_onnx *g, size_t n);
const char *adzi_onnx_batched_result(adzi_onnx *g, size_t n);
bool adzi_onnx_unbatched(adzi_onnx *g, size_t n, const char *y);

/** The first element along a dimension, which keeps size 1. */
const char *adzi_onnx_first(adzi_onnx *g, const char *name, int64_t dim);

/** A Cast to a dtype; `name` itself if the value has it already. */
const char *adzi_onnx_cast(adzi_onnx *g, const char *name, adz_dtype from, adz_dtype to);

/** The dtype of a name, and setting it; -1 if it is unknown. */
int adzi_onnx_dtype_of(const adzi_onnx *g, const char *name);
void adzi_onnx_set_dtype(adzi_onnx *g, const char *name, adz_dtype dtype);

/** A Cast whose result is `y`. */
void adzi_onnx_cast_to(adzi_onnx *g, const char *name, const char *y, adz_dtype to);

/** Records that the call cannot be written, and why. Always returns false. */
bool adzi_onnx_refuse(adzi_onnx *g, const char *reason);

/** ONNX's number of a dtype. */
int adzi_onnx_dtype(adz_dtype dtype);

/* ---- dtypes of nodes (onnx_types.c) --------------------------------------------------------- */

/** The dtypes of a node's inputs, by the number of their constraint in the signature. */
typedef struct adzi_onnx_choice {
    const struct adzi_onnx_signature *signature;
    int8_t given[8], chosen[8]; /* -1: none */
} adzi_onnx_choice;

/** Chooses the dtypes of a node. False if the call was refused, because ONNX has no such node. */
bool adzi_onnx_type_node(
    adzi_onnx *g, const char *type, adzi_onnx_names in, adzi_onnx_choice *choice);

/** Whether onnxruntime runs a node whose first input has this dtype. */
bool adzi_onnx_runs(const char *type, adz_dtype dtype);

/** The dtype in which the node takes input i; -1: that of the name. */
int adzi_onnx_input_dtype(const adzi_onnx_choice *choice, size_t i);

/** The dtype that the node gives result k, and the one that the result is to have; -1 for a node
 * that does not say so, such as Cast. */
void adzi_onnx_output_dtypes(const adzi_onnx_choice *choice, size_t k, int *node, int *result);

/* ---- printers ------------------------------------------------------------------------------- */

/** The type of the node that does the work of the call. */
static inline const char *adzi_onnx_type(const adzi_onnx *g)
{
    return g->call->row->onnx.type;
}

/** Adds the nodes of g->call. False if it was refused. A printer stands beside its operator, in
 * src/ops/<family>/<name>.onnx.c. */
typedef bool adzi_onnx_printer(adzi_onnx *g);

/** Adds the nodes of the row's text (export/rows.h). */
adzi_onnx_printer adzi_onnx_print_text;

/** Computes the list "@" of a text, up to 2 * ADZ_MAX_RANK numbers. Returns their number. */
typedef size_t adzi_onnx_lister(const adzi_onnx *g, int64_t *values);

/* ---- where the batch goes (onnx_batch.c) ---------------------------------------------------- */

/** Results that broadcast the inputs, as elementwise operators do. */
bool adzi_onnx_batch_broadcast(const adzi_onnx *g);
/** Results with the batch where input 0 has it, if the attribute "dim" is another dimension. */
bool adzi_onnx_batch_but_dim(const adzi_onnx *g);
/** Results with the batch where input 0 has it. */
bool adzi_onnx_batch_first(const adzi_onnx *g);
/** For other rules: gives all results the batch of input 0, in dimension `axis`. Nothing if that
 * has no batch. Returns true. */
bool adzi_onnx_batch_to(const adzi_onnx *g, int axis);
/** Calls that are written for the traced batch size only, unless no input has the batch. */
bool adzi_onnx_batch_none(const adzi_onnx *g);

/** Another rule. It stands beside its operator. */
typedef bool adzi_onnx_batch_rule(const adzi_onnx *g);

/** Whether input i is a constant whose elements all have the same bits, such as a state of zeros.
 */
bool adzi_onnx_is_uniform(const adzi_onnx *g, int i);

/** The dimension of input i in which it has the traced batch size without having the batch, while
 * result 0 has the batch there; -1 if there is none. */
int adzi_onnx_repeats(const adzi_onnx *g, int i);

/**
 * Finds the batch dimension of each value. `inputs` begin with a dimension of the batch if they
 * have rank 1 or more and that size. Returns the first call that would fix the batch, or NULL.
 */
const adzi_traced_call *adzi_onnx_find_batches(adzi_onnx *g);

#endif
