/* Clipping by operators, for a trace: what the kernels of clip.c compute. */
#include "adze/ops/arithmetic.h"
#include "adze/ops/compare.h"
#include "adze/ops/convert.h"
#include "adze/ops/math.h"
#include "adze/ops/reduction.h"
#include "adze/ops/shape.h"
#include "ops/op.h"
#include "optim/clip_traced.h"

/* The gradient of a parameter, or NULL if there is none or it has no elements. */
static adz_tensor *grad_of(const adz_tensor *t)
{
    adzi_capture_gradient(t->gradient);
    adz_tensor *grad = t->gradient != NULL ? t->gradient->grad : NULL;
    return grad != NULL && grad->numel > 0 ? grad : NULL;
}

/* The norm of all gradients, in the widest of their dtypes: the norm of their norms. `norms` has
 * room for all of them. NULL with the error recorded, or if there is no gradient. */
static adz_tensor *total_norm(adz_tensor_list parameters, double p, adz_tensor **norms)
{
    size_t n = 0;
    adz_dtype widest = ADZ_F32;
    for (size_t i = 0; i < parameters.count; ++i) {
        adz_tensor *grad = grad_of(parameters.items[i]);
        if (grad != NULL) {
            widest = grad->dtype == ADZ_F64 ? ADZ_F64 : widest;
            norms[n++] = adz_norm(grad, p, ADZ_ALL_DIMS, ADZ_DROPDIM);
        }
    }
    for (size_t i = 0; i < n; ++i) {
        norms[i] = adz_to(norms[i], widest);
    }
    return n > 1    ? adz_norm(adz_stack(norms, n, 0), p, ADZ_ALL_DIMS, ADZ_DROPDIM)
           : n == 1 ? norms[0]
                    : NULL;
}

static void scale(adz_tensor_list parameters, double max_norm, double p, adz_tensor **norms)
{
    adz_tensor *norm = total_norm(parameters, p, norms);
    if (norm == NULL) {
        return;
    }
    adz_tensor *factor = adz_number_div(max_norm, adz_add_number(norm, 1e-6));
    factor = adz_masked_fill(factor, adz_ge_number(factor, 1), 1); /* a NaN spreads */
    for (size_t i = 0; i < parameters.count && factor != NULL; ++i) {
        adz_tensor *grad = grad_of(parameters.items[i]);
        if (grad != NULL) {
            adz_mul_(grad, adz_to(factor, (adz_dtype)grad->dtype));
        }
    }
}

adz_status adzi_clip_norm_traced(
    const char *op, adz_tensor_list parameters, double max_norm, double p)
{
    adzi_thread *thread = adzi_self();
    const size_t bytes = (parameters.count + 1) * sizeof(adz_tensor *);
    adz_tensor **norms = adzi_alloc(bytes);
    adz_scope *scope = norms != NULL ? adz_scope_open() : NULL;
    if (norms == NULL) {
        adzi_fail_memory(op, bytes);
        return ADZ_ERR_MEMORY;
    }
    if (scope != NULL) {
        const bool records = thread->grad_enabled;
        thread->grad_enabled = false;
        scale(parameters, max_norm, p, norms);
        thread->grad_enabled = records;
    }
    adz_scope_close(scope);
    adzi_free(norms, bytes);
    return adzi_pending();
}

adz_status adzi_clip_value_traced(adz_tensor_list parameters, double limit)
{
    adzi_thread *thread = adzi_self();
    adz_scope *scope = adz_scope_open();
    const bool records = thread->grad_enabled;
    thread->grad_enabled = false;
    for (size_t i = 0; i < parameters.count && scope != NULL; ++i) {
        adz_tensor *grad = grad_of(parameters.items[i]);
        if (grad != NULL) {
            adz_clamp_(grad, -limit, limit);
        }
    }
    thread->grad_enabled = records;
    adz_scope_close(scope);
    return adzi_pending();
}
