/* The results that fastai's encoders pass to their heads: "raw.i" and "out.i" of each layer i, in
 * the order of the layers. */
#ifndef ADZI_ZOO_FASTAI_OUTPUTS_H
#define ADZI_ZOO_FASTAI_OUTPUTS_H

#include "adze/nn/values.h"

/** True for the names "raw.i" and "out.i". */
bool adzi_is_layer_output(const char *name);

/** The last argument called "out.i" or, if there is none, the first argument if it has no name.
 * NULL with the error recorded under `op` if both are missing or if it is no x[B, T, D]. */
adz_tensor *adzi_last_output(const char *op, const adz_values *in);

/** Appends the values of `from` that are called "raw.i" or "out.i". */
adz_status adzi_hand_on_outputs(adz_values *to, const adz_values *from);

#endif
