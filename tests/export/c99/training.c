/* Training steps in C follow those of the library. */
#include "adze/zoo.h"
#include "side_by_side.h"
#include "tests.h"

static void training_by_sgd(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(8);
    adz_module *net =
        ADZ_SEQUENTIAL(adz_linear_new(6, 12, NULL), adz_tanh_new(), adz_linear_new(12, 2, NULL));
    c_network n = of(net, adz_randn(ADZ_SHAPE(10, 6), ADZ_F32));
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.momentum = 0.9;
    o.weight_decay = 1e-3;
    for (int variant = 0; variant < 3; ++variant) {
        o.nesterov = variant == 1;
        o.dampening = variant == 2 ? 0.1 : 0;
        adz_optimizer *optimizer = adz_sgd_new(adz_module_parameters(net), 0.01, &o);
        check_training(
            &n, &(training){ .optimizer = optimizer, .loss = MSE, .steps = 1000, .batches = 4 });
        adz_optimizer_release(&optimizer);
    }
    adz_module_release(&net);
    adz_scope_close(scope);
}

static void training_by_adam(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(9);
    adz_module *net = ADZ_SEQUENTIAL(adz_linear_new(6, 16, NULL), adz_relu_new(),
        adz_layer_norm_new(ADZ_SHAPE(16), NULL), adz_linear_new(16, 16, NULL),
        adz_gelu_new(ADZ_GELU_NONE), adz_linear_new(16, 5, NULL));
    c_network n = of(net, adz_randn(ADZ_SHAPE(10, 6), ADZ_F32));
    adz_optimizer *optimizer = adz_adam_new(adz_module_parameters(net), 1e-3, NULL);
    check_training(&n,
        &(training){ .optimizer = optimizer, .loss = CROSS_ENTROPY, .steps = 1000, .batches = 4 });
    /* The optimizer has made steps: the exported one goes on from its state. */
    check_training(&n,
        &(training){ .optimizer = optimizer, .loss = CROSS_ENTROPY, .steps = 50, .batches = 2 });
    adz_optimizer_release(&optimizer);
    adz_adamw_options decays = ADZ_ADAMW_OPTIONS;
    decays.weight_decay = 0.1;
    optimizer = adz_adamw_new(adz_module_parameters(net), 1e-3, &decays);
    check_training(
        &n, &(training){ .optimizer = optimizer, .loss = MSE, .steps = 100, .batches = 4 });
    adz_optimizer_release(&optimizer);
    adz_module_release(&net);
    adz_scope_close(scope);
}

/* Layers without loops: one output at batch 1. */
static void training_of_one_row(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(10);
    adz_module *net = ADZ_SEQUENTIAL(adz_linear_new(5, 8, NULL), adz_relu_new(),
        adz_linear_new(8, 1, NULL), adz_linear_new(1, 1, NULL));
    c_network n = of(net, adz_randn(ADZ_SHAPE(1, 5), ADZ_F32));
    adz_optimizer *optimizer = adz_adam_new(adz_module_parameters(net), 1e-3, NULL);
    check_training(
        &n, &(training){ .optimizer = optimizer, .loss = MSE, .steps = 50, .batches = 2 });
    adz_optimizer_release(&optimizer);
    adz_module_release(&net);
    adz_scope_close(scope);
}

/* With running statistics, with those of the batch, and without a weight. The layer before batch
 * norm has no bias: its gradient is nothing but rounding errors, which Adam would make large. */
static void training_with_batch_norm(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(14);
    adz_batch_norm1d_options plain = ADZ_BATCH_NORM1D_OPTIONS;
    plain.affine = false;
    plain.momentum = 0.3;
    adz_linear_options no_bias = ADZ_LINEAR_OPTIONS;
    no_bias.bias = false;
    adz_module *net =
        ADZ_SEQUENTIAL(adz_batch_norm1d_new(6, &plain), adz_linear_new(6, 12, &no_bias),
            adz_batch_norm1d_new(12, NULL), adz_tanh_new(), adz_linear_new(12, 2, NULL));
    c_network n = of(net, adz_randn(ADZ_SHAPE(10, 6), ADZ_F32));
    adz_optimizer *optimizer = adz_adam_new(adz_module_parameters(net), 1e-2, NULL);
    check_training(&n, &(training){ .optimizer = optimizer,
                           .loss = MSE,
                           .steps = 300,
                           .batches = 4,
                           .batch_statistics = true });
    check_training(
        &n, &(training){ .optimizer = optimizer, .loss = MSE, .steps = 100, .batches = 4 });
    adz_optimizer_release(&optimizer);
    adz_module_release(&net);
    /* x[N, C, L] */
    net = ADZ_SEQUENTIAL(adz_linear_new(3, 5, NULL), adz_batch_norm1d_new(4, NULL));
    n = of(net, adz_randn(ADZ_SHAPE(2, 4, 3), ADZ_F32));
    optimizer = adz_sgd_new(adz_module_parameters(net), 1e-2, NULL);
    check_training(&n, &(training){ .optimizer = optimizer,
                           .loss = MSE,
                           .steps = 100,
                           .batches = 2,
                           .batch_statistics = true });
    adz_optimizer_release(&optimizer);
    adz_module_release(&net);
    adz_scope_close(scope);
}

/* Scores of all tokens as rows: [B * T, V]. */
static adz_tensor *token_rows(adz_module *module, adz_tensor **in)
{
    adz_tensor *y = adz_module_forward(module, in[0]);
    return adz_reshape(y, ADZ_SHAPE(-1, y != NULL ? adz_tensor_size(y, -1) : 0));
}

/* The originals are trained, and each step in training mode moves the vectors of the spectral norm.
 */
static void training_of_parametrised_weights(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(17);
    adz_module *first = adz_linear_new(6, 12, NULL), *last = adz_linear_new(12, 2, NULL);
    assert_int_equal(adz_spectral_norm(first, "weight", NULL), ADZ_OK);
    assert_int_equal(adz_weight_norm(last, "weight", 0), ADZ_OK);
    adz_module *net = ADZ_SEQUENTIAL(first, adz_tanh_new(), last);
    c_network n = of(net, adz_randn(ADZ_SHAPE(10, 6), ADZ_F32));
    adz_optimizer *optimizer = adz_sgd_new(adz_module_parameters(net), 0.02, NULL);
    check_training(&n, &(training){ .optimizer = optimizer,
                           .loss = MSE,
                           .steps = 100,
                           .batches = 4,
                           .batch_statistics = true });
    check_training(
        &n, &(training){ .optimizer = optimizer, .loss = MSE, .steps = 100, .batches = 4 });
    adz_optimizer_release(&optimizer);
    adz_module_release(&net);
    adz_scope_close(scope);
}

static void training_of_a_transformer(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(10);
    adz_gpt2_options o = ADZ_GPT2_OPTIONS;
    o.vocab_size = 7;
    o.n_positions = o.n_ctx = 5;
    o.n_embd = 8;
    o.n_head = 2;
    o.n_layer = 1;
    adz_module *net = adz_gpt2_lm_head_model_new(&o);
    static const int64_t ids[] = { 1, 5, 2, 0, 3, 3, 6, 1, 2, 4 };
    c_network n = of(net, ids_of(ids, ADZ_SHAPE(2, 5)));
    n.call = token_rows;
    adz_optimizer *optimizer = adz_adam_new(adz_module_parameters(net), 1e-3, NULL);
    check_training(&n,
        &(training){ .optimizer = optimizer, .loss = CROSS_ENTROPY, .steps = 50, .batches = 1 });
    adz_optimizer_release(&optimizer);
    adz_module_release(&net);
    adz_scope_close(scope);
}

static void training_of_a_recurrent_network(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(11);
    adz_module *net = adz_lstm_new(3, 4, NULL);
    c_network n = of(net, adz_randn(ADZ_SHAPE(5, 2, 3), ADZ_F32));
    adz_optimizer *optimizer = adz_sgd_new(adz_module_parameters(net), 0.5, NULL);
    check_training(
        &n, &(training){ .optimizer = optimizer, .loss = MSE, .steps = 50, .batches = 3 });
    adz_optimizer_release(&optimizer);
    adz_module_release(&net);
    adz_scope_close(scope);
}

int training_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_by_sgd),
        cmocka_unit_test(training_by_adam),
        cmocka_unit_test(training_of_one_row),
        cmocka_unit_test(training_with_batch_norm),
        cmocka_unit_test(training_of_parametrised_weights),
        cmocka_unit_test(training_of_a_transformer),
        cmocka_unit_test(training_of_a_recurrent_network),
    };
    return cmocka_run_group_tests_name("c99: training", tests, temporary_begin, temporary_end);
}
