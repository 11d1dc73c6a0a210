/* What traced loops and branches share.
 *
 * A body is called with tensors that stand for the carries and inputs of a step. They hold what the
 * first step would get, so that the body runs; results hold what that step gives, in each step. */
#include "solvers/loops/in_trace.h"

#include <string.h>

adz_tensor *adzi_traced_like(const char *op, const adz_tensor *t, int from, int64_t front)
{
    int64_t sizes[ADZ_MAX_RANK + 1];
    sizes[0] = front;
    memcpy(sizes + 1, t->sizes, sizeof t->sizes);
    const int rank = t->rank - from + (front >= 0 ? 1 : 0);
    if (rank > ADZ_MAX_RANK) {
        return adzi_fail(op, ADZ_ERR_SHAPE,
            "a result of a step has %d dimensions, so there is none for the steps", ADZ_MAX_RANK);
    }
    return adzi_scratch(op, (adz_dtype)t->dtype, rank, front >= 0 ? sizes : sizes + 1 + from);
}

void adzi_traced_copy_all(adz_tensor *const *to, adz_tensor *const *from, size_t n)
{
    for (size_t k = 0; k < n; ++k) {
        adzi_copy(to[k], from[k]);
    }
}

bool adzi_traced_make_like(const char *op, adz_tensor **to, adz_tensor *const *like, size_t n)
{
    bool good = true;
    for (size_t k = 0; k < n && good; ++k) {
        to[k] = adzi_traced_like(op, like[k], 0, -1);
        good = to[k] != NULL;
    }
    return good;
}

adz_tensor adzi_traced_element(const adz_tensor *all, int64_t t)
{
    adz_tensor one = *all;
    --one.rank;
    memmove(one.sizes, one.sizes + 1, (size_t)one.rank * sizeof *one.sizes);
    memmove(one.strides, one.strides + 1, (size_t)one.rank * sizeof *one.strides);
    one.data += t * all->strides[0] * (int64_t)adzi_item_size(all);
    one.numel = all->sizes[0] > 0 ? all->numel / all->sizes[0] : 0;
    return one;
}

bool adzi_traced_report(const adzi_op *op, adz_tensor *const *in, size_t n_in,
    adz_tensor *const *results, size_t n_results, const adzi_region_attr *attr)
{
    return adzi_region_report(op, (adzi_region_tensors){ in, (int)n_in },
        (adzi_region_tensors){ results, (int)n_results }, attr);
}

adz_status adzi_traced_refuse_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)dx;
    (void)dy;
    return adzi_error(node->op->name, ADZ_ERR_UNSUPPORTED,
        "has no gradient in an ONNX file; export the forward alone, or write a C file");
}

bool adzi_traced_any_wants(adz_tensor *const *tensors, size_t n)
{
    bool any = false;
    for (size_t k = 0; k < n && !any; ++k) {
        any = adzi_requires_grad(tensors[k]);
    }
    return any;
}

bool adzi_traced_runs(const char *op, uint64_t number)
{
    const adzi_tracer *tracer = adzi_self()->tracer;
    if (tracer == NULL || tracer->number != number) {
        adzi_error(op, ADZ_ERR_STATE,
            "was called in a function that was exported, whose graph has ended with the export");
        return false;
    }
    return true;
}
