#include "autograd/ops/activation/activation.h"

adz_tensor *adzi_activate(const adzi_op *op, adz_tensor *x, const adzi_kernel *kernels,
    const double *p, const void *attr, size_t attr_size)
{
    adzi_call call;
    if (!adzi_enter(&call, op, "x", &x, 1, 0) || !adzi_want_float(&call, 0)) {
        return NULL;
    }
    adz_tensor *y = adzi_new_like(&call, x);
    if (y == NULL || !adzi_record(&call, 1, &y, attr, attr_size)) {
        return NULL;
    }
    adzi_save_input(&call, 0);
    adzi_pointwise(kernels[x->dtype], y, 1, call.in, p);
    return adzi_leave(&call, y);
}

adz_status adzi_activate_fused(
    adzi_node *node, adz_tensor **dx, adz_tensor *dy, const adzi_kernel *kernels, const double *p)
{
    adz_tensor *x = adzi_saved_input(node, 0);
    dx[0] = x != NULL && dy != NULL ? adzi_scratch_over(node->op->name, dy, x) : NULL;
    if (dx[0] == NULL) {
        return adzi_status(NULL);
    }
    adzi_pointwise(kernels[x->dtype], dx[0], 2, (adz_tensor *[]){ dy, x }, p);
    return ADZ_OK;
}
