#include "ops/op.h"

/* torch.broadcast_to: another name for expand. */
adz_tensor *adz_broadcast_to(adz_tensor *x, adz_shape shape)
{
    ADZI_COMPOSED();
    return adz_expand(x, shape);
}
