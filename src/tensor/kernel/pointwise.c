#include "tensor/kernel/pointwise.h"

#include <string.h>

#include "base/parallel.h"
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

/* Operands that lie like the result, or are one number: all of it is one dimension. */
static void lay_in_line(adzi_pointwise_args *args, const adz_tensor *y, int n_in, unsigned numbers)
{
    args->n_in = n_in;
    args->rank = 1;
    args->sizes[0] = y->numel;
    args->out_strides[0] = 1;
    for (int k = 0; k < n_in; ++k) {
        args->in_strides[k][0] = (numbers >> k & 1) == 0;
    }
}

static void lay_out(adzi_pointwise_args *args, const adz_tensor *y, int n_in, adz_tensor *const *in)
{
    args->n_in = n_in;
    args->rank = y->rank;
    for (int i = 0; i < y->rank; ++i) {
        args->sizes[i] = y->sizes[i];
        args->out_strides[i] = y->strides[i];
    }
    for (int k = 0; k < n_in; ++k) {
        adzi_broadcast_strides(in[k], y->rank, y->sizes, args->in_strides[k]);
    }
    coalesce(args);
}

void adzi_pointwise_factor(adzi_kernel kernel, adz_tensor *y, int n_in, adz_tensor *const *in,
    const double *p, const void *factor)
{
    if (y->numel == 0) {
        return;
    }
    adzi_pointwise_args args;
    memset(&args, 0, ADZI_POINTWISE_FLAT_SIZE);
    args.out = y->data;
    args.factor = factor;
    bool in_line = adzi_is_contiguous(y);
    unsigned numbers = 0;
    for (int k = 0; k < n_in; ++k) {
        args.in[k] = in[k]->data;
        if (!same_layout(in[k], y)) {
            in_line = in_line && in[k]->numel == 1;
            numbers |= 1u << k;
        }
    }
    for (int k = 0; p != NULL && k < ADZI_POINTWISE_PARAMS; ++k) {
        args.p[k] = p[k];
    }
    args.flat = in_line && numbers == 0;
    if (args.flat) {
        adzi_launch_sized(kernel, &args, ADZI_POINTWISE_FLAT_SIZE, y->numel, ADZI_POINTWISE_GRAIN);
        return;
    }
    memset((char *)&args + ADZI_POINTWISE_FLAT_SIZE, 0, sizeof args - ADZI_POINTWISE_FLAT_SIZE);
    if (in_line) {
        lay_in_line(&args, y, n_in, numbers);
    } else {
        lay_out(&args, y, n_in, in);
    }
    adzi_launch(kernel, &args, y->numel, ADZI_POINTWISE_GRAIN);
}

void adzi_pointwise(
    adzi_kernel kernel, adz_tensor *y, int n_in, adz_tensor *const *in, const double *p)
{
    adzi_pointwise_factor(kernel, y, n_in, in, p, NULL);
}
