#include "ops/op.h"

/* The p-norm of a difference, torch.dist. A composition. */
adz_tensor *adz_dist(adz_tensor *a, adz_tensor *b, double p)
{
    ADZI_COMPOSED();
    return adz_norm(adz_sub(a, b), p, ADZ_ALL_DIMS, ADZ_DROPDIM);
}
