/* Multinomial logistic regression on pixels from 0 to 1. */
#include "linear.h"

#include <math.h>

enum { BATCH = 64, STEPS = 1500, MOST_EPOCHS = 60, JUDGED_AT_ONCE = 1024 };

static adz_tensor *flat_pixels(const model *m, adz_tensor *pixels)
{
    return adz_flatten(scaled(m, pixels), 1, -1);
}

static void train_step(
    adz_module *linear, adz_optimizer *adam, const model *m, adz_tensor *const *batch)
{
    adz_tensor *scores = adz_module_forward(linear, flat_pixels(m, batch[PIXELS]));
    adz_module_zero_grad(linear);
    adz_backward(adz_cross_entropy(scores, batch[DIGITS], ADZ_NONE, NULL));
    adz_optimizer_step(adam);
}

adz_module *fit_linear(const model *m, adz_dataset *train)
{
    adz_module *linear = adz_linear_new(m->height * m->width, CLASSES, NULL);
    adz_generator *order = adz_generator_new(1);
    adz_loader_options l = ADZ_LOADER_OPTIONS;
    l.batch_size = BATCH;
    l.shuffle = true;
    l.generator = order;
    adz_loader *loader = adz_loader_new(train, &l);
    const int64_t batches = adz_loader_batch_count(loader), wanted = STEPS / batches + 1;
    const int64_t epochs = wanted < MOST_EPOCHS ? wanted : MOST_EPOCHS;
    adz_optimizer *adam = adz_adamw_new(adz_module_parameters(linear), 0.02, NULL);
    adz_scheduler *cycle = adz_one_cycle_lr_new(adam, 0.02, epochs * batches + 1, NULL);
    for (int64_t epoch = 0; epoch < epochs;) {
        adz_tensor *batch[TENSORS];
        adz_scope *scope = adz_scope_open();
        if (adz_loader_next(loader, batch)) {
            train_step(linear, adam, m, batch);
            adz_scheduler_step(cycle);
        } else {
            ++epoch;
        }
        adz_scope_close(scope);
    }
    adz_scheduler_release(&cycle);
    adz_optimizer_release(&adam);
    adz_loader_free(&loader);
    adz_generator_free(&order);
    return linear;
}

/* The number of images from `first` on that are read rightly, `count` of them. */
static double hits_of(
    adz_module *linear, const model *m, adz_dataset *rows, int64_t first, int64_t count)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = flat_pixels(m, adz_narrow(adz_dataset_at(rows, PIXELS), 0, first, count));
    adz_tensor *truth = adz_narrow(adz_dataset_at(rows, DIGITS), 0, first, count);
    adz_tensor *said = adz_argmax(adz_module_forward(linear, x), ADZ_DIMS(1), ADZ_DROPDIM);
    adz_tensor *right = adz_to(adz_eq(said, truth), ADZ_F64);
    const double hits = adz_item(adz_sum(right, ADZ_ALL_DIMS, ADZ_DROPDIM));
    adz_scope_close(scope);
    return hits;
}

double linear_accuracy(adz_module *linear, const model *m, adz_dataset *rows)
{
    const int64_t n = adz_dataset_row_count(rows);
    double hits = 0;
    ADZ_NO_GRAD
    {
        for (int64_t i = 0; i < n; i += JUDGED_AT_ONCE) {
            hits += hits_of(linear, m, rows, i, n - i < JUDGED_AT_ONCE ? n - i : JUDGED_AT_ONCE);
        }
    }
    return n > 0 ? hits / (double)n : NAN;
}
