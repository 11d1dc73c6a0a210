/**
 * @file fields.h
 * Tables of fields: one row for each argument of an operator, option of a module, setting of an
 * optimizer, or member of a struct of options. From the rows the library takes the defaults, the
 * checks and their messages, the printed form, and what is compared and copied.
 *
 * @code
 * typedef struct {
 *     int n;
 *     int64_t sizes[8];
 *     double factor;
 * } resize_attributes;
 *
 * static const adz_field fields[] = {
 *     ADZ_FIELD(resize_attributes, n, ADZ_CLOSED(0, 8), .shown = ADZ_SHOWN_NEVER),
 *     ADZ_FIELD_AS(resize_attributes, sizes, "size", ADZ_FIELD_I64, .count = 8, .counted = true),
 *     ADZ_FIELD(resize_attributes, factor, .value = 1, ADZ_ABOVE(0)),
 * };
 *
 * // with n = 2 messages say "resize(size=[3, 4], factor=0.5)"
 * adz_operator op = { .size = sizeof op, .name = "resize", .fields = fields, .n_fields = 3 };
 *
 * resize_attributes a = { 2, { 3, 4 }, 0.5 }; // with -1: factor is -1, but must be above 0
 * bool good = adz_fields_check(op.name, op.fields, op.n_fields, &a);
 * @endcode
 */
#ifndef ADZE_FIELDS_H
#define ADZE_FIELDS_H

#include <math.h>

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a field holds. */
typedef enum adz_field_kind {
    ADZ_FIELD_BOOL = 0,  /**< bool, shown as True or False */
    ADZ_FIELD_INT = 1,   /**< int */
    ADZ_FIELD_I64 = 2,   /**< int64_t */
    ADZ_FIELD_U64 = 3,   /**< uint64_t */
    ADZ_FIELD_F64 = 4,   /**< double */
    ADZ_FIELD_MASK = 5,  /**< unsigned, whose bit d stands for dimension d; shown as [0, 2] */
    ADZ_FIELD_ENUM = 6,  /**< an enumeration without negative values, of the size of an int */
    ADZ_FIELD_SHAPE = 7, /**< adz_shape, shown as (2,) or (2, 3). Rank 0 stands for the default, one
                              number. Not in the attributes of operators */
    ADZ_FIELD_SIZES = 8, /**< adz_shape like ADZ_FIELD_SHAPE, but one number is shown as 2 */
    ADZ_FIELD_DTYPE = 9  /**< adz_dtype of parameters, ADZ_F32 or ADZ_F64; not in the attributes of
                              operators */
} adz_field_kind;

/** Where a field is printed. */
typedef enum adz_field_shown {
    ADZ_SHOWN_ALWAYS = 0,  /**< as name=value */
    ADZ_SHOWN_NEVER = 1,   /**< copied and compared, but not printed */
    ADZ_SHOWN_CHANGED = 2, /**< as name=value if it is not the default */
    ADZ_SHOWN_BARE = 3     /**< the value without its name */
} adz_field_shown;

/** Which bounds belong to the values that a field can have. NaN lies in none of these ranges. */
typedef enum adz_field_bounds {
    ADZ_BOUNDS_NONE = 0,   /**< any value is right */
    ADZ_BOUNDS_CLOSED = 1, /**< least <= x <= most */
    ADZ_BOUNDS_BELOW = 2,  /**< least <= x < most */
    ADZ_BOUNDS_ABOVE = 3,  /**< least < x <= most */
    ADZ_BOUNDS_OPEN = 4    /**< least < x < most */
} adz_field_bounds;

/**
 * One field. Members that are zero stand for the usual case. Name the members that you set, as
 * ADZ_FIELD does.
 */
typedef struct adz_field {
    const char *name;    /**< the argument's name, as messages show it */
    adz_field_kind kind; /**< of the field or, in an array, of each element */
    size_t offset;       /**< offsetof(the struct, the field) */
    size_t count;        /**< elements of an array; 0: a single value */
    bool counted;        /**< an array of which only some elements are used: the row before this one
                              in the table is the int that says how many */
    adz_field_shown shown;     /**< ADZ_SHOWN_ALWAYS if it is left out */
    const char *const *values; /**< the names of an enumeration's values 0, 1, ..., ended by NULL.
                                    Other values are refused, and those whose name is "". NULL: any
                                    value within the bounds, shown as a number */
    double value;              /**< the default; a shape begins with rank 0 */
    adz_field_bounds bounds;   /**< of the values; of each size of a shape */
    double least;              /**< the lower bound */
    double most;               /**< the upper bound */
    double none;               /**< a value outside the bounds that is right too, shown as None */
    const char *none_name;     /**< its name in C, for messages; NULL: there is no such value */
    const char *hint;          /**< why, or the way out: messages end with it. NULL: nothing */
} adz_field;

/** Values from `a` to `b`: [a, b]. */
#define ADZ_CLOSED(a, b) .bounds = ADZ_BOUNDS_CLOSED, .least = (a), .most = (b)
/** `a` or more, infinity included: [a, infinity]. */
#define ADZ_AT_LEAST(a) ADZ_CLOSED(a, INFINITY)
/** Values from `a`, below `b`: [a, b). */
#define ADZ_BELOW(a, b) .bounds = ADZ_BOUNDS_BELOW, .least = (a), .most = (b)
/** Finite, `a` or more. */
#define ADZ_FINITE_FROM(a) ADZ_BELOW(a, INFINITY)
/** Values above `a`, infinity included. */
#define ADZ_ABOVE(a) .bounds = ADZ_BOUNDS_ABOVE, .least = (a), .most = INFINITY
/** Values above `a` and at most `b`: (a, b]. */
#define ADZ_ABOVE_TO(a, b) .bounds = ADZ_BOUNDS_ABOVE, .least = (a), .most = (b)
/** Values between `a` and `b`, both excluded. */
#define ADZ_BETWEEN(a, b) .bounds = ADZ_BOUNDS_OPEN, .least = (a), .most = (b)
/** Finite, above `a`. */
#define ADZ_FINITE_ABOVE(a) ADZ_BETWEEN(a, INFINITY)
/** Any finite number. */
#define ADZ_FINITE ADZ_BETWEEN(-INFINITY, INFINITY)
/** A size of a parameter, such as a number of features: `a` or more. The upper bound, INT64_MAX /
 * 16, keeps products of sizes and small numbers from overflowing. */
#define ADZ_SIZE_FROM(a) ADZ_BELOW(a, 0x1p59)

#ifndef __cplusplus
/** The row of a member whose kind is given. Further members of adz_field follow. */
#define ADZ_FIELD_AS(type, member, its_name, its_kind, ...)                                   \
    {                                                                                         \
        .name = (its_name), .kind = (its_kind), .offset = offsetof(type, member), __VA_ARGS__ \
    }

/**
 * The row of a bool, int, int64_t, uint64_t, double or adz_shape, under the member's own name.
 * Further members of adz_field follow: ADZ_FIELD(my_options, slope, .value = 0.01, ADZ_ABOVE(0)).
 */
#define ADZ_FIELD(type, member, ...) \
    ADZ_FIELD_AS(type, member, #member, ADZ_FIELD_KIND(((type *)0)->member), __VA_ARGS__)

/* clang-format off */
/** The kind of a member that is neither an array nor an enumeration; other types do not compile. */
#define ADZ_FIELD_KIND(m) _Generic((m), bool: ADZ_FIELD_BOOL, int: ADZ_FIELD_INT,                  \
    int64_t: ADZ_FIELD_I64, uint64_t: ADZ_FIELD_U64, double: ADZ_FIELD_F64,                        \
    adz_shape: ADZ_FIELD_SHAPE)
/* clang-format on */

/** The row of an option `dtype` of a module: ADZ_F32 or ADZ_F64, ADZ_F32 by default, not printed.
 */
#define ADZ_FIELD_PARAMETER_DTYPE(type) \
    ADZ_FIELD_AS(type, dtype, "dtype", ADZ_FIELD_DTYPE, .value = ADZ_F32, .shown = ADZ_SHOWN_NEVER)
#endif

/**
 * Checks that fields have values within their bounds.
 *
 * @param op        the function that was called, for the message
 * @param fields    n_fields rows; a row without a name ends the table earlier
 * @param n_fields  0 or more
 * @param values    the struct that the rows describe
 * @return          false with ADZ_ERR_ARGUMENT recorded, or ADZ_ERR_DTYPE for a dtype; the message
 *                  names the first field that is wrong, its value and what it must be
 */
ADZ_API bool adz_fields_check(
    const char *op, const adz_field *fields, size_t n_fields, const void *values);

#ifdef __cplusplus
}
#endif

#endif
