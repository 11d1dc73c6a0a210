/* What a printer needs: the function that writes the calls of an operator as C.
 *
 * A printer stands in the operator's room, in src/ops/<family>/<name>.c99.c, and is named in the
 * operator's row (export/rows.h). An operator without a printer is written as its expression, so
 * few need one. This one writes y = x with some dimensions reversed:
 *
 *     ADZI_C99_PRINTER(flip)
 *     {
 *         adzi_c99_value x = *adzi_c99_in(c, call, 0);
 *         const unsigned mask = (unsigned)adzi_c99_attr(call, "dims", 0);
 *         for (int d = 0; d < x.rank; ++d) {
 *             if (mask >> d & 1u) {
 *                 x.offset += (x.sizes[d] - 1) * x.strides[d];
 *                 x.strides[d] = -x.strides[d];
 *             }
 *         }
 *         adzi_c99_map(c, adzi_c99_out(c, call, 0), "= $a", &x);
 *     }
 *
 * A value is a tensor of the trace: its layout, and the memory that holds its elements. Views share
 * the memory of the tensor that they view, so a view prints nothing. Loops over a shape are a nest,
 * and loops over rows and within them are slices. In each text @exp and the like stand for
 * functions that the file brings along (sources/), and "float" for the file's type of floats.
 * Errors are recorded once, and printing goes on: the file is not written then. */
#ifndef ADZI_EXPORT_C99_PRINTER_H
#define ADZI_EXPORT_C99_PRINTER_H

#include "ops/op.h"
#include "base/text.h"
#include "export/rows.h"

/** Room for an identifier, for an index, and for an element: "name[index]". */
enum { ADZI_C99_NAME = 128, ADZI_C99_INDEX = 200, ADZI_C99_TEXT = ADZI_C99_INDEX + ADZI_C99_NAME };

/** The file that is being written. */
typedef struct adzi_c99 adzi_c99;

/** A tensor of the program. Strides and offset are in elements. */
typedef struct adzi_c99_value {
    int memory;
    int64_t offset;
    int rank;
    int64_t sizes[ADZ_MAX_RANK], strides[ADZ_MAX_RANK], numel;
    adz_dtype dtype;
    bool used; /* something needs it */
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

/** A function that prints a call. */
typedef void adzi_c99_printer(adzi_c99 *c, const adzi_c99_call *call);

/** Declares the printer adzi_c99_<name> and begins its definition. The file of the row declares it
 * as well. */
#define ADZI_C99_PRINTER(name)        \
    adzi_c99_printer adzi_c99_##name; \
    void adzi_c99_##name(adzi_c99 *c, const adzi_c99_call *call)

/** Print calls by the texts of their rows: `element` of an elementwise operator, or the statement
 * of a reduction. */
adzi_c99_printer adzi_c99_elementwise, adzi_c99_reduce;

/** Print the calls that begin and end loops and branches. */
adzi_c99_printer adzi_c99_scan, adzi_c99_scan_end, adzi_c99_while, adzi_c99_while_test,
    adzi_c99_while_end, adzi_c99_branch, adzi_c99_branch_else, adzi_c99_branch_end;

/* ---- the call -------------------------------------------------------------------------------- */

/** Argument i of a call, or NULL where it was left out. */
const adzi_c99_value *adzi_c99_in(const adzi_c99 *c, const adzi_c99_call *call, int i);

/** Result k of a call. */
const adzi_c99_value *adzi_c99_out(const adzi_c99 *c, const adzi_c99_call *call, int k);

/** An attribute by its name in the operator's table of fields; `otherwise` if there is none. */
double adzi_c99_attr(const adzi_c99_call *call, const char *field, double default_value);

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

/** A matrix; a vector [D] as [1, D]. */
adzi_c99_value adzi_c99_at_least_matrix(const adzi_c99_value *value);

/** An array of the file with the elements of a tensor. Its memory, or -1 with the error recorded.
 * `label` says in a comment what it is. */
int adzi_c99_constant(
    adzi_c99 *c, const adzi_c99_call *call, const adz_tensor *tensor, const char *label);

/** True if a dropout draws nothing: its p is 0. Records an error otherwise. */
bool adzi_c99_drops_nothing(adzi_c99 *c, double p);

/* ---- lines and blocks ------------------------------------------------------------------------ */

/** Adds an indented line to the body. */
void adzi_c99_line(adzi_c99 *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Adds a line that ends with "{", and indents what follows. */
void adzi_c99_open(adzi_c99 *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Closes a block that adzi_c99_open has opened. */
void adzi_c99_close(adzi_c99 *c);

/** The blocks and loops that are open. */
typedef struct adzi_c99_mark {
    int depth, variables;
} adzi_c99_mark;
adzi_c99_mark adzi_c99_mark_of(const adzi_c99 *c);

/** Opens a block if none was opened since the mark, so that a declaration may follow. */
void adzi_c99_need_block(adzi_c99 *c, adzi_c99_mark mark);

/** Closes all blocks and loops that were opened since the mark. */
void adzi_c99_close_to(adzi_c99 *c, adzi_c99_mark mark);

/** Records an error under the exporter's name, once. */
void adzi_c99_fail(adzi_c99 *c, adz_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** "float", "int32_t", "unsigned char" or "double": the type in C. */
const char *adzi_c99_type(adz_dtype dtype);

/* ---- numbers --------------------------------------------------------------------------------- */

/** The dtype in C of a tensor's elements. */
adz_dtype adzi_c99_dtype(const adzi_c99 *c, adz_dtype dtype);

/** A number as a literal of the file's type of floats, which is the other function's result. */
const char *adzi_c99_real(const adzi_c99 *c, double x);

/** The largest finite float of the file as a literal. */
const char *adzi_c99_largest(const adzi_c99 *c);

/** A number as a literal of the type that holds elements of a dtype. */
const char *adzi_c99_number(adzi_c99 *c, adz_dtype dtype, double x);

/* ---- elements -------------------------------------------------------------------------------- */

/** An element of a memory: "h3[i * 4 + 2]", or the number itself. */
void adzi_c99_element(adzi_c99 *c, int memory, const char *index, char *text, size_t size);

/** The address of the element at `index`: "h3 + i * 4". */
void adzi_c99_address(adzi_c99 *c, int memory, const char *index, char *text, size_t size);

/** Adds " + part" to an index, unless the part is empty. The buffers hold every index of a tensor
 * of rank 8. A sum that does not fit is marked, so that an element at it is an error. */
void adzi_c99_join(char *to, size_t size, const char *part);

/** Adds " + variable * stride" to an index, leaving out what is 0 or 1. */
void adzi_c99_index(char *index, size_t size, const char *variable, int64_t stride);

/* ---- loops ----------------------------------------------------------------------------------- */

/** Opens a loop from `from` to below `below`, both expressions; `variable` gets its name. */
void adzi_c99_range(
    adzi_c99 *c, const char *from, const char *below, int64_t step, char variable[4]);

/** Opens and closes one loop with the given count; `variable` gets the name. */
void adzi_c99_loop(adzi_c99 *c, int64_t count, char variable[4]);
void adzi_c99_end(adzi_c99 *c);

/** Opens a loop unless the count is 1; then `variable` is empty. Returns true if a loop is open. */
bool adzi_c99_loop_over(adzi_c99 *c, int64_t count, char variable[4]);

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

/** Opens the loops. Dimensions of size 1 are left out, and neighbours are merged where all operands
 * allow it. */
void adzi_c99_nest_open(adzi_c99 *c, adzi_c99_nest *nest);
void adzi_c99_nest_close(adzi_c99 *c, adzi_c99_nest *nest);

/** Prints value = `text` for all elements, with the element of `from` for $a. */
void adzi_c99_map(
    adzi_c99 *c, const adzi_c99_value *to, const char *text, const adzi_c99_value *from);

/* ---- products -------------------------------------------------------------------------------- */

/** The operands of a product of matrices: y = a b + bias. The matrices are the last two dimensions,
 * and the leading dimensions broadcast. */
typedef struct {
    const adzi_c99_value *a, *b, *y;
    const adzi_c99_value *bias; /* NULL for none; broadcasts to y */
    bool accumulate;            /* the product is added to y */
} adzi_c99_operands;

/** Prints a product. */
void adzi_c99_product(adzi_c99 *c, const adzi_c99_operands *operands);

/* ---- slices: loops over the slices of a tensor and over the elements of each slice, for operators
 * that reduce or normalise over some dimensions ------------------------------------------------ */

/** `outer` runs over the dimensions that stay, `inner` over those of a slice. Operand k is the same
 * value in both. */
typedef struct adzi_c99_slices {
    adzi_c99_nest outer, inner;
    int rank;
    unsigned mask;
    int64_t count; /* elements of a slice */
} adzi_c99_slices;

/** Slices of `value` along the dimensions in `mask`; 0 means all of them. */
adzi_c99_slices adzi_c99_slices_of(const adzi_c99_value *value, unsigned mask);

/** Adds an operand that broadcasts to the value, or is a result of it without the dimensions of the
 * mask. Returns its number. NULL gives -1. */
int adzi_c99_slices_add(adzi_c99_slices *slices, const adzi_c99_value *value);

/** Adds an operand of the value's rank, reduced over the mask, which may have lost these
 * dimensions. */
int adzi_c99_slices_add_reduced(adzi_c99_slices *slices, const adzi_c99_value *value);

void adzi_c99_slices_open(adzi_c99 *c, adzi_c99_slices *slices);
void adzi_c99_slices_close(adzi_c99 *c, adzi_c99_slices *slices);

/** Opens one pass over the slice's elements. The returned nest has the elements' texts. */
adzi_c99_nest adzi_c99_pass(adzi_c99 *c, const adzi_c99_slices *slices);

/** The element of an operand that is the same for the whole slice. */
const char *adzi_c99_slice_element(adzi_c99 *c, adzi_c99_slices *slices, int operand);

/** The mask of the attribute `dim` of an operator that works along one dimension. */
unsigned adzi_c99_dim_mask(const adzi_c99_call *call, const adzi_c99_value *value);

/** Prints the declarations of `most`, the largest element of a slice, and of `total`, the sum of
 * e^(x - most). The exponentials are kept in the operand `to`, unless it is -1. `limited` takes 0
 * instead of an infinite element, whose difference from itself is NaN. */
void adzi_c99_print_exponentials(
    adzi_c99 *c, const adzi_c99_slices *slices, int from, int to, bool limited);

#endif
