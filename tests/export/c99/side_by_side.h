/* Trainings that run in C and in the library side by side. */
#ifndef ADZE_TESTS_EXPORT_C99_TRAINING_H
#define ADZE_TESTS_EXPORT_C99_TRAINING_H

#include "network.h"

typedef enum { MSE, CROSS_ENTROPY, OWN_LOSS } loss_kind;

typedef struct training {
    adz_optimizer *optimizer;
    loss_kind loss;
    int steps, batches;    /* the step i sees batch i % batches */
    bool batch_statistics; /* batch norm is in training */
    bool libm;             /* the file calls that of the system */
    double clip;           /* the largest norm of the gradients; 0: they are not clipped */
    adz_tensor *(*own)(adz_module *module, adz_tensor *y, adz_tensor *target); /* OWN_LOSS */
} training;

/* A step of a training, as a function that is exported and called. */
typedef struct {
    c_network *network;
    const training *training;
    adz_tensor *target;
} training_step;

static inline adz_tensor *loss_of(c_network *n, const training *t, adz_tensor *target)
{
    adz_tensor *y = call_network(n);
    return t->loss == CROSS_ENTROPY ? adz_cross_entropy(y, target, ADZ_NONE, NULL)
           : t->loss == MSE         ? adz_mse_loss(y, target, ADZ_REDUCE_MEAN)
                                    : t->own(n->module, y, target);
}

static inline adz_tensor *step_of(void *user)
{
    const training_step *s = user;
    const training *t = s->training;
    adz_module_train(s->network->module, t->batch_statistics);
    adz_optimizer_zero_grad(t->optimizer);
    adz_tensor *loss = loss_of(s->network, t, s->target);
    bool good = adz_backward(loss) == ADZ_OK;
    if (good && t->clip > 0) {
        good = adz_clip_grads(adz_module_parameters(s->network->module), t->clip, 2) == ADZ_OK;
    }
    good = good && adz_optimizer_step(t->optimizer) == ADZ_OK;
    adz_module_eval(s->network->module);
    return good ? loss : NULL;
}

static inline adz_tensor *target_like(c_network *n, const training *t)
{
    adz_tensor *y = call_network(n);
    if (t->loss == CROSS_ENTROPY) {
        return adz_randint(0, adz_tensor_size(y, 1), ADZ_SHAPE(adz_tensor_size(y, 0)), ADZ_I64);
    }
    return adz_randn(adz_tensor_shape(y), adz_tensor_dtype(y));
}

/* Writes the network and its step. */
static inline adz_status write_training(
    c_network *n, const training *t, const char *name, const adz_c_options *options)
{
    adz_module_eval(n->module);
    training_step step = { n, t, target_like(n, t) };
    adz_tensor *const inputs[] = { n->in[0], step.target };
    const adzi_export what[] = {
        { .function = call_network, .user = n, .inputs = { n->in, n->n_in }, .module = n->module },
        { .name = "step",
            .function = step_of,
            .user = &step,
            .inputs = { inputs, 2 },
            .module = n->module }
    };
    return adzi_write_c("adz_plan_write_c_many", temporary_path(name), what, 2, options);
}

/* Trains a network with the library and in C, and compares the losses of all steps. A loss that has
 * become small is compared on the scale of the first, because rounding errors grow from step to
 * step. Then compares the predictions. */
static inline void check_training(c_network *n, const training *t)
{
    adz_c_options o = ADZ_C_OPTIONS;
    o.libm = t->libm;
    if (write_training(n, t, "learner.c", &o) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
    const compiled c = compile("learner", t->libm);
    assert_non_null(c.step);
    assert_non_null(c.learning_rate);
    adz_tensor *x[8], *target[8];
    double first = 0;
    for (int b = 0; b < t->batches; ++b) {
        refill(n);
        x[b] = adz_clone(n->in[0]);
        target[b] = target_like(n, t);
    }
    for (int i = 0; i < t->steps; ++i) {
        const int b = i % t->batches;
        adz_scope *scope = adz_scope_open();
        adz_copy_(n->in[0], x[b]);
        void *in = as_argument(n->in[0]), *right = as_argument(target[b]);
        float ours;
        c.step(in, right, &ours);
        training_step step = { n, t, target[b] };
        const double theirs = adz_item(step_of(&step));
        first = i == 0 ? theirs : first;
        if (!(fabs((double)ours - theirs) <= 1e-4 * (theirs + first / 10))) {
            fail_msg(
                "step %d: the loss is %.9g in C and %.9g in the library", i, (double)ours, theirs);
        }
        free(in);
        free(right);
        adz_scope_close(scope);
    }
    const double d = difference(&c, n, 1);
    if (!(d <= 2e-3)) {
        fail_msg("after training the predictions differ by %g", d);
    }
    dlclose(c.library);
}

#endif
