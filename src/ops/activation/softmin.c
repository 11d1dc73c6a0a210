#include "ops/op.h"

/* The softmax of -x, torch.nn.functional.softmin. */
adz_tensor *adz_softmin(adz_tensor *x, int dim)
{
    return adz_softmax(adz_neg(x), dim);
}
