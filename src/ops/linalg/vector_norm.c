#include "ops/op.h"

/* torch.linalg.vector_norm: another name for norm. */
adz_tensor *adz_vector_norm(adz_tensor *x, double ord, adz_dims dims, bool keepdim)
{
    ADZI_COMPOSED();
    return adz_norm(x, ord, dims, keepdim);
}
