#include "ops/conv/conv_run.h"

#include "base/alloc.h"

/* Launches of convolutions; the kernels are in conv.kernel.c and conv_depthwise.kernel.c. */

KERNEL_TABLE_PRODUCT(conv);
KERNEL_TABLE_PRODUCT(conv_weight);
KERNEL_TABLE_PRODUCT(conv_sum);
KERNEL_TABLE_PRODUCT(conv_pack);
KERNEL_TABLE_PRODUCT(conv_depthwise);
KERNEL_TABLE_PRODUCT(conv_depthwise_weight);

enum {
    WORK_PER_THREAD = 1 << 18, /* multiply-adds worth a thread */
    WEIGHT_TASKS = 16,         /* tasks that the gradient of a weight should have */
    DEPTHWISE_MAPS = 4,        /* the most maps per group of the direct kernels */
    COPY_GRAIN = 1 << 15       /* elements that are worth a thread when they are copied or added */
};

/* Depth, height and width from n values; `alone` stands for those in front that are missing. */
static void axes_of(const int64_t *values, int n, int64_t alone, int64_t axes[ADZI_CONV_AXES])
{
    for (int d = 0; d < ADZI_CONV_AXES; ++d) {
        const int k = d - (ADZI_CONV_AXES - n);
        axes[d] = k < 0 ? alone : values[k];
    }
}

/* The sizes of an image, or of a kernel: the last n of a tensor. */
static void image_of(const adz_tensor *t, int n, int64_t sizes[ADZI_CONV_AXES])
{
    axes_of(t->sizes + t->rank - n, n, 1, sizes);
}

/* The geometry of a call that reads images like `source` and makes images like `result`. `rows` is
 * the first size of the weight, which belongs to the small image. */
static adzi_conv_args geometry_of(const adzi_conv *at, bool transposed, const adz_tensor *source,
    const adz_tensor *result, const adz_tensor *weight)
{
    const int64_t rows = weight->sizes[0] / at->groups, columns = weight->sizes[1];
    adzi_conv_args g = { .batch = source->rank == at->n + 2 ? source->sizes[0] : 1,
        .groups = at->groups,
        .channels = transposed ? rows : columns,
        .maps = transposed ? columns : rows,
        .transposed = transposed };
    image_of(source, at->n, g.source);
    image_of(result, at->n, g.result);
    image_of(weight, at->n, g.kernel);
    axes_of(at->stride, at->n, 1, g.stride);
    axes_of(at->dilation, at->n, 1, g.dilation);
    axes_of(at->padding, at->n, 0, g.pad);
    return g;
}

/* Turns images of one column into signals, if the kernel has one column, too. The positions of a
 * block lie in one row then, which is copied by vectors. Neither the order of positions nor that of
 * taps changes. */
static void lay_down(adzi_conv_args *g)
{
    int64_t *const all[] = { g->source, g->result, g->kernel, g->stride, g->dilation, g->pad };
    if (g->source[2] != 1 || g->result[2] != 1 || g->kernel[2] != 1 || g->pad[2] != 0) {
        return;
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        const int64_t high = all[i][1];
        all[i][1] = all[i][2];
        all[i][2] = high;
    }
}

/* The number of workers: one per thread and task at most, each with enough to do. */
static int64_t workers_of(double work, int64_t tasks)
{
    int64_t most = adzi_inside_launch() ? 1 : adzi_num_threads();
    most = most < tasks ? most : tasks;
    most = work / WORK_PER_THREAD < (double)most ? (int64_t)(work / WORK_PER_THREAD) : most;
    return most < 1 ? 1 : most;
}

/* Multiply-adds of a call. In f64, because the product of the sizes may exceed 64 bits. */
static double work_of(const adzi_conv_args *g)
{
    const int64_t *image = g->transposed ? g->source : g->result;
    return (double)g->batch * (double)(g->groups * g->maps * g->channels) *
           (double)adzi_conv_volume(g->kernel) * (double)image[0] * (double)image[1] *
           (double)image[2];
}

/* Allocates `each` elements of scratch memory for every worker, and `more` elements in front. */
static bool take_scratch(adzi_conv_job *job, const char *op, int64_t each, int64_t more)
{
    adzi_conv_args *g = &job->args.conv;
    const int64_t size = (int64_t)adz_dtype_size(job->dtype);
    const int64_t front = (more * size + ADZI_ALIGNMENT - 1) / ADZI_ALIGNMENT * ADZI_ALIGNMENT;
    g->scratch_size = each * size;
    job->bytes = (size_t)(front + g->scratch_size * g->workers);
    if (job->bytes == 0) {
        return true;
    }
    job->block = adzi_alloc_for_kernels(job->bytes);
    if (job->block == NULL) {
        adzi_fail_memory(op, job->bytes);
        return false;
    }
    g->scratch = g->workers > 0 ? job->block + front : NULL;
    return true;
}

/* The direct kernels know no depth. */
static bool is_depthwise(const adzi_conv_args *g, int n)
{
    return n < ADZI_CONV_AXES && g->channels == 1 && g->maps <= DEPTHWISE_MAPS;
}

bool adzi_conv_prepare(adzi_conv_job *job, const adzi_conv *at, bool transposed,
    adz_tensor *const *in, const adz_tensor *y)
{
    const adz_tensor *x = in[ADZI_CONV_X], *weight = in[ADZI_CONV_WEIGHT];
    const adz_tensor *bias = in[ADZI_CONV_BIAS];
    *job = (adzi_conv_job){ .dtype = (adz_dtype)y->dtype, .empty = y->numel == 0 };
    adzi_conv_args *g = &job->args.conv;
    if (job->empty) {
        return true;
    }
    *g = geometry_of(at, transposed, x, y, weight);
    lay_down(g);
    g->x = x->data;
    g->weight = weight->data;
    g->bias = adzi_is_none(bias) ? NULL : bias->data;
    g->y = y->data;
    job->weight = weight->data;
    job->depthwise = is_depthwise(g, at->n);
    adzi_conv_phase last = adzi_conv_phase_first(g);
    while (adzi_conv_phase_next(g, &last)) {
    }
    g->blocks = last.block;
    g->chunks = adzi_conv_blocks(g->maps, ADZI_CONV_MAPS);
    g->tasks = g->groups * g->chunks * g->blocks;
    g->workers = job->depthwise ? 0 : workers_of(work_of(g), g->tasks);
    const int64_t room = (ADZI_CONV_DEPTH + ADZI_CONV_MAPS) * ADZI_CONV_BLOCK;
    return take_scratch(
        job, adzi_conv_op(transposed, at->n)->name, room, transposed ? weight->numel : 0);
}

/* How many depthwise results are worth a thread. A tap costs more than in a product. */
static int64_t grain_of_depthwise(const adzi_conv_args *g)
{
    const double images = (double)(g->batch * g->groups * g->maps);
    return adzi_grain_of(WORK_PER_THREAD, (work_of(g) + 1) / images * 8);
}

void adzi_conv_run(const adzi_conv_job *job)
{
    const adzi_conv_args *g = &job->args.conv;
    adzi_conv_args packed;
    if (job->empty) {
        return;
    }
    if (g->transposed) {
        const adzi_conv_pack_args pack = { *g, job->weight, job->block };
        adzi_launch(KERNEL_FOR(conv_pack, job->dtype), adzi_conv_pack_args, &pack,
            g->groups * g->maps,
            adzi_grain_of(COPY_GRAIN, g->channels * adzi_conv_volume(g->kernel)));
        packed = *g;
        packed.weight = job->block;
        g = &packed;
    }
    if (job->depthwise) {
        adzi_launch(KERNEL_FOR(conv_depthwise, job->dtype), adzi_conv_args, g,
            g->batch * g->groups * g->maps, grain_of_depthwise(g));
    } else {
        adzi_launch(KERNEL_FOR(conv, job->dtype), adzi_conv_args, g, g->workers, 1);
    }
}

/* How many partial sums a gradient of the weight has: enough for WEIGHT_TASKS tasks. The number
 * depends on the shapes alone, because the sums are rounded one by one. */
static int64_t parts_of(const adzi_conv_args *g, int64_t ranges)
{
    const int64_t tasks = g->groups * g->chunks * ranges;
    const int64_t parts = adzi_conv_blocks(WEIGHT_TASKS, tasks < 1 ? 1 : tasks);
    return g->blocks < parts ? (g->blocks < 1 ? 1 : g->blocks) : parts;
}

bool adzi_conv_prepare_weight(adzi_conv_job *job, const adzi_conv *at, const adz_tensor *big,
    const adz_tensor *small, const adz_tensor *dw)
{
    *job = (adzi_conv_job){ .dtype = (adz_dtype)dw->dtype, .empty = dw->numel == 0 };
    adzi_conv_args *g = &job->args.conv;
    if (job->empty) {
        return true;
    }
    *g = geometry_of(at, false, big, small, dw);
    g->x = big->data;
    g->y = small->data;
    job->dw = job->args.dw = dw->data;
    job->depthwise = is_depthwise(g, at->n);
    job->args.parts = 1;
    if (job->depthwise) {
        return true; /* whose sums of a row would have another order in a signal */
    }
    lay_down(g);
    const int64_t taps = adzi_conv_volume(g->kernel);
    g->blocks = adzi_conv_blocks(g->batch * adzi_conv_volume(g->result), ADZI_CONV_BLOCK);
    g->chunks = adzi_conv_blocks(g->maps, ADZI_CONV_MAPS);
    job->args.depth_chunks = adzi_conv_ranges(g->channels, taps);
    job->args.parts = parts_of(g, job->args.depth_chunks);
    g->tasks = g->groups * g->chunks * job->args.depth_chunks * job->args.parts;
    g->workers = workers_of(work_of(g), g->tasks);
    const int64_t room =
        (ADZI_CONV_DEPTH + ADZI_CONV_MAPS) * ADZI_CONV_BLOCK + ADZI_CONV_DEPTH * ADZI_CONV_MAPS;
    const bool alone = job->args.parts == 1;
    if (!take_scratch(job, "conv_weight", room, alone ? 0 : job->args.parts * dw->numel)) {
        return false;
    }
    job->args.dw = alone ? job->dw : job->block;
    return true;
}

void adzi_conv_run_weight(const adzi_conv_job *job)
{
    const adzi_conv_weight_args *args = &job->args;
    const adzi_conv_args *g = &args->conv;
    if (job->empty) {
        return;
    }
    if (job->depthwise) {
        const double each = (work_of(g) + 1) / (double)(g->groups * g->maps) * 8;
        adzi_launch(KERNEL_FOR(conv_depthwise_weight, job->dtype), adzi_conv_weight_args, args,
            g->groups * g->maps, each < WORK_PER_THREAD ? (int64_t)(WORK_PER_THREAD / each) : 1);
        return;
    }
    adzi_launch(KERNEL_FOR(conv_weight, job->dtype), adzi_conv_weight_args, args, g->workers, 1);
    if (args->parts > 1) {
        const adzi_conv_sum_args sum = { args->dw, job->dw,
            g->groups * g->maps * g->channels * adzi_conv_volume(g->kernel), args->parts };
        adzi_launch(KERNEL_FOR(conv_sum, job->dtype), adzi_conv_sum_args, &sum, sum.n,
            COPY_GRAIN / WEIGHT_TASKS);
    }
}

void adzi_conv_end(adzi_conv_job *job)
{
    if (job->block != NULL) {
        adzi_free(job->block, job->bytes);
        job->block = NULL;
    }
}
