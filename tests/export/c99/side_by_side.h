/* Trainings that run in C and in the library side by side. */
#ifndef ADZE_TESTS_EXPORT_C99_TRAINING_H
#define ADZE_TESTS_EXPORT_C99_TRAINING_H

#include "network.h"

typedef struct {
    adz_optimizer *optimizer;
    adz_c_loss loss;
    int steps, batches; /* the step i sees batch i % batches */
    int64_t classes;
    bool batch_statistics; /* batch norm is in training */
} training;

static inline adz_tensor *loss_of(c_network *n, const training *t, adz_tensor *target)
{
    adz_tensor *y = call_network(n);
    return t->loss == ADZ_C_CROSS_ENTROPY ? adz_cross_entropy(y, target, ADZ_NONE, NULL)
                                          : adz_mse_loss(y, target, ADZ_REDUCE_MEAN);
}

static inline adz_tensor *target_like(c_network *n, const training *t)
{
    adz_tensor *y = call_network(n);
    if (t->loss == ADZ_C_CROSS_ENTROPY) {
        return adz_randint(0, adz_tensor_size(y, 1), ADZ_SHAPE(adz_tensor_size(y, 0)), ADZ_I64);
    }
    return adz_randn(adz_tensor_shape(y), ADZ_F32);
}

/* Trains a network with the library and in C, and compares the losses of all steps. A loss that has
 * become small is compared on the scale of the first, because rounding errors grow from step to
 * step. Then compares the predictions. */
static inline void check_training(c_network *n, const training *t)
{
    adz_c_options o = ADZ_C_OPTIONS;
    o.optimizer = t->optimizer;
    o.loss = t->loss;
    o.batch_statistics = t->batch_statistics;
    adz_module_eval(n->module);
    if (write_network(n, "learner.c", &o) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
    const compiled c = compile("learner", false);
    assert_non_null(c.step);
    assert_non_null(c.learning_rate);
    adz_tensor *x[8], *target[8];
    double first = 0;
    for (int b = 0; b < t->batches; ++b) {
        refill(n);
        x[b] = adz_clone(n->in[0]);
        target[b] = target_like(n, t);
    }
    adz_module_train(n->module, t->batch_statistics);
    for (int i = 0; i < t->steps; ++i) {
        const int b = i % t->batches;
        adz_scope *scope = adz_scope_open();
        adz_copy_(n->in[0], x[b]);
        void *in = as_argument(n->in[0]), *right = as_argument(target[b]);
        const double ours = (double)c.step(in, right);
        adz_optimizer_zero_grad(t->optimizer);
        adz_tensor *loss = loss_of(n, t, target[b]);
        assert_int_equal(adz_backward(loss), ADZ_OK);
        assert_int_equal(adz_optimizer_step(t->optimizer), ADZ_OK);
        const double theirs = adz_item(loss);
        first = i == 0 ? theirs : first;
        if (!(fabs(ours - theirs) <= 1e-4 * (theirs + first / 10))) {
            fail_msg("step %d: the loss is %.9g in C and %.9g in the library", i, ours, theirs);
        }
        free(in);
        free(right);
        adz_scope_close(scope);
    }
    adz_module_eval(n->module);
    const double d = difference(&c, n, 1);
    if (!(d <= 2e-3)) {
        fail_msg("after training the predictions differ by %g", d);
    }
    dlclose(c.library);
}

#endif
