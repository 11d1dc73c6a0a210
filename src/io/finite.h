/* Files of weights hold no NaN and no infinity, unless the program asks for it. */
#ifndef ADZI_IO_FINITE_H
#define ADZI_IO_FINITE_H

#include "adze/nn/module.h"

/** The error of a tensor that a file should not hold; ADZ_OK if it is finite or, with `nan_only`,
 * no element is NaN. `name` is the tensor's name in the model. */
adz_status adzi_check_finite(const char *op, const char *name, const adz_tensor *t, bool nan_only);

/** adzi_check_finite for all parameters of a module and its persistent buffers. Buffers may be
 * infinite, because masks are. */
adz_status adzi_module_check_finite(const char *op, adz_module *module);

#endif
