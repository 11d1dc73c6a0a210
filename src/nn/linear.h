/* Linear layers whose weight is stored [in, out]. */
#ifndef ADZI_NN_LINEAR_H
#define ADZI_NN_LINEAR_H

#include "adze/nn/type.h"

/** y = x w + b for w[in, out]; fails for an x[...] that does not end in `in`, which the message
 * calls `width`. */
adz_tensor *adzi_linear_in_out(
    adz_module *self, const char *width, adz_tensor *x, adz_tensor *w, adz_tensor *b);

#endif
