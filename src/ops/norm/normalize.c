#include <math.h>

#include "ops/op.h"

static const adz_field eps_row = { .name = "eps", .kind = ADZ_FIELD_F64, ADZ_AT_LEAST(0) };

/* Vectors divided by their norms, torch.nn.functional.normalize: y = x / max(norm_p(x), eps). A
 * composition, whose parts carry the gradient. */
adz_tensor *adz_normalize(adz_tensor *x, double p, int dim, double eps)
{
    ADZI_COMPOSED();
    if (!adzi_check_tensor("normalize", "x", x)) {
        return NULL;
    }
    const int d = adzi_dim("normalize", x, dim);
    if (d < 0) {
        return NULL;
    }
    if (x->rank == 0) {
        return adzi_fail("normalize", ADZ_ERR_DIM, "a scalar is no vector; use adz_unsqueeze");
    }
    if (!adzi_field_takes("normalize", &eps_row, eps)) {
        return NULL;
    }
    adz_tensor *norm = adz_norm(x, p, ADZ_DIMS(d), ADZ_KEEPDIM);
    return adz_div(x, adz_clamp(norm, eps, INFINITY));
}
