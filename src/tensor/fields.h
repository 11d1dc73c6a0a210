/* Tables of fields (adze/fields.h): checking, printing and reading what they describe. */
#ifndef ADZI_TENSOR_FIELDS_H
#define ADZI_TENSOR_FIELDS_H

#include "adze/fields.h"
#include "base/text.h"

/** Whether a field is an adz_shape. */
static inline bool adzi_field_is_shape(const adz_field *field)
{
    return field->kind == ADZ_FIELD_SHAPE || field->kind == ADZ_FIELD_SIZES;
}

/** The bytes of a field, or of an element of an array. */
size_t adzi_field_size(adz_field_kind kind);

/** The number of used elements of field i, 1 for a single value. A length outside the array counts
 * as 0 or as the whole array, so that a wrong length is never read beyond the field. */
size_t adzi_field_used(const adz_field *fields, size_t i, const void *values);

/** An element that is neither a double nor a shape, as int64_t; 0 for these two. */
int64_t adzi_field_whole(const adz_field *field, const void *at);

/** A single value as a double: settings of optimizers, and defaults. NaN for a shape. */
double adzi_field_number(const adz_field *field, const void *at);

/** Checks a value of field `field` that is kept as a double, whatever the field's kind. False with
 * the error recorded. */
bool adzi_field_check_number(const char *op, const adz_field *field, double value);

/** adzi_field_check_number for a hot path. It calls nothing for a value between the bounds, which
 * the compiler knows if the row is a constant. */
static inline bool adzi_field_takes(const char *op, const adz_field *field, double value)
{
    return (value > field->least && value < field->most) ||
           adzi_field_check_number(op, field, value);
}

/** How fields are printed: "(p=1)" with as few digits as read back to the same value, or "p=1.0" as
 * Python prints it. */
typedef enum { ADZI_CALL, ADZI_PYTHON } adzi_field_style;

/** Adds the fields that are shown, "dim=1, dims=[0, 2]", or nothing if there is none. */
void adzi_fields_print(
    adzi_text *text, const adz_field *fields, size_t n, const void *values, adzi_field_style style);

/** The first field that does not lie within a struct of `size` bytes, or NULL. The length of a
 * flexible array is an earlier field. */
const adz_field *adzi_fields_beyond(
    const adz_field *fields, size_t n, const void *values, size_t size);

#endif
