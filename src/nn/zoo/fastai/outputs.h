/* The values that fastai's encoders hand to their heads: "raw.i" and "out.i" in the order of the
 * layers. */
#ifndef ADZI_NN_ZOO_FASTAI_OUTPUTS_H
#define ADZI_NN_ZOO_FASTAI_OUTPUTS_H

#include "adze/nn/values.h"

/** Whether a result is one of a layer. */
bool adzi_is_layer_output(const char *name);

/** The last "out.", else the first argument if it has no name; NULL with the error recorded under
 * `op` where there is neither, or where it is no x[B, T, D]. */
adz_tensor *adzi_last_output(const char *op, const adz_values *in);

/** Appends the layers' results of `from`. */
adz_status adzi_hand_on_outputs(adz_values *to, const adz_values *from);

#endif
