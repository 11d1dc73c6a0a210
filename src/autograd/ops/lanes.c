#include "autograd/ops/lanes.h"

int64_t adzi_lanes(adzi_lanes_args *args, const adz_tensor *x, int dim)
{
    int64_t outer = 1;
    args->n = args->inner = 1;
    for (int i = 0; i < x->rank; ++i) {
        if (i < dim) {
            outer *= x->sizes[i];
        } else if (i == dim) {
            args->n = x->sizes[i];
        } else {
            args->inner *= x->sizes[i];
        }
    }
    return outer * args->inner;
}

int64_t adzi_lanes_grain(int64_t n, int64_t lanes)
{
    const int64_t grain = n > 0 ? 8192 / n : lanes;
    return grain > 1 ? grain : 1;
}
