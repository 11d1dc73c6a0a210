/* Weights in files, and whole runs that go on with the same bits after being killed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "adze/autograd.h"
#include "adze/custom.h"
#include "adze/data.h"
#include "adze/io.h"
#include "adze/nn.h"
#include "adze/ops.h"
#include "adze/optim.h"
#include "adze/random.h"
#include "../temporary.h"
#include "tensor/tensor.h"

/* ---- a run ---------------------------------------------------------------------------------- */

enum { ROWS = 37, BATCH = 5 };

typedef struct run {
    adz_module *model;
    adz_optimizer *sgd;
    adz_scheduler *schedulers[2];
    adz_generator *generators[3]; /* the default one, the dropout's, the loader's */
    adz_loader *loader;
    int64_t epoch, step;
} run;

static adz_dataset *problem(void)
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

static run start(uint64_t seed)
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
    adz_standardizer_fit(standardizer, adz_dataset_tensor(dataset, 0));
    adz_module *parts[] = { standardizer, adz_linear_new(4, 8, NULL), adz_relu_new(NULL),
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
    adz_dataset_free(&dataset);
    adz_scope_close(scope);
    assert_int_equal(adz_error_code(), ADZ_OK);
    return r;
}

static void finish(run *r)
{
    adz_loader_free(&r->loader);
    adz_scheduler_free(&r->schedulers[0]);
    adz_scheduler_free(&r->schedulers[1]);
    adz_optimizer_free(&r->sgd);
    adz_module_free(&r->model);
    adz_generator_free(&r->generators[1]);
    adz_generator_free(&r->generators[2]);
}

static void train(run *r, int64_t until)
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

static adz_checkpoint parts_of(run *r)
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

static adz_status save_run(run *r, const char *path)
{
    adz_checkpoint c = parts_of(r);
    return adz_checkpoint_save(&c, path);
}

static adz_status load_run(run *r, const char *path)
{
    adz_checkpoint c = parts_of(r);
    adz_status status = adz_checkpoint_load(&c, path);
    r->epoch = c.epoch;
    r->step = c.step;
    return status;
}

/* The same bits in every part: their checkpoints are the same file. */
static bool same_runs(run *a, run *b)
{
    assert_int_equal(save_run(a, temporary_path("one")), ADZ_OK);
    assert_int_equal(save_run(b, temporary_path("other")), ADZ_OK);
    return files_equal(temporary_path("one"), temporary_path("other"));
}

/* ---- runs go on ----------------------------------------------------------------------------- */

/* In a child: trains, saves after `saved` steps, trains on and waits to be killed. */
static void train_until_killed(int64_t saved, int ready)
{
    run r = start(1);
    train(&r, saved);
    if (save_run(&r, temporary_path("run")) != ADZ_OK) {
        _exit(1);
    }
    train(&r, saved + 3);
    (void)!write(ready, "x", 1);
    for (;;) {
        train(&r, r.step + 1);
    }
}

static void goes_on_after_kill(void **state)
{
    (void)state;
    enum { STEPS = 40 }; /* 8 batches an epoch: k = 8 and 16 are ends, 0 before the first */
    static const int64_t saved[] = { 0, 1, 7, 8, 9, 16, 29, 40 };
    for (size_t i = 0; i < sizeof saved / sizeof *saved; ++i) {
        int ready[2];
        char byte;
        assert_int_equal(pipe(ready), 0);
        pid_t child = fork();
        if (child == 0) {
            train_until_killed(saved[i], ready[1]);
        }
        close(ready[1]);
        assert_int_equal(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);

        run whole = start(1);
        train(&whole, STEPS);
        adz_generator_state drawn = adz_generator_get_state(NULL);
        run rest = start(999); /* other weights, other generators */
        train(&rest, 3);
        assert_int_equal(load_run(&rest, temporary_path("run")), ADZ_OK);
        assert_int_equal(rest.step, saved[i]);
        train(&rest, STEPS);
        adz_generator_state redrawn = adz_generator_get_state(NULL);
        assert_memory_equal(&drawn, &redrawn, sizeof drawn);
        assert_true(same_runs(&whole, &rest));
        train(&rest, STEPS + 1);
        assert_false(same_runs(&whole, &rest));
        finish(&whole);
        finish(&rest);
        temporary_files(true);
    }
}

static void parts_may_be_left_out(void **state)
{
    (void)state;
    run r = start(1), other = start(2);
    train(&r, 5);
    assert_int_equal(save_run(&r, temporary_path("run")), ADZ_OK);
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.model = other.model;
    assert_int_equal(adz_checkpoint_load(&c, temporary_path("run")), ADZ_OK);
    assert_int_equal(c.step, 5);
    assert_true(adz_equal(
        adz_module_parameter(r.model, "1.weight"), adz_module_parameter(other.model, "1.weight")));
    assert_int_equal(adz_checkpoint_save(&c, temporary_path("model")), ADZ_OK);
    c.optimizer = other.sgd;
    assert_int_equal(adz_checkpoint_load(&c, temporary_path("model")), ADZ_ERR_STATE);
    assert_non_null(strstr(adz_error_message(), "model: adz_checkpoint_load: the file has no "
                                                "optimizer; it was saved without one"));
    adz_error_clear();
    c = (adz_checkpoint)ADZ_CHECKPOINT;
    c.loader = other.loader;
    assert_int_equal(adz_checkpoint_load(&c, temporary_path("model")), ADZ_ERR_STATE);
    assert_non_null(strstr(adz_error_message(), "the file has no loader"));
    adz_error_clear();
    finish(&r);
    finish(&other);
    temporary_files(true);
}

static void layout_is_as_documented(void **state)
{
    (void)state;
    run r = start(1);
    train(&r, 3);
    assert_int_equal(save_run(&r, temporary_path("run")), ADZ_OK);
    adz_safetensors *file = adz_safetensors_load(temporary_path("run"), NULL);
    static const char *const names[] = { "model.0.mean", "model.0.std", "model.1.weight",
        "model.1.bias", "model.5.weight", "model.5.bias", "state.0.momentum_buffer",
        "state.3.momentum_buffer", "scheduler.0", "scheduler.1", "generator.0", "generator.2",
        "loader" };
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        assert_true(adz_safetensors_has(file, names[i]));
    }
    assert_int_equal(adz_safetensors_count(file), 6 + 4 + 2 + 3 + 1);
    assert_string_equal(adz_safetensors_metadata(file, "step"), "3");
    const char *json = adz_safetensors_metadata(file, "optimizer");
    assert_non_null(strstr(json, "{\"name\":\"SGD\",\"param_groups\":[{\"lr\":0.01"));
    assert_non_null(strstr(json, "\"momentum\":0.9"));
    assert_non_null(strstr(json, "\"params\":[0,1,2,3]"));
    adz_safetensors_free(&file);
    finish(&r);
    temporary_files(true);
}

/* ---- what does not fit ---------------------------------------------------------------------- */

/* Loads into `r` a copy of its checkpoint in which one metadata string or one tensor is another. */
static void assert_refused_with(
    run *r, const char *key, const char *value, adz_tensor *t, adz_status code, const char *says)
{
    adz_scope *scope = adz_scope_open();
    assert_int_equal(save_run(r, temporary_path("before")), ADZ_OK);
    adz_safetensors *good = adz_safetensors_load(temporary_path("before"), NULL);
    adz_safetensors *bad = adz_safetensors_new();
    for (size_t i = 0; i < adz_safetensors_metadata_count(good); ++i) {
        const char *k = adz_safetensors_metadata_key(good, i);
        if (strcmp(k, key) != 0 || t != NULL) {
            adz_safetensors_set_metadata(bad, k, adz_safetensors_metadata(good, k));
        } else if (value != NULL) {
            adz_safetensors_set_metadata(bad, k, value);
        }
    }
    for (size_t i = 0; i < adz_safetensors_count(good); ++i) {
        const char *name = adz_safetensors_name(good, i);
        bool chosen = strcmp(name, key) == 0 && t != NULL;
        if (!chosen || t != ADZ_NONE) {
            adz_safetensors_add(bad, name, chosen ? t : adz_safetensors_tensor(good, i));
        }
    }
    assert_int_equal(adz_safetensors_save(bad, temporary_path("bad")), ADZ_OK);
    train(r, r->step + 2);
    assert_int_equal(save_run(r, temporary_path("kept")), ADZ_OK);
    adz_checkpoint c = parts_of(r);
    assert_int_equal(adz_checkpoint_load(&c, temporary_path("bad")), code);
    if (strstr(adz_error_message(), says) == NULL) {
        fail_msg("%s, wanted \"%s\"", adz_error_message(), says);
    }
    assert_non_null(strstr(adz_error_message(), "/bad: "));
    adz_error_clear();
    assert_int_equal(save_run(r, temporary_path("after")), ADZ_OK);
    assert_true(files_equal(temporary_path("kept"), temporary_path("after")));
    adz_safetensors_free(&good);
    adz_safetensors_free(&bad);
    adz_scope_close(scope);
}

static void what_does_not_fit_changes_nothing(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    run r = start(1);
    train(&r, 4);
    adz_tensor *three = adz_zeros(ADZ_SHAPE(3), ADZ_F32);
    const struct {
        const char *key, *value;
        adz_tensor *tensor;
        adz_status code;
        const char *says;
    } bad[] = {
        { "adze_checkpoint", NULL, NULL, ADZ_ERR_FORMAT, "it is no checkpoint; weights alone" },
        { "adze_checkpoint", "2", NULL, ADZ_ERR_FORMAT, "of a later version" },
        { "step", "-1", NULL, ADZ_ERR_FORMAT, "its step is no number" },
        { "epoch", "99999999999999999999", NULL, ADZ_ERR_FORMAT, "its epoch is no number" },
        { "optimizer", "{", NULL, ADZ_ERR_FORMAT, "its optimizer is not what" },
        { "optimizer", "{\"name\":3}", NULL, ADZ_ERR_FORMAT, "its optimizer is not what" },
        { "optimizer", "{\"name\":\"Adam\"}", NULL, ADZ_ERR_STATE,
            "the file's optimizer is a Adam, this one a SGD" },
        { "optimizer", "{\"name\":\"SGD\",\"param_groups\":[]}", NULL, ADZ_ERR_STATE, "0 groups" },
        { "optimizer", NULL, NULL, ADZ_ERR_STATE, "no optimizer" },
        { "scheduler.1", "LambdaLR", NULL, ADZ_ERR_STATE, "a LambdaLR in the file, here a StepLR" },
        { "model.1.bias", NULL, three, ADZ_ERR_STATE, "1.bias ([3] given, [8] here)" },
        { "model.1.bias", NULL, ADZ_NONE, ADZ_ERR_STATE, "1 missing" },
        { "state.0.momentum_buffer", NULL, three, ADZ_ERR_STATE, "does not have the shape" },
        { "scheduler.0", NULL, three, ADZ_ERR_STATE, "scheduler.0 is float32[3] in the file" },
        { "scheduler.0", NULL, adz_zeros(ADZ_SHAPE(3, 1), ADZ_F64), ADZ_ERR_STATE,
            "scheduler.0 is float64[3, 1] in the file, and should be float64[3]" },
        { "scheduler.0", NULL, adz_zeros(ADZ_SHAPE(4), ADZ_F64), ADZ_ERR_STATE,
            "scheduler.0 is float64[4] in the file, and should be float64[3]" },
        { "generator.1", NULL, three, ADZ_ERR_STATE, "generator.1 is float32[3] in the file" },
        { "generator.1", NULL, ADZ_NONE, ADZ_ERR_STATE, "the file has no generator.1" },
        { "loader", NULL, adz_full(ADZ_SHAPE(6), 1000, ADZ_I64), ADZ_ERR_ARGUMENT,
            "batch 1000 of an epoch that has 8" },
        { "scheduler.0", NULL, adz_full(ADZ_SHAPE(3), -1, ADZ_F64), ADZ_ERR_FORMAT,
            "is no state of a" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_refused_with(&r, bad[i].key, bad[i].value, bad[i].tensor, bad[i].code, bad[i].says);
    }
    adz_checkpoint c = parts_of(&r);
    c.step = -1;
    assert_int_equal(adz_checkpoint_save(&c, temporary_path("x")), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    c.schedulers = NULL;
    assert_int_equal(adz_checkpoint_save(&c, temporary_path("x")), ADZ_ERR_NULL);
    assert_int_equal(adz_checkpoint_load(&c, temporary_path("kept")), ADZ_ERR_NULL); /* pending */
    adz_error_clear();
    finish(&r);
    adz_scope_close(scope);
    temporary_files(true);
}

/* A part that the file lacks is said before anything changes, whatever else is asked for. */
static void each_part_is_missed_alone(void **state)
{
    (void)state;
    run r = start(1);
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.model = r.model;
    assert_int_equal(adz_checkpoint_save(&c, temporary_path("model")), ADZ_OK);
    for (int part = 0; part < 4; ++part) {
        static const char *const missing[] = { "optimizer", "scheduler.0", "generator.0",
            "loader" };
        adz_checkpoint all = parts_of(&r), one = ADZ_CHECKPOINT;
        one.optimizer = part == 0 ? all.optimizer : NULL;
        one.schedulers = all.schedulers;
        one.n_schedulers = part == 1 ? 2 : 0;
        one.generators = all.generators;
        one.n_generators = part == 2 ? 3 : 0;
        one.loader = part == 3 ? all.loader : NULL;
        adz_generator_state before = adz_generator_get_state(NULL);
        assert_int_equal(adz_checkpoint_load(&one, temporary_path("model")), ADZ_ERR_STATE);
        assert_non_null(strstr(adz_error_message(), missing[part]));
        assert_non_null(strstr(adz_error_message(), "it was saved without one"));
        adz_error_clear();
        adz_generator_state after = adz_generator_get_state(NULL);
        assert_memory_equal(&before, &after, sizeof before);
    }
    finish(&r);
    temporary_files(true);
}

static void expect_null(adz_status status, const char *op, const char *argument)
{
    char says[80];
    snprintf(says, sizeof says, "%s: %s is NULL", op, argument);
    if (status != ADZ_ERR_NULL || strstr(adz_error_message(), says) == NULL) {
        fail_msg("\"%s\" instead of \"%s\"", adz_error_message(), says);
    }
    adz_error_clear();
}

static void what_is_null_is_named(void **state)
{
    (void)state;
    run r = start(1);
    adz_checkpoint c = ADZ_CHECKPOINT;
    assert_int_equal(adz_checkpoint_save(&c, temporary_path("x")), ADZ_OK);
    expect_null(adz_checkpoint_save(NULL, "x"), "adz_checkpoint_save", "checkpoint");
    expect_null(adz_checkpoint_save(&c, NULL), "adz_checkpoint_save", "path");
    expect_null(
        adz_checkpoint_load(NULL, temporary_path("x")), "adz_checkpoint_load", "checkpoint");
    expect_null(adz_checkpoint_load(&c, NULL), "adz_checkpoint_load", "path");
    c.n_schedulers = 1;
    expect_null(adz_checkpoint_load(&c, temporary_path("x")), "adz_checkpoint_load", "schedulers");
    expect_null(adz_checkpoint_save(&c, temporary_path("x")), "adz_checkpoint_save", "schedulers");
    adz_scheduler *none[2] = { r.schedulers[0], NULL };
    c.schedulers = none;
    c.n_schedulers = 2;
    expect_null(adz_checkpoint_load(&c, temporary_path("x")), "adz_checkpoint_load", "a scheduler");
    expect_null(adz_checkpoint_save(&c, temporary_path("x")), "adz_checkpoint_save", "a scheduler");
    c.n_schedulers = 0;
    c.n_generators = 2;
    expect_null(adz_checkpoint_load(&c, temporary_path("x")), "adz_checkpoint_load", "generators");
    expect_null(adz_checkpoint_save(&c, temporary_path("x")), "adz_checkpoint_save", "generators");

    adz_safetensors *file = adz_module_to_safetensors(r.model, NULL);
    assert_null(adz_module_to_safetensors(NULL, NULL));
    expect_null(adz_error_code(), "adz_module_to_safetensors", "module");
    expect_null(adz_module_save(NULL, "x"), "adz_module_save", "module");
    expect_null(adz_module_save(r.model, NULL), "adz_module_save", "path");
    expect_null(adz_module_load(NULL, "x", true), "adz_module_load", "module");
    expect_null(adz_module_load(r.model, NULL, true), "adz_module_load", "path");
    expect_null(
        adz_module_from_safetensors(NULL, file, true), "adz_module_from_safetensors", "module");
    expect_null(
        adz_module_from_safetensors(r.model, NULL, true), "adz_module_from_safetensors", "file");
    adz_safetensors_free(&file);
    finish(&r);
    temporary_files(true);
}

/* What another call left in errno says nothing about the numbers in a file; an error of adze that
 * nobody has taken stops a load before the file is opened. */
static void what_was_before_a_load(void **state)
{
    (void)state;
    run r = start(1);
    assert_int_equal(save_run(&r, temporary_path("run")), ADZ_OK);
    errno = ERANGE;
    assert_int_equal(load_run(&r, temporary_path("run")), ADZ_OK);
    adz_module *linear = adz_linear_new(2, 2, NULL);
    assert_null(adz_relu(NULL));
    assert_int_equal(load_run(&r, temporary_path("none")), ADZ_ERR_NULL);
    assert_int_equal(adz_module_load(linear, temporary_path("none"), true), ADZ_ERR_NULL);
    assert_non_null(strstr(adz_error_message(), "relu: x is NULL"));
    adz_error_clear();
    adz_module_free(&linear);
    finish(&r);
    temporary_files(true);
}

/* A graph that was recorded before a load must not go on with the weights of after it. */
static void a_load_is_a_write(void **state)
{
    (void)state;
    adz_module *model = adz_linear_new(3, 2, NULL);
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.model = model;
    assert_int_equal(adz_checkpoint_save(&c, temporary_path("run")), ADZ_OK);
    for (int weights_alone = 0; weights_alone < 2; ++weights_alone) {
        adz_tensor *w = adz_module_parameter(model, "weight");
        adz_tensor *loss = adz_sum(adz_mul(w, w), ADZ_ALL_DIMS, false);
        if (weights_alone) {
            assert_int_equal(adz_module_save(model, temporary_path("weights")), ADZ_OK);
            assert_int_equal(adz_module_load(model, temporary_path("weights"), true), ADZ_OK);
        } else {
            assert_int_equal(adz_checkpoint_load(&c, temporary_path("run")), ADZ_OK);
        }
        assert_int_equal(adz_backward(loss), ADZ_ERR_VERSION);
        const char *writer = weights_alone ? "load_state_dict" : "adz_checkpoint_load";
        if (strstr(adz_error_message(), writer) == NULL) {
            fail_msg("%s", adz_error_message());
        }
        adz_error_clear();
    }
    adz_module_free(&model);
    temporary_files(true);
}

/* ---- weights alone -------------------------------------------------------------------------- */

static adz_tensor *forward_tied(adz_module *self, adz_tensor *x)
{
    return adz_module_forward(
        adz_module_child_at(self, 1), adz_module_forward(adz_module_child_at(self, 0), x));
}

/* Two linear layers that share their weight. */
static adz_module *tied(void)
{
    static const adz_module_type type = {
        .size = sizeof(adz_module_type), .name = "Tied", .forward = forward_tied
    };
    adz_module *self = adz_module_new(&type, 0);
    adz_module_add_child(self, "encoder", adz_linear_new(3, 3, NULL));
    adz_module_add_child(self, "decoder", adz_linear_new(3, 3, NULL));
    adz_module_set_parameter(adz_module_child_at(self, 1), "weight",
        adz_module_parameter_at(adz_module_child_at(self, 0), 0));
    return self;
}

static void tied_weights(void **state)
{
    (void)state;
    adz_manual_seed(3);
    adz_module *model = tied(), *other = tied();
    for (int dedup = 0; dedup < 2; ++dedup) {
        adz_module_save_options o;
        memset(&o, 0xff, sizeof o);
        adz_module_save_options_init(&o, sizeof o);
        assert_true(o.size == sizeof o);
        assert_false(o.dedup);
        o.dedup = dedup != 0;
        assert_int_equal(adz_module_save_with(model, temporary_path("tied"), &o), ADZ_OK);
        adz_safetensors *file = adz_safetensors_load(temporary_path("tied"), NULL);
        assert_int_equal(adz_safetensors_count(file), dedup ? 3 : 4);
        assert_string_equal(adz_safetensors_metadata(file, "format"), "pt");
        assert_int_equal(adz_safetensors_has(file, "decoder.weight"), !dedup);
        if (dedup) {
            assert_string_equal(adz_safetensors_metadata(file, "decoder.weight"), "encoder.weight");
        }
        adz_safetensors_free(&file);
        adz_module_reset_parameters(other);
        assert_int_equal(adz_module_load(other, temporary_path("tied"), true), ADZ_OK);
        for (size_t i = 0; i < 3; ++i) {
            assert_true(adz_equal(
                adz_module_parameters(model).items[i], adz_module_parameters(other).items[i]));
        }
        assert_ptr_equal(adz_module_parameter(other, "encoder.weight"),
            adz_module_parameter(other, "decoder.weight"));
    }
    adz_module_free(&model);
    adz_module_free(&other);
    temporary_files(true);
}

/* A checkpoint has a tied weight once, and gives it back to both names. */
static void tied_weights_in_a_checkpoint(void **state)
{
    (void)state;
    adz_manual_seed(3);
    adz_checkpoint c = ADZ_CHECKPOINT;
    adz_module *model = tied(), *other = tied();
    c.model = model;
    assert_int_equal(adz_checkpoint_save(&c, temporary_path("tied")), ADZ_OK);
    adz_safetensors *file = adz_safetensors_load(temporary_path("tied"), NULL);
    assert_int_equal(adz_safetensors_count(file), 3);
    assert_string_equal(
        adz_safetensors_metadata(file, "model.decoder.weight"), "model.encoder.weight");
    adz_safetensors_free(&file);
    c.model = other;
    assert_int_equal(adz_checkpoint_load(&c, temporary_path("tied")), ADZ_OK);
    for (size_t i = 0; i < 3; ++i) {
        assert_true(adz_equal(
            adz_module_parameters(model).items[i], adz_module_parameters(other).items[i]));
    }
    adz_module_free(&model);
    adz_module_free(&other);
    temporary_files(true);
}

/* Metadata that reads like a tied name counts only where it can be one. */
static void odd_aliases(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *model = adz_linear_new(2, 2, NULL);
    adz_safetensors *file = adz_safetensors_new();
    adz_tensor *square = adz_ones(ADZ_SHAPE(2, 2), ADZ_F32), *two = adz_ones(ADZ_SHAPE(2), ADZ_F32);
    adz_safetensors_add(file, "weight", square);
    adz_safetensors_set_metadata(file, "bias", "nowhere"); /* there is no such tensor */
    assert_int_equal(adz_module_from_safetensors(model, file, true), ADZ_ERR_STATE);
    assert_non_null(strstr(adz_error_message(), "missing: bias"));
    assert_null(strstr(adz_error_message(), "unexpected: "));
    adz_error_clear();
    adz_safetensors_add(file, "bias", two);
    adz_safetensors_set_metadata(file, "bias", "weight");  /* the tensor counts */
    adz_safetensors_set_metadata(file, "other", "weight"); /* the module has no such name */
    adz_safetensors_set_metadata(file, "", "weight");
    assert_int_equal(adz_module_from_safetensors(model, file, true), ADZ_OK);
    assert_true(adz_equal(adz_module_parameter(model, "bias"), two));
    adz_safetensors_free(&file);
    adz_module_free(&model);
    adz_scope_close(scope);
}

static void wrong_weights_are_said(void **state)
{
    (void)state;
    adz_module *small = adz_linear_new(3, 2, NULL), *wide = adz_linear_new(5, 2, NULL);
    adz_linear_options o = ADZ_LINEAR_OPTIONS;
    o.bias = false;
    adz_module *bare = adz_linear_new(3, 2, &o);
    assert_int_equal(adz_module_save(small, temporary_path("small")), ADZ_OK);
    assert_int_equal(adz_module_load(wide, temporary_path("small"), true), ADZ_ERR_STATE);
    assert_non_null(strstr(adz_error_message(), "small: adz_module_load_state_dict: 0 missing, 0 "
                                                "unexpected, 1 of another shape"));
    assert_non_null(strstr(adz_error_message(), "weight ([2, 3] given, [2, 5] here)"));
    assert_int_equal(adz_module_load(small, temporary_path("small"), true), ADZ_ERR_STATE);
    adz_error_clear(); /* until then it refused */
    assert_int_equal(adz_module_load(bare, temporary_path("small"), true), ADZ_ERR_STATE);
    assert_non_null(strstr(adz_error_message(), "unexpected: bias"));
    adz_error_clear();
    assert_int_equal(adz_module_load(bare, temporary_path("small"), false), ADZ_OK);
    assert_true(
        adz_equal(adz_module_parameter(bare, "weight"), adz_module_parameter(small, "weight")));
    assert_int_equal(adz_module_load(small, temporary_path("none"), true), ADZ_ERR_IO);
    adz_error_clear();
    size_t size = 0;
    unsigned char *bytes = read_file(temporary_path("small"), &size);
    write_file(temporary_path("cut"), bytes, size - 3);
    free(bytes);
    assert_int_equal(adz_module_load(small, temporary_path("cut"), true), ADZ_ERR_FORMAT);
    assert_non_null(strstr(adz_error_message(), "the file is cut short or its header is wrong"));
    adz_error_clear();
    adz_module_free(&small);
    adz_module_free(&wide);
    adz_module_free(&bare);
    temporary_files(true);
}

/* Loading converts a half-precision file into f32 parameters, and nothing else. */
static void dtypes_convert(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *model = adz_linear_new(3, 2, NULL);
    adz_safetensors *file = adz_safetensors_new();
    adz_tensor *weight = adz_reshape(adz_arange(0, 6, 1, ADZ_F32), ADZ_SHAPE(2, 3));
    adz_safetensors_add(file, "weight", adz_to(weight, ADZ_BF16));
    adz_safetensors_add(file, "bias", adz_to(adz_ones(ADZ_SHAPE(2), ADZ_F32), ADZ_F16));
    assert_int_equal(adz_module_from_safetensors(model, file, true), ADZ_OK);
    assert_true(adz_equal(adz_module_parameter(model, "weight"), weight));
    assert_int_equal(adz_tensor_dtype(adz_module_parameter(model, "weight")), ADZ_F32);
    adz_safetensors_free(&file);
    file = adz_safetensors_new();
    adz_safetensors_add(file, "weight", adz_zeros(ADZ_SHAPE(2, 3), ADZ_F32));
    adz_safetensors_add(file, "bias", adz_zeros(ADZ_SHAPE(2), ADZ_F32));
    adz_module_to(model, ADZ_F64);
    adz_tensor *before = adz_clone(adz_module_parameter(model, "weight"));
    assert_int_equal(adz_module_from_safetensors(model, file, false), ADZ_ERR_STATE);
    assert_non_null(
        strstr(adz_error_message(), "weight (float32 given, float64 here), bias (float32"));
    adz_error_clear();
    assert_true(adz_equal(adz_module_parameter(model, "weight"), before));
    adz_safetensors_free(&file);
    adz_module_free(&model);
    adz_scope_close(scope);
}

/* ---- refused memory, refusing systems ------------------------------------------------------- */

static adz_status save_again(void *user)
{
    return save_run(user, temporary_path("kept"));
}

static bool kept_is_intact(void *user)
{
    (void)user;
    return files_equal(temporary_path("kept"), temporary_path("copy")) &&
           temporary_files(false) == 2;
}

static adz_status load_again(void *user)
{
    return load_run(user, temporary_path("kept"));
}

static bool run_is_as_it_was(void *user)
{
    return save_run(user, temporary_path("now")) == ADZ_OK &&
           files_equal(temporary_path("now"), temporary_path("was"));
}

static adz_status save_weights(void *user)
{
    adz_module_save_options o = ADZ_MODULE_SAVE_OPTIONS;
    o.dedup = true;
    return adz_module_save_with(user, temporary_path("weights"), &o);
}

static adz_status load_weights(void *user)
{
    return adz_module_load(user, temporary_path("weights"), true);
}

static void refused_memory_harms_nothing(void **state)
{
    (void)state;
    run r = start(1);
    train(&r, 11);
    assert_int_equal(save_run(&r, temporary_path("copy")), ADZ_OK);
    assert_int_equal(save_run(&r, temporary_path("kept")), ADZ_OK);
    train(&r, 13);
    int saving = refuse_each(save_again, kept_is_intact, &r);
    assert_true(saving >= 50);
    train(&r, 15);
    assert_int_equal(save_run(&r, temporary_path("was")), ADZ_OK);
    int loading = refuse_each(load_again, run_is_as_it_was, &r);
    assert_true(loading >= 60);
    assert_int_equal(r.step, 13);
    finish(&r);
    adz_module *model = tied();
    assert_int_equal(save_weights(model), ADZ_OK);
    int writing = refuse_each(save_weights, NULL, model);
    int reading = refuse_each(load_weights, NULL, model);
    assert_true(writing >= 15 && reading >= 25);
    print_message("refused: %d saving, %d loading, %d writing weights, %d reading them\n", saving,
        loading, writing, reading);
    adz_module_free(&model);
    temporary_files(true);
}

/* ---- the memory of the library for JSON ------------------------------------------------------ */

static int jansson_fails_in; /* requests; then once, or from there on */
static bool jansson_recovers, jansson_refused;

static void *refusing_malloc(size_t size)
{
    bool fails = jansson_fails_in > 0 && --jansson_fails_in == 0;
    jansson_refused = jansson_refused || fails;
    if (fails && !jansson_recovers) {
        jansson_fails_in = 1;
    }
    return fails ? NULL : malloc(size);
}

/* Saves the run as "new" or loads "kept" into it: a failure changes nothing. Of a load that
 * succeeds only that is asked for which jansson's own reading of numbers keeps. */
static bool is_whole(run *r, bool loads)
{
    adz_status status =
        loads ? load_run(r, temporary_path("kept")) : save_run(r, temporary_path("new"));
    jansson_fails_in = 0;
    assert_int_equal(adz_error_code(), status);
    adz_error_clear();
    if (loads && status == ADZ_OK) {
        assert_int_equal(r->step, 11);
        train(r, r->step + 2);
        assert_int_equal(save_run(r, temporary_path("was")), ADZ_OK);
        return true;
    }
    assert_true(run_is_as_it_was(r));
    size_t size = 0;
    unsigned char *bytes = read_file(temporary_path("new"), &size);
    assert_true((bytes != NULL) == (!loads && status == ADZ_OK));
    assert_true(bytes == NULL || files_equal(temporary_path("new"), temporary_path("was")));
    free(bytes);
    remove(temporary_path("new"));
    return status == ADZ_OK;
}

/* With any of jansson's requests refused, saving and loading fail as a whole or succeed. */
static void refused_json_harms_nothing(void **state)
{
    (void)state;
    run r = start(1);
    train(&r, 11);
    assert_int_equal(save_run(&r, temporary_path("kept")), ADZ_OK);
    train(&r, 13);
    assert_int_equal(save_run(&r, temporary_path("was")), ADZ_OK);
    json_malloc_t old_malloc;
    json_free_t old_free;
    json_get_alloc_funcs(&old_malloc, &old_free);
    json_set_alloc_funcs(refusing_malloc, free);
    int failures = 0;
    for (int way = 0; way < 4; ++way) {
        bool reached = true;
        for (int n = 1; reached; n += 1 + n / 10) {
            int64_t tensors = adzi_live_tensors(), bytes = adzi_live_bytes();
            jansson_recovers = way % 2 != 0;
            jansson_refused = false;
            jansson_fails_in = n;
            failures += is_whole(&r, way / 2 != 0) ? 0 : 1;
            reached = jansson_refused;
            if (adzi_live_tensors() != tensors || adzi_live_bytes() != bytes) {
                fail_msg("request %d, way %d: something stayed alive", n, way);
            }
        }
    }
    json_set_alloc_funcs(old_malloc, old_free);
    print_message("refused to jansson: %d\n", failures);
    assert_true(failures >= 100);
    finish(&r);
    temporary_files(true);
}

static void full_disk_leaves_the_old_checkpoint(void **state)
{
    (void)state;
    run r = start(1);
    train(&r, 4);
    assert_int_equal(save_run(&r, temporary_path("kept")), ADZ_OK);
    assert_int_equal(save_run(&r, temporary_path("copy")), ADZ_OK);
    train(&r, 6);
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    limit.rlim_cur = 1000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    adz_status status = save_run(&r, temporary_path("kept"));
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(status, ADZ_ERR_IO);
    adz_error_clear();
    assert_true(kept_is_intact(NULL));
    finish(&r);
    temporary_files(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_on_after_kill),
        cmocka_unit_test(parts_may_be_left_out),
        cmocka_unit_test(layout_is_as_documented),
        cmocka_unit_test(what_does_not_fit_changes_nothing),
        cmocka_unit_test(each_part_is_missed_alone),
        cmocka_unit_test(what_is_null_is_named),
        cmocka_unit_test(what_was_before_a_load),
        cmocka_unit_test(a_load_is_a_write),
        cmocka_unit_test(tied_weights),
        cmocka_unit_test(tied_weights_in_a_checkpoint),
        cmocka_unit_test(odd_aliases),
        cmocka_unit_test(wrong_weights_are_said),
        cmocka_unit_test(dtypes_convert),
        cmocka_unit_test(refused_memory_harms_nothing),
        cmocka_unit_test(refused_json_harms_nothing),
        cmocka_unit_test(full_disk_leaves_the_old_checkpoint),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
