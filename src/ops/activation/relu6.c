#include "ops/op.h"

/* The rectified linear unit that ends at 6, torch.nn.functional.relu6. A composition. */
adz_tensor *adz_relu6(adz_tensor *x)
{
    return adz_hardtanh(x, 0, 6);
}
