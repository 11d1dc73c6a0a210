#include "ops/reduction/sum.h"

#include "ops/reduction/attr.h"

/* The sum over dimensions, torch.sum, and sums that other operators share.
 *
 *     y    = sum_i x_i
 *     dx_i = dy
 *
 * x has any shape. y has the sizes of x without the reduced dimensions, or with size 1 there.
 * Integers and bool are summed in i64; f32 is summed in f64. The node saves no tensor: the gradient
 * needs the shape of x only, which every node knows. */

/* `sum` reduces any layout. `sum_join` adds the partial sums of blocks. `sum_rows` adds the rows of
 * a small matrix. */
KERNEL_TABLE_ALL(sum);
KERNEL_TABLE_ALL(sum_join);
KERNEL_TABLE_FLOAT(sum_rows);

enum { SMALL_RESULTS = 256 }; /* results of a launch that may be too small to cut */
enum { PARTIAL = ADZI_REDUCE_PARTIAL / sizeof(double) }; /* partial sums that fit, 1024 */

/* Partial sums, as the kernels of either kind of dtype keep them. */
typedef union {
    double reals[PARTIAL];
    uint64_t integers[PARTIAL];
} partial_sums;

/* dx is a view of dy that repeats it over the reduced dimensions with stride 0. It takes no memory
 * of the size of x. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    unsigned mask = adzi_attr(node, adzi_reduce_attr)->mask;
    adz_shape shape = adzi_input_shape(node, 0);
    dx[0] = adz_expand(adz_reshape(dy[0], adzi_kept_shape(shape, mask)), shape);
    return adzi_status(dx[0]);
}

/* Launches the kernel with results as units. A thread is worth ADZI_REDUCE_GRAIN elements. */
static void launch(adz_dtype dtype, const adzi_reduce_args *args, int64_t results)
{
    /* A launch of at most 32768 elements runs on one thread. Two comparisons find most of them
     * without the integer division below, which takes longer than a sum of few elements. */
    bool small = results <= SMALL_RESULTS && args->n <= ADZI_REDUCE_GRAIN / SMALL_RESULTS;
    int64_t grain = small || args->n == 0 ? results : ADZI_REDUCE_GRAIN / args->n;
    adzi_launch(KERNEL_FOR(sum, dtype), adzi_reduce_args, args, results, grain > 1 ? grain : 1);
}

/* True if results have so many elements that threads should share one. At least two blocks and a
 * rest of each result must fit into the partial sums. */
static bool is_worth_blocks(const adzi_reduce_args *args, int64_t results)
{
    return args->n >= 2 * ADZI_REDUCE_GRAIN && PARTIAL / results >= 3;
}

/* Sums blocks of the longest reduced dimension into `partial`. Blocks become separate results:
 * their number is a new first kept dimension, so the ordinary kernel computes them. The elements
 * after the last whole block are summed by a second launch. Returns the number of partial sums per
 * result, or 0 if there is only one block. See Note [Few results of many elements]. */
static int64_t sum_blocks(
    adz_dtype dtype, const adzi_reduce_args *whole, int64_t results, partial_sums *partial)
{
    /* One partial sum per result is set aside for the rest after the last whole block. */
    int64_t most = PARTIAL / results - 1;
    adzi_reduce_args args = *whole;
    int longest = 0;
    for (int d = 1; d < args.n_reduced; ++d) {
        longest = args.reduced[d] > args.reduced[longest] ? d : longest;
    }
    /* `each` is the number of elements per index of the longest dimension. */
    int64_t length = args.reduced[longest], each = args.n / length;
    int64_t wanted = args.n / most > ADZI_REDUCE_GRAIN ? args.n / most : ADZI_REDUCE_GRAIN;
    int64_t block = (wanted + each - 1) / each, blocks = length / block, rest = length % block;
    if (blocks < 2) {
        return 0;
    }
    /* The description of the rest is taken before the blocks become results. */
    adzi_reduce_args tail = args;
    int64_t stride = args.reduced_strides[longest] * block;
    /* Moves the kept dimensions back by one position for the number of the block. */
    for (int d = args.n_kept; d > 0; --d) {
        args.kept[d] = args.kept[d - 1];
        args.kept_strides[d] = args.kept_strides[d - 1];
    }
    ++args.n_kept;
    args.kept[0] = blocks;
    args.kept_strides[0] = stride;
    args.reduced[longest] = block;
    args.n = each * block;
    args.partial = (char *)partial;
    launch(dtype, &args, results * blocks);
    /* The rest begins behind the last whole block, and its partial sums are behind those of the
     * blocks. */
    if (rest > 0) {
        tail.in += stride * blocks * (int64_t)adz_dtype_size(dtype);
        tail.reduced[longest] = rest;
        tail.n = each * rest;
        tail.partial = (char *)&partial->reals[results * blocks];
        launch(dtype, &tail, results);
    }
    return blocks + (rest > 0);
}

/* Sums everything that `args` describes, in one launch or through partial sums. The partial sums
 * are in a block of memory, see Note [Few results of many elements]. */
static void sum_all(adz_dtype dtype, adzi_reduce_args *args, int64_t results)
{
    if (!is_worth_blocks(args, results)) {
        launch(dtype, args, results);
        return;
    }
    partial_sums on_stack, *block = adzi_alloc_for_kernels(sizeof *block);
    partial_sums *partial = block != NULL ? block : &on_stack;
    /* Two passes: the blocks, then one unit per result that adds its partial sums in order. */
    args->blocks = sum_blocks(dtype, args, results, partial);
    if (args->blocks == 0) {
        launch(dtype, args, results);
    } else {
        args->partial = (char *)partial;
        adzi_launch(KERNEL_FOR(sum_join, dtype), adzi_reduce_args, args, results, results);
    }
    adzi_free(block, sizeof *block);
}

/* y = sum of x over `mask`, times `scale`, or times *factor if factor is not NULL. */
static void sum_into(
    adz_tensor *y, const adz_tensor *x, unsigned mask, double scale, const double *factor)
{
    adzi_reduce_args args;
    int64_t results = adzi_reduce_args_of(&args, x, mask);
    args.out = y->data;
    args.scale = scale;
    args.factor = factor;
    if (results > 0) {
        sum_all((adz_dtype)x->dtype, &args, results);
    }
}

/* For operators that compute without recording, such as fused backwards. */
void adzi_sum_into(adz_tensor *y, const adz_tensor *x, unsigned mask, double scale)
{
    sum_into(y, x, mask, scale, NULL);
}

/* A replayed step reads the factor of its own time through the pointer. */
void adzi_sum_into_factor(adz_tensor *y, const adz_tensor *x, unsigned mask, const double *factor)
{
    sum_into(y, x, mask, 1, factor);
}

/* Describes sums over the rows of contiguous g[n, h]: columns are kept, rows are reduced. */
static void rows_args(adzi_reduce_args *args, const char *g, int64_t n, int64_t h)
{
    *args = (adzi_reduce_args){ .in = g,
        .scale = 1,
        .n = n,
        .n_kept = h > 1,
        .kept = { h },
        .kept_strides = { 1 },
        .n_reduced = n > 1,
        .reduced = { n },
        .reduced_strides = { h } };
}

/* Few rows take a kernel without the general description of dimensions, which bias gradients of
 * small layers would feel. Its limits make the two kernels sum in one order: one block of rows, one
 * thread. */
void adzi_sum_rows(adz_tensor *y, const adz_tensor *g, int64_t n)
{
    const int64_t h = y->numel;
    if (n > 0 && n <= ADZI_SUM_ROWS_MOST && h > 0 && n * h <= ADZI_REDUCE_GRAIN) {
        adzi_sum_rows_args small = { .in = g->data, .out = y->data, .n = n, .h = h };
        adzi_launch(KERNEL_FOR(sum_rows, g->dtype), adzi_sum_rows_args, &small, h, h);
        return;
    }
    adzi_reduce_args args;
    rows_args(&args, g->data, n, h);
    args.out = y->data;
    if (h > 0) {
        sum_all((adz_dtype)g->dtype, &args, h);
    }
}

/* Columns are units, so the kernel adds rows one after the other to a vector of sums. */
void adzi_sum_rows_within(double *sums, const char *g, adz_dtype dtype, int64_t n, int64_t h)
{
    adzi_reduce_args args;
    rows_args(&args, g, n, h);
    args.partial = (char *)sums;
    args.n_kept = args.n_reduced = 1; /* selects the walk by columns, even for a single one */
    /* Calls the kernel directly, because a kernel must not launch another one. */
    KERNEL_FOR(sum, dtype)(&args, 0, h);
}

static void launch_sum(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const adzi_reduce_attr *at = block;
    adzi_sum_into(y[0], in[0], at->mask, 1);
}

const adzi_op adzi_op_sum = { .name = "sum",
    .backward = backward,
    ADZI_ATTRIBUTES(adzi_reduce_attr, adzi_reduce_fields),
    .shape_rule = adzi_sum_shape,
    .strided_inputs = 1u << 0,
    .dtypes = ADZI_DTYPES_COMPUTABLE };

adz_tensor *adz_sum(adz_tensor *x, adz_dims dims, bool keepdim)
{
    adzi_reduce_attr attr = { .keepdim = keepdim };
    return adzi_reduce_mask("sum", x, dims, &attr.mask) ? ADZI_RUN(sum, launch_sum, &attr, x)
                                                        : NULL;
}

adz_tensor *adzi_sum_to(adz_tensor *t, adz_shape shape)
{
    int extra = t->rank - shape.rank, dims[ADZ_MAX_RANK], n = 0;
    for (int i = 0; i < t->rank; ++i) {
        if (i < extra || (shape.sizes[i - extra] == 1 && t->sizes[i] != 1)) {
            dims[n++] = i;
        }
    }
    if (n > 0) {
        t = adz_sum(t, adz_dims_of(n, dims), ADZ_KEEPDIM);
    }
    return extra > 0 ? adz_reshape(t, shape) : t;
}
