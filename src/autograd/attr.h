/* The attributes of a recorded call: a plain struct that each operator declares, and a table of its
 * fields.
 *
 *     typedef struct {
 *         int dim;
 *     } softmax_attr;
 *
 *     static const adz_field fields[] = { ADZI_FIELD(softmax_attr, dim) };
 *
 *     const adzi_op adzi_op_softmax = { .name = "softmax", .backward = backward,
 *         ADZI_FIELDS(fields) };
 *
 * From the table the library prints, compares and copies attributes without knowing the operator.
 * A field is named like the argument of PyTorch's function, because messages show its name. */
#ifndef ADZI_AUTOGRAD_ATTR_H
#define ADZI_AUTOGRAD_ATTR_H

#include <stddef.h>

#include "adze/operator.h"
#include "tensor/fields.h"

/* ---- tables of fields ------------------------------------------------------------------------ */

/* The member of a struct, as an operand that is never evaluated. */
#define ADZI_FIELD_OF(type, member) (((type *)0)->member)

/* The kind of a member, or of the elements of an array. An unsigned member may be an enumeration or
 * a mask, so it has to be declared with ADZI_FIELD_ENUM or ADZI_FIELD_MASK. */
/* clang-format off */
#define ADZI_FIELD_KIND(m) _Generic((m),                     \
        bool: ADZ_FIELD_BOOL,    bool *: ADZ_FIELD_BOOL,     \
        int: ADZ_FIELD_INT,      int *: ADZ_FIELD_INT,       \
        int64_t: ADZ_FIELD_I64,  int64_t *: ADZ_FIELD_I64,   \
        uint64_t: ADZ_FIELD_U64, uint64_t *: ADZ_FIELD_U64,  \
        double: ADZ_FIELD_F64,   double *: ADZ_FIELD_F64)

/* The bytes of an array's element. */
#define ADZI_FIELD_SIZE(m) _Generic((m), bool *: sizeof(bool), int *: sizeof(int),                 \
        int64_t *: sizeof(int64_t), uint64_t *: sizeof(uint64_t), double *: sizeof(double), default: 1)

/* 1 for an array. A pointer makes an array of -1 elements, so that it does not compile. */
#define ADZI_FIELD_IS_ARRAY(m) sizeof(char[_Generic(&(m), bool **: -1, int **: -1, int64_t **: -1, \
        uint64_t **: -1, double **: -1, default: 1)])

/* The elements of an array, or 0 for a single value. */
#define ADZI_FIELD_COUNT(m) _Generic((m), bool: 0, int: 0, unsigned: 0, int64_t: 0, uint64_t: 0,   \
        double: 0, default: sizeof(m) / (ADZI_FIELD_SIZE(m)) * ADZI_FIELD_IS_ARRAY(m))
/* clang-format on */

/* A field whose name and kind are given; further members of adz_field may follow. */
#define ADZI_FIELD_AS(type, member, its_name, its_kind, ...)                      \
    {                                                                             \
        .name = (its_name), .kind = (its_kind), .offset = offsetof(type, member), \
        .count = ADZI_FIELD_COUNT(ADZI_FIELD_OF(type, member)), __VA_ARGS__       \
    }

/** A bool, int, int64_t, uint64_t or double, or a whole array of them, shown under its own name. */
#define ADZI_FIELD(type, member) ADZI_FIELD_NAMED(type, member, #member)

/** A field that is shown under another name. */
#define ADZI_FIELD_NAMED(type, member, its_name)                                        \
    ADZI_FIELD_AS(type, member, its_name, ADZI_FIELD_KIND(ADZI_FIELD_OF(type, member)), \
        .shown = ADZ_SHOWN_ALWAYS)

/** A field that is no argument: it follows from the inputs, or a generator gave it. */
#define ADZI_FIELD_HIDDEN(type, member)                                                \
    ADZI_FIELD_AS(type, member, #member, ADZI_FIELD_KIND(ADZI_FIELD_OF(type, member)), \
        .shown = ADZ_SHOWN_NEVER)

/** An enumeration; its values are shown by `names`, an array of texts that ends with NULL. */
#define ADZI_FIELD_ENUM(type, member, names) \
    ADZI_FIELD_AS(type, member, #member, ADZ_FIELD_ENUM, .values = (names))

/** Dimensions as an unsigned mask, shown as a list under `shown`, which is "dim" or "dims". */
#define ADZI_FIELD_MASK(type, member, its_name) \
    ADZI_FIELD_AS(type, member, its_name, ADZ_FIELD_MASK, .shown = ADZ_SHOWN_ALWAYS)

/** Two fields: the int `length`, which is not shown, and an array of which so many elements are
 * used. */
#define ADZI_FIELD_LIST(type, length, member) \
    ADZI_FIELD_HIDDEN(type, length),          \
        ADZI_FIELD_AS(                        \
            type, member, #member, ADZI_FIELD_KIND(ADZI_FIELD_OF(type, member)), .counted = true)

/** Two fields like those of ADZI_FIELD_LIST, of which none is shown. */
#define ADZI_FIELD_HIDDEN_LIST(type, length, member)                                       \
    ADZI_FIELD_HIDDEN(type, length),                                                       \
        ADZI_FIELD_AS(type, member, #member, ADZI_FIELD_KIND(ADZI_FIELD_OF(type, member)), \
            .counted = true, .shown = ADZ_SHOWN_NEVER)

/** Two fields: the int `length`, and a flexible array member of so many int64_t. Neither is shown.
 */
#define ADZI_FIELD_TAIL(type, length, member)                                  \
    ADZI_FIELD_HIDDEN(type, length),                                           \
    {                                                                          \
        .name = #member, .kind = ADZI_FIELD_KIND(ADZI_FIELD_OF(type, member)), \
        .offset = offsetof(type, member), .count = SIZE_MAX, .counted = true,  \
        .shown = ADZ_SHOWN_NEVER                                               \
    }

/** The members of an adzi_op that name its table. */
#define ADZI_FIELDS(table) .fields = (table), .n_fields = sizeof(table) / sizeof *(table)

/* ---- using them ------------------------------------------------------------------------------ */

/** The table of an operator, or NULL. A custom operator that was compiled against an older header
 * has none. */
const adz_field *adzi_attr_fields(const adz_operator *op, size_t *n);

/** Adds "softmax(dim=1)", or "relu" alone for an operator without a table. */
void adzi_attr_print(adzi_text *text, const adz_operator *op, const void *attr);

/**
 * What adzi_attr_print adds to the empty `text`, for a message; the bare name if memory is refused.
 * The caller frees the text when the message has been written.
 */
const char *adzi_attr_text(adzi_text *text, const adz_operator *op, const void *attr);

/** True if two calls of one operator have equal attributes. Unused elements and padding are not
 * compared. Doubles are compared bit by bit, so that a NaN equals itself and 0 differs from -0. */
bool adzi_attr_equal(const adz_operator *op, const void *a, const void *b);

/** Copies every field to `to`, of `size` bytes, and sets the bytes between them to zero. */
void adzi_attr_copy(const adz_operator *op, void *to, const void *from, size_t size);

/** The value of the field `name` (as the table names it) of a bool, int, enumeration, mask, int64_t
 * or uint64_t. 0 if the operator has no such field. */
int64_t adzi_attr_whole(const adz_operator *op, const void *attr, const char *name);

/** The value of the double `name`. 0 if the operator has no such field. */
double adzi_attr_number(const adz_operator *op, const void *attr, const char *name);

/** Copies the used elements of the array of int64_t or int `name`, at most `most`. Returns their
 * number, 0 if the operator has no such field. */
size_t adzi_attr_list(
    const adz_operator *op, const void *attr, const char *name, int64_t *values, size_t most);

/** The first field that ends beyond the `size` bytes of the attributes; NULL if all lie inside. */
const adz_field *adzi_attr_beyond(const adz_operator *op, const void *attr, size_t size);

/** The bytes of a field's single element. */
size_t adzi_field_size(adz_field_kind kind);

#endif
