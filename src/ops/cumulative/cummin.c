#include "ops/cumulative/running_extreme.h"

/* The smallest element so far, torch.cummin: y_i = min(x_0, ..., x_i). A composition. */
adz_tensor *adz_cummin(adz_tensor *x, int dim, adz_tensor **indices)
{
    ADZI_COMPOSED();
    return adzi_extreme_so_far("cummin", x, dim, true, indices);
}
