#include "ops/conv/conv.h"

#include "ops/conv/conv_run.h"
#include "adze/options.h"

/* The operators of convolution: conv1d to conv3d and their transposed forms, torch.nn.functional.
 *
 *     y[o, q]  = bias[o] + sum over c and t of weight[o, c, t] x[c, index(q, t)]
 *     index    = q stride + t dilation - padding
 *     dx       = the transposed convolution of dy with weight
 *     dweight  = adz_conv_weight(x, dy)
 *     dbias[o] = sum over q of dy[o, q]
 *
 * x[N, C, H, W], weight[O, C / groups, KH, KW], y[N, O, OH, OW]; a volume has a D in front of H, a
 * signal has no H, and N may be absent. A transposed convolution has weight[C, O / groups, KH, KW];
 * its dx is a convolution. The node saves x and weight, each only if a gradient will read it. */

const adz_field adzi_conv_fields[ADZI_CONV_FIELDS] = {
    ADZI_FIELD_LIST(adzi_conv, n, stride),
    ADZI_FIELD_LIST(adzi_conv, n_padding, padding),
    ADZI_FIELD_HIDDEN_LIST(adzi_conv, n_after, padding_after),
    ADZI_FIELD_LIST(adzi_conv, n_dilation, dilation),
    ADZI_FIELD(adzi_conv, groups),
};

const adzi_op *adzi_conv_op(bool transposed, int n)
{
    static const adzi_op *const ops[2][ADZI_CONV_AXES] = { { &adzi_op_conv1d, &adzi_op_conv2d,
                                                               &adzi_op_conv3d },
        { &adzi_op_conv_transpose1d, &adzi_op_conv_transpose2d, &adzi_op_conv_transpose3d } };
    return ops[transposed][n - 1];
}

/* ---- sizes ---------------------------------------------------------------------------------- */

/* dilation (kernel - 1) + 1, the indices that a kernel spans. False on overflow. */
static bool reach_of(int64_t dilation, int64_t kernel, int64_t *reach)
{
    return !__builtin_mul_overflow(dilation, kernel - 1, reach) &&
           !__builtin_add_overflow(*reach, 1, reach);
}

bool adzi_conv_small(
    const adzi_conv *at, const char *op, const int64_t *big, const int64_t *kernel, int64_t *small)
{
    for (int d = 0; d < at->n; ++d) {
        int64_t padded, reach;
        if (__builtin_add_overflow(big[d], at->padding[d], &padded) ||
            __builtin_add_overflow(padded, at->padding_after[d], &padded) ||
            !reach_of(at->dilation[d], kernel[d], &reach)) {
            adzi_error(op, ADZ_ERR_SHAPE,
                "size %lld with padding %lld, or kernel size %lld with dilation %lld, overflows",
                (long long)big[d], (long long)at->padding[d], (long long)kernel[d],
                (long long)at->dilation[d]);
            return false;
        }
        if (reach > padded) {
            adzi_error(op, ADZ_ERR_SHAPE,
                "a kernel of size %lld with dilation %lld spans %lld elements, but dimension %d of the input has %lld with padding %lld; pad more or use a smaller kernel",
                (long long)kernel[d], (long long)at->dilation[d], (long long)reach, d - at->n,
                (long long)padded, (long long)at->padding[d]);
            return false;
        }
        small[d] = (padded - reach) / at->stride[d] + 1;
    }
    return true;
}

/* The sizes of the result of a transposed convolution:
 *
 *     (small - 1) stride - padding - padding_after + dilation (kernel - 1) + 1 */
static bool big_of(
    const adzi_conv *at, const char *op, const int64_t *small, const int64_t *kernel, int64_t *big)
{
    for (int d = 0; d < at->n; ++d) {
        int64_t reach;
        bool fits = reach_of(at->dilation[d], kernel[d], &reach) &&
                    !__builtin_mul_overflow(small[d] - 1, at->stride[d], &big[d]) &&
                    !__builtin_sub_overflow(big[d], at->padding[d], &big[d]) &&
                    !__builtin_sub_overflow(big[d], at->padding_after[d], &big[d]) &&
                    !__builtin_add_overflow(big[d], reach, &big[d]);
        if (!fits || big[d] < 1) {
            adzi_error(op, ADZ_ERR_SHAPE,
                "dimension %d of the input, size %lld, gives no result with kernel size %lld, stride %lld, padding %lld and dilation %lld; %s",
                d - at->n, (long long)small[d], (long long)kernel[d], (long long)at->stride[d],
                (long long)at->padding[d], (long long)at->dilation[d],
                fits ? "its size would be below 1, so pad less" : "its size overflows");
            return false;
        }
    }
    return true;
}

void adzi_conv_fit(adzi_conv *at, const int64_t *big, const int64_t *small, const int64_t *kernel)
{
    for (int d = 0; d < at->n; ++d) {
        at->padding_after[d] = (small[d] - 1) * at->stride[d] + at->dilation[d] * (kernel[d] - 1) +
                               1 - big[d] - at->padding[d];
    }
}

/* ---- checks --------------------------------------------------------------------------------- */

/* The letters of n spatial dimensions, of an image or of a kernel. */
static const char *letters_of(int n, bool kernel)
{
    static const char *const letters[2][ADZI_CONV_AXES] = { { "L", "H, W", "D, H, W" },
        { "K", "KH, KW", "KD, KH, KW" } };
    return letters[kernel][n - 1];
}

bool adzi_conv_check_images(const char *op, const adz_tensor *x, const char *x_name, int n)
{
    if (x->rank != n + 1 && x->rank != n + 2) {
        adzi_error(op, ADZ_ERR_SHAPE, "%s%s has rank %d; it is [N, C, %s] or [C, %s]", x_name,
            adzi_text_shape(x), x->rank, letters_of(n, false), letters_of(n, false));
        return false;
    }
    for (int d = x->rank - n; d < x->rank; ++d) {
        if (x->sizes[d] < 1) {
            adzi_error(op, ADZ_ERR_SHAPE, "dimension %d of %s%s is empty; only the batch may be", d,
                x_name, adzi_text_shape(x));
            return false;
        }
    }
    return true;
}

/* The weight has rank n + 2 and a kernel that is not empty, and its first size is made of whole
 * groups. */
static bool check_weight(const char *op, const adz_tensor *weight, const adzi_conv *at, bool back)
{
    const char *form = back ? "in, out" : "out, in", *sizes = letters_of(at->n, true);
    bool good = weight->rank == at->n + 2;
    for (int d = 2; good && d < weight->rank; ++d) {
        good = weight->sizes[d] > 0;
    }
    if (!good) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "weight%s is not [%s / groups, %s] with kernel sizes of 1 or more",
            adzi_text_shape(weight), form, sizes);
        return false;
    }
    if (weight->sizes[0] % at->groups != 0) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "%lld groups do not divide the first size of weight%s, [%s / groups, %s]",
            (long long)at->groups, adzi_text_shape(weight), form, sizes);
        return false;
    }
    return true;
}

/* The channels of x are those of the weight. A weight whose channels times groups overflow has no
 * elements and fits no x. */
static bool check_channels(const char *op, const adz_tensor *x, const adz_tensor *weight,
    const adzi_conv *at, bool transposed)
{
    int64_t channels = weight->sizes[0];
    const int64_t have = x->sizes[x->rank - at->n - 1];
    bool fits = transposed || !__builtin_mul_overflow(weight->sizes[1], at->groups, &channels);
    if (!fits || have != channels) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "x%s has %lld channels, but weight%s with %lld group%s takes %lld", adzi_text_shape(x),
            (long long)have, adzi_text_shape(weight), (long long)at->groups,
            at->groups == 1 ? "" : "s", (long long)channels);
        return false;
    }
    return true;
}

static bool check_bias(
    const char *op, const adz_tensor *weight, const adz_tensor *bias, int64_t channels)
{
    if (!adzi_is_none(bias) && (bias->rank != 1 || bias->sizes[0] != channels)) {
        adzi_error(op, ADZ_ERR_SHAPE, "bias%s does not fit weight%s, which makes %lld channels",
            adzi_text_shape(bias), adzi_text_shape(weight), (long long)channels);
        return false;
    }
    return true;
}

static bool check_dtypes(
    const char *op, const adz_tensor *x, const adz_tensor *weight, const adz_tensor *bias)
{
    if (x->dtype != weight->dtype || (!adzi_is_none(bias) && bias->dtype != weight->dtype)) {
        adzi_error(op, ADZ_ERR_DTYPE, "x is %s, weight %s%s%s; convert one with adz_to",
            adz_dtype_name((adz_dtype)x->dtype), adz_dtype_name((adz_dtype)weight->dtype),
            adzi_is_none(bias) ? "" : ", bias ",
            adzi_is_none(bias) ? "" : adz_dtype_name((adz_dtype)bias->dtype));
        return false;
    }
    return true;
}

/* Checks a call and finds the shape of its result, of the rank of x. */
static adz_status rule(adz_result *y, adz_tensor *const *in, const adzi_conv *at, bool transposed)
{
    const char *op = adzi_conv_op(transposed, at->n)->name;
    const adz_tensor *x = in[ADZI_CONV_X], *weight = in[ADZI_CONV_WEIGHT],
                     *bias = in[ADZI_CONV_BIAS];
    if (!adzi_conv_check_images(op, x, "x", at->n) || !check_weight(op, weight, at, transposed) ||
        !check_channels(op, x, weight, at, transposed) || !check_dtypes(op, x, weight, bias)) {
        return adzi_status(NULL);
    }
    int64_t channels = weight->sizes[0], numel;
    if (transposed && __builtin_mul_overflow(weight->sizes[1], at->groups, &channels)) {
        return adzi_error(op, ADZ_ERR_SHAPE, "%lld groups of weight%s are more channels than fit",
            (long long)at->groups, adzi_text_shape(weight));
    }
    const int spatial = x->rank - at->n; /* the first dimension of an image */
    int64_t *sizes = y->shape.sizes;
    sizes[spatial - 1] = channels;
    const int64_t *image = x->sizes + spatial, *kernel = weight->sizes + 2;
    return check_bias(op, weight, bias, channels) &&
                   (transposed ? big_of(at, op, image, kernel, sizes + spatial)
                               : adzi_conv_small(at, op, image, kernel, sizes + spatial))
               ? adzi_check_sizes(op, x->rank, sizes, y->dtype, &numel)
               : adzi_status(NULL);
}

adz_status adzi_conv_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    return rule(y, in, block, false);
}

adz_status adzi_conv_transpose_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    return rule(y, in, block, true);
}

/* ---- the call ------------------------------------------------------------------------------- */

/* What a call gets. The node keeps the attributes alone. */
typedef struct {
    adzi_conv at;
    bool transposed;
    adzi_conv_job job;
} conv_call;

static bool prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    conv_call *c = block;
    (void)call;
    return adzi_conv_prepare(&c->job, &c->at, c->transposed, in, y[0]);
}

void adzi_conv_save(adzi_call *call, adz_tensor *const *y, const void *attr)
{
    (void)y;
    (void)attr;
    for (int i = 0; i < 2; ++i) {
        if (adzi_wants(call, i)) {
            adzi_save_input(call, 1 - i);
        }
    }
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    (void)y;
    (void)in;
    adzi_conv_run(&((const conv_call *)block)->job);
}

static void release(void *block)
{
    adzi_conv_end(&((conv_call *)block)->job);
}

adz_tensor *adzi_conv_call(
    bool transposed, adz_tensor *x, adz_tensor *weight, adz_tensor *bias, const adzi_conv *at)
{
    static const adzi_steps steps = {
        .prepare = prepare, .save = adzi_conv_save, .launch = launch, .release = release
    };
    conv_call call;
    call.at = *at;
    call.transposed = transposed;
    return ADZI_RUN_STEPS(adzi_conv_op(transposed, at->n), steps, &call, x, weight, bias);
}

adz_tensor *adzi_conv_public(const adzi_op *op, adz_tensor *x, adz_tensor *weight, adz_tensor *bias,
    const adz_conv_options *options)
{
    bool transposed = false;
    adzi_conv at = { .n = 1 };
    while (op != adzi_conv_op(transposed, at.n)) {
        at.n += transposed;
        transposed = !transposed;
    }
    if (!adzi_check_tensor(op->name, "x", x) || !adzi_check_tensor(op->name, "weight", weight)) {
        return NULL;
    }
    /* A weight of another rank is refused after the options, which do without its kernel then. */
    const int64_t none[ADZI_CONV_AXES] = { 1, 1, 1 };
    const int64_t *kernel = weight->rank == at.n + 2 ? weight->sizes + 2 : none;
    return adzi_conv_read(&at, op->name, options, transposed, kernel)
               ? adzi_conv_call(transposed, x, weight, bias, &at)
               : NULL;
}

/* ---- gradients ------------------------------------------------------------------------------ */

/* Sums dy over all dimensions but that of the channels. */
static adz_tensor *gradient_of_bias(adz_tensor *dy, int n)
{
    int dims[ADZ_MAX_RANK], count = 0;
    for (int d = 0; d < dy->rank; ++d) {
        if (d != dy->rank - n - 1) {
            dims[count++] = d;
        }
    }
    return adz_sum(dy, adz_dims_of(count, dims), ADZ_DROPDIM);
}

/* The gradients of x and of the weight: Note [Convolutions and their gradients]. `at` is changed so
 * that the images fit each other, also where a stride leaves a rest at the end. */
static adz_status gradients_of_factors(
    adzi_node *node, adz_tensor **dx, adz_tensor *dy, bool transposed)
{
    adzi_conv at = *adzi_attr(node, adzi_conv);
    const adz_shape x = adzi_input_shape(node, ADZI_CONV_X);
    const adz_shape w = adzi_input_shape(node, ADZI_CONV_WEIGHT);
    const int64_t *from = x.sizes + x.rank - at.n, *to = dy->sizes + dy->rank - at.n;
    adzi_conv_fit(&at, transposed ? to : from, transposed ? from : to, w.sizes + 2);
    if (adzi_needs(node, ADZI_CONV_X)) {
        adz_tensor *weight = adzi_saved_input(node, ADZI_CONV_WEIGHT);
        dx[ADZI_CONV_X] = adzi_conv_call(!transposed, dy, weight, ADZ_NONE, &at);
        if (dx[ADZI_CONV_X] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (adzi_needs(node, ADZI_CONV_WEIGHT)) {
        adz_tensor *in = adzi_saved_input(node, ADZI_CONV_X);
        dx[ADZI_CONV_WEIGHT] =
            adzi_conv_weight_call(transposed ? dy : in, transposed ? in : dy, w, &at);
        return adzi_status(dx[ADZI_CONV_WEIGHT]);
    }
    return ADZ_OK;
}

static adz_status gradients(adzi_node *node, adz_tensor **dx, adz_tensor *dy, bool transposed)
{
    adz_status status = ADZ_OK;
    /* If neither needs a gradient, the node does not know their shapes. */
    if (adzi_needs(node, ADZI_CONV_X) || adzi_needs(node, ADZI_CONV_WEIGHT)) {
        status = gradients_of_factors(node, dx, dy, transposed);
    }
    if (status == ADZ_OK && adzi_needs(node, ADZI_CONV_BIAS)) {
        dx[ADZI_CONV_BIAS] = gradient_of_bias(dy, adzi_attr(node, adzi_conv)->n);
        status = adzi_status(dx[ADZI_CONV_BIAS]);
    }
    return status;
}

adz_status adzi_conv_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return gradients(node, dx, dy[0], false);
}

adz_status adzi_conv_transpose_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return gradients(node, dx, dy[0], true);
}
