/* The losses of the table. */
#include <math.h>

#include "ops/options.h"
#include "ops/loss/pair_loss.h"
#include "ops/loss/probability_check.h"

/* ---- parts of gradients and expressions ------------------------------------------------------ */

/* max(log x, -100). Where the bound is used, x is replaced by 1 before the logarithm. Otherwise the
 * infinite derivative at 0 would be multiplied by 0 in a second derivative. */
static adz_tensor *bounded_log(adz_tensor *x)
{
    adz_tensor *low = adz_lt_number(adz_log(adz_detach(x)), -100);
    return adz_masked_fill(adz_log(adz_masked_fill(x, low, 1)), low, -100);
}

/* max(log(1 - x), -100), with the digits that 1 - x loses for a small x. */
static adz_tensor *bounded_log_of_rest(adz_tensor *x)
{
    adz_tensor *low = adz_lt_number(adz_log1p(adz_neg(adz_detach(x))), -100);
    return adz_masked_fill(adz_log1p(adz_neg(adz_masked_fill(x, low, 0))), low, -100);
}

/* The sum of max(x, 0) and -t x in one product, which an infinite x does not make NaN, and the
 * logarithm. */
static adz_tensor *loss_of_logits(adz_tensor *x, adz_tensor *t)
{
    adz_tensor *rest = adz_log1p(adz_exp(adz_neg(adz_abs(x))));
    adz_tensor *slope =
        adz_where(adz_gt_number(x, 0), adz_mul(adz_number_sub(1, t), x), adz_neg(adz_mul(t, x)));
    return adz_add(rest, slope);
}

/* d where |d| < bound, else the constant -bound or bound; NaN stays NaN. Comparisons and not a
 * clamp, so that the constant parts have derivative 0 at the bound itself. */
static adz_tensor *held(adz_tensor *d, double bound)
{
    adz_tensor *above = adz_ge_number(d, bound), *below = adz_le_number(d, -bound);
    return adz_masked_fill(adz_masked_fill(d, above, bound), below, -bound);
}

static adz_tensor *huber_of(adz_tensor *d, double delta)
{
    adz_tensor *size = adz_abs(d);
    adz_tensor *line = adz_mul_number(adz_add_number(size, -delta / 2), delta);
    adz_tensor *curve = adz_mul_number(adz_mul(d, d), 0.5);
    return adz_where(adz_lt_number(size, delta), curve, line);
}

static adz_tensor *smooth_l1_of(adz_tensor *d, double beta)
{
    adz_tensor *size = adz_abs(d);
    adz_tensor *curve = adz_mul_number(adz_mul(d, d), 0.5 / beta);
    adz_tensor *line = adz_add_number(size, -beta / 2);
    return adz_where(adz_lt_number(size, beta), curve, line);
}

/* dy times the factor of the reduction. The number of elements is part of the scale, so no shape is
 * needed here. */
static adz_tensor *upstream(adzi_node *node, adz_tensor *dy)
{
    const double scale = adzi_attr(node, adzi_pair_attr)->scale;
    return scale == 1 ? dy : adz_mul_number(dy, scale);
}

/* ---- whether elements are probabilities ------------------------------------------------------ */

KERNEL_TABLE_FLOAT(probability_check);

typedef struct {
    const atomic_bool *outside; /* what the kernel has found */
    adz_shape x;
} report_args;

ADZI_ADDRESSES(report_args, outside);

/* Fails if the kernel has found an element outside [0, 1]. */
static adz_status report(const void *block)
{
    const report_args *args = block;
    if (!atomic_load_explicit(args->outside, memory_order_relaxed)) {
        return ADZ_OK;
    }
    return adzi_error("binary_cross_entropy", ADZ_ERR_ARGUMENT,
        "x%s has elements that are no probabilities in [0, 1]; for unbounded scores use adz_binary_cross_entropy_with_logits",
        adzi_text_sizes(args->x.rank, args->x.sizes));
}

/* A launch looks at the elements of x and sets a flag; units are elements. Any thread may set the
 * flag, so it is atomic. */
static bool are_probabilities(const adzi_call *call)
{
    const char *op = call->op->name;
    adz_tensor *x = adzi_compact(op, call->in[0]);
    adz_tensor *found = x != NULL ? adzi_scratch(op, ADZ_BOOL, 0, NULL) : NULL;
    if (found == NULL) {
        return false;
    }
    adzi_fill(found, 0);
    adzi_probability_check args = { x->data, (atomic_bool *)(void *)found->data };
    adzi_launch(KERNEL_FOR(probability_check, x->dtype), adzi_probability_check, &args, x->numel,
        ADZI_POINTWISE_GRAIN);
    const report_args shown = { args.outside, adz_tensor_shape(x) };
    return adzi_repeat(report, report_args, &shown) == ADZ_OK;
}

/* ---- the columns ----------------------------------------------------------------------------- */

#define KERNELS(fn, value, dx, dt) ADZI_PAIR_TABLES(fn);

#define NUMBER(fn, shown, ...)                                                    \
    static const adz_field fn##_fields[] = {                                      \
        ADZI_FIELD_ENUM(adzi_pair_attr, reduction, adzi_reduction_names),         \
        ADZI_FIELD_AS(adzi_pair_attr, number, shown, ADZ_FIELD_F64, __VA_ARGS__), \
        ADZI_FIELD_HIDDEN(adzi_pair_attr, log_target),                            \
        ADZI_FIELD_HIDDEN(adzi_pair_attr, scale),                                 \
    };

#define EXPRESSION(fn, formula)                                                                \
    static adz_status fn##_expression(adz_tensor **y, adz_tensor *const *in, const void *attr) \
    {                                                                                          \
        const double number = ((const adzi_pair_attr *)attr)->number;                          \
        adz_tensor *x = in[0], *t = in[1];                                                     \
        (void)number;                                                                          \
        return adzi_pair_loss_reduced(y, formula, attr);                                       \
    }

#define GRADIENTS(fn, gradient_x, gradient_t)                                                \
    static adz_status fn##_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy) \
    {                                                                                        \
        adz_tensor *x = adzi_saved_input(node, 0), *t = adzi_saved_input(node, 1);           \
        adz_tensor *g = upstream(node, dy[0]);                                               \
        dx[0] = adzi_needs(node, 0) ? gradient_x : NULL;                                     \
        if (dx[0] == NULL && adzi_needs(node, 0)) {                                          \
            return adzi_status(NULL);                                                        \
        }                                                                                    \
        dx[1] = adzi_needs(node, 1) ? gradient_t : NULL;                                     \
        return adzi_needs(node, 1) ? adzi_status(dx[1]) : ADZ_OK;                            \
    }

#define SLOPE(fn, slope)                                                                     \
    static adz_status fn##_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy) \
    {                                                                                        \
        const double number = adzi_attr(node, adzi_pair_attr)->number;                       \
        adz_tensor *x = adzi_saved_input(node, 0), *t = adzi_saved_input(node, 1);           \
        adz_tensor *steep = slope, *g = adz_mul(upstream(node, dy[0]), steep);               \
        dx[0] = adzi_needs(node, 0) ? g : NULL;                                              \
        dx[1] = adzi_needs(node, 1) ? adz_mul_number(g, -1) : NULL;                          \
        return adzi_needs(node, 1) ? adzi_status(dx[1]) : adzi_status(g);                    \
    }

#define MEMBERS(...) __VA_ARGS__
#define OPERATOR(fn, its_fields, members, ...)                                            \
    extern const adzi_op adzi_op_##fn;                                                    \
    static const adzi_pair_loss fn##_form = {                                             \
        .op = &adzi_op_##fn, ADZI_PAIR_KERNELS(fn), __VA_ARGS__                           \
    };                                                                                    \
    static adz_status fn##_fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy) \
    {                                                                                     \
        return adzi_pair_loss_fused(&fn##_form, node, dx, dy);                            \
    }                                                                                     \
    const adzi_op adzi_op_##fn = {                                                        \
        .name = #fn, .fused = fn##_fused, ADZI_FIELDS(its_fields), MEMBERS members        \
    };

#define PUBLIC(fn)                                                                   \
    adz_tensor *adz_##fn(adz_tensor *x, adz_tensor *target, adz_reduction reduction) \
    {                                                                                \
        return adzi_pair_loss_call(&fn##_form, x, target, reduction, 0);             \
    }

#include "ops/loss/table.h"

/* ---- kl_div, which has two formulas ---------------------------------------------------------- */

extern const adzi_op adzi_op_kl_div;

/* The kernels without and with log_target; the flag is the index. */
static const adzi_pair_loss kl_div_forms[2] = {
    { .op = &adzi_op_kl_div, ADZI_PAIR_KERNELS(kl_div), .batchmean = true, .yields = true },
    { .op = &adzi_op_kl_div,
        ADZI_PAIR_KERNELS(kl_div_log),
        .batchmean = true,
        .yields = true,
        .log_target = true },
};

/* With log_target, exp(t) replaces t, and dt has it as a factor. */
/* Third formula: at t = 0 the expression is a constant, whose slope would be 0. */
static adz_status kl_div_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    bool log_target = adzi_attr(node, adzi_pair_attr)->log_target;
    adz_tensor *x = adzi_saved_input(node, 0), *t = adzi_saved_input(node, 1);
    int rank;
    /* dx depends on t alone, which may be smaller than the common shape. So g is expanded first. */
    int64_t sizes[ADZ_MAX_RANK];
    if (x == NULL || t == NULL || !adzi_broadcast("kl_div", &rank, sizes, x, t)) {
        return adzi_status(NULL);
    }
    adz_tensor *g = adz_expand(upstream(node, dy[0]), adz_shape_of(rank, sizes));
    adz_tensor *scaled = log_target ? adz_mul(g, adz_exp(t)) : g;
    if (adzi_needs(node, 0)) {
        dx[0] = adz_mul_number(log_target ? scaled : adz_mul(g, t), -1);
        if (dx[0] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (adzi_needs(node, 1)) {
        adz_tensor *ratio = adz_sub(log_target ? t : adz_log(t), x);
        dx[1] = adz_mul(scaled, adz_add_number(ratio, 1));
        return adzi_status(dx[1]);
    }
    return ADZ_OK;
}

static adz_status kl_div_fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const bool log_target = adzi_attr(node, adzi_pair_attr)->log_target;
    return adzi_pair_loss_fused(&kl_div_forms[log_target], node, dx, dy);
}

/* t log t, with its limit 0 at t = 0. */
static adz_tensor *entropy_of(adz_tensor *t)
{
    return adz_masked_fill(adz_mul(t, adz_log(t)), adz_eq_number(t, 0), 0);
}

static adz_status kl_div_expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const bool log_target = ((const adzi_pair_attr *)attr)->log_target;
    adz_tensor *x = in[0], *t = in[1];
    adz_tensor *each =
        log_target ? adz_mul(adz_exp(t), adz_sub(t, x)) : adz_sub(entropy_of(t), adz_mul(t, x));
    return adzi_pair_loss_reduced(y, each, attr);
}

static const adz_field kl_div_fields[] = {
    ADZI_FIELD_ENUM(adzi_pair_attr, reduction, adzi_reduction_names),
    ADZI_FIELD(adzi_pair_attr, log_target),
    ADZI_FIELD_HIDDEN(adzi_pair_attr, scale),
    ADZI_FIELD_HIDDEN(adzi_pair_attr, number),
};

const adzi_op adzi_op_kl_div = { .name = "kl_div",
    .backward = kl_div_backward,
    .fused = kl_div_fused,
    ADZI_FIELDS(kl_div_fields),
    .expression = kl_div_expression };

/* "mean" divides by the number of elements, as in PyTorch, although the divergence of a batch is
 * "batchmean". */
adz_tensor *adz_kl_div(adz_tensor *x, adz_tensor *target, adz_reduction reduction, bool log_target)
{
    return adzi_pair_loss_call(&kl_div_forms[log_target], x, target, reduction, 0);
}

/* ---- public functions that do more than call ------------------------------------------------- */

/* The check for probabilities is part of the call, as in PyTorch: a value outside [0, 1] is an
 * error. */
adz_tensor *adz_binary_cross_entropy(
    adz_tensor *x, adz_tensor *target, adz_tensor *weight, adz_reduction reduction)
{
    ADZI_COMPOSED();
    /* A weight multiplies the losses before they are reduced, which is a composition. */
    if (weight == ADZ_NONE) {
        return adzi_pair_loss_call(&binary_cross_entropy_form, x, target, reduction, 0);
    }
    adz_tensor *losses =
        adzi_pair_loss_call(&binary_cross_entropy_form, x, target, ADZ_REDUCE_NONE, 0);
    return adzi_weigh_losses("binary_cross_entropy", losses, weight, reduction);
}

/* The losses with a weight p for the positive class, as a composition:
 *
 *     l_i = -(p * t_i * log sigmoid(x_i) + (1 - t_i) * log sigmoid(-x_i))
 *
 * The two logarithms are computed apart, because the gradient of t is their difference. At most one
 * of them is infinite, so the difference is not NaN. */
static adz_tensor *weighed_losses(adz_tensor *x, adz_tensor *target, adz_tensor *pos_weight)
{
    adzi_call call; /* The call is written out, because it only checks the inputs. */
    if (!ADZI_ENTER(&call, binary_cross_entropy_with_logits, x, target, pos_weight) ||
        !adzi_want_float(&call, 0) || !adzi_want_float(&call, 1) ||
        !adzi_pair_loss_same_shape(call.op->name, x, target)) {
        return NULL;
    }
    adz_tensor *yes = adz_mul(adz_mul(target, pos_weight), adz_logsigmoid(x));
    adz_tensor *no = adz_mul(adz_number_sub(1, target), adz_logsigmoid(adz_neg(x)));
    adz_tensor *losses = adz_neg(adz_add(yes, no));
    if (losses != NULL && !adzi_same_sizes(losses, x)) {
        return adzi_fail(call.op->name, ADZ_ERR_SHAPE,
            "pos_weight%s does not broadcast to target%s", adzi_text_shape(pos_weight),
            adzi_text_shape(target));
    }
    return losses;
}

/* pos_weight multiplies the losses of positive targets, weight those of all elements. */
adz_tensor *adz_binary_cross_entropy_with_logits(adz_tensor *x, adz_tensor *target,
    adz_tensor *weight, adz_reduction reduction, adz_tensor *pos_weight)
{
    ADZI_COMPOSED();
    const adzi_pair_loss *form = &binary_cross_entropy_with_logits_form;
    /* The fused kernels know no weights. */
    if (weight == ADZ_NONE && pos_weight == ADZ_NONE) {
        return adzi_pair_loss_call(form, x, target, reduction, 0);
    }
    adz_tensor *losses = pos_weight == ADZ_NONE
                             ? adzi_pair_loss_call(form, x, target, ADZ_REDUCE_NONE, 0)
                             : weighed_losses(x, target, pos_weight);
    return adzi_weigh_losses(form->op->name, losses, weight, reduction);
}

/* The second field of these losses is their number. */
static inline bool number_fits(const adzi_pair_loss *loss, double number)
{
    return adzi_check_number(loss->op->name, &loss->op->fields[1], number);
}

/* delta is the distance from which on the loss is linear. */
adz_tensor *adz_huber_loss(adz_tensor *x, adz_tensor *target, adz_reduction reduction, double delta)
{
    if (x != NULL && target != NULL && !number_fits(&huber_loss_form, delta)) {
        return NULL;
    }
    return adzi_pair_loss_call(&huber_loss_form, x, target, reduction, delta);
}

/* beta is the distance from which on the loss is linear. The division by beta is why 0 takes
 * l1_loss. */
adz_tensor *adz_smooth_l1_loss(
    adz_tensor *x, adz_tensor *target, adz_reduction reduction, double beta)
{
    if (x != NULL && target != NULL && !number_fits(&smooth_l1_loss_form, beta)) {
        return NULL;
    }
    return beta == 0 ? adz_l1_loss(x, target, reduction)
                     : adzi_pair_loss_call(&smooth_l1_loss_form, x, target, reduction, beta);
}
