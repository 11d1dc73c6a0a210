#include <string.h>

#include "ops/loss/class_target.h"
#include "ops/options.h"

/* The cross entropy of scores and a class or probabilities, torch.nn.functional.cross_entropy.
 *
 *     p     = softmax(x) over the classes
 *     q_c   = w_c * ((1 - e) * t_c + e / C),   e = label_smoothing
 *     l     = -sum_c q_c * log p_c             (per row)
 *     dx_c  = g * (sum_k q_k * p_c - q_c)
 *     dt_c  = -g * (1 - e) * w_c * log p_c     (probabilities only)
 *
 * x[N, C, ...] holds scores. A target i64 [N, ...] names the class of each row: t_c is 1 for this
 * class and 0 elsewhere. A floating-point target of the shape of x holds the probabilities t. w[C]
 * are optional class weights without a gradient. g is dy of the row, or dy times the factor of the
 * mean (class_target.c).
 *
 * The node saves x, the target, the weights and the numbers of class_target.h. It also saves the
 * logarithm of the sum of exponentials of each row (LSE): two f64 numbers, the largest score and
 * the logarithm of the rest. With it the backward computes p again, so p[R, C] takes no memory. */

/* The losses and LSE of rows, the gradient of x, and the gradient of a target of probabilities. */
KERNEL_TABLE_FLOAT(cross_entropy);
KERNEL_TABLE_FLOAT(cross_entropy_dx);
KERNEL_TABLE_FLOAT(cross_entropy_dt);

static const char name[] = "cross_entropy";

/* The extra values of a node: LSE is f64 [R, 2] for R rows, NUMBERS the tensor of
 * adzi_class_numbers_new. */
enum { LSE, NUMBERS, EXTRAS };
enum { GRAIN = 4096 }; /* exponentials worth a thread */

/* ---- backward ------------------------------------------------------------------------------ */

/* weight[C] as [C, 1, ...], which broadcasts to x[N, C, ...]. For x[C] it keeps its shape. ADZ_NONE
 * is returned as it is. */
static adz_tensor *along_classes(adz_tensor *weight, const adz_tensor *x)
{
    adz_shape shape = { .rank = x->rank - adzi_class_axis(x->rank) };
    if (adzi_is_none(weight)) {
        return weight;
    }
    for (int i = 0; i < shape.rank; ++i) {
        shape.sizes[i] = i == 0 ? weight->sizes[0] : 1;
    }
    return adz_reshape(weight, shape);
}

/* x as contiguous rows of C classes [R, C], which the kernels read. This is x itself if its
 * elements have this order in memory, as a contiguous x[N, C] has. Any other layout is copied. */
static adz_tensor *class_rows(adz_tensor *t)
{
    /* A header on the stack, with the axis of the classes last. */
    adz_tensor moved = *t;
    int axis = adzi_class_axis(t->rank);
    for (int i = axis; i + 1 < t->rank; ++i) {
        moved.sizes[i] = t->sizes[i + 1];
        moved.strides[i] = t->strides[i + 1];
    }
    moved.sizes[t->rank - 1] = t->sizes[axis];
    moved.strides[t->rank - 1] = t->strides[axis];
    if (adzi_is_contiguous(&moved)) {
        return t;
    }
    adz_tensor *copy = adzi_scratch_like(name, &moved);
    if (copy != NULL) {
        adzi_copy(copy, &moved);
    }
    return copy;
}

/* Memory for a gradient. The kernels write it as rows of classes [R, C]; the returned view has the
 * shape of x. So the gradient of x[N, C, L] lies in memory as [N, L, C], and no copy is made. */
static adz_tensor *gradient_rows(const adz_tensor *x, adz_tensor **rows)
{
    /* The permutation puts the last axis of the rows back to where x has its classes. */
    int axis = adzi_class_axis(x->rank), order[ADZ_MAX_RANK];
    int64_t sizes[ADZ_MAX_RANK];
    int rank = adzi_class_loss_sizes(x, sizes);
    sizes[rank] = x->sizes[axis];
    *rows = adzi_scratch(name, (adz_dtype)x->dtype, x->rank, sizes);
    for (int i = 0; i < x->rank; ++i) {
        order[i] = i < axis ? i : i == axis ? rank : i - 1;
    }
    return adz_permute(*rows, adz_dims_of(x->rank, order));
}

/* One launch per gradient, with rows as units. A row reads its scores and its LSE once, where the
 * expression makes several passes over [R, C]. dy_stride is 0 for a reduced loss, whose single
 * upstream number all rows read. The kernels multiply it by the scale in `numbers`, so the host
 * never reads that scale. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const adzi_class_attr *attr = adzi_attr(node, adzi_class_attr);
    adz_tensor *x = adzi_saved_input(node, 0), *target = adzi_saved_input(node, 1);
    adz_tensor *weight = attr->weighted ? adzi_saved_input(node, 2) : ADZ_NONE;
    adz_tensor *lse = adzi_saved_extra(node, LSE), *g = adzi_compact(name, dy[0]);
    adz_tensor *numbers = adzi_saved_extra(node, NUMBERS);
    if (x == NULL || target == NULL || weight == NULL || lse == NULL || numbers == NULL ||
        g == NULL) {
        return adzi_status(NULL);
    }
    /* Inputs that are not rows of classes are copied again; the copy of the forward was not
     * saved. */
    adz_tensor *xs = class_rows(x), *ws = adzi_compact(name, weight), *dx_rows, *dt_rows;
    adz_tensor *ts = attr->probabilities ? class_rows(target) : adzi_compact(name, target);
    if (xs == NULL || ws == NULL || ts == NULL) {
        return adzi_status(NULL);
    }
    int64_t c = x->sizes[adzi_class_axis(x->rank)];
    adzi_class_args args = { .x = xs->data,
        .target = attr->probabilities ? NULL : (const int64_t *)(const void *)ts->data,
        .probabilities = attr->probabilities ? ts->data : NULL,
        .weight = attr->weighted ? ws->data : NULL,
        .lse = (double *)(void *)lse->data,
        .dy = g->data,
        .dy_stride = attr->reduction == ADZ_REDUCE_NONE,
        .c = c,
        .ignore_index = attr->ignore_index,
        .smoothing = attr->smoothing,
        .numbers = adzi_class_numbers_in(numbers) };
    if (adzi_needs(node, 0)) {
        dx[0] = gradient_rows(x, &dx_rows);
        if (dx[0] == NULL) {
            return adzi_status(NULL);
        }
        args.dx = dx_rows->data;
        adzi_launch(KERNEL_FOR(cross_entropy_dx, x->dtype), adzi_class_args, &args, lse->numel / 2,
            adzi_grain_of(GRAIN, c));
    }
    if (adzi_needs(node, 1)) {
        dx[1] = gradient_rows(x, &dt_rows);
        if (dx[1] == NULL) {
            return adzi_status(NULL);
        }
        args.dt = dt_rows->data;
        adzi_launch(KERNEL_FOR(cross_entropy_dt, x->dtype), adzi_class_args, &args, lse->numel / 2,
            adzi_grain_of(GRAIN, c));
    }
    return ADZ_OK;
}

/* The forward as an expression. The mean over targets of probabilities counts the rows. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const adzi_class_attr *at = attr;
    adz_tensor *x = in[0], *t = in[1];
    const int axis = adzi_class_axis(x->rank);
    adz_tensor *logs = adz_log_softmax(x, axis);
    if (!at->probabilities) {
        const adz_status status = adzi_class_expression(y, logs, t, in[2], attr);
        if (status == ADZ_OK && at->reduction == ADZ_REDUCE_NONE) { /* 0 for a sure class, not -0 */
            y[0] = adz_add_number(y[0], 0);
        }
        return status == ADZ_OK ? adzi_status(y[0]) : status;
    }
    const double classes = (double)x->sizes[axis];
    if (at->smoothing > 0) {
        t = adz_add_number(adz_mul_number(t, 1 - at->smoothing), at->smoothing / classes);
    }
    adz_tensor *weight = along_classes(in[2], x);
    t = weight == ADZ_NONE ? t : adz_mul(t, weight);
    y[0] = adz_number_sub(0, adz_sum(adz_mul(t, logs), ADZ_DIMS(axis), ADZ_DROPDIM));
    if (at->reduction != ADZ_REDUCE_NONE) {
        y[0] = adz_sum(y[0], ADZ_ALL_DIMS, ADZ_DROPDIM);
    }
    if (at->reduction == ADZ_REDUCE_MEAN) {
        y[0] = adz_mul_number(y[0], classes / (double)x->numel);
    }
    return adzi_status(y[0]);
}

static const adz_field fields[] = { ADZI_CLASS_FIELDS,
    ADZI_FIELD_NAMED(adzi_class_attr, smoothing, "label_smoothing") };

/* ---- forward ------------------------------------------------------------------------------- */

static const adz_field options_rows[] = {
    ADZ_FIELD(adz_cross_entropy_options, ignore_index, .value = -100),
    ADZI_REDUCTION_ROW(adz_cross_entropy_options),
    ADZ_FIELD(adz_cross_entropy_options, label_smoothing, .value = 0, ADZ_CLOSED(0, 1)),
};

ADZ_OPTIONS_TABLE(adz_cross_entropy_options, ADZ_CROSS_ENTROPY_OPTIONS, options_rows)

/* Checks a target of probabilities and returns it as contiguous rows of classes. A floating-point
 * target means probabilities, as in PyTorch. No dtype is converted: x and the target must agree. */
static adz_tensor *probability_rows(adzi_call *call, adzi_class_attr *attr)
{
    const adz_tensor *x = call->in[0], *t = call->in[1];
    if (!adzi_same_sizes(x, t)) {
        return adzi_fail(name, ADZ_ERR_SHAPE,
            "target%s holds probabilities and must have the shape of x%s; class indices are int64",
            adzi_text_shape(t), adzi_text_shape(x));
    }
    if (t->dtype != x->dtype) {
        return adzi_fail(name, ADZ_ERR_DTYPE, "x is %s, target %s; convert one with adz_to",
            adz_dtype_name((adz_dtype)x->dtype), adz_dtype_name((adz_dtype)t->dtype));
    }
    /* Negative values such as the default -100 name no class and are accepted. */
    if (attr->ignore_index >= 0) {
        return adzi_fail(name, ADZ_ERR_ARGUMENT,
            "ignore_index %lld needs a target of class indices, not of probabilities",
            (long long)attr->ignore_index);
    }
    attr->probabilities = true;
    return class_rows(call->in[1]);
}

/* What a call gets. */
typedef struct {
    adzi_class_call c;
    adz_tensor *xs, *ws; /* x as contiguous rows of classes, and contiguous weights */
    adz_tensor *lse;
} call_args;

/* The dtype of the target decides what it means: integers name classes, and floating-point numbers
 * are probabilities. A launch looks for targets that are no class, because they depend on the
 * contents of a tensor. */
static bool check(adzi_call *call, void *block)
{
    adzi_class_call *c = block;
    if (!adzi_class_check(call, &c->at)) {
        return false;
    }
    const bool probable = adzi_is_float((adz_dtype)call->in[1]->dtype);
    c->rows = probable ? probability_rows(call, &c->at) : adzi_class_rows(call);
    c->numbers =
        c->rows != NULL ? adzi_class_numbers_new(call, probable ? NULL : c->rows, &c->at) : NULL;
    return c->numbers != NULL;
}

/* The copies that the kernels read are made before the recording, because memory may be refused.
 * LSE is computed in every call, recorded or not, because the losses are computed from it. The
 * inputs are saved, and not their contiguous copies, so that nothing is held twice. */
static bool prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    call_args *a = block;
    if (!adzi_class_losses(call, y[0], &a->c)) {
        return false;
    }
    a->xs = class_rows(in[0]);
    a->ws = adzi_compact(name, in[2]);
    a->lse = adzi_scratch(name, ADZ_F64, 2, (int64_t[]){ a->c.losses->numel, 2 });
    y[1 + LSE] = a->lse;
    y[1 + NUMBERS] = a->c.numbers;
    return a->xs != NULL && a->ws != NULL && a->lse != NULL;
}

/* One launch for the losses, with rows as units, and one for the reduction. */
static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const call_args *a = block;
    const adzi_class_call *c = &a->c;
    const int64_t classes = in[0]->sizes[adzi_class_axis(in[0]->rank)];
    const adzi_class_args args = { .x = a->xs->data,
        .target = c->at.probabilities ? NULL : (const int64_t *)(const void *)c->rows->data,
        .probabilities = c->at.probabilities ? c->rows->data : NULL,
        .weight = c->at.weighted ? a->ws->data : NULL,
        .losses = c->losses->data,
        .lse = (double *)(void *)a->lse->data,
        .c = classes,
        .ignore_index = c->at.ignore_index,
        .smoothing = c->at.smoothing };
    adzi_launch(KERNEL_FOR(cross_entropy, y[0]->dtype), adzi_class_args, &args, c->losses->numel,
        adzi_grain_of(GRAIN, classes));
    adzi_class_reduce(y[0], c);
}

const adzi_op adzi_op_cross_entropy = { .name = name,
    .fused = fused,
    ADZI_ATTRIBUTES(adzi_class_attr, fields),
    .expression = expression,
    .shape_rule = adzi_class_shape,
    .optional_inputs = ADZI_OPTIONAL(2),
    .strided_inputs = 1u << 0 | 1u << 1 | 1u << 2,
    .saved_inputs = 1u << 0 | 1u << 1 | 1u << 2 };

adz_tensor *adz_cross_entropy(
    adz_tensor *x, adz_tensor *target, adz_tensor *weight, const adz_cross_entropy_options *options)
{
    static const adzi_steps steps = {
        .check = check, .prepare = prepare, .launch = launch, .n_kept = EXTRAS
    };
    adz_cross_entropy_options o;
    if (!ADZI_OPTIONS_TAKE(
            name, adz_cross_entropy_options, ADZ_CROSS_ENTROPY_OPTIONS, &o, options)) {
        return NULL;
    }
    call_args a;
    a.c.at = (adzi_class_attr){
        .reduction = o.reduction, .ignore_index = o.ignore_index, .smoothing = o.label_smoothing
    };
    return ADZI_RUN_STEPS(&adzi_op_cross_entropy, steps, &a, x, target, weight);
}
