#ifndef ADZI_OPS_LINALG_DECOMPOSITION_SOLVE_TRIANGULAR_H
#define ADZI_OPS_LINALG_DECOMPOSITION_SOLVE_TRIANGULAR_H

#include "ops/op.h"

/** x = op(a)^-1 b, recorded. `upper` says which triangle of a is read; op transposes a if
 * `transposed` is set. Ranks are 2 or more. */
adz_tensor *adzi_solve_triangular(
    adz_tensor *a, adz_tensor *b, bool upper, bool transposed, bool unitriangular);

#endif
