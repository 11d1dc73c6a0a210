/* Linear layers of another name. */
#ifndef ADZI_NN_LAYERS_LINEAR_H
#define ADZI_NN_LAYERS_LINEAR_H

#include "adze/nn/linear.h"

/** The output projection of attention: adz_linear_new with the name that PyTorch prints for it. */
adz_module *adzi_attention_projection_new(int64_t features, const adz_linear_options *options);

#endif
