/* Writing a function as C99. */
#ifndef ADZI_EXPORT_C99_WRITE_WRITE_C_H
#define ADZI_EXPORT_C99_WRITE_WRITE_C_H

#include "adze/export.h"
#include "export/trace.h"

/**
 * Writes `path` (net.c), the header next to it (net.h) and, if options->weights is set, the file of
 * the weights. Each file is replaced completely or not at all, and no file is touched before the
 * whole text has been made.
 *
 * @param op       the public function, for messages
 * @param path     ends with ".c"
 * @param what     n functions: their names, all different, their inputs, and the module that names
 *                 their weights. `step` is not read: each may be a forward or a training step.
 * @param options  NULL for the defaults
 * @return         ADZ_OK, or an error as adz_plan_write_c_many has
 */
adz_status adzi_write_c(const char *op, const char *path, const adzi_export *what, size_t n,
    const adz_c_options *options);

#endif
