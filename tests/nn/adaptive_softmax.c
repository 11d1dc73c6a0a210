/* AdaptiveLogSoftmaxWithLoss. */
#include "nn/case.h"

static const int64_t cutoffs[] = { 3, 6 };

static adz_module *build(bool whole_batch, bool head_bias)
{
    adz_adaptive_log_softmax_with_loss_options o = ADZ_ADAPTIVE_LOG_SOFTMAX_WITH_LOSS_OPTIONS;
    o.whole_batch = whole_batch;
    o.head_bias = head_bias;
    o.div_value = 2;
    return adz_adaptive_log_softmax_with_loss_new(8, 10, cutoffs, 2, &o);
}

static adz_module *plain(adz_generator *g)
{
    (void)g;
    return build(true, false);
}

static adz_module *with_bias(adz_generator *g)
{
    (void)g;
    adz_adaptive_log_softmax_with_loss_options o;
    adz_adaptive_log_softmax_with_loss_options_init(&o, sizeof o);
    o.head_bias = true;
    o.whole_batch = true;
    return adz_adaptive_log_softmax_with_loss_new(4, 5, cutoffs, 1, &o);
}

/* ---- facts ---------------------------------------------------------------------------------- */

/* The log-probability of each target, the loss, and the gradients of the parameters by it. */
static void results_of(adz_module *m, adz_tensor *x, adz_tensor *y, adz_tensor **results)
{
    adz_values *out = adz_values_new();
    results[0] = ADZ_CALL_RESULTS(m, out, { NULL, x }, { NULL, y });
    results[1] = adz_values_get(out, "loss");
    adz_values_free(&out);
    assert_non_null(results[0]);
    adz_tensor_list all = adz_module_parameters(m);
    assert_int_equal(
        adz_autograd_grad(&results[1], NULL, 1, all.items, all.count, NULL, results + 2), ADZ_OK);
}

/* Clusters that compute their own rows give what all rows give, and what log_prob says. */
static void own_rows_give_the_results_of_all_rows(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *own = build(false, true), *whole = build(true, true);
    adz_state_dict *values = adz_module_state_dict(own);
    assert_int_equal(adz_module_load_state_dict(whole, values, true), ADZ_OK);
    adz_state_dict_free(&values);
    adz_tensor *x = adz_randn(ADZ_SHAPE(12, 8), ADZ_F32), *a[8], *b[8];
    adz_tensor *y = adz_tensor_from(
        ((const int64_t[]){ 0, 9, 3, 2, 4, 5, 6, 7, 8, 1, 1, 9 }), ADZ_SHAPE(12), ADZ_I64);
    results_of(own, x, y, a);
    results_of(whole, x, y, b);
    for (int i = 0; i < 8; ++i) {
        assert_true(adz_allclose(a[i], b[i], 1e-5, 1e-6, false));
    }
    adz_tensor *logs = adz_adaptive_log_softmax_with_loss_log_prob(own, x);
    adz_tensor *picked = adz_squeeze(adz_gather(logs, 1, adz_unsqueeze(y, 1)), 1);
    assert_true(adz_allclose(a[0], picked, 1e-5, 1e-6, false));
    assert_float_equal(adz_item(a[1]), -adz_item(adz_mean(picked, ADZ_ALL_DIMS, false)), 1e-6);
    adz_tensor *total = adz_sum(adz_exp(logs), ADZ_DIMS(1), ADZ_DROPDIM);
    assert_true(adz_allclose(total, adz_ones(ADZ_SHAPE(12), ADZ_F32), 1e-6, 1e-6, false));
    adz_tensor *best = adz_adaptive_log_softmax_with_loss_predict(own, x);
    assert_true(adz_equal(best, adz_argmax(logs, ADZ_DIMS(1), ADZ_DROPDIM)));
    adz_module_release(&own);
    adz_module_release(&whole);
    adz_scope_close(scope);
}

/* One row without a batch, a batch whose clusters have no rows, and a batch without rows. */
static void small_batches_work(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    for (int whole = 0; whole < 2; ++whole) {
        adz_module *m = build(whole != 0, false);
        adz_tensor *x = adz_randn(ADZ_SHAPE(1, 8), ADZ_F32);
        adz_tensor *logs = adz_adaptive_log_softmax_with_loss_log_prob(m, x);
        for (int64_t class = 0; class < 10; ++class) {
            const int64_t at[] = { 0, class };
            adz_tensor *y = ADZ_CALL(
                m, { NULL, adz_select(x, 0, 0) }, { NULL, adz_scalar((double)class, ADZ_I32) });
            assert_non_null(y);
            assert_int_equal(adz_tensor_rank(y), 0);
            assert_float_equal(adz_item(y), adz_tensor_at(logs, at), 1e-6);
        }
        adz_values *out = adz_values_new();
        adz_tensor *y = ADZ_CALL_RESULTS(m, out, { NULL, adz_zeros(ADZ_SHAPE(0, 8), ADZ_F32) },
            { NULL, adz_zeros(ADZ_SHAPE(0), ADZ_I64) });
        assert_true(y != NULL && adz_tensor_numel(y) == 0);
        assert_true(isnan(adz_item(adz_values_get(out, "loss"))));
        adz_values_free(&out);
        adz_module_release(&m);
    }
    adz_scope_close(scope);
}

static void expect_failure(
    adz_module *m, adz_tensor *x, adz_tensor *y, adz_status status, const char *says)
{
    assert_null(ADZ_CALL(m, { NULL, x }, { NULL, y }));
    expect_error(status, says);
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    adz_module *m = build(false, false);
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 8), ADZ_F32), *y = adz_full(ADZ_SHAPE(2), 10, ADZ_I64);
    expect_failure(m, x, y, ADZ_ERR_INDEX, "index 10 at position [0] is none of the 10 classes");
    expect_failure(m, x, adz_full(ADZ_SHAPE(2), -1, ADZ_I64), ADZ_ERR_INDEX, "index -1");
    expect_failure(m, x, adz_zeros(ADZ_SHAPE(3), ADZ_I64), ADZ_ERR_SHAPE, "target[3]");
    expect_failure(m, x, adz_zeros(ADZ_SHAPE_SCALAR, ADZ_I64), ADZ_ERR_SHAPE, "[D] and []");
    expect_failure(m, x, adz_zeros(ADZ_SHAPE(2), ADZ_F32), ADZ_ERR_DTYPE, "target is float32");
    expect_failure(m, x, ADZ_NONE, ADZ_ERR_ARGUMENT, "target");
    assert_null(adz_adaptive_log_softmax_with_loss_log_prob(m, adz_ones(ADZ_SHAPE(8), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "[N, D]");
    adz_module *other = adz_linear_new(8, 8, NULL);
    assert_null(adz_adaptive_log_softmax_with_loss_predict(other, x));
    expect_error(ADZ_ERR_ARGUMENT, "of type Linear");
    adz_module_release(&other);
    adz_module_release(&m);
}

static void bad_cutoffs_are_refused(void **state)
{
    (void)state;
    static const int64_t same[] = { 3, 3 }, low[] = { 0, 3 }, high[] = { 3, 10 };
    expect_no_module(
        adz_adaptive_log_softmax_with_loss_new(8, 10, same, 2, NULL), "element 1 is 3");
    expect_no_module(adz_adaptive_log_softmax_with_loss_new(8, 10, low, 2, NULL), "element 0 is 0");
    expect_no_module(
        adz_adaptive_log_softmax_with_loss_new(8, 10, high, 2, NULL), "element 1 is 10");
    expect_no_module(adz_adaptive_log_softmax_with_loss_new(8, 10, same, 0, NULL), "no cutoffs");
    expect_no_module(
        adz_adaptive_log_softmax_with_loss_new(-8, 10, cutoffs, 2, NULL), "in_features is -8");
    adz_adaptive_log_softmax_with_loss_options o = ADZ_ADAPTIVE_LOG_SOFTMAX_WITH_LOSS_OPTIONS;
    o.div_value = 0;
    expect_no_module(
        adz_adaptive_log_softmax_with_loss_new(8, 10, cutoffs, 2, &o), "div_value is 0");
    o.div_value = 1e-300;
    expect_no_module(
        adz_adaptive_log_softmax_with_loss_new(8, 10, cutoffs, 2, &o), "too many hidden features");
    assert_null(adz_adaptive_log_softmax_with_loss_new(8, 10, NULL, 2, NULL));
    expect_error(ADZ_ERR_NULL, "cutoffs");
}

/* As Python's 11 // 1.1: the double 1.1 is a little more than 1.1, so ten of it exceed 11. */
static void hidden_sizes_are_whole_quotients(void **state)
{
    (void)state;
    adz_adaptive_log_softmax_with_loss_options o = ADZ_ADAPTIVE_LOG_SOFTMAX_WITH_LOSS_OPTIONS;
    static const double divisors[] = { 1.1, 0.1, 5.5, 12 };
    static const int64_t hidden[] = { 9, 109, 2, 0 };
    for (int i = 0; i < 4; ++i) {
        o.div_value = divisors[i];
        adz_module *m = adz_adaptive_log_softmax_with_loss_new(11, 10, cutoffs, 1, &o);
        adz_tensor *weight = adz_module_get_parameter(m, "tail.0.0.weight");
        assert_int_equal(adz_tensor_shape(weight).sizes[0], hidden[i]);
        adz_module_release(&m);
    }
}

static int computed;

static adz_tensor *counted(adz_module *self, adz_tensor *x)
{
    (void)self;
    ++computed;
    return adz_mul_number(x, 2);
}

static const adz_module_type counted_type = {
    .size = sizeof(adz_module_type), .name = "Counted", .forward = counted
};

/* The sizes of clusters are known without the values of their weights. */
static void parametrised_weights_are_computed_once(void **state)
{
    (void)state;
    adz_module *m = build(true, false);
    static const char *const layers[] = { "head", "tail.0.1", "tail.1.1" };
    for (int i = 0; i < 3; ++i) {
        assert_non_null(adz_module_register_parametrization(
            adz_module_get_child(m, layers[i]), "weight", adz_module_new(&counted_type, 0)));
    }
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 8), ADZ_F32), *y = adz_full(ADZ_SHAPE(2), 9, ADZ_I64);
    computed = 0;
    assert_non_null(ADZ_CALL(m, { NULL, x }, { NULL, y }));
    assert_int_equal(computed, 3);
    assert_non_null(adz_adaptive_log_softmax_with_loss_log_prob(m, x));
    assert_int_equal(computed, 6);
    adz_module_release(&m);
}

static bool compute(void)
{
    adz_scope *scope = adz_scope_open();
    adz_module *m = scope != NULL ? build(true, false) : NULL;
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 8), ADZ_F32), *y = adz_full(ADZ_SHAPE(2), 9, ADZ_I64);
    const bool good = m != NULL &&
                      adz_weight_norm(adz_module_get_child(m, "head"), "weight", 0) == ADZ_OK &&
                      adz_weight_norm(adz_module_get_child(m, "tail.0.1"), "weight", 0) == ADZ_OK &&
                      ADZ_CALL(m, { NULL, x }, { NULL, y }) != NULL &&
                      adz_adaptive_log_softmax_with_loss_log_prob(m, x) != NULL;
    adz_module_release(&m);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return good;
}

static void refused_memory_is_an_error(void **state)
{
    (void)state;
    assert_true(refuse_each_request(compute) > 50);
}

static void replaced_layers_need_weights(void **state)
{
    (void)state;
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 8), ADZ_F32), *y = adz_full(ADZ_SHAPE(2), 9, ADZ_I64);
    adz_module *m = build(true, false);
    assert_non_null(
        adz_module_set_child(adz_module_get_child(m, "tail.0"), "1", adz_identity_new()));
    expect_failure(m, x, y, ADZ_ERR_STATE, "a Identity has no weight");
    assert_non_null(adz_module_set_child(m, "head", adz_tanh_new()));
    expect_failure(m, x, y, ADZ_ERR_STATE, "a Tanh has no weight");
    assert_null(adz_adaptive_log_softmax_with_loss_log_prob(m, x));
    expect_error(ADZ_ERR_STATE, "a Tanh has no weight");
    adz_module_release(&m);
    m = build(true, false);
    assert_non_null(
        adz_module_set_child(adz_module_get_child(m, "tail"), "0", adz_linear_new(8, 3, NULL)));
    expect_failure(m, x, y, ADZ_ERR_STATE, "cluster 0, a Linear, must have two layers");
    adz_module_release(&m);
}

typedef struct {
    adz_module *m;
    adz_tensor *x, *y;
} planned;

static adz_tensor *step(void *user)
{
    const planned *p = user;
    return ADZ_CALL(p->m, { NULL, p->x }, { NULL, p->y });
}

/* The rows of a cluster depend on contents, so a plan refuses the call unless all rows are
 * computed. The sweep runs plans of modules that compute all rows. */
static void plans_need_whole_batches(void **state)
{
    (void)state;
    planned p = { build(false, false), adz_ones(ADZ_SHAPE(2, 8), ADZ_F32),
        adz_zeros(ADZ_SHAPE(2), ADZ_I64) };
    adz_plan *plan = adz_plan_new(step, &p, NULL);
    assert_null(plan);
    expect_error(ADZ_ERR_STATE, "set the option whole_batch");
    adz_module_release(&p.m);
}

static const struct CMUnitTest facts[] = {
    TEST(own_rows_give_the_results_of_all_rows),
    TEST(small_batches_work),
    TEST(bad_arguments_are_refused),
    TEST(bad_cutoffs_are_refused),
    TEST(plans_need_whole_batches),
    TEST(hidden_sizes_are_whole_quotients),
    TEST(parametrised_weights_are_computed_once),
    TEST(refused_memory_is_an_error),
    TEST(replaced_layers_need_weights),
};

const module_case adaptive_softmax_module = {
    .name = "adaptive_softmax",
    .samples = {
        { plain,
            "AdaptiveLogSoftmaxWithLoss(\n  (head): Linear(in_features=8, out_features=5, bias=False)\n  (tail): ModuleList(\n    (0): Sequential(\n      (0): Linear(in_features=8, out_features=4, bias=False)\n      (1): Linear(in_features=4, out_features=3, bias=False)\n    )\n    (1): Sequential(\n      (0): Linear(in_features=8, out_features=2, bias=False)\n      (1): Linear(in_features=2, out_features=4, bias=False)\n    )\n  )\n)",
            "head.weight tail.0.0.weight tail.0.1.weight tail.1.0.weight tail.1.1.weight",
            { X(7, 8), IDS(10, 7) } },
        { with_bias,
            "AdaptiveLogSoftmaxWithLoss(\n  (head): Linear(in_features=4, out_features=4, bias=True)\n  (tail): ModuleList(\n    (0): Sequential(\n      (0): Linear(in_features=4, out_features=1, bias=False)\n      (1): Linear(in_features=1, out_features=2, bias=False)\n    )\n  )\n)",
            "head.weight head.bias tail.0.0.weight tail.0.1.weight", { X(6, 4), IDS(5, 6) } },
    },
    FACTS(facts),
};
