/* The sweep calls every public function with wrong arguments. generate.py writes the table of
 * functions from the headers. values.c, lists.c, objects.c, modules.c and files.c make arguments.
 * attack.c chooses them, call.c makes one call, and main.c runs the workers. */
#ifndef ADZE_TESTS_SWEEP_H
#define ADZE_TESTS_SWEEP_H

#include "adze/adze.h"
#include "adze/custom.h"
#include "adze/dlpack.h"

/* What a parameter is made from. Objects, from KIND_TENSOR on, are pointers to something opaque. */
typedef enum kind {
    KIND_BOOL,
    KIND_INT,
    KIND_ENUM, /* param.extra: how many values the enum has */
    KIND_INT64,
    KIND_SIZE,
    KIND_COUNT, /* of the elements in the arrays of the same call or struct */
    KIND_U64,
    KIND_DOUBLE,
    KIND_CHAR,
    KIND_SHAPE,
    KIND_DIMS,
    KIND_LIST,
    KIND_TEXT,
    KIND_GENERATOR_STATE,
    KIND_STRING,
    KIND_PATH,
    KIND_ENCODED, /* the bytes of a file, or text */
    KIND_INTS,
    KIND_INT64S,
    KIND_DOUBLES,
    KIND_STRINGS,
    KIND_TEXTS,
    KIND_TENSORS,
    KIND_MODULES,
    KIND_SCHEDULERS,
    KIND_GENERATORS,
    KIND_ROOM,     /* memory that the function writes to; param.extra: bytes, 0 for plenty */
    KIND_STRUCT,   /* const or filled in; param.extra: the struct's place in the table */
    KIND_FUNCTION, /* param.extra: its place in `functions_of_ours` */
    KIND_FILE,
    KIND_NODE,
    KIND_TENSOR,
    KIND_MODULE,
    KIND_OPTIMIZER,
    KIND_SCHEDULER,
    KIND_GENERATOR,
    KIND_CONTEXT,
    KIND_SCOPE,
    KIND_CSV,
    KIND_DATASET,
    KIND_LOADER,
    KIND_TOKENIZER,
    KIND_TOKEN_STREAM,
    KIND_SAFETENSORS,
    KIND_STATE,
    KIND_VALUES,
    KIND_GROUPS,
    KIND_DLPACK, /* only as a result */
    KIND_KEPT,   /* a tensor with a reference of the caller's, likewise */
    KIND_NONE    /* only as a result: nothing to end */
} kind;

typedef void (*any_function)(void);

/* Every value starts at the same address, so that a field of a struct is filled by copying as many
 * bytes as it has. */
typedef union value {
    void *p;
    any_function f;
    bool b;
    char c;
    int n;
    int64_t i;
    uint64_t u;
    size_t z;
    double d;
    adz_shape shape;
    adz_dims dims;
    adz_tensor_list list;
    adz_text text;
    adz_generator_state state;
} value;

/* A parameter of a function, or a field of a struct. */
typedef struct param {
    const char *name;
    kind kind;
    size_t extra;
    bool taken;       /* the function takes the reference over, in failure too */
    bool address;     /* a pointer to the object's pointer, which the function makes NULL */
    kind gives;       /* what a KIND_ROOM may receive that has to be ended; KIND_NONE for nothing */
    const char *hint; /* the choice with which calls succeed, or NULL for the first */
    size_t offset, size; /* of a field */
} param;

typedef struct structure {
    const char *name;
    size_t size;
    bool sized;                /* begins with its size */
    void (*fill)(void *place); /* makes it valid */
    const param *fields;
    size_t n_fields;
} structure;

/* One argument as it is in one call. */
typedef struct arg {
    value v;
    size_t choice;
    uint64_t random;     /* for the choices that are drawn */
    size_t length, room; /* of an array: elements it has, elements it may be said to have */
    void *objects[4];    /* what an array of modules holds; released by count */
    void *held;          /* an object behind KIND_*, or the pointer whose address was passed */
} arg;

typedef enum returns {
    RETURNS_NOTHING,
    RETURNS_STATUS,
    RETURNS_POINTER, /* NULL is a failure */
    RETURNS_MAYBE,   /* a pointer of which NULL is also a valid answer */
    RETURNS_OTHER
} returns;

typedef struct function {
    const char *name;
    const param *params;
    size_t n_params;
    returns returns;
    kind owned;    /* what has to be ended if a call gives one; KIND_NONE for borrowed results */
    bool succeeds; /* with some of the arguments that the sweep makes */
    void (*call)(const arg *a, value *result);
} function;

#define MOST_PARAMS 10
enum { ROOM = 64 }; /* elements that every array has memory for */

extern const function functions[];
extern const size_t n_functions;
extern const structure structures[];
extern const any_function functions_of_ours[];

/* ---- values.c -------------------------------------------------------------------------------- */

uint64_t random_from(uint64_t *seed);

/* Half of these are small, the other half as large as they may be. */
double drawn_double(uint64_t random);
int64_t drawn_int64(uint64_t random);

/* How many ways there are to make such an argument; the first `*valid` are sensible ones. */
size_t choices_of(const param *p, size_t *valid);

/* The name of a choice, for messages and hints. */
const char *choice_name(const param *p, size_t choice);

void make(const param *p, size_t choice, uint64_t random, arg *a);

/* Ends what make made, after the call. `count` is the call's KIND_COUNT, if it has one. */
void end(const param *p, arg *a, size_t count);

/* No count may be larger than the arrays that it is given with. */
void bound_counts(const param *params, size_t n, arg *args);

/* Memory that lasts until the next call. */
void *call_memory(size_t bytes);
void call_memory_end(void);

/* ---- lists.c: texts, shapes, lists, arrays ----------------------------------------------------
 */

/* False for a parameter of another kind. */
bool list_choices(const param *p, size_t *n, size_t *valid);
const char *list_name(const param *p, size_t choice);
void make_list(const param *p, size_t choice, uint64_t random, arg *a);

/* What an array of pointers points to; KIND_NONE for everything else. */
kind kind_in_array(kind k);

/* ---- objects.c ------------------------------------------------------------------------------- */

size_t object_choices(kind k, size_t *valid);
const char *object_name(kind k, size_t choice);
void *object_make(kind k, size_t choice);
void object_end(kind k, void *object);

/* Uses what a call has given, in the ways in which a program would. */
void object_use(kind k, void *object);

extern adz_node *node_of_backward; /* the node in whose backward a call is made */

/* ---- files.c --------------------------------------------------------------------------------- */

/* Writes the files that the paths of KIND_PATH name. */
void files_write(void);
const void *file_bytes(const char *name, size_t *size);

#endif
