/* adz_clip_grads and adz_clip_grad_value by operators, for a trace. The arguments have
 * been checked. */
#ifndef ADZI_OPTIM_CLIP_TRACED_H
#define ADZI_OPTIM_CLIP_TRACED_H

#include "adze/optim/clip.h"

adz_status adzi_clip_norm_traced(
    const char *op, adz_tensor_list parameters, double max_norm, double p);
adz_status adzi_clip_value_traced(adz_tensor_list parameters, double limit);

#endif
