#include "ops/pool/adaptive_pool.h"

#include "ops/pool/max_windows.h"
#include "ops/pool/resample.h"

/* Pooling whose windows follow from the size of the result: window j of `out` covers the positions
 * floor(j in / out) .. ceil((j + 1) in / out) - 1. Neighbouring windows share a position if `out`
 * does not divide `in`. */

static void axes_of(const adzi_node *node, adzi_axis *axes)
{
    const adz_shape x = adzi_input_shape(node, 0);
    adzi_adaptive_axes(x.rank, x.sizes, adzi_attr(node, adzi_adaptive_attr), axes);
}

/* ---- the largest element ------------------------------------------------------------------- */

adz_status adzi_adaptive_max_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adzi_axis axes[ADZI_AXES];
    axes_of(node, axes);
    return adzi_max_windows_backward(node, dx, dy, adzi_attr(node, adzi_adaptive_attr)->n, axes);
}

adz_status adzi_adaptive_max_fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adzi_axis axes[ADZI_AXES];
    axes_of(node, axes);
    return adzi_max_windows_fused(node, dx, dy, axes);
}

adz_tensor *adzi_adaptive_max(
    const adzi_op *op, adz_tensor *x, int n, adz_shape output_size, adz_tensor **indices)
{
    adzi_max_windows_call call;
    if (indices != NULL) {
        *indices = NULL;
    }
    return adzi_read_adaptive(op->name, n, &output_size, &call.w.at.adaptive)
               ? adzi_max_windows(op, x, &call, indices)
               : NULL;
}

/* ---- the mean ------------------------------------------------------------------------------ */

adz_status adzi_adaptive_avg_expression(adz_tensor **y, adz_tensor *const *in, const void *block)
{
    const adzi_adaptive_attr *attr = block;
    adzi_axis axes[ADZI_AXES];
    adzi_adaptive_axes(in[0]->rank, in[0]->sizes, attr, axes);
    y[0] = adzi_resample_expression("adaptive_avg_pool", in[0], attr->n, axes, 1);
    return adzi_status(y[0]);
}

adz_status adzi_adaptive_avg_fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adzi_axis axes[ADZI_AXES];
    axes_of(node, axes);
    return adzi_resample_fused(node, dx, dy, axes, 1);
}

adz_tensor *adzi_adaptive_avg(const adzi_op *op, adz_tensor *x, int n, adz_shape output_size)
{
    adzi_resampling call;
    call.args.scale = 1;
    return adzi_read_adaptive(op->name, n, &output_size, &call.w.at.adaptive)
               ? adzi_resample_call(op, x, &call)
               : NULL;
}
