/* The C99 writer: a traced program in the terms of C, and the functions that its files share.
 *
 *     printer.h      what printers of operators use; they stand in src/ops beside the operators
 *     program.c      values and calls, made from a trace
 *     print.c        lines, loops and elements: the smallest parts of the text
 *     calls.c        a call, by the printer of its row (export/rows.h)
 *     elementwise.c  calls whose row has an expression of an element
 *     reduce.c       reductions whose row has the statement for an element
 *     slices.c        loops for operators that reduce or normalise
 *     slide.c        loops of a kernel that slides over an image
 *     product.c      products of matrices
 *     regions.c      loops and branches: which memory their values have
 *     region_print.c the text of loops and branches
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
 *     file.c         the two files */
#ifndef ADZI_EXPORT_C99_H
#define ADZI_EXPORT_C99_H

#include "export/c99/printer.h"
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
enum { ADZI_C99_ARENAS = 4, ADZI_C99_LABEL = 160 };

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
    const struct adzi_c99_call *placed; /* the end of the loop among whose results it is computed */
} adzi_c99_memory;

/** A parameter that a function updates by an optimizer. Parameters that have made as many steps,
 * and make as many in each function, have one count in the file. */
typedef struct adzi_c99_stepped {
    adzi_parameter_position position;
    int64_t steps;  /* before the first call */
    uint32_t fresh; /* bit k: the first step makes state k */
    size_t count;   /* the first parameter with the same steps */
} adzi_c99_stepped;

enum { ADZI_C99_REGIONS = 8 }; /* loops and branches inside each other */

/** A loop or a branch that is being printed. */
typedef struct adzi_c99_region {
    const adzi_c99_call *begin; /* the call that began it */
    int step;                   /* of that call */
    size_t head;                /* of the body's text: where its pointers are declared */
    char variable[64];          /* counts the steps of a loop */
} adzi_c99_region;

/** Numbers that a function computes once: those of a step of a group, for one count. */
typedef struct adzi_c99_update {
    int function;
    size_t stepped; /* one of the parameters */
    int64_t ahead;  /* steps in this function before it */
} adzi_c99_update;

/** The program, and the text of the function that is being printed. */
struct adzi_c99 {
    const char *op;   /* the public function, for messages */
    const char *name; /* the prefix of every public identifier */
    bool libm;
    bool separate; /* the weights are in a file of their own */
    bool caller;   /* the caller holds the state */
    bool wide;     /* floats are doubles in C */
    bool batches;  /* each function has one that runs it for many batches */

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

    adzi_text body;                            /* the function that is being printed */
    int step;                                  /* counts calls */
    int depth;                                 /* of indentation */
    int variables;                             /* loop variables in use */
    adzi_c99_region regions[ADZI_C99_REGIONS]; /* that are open, the innermost last */
    int n_regions;
    bool helpers[ADZI_C99_HELPERS]; /* the functions of math.c that are used */
    bool failed;                    /* an error is recorded */
    int64_t arena[ADZI_C99_ARENAS]; /* elements of the static buffers, by type */
    const char *current;            /* the operator that is being printed, for messages */
};

/* ---- printing -------------------------------------------------------------------------------- */

/** The static arenas, one per type in C. */
enum { ADZI_C99_FLOATS, ADZI_C99_INTEGERS, ADZI_C99_BYTES, ADZI_C99_DOUBLES };

/** Which of the static arenas holds elements of a dtype. */
int adzi_c99_arena(adz_dtype dtype);

/** Bytes of an element in C. */
int64_t adzi_c99_bytes(adz_dtype dtype);

/** The file's type of floats: "float" or "double". */
const char *adzi_c99_real_type(const adzi_c99 *c);

/** A number as a literal of the type double. */
const char *adzi_c99_double(double x);

/** Whether a name stands in a text. Printing may make an element whose text is not needed. */
bool adzi_c99_mentions(const char *text, const char *name);

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

/* ---- state.c --------------------------------------------------------------------------------- */

/** True if the weights of a memory are handed over by NAME_load. */
bool adzi_c99_is_separate(const adzi_c99 *c, const adzi_c99_memory *m);

/** True if the caller's state has the memory, as a field that has its name. */
bool adzi_c99_in_state(const adzi_c99 *c, const adzi_c99_memory *m);

/** What comes before the name of something that functions change: "state->", or nothing. */
const char *adzi_c99_of_state(const adzi_c99 *c);

#endif
