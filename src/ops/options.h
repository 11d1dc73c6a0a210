/* Options of operators: small calls read them often. */
#ifndef ADZI_OPS_OPTIONS_H
#define ADZI_OPS_OPTIONS_H

#include "adze/options.h"
#include "tensor/fields.h"

/**
 * Reads options by the table TYPE_table, which ADZ_OPTIONS_TABLE defines. Without options it copies
 * DEFAULTS, because filling them row by row takes a twentieth of a small call. The test
 * option-defaults holds the macro against the table.
 */
#define ADZI_OPTIONS_TAKE(op, type, DEFAULTS, o, options)    \
    ((options) == NULL ? (*(o) = (const type)DEFAULTS, true) \
                       : adz_options_take((op), &type##_table, (o), (options)))

/** Checks an argument by the row of a field that has bounds, and records the error. The row is a
 * constant where this is inlined, so a right number costs two comparisons. */
static inline bool adzi_check_number(const char *op, const adz_field *row, double x)
{
    const bool open = row->bounds == ADZ_BOUNDS_ABOVE || row->bounds == ADZ_BOUNDS_OPEN;
    const bool excluded = row->bounds == ADZ_BOUNDS_BELOW || row->bounds == ADZ_BOUNDS_OPEN;
    return ((open ? x > row->least : x >= row->least) &&
               (excluded ? x < row->most : x <= row->most)) ||
           adzi_field_check_number(op, row, x);
}

#endif
