/* An ONNX model as nodes over numbered values. Nothing of it points into the file's bytes, except
 * during loading. */
#ifndef ADZI_ONNX_MODEL_H
#define ADZI_ONNX_MODEL_H

#include <stdatomic.h>

#include "adze/checks.h"
#include "adze/nn/type.h"
#include "adze/nn/values.h"
#include "adze/onnx.h"
#include "wire.h"

/** The name of the public function, for messages. */
#define LOAD "adz_onnx_load"

/* ---- memory --------------------------------------------------------------------------------- */

/** Memory that ends at once. That of a model is memory of tensors, so that the memory limit counts
 * it. That of a run is plain: a function that a plan captures may not look into tensors, and it is
 * little. */
typedef struct reader_arena {
    bool plain;
    struct reader_block *blocks;
} reader_arena;

/** Zeros, aligned for any type; NULL with the error recorded. */
void *adzi_reader_alloc(reader_arena *arena, size_t count, size_t size);

/** A copy with a 0 at its end; NULL with the error recorded. */
char *adzi_reader_text(reader_arena *arena, reader_bytes bytes);

void adzi_reader_arena_free(reader_arena *arena);

/* ---- what a model consists of --------------------------------------------------------------- */

/** Element types, by their numbers in the format. */
enum {
    ELEMENT_FLOAT = 1,
    ELEMENT_UINT8 = 2,
    ELEMENT_INT8 = 3,
    ELEMENT_UINT16 = 4,
    ELEMENT_INT16 = 5,
    ELEMENT_INT32 = 6,
    ELEMENT_INT64 = 7,
    ELEMENT_STRING = 8,
    ELEMENT_BOOL = 9,
    ELEMENT_FLOAT16 = 10,
    ELEMENT_DOUBLE = 11,
    ELEMENT_UINT32 = 12,
    ELEMENT_UINT64 = 13,
    ELEMENT_BFLOAT16 = 16
};

/** Kinds of attributes, by their numbers in the format. */
enum {
    ATTRIBUTE_FLOAT = 1,
    ATTRIBUTE_INT = 2,
    ATTRIBUTE_STRING = 3,
    ATTRIBUTE_TENSOR = 4,
    ATTRIBUTE_GRAPH = 5,
    ATTRIBUTE_FLOATS = 6,
    ATTRIBUTE_INTS = 7,
    ATTRIBUTE_STRINGS = 8
};

typedef struct reader_graph reader_graph;
typedef struct reader_operator reader_operator;
typedef struct reader_call reader_call;

typedef struct reader_attribute {
    const char *name;
    int type;
    double f;      /* of ATTRIBUTE_FLOAT, or of a tensor with one element */
    int64_t i;     /* of ATTRIBUTE_INT, or of a tensor with one element of a dtype of integers */
    const char *s; /* ATTRIBUTE_STRING */
    adz_tensor *t; /* ATTRIBUTE_TENSOR; the model's */
    int element;   /* of t */
    reader_graph *graph; /* ATTRIBUTE_GRAPH */
    int64_t *ints;       /* ATTRIBUTE_INTS */
    double *floats;      /* ATTRIBUTE_FLOATS */
    const char **strings;
    size_t n; /* entries of the lists */
} reader_attribute;

#define NO_VALUE SIZE_MAX
#define LEFT_OUT (SIZE_MAX - 1) /* what a name of a function stands for that gets no value */

typedef struct reader_node {
    const char *name, *type, *domain;
    const reader_operator *op;
    int (*host)(const reader_call *call); /* NULL, or see host.h */
    size_t *inputs, *outputs;             /* values; NO_VALUE for one that is left out */
    size_t n_inputs, n_outputs;
    reader_attribute *attributes;
    size_t n_attributes;
    int64_t opset;
    bool wraps; /* results are int8, which the operator may have left */
} reader_node;

/** What a value is. An alias is a name only: in calls of functions, it stands for another value. */
enum { VALUE_INPUT, VALUE_WEIGHT, VALUE_CONSTANT, VALUE_COMPUTED, VALUE_ALIAS };

typedef struct reader_value {
    const char *name;
    const reader_graph *graph; /* where it is defined */
    int kind;                  /* VALUE_... */
    int element;               /* ELEMENT_...; 0 if it is not known at loading */
    adz_tensor *weight;        /* of a weight or constant, until the module has it */
    size_t last;               /* the last node of its graph that reads it */
    bool read;                 /* some node reads it */
    bool result;               /* it is an output of a graph */
    bool reached;              /* a gradient reaches it */
    bool parameter;            /* the module has it among its parameters, else among its buffers */
    size_t holder, index;      /* where the module has it */
    size_t target;             /* of an alias */
} reader_value;

/** An input or output of a graph, as it is declared. */
typedef struct reader_declared {
    size_t value;
    const char *name;
    int element;     /* 0: not declared */
    adz_shape shape; /* -1 for a size that is free; rank -1 if it is not declared */
} reader_declared;

typedef struct reader_function {
    reader_bytes name, domain, overload, message;
} reader_function;

/** A graph, or the scope of a call of a function, whose nodes are those of the graph around it. */
struct reader_graph {
    reader_graph *parent;
    reader_graph *home; /* the graph that has the nodes; itself, but for a scope */
    size_t id;
    int depth;
    int64_t opset;
    reader_node *nodes;
    size_t n_nodes, room;
    const reader_node *call;         /* of a scope: it sees names of its own only; else NULL */
    const reader_function *function; /* of a scope */
    reader_declared *inputs, *outputs;
    size_t n_inputs, n_outputs;
};

/** A child of the module, which holds weights under the first parts of their names. */
typedef struct reader_holder {
    size_t parent, child;
} reader_holder;

/** Shared by copies of a module; nothing of it changes after loading. */
typedef struct reader_model {
    const char *op; /* the public function that reads, for messages about tensors */
    atomic_size_t references;
    reader_arena arena;
    reader_value *values;
    size_t n_values, room;
    size_t *slots; /* a hash table of the values by graph and name */
    size_t n_slots;
    size_t n_graphs;
    reader_graph *graph;
    reader_holder *holders;
    size_t n_holders;
    adz_tensor **kept; /* tensors of attributes */
    size_t n_kept, room_kept;
    int64_t opset, ir;
    bool f64, freeze_norms;
    const char *folder;         /* of the file, with its slash; "" for the working directory */
    reader_bytes file;          /* during loading */
    reader_function *functions; /* during loading */
    size_t n_functions, n_inlined, inlined_bytes;
} reader_model;

/** Reads the message of a model. */
adz_status adzi_reader_parse(reader_model *model, reader_bytes file);

/** Reads a graph inside another one; NULL with the error recorded. */
reader_graph *adzi_reader_graph(reader_model *model, reader_bytes message, reader_graph *parent);

/** A graph without nodes, inside another one; NULL with the error recorded. */
reader_graph *adzi_reader_scope(reader_model *model, reader_graph *parent);

/** Reads a node of a graph and adds it. */
adz_status adzi_reader_add_node(reader_model *model, reader_graph *graph, reader_bytes message);

/** The version of ONNX's own operators in an opset's message, 0 for operators of others; false if
 * it is malformed. */
bool adzi_reader_opset(reader_bytes message, int64_t *version);

/** Finds the functions of a model. */
adz_status adzi_reader_functions(reader_model *model, reader_bytes file);

/** The function that a node calls; NULL for an operator. */
const reader_function *adzi_reader_function(
    const reader_model *model, const char *domain, const char *type, reader_bytes overload);

/** The message of an attribute's default in a function; empty if there is none. */
reader_bytes adzi_reader_default(const reader_function *function, reader_bytes name);

/** Adds the nodes of a function to the graph of a call, whose inputs and attributes are read. */
adz_status adzi_reader_inline(reader_model *model, reader_graph *graph, const reader_node *call,
    const reader_function *function, reader_bytes node);

/** Reads a node of a graph. Its outputs become values of the graph. The type of a node that called
 * a function is NULL afterwards: its nodes are added. */
adz_status adzi_reader_node(
    reader_model *model, reader_graph *graph, reader_bytes message, reader_node *node);

/** The value of a name, in the graph or in one around it; NO_VALUE if there is none. */
size_t adzi_reader_lookup(const reader_model *model, const reader_graph *graph, reader_bytes name);

/** Gives a name to a new value of a graph. */
adz_status adzi_reader_define(
    reader_model *model, const reader_graph *graph, reader_bytes name, int kind, size_t *value);

/** Takes a tensor into the model's care. */
adz_status adzi_reader_keep(reader_model *model, adz_tensor *t);

/** The tensor of a message, borrowed from the scope: f16 and bf16 become f32, int8 becomes i32.
 * `element` becomes the type in the file. NULL with an error that names `name`. */
adz_tensor *adzi_reader_tensor(
    reader_model *model, reader_bytes message, const char *name, int *element);

/** The bytes of a tensor in another file below the folder of the model, as u8, borrowed from the
 * scope. NULL with an error that names the tensor and the file. */
adz_tensor *adzi_reader_external(
    const reader_model *model, reader_bytes message, const char *name, uint64_t bytes);

/** The dtype that holds elements of a type; false if adze has none. */
bool adzi_reader_dtype(const reader_model *model, int element, adz_dtype *dtype);

/** "float16", for messages. */
const char *adzi_reader_element_name(int element);

/** The bytes of a file, borrowed from the scope; NULL with an error recorded. */
adz_tensor *adzi_reader_file(const char *op, const char *path);

bool adzi_reader_is(reader_bytes text, const char *name);

/** The bytes of a field, the last one of that number; false if the message is malformed. */
bool adzi_reader_part(reader_bytes message, uint32_t number, reader_bytes *bytes);

/** Adds the number of fields that hold bytes to n; false if the message is malformed. */
bool adzi_reader_count(reader_bytes message, uint32_t number, size_t *n);

/** Records that the bytes end inside something, or are none. */
adz_status adzi_reader_malformed(const char *where);

/** Gives the results of a node their element types; refuses int8 where it isn't supported. */
adz_status adzi_reader_types(reader_model *model, reader_node *node);

/** Whole numbers wrapped to the range of int8. */
adz_tensor *adzi_reader_wrapped(adz_tensor *x);

/** Says which values a gradient reaches. */
void adzi_reader_reach(reader_model *model);

/** Gives the tensors of weights and constants to the module, as parameters and buffers. */
adz_status adzi_reader_add_weights(
    reader_model *model, adz_module *module, const adz_onnx_load_options *options);

void adzi_reader_model_release(reader_model *model);

/** For messages: at most 60 characters of a text of the file. */
#define TEXT(b) (int)((b).size < 60 ? (b).size : 60), (const char *)(b).at

#endif
