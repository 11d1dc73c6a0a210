/* The gradient of tanh as an operator, of which a gradient may be taken again. */
#ifndef ADZI_OPS_ELEMENTWISE_TANH_H
#define ADZI_OPS_ELEMENTWISE_TANH_H

#include "adze/tensor.h"

/** dy (1 - y^2) of tensors of one shape, borrowed from the scope, or NULL with the error recorded.
 * A y of NULL means that reading it failed. */
adz_tensor *adzi_tanh_gradient(adz_tensor *dy, adz_tensor *y);

#endif
