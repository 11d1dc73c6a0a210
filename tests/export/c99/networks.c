/* What the compiled functions of whole networks compute. */
#include "adze/zoo.h"
#include "network.h"
#include "tests.h"

static void feed_forward_networks(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(1);
    check_and_free(
        ADZ_SEQUENTIAL(adz_linear_new(13, 50, NULL), adz_relu_new(), adz_linear_new(50, 1, NULL)),
        adz_randn(ADZ_SHAPE(8, 13), ADZ_F32));
    check_and_free(ADZ_SEQUENTIAL(adz_linear_new(7, 20, NULL), adz_tanh_new(),
                       adz_linear_new(20, 9, NULL), adz_sigmoid_new(), adz_linear_new(9, 3, NULL)),
        adz_randn(ADZ_SHAPE(5, 7), ADZ_F32));
    adz_scope_close(scope);
}

/* ---- networks -------------------------------------------------------------------------------- */

static void normalised_networks(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(4);
    adz_module *net = ADZ_SEQUENTIAL(adz_linear_new(6, 16, NULL), adz_batch_norm1d_new(16, NULL),
        adz_relu_new(), adz_linear_new(16, 16, NULL), adz_layer_norm_new(ADZ_SHAPE(16), NULL),
        adz_gelu_new(ADZ_GELU_NONE), adz_dropout_new(0.5, NULL), adz_linear_new(16, 2, NULL));
    for (int i = 0; i < 3; ++i) { /* running statistics that are not the first ones */
        adz_module_forward(net, adz_randn(ADZ_SHAPE(30, 6), ADZ_F32));
    }
    adz_module_eval(net);
    check_and_free(net, adz_randn(ADZ_SHAPE(4, 6), ADZ_F32));
    adz_scope_close(scope);
}

static void dialects_of_feed_forward_networks(void **state)
{
    (void)state;
    static const char *const variants[] = { "ReLU", "GELU", "GLU", "Bilinear", "ReGLU", "GEGLU",
        "SwiGLU" };
    for (size_t i = 0; i < sizeof variants / sizeof *variants; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_manual_seed(5);
        adz_module *net = adz_feed_forward_variant_new(variants[i], 8, 20, NULL);
        if (net == NULL) {
            fail_msg("%s", adz_error_message());
        }
        adz_module_eval(net);
        check_and_free(net, adz_randn(ADZ_SHAPE(2, 3, 8), ADZ_F32));
        adz_scope_close(scope);
    }
}

static void recurrent_network(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(6);
    adz_lstm_module_options o = ADZ_LSTM_MODULE_OPTIONS;
    o.num_layers = 2;
    o.bidirectional = true;
    check_and_free(adz_lstm_new(5, 7, &o), adz_randn(ADZ_SHAPE(4, 3, 5), ADZ_F32));
    o.batch_first = true;
    o.bidirectional = false;
    check_and_free(adz_lstm_new(5, 8, &o), adz_randn(ADZ_SHAPE(4, 3, 5), ADZ_F32));
    check_and_free(adz_gru_new(5, 7, NULL), adz_randn(ADZ_SHAPE(4, 3, 5), ADZ_F32));
    check_and_free(adz_rnn_new(5, 7, NULL), adz_randn(ADZ_SHAPE(4, 3, 5), ADZ_F32));
    adz_scope_close(scope);
}

static void transformer(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(7);
    adz_gpt2_options o = ADZ_GPT2_OPTIONS;
    o.vocab_size = 11;
    o.n_positions = o.n_ctx = 9;
    o.n_embd = 16;
    o.n_head = 4;
    o.n_layer = 2;
    adz_module *net = adz_gpt2_lm_head_model_new(&o);
    if (net == NULL) {
        fail_msg("%s", adz_error_message());
    }
    adz_module_eval(net);
    static const int64_t ids[] = { 1, 5, 10, 0, 3, 3, 7, 9, 2, 4, 6, 8, 10, 1 };
    check_and_free(net, ids_of(ids, ADZ_SHAPE(2, 7)));
    adz_scope_close(scope);
}

int networks_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(feed_forward_networks),
        cmocka_unit_test(normalised_networks),
        cmocka_unit_test(dialects_of_feed_forward_networks),
        cmocka_unit_test(recurrent_network),
        cmocka_unit_test(transformer),
    };
    return cmocka_run_group_tests_name("c99: networks", tests, temporary_begin, temporary_end);
}
