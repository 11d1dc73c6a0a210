#include "ops/op.h"

/* The softmax of -x, torch.nn.functional.softmin. */
adz_tensor *adz_softmin(adz_tensor *x, int dim)
{
    ADZI_COMPOSED();
    return adz_softmax(adz_neg(x), dim);
}
