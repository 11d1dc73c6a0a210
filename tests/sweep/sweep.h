/* The sweep calls every public function with wrong arguments. generate.py writes the table of
 * functions from the headers. values.c, lists.c, objects.c, modules.c and files.c make arguments.
 * attack.c chooses them, call.c makes one call, and main.c runs the workers. */
#ifndef ADZE_TESTS_SWEEP_H
#define ADZE_TESTS_SWEEP_H

#include "adze/adze.h"
#include "adze/custom.h"
#include "adze/dlpack.h"

/* The kind of a parameter. The kinds from KIND_TENSOR on are pointers to opaque objects. */
typedef enum kind {
    KIND_BOOL,
    KIND_INT,
    KIND_ENUM, /* param.extra: the number of values of the enum */
    KIND_INT64,
    KIND_SIZE,
    KIND_COUNT, /* the number of elements of the arrays in the call or struct */
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
    KIND_NAMED, /* an array of adz_named_tensor */
    KIND_TENSORS,
    KIND_MODULES,
    KIND_SCHEDULERS,
    KIND_GENERATORS,
    KIND_PLANS,
    KIND_ROOM,     /* memory that the function writes to; param.extra: bytes, 0 for plenty */
    KIND_STRUCT,   /* const or filled in; param.extra: the struct's position in the table */
    KIND_FUNCTION, /* param.extra: its position in `functions_of_ours` */
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
    KIND_LOAD_REPORT,
    KIND_GROUPS,
    KIND_FLAT_PARAMETERS,
    KIND_DATA_PARALLEL,
    KIND_PLAN,
    KIND_GROUP,
    KIND_DLPACK, /* only as a result */
    KIND_KEPT,   /* only as a result: a tensor with a reference for the caller */
    KIND_NONE    /* only as a result that needs no freeing */
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
    bool taken;   /* The function takes the reference over, also if it fails. */
    bool address; /* The argument is the address of the pointer, which the function sets to NULL. */
    kind gives;   /* the kind of object that a KIND_ROOM receives and that is freed; or KIND_NONE */
    const char *hint; /* the name of the choice with which calls succeed; NULL: the first choice */
    size_t offset, size; /* of a field */
} param;

typedef struct structure {
    const char *name;
    size_t size;
    bool sized;                 /* the struct begins with its size */
    void (*fill)(void *object); /* fills the struct with valid values */
    const param *fields;
    size_t n_fields;
} structure;

/* One argument of one call. */
typedef struct arg {
    value v;
    size_t choice;
    uint64_t random;     /* for the choices that are drawn */
    size_t length, room; /* of an array: its elements, and the elements that it has memory for */
    void *objects[4];    /* what an array of modules holds; released by count */
    void *held;          /* an object behind KIND_*, or the pointer whose address was passed */
} arg;

typedef enum returns {
    RETURNS_NOTHING,
    RETURNS_STATUS,
    RETURNS_POINTER, /* NULL is a failure */
    RETURNS_MAYBE,   /* a pointer of which NULL is also a valid answer */
    RETURNS_NUMBER,  /* which is stored as a double */
    RETURNS_OTHER
} returns;

typedef struct function {
    const char *name;
    const param *params;
    size_t n_params;
    returns returns;
    kind owned;    /* the kind of a result that the caller frees; KIND_NONE for borrowed results */
    bool succeeds; /* with some arguments of the sweep */
    bool is_operator; /* errors have its own name */
    void (*call)(const arg *a, value *result);
} function;

#define MOST_PARAMS 10
/* How many tensors the body of a loop gets and gives in the present call, by n_carries, n_inputs
 * and n_results. */
extern size_t loop_inputs, loop_results;

/* Whether its condition holds: not if max_iterations would let it go on for long. */
extern bool loop_goes_on;

enum { ROOM = 64 }; /* elements that every array has memory for */

extern const function functions[];
extern const size_t n_functions;
extern const structure structures[];
extern const any_function functions_of_ours[];

/* ---- values.c -------------------------------------------------------------------------------- */

uint64_t random_from(uint64_t *seed);

/* Numbers drawn from `random`: half of them are small, half of any size. */
double drawn_double(uint64_t random);
int64_t drawn_int64(uint64_t random);

/* The number of choices for an argument. The first *valid of them are valid arguments. */
size_t choices_of(const param *p, size_t *valid);

/* The name of a choice, for messages and hints. */
const char *choice_name(const param *p, size_t choice);

void make(const param *p, size_t choice, uint64_t random, arg *a);

/* Frees the objects that make() made. `count` is the KIND_COUNT argument of the call, or 0. */
void end(const param *p, arg *a, size_t count);

/* Limits each count to the memory of the arrays in the call. */
void bound_counts(const param *params, size_t n, arg *args);

/* Memory that lasts until the next call. */
void *call_memory(size_t bytes);
void call_memory_end(void);

/* ---- lists.c: texts, shapes, lists, arrays --------------------------------------------------- */

/* Counts the choices of a parameter of lists.c; false if it is of another kind. */
bool list_choices(const param *p, size_t *n, size_t *valid);
const char *list_name(const param *p, size_t choice);
void make_list(const param *p, size_t choice, uint64_t random, arg *a);

/* The kind of the elements of an array of objects; KIND_NONE for all other kinds. */
kind kind_in_array(kind k);

/* ---- objects.c ------------------------------------------------------------------------------- */

size_t object_choices(kind k, size_t *valid);
const char *object_name(kind k, size_t choice);
void *object_make(kind k, size_t choice);

/* Makes the tensors that live as long as the program. Call it before tensors are counted. */
void objects_begin(void);
void object_end(kind k, void *object);

/* Uses the result of a call as a program would. */
void object_use(kind k, void *object);

extern adz_node *node_of_backward; /* the node in whose backward a call is made */

/* ---- files.c --------------------------------------------------------------------------------- */

/* Writes the files that the paths of KIND_PATH name. */
void files_write(void);
const void *file_bytes(const char *name, size_t *size);

#endif
