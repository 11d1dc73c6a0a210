#include "ops/op.h"

/* The logarithm of a class's probability, torch.distributions.Categorical.log_prob: the element of
 * log_softmax. A composition. */
adz_tensor *adz_categorical_log_prob(adz_tensor *logits, adz_tensor *value)
{
    ADZI_COMPOSED();
    static const char op[] = "categorical_log_prob";
    if (!adzi_check_tensor(op, "logits", logits) || !adzi_check_tensor(op, "value", value)) {
        return NULL;
    }
    if (logits->rank < 1) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "logits%s must be [..., C]", adzi_text_shape(logits));
    }
    if (value->dtype != ADZ_I64 && value->dtype != ADZ_I32 && value->dtype != ADZ_U8) {
        return adzi_fail(op, ADZ_ERR_DTYPE, "value is %s, but classes are integers",
            adz_dtype_name((adz_dtype)value->dtype));
    }
    /* The broadcast shape of the distributions and the values, and the classes behind it. */
    adz_tensor *log_p = adz_log_softmax(logits, -1);
    adz_tensor *first = log_p != NULL && logits->sizes[logits->rank - 1] > 0
                            ? adz_select(adz_detach(log_p), -1, 0)
                            : NULL;
    if (log_p != NULL && logits->sizes[logits->rank - 1] == 0) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "logits%s have no classes", adzi_text_shape(logits));
    }
    adz_shape shape = { .rank = 0 };
    if (first == NULL || !adzi_broadcast(op, &shape.rank, shape.sizes, first, value)) {
        return NULL;
    }
    if (shape.rank == ADZ_MAX_RANK) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "logits%s and value%s have more than %d dimensions",
            adzi_text_shape(logits), adzi_text_shape(value), ADZ_MAX_RANK);
    }
    adz_tensor *at = adz_unsqueeze(adz_expand(adz_to(value, ADZ_I64), shape), -1);
    shape.sizes[shape.rank++] = logits->sizes[logits->rank - 1];
    return adz_squeeze(adz_gather(adz_expand(log_p, shape), -1, at), -1);
}
