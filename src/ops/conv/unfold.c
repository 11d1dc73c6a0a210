#include "ops/conv/fold.h"

/* The patches of an image, torch.nn.functional.unfold.
 *
 *     y[c KH KW + t, q] = x[c, q stride + t dilation - padding], 0 outside x
 *     dx                = adz_fold of dy
 *
 * x[N, C, H, W], y[N, C KH KW, L], where L is the number of positions of the kernel in the image; N
 * may be absent. The node saves no tensor. */

KERNEL_TABLE_FLOAT(unfold);

static const char name[] = "unfold";

const adz_field adzi_fold_fields[ADZI_FOLD_FIELDS] = {
    ADZI_FIELD(adzi_fold, kernel_size),
    ADZI_FIELD(adzi_fold, stride),
    ADZI_FIELD(adzi_fold, padding),
    ADZI_FIELD(adzi_fold, dilation),
    ADZI_FIELD(adzi_fold, output_size),
};

/* A copy of the numbers that the sizes of a convolution depend on. */
static adzi_conv conv_of(const adzi_fold *at)
{
    adzi_conv conv = { .n = 2 };
    for (int d = 0; d < 2; ++d) {
        conv.stride[d] = at->stride[d];
        conv.padding[d] = conv.padding_after[d] = at->padding[d];
        conv.dilation[d] = at->dilation[d];
    }
    return conv;
}

bool adzi_fold_read_kernel(const char *op, const adz_conv_options *options, adz_shape kernel_size,
    adzi_conv *conv, int64_t *kernel)
{
    kernel[0] = kernel[1] = 0;
    if (kernel_size.rank == 1 || kernel_size.rank == 2) {
        kernel[0] = kernel_size.sizes[0];
        kernel[1] = kernel_size.sizes[kernel_size.rank - 1];
    }
    if (kernel[0] < 1 || kernel[1] < 1) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "kernel_size must be one size for both dimensions, or two, of 1 or more");
        return false;
    }
    conv->n = 2;
    if (!adzi_conv_read(conv, op, options, false, kernel)) {
        return false;
    }
    if (conv->groups != 1 ||
        memcmp(conv->padding, conv->padding_after, sizeof conv->padding) != 0) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "groups %lld must be 1, and padding the same at both ends",
            (long long)conv->groups);
        return false;
    }
    return true;
}

bool adzi_fold_read(adzi_fold *at, const char *op, const adz_conv_options *options,
    adz_shape kernel_size, int64_t *grid)
{
    adzi_conv conv;
    int64_t kernel[2];
    if (!adzi_fold_read_kernel(op, options, kernel_size, &conv, kernel)) {
        return false;
    }
    for (int d = 0; d < 2; ++d) {
        at->kernel_size[d] = kernel[d];
        at->stride[d] = conv.stride[d];
        at->padding[d] = conv.padding[d];
        at->dilation[d] = conv.dilation[d];
    }
    return adzi_conv_small(&conv, op, at->output_size, kernel, grid);
}

void adzi_fold_grid(const adzi_fold *at, int64_t *grid)
{
    const adzi_conv conv = conv_of(at);
    adzi_conv_small(&conv, name, at->output_size, at->kernel_size, grid);
}

adzi_conv_args adzi_fold_geometry(const adzi_fold *at, int64_t images, const int64_t *grid)
{
    adzi_conv_args g = { .batch = images,
        .groups = 1,
        .source = { 1 },
        .result = { 1 },
        .kernel = { 1 },
        .stride = { 1 },
        .dilation = { 1 } };
    for (int d = 0; d < 2; ++d) {
        g.source[1 + d] = at->output_size[d];
        g.result[1 + d] = grid[d];
        g.kernel[1 + d] = at->kernel_size[d];
        g.stride[1 + d] = at->stride[d];
        g.pad[1 + d] = at->padding[d];
        g.dilation[1 + d] = at->dilation[d];
    }
    return g;
}

int64_t adzi_fold_grain(const adzi_conv_args *g)
{
    enum { GRAIN = 1 << 15 };
    const double each =
        (double)(g->kernel[1] * g->kernel[2]) * (double)(g->result[1] * g->result[2]);
    return adzi_grain_of(GRAIN, each);
}

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const adzi_fold *at = adzi_attr(node, adzi_fold);
    int64_t grid[2];
    adzi_fold_grid(at, grid);
    dx[0] = adzi_fold_call(dy[0], at, grid);
    return adzi_status(dx[0]);
}

/* What a call gets. The node keeps the attributes alone. */
typedef struct {
    adzi_fold at;
    const int64_t *grid; /* sizes of the grid of patches */
} unfold_arguments;

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    const unfold_arguments *call = block;
    const int64_t *kernel = call->at.kernel_size;
    const int batch_rank = in[0]->rank - 3;
    int64_t numel;
    y->shape.rank = batch_rank + 2;
    if (!adzi_multiply(
            in[0]->sizes[batch_rank], kernel[0] * kernel[1], &y->shape.sizes[batch_rank]) ||
        !adzi_multiply(call->grid[0], call->grid[1], &y->shape.sizes[batch_rank + 1])) {
        return adzi_error(name, ADZ_ERR_SHAPE, "x%s has more patches than can be counted",
            adzi_text_shape(in[0]));
    }
    return adzi_check_sizes(name, y->shape.rank, y->shape.sizes, y->dtype, &numel);
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const unfold_arguments *call = block;
    if (y[0]->numel > 0) {
        const int64_t images = adzi_numel(in[0]->rank - 2, in[0]->sizes);
        adzi_conv_args g = adzi_fold_geometry(&call->at, images, call->grid);
        g.x = in[0]->data;
        g.y = y[0]->data;
        adzi_launch(
            KERNEL_FOR(unfold, y[0]->dtype), adzi_conv_args, &g, g.batch, adzi_fold_grain(&g));
    }
}

const adzi_op adzi_op_unfold = { .name = "unfold",
    .backward = backward,
    .fields = adzi_fold_fields,
    .n_fields = ADZI_FOLD_FIELDS,
    .attributes_size = sizeof(adzi_fold),
    .shape_rule = shape_rule,
    .dtypes = ADZ_DTYPES_FLOATS };

adz_tensor *adzi_unfold_call(adz_tensor *x, const adzi_fold *at, const int64_t *grid)
{
    return ADZI_RUN(unfold, launch, (&(unfold_arguments){ *at, grid }), x);
}

adz_tensor *adz_unfold(adz_tensor *x, adz_shape kernel_size, const adz_conv_options *options)
{
    adzi_fold at;
    int64_t grid[2];
    if (!adzi_check_tensor(name, "x", x) || !adzi_conv_check_images(name, x, "x", 2)) {
        return NULL;
    }
    memcpy(at.output_size, x->sizes + x->rank - 2, sizeof at.output_size);
    return adzi_fold_read(&at, name, options, kernel_size, grid) ? adzi_unfold_call(x, &at, grid)
                                                                 : NULL;
}
