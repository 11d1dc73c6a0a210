/* What exports know of an operator: one row, in the file of its family beside the operator,
 * src/ops/<family>/<family>.rows.c. Nothing in src/export knows operators by their names.
 *
 * A writer for which the row has no printer writes the operator's expression (export/trace.h). Each
 * operator with a node has a row, from which src/ops/meson.build knows it. */
#ifndef ADZI_EXPORT_ROWS_H
#define ADZI_EXPORT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adz_operator;
struct adzi_report;
struct adzi_c99;
struct adzi_c99_call;
struct adzi_onnx;

/** The expression of an element for one value of the row's first attribute. */
typedef struct adzi_c99_special {
    double number;
    const char *element;
} adzi_c99_special;

enum { ADZI_C99_ROOM = 64 };
typedef const char *adzi_c99_text_function(const struct adzi_c99 *c,
    const struct adzi_c99_call *call, double numbers[2], char room[ADZI_C99_ROOM]);

/** How an operator is written in C. */
typedef struct adzi_c99_row {
    /** Prints a call. NULL: the writer has no printer. */
    void (*print)(struct adzi_c99 *c, const struct adzi_c99_call *call);
    /** How C computes an element of the result, of elementwise operators. It is a text with these
     * parts:
     *
     *     $a $b $c   the elements of the inputs      $0   the first attribute that the row names
     *     $1         the second one                  %0   "$0 * ", or nothing if that is 1
     *     @exp       a function of math.c
     *
     * For reductions, it is the statement that takes an element e into the running value s. */
    const char *element;
    /** The expression of one call, for an operator whose `element` depends on more. `numbers` are
     * the attributes that the row names, for $0 and $1, and may be changed. `room` is for the text.
     */
    adzi_c99_text_function *text;
    const adzi_c99_special *special;
    size_t n_special;
    /** The expression for i32 and i64; the one for bool; and the one for each of these and u8 whose
     * own member is NULL. If all are NULL, `element` is used. Signed integers are computed as
     * unsigned ones, which wrap as they do in the library: in C an overflow of int32_t is
     * undefined. */
    const char *integers, *bools, *whole;
    const char *start; /* of a reduction: s before the first element; NULL: the end of the dtype */
    const char *than;  /* ">" for the largest element, "<" for the smallest one */
    bool mean;         /* a sum that is divided by the number of its elements */
    bool doubles;      /* it computes with double, too, as a standardiser needs it */
    /** Of an operator with neither a printer nor an expression: why not, as what it does or has,
     * and what to do. */
    const char *refused;
    const char *of_doubles; /* why only files of doubles can contain it; NULL: all can */
} adzi_c99_row;

/** How an operator is written in ONNX. */
typedef struct adzi_onnx_row {
    /** Adds the nodes of g->call. False if it was refused. NULL: the writer has no printer. */
    bool (*print)(struct adzi_onnx *g);
    /** Finds the batch dimension of the results from that of the inputs. False if the nodes would
     * be right for the traced batch size only. */
    bool (*batch_rule)(const struct adzi_onnx *g);
    /** The nodes, for adzi_onnx_print_text. A type alone, "Abs", is a node of that type with the
     * inputs of the call. Else the text says what the nodes take:
     *
     *     Slice($a, [start], [end])     $a, $b, $c: the inputs of the call. [start]: a constant
     *                                   with the numbers of that attribute of the operator; a mask
     *                                   of dimensions is the list of these
     *     [y] [@]                       the sizes of the result; what `list` computes
     *     Pow($a, exponent), Max($a, 0) a number, with the dtype of $a
     *     i64(diagonal)                 an integer of that attribute
     *     Gather($a, $b, axis=dim)      an attribute of the node: that of the operator, a
     *                                   number, or what `list` computes, perm=@
     *     $a:y, Not($a:bool)            a conversion to the dtype of the result, bool, i32 or i64
     *     Add($a, alpha*$b)             a product with a number, left out if that is 1
     *     u = Exp($a); Sub(u, 1)        a name for the result of a node
     *     !is a power of integers       the call is refused with this reason
     *
     * Over no dimensions, a node that takes a list of them does nothing, and is an Identity. */
    const char *text;
    /** The text for integers and bools; the one for bools alone; and the one for f64 where `text`
     * has a node that does not run for f64, or an attribute that f32 would round. NULL: `text`. */
    const char *whole, *bools, *doubles;
    size_t (*list)(const struct adzi_onnx *g, int64_t *values); /* up to 2 * ADZ_MAX_RANK numbers */
    bool of_dimensions;  /* the nodes need a dimension, so that calls of scalars are refused */
    const char *type;    /* the type of the node, for a printer that several operators share */
    const char *second;  /* the type of the node for the positions of extremes */
    const char *refused; /* why the operator cannot be written, and what to do instead */
} adzi_onnx_row;

/** What a call does to regions of the trace (autograd/regions.h). */
typedef enum adzi_region {
    ADZI_NO_REGION,
    ADZI_SCAN,
    ADZI_SCAN_END,
    ADZI_WHILE,
    ADZI_WHILE_TEST,
    ADZI_WHILE_END,
    ADZI_BRANCH,
    ADZI_BRANCH_ELSE,
    ADZI_BRANCH_END
} adzi_region;

typedef struct adzi_row {
    const char *op;
    /** No user calls it and the registry has no entry: a name for a view in traces, or a part of
     * gradients. */
    bool internal;
    /** Every result is a view of the first input, so C prints nothing. A reshape that must copy is
     * printed by the row of reshape. */
    bool view;
    bool overwrites;           /* in place, it does not read the old elements */
    bool copies;               /* the result has the elements of the last input */
    const char *attributes[2]; /* the names of those that the writers need as numbers */
    double default_value;      /* the value of an attribute that the call does not have */
    /** In a training step, the C file gets the operator's expression and not the single call. The
     * derived backward uses the values within the expression, which would be computed twice
     * otherwise. */
    bool decomposed;
    adzi_region region; /* the call begins or ends a region */
    adzi_c99_row c;
    adzi_onnx_row onnx;
} adzi_row;

/** Whether an operator says how C computes an element of its result (c_element), and the text
 * serves the call: it computes floats of one dtype. False with the error recorded under the
 * operator's name if the text has a part that the call lacks; false without an error otherwise. */
bool adzi_takes_c_element(const struct adzi_report *report);

/** The row of an operator with a c_element. What else its row in the families says remains. */
adzi_row adzi_row_of_element(const struct adz_operator *op);

/** The row of an operator of the library, or NULL. */
const adzi_row *adzi_row_of(const char *op);

/** The rows of a family, sorted by name; the last one has no operator. */
typedef struct adzi_row_family {
    const char *name;
    const adzi_row *rows;
} adzi_row_family;

extern const adzi_row_family adzi_row_families[];
extern const size_t adzi_n_row_families;

#endif
