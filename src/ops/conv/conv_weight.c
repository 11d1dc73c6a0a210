#include "ops/conv/conv.h"
#include "ops/conv/conv_run.h"

/* The gradient of the weight of a convolution, torch.nn.grad.conv1d_weight to conv3d_weight.
 *
 *     dw[o, c, t] = sum over q of dy[o, q] x[c, q stride + t dilation - padding]
 *     dx          = the transposed convolution of dy with the gradient of dw
 *     ddy         = the convolution of x with the gradient of dw
 *
 * x[N, C, H, W], dy[N, O, OH, OW], dw[O, C / groups, KH, KW]; a volume has a D in
 * front of H, a signal has no H, and N may be absent. The node saves x and dy, each only if a
 * gradient will read it. */

static const char name[] = "conv_weight";

enum { BIG, SMALL };

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

/* What a call gets. The node keeps the attributes alone. */
typedef struct {
    adzi_conv at;
    const adz_shape *weight;
    adzi_conv_job job;
} weight_call;

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    (void)in;
    y->shape = *((const weight_call *)block)->weight;
    return ADZ_OK;
}

static bool prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    weight_call *c = block;
    (void)call;
    return adzi_conv_prepare_weight(&c->job, &c->at, in[BIG], in[SMALL], y[0]);
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    (void)y;
    (void)in;
    adzi_conv_run_weight(&((const weight_call *)block)->job);
}

static void release(void *block)
{
    adzi_conv_end(&((weight_call *)block)->job);
}

const adzi_op adzi_op_conv_weight = { .name = "conv_weight",
    .backward = backward,
    .fields = adzi_conv_fields,
    .n_fields = ADZI_CONV_FIELDS,
    .attributes_size = sizeof(adzi_conv),
    .shape_rule = shape_rule,
    .dtypes = ADZ_DTYPES_FLOATS };

adz_tensor *adzi_conv_weight_call(
    adz_tensor *x, adz_tensor *dy, adz_shape weight, const adzi_conv *at)
{
    static const adzi_steps steps = {
        .prepare = prepare, .save = adzi_conv_save, .launch = launch, .release = release
    };
    weight_call call;
    call.at = *at;
    call.weight = &weight;
    return ADZI_RUN_STEPS(&adzi_op_conv_weight, steps, &call, x, dy);
}

/* Checks that x and dy are the images of a convolution with such a weight. */
static bool check(const adz_tensor *x, const adz_tensor *dy, adz_shape weight, adzi_conv *at)
{
    const int n = at->n, spatial = x->rank - n; /* the first dimension of an image */
    int64_t channels, sizes[ADZ_MAX_RANK], numel;
    if (x->dtype != dy->dtype) {
        adzi_error(name, ADZ_ERR_DTYPE, "x is %s, dy %s; convert one with adz_to",
            adz_dtype_name((adz_dtype)x->dtype), adz_dtype_name((adz_dtype)dy->dtype));
        return false;
    }
    if (weight.sizes[0] % at->groups != 0 ||
        __builtin_mul_overflow(weight.sizes[1], at->groups, &channels) ||
        x->sizes[spatial - 1] != channels) {
        adzi_error(name, ADZ_ERR_SHAPE, "x%s does not fit weight %s with %lld groups",
            adzi_text_shape(x), adzi_text_sizes(weight.rank, weight.sizes), (long long)at->groups);
        return false;
    }
    memcpy(sizes, x->sizes, sizeof sizes);
    sizes[spatial - 1] = weight.sizes[0];
    if (!adzi_conv_small(at, name, x->sizes + spatial, weight.sizes + 2, sizes + spatial)) {
        return false;
    }
    if (dy->rank != x->rank || memcmp(dy->sizes, sizes, (size_t)x->rank * sizeof *sizes) != 0) {
        adzi_error(name, ADZ_ERR_SHAPE, "dy%s must have the shape of the convolution's result, %s",
            adzi_text_shape(dy), adzi_text_sizes(x->rank, sizes));
        return false;
    }
    adzi_conv_fit(at, x->sizes + spatial, sizes + spatial, weight.sizes + 2);
    return adzi_check_sizes(name, weight.rank, weight.sizes, (adz_dtype)x->dtype, &numel) == ADZ_OK;
}

adz_tensor *adz_conv_weight(
    adz_tensor *x, adz_tensor *dy, adz_shape weight, const adz_conv_options *options)
{
    const bool ranked = weight.rank >= 3 && weight.rank <= 2 + ADZI_CONV_AXES;
    adzi_conv at = { .n = ranked ? weight.rank - 2 : 0 };
    if (!adzi_check_tensor(name, "x", x) || !adzi_check_tensor(name, "dy", dy)) {
        return NULL;
    }
    bool good = ranked;
    for (int d = 0; good && d < weight.rank; ++d) {
        good = weight.sizes[d] >= (d < 2 ? 0 : 1);
    }
    if (!good) {
        return adzi_fail(name, ADZ_ERR_SHAPE,
            "weight %s is not [out, in / groups, K], with KH, KW or with KD, KH, KW",
            adzi_text_sizes(weight.rank, weight.sizes));
    }
    if (!adzi_conv_read(&at, name, options, false, weight.sizes + 2) ||
        !adzi_conv_check_images(name, x, "x", at.n) || !check(x, dy, weight, &at)) {
        return NULL;
    }
    return adzi_conv_weight_call(x, dy, weight, &at);
}
