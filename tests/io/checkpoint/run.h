/* A training run with all the parts that a checkpoint can hold. */
#ifndef ADZE_TESTS_IO_CHECKPOINT_RUN_H
#define ADZE_TESTS_IO_CHECKPOINT_RUN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "adze/autograd.h"
#include "adze/data.h"
#include "adze/io.h"
#include "adze/nn.h"
#include "adze/ops.h"
#include "adze/optim.h"
#include "adze/random.h"
#include "tensor/tensor.h"
#include "../../temporary.h"

enum { ROWS = 37, BATCH = 5 };

typedef struct run {
    adz_module *model;
    adz_optimizer *sgd;
    adz_scheduler *schedulers[2];
    adz_generator *generators[3]; /* the default one, the dropout's, the loader's */
    adz_loader *loader;
    int64_t epoch, step;
} run;

static inline adz_dataset *problem(void)
{
    adz_scope *scope = adz_scope_open();
    adz_generator *generator = adz_generator_new(77);
    adz_tensor *both[2] = { adz_generator_randn(generator, ADZ_SHAPE(ROWS, 4), ADZ_F32) };
    both[1] = adz_sum(adz_mul(both[0], both[0]), ADZ_DIMS(1), ADZ_KEEPDIM);
    adz_dataset *dataset = adz_dataset_new(both, 2);
    adz_generator_free(&generator);
    adz_scope_close(scope);
    return dataset;
}

static inline run start(uint64_t seed)
{
    run r = { .epoch = 0 };
    adz_manual_seed(seed);
    r.generators[1] = adz_generator_new(seed + 1);
    r.generators[2] = adz_generator_new(seed + 2);
    adz_dropout_options dropout = ADZ_DROPOUT_OPTIONS;
    dropout.generator = r.generators[1];
    adz_module *standardizer = adz_standardizer_new(4, ADZ_F32);
    adz_dataset *dataset = problem();
    adz_scope *scope = adz_scope_open();
    adz_standardizer_fit(standardizer, adz_dataset_at(dataset, 0));
    adz_module *parts[] = { standardizer, adz_linear_new(4, 8, NULL), adz_relu_new(),
        adz_dropout_new(0.2, &dropout), adz_dropout_new(0.1, NULL), adz_linear_new(8, 1, NULL) };
    r.model = adz_sequential_new(parts, 6);
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.momentum = 0.9;
    o.weight_decay = 1e-3;
    r.sgd = adz_sgd_new(adz_module_parameters(r.model), 0.01, &o);
    r.schedulers[0] = adz_cosine_annealing_lr_new(r.sgd, 20, 0);
    r.schedulers[1] = adz_step_lr_new(r.sgd, 7, 0.5);
    adz_loader_options l = ADZ_LOADER_OPTIONS;
    l.batch_size = BATCH;
    l.shuffle = true;
    l.generator = r.generators[2];
    r.loader = adz_loader_new(dataset, &l);
    adz_dataset_release(&dataset);
    adz_scope_close(scope);
    assert_int_equal(adz_error_code(), ADZ_OK);
    return r;
}

static inline void finish(run *r)
{
    adz_loader_free(&r->loader);
    adz_scheduler_release(&r->schedulers[0]);
    adz_scheduler_release(&r->schedulers[1]);
    adz_optimizer_release(&r->sgd);
    adz_module_release(&r->model);
    adz_generator_free(&r->generators[1]);
    adz_generator_free(&r->generators[2]);
}

static inline void train(run *r, int64_t until)
{
    while (r->step < until) {
        adz_tensor *batch[2];
        adz_scope *scope = adz_scope_open();
        if (adz_loader_next(r->loader, batch)) {
            adz_tensor *y = adz_module_forward(r->model, batch[0]);
            adz_module_zero_grad(r->model);
            adz_backward(adz_mse_loss(y, batch[1], ADZ_REDUCE_MEAN));
            adz_optimizer_step(r->sgd);
            ++r->step;
        } else {
            adz_scheduler_step(r->schedulers[0]);
            adz_scheduler_step(r->schedulers[1]);
            ++r->epoch;
        }
        adz_scope_close(scope);
        assert_int_equal(adz_error_code(), ADZ_OK);
    }
}

static inline adz_checkpoint parts_of(run *r)
{
    adz_checkpoint c;
    adz_checkpoint_init(&c, sizeof c);
    c.model = r->model;
    c.optimizer = r->sgd;
    c.schedulers = r->schedulers;
    c.n_schedulers = 2;
    c.generators = r->generators;
    c.n_generators = 3;
    c.loader = r->loader;
    c.epoch = r->epoch;
    c.step = r->step;
    return c;
}

static inline adz_status save_run(run *r, const char *path)
{
    adz_checkpoint c = parts_of(r);
    return adz_checkpoint_save(&c, path);
}

static inline adz_status load_run(run *r, const char *path)
{
    adz_checkpoint c = parts_of(r);
    adz_status status = adz_checkpoint_load(&c, path);
    r->epoch = c.epoch;
    r->step = c.step;
    return status;
}

/* True if all parts of two runs have the same bits, because their checkpoints are equal files. */
static inline bool same_runs(run *a, run *b)
{
    assert_int_equal(save_run(a, temporary_path("one")), ADZ_OK);
    assert_int_equal(save_run(b, temporary_path("other")), ADZ_OK);
    return files_equal(temporary_path("one"), temporary_path("other"));
}

#endif
