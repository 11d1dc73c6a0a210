/* Options of operators: small calls read them often. */
#ifndef ADZI_OPS_OPTIONS_H
#define ADZI_OPS_OPTIONS_H

#include "adze/options.h"

/**
 * Reads options by the table TYPE_table, which ADZ_OPTIONS_TABLE defines. Without options it copies
 * DEFAULTS, because filling them row by row takes a twentieth of a small call. The test
 * option-defaults holds the macro against the table.
 */
#define ADZI_OPTIONS_TAKE(op, type, DEFAULTS, o, options)    \
    ((options) == NULL ? (*(o) = (const type)DEFAULTS, true) \
                       : adz_options_take((op), &type##_table, (o), (options)))

#endif
