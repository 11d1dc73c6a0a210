#include "tensor/pointwise.h"

#include "tensor/parallel.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* Merges neighbouring dimensions that every operand walks through without a jump. */
static void coalesce(adzi_pointwise_args *args)
{
    int last = -1;
    for (int i = 0; i < args->rank; ++i) {
        if (args->sizes[i] == 1) {
            continue;
        }
        bool merge = last >= 0 && args->out_strides[last] == args->out_strides[i] * args->sizes[i];
        for (int k = 0; k < args->n_in && merge; ++k) {
            merge = args->in_strides[k][last] == args->in_strides[k][i] * args->sizes[i];
        }
        int64_t size = args->sizes[i];
        if (!merge) {
            ++last;
        } else {
            size *= args->sizes[last];
        }
        args->sizes[last] = size;
        args->out_strides[last] = args->out_strides[i];
        for (int k = 0; k < args->n_in; ++k) {
            args->in_strides[k][last] = args->in_strides[k][i];
        }
    }
    args->rank = last + 1;
    if (args->rank == 0) {
        args->rank = 1;
        args->sizes[0] = 1;
        args->out_strides[0] = 0;
        for (int k = 0; k < args->n_in; ++k) {
            args->in_strides[k][0] = 0;
        }
    }
}

static bool same_layout(const adz_tensor *a, const adz_tensor *y)
{
    return adzi_same_sizes(a, y) && adzi_is_contiguous(a);
}

void adzi_pointwise(
    adzi_kernel kernel, adz_tensor *y, int n_in, adz_tensor *const *in, const double *p)
{
    if (y->numel == 0) {
        return;
    }
    adzi_pointwise_args args;
    args.out = y->data;
    args.flat = adzi_is_contiguous(y);
    for (int k = 0; k < n_in; ++k) {
        args.in[k] = in[k]->data;
        args.flat = args.flat && same_layout(in[k], y);
    }
    for (int k = 0; p != NULL && k < ADZI_POINTWISE_PARAMS; ++k) {
        args.p[k] = p[k];
    }
    if (!args.flat) {
        args.n_in = n_in;
        args.rank = y->rank;
        for (int i = 0; i < y->rank; ++i) {
            args.sizes[i] = y->sizes[i];
            args.out_strides[i] = y->strides[i];
        }
        for (int k = 0; k < n_in; ++k) {
            adzi_broadcast_strides(in[k], y->rank, y->sizes, args.in_strides[k]);
        }
        coalesce(&args);
    }
    adzi_launch(kernel, &args, y->numel, ADZI_POINTWISE_GRAIN);
}
