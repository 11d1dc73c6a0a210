/* Shapes with a size left open. */
#ifndef ADZI_OPS_SHAPE_RESHAPE_H
#define ADZI_OPS_SHAPE_RESHAPE_H

#include "adze/tensor.h"

/** Works out a size of -1; false with ADZ_ERR_SHAPE when x does not have as many elements. */
bool adzi_resolve_shape(const char *op, const adz_tensor *x, adz_shape *shape);

#endif
