/* Moves running statistics by batches whose statistics batch_norm has handed out.
 *
 *     running_mean_c = (1 - m) running_mean_c + m mean_c
 *     running_var_c  = (1 - m) running_var_c + m var_c
 *
 * c is one of C channels, m the momentum, and var_c the unbiased variance of the batch. The batches
 * come in order, as ordinary calls would, so the running statistics get the bits of ordinary calls
 * (Note [Handing statistics out] in batch_norm.h). Nothing is on the tape. */
#include "ops/norm/running.h"

#include <math.h>

#include "ops/op.h"
#include "ops/norm/batch_norm.h"
#include "base/threads/parallel.h"

enum { GRAIN = 1024 }; /* channels worth a thread */

/* Arguments of move_all and count_all. */
typedef struct {
    adzi_running mean, var;
    int64_t *count;
    const double *batches; /* [n][stride] */
    size_t stride;
    int64_t n, channels;
    double momentum; /* negative: 1 / (count + 1) at each batch */
} move_args;

ADZI_ADDRESSES(move_args, mean.data, var.data, count, batches);

/* The numbers of batch k; NULL if the batch norm was not called with it. */
static const double *batch_at(const move_args *m, int64_t k)
{
    const double *batch = m->batches + (size_t)k * m->stride;
    return isnan(batch[0]) ? NULL : batch;
}

/* Moves the running statistics by one batch after the other. An empty batch moves nothing, but
 * counts. Units are channels: the batches of a channel depend on each other, other channels do not.
 * The count is only read here, because several threads may run this kernel. */
static void move_all(const void *block, int64_t begin, int64_t end)
{
    const move_args *m = block;
    int64_t count = *m->count;
    for (int64_t k = 0; k < m->n; ++k) {
        const double *batch = batch_at(m, k);
        if (batch == NULL) {
            continue;
        }
        ++count;
        const double momentum = m->momentum < 0 ? 1 / (double)count : m->momentum;
        for (int64_t i = begin; i < end && batch[0] > 0; ++i) {
            adzi_running_move(&m->mean, i, batch[1 + i], momentum);
            adzi_running_move(&m->var, i, batch[1 + m->channels + i], momentum);
        }
    }
}

/* Adds the batches to the count. It is a launch of its own after move_all, which reads the earlier
 * count. One unit. */
static void count_all(const void *block, int64_t begin, int64_t end)
{
    const move_args *m = block;
    for (int64_t k = 0; k < m->n && begin < end; ++k) {
        *m->count += batch_at(m, k) != NULL;
    }
}

/* Two launches over running statistics of any stride. The versions of the three tensors rise,
 * because they were written in place. */
void adzi_batch_norm_move(adz_tensor *running_mean, adz_tensor *running_var, adz_tensor *count,
    double momentum, adzi_handed_out batches)
{
    const move_args args = { adzi_running_of(running_mean), adzi_running_of(running_var),
        (int64_t *)(void *)count->data, batches.first, batches.stride, batches.n,
        running_mean->numel, momentum };
    adzi_capture_changes(running_mean);
    adzi_capture_changes(running_var);
    adzi_capture_changes(count);
    adzi_launch(move_all, move_args, &args, args.channels, GRAIN);
    adzi_launch(count_all, move_args, &args, 1, 1);
    adzi_written(running_mean, "batch_norm");
    adzi_written(running_var, "batch_norm");
    adzi_written(count, "batch_norm");
}

/* ---- in the trace of a training step -------------------------------------------------------- */

/* running = (1 - momentum) running + momentum batch, by recorded operators. */
static bool move_traced(adz_tensor *running, adz_tensor *batch, double momentum)
{
    adz_tensor *part = adz_mul_number(adz_to(batch, (adz_dtype)running->dtype), momentum);
    adz_tensor *moved = adz_add(adz_mul_number(running, 1 - momentum), part);
    return moved != NULL && adz_copy_(running, moved) != NULL;
}

adz_tensor *adzi_batch_norm_traced(const adzi_batch_norm_inputs *in, double momentum, double eps)
{
    static const char op[] = "batch_norm";
    adz_tensor *x = in->x, *running_mean = in->running_mean, *running_var = in->running_var;
    if (!adzi_check_tensor(op, "running_mean", running_mean) ||
        !adzi_check_tensor(op, "running_var", running_var)) {
        return NULL;
    }
    adz_tensor *y =
        adz_batch_norm(x, ADZ_NONE, ADZ_NONE, in->weight, in->bias, true, momentum, eps);
    adz_dims dims = { .count = 0 };
    for (int d = 0; y != NULL && d < x->rank; ++d) {
        if (d != 1) {
            dims.dims[dims.count++] = d;
        }
    }
    if (y == NULL || x->numel == 0) {
        return y;
    }
    adzi_thread *thread = adzi_self();
    const bool records = thread->grad_enabled;
    if (thread->tracer->moves_statistics != NULL) {
        thread->tracer->moves_statistics(thread->tracer);
    }
    thread->grad_enabled = false;
    const bool moved = move_traced(running_mean, adz_mean(x, dims, ADZ_DROPDIM), momentum) &&
                       move_traced(running_var, adz_var(x, dims, 1, ADZ_DROPDIM), momentum);
    thread->grad_enabled = records;
    return moved ? y : NULL;
}
