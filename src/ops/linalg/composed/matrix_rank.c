#include "ops/linalg/decomposition/batch.h"
#include "ops/linalg/decomposition/singular.h"

/* The number of singular values that count, torch.linalg.matrix_rank: a composition without a
 * gradient. */
adz_tensor *adz_matrix_rank(adz_tensor *a, double rtol)
{
    ADZI_COMPOSED();
    adz_tensor *s, *large = adz_svd(adz_detach(a), NULL, &s, NULL) == ADZ_OK
                                ? adzi_large_values("matrix_rank", a, s, rtol)
                                : NULL;
    return large != NULL ? adz_sum(large, ADZ_DIMS(-1), ADZ_DROPDIM) : NULL;
}
