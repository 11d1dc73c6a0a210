/* Averages of weights. */
#include "adze/optim/averaged_model.h"
#include "nn/case.h"

static adz_module *network(adz_generator *g)
{
    (void)g;
    return ADZ_SEQUENTIAL(adz_linear_new(4, 3, NULL), adz_batch_norm1d_new(3, NULL));
}

static adz_module *averaged(adz_generator *g)
{
    adz_module *model = network(g), *copy = adz_averaged_model_new(model, NULL);
    adz_module_release(&model);
    return copy;
}

/* Moves all parameters and the running statistics of a model by draws of the step. */
static void move(adz_module *model, int t)
{
    const adz_tensor_list all = adz_module_parameters(model);
    ADZ_NO_GRAD
    {
        for (size_t i = 0; i < all.count; ++i) {
            adz_add_number_(all.items[i], sin(1.7 * t + (double)i));
        }
        adz_add_number_(adz_module_get_buffer(model, "1.running_mean"), 0.1 * t + 0.05);
        adz_add_number_(adz_module_get_buffer(model, "1.num_batches_tracked"), 1 + t);
    }
}

/* The average after each step is that of a plain loop over one element of every parameter and of
 * the running mean. The count of batches is cut to an integer. */
static void averages_are_those_of_a_loop(void **state)
{
    (void)state;
    for (int k = 0; k < 4; ++k) {
        adz_averaged_model_options o = ADZ_AVERAGED_MODEL_OPTIONS;
        o.decay = k < 2 ? ADZ_MEAN_OF_ALL : 0.7;
        o.use_buffers = k % 2 == 1;
        adz_module *model = network(NULL), *a = adz_averaged_model_new(model, &o);
        adz_tensor *w = adz_module_get_parameter(model, "0.bias");
        adz_tensor *mean = adz_module_get_buffer(model, "1.running_mean");
        double of_w = 0, of_mean = 0, of_count = 0;
        for (int t = 0; t < 6; ++t) {
            move(model, t);
            const double now = adz_tensor_at(w, (int64_t[]){ 1 });
            const double m = adz_tensor_at(mean, (int64_t[]){ 1 });
            const double count = adz_item(adz_module_get_buffer(model, "1.num_batches_tracked"));
            const double keep = t == 0 ? 0 : k < 2 ? 1 - 1.0 / (t + 1) : 0.7;
            assert_int_equal(adz_averaged_model_update(a, model), ADZ_OK);
            of_w = keep * of_w + (1 - keep) * now;
            of_mean = o.use_buffers ? keep * of_mean + (1 - keep) * m : m;
            of_count = o.use_buffers ? floor(keep * of_count + (1 - keep) * count + 1e-5) : count;
            const adz_tensor *bias = adz_module_get_parameter(a, "module.0.bias");
            const adz_tensor *its_mean = adz_module_get_buffer(a, "module.1.running_mean");
            assert_true(fabs(adz_tensor_at(bias, (int64_t[]){ 1 }) - of_w) < 1e-6);
            assert_true(fabs(adz_tensor_at(its_mean, (int64_t[]){ 1 }) - of_mean) < 1e-6);
            assert_true(
                adz_item(adz_module_get_buffer(a, "module.1.num_batches_tracked")) == of_count);
            assert_true(adz_item(adz_module_get_buffer(a, "n_averaged")) == t + 1);
            assert_null(adz_tensor_grad(bias));
        }
        adz_module_release(&a);
        adz_module_release(&model);
    }
}

static adz_tensor *captured(void *user)
{
    adz_module *const *both = user;
    return adz_averaged_model_update(both[0], both[1]) == ADZ_OK
               ? adz_module_get_parameter(both[0], "module.0.bias")
               : NULL;
}

/* A plan replays the update: the first one copies, further ones average. */
static void an_update_is_captured(void **state)
{
    (void)state;
    adz_module *model = network(NULL), *a = adz_averaged_model_new(model, NULL);
    adz_module *b = adz_averaged_model_new(model, NULL), *both[] = { b, model };
    adz_plan *plan = NULL;
    for (int t = 0; t < 4; ++t) {
        move(model, t);
        assert_int_equal(adz_averaged_model_update(a, model), ADZ_OK);
        plan = plan == NULL ? adz_plan_new(captured, both, NULL) : plan;
        assert_non_null(plan);
        assert_int_equal(t == 0 ? ADZ_OK : adz_plan_run(plan), ADZ_OK);
        const adz_tensor_list ours = adz_module_parameters(a), theirs = adz_module_parameters(b);
        for (size_t i = 0; i < ours.count; ++i) {
            assert_true(adz_equal(ours.items[i], theirs.items[i]));
        }
        assert_true(adz_item(adz_module_get_buffer(b, "n_averaged")) == t + 1);
    }
    adz_plan_info info;
    adz_plan_get_info(plan, &info, sizeof info);
    assert_true(info.captured && info.captures == 1);
    adz_plan_free(&plan);
    adz_module_release(&a);
    adz_module_release(&b);
    adz_module_release(&model);
}

static void other_models_are_refused(void **state)
{
    (void)state;
    adz_module *model = network(NULL), *a = adz_averaged_model_new(model, NULL);
    adz_module *other = adz_linear_new(4, 3, NULL);
    assert_int_equal(adz_averaged_model_update(model, model), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "averaged is a Sequential; it has to be made by");
    assert_int_equal(adz_averaged_model_update(a, other), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "the averaged model has 4 parameters, and the model 2");
    assert_true(adz_item(adz_module_get_buffer(a, "n_averaged")) == 0);
    assert_int_equal(adz_averaged_model_update(a, NULL), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "model is NULL");
    assert_null(adz_averaged_model_new(NULL, NULL));
    expect_error(ADZ_ERR_NULL, "model is NULL");
    adz_averaged_model_options o = ADZ_AVERAGED_MODEL_OPTIONS;
    o.decay = 1.5;
    assert_null(adz_averaged_model_new(model, &o));
    expect_error(ADZ_ERR_ARGUMENT, "decay is 1.5");
    adz_module_release(&other);
    adz_module_release(&a);
    adz_module_release(&model);
}

/* ---- statistics ------------------------------------------------------------------------------ */

typedef struct {
    int at, n;
    bool fails;
} batches;

static adz_tensor *batch_of(int i)
{
    const float values[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 5, 2 };
    return adz_mul_number(adz_tensor_from(values, ADZ_SHAPE(4, 3), ADZ_F32), 1 + i);
}

static adz_tensor *next_batch(void *user)
{
    batches *b = user;
    if (b->at == b->n) {
        if (b->fails) {
            adz_error_set("next_batch", ADZ_ERR_IO, "the data have ended");
        }
        return NULL;
    }
    return batch_of(b->at++);
}

static void statistics_are_averages_of_batches(void **state)
{
    (void)state;
    adz_batch_norm1d_options o = ADZ_BATCH_NORM1D_OPTIONS;
    o.momentum = 0.3;
    adz_module *norm = adz_batch_norm1d_new(3, &o);
    adz_module_eval(norm);
    batches b = { .n = 3 };
    assert_int_equal(adz_update_bn(norm, next_batch, &b), ADZ_OK);
    assert_false(adz_module_is_training(norm));
    double mean = 0;
    for (int i = 0; i < 3; ++i) {
        mean += adz_item(adz_mean(adz_narrow(batch_of(i), 1, 1, 1), ADZ_ALL_DIMS, ADZ_DROPDIM)) / 3;
    }
    adz_tensor *running = adz_module_get_buffer(norm, "running_mean");
    assert_true(fabs(adz_tensor_at(running, (int64_t[]){ 1 }) - mean) < 1e-5);
    assert_true(adz_item(adz_module_get_buffer(norm, "num_batches_tracked")) == 3);
    b = (batches){ .n = 1, .fails = true };
    assert_int_equal(adz_update_bn(norm, next_batch, &b), ADZ_ERR_IO);
    expect_error(ADZ_ERR_IO, "the data have ended");
    adz_module_train(norm, true); /* the momentum is that of before */
    const double before = adz_tensor_at(running, (int64_t[]){ 1 });
    adz_module_forward(norm, batch_of(5));
    const double one =
        adz_item(adz_mean(adz_narrow(batch_of(5), 1, 1, 1), ADZ_ALL_DIMS, ADZ_DROPDIM));
    assert_true(fabs(adz_tensor_at(running, (int64_t[]){ 1 }) - (0.7 * before + 0.3 * one)) < 1e-5);
    assert_int_equal(adz_update_bn(norm, NULL, NULL), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "next is NULL");
    adz_module_release(&norm);
    adz_module *plain = adz_linear_new(3, 3, NULL);
    b = (batches){ .n = 1 };
    assert_int_equal(adz_update_bn(plain, next_batch, &b), ADZ_OK);
    assert_int_equal(b.at, 0);
    adz_module_release(&plain);
}

/* A batch norm in two parents is visited twice. */
static void a_shared_norm_keeps_its_momentum(void **state)
{
    (void)state;
    adz_batch_norm1d_options o = ADZ_BATCH_NORM1D_OPTIONS;
    o.momentum = 0.3;
    adz_module *norm = adz_batch_norm1d_new(3, &o);
    adz_module *first = ADZ_SEQUENTIAL(adz_module_keep(norm));
    adz_module *model = ADZ_SEQUENTIAL(first, ADZ_SEQUENTIAL(adz_module_keep(norm)));
    batches b = { .n = 2 };
    assert_int_equal(adz_update_bn(model, next_batch, &b), ADZ_OK);
    adz_tensor *running = adz_module_get_buffer(norm, "running_mean");
    const double before = adz_tensor_at(running, (int64_t[]){ 1 });
    adz_module_train(norm, true);
    adz_module_forward(norm, batch_of(5));
    const double one =
        adz_item(adz_mean(adz_narrow(batch_of(5), 1, 1, 1), ADZ_ALL_DIMS, ADZ_DROPDIM));
    assert_true(fabs(adz_tensor_at(running, (int64_t[]){ 1 }) - (0.7 * before + 0.3 * one)) < 1e-5);
    adz_module_release(&model);
    adz_module_release(&norm);
}

static const struct CMUnitTest facts[] = {
    TEST(averages_are_those_of_a_loop),
    TEST(an_update_is_captured),
    TEST(other_models_are_refused),
    TEST(statistics_are_averages_of_batches),
    TEST(a_shared_norm_keeps_its_momentum),
};

const module_case averaged_model_module = {
    .name = "averaged_model",
    .samples = { { averaged,
        "AveragedModel(\n  (module): Sequential(\n    (0): Linear(in_features=4, out_features=3, "
        "bias=True)\n    (1): BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, "
        "track_running_stats=True)\n  )\n)",
        "n_averaged module.0.weight module.0.bias module.1.weight module.1.bias "
        "module.1.running_mean module.1.running_var module.1.num_batches_tracked",
        { X(5, 4) } } },
    FACTS(facts),
};
