/* Launches of elementwise kernels: broadcasts operands, merges dimensions, and finds the calls
 * whose operands are all contiguous. */
#include "tensor/kernel/pointwise.h"

#include <string.h>

#include "base/capture.h"
#include "base/threads/parallel.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* Merges neighbouring dimensions that are one dimension to every operand: the outer stride is the
 * inner stride times the inner size. */
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
        args->out_strides[0] = 1;
        for (int k = 0; k < args->n_in; ++k) {
            args->in_strides[k][0] = 1;
        }
    }
}

/* Describes operands of any layout by their sizes and strides. */
static void set_strides(
    adzi_pointwise_args *args, const adz_tensor *y, int n_in, adz_tensor *const *in)
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

/* Tells the capture of the thread, if there is one, that an elementwise launch comes. */
static void announce(const adz_tensor *y, int n_in, adz_tensor *const *in)
{
    adzi_capture *capture = adzi_capture_of(adzi_self());
    if (capture == NULL) {
        return;
    }
    uint8_t items[ADZI_ELEMENTWISE_OPERANDS] = { (uint8_t)adz_dtype_size((adz_dtype)y->dtype) };
    for (int k = 0; k < n_in; ++k) {
        items[k + 1] = (uint8_t)adz_dtype_size((adz_dtype)in[k]->dtype);
    }
    capture->elementwise(capture, items, false);
}

void adzi_pointwise_factor(adzi_kernel kernel, adz_tensor *y, int n_in, adz_tensor *const *in,
    const double *p, const void *factor)
{
    if (y->numel == 0) {
        return;
    }
    announce(y, n_in, in);
    adzi_pointwise_args args;
    memset(&args, 0, ADZI_POINTWISE_FLAT_SIZE);
    args.out = y->data;
    args.factor = factor;
    args.flat = adzi_is_contiguous(y);
    for (int k = 0; k < n_in; ++k) {
        args.in[k] = in[k]->data;
        args.flat = args.flat && adzi_same_sizes(in[k], y) && adzi_is_contiguous(in[k]);
    }
    for (int k = 0; p != NULL && k < ADZI_POINTWISE_PARAMS; ++k) {
        args.p[k] = p[k];
    }
    if (args.flat) {
        adzi_launch_part(kernel, adzi_pointwise_args, &args, ADZI_POINTWISE_FLAT_SIZE, y->numel,
            ADZI_POINTWISE_GRAIN);
        return;
    }
    memset((char *)&args + ADZI_POINTWISE_FLAT_SIZE, 0, sizeof args - ADZI_POINTWISE_FLAT_SIZE);
    set_strides(&args, y, n_in, in);
    adzi_launch(kernel, adzi_pointwise_args, &args, y->numel, ADZI_POINTWISE_GRAIN);
}

void adzi_pointwise(
    adzi_kernel kernel, adz_tensor *y, int n_in, adz_tensor *const *in, const double *p)
{
    adzi_pointwise_factor(kernel, y, n_in, in, p, NULL);
}

adzi_pointwise_loop *adzi_pointwise_loop_of(adzi_kernel kernel)
{
    /* A copy of no element computes addresses of the element before the first one. */
    struct {
        uint64_t before;
        adzi_pointwise_loop *loop;
    } room = { 0, NULL };
    adzi_pointwise_args ask;
    memset(&ask, 0, sizeof ask);
    ask.flat = true;
    ask.out = (char *)&room.loop;
    for (int k = 0; k < ADZI_POINTWISE_INPUTS; ++k) {
        ask.in[k] = ask.out;
    }
    kernel(&ask, ADZI_POINTWISE_ASKS, ADZI_POINTWISE_ASKS);
    return room.loop;
}
