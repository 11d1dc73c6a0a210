#include "ops/op.h"

/* Singular values, torch.linalg.svdvals. A composition. */
adz_tensor *adz_svdvals(adz_tensor *a)
{
    ADZI_COMPOSED();
    adz_tensor *s = NULL;
    return adz_svd(a, NULL, &s, NULL) == ADZ_OK ? s : NULL;
}
