#include "ops/conv/conv.h"
#include "ops/conv/conv_run.h"

/* The gradient of the weight of a convolution, torch.nn.grad.conv1d_weight and conv2d_weight.
 *
 *     dw[o, c, t] = sum over q of dy[o, q] x[c, q stride + t dilation - padding]
 *     dx          = the transposed convolution of dy with the gradient of dw
 *     ddy         = the convolution of x with the gradient of dw
 *
 * x[N, C, H, W], dy[N, O, OH, OW], dw[O, C / groups, KH, KW]; a signal has no H, and N may be
 * absent. The node saves x and dy, each only if a gradient will read it. */

static const char name[] = "conv_weight";

enum { BIG, SMALL, INPUTS };

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const adzi_conv *at = adzi_attr(node, adzi_conv);
    if (adzi_needs(node, BIG)) {
        adz_tensor *small = adzi_saved_input(node, SMALL);
        dx[BIG] = adzi_conv_call(true, small, dy[0], ADZ_NONE, at);
        if (dx[BIG] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (adzi_needs(node, SMALL)) {
        adz_tensor *big = adzi_saved_input(node, BIG);
        dx[SMALL] = adzi_conv_call(false, big, dy[0], ADZ_NONE, at);
        return adzi_status(dx[SMALL]);
    }
    return ADZ_OK;
}

const adzi_op adzi_op_conv_weight = { .name = "conv_weight",
    .backward = backward,
    .fields = adzi_conv_fields,
    .n_fields = ADZI_CONV_FIELDS };

adz_tensor *adzi_conv_weight_call(
    adz_tensor *big, adz_tensor *small, adz_shape weight, const adzi_conv *at)
{
    adzi_call call;
    adzi_conv_job job;
    if (!adzi_enter(
            &call, &adzi_op_conv_weight, "x, dy", (adz_tensor *[]){ big, small }, INPUTS, 0)) {
        return NULL;
    }
    adz_tensor *x = adzi_compact(name, big), *dy = adzi_compact(name, small);
    adz_tensor *dw = x != NULL && dy != NULL
                         ? adzi_new(&call, (adz_dtype)big->dtype, weight.rank, weight.sizes)
                         : NULL;
    if (dw == NULL || !adzi_conv_prepare_weight(&job, at, x, dy, dw)) {
        return NULL;
    }
    if (!adzi_record(&call, 1, &dw, at, sizeof *at)) {
        adzi_conv_end(&job);
        return NULL;
    }
    if (adzi_wants(&call, BIG)) {
        adzi_save_input(&call, SMALL);
    }
    if (adzi_wants(&call, SMALL)) {
        adzi_save_input(&call, BIG);
    }
    adzi_conv_run_weight(&job);
    adzi_conv_end(&job);
    return adzi_leave(&call, dw);
}

/* Checks that x and dy are the images of a convolution with such a weight. */
static bool check(const adz_tensor *x, const adz_tensor *dy, adz_shape weight, adzi_conv *at)
{
    const int n = at->n, lead = x->rank - n;
    int64_t channels, sizes[ADZ_MAX_RANK], numel;
    if (x->dtype != dy->dtype) {
        adzi_error(name, ADZ_ERR_DTYPE, "x is %s, dy %s; convert one with adz_to",
            adz_dtype_name((adz_dtype)x->dtype), adz_dtype_name((adz_dtype)dy->dtype));
        return false;
    }
    if (weight.sizes[0] % at->groups != 0 ||
        __builtin_mul_overflow(weight.sizes[1], at->groups, &channels) ||
        x->sizes[lead - 1] != channels) {
        adzi_error(name, ADZ_ERR_SHAPE, "x%s does not fit weight %s with %lld groups",
            adzi_text_shape(x), adzi_text_sizes(weight.rank, weight.sizes), (long long)at->groups);
        return false;
    }
    memcpy(sizes, x->sizes, sizeof sizes);
    sizes[lead - 1] = weight.sizes[0];
    if (!adzi_conv_small(at, name, x->sizes + lead, weight.sizes + 2, sizes + lead)) {
        return false;
    }
    if (dy->rank != x->rank || memcmp(dy->sizes, sizes, (size_t)x->rank * sizeof *sizes) != 0) {
        adzi_error(name, ADZ_ERR_SHAPE, "dy%s must have the shape of the convolution's result, %s",
            adzi_text_shape(dy), adzi_text_sizes(x->rank, sizes));
        return false;
    }
    adzi_conv_fit(at, x->sizes + lead, sizes + lead, weight.sizes + 2);
    return adzi_check_sizes(name, weight.rank, weight.sizes, (adz_dtype)x->dtype, &numel) == ADZ_OK;
}

adz_tensor *adz_conv_weight(
    adz_tensor *x, adz_tensor *dy, adz_shape weight, const adz_conv_options *options)
{
    adzi_conv at;
    adzi_call call;
    if (!ADZI_ENTER(&call, conv_weight, x, dy) || !adzi_want_float(&call, BIG)) {
        return NULL;
    }
    bool good = weight.rank == 3 || weight.rank == 4;
    for (int d = 0; good && d < weight.rank; ++d) {
        good = weight.sizes[d] >= (d < 2 ? 0 : 1);
    }
    if (!good) {
        return adzi_fail(name, ADZ_ERR_SHAPE,
            "weight %s is not [out, in / groups, K] or [out, in / groups, KH, KW]",
            adzi_text_sizes(weight.rank, weight.sizes));
    }
    const int n = weight.rank - 2;
    if (!adzi_conv_read(&at, name, options, false, n, weight.sizes + 2) ||
        !adzi_conv_check_images(name, x, "x", n) || !check(x, dy, weight, &at)) {
        return NULL;
    }
    return adzi_conv_weight_call(x, dy, weight, &at);
}
