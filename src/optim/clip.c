/* Gradient clipping. */
#include "adze/optim/clip.h"

#include <math.h>

#include "optim/clip.h"
#include "base/error.h"
#include "base/parallel.h"
#include "tensor/tensor.h"

KERNEL_TABLE_FLOAT(norm_sums);
KERNEL_TABLE_FLOAT(clip_scale);
KERNEL_TABLE_FLOAT(clip_limit);

enum { GRAIN = 16384 };

static adz_tensor *grad_of(const adz_tensor *t)
{
    return t->gradient != NULL ? t->gradient->grad : NULL;
}

static adz_status check(const char *op, adz_tensor_list parameters)
{
    if (adzi_pending() != ADZ_OK) {
        return adzi_pending();
    }
    if (parameters.items == NULL && parameters.count > 0) {
        return adzi_error_null(op, "the list of parameters");
    }
    for (size_t i = 0; i < parameters.count; ++i) {
        if (!adzi_check_tensor(op, "a parameter", parameters.items[i])) {
            return adz_error_code();
        }
    }
    return ADZ_OK;
}

static int64_t blocks_of(const adz_tensor *t)
{
    return (t->numel + ADZI_NORM_BLOCK - 1) / ADZI_NORM_BLOCK;
}

/* The sum of |g|^p over all elements of all gradients, or the largest |g|. */
static double total(adz_tensor_list parameters, double p, double *sums)
{
    double all = 0;
    for (size_t i = 0; i < parameters.count; ++i) {
        const adz_tensor *grad = grad_of(parameters.items[i]);
        if (grad == NULL) {
            continue;
        }
        int64_t blocks = blocks_of(grad);
        adzi_norm_args args = { grad->data, grad->numel, p, sums };
        adzi_launch(KERNEL_FOR(norm_sums, grad->dtype), &args, blocks, GRAIN / ADZI_NORM_BLOCK);
        for (int64_t k = 0; k < blocks; ++k) {
            if (!isinf(p)) {
                all += sums[k];
            } else if (!isnan(all) && !(sums[k] <= all)) {
                all = sums[k];
            }
        }
    }
    return all;
}

static void change(adz_tensor_list parameters, const adzi_kernel kernels[2], adzi_clip_args args)
{
    for (size_t i = 0; i < parameters.count; ++i) {
        adz_tensor *grad = grad_of(parameters.items[i]);
        if (grad != NULL) {
            args.x = grad->data;
            adzi_launch(kernels[grad->dtype], &args, grad->numel, GRAIN);
            adz_tensor_touch(grad);
        }
    }
}

double adz_clip_grad_norm(adz_tensor_list parameters, double max_norm, double norm_type)
{
    static const char op[] = "adz_clip_grad_norm";
    if (check(op, parameters) != ADZ_OK) {
        return NAN;
    }
    if (!(max_norm >= 0) || !(norm_type > 0)) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "max_norm is %s, norm_type %s; the one must be 0 or more, the other above 0",
            adzi_text_number(max_norm), adzi_text_number(norm_type));
        return NAN;
    }
    int64_t most = 1;
    for (size_t i = 0; i < parameters.count; ++i) {
        const adz_tensor *grad = grad_of(parameters.items[i]);
        most = grad != NULL && blocks_of(grad) > most ? blocks_of(grad) : most;
    }
    double *sums = adzi_alloc((size_t)most * sizeof *sums);
    if (sums == NULL) {
        adzi_fail_memory(op, (size_t)most * sizeof *sums);
        return NAN;
    }
    double sum = total(parameters, norm_type, sums);
    adzi_free(sums, (size_t)most * sizeof *sums);
    double norm = isinf(norm_type) ? sum : norm_type == 2 ? sqrt(sum) : pow(sum, 1 / norm_type);
    double factor = max_norm / (norm + 1e-6);
    if (!(factor >= 1)) { /* a NaN spreads, as it does in PyTorch */
        change(
            parameters, clip_scale_kernels[adzi_cpu_level], (adzi_clip_args){ .factor = factor });
    }
    return norm;
}

adz_status adz_clip_grad_value(adz_tensor_list parameters, double clip_value)
{
    static const char op[] = "adz_clip_grad_value";
    adz_status status = check(op, parameters);
    if (status != ADZ_OK) {
        return status;
    }
    if (!(clip_value >= 0)) {
        return adzi_error(op, ADZ_ERR_ARGUMENT, "clip_value is %s, but must be 0 or more",
            adzi_text_number(clip_value));
    }
    change(parameters, clip_limit_kernels[adzi_cpu_level], (adzi_clip_args){ .limit = clip_value });
    return ADZ_OK;
}
