/* The operators that the tape itself calls. Gradients are added up, summed over broadcast
 * dimensions, copied and converted, and the checks of gradients compute with them. Nothing else in
 * this room may include a header of the operators, which lie above it; tests/checks/tree.py and
 * links.py know this file. */
#ifndef ADZI_AUTOGRAD_OPERATORS_H
#define ADZI_AUTOGRAD_OPERATORS_H

#include "adze/ops/arithmetic.h"
#include "adze/ops/convert.h"
#include "adze/ops/math.h"
#include "adze/ops/shape.h"
#include "autograd/op.h"
#include "ops/reduction/sum.h"

#endif
