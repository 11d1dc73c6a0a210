#include "ops/conv/fold.h"

/* The sum of patches as an image, torch.nn.functional.fold.
 *
 *     y[c, p] = the sum of x[c KH KW + t, q] over all t and q
 *               with q stride + t dilation - padding = p
 *     dx      = adz_unfold of dy
 *
 * x[N, C KH KW, L], y[N, C, H, W], where L is the number of positions of the kernel in the image; N
 * may be absent. The node saves no tensor. */

KERNEL_TABLE_FLOAT(fold);

static const char name[] = "fold";

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const adzi_fold *at = adzi_attr(node, adzi_fold);
    int64_t grid[2];
    adzi_fold_grid(at, grid);
    dx[0] = adzi_unfold_call(dy[0], at, grid);
    return adzi_status(dx[0]);
}

/* What a call gets. The node keeps the attributes alone. */
typedef struct {
    adzi_fold at;
    const int64_t *grid; /* sizes of the grid of patches */
} fold_arguments;

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    const adzi_fold *at = block;
    const int batch_rank = in[0]->rank - 2;
    int64_t numel;
    y->shape.rank = batch_rank + 3;
    y->shape.sizes[batch_rank] /= at->kernel_size[0] * at->kernel_size[1];
    y->shape.sizes[batch_rank + 1] = at->output_size[0];
    y->shape.sizes[batch_rank + 2] = at->output_size[1];
    return adzi_check_sizes(name, y->shape.rank, y->shape.sizes, y->dtype, &numel);
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const fold_arguments *call = block;
    if (y[0]->numel > 0) {
        const int64_t images = adzi_numel(y[0]->rank - 2, y[0]->sizes);
        adzi_conv_args g = adzi_fold_geometry(&call->at, images, call->grid);
        g.x = in[0]->data;
        g.y = y[0]->data;
        adzi_launch(
            KERNEL_FOR(fold, y[0]->dtype), adzi_conv_args, &g, g.batch, adzi_fold_grain(&g));
    }
}

const adzi_op adzi_op_fold = { .name = "fold",
    .backward = backward,
    .fields = adzi_fold_fields,
    .n_fields = ADZI_FOLD_FIELDS,
    .attributes_size = sizeof(adzi_fold),
    .shape_rule = shape_rule,
    .dtypes = ADZ_DTYPES_FLOATS };

adz_tensor *adzi_fold_call(adz_tensor *x, const adzi_fold *at, const int64_t *grid)
{
    return ADZI_RUN(fold, launch, (&(fold_arguments){ *at, grid }), x);
}

/* Checks that x holds the patches of such an image. */
static bool check(const adz_tensor *x, const adzi_fold *at, const int64_t *grid)
{
    int64_t taps, positions;
    const bool counted = !__builtin_mul_overflow(at->kernel_size[0], at->kernel_size[1], &taps) &&
                         !__builtin_mul_overflow(grid[0], grid[1], &positions);
    if (!counted || x->sizes[x->rank - 2] % taps != 0 || x->sizes[x->rank - 1] != positions) {
        adzi_error(name, ADZ_ERR_SHAPE,
            "x%s does not hold patches of %lld x %lld elements at %lld x %lld positions; it is [N, C KH KW, L]",
            adzi_text_shape(x), (long long)at->kernel_size[0], (long long)at->kernel_size[1],
            (long long)grid[0], (long long)grid[1]);
        return false;
    }
    return true;
}

bool adzi_fold_read_output(const char *op, adz_shape output_size, int64_t *image)
{
    image[0] = image[1] = 0;
    if (output_size.rank == 1 || output_size.rank == 2) {
        image[0] = output_size.sizes[0];
        image[1] = output_size.sizes[output_size.rank - 1];
    }
    if (image[0] < 1 || image[1] < 1) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "output_size must be one size for both dimensions, or two, of 1 or more");
        return false;
    }
    return true;
}

adz_tensor *adz_fold(
    adz_tensor *x, adz_shape output_size, adz_shape kernel_size, const adz_conv_options *options)
{
    adzi_fold at;
    int64_t grid[2];
    if (!adzi_check_tensor(name, "x", x)) {
        return NULL;
    }
    if (x->rank != 2 && x->rank != 3) {
        return adzi_fail(name, ADZ_ERR_SHAPE,
            "x%s has rank %d; it is [N, C KH KW, L] or [C KH KW, L]", adzi_text_shape(x), x->rank);
    }
    if (!adzi_fold_read_output(name, output_size, at.output_size) ||
        !adzi_fold_read(&at, name, options, kernel_size, grid) || !check(x, &at, grid)) {
        return NULL;
    }
    return adzi_fold_call(x, &at, grid);
}
