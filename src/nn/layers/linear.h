/* Linear layers, for those who make other kinds of them. */
#ifndef ADZI_NN_LAYERS_LINEAR_H
#define ADZI_NN_LAYERS_LINEAR_H

#include "adze/nn/linear.h"
#include "adze/nn/type.h"

/** What makes a type a Linear: parameters "weight"[out, in] and "bias"[out] or none, in this
 * order, forward and how it is printed. */
adz_tensor *adzi_linear_forward(adz_module *self, adz_tensor *x);
size_t adzi_linear_repr(adz_module *self, char *buffer, size_t size);

/** One of a type, its parameters drawn by the type's reset_parameters, its state zeros. */
adz_module *adzi_linear_new(const char *op, const adz_module_type *type, size_t state_size,
    int64_t in_features, int64_t out_features, const adz_linear_options *options);

/** y = x w + b for w[in, out]; fails for an x[...] that does not end in `in`, which the message
 * calls `width`. */
adz_tensor *adzi_linear_in_out(
    adz_module *self, const char *width, adz_tensor *x, adz_tensor *w, adz_tensor *b);

#endif
