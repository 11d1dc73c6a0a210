#include "ops/op.h"

/* The entropy, torch.distributions.Categorical.entropy. A composition. The logarithm of a
 * probability of 0 is replaced by a finite number, so that their product is 0. */
adz_tensor *adz_categorical_entropy(adz_tensor *logits)
{
    ADZI_COMPOSED();
    static const char op[] = "categorical_entropy";
    if (!adzi_check_tensor(op, "logits", logits)) {
        return NULL;
    }
    if (logits->rank < 1) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "logits%s must be [..., C]", adzi_text_shape(logits));
    }
    adz_tensor *log_p = adz_log_softmax(logits, -1), *p = adz_exp(log_p);
    log_p = adz_masked_fill(log_p, adz_eq_number(p, 0), 0);
    return adz_neg(adz_sum(adz_mul(p, log_p), ADZ_DIMS(-1), ADZ_DROPDIM));
}
