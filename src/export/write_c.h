/* Writing a function as C99. */
#ifndef ADZI_EXPORT_WRITE_C_H
#define ADZI_EXPORT_WRITE_C_H

#include "adze/export.h"
#include "export/trace.h"

/**
 * Writes `path` (net.c), the header beside it (net.h) and, if options->weights is set, the file of
 * the weights. Each file is replaced completely or not at all, and no file is touched before the
 * whole text has been made.
 *
 * @param what     the function, its inputs and the module that names its weights
 * @param path     ends with ".c"
 * @param options  NULL for the defaults
 * @return         ADZ_OK; ADZ_ERR_NULL; ADZ_ERR_ARGUMENT (a path without ".c", an optimizer without
 *                 the module's parameters); ADZ_ERR_UNSUPPORTED (an operator that cannot be
 * written, which is named); ADZ_ERR_DTYPE (not float32), ADZ_ERR_IO, ADZ_ERR_MEMORY
 */
adz_status adzi_write_c(const adzi_export *what, const char *path, const adz_c_options *options);

#endif
