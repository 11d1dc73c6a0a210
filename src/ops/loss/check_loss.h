/* Checks of losses that are compositions of operators: their messages name the loss. */
#ifndef ADZI_OPS_LOSS_CHECK_LOSS_H
#define ADZI_OPS_LOSS_CHECK_LOSS_H

#include "ops/loss/pair_loss.h"

/** True if t is a tensor of f32 or f64. Else records an error that names the loss and `argument`.
 */
static inline bool adzi_check_loss_input(const char *op, const char *argument, const adz_tensor *t)
{
    if (!adzi_check_tensor(op, argument, t)) {
        return false;
    }
    if (!adzi_is_float((adz_dtype)t->dtype)) {
        adzi_error(op, ADZ_ERR_DTYPE, "%s%s is %s; float32 or float64 is needed", argument,
            adzi_text_shape(t), adz_dtype_name((adz_dtype)t->dtype));
        return false;
    }
    return true;
}

#endif
