/* The C99 writer: a traced program in the terms of C, and the functions that its files share.
 *
 *     program.c      values and calls, made from a trace
 *     print.c        lines, loops and elements: the smallest parts of the text
 *     calls.c        a call, by the printer of its row (export/rows.h)
 *     chain.c        elementwise calls that follow each other, as one loop
 *     repeat.c       constants whose rows are equal
 *     memory.c       offsets of buffers in static memory, from their lifetimes
 *     variables.c    memories that functions share
 *     reuse.c        copies that are not needed, results that are computed in their variable
 *     updates.c      the numbers of optimizers' updates
 *     type_text.c    the functions that compute these numbers
 *     function.c     one function of the file
 *     math.c         exp, tanh and others for programs without libm
 *     weights/       what functions have learnt, as a file
 *     file.c         the two files
 *
 * A value is a tensor of the trace: its layout, and the memory that holds its elements. Views share
 * the memory of the tensor that they view, so a view prints nothing. */
#ifndef ADZI_EXPORT_C99_H
#define ADZI_EXPORT_C99_H

#include "ops/op.h"
#include "base/text.h"
#include "export/rows.h"
#include "optim/optimizer.h"

typedef enum adzi_c99_kind {
    ADZI_C99_INPUT,    /* the caller's array */
    ADZI_C99_CONSTANT, /* known when the file is written */
    ADZI_C99_VARIABLE, /* an array that lives from call to call: a weight, a running statistic, what
                          an optimizer keeps, a gradient to which steps add */
    ADZI_C99_BUFFER,   /* computed; lies in static memory */
    ADZI_C99_NUMBER    /* of an update: computed when the function starts */
} adzi_c99_kind;

enum { ADZI_C99_HELPERS = 192 };
enum { ADZI_C99_ARENAS = 4, ADZI_C99_NAME = 128, ADZI_C99_LABEL = 160, ADZI_C99_INDEX = 200 };

/** Elements of one type. */
typedef struct adzi_c99_memory {
    adzi_c99_kind kind;
    adz_dtype dtype;                /* in C: f64 instead of f32 in a file of doubles */
    adz_dtype stored;               /* of `data` */
    int64_t count;                  /* elements */
    const void *data;               /* contents of a constant or a variable */
    const adz_tensor *tensor;       /* of a constant or a variable */
    const adz_tensor *leaf;         /* whose state or gradient a variable is; NULL for others */
    const adz_optimizer *optimizer; /* of a state; NULL for others */
    int which;                      /* of a state or a number: its position in the type */
    int update;                     /* of a number: an index in `updates` */
    int function; /* the only function that uses it; -1 for constants and variables */
    int start;    /* the constant that a buffer is filled with when the function starts; or -1 */
    char name[ADZI_C99_NAME];   /* the identifier in C */
    char label[ADZI_C99_LABEL]; /* for a comment: what it is, and its shape */
    int first, last;            /* the steps of the function that use it; -1 for none */
    int64_t offset;             /* of a buffer, in elements */
    int replaces; /* the buffer whose elements a loop reads before it writes those of this one to
                     the same positions; -1: none */
    int until;    /* the last step that uses this buffer or one that replaces it */
    bool uniform; /* a constant whose elements are equal: printed as a number */
    bool array;   /* the array of a constant is used in the file */
    bool made;    /* a constant that a function makes in every call */
    bool changes; /* a variable that some function changes */
    bool saved;   /* a file of weights has it */
} adzi_c99_memory;

/** A tensor of the program. Strides and offset are in elements. */
typedef struct adzi_c99_value {
    int memory;
    int64_t offset;
    int rank;
    int64_t sizes[ADZ_MAX_RANK], strides[ADZ_MAX_RANK], numel;
    adz_dtype dtype;
} adzi_c99_value;

/** One call of an operator. in[i] is -1 for an argument that was left out. */
typedef struct adzi_c99_call {
    const adzi_op *op;
    const adzi_row *row; /* NULL: there is none */
    const void *attr;
    const char *path; /* of the module that was called; "" outside modules */
    const int *in, *out;
    int n_in, n_out;
    bool inplace;
} adzi_c99_call;

/** A parameter that a function updates by an optimizer. Parameters that have made as many steps,
 * and make as many in each function, have one count in the file. */
typedef struct adzi_c99_stepped {
    adzi_parameter_position position;
    int64_t steps;  /* before the first call */
    uint32_t fresh; /* bit k: the first step makes state k */
    size_t count;   /* the first parameter with the same steps */
} adzi_c99_stepped;

/** Numbers that a function computes once: those of a step of a group, for one count. */
typedef struct adzi_c99_update {
    int function;
    size_t stepped; /* one of the parameters */
    int64_t ahead;  /* steps in this function before it */
} adzi_c99_update;

/** The program, and the text of the function that is being printed. */
typedef struct adzi_c99 {
    const char *op;   /* the public function, for messages */
    const char *name; /* the prefix of every public identifier */
    bool libm;
    bool separate; /* the weights are in a file of their own */
    bool caller;   /* the caller holds the state */
    bool wide;     /* floats are doubles in C */

    adzi_c99_memory *memories;
    size_t n_memories, memories_capacity;
    adzi_c99_stepped *stepped;
    size_t n_stepped, stepped_capacity;
    int64_t *steps; /* of parameter i in one call of function k: steps[i * n_functions + k] */
    size_t steps_capacity;
    adzi_c99_update *updates;
    size_t n_updates, updates_capacity;
    const char **texts; /* of optimizers' types, in the file */
    size_t n_texts, texts_capacity;
    size_t n_functions;

    int function; /* the one whose values and calls follow */
    adzi_c99_value *values;
    size_t n_values, values_capacity;
    adzi_c99_call *calls;
    size_t n_calls, calls_capacity;
    size_t n_inputs;    /* the first values */
    const int *outputs; /* the values that are returned */
    size_t n_outputs;
    int *results; /* the memory of the caller's array for each of them */
    size_t results_capacity;

    adzi_text body;                 /* the function that is being printed */
    int step;                       /* counts calls */
    int depth;                      /* of indentation */
    int variables;                  /* loop variables in use */
    bool helpers[ADZI_C99_HELPERS]; /* the functions of math.c that are used */
    bool failed;                    /* an error is recorded */
    int64_t arena[ADZI_C99_ARENAS]; /* elements of the static buffers, by type */
    const char *current;            /* the operator that is being printed, for messages */
} adzi_c99;

/* ---- printing -------------------------------------------------------------------------------- */

/** Adds an indented line to the body. */
void adzi_c99_line(adzi_c99 *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Records an error under the exporter's name, once. */
void adzi_c99_fail(adzi_c99 *c, adz_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** "float", "int32_t", "unsigned char" or "double": the type in C. */
const char *adzi_c99_type(adz_dtype dtype);

/** The static arenas, one per type in C. */
enum { ADZI_C99_FLOATS, ADZI_C99_INTEGERS, ADZI_C99_BYTES, ADZI_C99_DOUBLES };

/** Which of the static arenas holds elements of a dtype. */
int adzi_c99_arena(adz_dtype dtype);

/** Bytes of an element in C. */
int64_t adzi_c99_bytes(adz_dtype dtype);

/** A number as a literal of the file's type of floats, which is the other function's result. */
const char *adzi_c99_real(const adzi_c99 *c, double x);

/** The dtype in C of a tensor's elements. */
adz_dtype adzi_c99_dtype(const adzi_c99 *c, adz_dtype dtype);

/** The file's type of floats: "float" or "double". */
const char *adzi_c99_real_type(const adzi_c99 *c);

/** A number as a literal of the type double. */
const char *adzi_c99_double(double x);

/** A number as a literal of the type that holds elements of a dtype. */
const char *adzi_c99_number(adzi_c99 *c, adz_dtype dtype, double x);

/** An element of a memory: "h3[i * 4 + 2]", or the number itself. */
void adzi_c99_element(adzi_c99 *c, int memory, const char *index, char *text, size_t size);

/** The address of the element at `index`: "h3 + i * 4". */
void adzi_c99_address(adzi_c99 *c, int memory, const char *index, char *text, size_t size);

enum { ADZI_C99_OPERANDS = 24 };

/** Loops over a shape, with several operands that broadcast to it. */
typedef struct adzi_c99_nest {
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
    int n;
    struct {
        int memory;
        int64_t strides[ADZ_MAX_RANK];
        char index[ADZI_C99_INDEX]; /* of the element, once the nest is open; before: what is added
                                       to it */
        char text[ADZI_C99_INDEX + ADZI_C99_NAME]; /* the element, once the nest is open */
    } operand[ADZI_C99_OPERANDS];
    int loops; /* after merging */
} adzi_c99_nest;

/** Starts a nest over a shape. */
adzi_c99_nest adzi_c99_nest_of(int rank, const int64_t *sizes);

/** Adds an operand, which broadcasts to the nest's shape. Its number is returned. */
int adzi_c99_nest_add(adzi_c99_nest *nest, const adzi_c99_value *value);

/** Adds " + part" to an index, unless the part is empty. The buffers hold every index of a tensor
 * of rank 8. A sum that does not fit is marked, so that an element at it is an error. */
void adzi_c99_join(char *to, size_t size, const char *part);

/** Opens the loops. Dimensions of size 1 are left out, and neighbours are merged where all operands
 * allow it. */
void adzi_c99_nest_open(adzi_c99 *c, adzi_c99_nest *nest);
void adzi_c99_nest_close(adzi_c99 *c, adzi_c99_nest *nest);

/** Opens a loop from `from` to below `below`, both expressions; `variable` gets its name. */
void adzi_c99_range(
    adzi_c99 *c, const char *from, const char *below, int64_t step, char variable[4]);

/** Opens and closes one loop with the given count; `variable` gets the name. */
void adzi_c99_loop(adzi_c99 *c, int64_t count, char variable[4]);
void adzi_c99_end(adzi_c99 *c);

/** Opens a loop unless the count is 1; then `variable` is empty. Returns true if a loop is open. */
bool adzi_c99_loop_over(adzi_c99 *c, int64_t count, char variable[4]);

/** Adds " + variable * stride" to an index, leaving out what is 0 or 1. */
void adzi_c99_index(char *index, size_t size, const char *variable, int64_t stride);

/* ---- values ---------------------------------------------------------------------------------- */

/** Argument i of a call, or NULL where it was left out. */
const adzi_c99_value *adzi_c99_in(const adzi_c99 *c, const adzi_c99_call *call, int i);

/** Result k of a call. */
const adzi_c99_value *adzi_c99_out(const adzi_c99 *c, const adzi_c99_call *call, int k);

/** An attribute by its name in the operator's table of fields; `otherwise` if there is none. */
double adzi_c99_attr(const adzi_c99_call *call, const char *field, double otherwise);

/** The elements of an attribute that is a list, or NULL. */
const void *adzi_c99_attr_list(const adzi_c99_call *call, const char *field);

/** The value with two dimensions exchanged. */
adzi_c99_value adzi_c99_transposed(const adzi_c99_value *value, int a, int b);

/** The value without dimension `dim`, at its first element along it. */
adzi_c99_value adzi_c99_without(const adzi_c99_value *value, int dim);

/** The value as [rows, last]; false if its leading dimensions cannot be merged. */
bool adzi_c99_rows(const adzi_c99_value *value, adzi_c99_value *rows);

/** A new contiguous buffer that the step uses as scratch memory. */
adzi_c99_value adzi_c99_scratch(adzi_c99 *c, adz_dtype dtype, int rank, const int64_t *sizes);

/** A new memory; its index, or -1 with the error recorded. */
int adzi_c99_memory_new(adzi_c99 *c, adzi_c99_kind kind, adz_dtype dtype, int64_t count);

/* ---- operators ------------------------------------------------------------------------------- */

/** Prints a call. Records an error that names the operator if it has no printer. */
void adzi_c99_forward(adzi_c99 *c, const adzi_c99_call *call);

/** Checks the dtypes of a call and prints the comment before its code. False with the error
 * recorded. */
bool adzi_c99_begin_call(adzi_c99 *c, const adzi_c99_call *call);

/** True for operators that have a printer. Others are traced as their expression. */
bool adzi_c99_prints(const adz_operator *op);

/** True if the row says how an element of the result is computed. */
bool adzi_c99_is_elementwise(const adzi_c99_call *call);

/** The inputs that an elementwise call reads: bit i stands for input i. */
unsigned adzi_c99_reads(const adzi_c99 *c, const adzi_c99_call *call);

/** Adds the expression of an element of an elementwise call, in which inputs[i] stands for the
 * element of input i. */
void adzi_c99_add_element(
    adzi_c99 *c, const adzi_c99_call *call, const char *const inputs[3], adzi_text *text);

/** Prints value = `text` for all elements, with the element of `from` for $a. */
void adzi_c99_map(
    adzi_c99 *c, const adzi_c99_value *to, const char *text, const adzi_c99_value *from);

/** The operands of a product of matrices: y = a b + bias. The matrices are the last two dimensions,
 * and the leading dimensions broadcast. */
typedef struct {
    const adzi_c99_value *a, *b, *y;
    const adzi_c99_value *bias; /* NULL for none; broadcasts to y */
    bool accumulate;            /* the product is added to y */
} adzi_c99_operands;

/** Prints a product. */
void adzi_c99_product(adzi_c99 *c, const adzi_c99_operands *operands);

/** Records the error of a dropout that draws. */
void adzi_c99_refuse_dropout(adzi_c99 *c, double p);

/** Prints a call. */
typedef void adzi_c99_printer(adzi_c99 *c, const adzi_c99_call *call);
adzi_c99_printer adzi_c99_adaptive_avg_pool, adzi_c99_attention, adzi_c99_avg_pool, adzi_c99_cat,
    adzi_c99_clamp, adzi_c99_conv, adzi_c99_conv_transpose, adzi_c99_conv_weight, adzi_c99_convert,
    adzi_c99_cumsum, adzi_c99_dropout, adzi_c99_elementwise, adzi_c99_embedding, adzi_c99_extreme,
    adzi_c99_extreme_position, adzi_c99_flip, adzi_c99_fold, adzi_c99_gather, adzi_c99_index_select,
    adzi_c99_interpolate, adzi_c99_layer_norm, adzi_c99_linear, adzi_c99_linear_relu,
    adzi_c99_log_softmax, adzi_c99_logsumexp, adzi_c99_matmul, adzi_c99_max_pool, adzi_c99_norm,
    adzi_c99_one_hot, adzi_c99_pad, adzi_c99_recurrent, adzi_c99_reduce, adzi_c99_reshape,
    adzi_c99_rows_sum, adzi_c99_scatter_add, adzi_c99_slice_backward, adzi_c99_softmax,
    adzi_c99_topk, adzi_c99_tril, adzi_c99_triu, adzi_c99_unfold;

/* ---- functions of the file's own ------------------------------------------------------------- */

/** Adds `part` to a text and replaces @exp and the like by the function's name in the file, which
 * is noted as used. In a file of doubles "float" becomes "double", and 0.5f becomes 0.5. */
void adzi_c99_expand(adzi_c99 *c, adzi_text *text, const char *part);

/** True if the file may have a function NAME_<name>. */
bool adzi_c99_is_function(const char *name);

/** Adds n characters of C without "@". In a file of doubles "float" becomes "double", and 0.5f
 * becomes 0.5. */
void adzi_c99_add_plain(const adzi_c99 *c, adzi_text *text, const char *at, size_t n);

/** The file's function for one of math.h that computes with double; NULL: there is none. */
const char *adzi_c99_of_doubles(const adzi_c99 *c, const char *name, size_t length);

/** Adds the functions that are used to the file. */
void adzi_c99_functions(adzi_c99 *c, adzi_text *file);

/* ---- memory and names ------------------------------------------------------------------------ */

/** Gives the buffers of the function that was printed their offsets in static memory, and raises
 * c->arena. */
void adzi_c99_assign_offsets(adzi_c99 *c);

/** Makes the name of a memory differ from those of all others. */
void adzi_c99_make_unique(adzi_c99 *c, adzi_c99_memory *m);

/** Makes an identifier of a name: letters, digits and underscores. */
void adzi_c99_identifier(char *to, size_t size, const char *prefix, const char *name);

/** Makes a name fit for a comment: whatever could end the comment becomes an underscore. */
void adzi_c99_comment(char *to, size_t size, const char *name);

/* ---- state.c ----------------------------------------------------------------------------------
 */

/** True if the weights of a memory are handed over by NAME_load. */
bool adzi_c99_is_separate(const adzi_c99 *c, const adzi_c99_memory *m);

/** True if the caller's state has the memory, as a field that has its name. */
bool adzi_c99_in_state(const adzi_c99 *c, const adzi_c99_memory *m);

/** What comes before the name of something that functions change: "state->", or nothing. */
const char *adzi_c99_of_state(const adzi_c99 *c);

/* ---- lanes.c: loops over the lanes of a tensor and over the elements of each lane, for operators
 * that reduce or normalise over some dimensions -------------------------------------------------
 */

/** `outer` runs over the dimensions that stay, `inner` over those of a lane. Operand k is the same
 * value in both. */
typedef struct adzi_c99_lanes {
    adzi_c99_nest outer, inner;
    int rank;
    unsigned mask;
    int64_t count; /* elements of a lane */
} adzi_c99_lanes;

/** Lanes of `value` along the dimensions in `mask`; 0 means all of them. */
adzi_c99_lanes adzi_c99_lanes_of(const adzi_c99_value *value, unsigned mask);

/** Adds an operand that broadcasts to the value, or is a result of it without the dimensions of the
 * mask. Returns its number. NULL gives -1. */
int adzi_c99_lanes_add(adzi_c99_lanes *lanes, const adzi_c99_value *value);

/** Adds an operand of the value's rank, reduced over the mask, which may have lost these
 * dimensions. */
int adzi_c99_lanes_add_reduced(adzi_c99_lanes *lanes, const adzi_c99_value *value);

void adzi_c99_lanes_open(adzi_c99 *c, adzi_c99_lanes *lanes);
void adzi_c99_lanes_close(adzi_c99 *c, adzi_c99_lanes *lanes);

/** Opens one pass over the lane's elements. The returned nest has the elements' texts. */
adzi_c99_nest adzi_c99_pass(adzi_c99 *c, const adzi_c99_lanes *lanes);

/** The element of an operand that is the same for the whole lane. */
const char *adzi_c99_lane_element(adzi_c99 *c, adzi_c99_lanes *lanes, int operand);

#endif
