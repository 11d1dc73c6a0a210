#include "autograd/ops/lanes.h"

#include "base/parallel.h"

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

void adzi_lanes_launch(adzi_kernel kernel, const adzi_lanes_args *args, int64_t lanes)
{
    int64_t grain = args->n > 0 ? 8192 / args->n : lanes;
    adzi_launch(kernel, args, lanes, grain > 1 ? grain : 1);
}
