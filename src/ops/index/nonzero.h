/* For operators whose result has a shape that depends on elements. */
#ifndef ADZI_OPS_INDEX_NONZERO_H
#define ADZI_OPS_INDEX_NONZERO_H

#include "adze/tensor.h"

/** False with ADZ_ERR_UNSUPPORTED, under the name `op`, while a plan captures or an export traces:
 * the host has to read elements of `t`. */
bool adzi_elements_decide(const char *op, const adz_tensor *t);

#endif
