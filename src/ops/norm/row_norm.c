#include "ops/norm/row_norm.h"

#include <string.h>

#include "ops/op.h"

/* What layer_norm and rms_norm share: the calls and the fused backward. Each states its own
 * mathematics. Rows of x[N, D] are centred, which is what layer_norm does, or only scaled.
 *
 * D is the product of the normalized shape, with which x ends, and N the product of the dimensions
 * before it. Weight and bias have the normalized shape and may be ADZ_NONE. The node saves x, the
 * weight, and mean and rstd of each row in f64. So the fused backward needs no second pass for the
 * statistics. The expression computes them again from x, because a second derivative goes through
 * them. First gradients take the fused backward; gradients with a graph, and traces, take the
 * derivative of the expression. */

/* `row_norm` computes y and the statistics, `dx` the gradient of x, and `params` those of weight
 * and bias. */
KERNEL_TABLE_FLOAT(row_norm);
KERNEL_TABLE_FLOAT(row_norm_dx);
KERNEL_TABLE_FLOAT(row_norm_params);

enum { GRAIN = 8192 }; /* elements worth a thread */
/* What a node keeps besides its inputs: the statistics, and the bias if y may be computed again. */
enum { STATS, BIAS, KEPT };
enum { EPS = 2 }; /* its row in the table of attributes */

/* The weight, ADZ_NONE if the call had none, or NULL if it has changed since the forward. */
static adz_tensor *saved_weight(adzi_node *node)
{
    return adzi_attr(node, adzi_row_norm_attr)->weighted ? adzi_saved_input(node, 1) : ADZ_NONE;
}

/* dweight and dbias in one launch. Units are columns, so a column is summed by one thread in the
 * order of the rows. */
static adz_status fused_params(
    adzi_node *node, adz_tensor **dx, adzi_row_norm_args *args, adz_dtype dtype)
{
    const adzi_row_norm_attr *at = adzi_attr(node, adzi_row_norm_attr);
    /* The gradients have the normalized shape, whose elements are the D columns. */
    for (int i = 1; i < (at->centred ? 3 : 2); ++i) {
        if (adzi_needs(node, i)) {
            dx[i] = adzi_scratch_gradient(node, i, dtype, at->rank, at->normalized_shape);
            if (dx[i] == NULL) {
                return adzi_status(NULL);
            }
        }
    }
    /* A NULL tells the kernel that this gradient is not wanted. */
    args->dw = dx[1] != NULL ? dx[1]->data : NULL;
    args->db = at->centred && dx[2] != NULL ? dx[2]->data : NULL;
    if (args->dw != NULL || args->db != NULL) {
        adzi_launch(KERNEL_FOR(row_norm_params, dtype), adzi_row_norm_args, args, at->d,
            adzi_grain_of(GRAIN, at->n));
    }
    return ADZ_OK;
}

/* y of a node with a large y. The bias is a copy that the node has made, because gradients do not
 * read it: a program may write to the bias before the backward. */
static adz_tensor *recompute(adzi_node *node)
{
    const adzi_row_norm_attr *at = adzi_attr(node, adzi_row_norm_attr);
    adz_tensor *bias = node->extras[BIAS].saved != NULL ? adzi_saved_extra(node, BIAS) : ADZ_NONE;
    adz_tensor *in[] = { adzi_saved_input(node, 0), saved_weight(node), bias };
    return adzi_row_norm(node->op, in, adz_shape_of(at->rank, at->normalized_shape), at->eps);
}

/* One launch for the parameters, and one for dx with rows as units. Both read the saved mean and
 * rstd. dx comes last, because it may be written over dy. */
adz_status adzi_row_norm_fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const char *op = node->op->name;
    const adzi_row_norm_attr *at = adzi_attr(node, adzi_row_norm_attr);
    adz_tensor *x = adzi_saved_input(node, 0), *w = saved_weight(node);
    adz_tensor *stats = adzi_saved_extra(node, STATS), *g = adzi_compact(op, dy[0]);
    if (x == NULL || w == NULL || stats == NULL || g == NULL) {
        return adzi_status(NULL);
    }
    /* The saved tensors may be views; the kernels read contiguous [N, D]. */
    x = adzi_compact(op, x);
    w = adzi_compact(op, w);
    if (x == NULL || w == NULL) {
        return adzi_status(NULL);
    }
    adz_dtype dtype = (adz_dtype)x->dtype;
    adzi_row_norm_args args = { .x = x->data,
        .dy = g->data,
        .weight = adzi_is_none(w) ? NULL : w->data,
        .stats = (double *)(void *)stats->data,
        .n = at->n,
        .d = at->d,
        .centred = at->centred };
    const adz_status status = fused_params(node, dx, &args, dtype);
    if (status != ADZ_OK || !adzi_needs(node, 0)) {
        return status;
    }
    dx[0] = adzi_scratch_over(op, g, x);
    if (dx[0] == NULL) {
        return adzi_status(NULL);
    }
    args.out = dx[0]->data;
    adzi_launch(KERNEL_FOR(row_norm_dx, dtype), adzi_row_norm_args, &args, at->n,
        adzi_grain_of(GRAIN, at->d));
    return ADZ_OK;
}

adz_dims adzi_row_norm_dims(const adz_tensor *x, const adzi_row_norm_attr *at)
{
    adz_dims dims = { .count = 0 };
    for (int i = x->rank - at->rank; i < x->rank; ++i) {
        dims.dims[dims.count++] = i;
    }
    return dims;
}

const adz_field adzi_row_norm_fields[7] = { ADZI_FIELD_LIST(
                                                adzi_row_norm_attr, rank, normalized_shape),
    ADZ_FIELD(adzi_row_norm_attr, eps, ADZ_AT_LEAST(0)), ADZI_FIELD_HIDDEN(adzi_row_norm_attr, n),
    ADZI_FIELD_HIDDEN(adzi_row_norm_attr, d), ADZI_FIELD_HIDDEN(adzi_row_norm_attr, weighted),
    ADZI_FIELD_HIDDEN(adzi_row_norm_attr, centred) };

/* Checks that weight or bias has the normalized shape and the dtype of x. */
static bool fits(const adzi_call *call, int i, const adzi_row_norm_attr *at)
{
    const char *op = call->op->name, *name = i == 1 ? "weight" : "bias";
    const adz_tensor *x = call->in[0], *t = call->in[i];
    bool same = adzi_is_none(t) || t->rank == at->rank;
    for (int k = 0; k < at->rank && same && !adzi_is_none(t); ++k) {
        same = t->sizes[k] == at->normalized_shape[k];
    }
    if (!same) {
        adzi_error(op, ADZ_ERR_SHAPE, "%s%s must have the normalized shape %s", name,
            adzi_text_shape(t), adzi_text_sizes(at->rank, at->normalized_shape));
    } else if (!adzi_is_none(t) && t->dtype != x->dtype) {
        adzi_error(op, ADZ_ERR_DTYPE, "x is %s, %s %s; convert one with adz_to",
            adz_dtype_name((adz_dtype)x->dtype), name, adz_dtype_name((adz_dtype)t->dtype));
        same = false;
    }
    return same;
}

/* Checks that x ends in the normalized shape, and the optional parameters against it. Counts the
 * rows and their elements, so that the backward need not work them out again. */
static bool check(adzi_call *call, void *block)
{
    adzi_row_norm_attr *at = block;
    const char *op = call->op->name;
    const adz_tensor *x = call->in[0];
    bool ends = at->rank >= 1 && at->rank <= x->rank;
    const int batch_rank = ends ? x->rank - at->rank : 0;
    for (int i = 0; i < x->rank && ends; ++i) {
        ends = i < batch_rank || x->sizes[i] == at->normalized_shape[i - batch_rank];
        *(i < batch_rank ? &at->n : &at->d) *= x->sizes[i];
    }
    if (!ends) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "x%s does not end in the normalized shape %s, which has one dimension or more",
            adzi_text_shape(x), adzi_text_sizes(at->rank, at->normalized_shape));
        return false;
    }
    at->weighted = !adzi_is_none(call->in[1]);
    return adzi_field_takes(op, &adzi_row_norm_fields[EPS], at->eps) && fits(call, 1, at) &&
           (!at->centred || fits(call, 2, at));
}

/* Makes what the node of a recorded call keeps besides its inputs: the statistics, and a copy of
 * the bias if y is large. A call off the tape needs neither. */
static bool prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    const adzi_row_norm_attr *at = block;
    const char *op = call->op->name;
    (void)in;
    y[1 + STATS] = y[1 + BIAS] = NULL;
    if (!call->record) {
        return true;
    }
    y[1 + STATS] = adzi_scratch(op, ADZ_F64, 2, (int64_t[]){ at->n, 2 });
    const bool copies =
        at->centred && !adzi_is_none(call->in[2]) && adzi_is_worth_recomputing(y[0]);
    y[1 + BIAS] = copies ? adzi_compact_copy(op, call->in[2]) : NULL;
    return y[1 + STATS] != NULL && (!copies || y[1 + BIAS] != NULL);
}

static void save(adzi_call *call, adz_tensor *const *y, const void *block)
{
    (void)block;
    adzi_save_input(call, 0);
    adzi_save_input(call, 1);
    if (adzi_is_worth_recomputing(y[0])) {
        adzi_offer_recompute(call, recompute);
    }
}

static const void *elements(const adz_tensor *t)
{
    return adzi_is_none(t) ? NULL : t->data;
}

/* Units of the launch are rows. */
static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const adzi_row_norm_attr *at = block;
    const adzi_row_norm_args args = { .x = in[0]->data,
        .weight = elements(in[1]),
        .bias = at->centred ? elements(in[2]) : NULL,
        .out = y[0]->data,
        .stats = y[1 + STATS] != NULL ? (double *)(void *)y[1 + STATS]->data : NULL,
        .n = at->n,
        .d = at->d,
        .eps = at->eps,
        .centred = at->centred };
    adzi_launch(KERNEL_FOR(row_norm, y[0]->dtype), adzi_row_norm_args, &args, at->n,
        adzi_grain_of(GRAIN, at->d));
}

adz_tensor *adzi_row_norm(const adzi_op *op, adz_tensor **in, adz_shape normalized, double eps)
{
    adzi_row_norm_attr attr = {
        .n = 1, .d = 1, .eps = eps, .rank = normalized.rank, .centred = op->n_inputs == 3
    };
    memcpy(attr.normalized_shape, normalized.sizes, sizeof attr.normalized_shape);
    return adzi_run_plain(&(const adzi_plain){ .op = op,
        .steps = { .check = check,
            .prepare = prepare,
            .save = save,
            .launch = launch,
            .n_kept = KEPT },
        .attr = &attr,
        .in = in,
        .n_in = (int)op->n_inputs,
        .names = "x, weight, bias" });
}
