#include "training.h"

#include <math.h>

static adz_module *norm_of(const training *t)
{
    adz_batch_norm1d_options o = ADZ_BATCH_NORM1D_OPTIONS;
    o.momentum = t->momentum;
    return t->momentum != 0 ? adz_batch_norm1d_new(5, &o) : adz_layer_norm_new(ADZ_SHAPE(5), NULL);
}

void training_begin(training *t)
{
    adz_error_clear(); /* an earlier test may have failed */
    adz_set_grad_enabled(true);
    adz_manual_seed(3);
    t->net = adz_sequential_new(
        (adz_module *[]){ adz_linear_new(FEATURES, 5, NULL), norm_of(t), adz_tanh_new(),
            adz_dropout_new(t->dropout, NULL), adz_linear_new(5, OUTPUTS, NULL) },
        5);
    adz_module_to(t->net, ADZ_F64);
    t->x = adz_keep(adz_zeros(ADZ_SHAPE(BATCH, FEATURES), ADZ_F64));
    t->target = adz_keep(adz_zeros(ADZ_SHAPE(BATCH, OUTPUTS), ADZ_F64));
    t->classes = adz_keep(adz_zeros(ADZ_SHAPE(BATCH), ADZ_I64));
    training_draw(t);
}

void training_end(training *t)
{
    adz_optimizer_release(&t->optimizer);
    adz_flat_parameters_free(&t->flat);
    adz_module_release(&t->net);
    adz_release(&t->x);
    adz_release(&t->target);
    adz_release(&t->classes);
}

void training_draw(training *t)
{
    adz_scope *scope = adz_scope_open();
    adz_copy_(t->x, adz_randn(ADZ_SHAPE(BATCH, FEATURES), ADZ_F64));
    adz_copy_(t->target, adz_rand(ADZ_SHAPE(BATCH, OUTPUTS), ADZ_F64));
    adz_copy_(t->classes, adz_randint(0, OUTPUTS, ADZ_SHAPE(BATCH), ADZ_I64));
    adz_scope_close(scope);
}

static adz_status own_expression(
    adz_tensor **results, adz_tensor *const *in, const void *attributes)
{
    (void)attributes;
    results[0] = adz_mul(adz_erf(in[0]), adz_exp(in[0]));
    return ADZ_OK;
}

static const adz_operator own_operator = {
    .size = sizeof(adz_operator), .name = "own", .expression = own_expression
};

static adz_tensor *huber_and_penalty(training *t, adz_tensor *y, adz_tensor *target)
{
    adz_tensor *scaled = adz_mul_number(adz_sub(y, target), 3);
    adz_tensor *loss = adz_huber_loss(scaled, adz_zeros_like(scaled), ADZ_REDUCE_MEAN, 0.7);
    adz_tensor *w = adz_module_get_parameter(t->net, "0.weight");
    return adz_add(loss, adz_mul_number(adz_sum(adz_abs(w), ADZ_ALL_DIMS, ADZ_DROPDIM), 0.01));
}

static adz_tensor *gradient_penalty(training *t, adz_tensor *target)
{
    adz_tensor *x = adz_requires_grad_(adz_detach(t->x), true), *dx = NULL;
    adz_tensor *y = adz_module_forward(t->net, x);
    adz_tensor *all = adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.create_graph = true;
    if (adz_autograd_grad(&all, NULL, 1, &x, 1, &o, &dx) != ADZ_OK) {
        return NULL;
    }
    return adz_add(adz_mse_loss(y, target, ADZ_REDUCE_MEAN),
        adz_mul_number(adz_sum(adz_square(dx), ADZ_ALL_DIMS, ADZ_DROPDIM), 0.1));
}

static adz_tensor *loss_of(training *t, adz_tensor *x, adz_tensor *target, adz_tensor *classes)
{
    adz_tensor *y = t->loss != GRADIENT_PENALTY ? adz_module_forward(t->net, x) : NULL;
    switch (t->loss) {
    case MSE:
        return adz_mse_loss(y, target, ADZ_REDUCE_MEAN);
    case CROSS_ENTROPY:
        return adz_cross_entropy(y, classes, ADZ_NONE, NULL);
    case BCE:
        return adz_binary_cross_entropy_with_logits(y, target, ADZ_NONE, ADZ_REDUCE_MEAN, ADZ_NONE);
    case OWN_OPERATOR:
        y = adz_operator_call(&own_operator, &y, 1, NULL, NULL);
        return adz_mse_loss(y, target, ADZ_REDUCE_MEAN);
    case HUBER_AND_PENALTY:
        return huber_and_penalty(t, y, target);
    case TWO_LOSSES:
        return adz_add(adz_l1_loss(y, target, ADZ_REDUCE_SUM),
            adz_mse_loss(adz_sigmoid(y), target, ADZ_REDUCE_SUM));
    default:
        return gradient_penalty(t, target);
    }
}

/* The backward of all micro-batches. Returns their mean loss. */
static adz_tensor *backward(training *t)
{
    const int n = t->micro_batches > 0 ? t->micro_batches : 1, rows = BATCH / n;
    adz_tensor *all = NULL;
    for (int i = 0; i < n; ++i) {
        adz_tensor *x = n > 1 ? adz_narrow(t->x, 0, i * rows, rows) : t->x;
        adz_tensor *target = n > 1 ? adz_narrow(t->target, 0, i * rows, rows) : t->target;
        adz_tensor *classes = n > 1 ? adz_narrow(t->classes, 0, i * rows, rows) : t->classes;
        adz_tensor *loss = adz_div_number(loss_of(t, x, target, classes), n);
        if (adz_backward(loss) != ADZ_OK) {
            return NULL;
        }
        all = all != NULL ? adz_add(all, adz_detach(loss)) : adz_detach(loss);
    }
    return all;
}

static adz_status clip(training *t)
{
    adz_tensor_list list = adz_module_parameters(t->net);
    return t->clip == CLIP_NORM      ? adz_clip_grads(list, 0.05, 2)
           : t->clip == CLIP_LARGEST ? adz_clip_grads(list, 0.02, (double)INFINITY)
           : t->clip == CLIP_VALUE   ? adz_clip_grad_value(list, 0.01)
                                     : ADZ_OK;
}

adz_tensor *training_step(void *user)
{
    training *t = user;
    if (t->zero == DROP_FIRST) {
        adz_module_zero_grad(t->net);
    } else if (t->zero == FILL_FIRST) {
        adz_module_fill_grad_zero(t->net);
    }
    adz_tensor *loss = backward(t);
    if (loss == NULL || clip(t) != ADZ_OK ||
        (t->optimizer != NULL && adz_optimizer_step(t->optimizer) != ADZ_OK)) {
        return NULL;
    }
    if (t->zero == DROP_LAST) {
        adz_module_zero_grad(t->net);
    }
    if (t->last != NULL) {
        t->last(t);
    }
    return adz_error_code() == ADZ_OK ? loss : NULL;
}

adzi_trace *training_try(training *t)
{
    adz_tensor *const inputs[] = { t->x, t->target, t->classes };
    const adzi_export what = { .function = training_step,
        .user = t,
        .inputs = { inputs, 3 },
        .module = t->net,
        .step = true };
    return adzi_trace_new("test", &what, prints_primitives);
}

adzi_trace *training_trace(training *t)
{
    adzi_trace *trace = training_try(t);
    if (trace == NULL) {
        fail_msg("%s", adz_error_message());
    }
    return trace;
}

static void expect_near(const char *what, adz_tensor *a, adz_tensor *b, double tolerance)
{
    const double by = difference(a, b);
    if (!(by <= tolerance)) {
        fail_msg("%s differs by %g", what, by);
    }
}

static void compare_step(training *t, replay *r, double tolerance)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *const inputs[] = { t->x, t->target, t->classes };
    adz_tensor *replayed = replay_run(r, inputs), *trained = training_step(t);
    if (trained == NULL) {
        fail_msg("%s", adz_error_message());
    }
    expect_near("the loss", replayed, trained, tolerance);
    adz_scope_close(scope);
}

static void compare_variables(const replay *r, adz_named_list list, double tolerance)
{
    for (size_t i = 0; i < list.count; ++i) {
        if (adz_tensor_dtype(list.items[i].tensor) == ADZ_F64) { /* no file counts batches */
            expect_near(list.items[i].name, replay_variable(r, list.items[i].name),
                list.items[i].tensor, tolerance);
        }
    }
}

void training_compare(training *t, int steps, double tolerance)
{
    adzi_trace *trace = training_trace(t);
    replay *r = replay_new(trace);
    const double lr = t->optimizer != NULL ? adz_optimizer_get(t->optimizer, 0, "lr") : 0;
    for (int i = 0; i < steps; ++i) {
        training_draw(t);
        if (t->optimizer != NULL) {
            adz_optimizer_set(t->optimizer, -1, "lr", lr * (1 + 0.1 * (i % 3)));
        }
        compare_step(t, r, tolerance);
    }
    adz_scope *scope = adz_scope_open();
    compare_variables(r, adz_module_named_parameters(t->net), tolerance);
    compare_variables(r, adz_module_named_buffers(t->net), tolerance);
    adz_scope_close(scope);
    replay_free(r);
    adzi_trace_free(&trace);
}
