#include "ops/cumulative/running_extreme.h"

/* The largest element so far, torch.cummax: y_i = max(x_0, ..., x_i). A composition. */
adz_tensor *adz_cummax(adz_tensor *x, int dim, adz_tensor **indices)
{
    ADZI_COMPOSED();
    return adzi_extreme_so_far("cummax", x, dim, false, indices);
}
