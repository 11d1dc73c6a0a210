/* Checks of losses that are compositions of operators: their messages name the loss. */
#ifndef ADZI_OPS_LOSS_CHECK_LOSS_H
#define ADZI_OPS_LOSS_CHECK_LOSS_H

#include <math.h>

#include "ops/index/indices.h"
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

/** True if the margin is a finite number. Else records an error that names the loss. */
static inline bool adzi_check_margin(const char *op, double margin)
{
    if (!isfinite(margin)) {
        adzi_error(
            op, ADZ_ERR_ARGUMENT, "margin is %s, but must be finite", adzi_text_number(margin));
    }
    return isfinite(margin);
}

/** The target as contiguous i64, if it is i64 or i32 and each element is a class of x[..., C]. NULL
 * with an error that names the loss otherwise. An export skips the check, which is no operator:
 * adz_gather of the target checks it again. */
static inline adz_tensor *adzi_loss_classes(const char *op, adz_tensor *target, const adz_tensor *x)
{
    if (target->dtype != ADZ_I64 && target->dtype != ADZ_I32) {
        return adzi_fail(op, ADZ_ERR_DTYPE, "target is %s; int64 or int32 is needed",
            adz_dtype_name((adz_dtype)target->dtype));
    }
    adz_tensor *classes = adz_to(target, ADZ_I64);
    if (classes == NULL || adz_is_exporting()) {
        return classes;
    }
    classes = adzi_compact(op, classes);
    const bool within = classes != NULL &&
                        adzi_indices_within(op, classes, x->sizes[x->rank - 1], "classes of x", x);
    return within ? classes : NULL;
}

#endif
