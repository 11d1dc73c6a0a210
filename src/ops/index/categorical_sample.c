#include "ops/op.h"

/* Draws from categorical distributions, torch.distributions.Categorical.sample: multinomial draws
 * with replacement from the softmax of each row. */
adz_tensor *adz_categorical_sample(adz_tensor *logits, int64_t n, adz_generator *generator)
{
    ADZI_COMPOSED();
    static const char op[] = "categorical_sample";
    if (!adzi_check_tensor(op, "logits", logits)) {
        return NULL;
    }
    if (logits->rank < 1 || logits->rank == ADZ_MAX_RANK || n < 1) {
        return adzi_fail(op,
            logits->rank < 1 || logits->rank == ADZ_MAX_RANK ? ADZ_ERR_SHAPE : ADZ_ERR_ARGUMENT,
            "logits%s must be [..., C] of rank 1 to %d, and the number of draws %lld 1 or more",
            adzi_text_shape(logits), ADZ_MAX_RANK - 1, (long long)n);
    }
    const int last = logits->rank - 1;
    const int64_t classes = logits->sizes[last];
    if (classes == 0) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "logits%s have no classes", adzi_text_shape(logits));
    }
    adz_shape shape = { .rank = logits->rank, .sizes = { n } };
    memcpy(shape.sizes + 1, logits->sizes, (size_t)last * sizeof *shape.sizes);
    adz_tensor *p = adz_softmax(adz_detach(logits), -1);
    p = adz_reshape(p, ADZ_SHAPE(adzi_numel(last, logits->sizes), classes));
    adz_tensor *y = adz_multinomial(p, n, true, generator); /* [rows, n] */
    return adz_contiguous(adz_reshape(adz_transpose(y, 0, 1), shape));
}
