/* Gradient clipping, as torch.nn.utils.clip_grad_norm_ and clip_grad_value_. The norm and the
 * factor are computed in launches, so that a replayed step clips by the norm of its own gradients.
 */
#include "adze/optim/clip.h"

#include <math.h>

#include "optim/clip.h"
#include "optim/clip_traced.h"
#include "base/error.h"
#include "base/threads/parallel.h"
#include "tensor/kernel/real.h"
#include "tensor/tensor.h"

KERNEL_TABLE_FLOAT(norm_sums);
KERNEL_TABLE_FLOAT(clip_scale);
KERNEL_TABLE_FLOAT(clip_limit);

enum { GRAIN = 16384 };

static adz_tensor *grad_of(const adz_tensor *t)
{
    adzi_capture_gradient(t->gradient);
    return t->gradient != NULL ? t->gradient->grad : NULL;
}

/* Checks that every parameter is a living tensor. */
static adz_status check(const char *op, adz_tensor_list parameters)
{
    if (adzi_refused(op) != ADZ_OK) {
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

/* The number of blocks of ADZI_NORM_BLOCK elements, the last of which may be shorter. */
static int64_t blocks_of(const adz_tensor *t)
{
    return (t->numel + ADZI_NORM_BLOCK - 1) / ADZI_NORM_BLOCK;
}

/* The results of the launches. */
typedef struct {
    double sum;    /* the sum of |g|^p over all gradients, or minus its p-th root if the sum leaves
                      the range of f64; for p = inf the largest |g| */
    double norm;   /* sum^(1/p); for p = inf the sum itself */
    double factor; /* max_norm / (norm + 1e-6); below 1, the gradients are multiplied by it */
    double sums[]; /* the sums of the blocks of one gradient, or minus their roots */
} clip_numbers;

typedef struct {
    clip_numbers *numbers;
    int64_t blocks; /* the number of sums of the gradient that was summed last */
    double p, max_norm;
} clip_norm_args;

ADZI_ADDRESSES(clip_norm_args, numbers);

/* The sum of two sums of powers, of which one or both are given as minus their p-th root, and which
 * is returned so. The larger root is divided out before powers are taken. */
static double add_roots(double a, double b, double p)
{
    const double x = a < 0 ? -a : adzi_real_pow(a, 1 / p), y = b < 0 ? -b : adzi_real_pow(b, 1 / p);
    const double most = x > y ? x : y, least = x > y ? y : x;
    return isinf(most) ? -most : -most * adzi_real_pow(1 + adzi_real_pow(least / most, p), 1 / p);
}

/* Kernel of one unit: adds the sums of one gradient's blocks to the total, in order. For p = inf it
 * takes the largest one; a NaN is kept. */
static void add_blocks(const void *block, int64_t begin, int64_t end)
{
    const clip_norm_args *args = block;
    double all = args->numbers->sum;
    for (int64_t k = 0; k < args->blocks && begin < end; ++k) {
        const double sum = args->numbers->sums[k];
        if (!isinf(args->p)) {
            all = all < 0 || sum < 0 ? add_roots(all, sum, args->p) : all + sum;
        } else if (!isnan(all) && !(sum <= all)) {
            all = sum;
        }
    }
    args->numbers->sum = all;
}

/* Kernel of one unit: sets the total to 0. */
static void clear_sum(const void *block, int64_t begin, int64_t end)
{
    (void)begin;
    (void)end;
    ((const clip_norm_args *)block)->numbers->sum = 0;
}

/* Kernel of one unit: computes the norm and the factor from the total. */
static void compute_factor(const void *block, int64_t begin, int64_t end)
{
    const clip_norm_args *args = block;
    clip_numbers *n = args->numbers;
    (void)begin;
    (void)end;
    n->norm = isinf(args->p) ? n->sum
              : n->sum < 0   ? -n->sum
              : args->p == 2 ? sqrt(n->sum)
                             : adzi_real_pow(n->sum, 1 / args->p);
    n->factor = args->max_norm / (n->norm + 1e-6);
}

/* Launches the kernels that compute the norm of all gradients, and the factor. */
static void launch_norm(adz_tensor_list parameters, clip_norm_args args)
{
    adzi_launch(clear_sum, clip_norm_args, &args, 1, 1);
    for (size_t i = 0; i < parameters.count; ++i) {
        const adz_tensor *grad = grad_of(parameters.items[i]);
        if (grad == NULL) {
            continue;
        }
        const adzi_norm_args one = { grad->data, grad->numel, args.p, args.numbers->sums };
        args.blocks = blocks_of(grad);
        adzi_launch(KERNEL_FOR(norm_sums, grad->dtype), adzi_norm_args, &one, args.blocks,
            GRAIN / ADZI_NORM_BLOCK);
        adzi_launch(add_blocks, clip_norm_args, &args, 1, 1);
    }
    adzi_launch(compute_factor, clip_norm_args, &args, 1, 1);
}

/* Launches the kernel of the gradient's dtype over every gradient. */
static void change(
    const char *op, adz_tensor_list parameters, const adzi_kernel kernels[2], adzi_clip_args args)
{
    for (size_t i = 0; i < parameters.count; ++i) {
        adz_tensor *grad = grad_of(parameters.items[i]);
        if (grad != NULL) {
            args.x = grad->data;
            adzi_launch(kernels[grad->dtype], adzi_clip_args, &args, grad->numel, GRAIN);
            adzi_written(grad, op);
        }
    }
}

typedef struct {
    const double *norm;
    double *to;
} report_args;

ADZI_ADDRESSES(report_args, norm, to);

/* Copies the norm to where a plan's owner finds it (adz_plan_grad_norm). */
static adz_status report_norm(const void *block)
{
    const report_args *args = block;
    *args->to = *args->norm;
    return ADZ_OK;
}

/* Clips, and writes the norm before to `norm` unless that is NULL. */
static adz_status clip_norm(
    const char *op, adz_tensor_list parameters, double max_norm, double norm_type, double *norm)
{
    adz_status status = check(op, parameters);
    if (status != ADZ_OK) {
        return status;
    }
    if (!(max_norm >= 0) || !(norm_type > 0)) {
        return adzi_error(op, ADZ_ERR_ARGUMENT,
            "max_norm is %s, norm_type %s; the one must be 0 or more, the other above 0",
            adzi_text_number(max_norm), adzi_text_number(norm_type));
    }
    if (adzi_self()->tracer != NULL) {
        return adzi_clip_norm_traced(op, parameters, max_norm, norm_type);
    }
    int64_t most = 1;
    for (size_t i = 0; i < parameters.count; ++i) {
        const adz_tensor *grad = grad_of(parameters.items[i]);
        most = grad != NULL && blocks_of(grad) > most ? blocks_of(grad) : most;
    }
    const size_t bytes = sizeof(clip_numbers) + (size_t)most * sizeof(double);
    clip_numbers *numbers = adzi_alloc_for_kernels(bytes);
    if (numbers == NULL) {
        adzi_fail_memory(op, bytes);
        return ADZ_ERR_MEMORY;
    }
    adzi_capture_name(op);
    adzi_capture_number(max_norm);
    adzi_capture_number(norm_type);
    launch_norm(parameters, (clip_norm_args){ numbers, 0, norm_type, max_norm });
    change(op, parameters, clip_scale_kernels[adzi_cpu_level],
        (adzi_clip_args){ .factor = &numbers->factor });
    adzi_capture *capture = adzi_capture_of(adzi_self());
    if (capture != NULL) {
        const report_args report = { &numbers->norm, &capture->grad_norm };
        adzi_repeat(report_norm, report_args, &report);
    }
    if (norm != NULL) {
        *norm = numbers->norm;
    }
    adzi_free(numbers, bytes);
    return ADZ_OK;
}

double adz_clip_grad_norm(adz_tensor_list parameters, double max_norm, double norm_type)
{
    static const char op[] = "adz_clip_grad_norm";
    double norm = NAN;
    if (adzi_capture_of(adzi_self()) != NULL && !adzi_capture_gives_up()) {
        adzi_error(op, ADZ_ERR_STATE,
            "cannot be captured, because the program gets the norm of this call alone; call adz_clip_grads, and adz_plan_grad_norm after each run");
        return NAN;
    }
    const bool may =
        adzi_trace_refuse(
            op, "the program gets the norm of this call alone; call adz_clip_grads") == ADZ_OK;
    return may && clip_norm(op, parameters, max_norm, norm_type, &norm) == ADZ_OK ? norm : NAN;
}

adz_status adz_clip_grads(adz_tensor_list parameters, double max_norm, double norm_type)
{
    return clip_norm("adz_clip_grads", parameters, max_norm, norm_type, NULL);
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
    if (adzi_self()->tracer != NULL) {
        return adzi_clip_value_traced(parameters, clip_value);
    }
    adzi_capture_name(op);
    adzi_capture_number(clip_value);
    change(op, parameters, clip_limit_kernels[adzi_cpu_level],
        (adzi_clip_args){ .limit = clip_value });
    return ADZ_OK;
}
