#include "ops/recurrent/recurrent_run.h"

#include "ops/reduction/sum.h"
#include "tensor/gemm/gemm.h"

/* The computation of recurrent layers: few large products over all steps, and one launch per step.
 *
 *     gates = x w_ih^T + b_ih for all steps;   then step by step, h_t from gates_t and h_(t-1)
 *     dgates_t step by step, from the last;
 *     dx = dgates w_ih,  dw_ih = dgates^T x,  dw_hh = sum_t dgates_t^T h_(t-1),  db = sum of rows
 *
 * dgates[T, B, S H] has G blocks for the product of x. If S is G + 1, the product of h has the last
 * block instead of block G - 1. */

KERNEL_TABLE_FLOAT(recurrent_pack);
KERNEL_TABLE_FLOAT(recurrent_pack_rows);
KERNEL_TABLE_FLOAT(recurrent_at_ends);

enum { GRAIN = 1 << 17 }; /* grain of the launches, in multiply-adds */

int64_t adzi_recurrent_position(const adzi_recurrent_attr *at, int64_t s, int64_t *before)
{
    int64_t t = at->reverse ? at->t - 1 - s : s;
    *before = s == 0 ? -1 : at->reverse ? t + 1 : t - 1;
    return t;
}

bool adzi_recurrent_left_out(
    const adzi_recurrent_cell *cell, const adzi_recurrent_attr *at, int input)
{
    const int weight = input - 1 - cell->states;
    return (weight == BIAS_IH && !at->biased[0]) || (weight == BIAS_HH && !at->biased[1]) ||
           (weight == LENGTHS && !at->ragged);
}

/* The address of matrix t[at] of a contiguous t[T, ...]. */
static char *row(const adz_tensor *t, int64_t at)
{
    return t->data + at * (t->numel / t->sizes[0]) * (int64_t)adzi_item_size(t);
}

static adz_tensor *weight(const adzi_recurrent_run *v, int which)
{
    return v->in[1 + v->cell->states + which];
}

static const int64_t *lengths(const adzi_recurrent_run *v)
{
    return v->at->ragged ? (const int64_t *)(const void *)weight(v, LENGTHS)->data : NULL;
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* Columns of a panel, see Note [Products of one step]. */
static int64_t columns_of(adz_dtype dtype)
{
    return ADZI_RECURRENT_COLUMNS / (int64_t)adz_dtype_size(dtype);
}

static int64_t panels_of(const adzi_recurrent_attr *at, adz_dtype dtype)
{
    return (at->h + columns_of(dtype) - 1) / columns_of(dtype);
}

adz_tensor *adzi_recurrent_panels(
    const adzi_recurrent_cell *cell, const adzi_recurrent_attr *at, adz_dtype dtype)
{
    return adzi_scratch(cell->op->name, dtype, 3,
        (int64_t[]){ panels_of(at, dtype), cell->gates * at->h, columns_of(dtype) });
}

static void pack_weight(const adzi_recurrent_run *v, bool transposed)
{
    const adz_tensor *w = weight(v, WEIGHT_HH);
    const adz_dtype dtype = (adz_dtype)w->dtype;
    adzi_recurrent_pack_args args = { .from = w->data,
        .to = v->panels->data,
        .hidden = v->at->h,
        .gates = v->cell->gates,
        .transposed = transposed };
    adzi_launch(KERNEL_FOR(recurrent_pack, dtype), adzi_recurrent_pack_args, &args,
        panels_of(v->at, dtype),
        adzi_grain_of(GRAIN, v->cell->gates * v->at->h * ADZI_RECURRENT_COLUMNS));
}

/* The grain of one step's launch, in panels. */
static int64_t grain_of_step(const adzi_recurrent_run *v, int64_t panels)
{
    const int64_t work = v->cell->gates * v->at->h * v->at->h * v->at->b;
    return adzi_grain_of(GRAIN, panels > 0 ? work / panels : GRAIN);
}

static void launch_step(
    const adzi_recurrent_run *v, bool back, const adzi_recurrent_step_args *args)
{
    const adz_dtype dtype = (adz_dtype)v->y->dtype;
    const int64_t panels = panels_of(v->at, dtype);
    const adzi_kernel(*kernels)[2] = back ? v->cell->back : v->cell->forward;
    adzi_launch(kernels[adzi_cpu_level][dtype], adzi_recurrent_step_args, args, panels,
        grain_of_step(v, panels));
}

/* Arguments that all steps have in common. */
static adzi_recurrent_step_args step_args(const adzi_recurrent_run *v)
{
    return (adzi_recurrent_step_args){ .panels = v->panels->data,
        .initial = v->in[v->cell->states]->data,
        .rows = v->at->b,
        .hidden = v->at->h,
        .lengths = lengths(v),
        .reverse = v->at->reverse,
        .relu = v->at->relu };
}

/* The states before a step at position `before`, which the cell reads in addition to the product:
 * those of c, or of h if the last state is h. */
static const void *states_before(const adzi_recurrent_run *v, int64_t before)
{
    const adz_tensor *all = v->cell->states == 2 ? v->cells : v->y;
    return before < 0 ? v->in[v->cell->states]->data : row(all, before);
}

/* Copies the rows of from[T, B, width] at the last step of each sequence. */
static void copy_ends(const adzi_recurrent_run *v, const adz_tensor *from, const adz_tensor *to)
{
    const adzi_recurrent_ends_args args = { .from = from->data,
        .to = to->data,
        .lengths = lengths(v),
        .steps = v->at->t,
        .rows = v->at->b,
        .width = from->sizes[2] };
    adzi_launch(KERNEL_FOR(recurrent_at_ends, from->dtype), adzi_recurrent_ends_args, &args,
        v->at->b, adzi_grain_of(GRAIN, args.width));
}

/* ---- forward -------------------------------------------------------------------------------- */

/* The part of all gates that depends on x, in one product over all steps. */
static void input_product(const adzi_recurrent_run *v)
{
    const adzi_recurrent_attr *at = v->at;
    const adz_tensor *bias = weight(v, BIAS_IH);
    adzi_gemm_args args = { .dtype = (adz_dtype)v->y->dtype,
        .tb = true,
        .m = at->t * at->b,
        .n = v->cell->gates * at->h,
        .k = at->in,
        .alpha = 1,
        .a = v->in[X]->data,
        .lda = at->in > 0 ? at->in : 1,
        .b = weight(v, WEIGHT_IH)->data,
        .ldb = at->in > 0 ? at->in : 1,
        .c = v->gates->data,
        .ldc = at->h > 0 ? v->cell->saved * at->h : 1,
        .bias = adzi_is_none(bias) ? NULL : bias->data,
        .batch = 1 };
    adzi_gemm_run(&args);
}

/* One launch per step, which adds h_(t-1) w_hh^T to the gates and computes the cell. */
void adzi_recurrent_run_forward(adzi_recurrent_run *v, adz_tensor *const *results)
{
    const adzi_recurrent_attr *at = v->at;
    const adz_dtype dtype = (adz_dtype)v->y->dtype;
    const adz_tensor *bias = weight(v, BIAS_HH);
    adzi_recurrent_pack_rows_args rows = {
        .from = v->in[H0]->data, .to = v->packed[1]->data, .rows = at->b, .width = at->h
    };
    adzi_recurrent_step_args args = step_args(v);
    args.from = rows.to;
    args.bias = adzi_is_none(bias) ? NULL : bias->data;
    input_product(v);
    pack_weight(v, false);
    adzi_launch(KERNEL_FOR(recurrent_pack_rows, dtype), adzi_recurrent_pack_rows_args, &rows, 1, 1);
    for (int64_t s = 0, before; s < at->t; ++s) {
        args.t = adzi_recurrent_position(at, s, &before);
        args.gates = row(v->gates, args.t);
        args.before = states_before(v, before);
        args.c = v->cell->states == 2 ? row(v->cells, args.t) : NULL;
        args.h = row(v->y, args.t);
        args.to = v->packed[s % 2]->data;
        launch_step(v, false, &args);
        args.from = args.to;
    }
    for (int k = 1; k <= v->cell->states; ++k) {
        const adz_tensor *from = k == 1 ? v->y : v->cells;
        if (at->reverse) {
            const size_t bytes = (size_t)results[k]->numel * adzi_item_size(from);
            adzi_copy_bytes_to(results[k]->data, from->data, bytes);
        } else {
            copy_ends(v, from, results[k]);
        }
    }
}

/* ---- backward ------------------------------------------------------------------------------- */

/* Walks the steps from the last to the first, one launch each: dgates of the step, then dh and dc
 * of the state before it. One more launch computes dh of h0. */
static void run_backward_steps(const adzi_recurrent_run *v)
{
    adzi_recurrent_step_args args = step_args(v);
    args.dh = v->dh->data;
    args.dc = v->dc->data;
    pack_weight(v, true);
    for (int64_t s = v->at->t - 1, before; s >= 0; --s) {
        args.t = adzi_recurrent_position(v->at, s, &before);
        args.gates = row(v->gates, args.t);
        args.before = states_before(v, before);
        args.c = v->cell->states == 2 ? row(v->cells, args.t) : NULL;
        args.h = row(v->y, args.t);
        args.dy = adzi_is_none(v->dy) ? NULL : row(v->dy, args.t);
        args.dgates = row(v->dgates, args.t);
        args.to = v->packed[s % 2]->data;
        launch_step(v, true, &args);
        args.from = args.to;
    }
    args.dgates = NULL;
    launch_step(v, true, &args);
}

/* dw_hh of `blocks` blocks of H rows, from the blocks of dgates that begin at block `from`. h0 is
 * not in y, so the first steps of the sequences are a separate product. All other h_(t-1) are
 * neighbours in y and take one product, to which skipped steps add 0. */
static void weight_gradient(
    const adzi_recurrent_run *v, char *dweight, int64_t from, int64_t blocks)
{
    const adzi_recurrent_attr *at = v->at;
    const adz_dtype dtype = (adz_dtype)v->y->dtype;
    const int64_t h = at->h, wide = v->cell->saved * h, m = blocks * h;
    const int64_t skip = from * h * (int64_t)adzi_item_size(v->y);
    int64_t before;
    const char *firsts = adzi_is_none(v->firsts)
                             ? row(v->dgates, adzi_recurrent_position(at, 0, &before))
                             : v->firsts->data;
    adzi_gemm((adzi_gemm_size){ dtype, m, h, at->b }, (adzi_operand){ firsts + skip, wide, true },
        (adzi_operand){ v->in[H0]->data, h, false }, dweight, h);
    if (at->t > 1) {
        adzi_gemm_run(&(adzi_gemm_args){ .dtype = dtype,
            .ta = true,
            .m = m,
            .n = h,
            .k = (at->t - 1) * at->b,
            .alpha = 1,
            .a = row(v->dgates, at->reverse ? 0 : 1) + skip,
            .lda = wide,
            .b = row(v->y, at->reverse ? 1 : 0),
            .ldb = h,
            .beta = 1,
            .c = dweight,
            .ldc = h,
            .batch = 1 });
    }
}

/* db of one bias: its G blocks of the sums. The last block of the product of h may be another. */
static void bias_gradient(const adzi_recurrent_run *v, bool of_h, char *dbias)
{
    const int64_t gates = v->cell->gates, saved = v->cell->saved;
    const size_t block = (size_t)v->at->h * adzi_item_size(v->sums);
    adzi_copy_bytes_to(dbias, v->sums->data, (size_t)gates * block);
    if (of_h && saved > gates) {
        adzi_copy_bytes_to(dbias + (size_t)(gates - 1) * block,
            v->sums->data + (size_t)(saved - 1) * block, block);
    }
}

void adzi_recurrent_run_backward(adzi_recurrent_run *v, adz_tensor *const *dx)
{
    const adzi_recurrent_attr *at = v->at;
    const adz_dtype dtype = (adz_dtype)v->y->dtype;
    const int64_t n = at->t * at->b, in = at->in, gates = v->cell->gates, saved = v->cell->saved;
    const int64_t m = gates * at->h, wide = saved * at->h;
    adz_tensor *const *dw = dx + 1 + v->cell->states;
    run_backward_steps(v);
    if (dx[X] != NULL) {
        adzi_gemm((adzi_gemm_size){ dtype, n, in, m },
            (adzi_operand){ v->dgates->data, wide, false },
            (adzi_operand){ weight(v, WEIGHT_IH)->data, in, false }, dx[X]->data, in);
    }
    if (dw[WEIGHT_IH] != NULL) {
        adzi_gemm((adzi_gemm_size){ dtype, m, in, n },
            (adzi_operand){ v->dgates->data, wide, true },
            (adzi_operand){ v->in[X]->data, in, false }, dw[WEIGHT_IH]->data, in);
    }
    if (dw[WEIGHT_HH] != NULL && !adzi_is_none(v->firsts)) {
        copy_ends(v, v->dgates, v->firsts);
    }
    if (dw[WEIGHT_HH] != NULL && saved == gates) {
        weight_gradient(v, dw[WEIGHT_HH]->data, 0, gates);
    } else if (dw[WEIGHT_HH] != NULL) {
        char *last = dw[WEIGHT_HH]->data +
                     (gates - 1) * at->h * at->h * (int64_t)adzi_item_size(dw[WEIGHT_HH]);
        weight_gradient(v, dw[WEIGHT_HH]->data, 0, gates - 1);
        weight_gradient(v, last, saved - 1, 1);
    }
    if (dw[BIAS_IH] != NULL || dw[BIAS_HH] != NULL) {
        adzi_sum_rows(v->sums, v->dgates, n);
    }
    for (int i = BIAS_IH; i <= BIAS_HH; ++i) {
        if (dw[i] != NULL) {
            bias_gradient(v, i == BIAS_HH, dw[i]->data);
        }
    }
}
