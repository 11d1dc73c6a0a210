/* What lerp and lerp_number share. */
#ifndef ADZI_OPS_MATH_LERP_H
#define ADZI_OPS_MATH_LERP_H

#include "ops/op.h"

/** Fails with ADZ_ERR_DTYPE unless both ends are f32 or f64. */
bool adzi_want_ends(const char *op, const adz_tensor *start, const adz_tensor *end);

#endif
