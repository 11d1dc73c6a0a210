/* Invalid arguments are refused with messages that say what to do. The sweep of tests/sweep finds
 * arguments that crash a call. This file states which messages and results are expected. */
#include "../nn.h"
#include "../temporary.h"

#include <limits.h>

#include "adze/custom.h"
#include "adze/zoo.h"

static adz_optimizer *sgd_with(const adz_sgd_options *options)
{
    adz_tensor *w = adz_requires_grad_(adz_ones(ADZ_SHAPE(2), ADZ_F64), true);
    return adz_sgd_new(adz_tensor_list_of(&w, 1), 0.1, options);
}

/* ---- structs that begin with their size ------------------------------------------------------ */

static void options_without_a_size_are_refused(void **state)
{
    (void)state;
    assert_null(sgd_with(&(adz_sgd_options){ .momentum = 0.9 }));
    expect_error(ADZ_ERR_ARGUMENT, "adz_sgd_new: the struct's size is 0");
    assert_null(sgd_with(&(adz_sgd_options){ .size = 7, .momentum = 0.9 }));
    expect_error(ADZ_ERR_ARGUMENT, "begin with ADZ_SGD_OPTIONS");
    assert_null(adz_linear_new(2, 3, &(adz_linear_options){ .bias = false }));
    expect_error(ADZ_ERR_ARGUMENT, "begin with ADZ_LINEAR_OPTIONS");
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE_SCALAR, ADZ_F64), true);
    assert_int_equal(
        adz_autograd_backward(&x, NULL, 1, &(adz_backward_options){ .retain_graph = true }),
        ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "begin with ADZ_BACKWARD_OPTIONS");
    assert_null(adz_tensor_grad(x));
}

/* A program that was compiled with another version of the headers passes a struct with more or
 * fewer fields. */
static void options_of_other_versions_are_read_as_far_as_both_know_them(void **state)
{
    (void)state;
    struct {
        adz_sgd_options o;
        double unknown;
    } newer = { ADZ_SGD_OPTIONS, 7 };
    newer.o.size = sizeof newer;
    newer.o.momentum = 0.9;
    adz_optimizer *sgd = sgd_with(&newer.o);
    assert_true(adz_optimizer_get(sgd, 0, "momentum") == 0.9);
    adz_optimizer_release(&sgd);

    adz_sgd_options older = {
        .size = offsetof(adz_sgd_options, dampening), .momentum = 0.8, .dampening = 0.7
    };
    sgd = sgd_with(&older);
    assert_true(adz_optimizer_get(sgd, 0, "momentum") == 0.8);
    assert_true(adz_optimizer_get(sgd, 0, "dampening") == 0);
    adz_optimizer_release(&sgd);
    older.size = sizeof older.size; /* a struct without any field after its size */
    sgd = sgd_with(&older);
    assert_true(adz_optimizer_get(sgd, 0, "momentum") == 0);
    adz_optimizer_release(&sgd);
}

static void options_are_filled_only_where_there_is_room(void **state)
{
    (void)state;
    adz_sgd_options o;
    memset(&o, 1, sizeof o);
    adz_sgd_options_init(&o, 7);
    expect_error(ADZ_ERR_ARGUMENT, "adz_sgd_options_init: size is 7");
    assert_int_equal(((unsigned char *)&o)[0], 1);
    adz_sgd_options_init(NULL, sizeof o);
    expect_error(ADZ_ERR_NULL, "adz_sgd_options_init");
    adz_backward_options_init(NULL, sizeof(adz_backward_options));
    expect_error(ADZ_ERR_NULL, "adz_backward_options_init");
    adz_sgd_options_init(&o, sizeof o);
    assert_int_equal(o.size, sizeof o);
    assert_int_equal(adz_error_code(), ADZ_OK);
}

static void a_checkpoint_without_a_size_is_not_written(void **state)
{
    (void)state;
    adz_module *model = adz_linear_new(2, 3, NULL);
    adz_checkpoint run = { .model = model };
    const char *path = temporary_path("run");
    assert_int_equal(adz_checkpoint_save(&run, path), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "begin with ADZ_CHECKPOINT");
    assert_int_equal(temporary_files(false), 0);
    run.size = sizeof run;
    assert_int_equal(adz_checkpoint_save(&run, path), ADZ_OK);
    run.size = 0;
    assert_int_equal(adz_checkpoint_load(&run, path), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "begin with ADZ_CHECKPOINT");
    adz_module_release(&model);
}

static void types_without_a_size_are_refused(void **state)
{
    (void)state;
    assert_null(adz_module_new(&(adz_module_type){ .name = "Odd" }, 0));
    expect_error(ADZ_ERR_ARGUMENT, "set it to sizeof(adz_module_type)");
}

/* ---- NULL, and the largest and smallest numbers ---------------------------------------------- */

static void null_and_nan_are_said(void **state)
{
    (void)state;
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 3), ADZ_F32);
    assert_true(isnan(adz_tensor_at(x, NULL)));
    expect_error(ADZ_ERR_NULL, "tensor_at: index");
    adz_get_memory_info(NULL, sizeof(adz_memory_info));
    expect_error(ADZ_ERR_NULL, "get_memory_info: info");
    assert_true(isnan(adz_clip_grad_norm((adz_tensor_list){ NULL, 3 }, 1, 2)));
    expect_error(ADZ_ERR_NULL, "adz_clip_grad_norm");
    assert_int_equal(adz_clip_grad_value((adz_tensor_list){ NULL, 3 }, 1), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "adz_clip_grad_value");
    assert_null(adz_dataset_keep(NULL));
    expect_error(ADZ_ERR_NULL, "adz_dataset_keep");
    adz_gradcheck_function none = { NULL, NULL };
    assert_int_equal(adz_gradcheck(&none, &x, 1, NULL, NULL), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "gradcheck: the function's call");
    assert_null(adz_init_kaiming_normal_(x, NAN, ADZ_FAN_IN, ADZ_NONLINEARITY_LEAKY_RELU, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "calculate_gain: a");
    adz_fastai_config config;
    assert_int_equal(adz_fastai_config_init(&config, 1, "tfmer_lm_config"), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "adz_fastai_config_init: size is 1");
}

/* The function of a schedule records what is wrong, and the schedule reports that error. */
static void a_warmup_without_its_numbers_is_an_error(void **state)
{
    (void)state;
    adz_lr_lambda const functions[] = { adz_lr_warmup_constant, adz_lr_warmup_inverse_sqrt,
        adz_lr_warmup_linear };
    adz_optimizer *sgd = sgd_with(NULL);
    for (int i = 0; i < 3; ++i) {
        assert_true(isnan(functions[i](1, 0, NULL)));
        expect_error(ADZ_ERR_NULL, "user is NULL");
        assert_null(adz_lambda_lr_new(sgd, functions[i], NULL));
        expect_error(ADZ_ERR_NULL, "user is NULL");
        adz_lr_warmup w = { 4, INT64_MAX };
        assert_true(functions[i](INT64_MAX, 0, &w) >= 0);
        assert_true(functions[i](1, 0, &w) > 0);
    }
    adz_optimizer_release(&sgd);
}

/* The longest possible schedules. A step of them changes the learning rate by less than 1e-12. */
static void schedules_may_be_as_long_as_an_integer(void **state)
{
    (void)state;
    adz_optimizer *sgd = sgd_with(NULL);
    adz_scheduler *all[] = { adz_cosine_annealing_lr_new(sgd, INT64_MAX, 0),
        adz_cosine_annealing_lr_new(sgd, ((int64_t)1 << 62) + 1, 0),
        adz_step_lr_new(sgd, INT64_MAX, 0.5),
        adz_cosine_annealing_warm_restarts_new(sgd, INT64_MAX, INT64_MAX, 0),
        adz_linear_lr_new(sgd, 1, 1, INT64_MAX) };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        assert_non_null(all[i]);
        for (int k = 0; k < 3; ++k) {
            assert_int_equal(adz_scheduler_step(all[i]), ADZ_OK);
            assert_true(fabs(adz_optimizer_get(sgd, 0, "lr") - 0.1) < 1e-12);
        }
        adz_scheduler_release(&all[i]);
    }
    adz_one_cycle_lr_options o = ADZ_ONE_CYCLE_LR_OPTIONS;
    o.cycle_momentum = false;
    adz_scheduler *cycle = adz_one_cycle_lr_new(sgd, 0.1, INT64_MAX, &o);
    assert_int_equal(adz_scheduler_step(cycle), ADZ_OK);
    const double far[] = { 0x1p63, 0.1, 0.1 };
    assert_int_equal(adz_scheduler_set_state(cycle, far, 3), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    adz_scheduler_release(&cycle);
    adz_optimizer_release(&sgd);
}

static void a_list_that_is_null_is_not_as_long_as_it_says(void **state)
{
    (void)state;
    adz_optimizer *sgd = sgd_with(NULL);
    adz_one_cycle_lr_options cycle = ADZ_ONE_CYCLE_LR_OPTIONS;
    cycle.cycle_momentum = false;
    cycle.n_max_lrs = 1;
    assert_null(adz_one_cycle_lr_new(sgd, 0.1, 10, &cycle));
    expect_error(ADZ_ERR_ARGUMENT, "1 numbers in max_lrs");
    adz_reduce_lr_on_plateau_options plateau = ADZ_REDUCE_LR_ON_PLATEAU_OPTIONS;
    plateau.n_min_lrs = 1;
    assert_null(adz_reduce_lr_on_plateau_new(sgd, &plateau));
    expect_error(ADZ_ERR_ARGUMENT, "1 numbers in min_lrs");
    adz_optimizer_release(&sgd);
    adz_fastai_config config;
    assert_int_equal(adz_fastai_config_init(&config, sizeof config, "tfmer_clas_config"), ADZ_OK);
    config.n_layers = 0;
    adz_fastai_text_classifier_options classifier = ADZ_FASTAI_TEXT_CLASSIFIER_OPTIONS;
    classifier.n_lin_ftrs = 1;
    assert_null(adz_fastai_text_classifier_new(10, 2, &config, &classifier));
    expect_error(ADZ_ERR_NULL, "lin_ftrs");
}

static void numbers_at_the_end_of_their_type(void **state)
{
    (void)state;
    adz_optimizer *sgd = sgd_with(NULL);
    assert_int_equal(adz_optimizer_set(sgd, INT_MAX, "lr", 1), ADZ_ERR_INDEX);
    expect_error(ADZ_ERR_INDEX, "there is no group 2147483647");
    adz_optimizer_release(&sgd);
    assert_string_equal(adz_status_name((adz_status)INT_MIN), "unknown status");
    assert_string_equal(adz_status_name(ADZ_ERR_UNSUPPORTED), "ADZ_ERR_UNSUPPORTED");
    assert_string_equal(adz_status_name((adz_status)(ADZ_ERR_UNSUPPORTED - 1)), "unknown status");
    adz_tensor *x = adz_requires_grad_(adz_arange(0, 6, 1, ADZ_F64), true);
    adz_tensor *y = adz_slice(x, 0, 1, 6, INT64_MAX);
    assert_true(HOLDS(y, 0, 1));
    assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_true(HOLDS(adz_tensor_grad(x), 0, 0, 1, 0, 0, 0, 0));
    y = adz_slice(adz_reshape(adz_detach(x), ADZ_SHAPE(2, 3)), 0, 0, 2, INT64_MAX);
    assert_true(HOLDS(y, 0, 0, 1, 2));
}

/* A shape has room for 8 sizes. A message about a shape of rank 9 must not read a ninth. */
static void shapes_of_too_many_sizes_are_not_read(void **state)
{
    (void)state;
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 3), ADZ_F32), *w = adz_ones(ADZ_SHAPE(3), ADZ_F32);
    const int ranks[] = { 9, INT_MAX, INT_MIN };
    for (int i = 0; i < 3; ++i) {
        char text[32];
        adz_shape shape = { ranks[i], { 1, 1, 1, 1, 1, 1, 1, 1 } };
        snprintf(text, sizeof text, "(rank %d)", ranks[i]);
        assert_null(adz_expand(x, shape));
        expect_error(ADZ_ERR_SHAPE, text);
        assert_null(adz_layer_norm(x, shape, w, w, 1e-5));
        expect_error(ADZ_ERR_SHAPE, text);
        assert_null(adz_reshape(x, shape));
        expect_error(ADZ_ERR_SHAPE, "reshape");
        assert_null(adz_zeros(shape, ADZ_F32));
        expect_error(ADZ_ERR_SHAPE, "zeros");
    }
}

/* ---- modules --------------------------------------------------------------------------------- */

static adz_module *labml_layer(void)
{
    return adz_labml_transformer_layer_new(
        2, adz_labml_attention_new(1, 2, NULL), adz_feed_forward_new(2, 2, NULL), 0, NULL);
}

static adz_module *of_layers(int kind, int64_t n)
{
    adz_gpt2_options gpt2 = ADZ_GPT2_OPTIONS;
    adz_fastai_transformer_options transformer = ADZ_FASTAI_TRANSFORMER_OPTIONS;
    adz_fastai_qrnn_options qrnn = ADZ_FASTAI_QRNN_OPTIONS;
    adz_lstm_module_options lstm = ADZ_LSTM_MODULE_OPTIONS;
    gpt2.n_layer = transformer.n_layers = qrnn.n_layers = lstm.num_layers = n;
    gpt2.n_embd = gpt2.vocab_size = gpt2.n_positions = gpt2.n_ctx = gpt2.n_head = 1;
    transformer.n_heads = 1;
    transformer.d_model = transformer.d_head = transformer.d_inner = transformer.ctx_len = 2;
    return kind == 0   ? adz_gpt2_model_new(&gpt2)
           : kind == 1 ? adz_fastai_transformer_new(3, &transformer)
           : kind == 2 ? adz_fastai_awd_lstm_new(3, 2, 2, n, NULL)
           : kind == 3 ? adz_labml_encoder_new(labml_layer(), n)
           : kind == 4 ? adz_fastai_qrnn_new(2, 2, &qrnn)
                       : adz_lstm_new(2, 2, &lstm);
}

/* A network of 2^63 - 1 layers must be refused before the first layer is made. Otherwise layers
 * would be made until the memory limit is reached. */
static void layers_are_counted_before_they_are_made(void **state)
{
    (void)state;
    adz_set_memory_limit(32 << 20);
    for (int kind = 0; kind <= 5; ++kind) {
        adz_module *module = of_layers(kind, 2);
        assert_non_null(module);
        adz_module_release(&module);
        assert_null(of_layers(kind, INT64_MAX));
        expect_error(ADZ_ERR_ARGUMENT, "is 9223372036854775807, but must be in [");
        assert_null(of_layers(kind, 65536));
        expect_error(ADZ_ERR_ARGUMENT, "65535]");
    }
    adz_set_memory_limit(0);
}

static void sizes_whose_multiples_do_not_fit_are_refused(void **state)
{
    (void)state;
    const int64_t large = (int64_t)1 << 62;
    assert_null(adz_lstm_new(2, large, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "adz_lstm_new: hidden_size");
    assert_null(adz_fastai_qrnn_new(2, large, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "adz_fastai_qrnn_new: hidden_size");
    assert_null(adz_fastai_qrnn_layer_new(large, 2, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "adz_fastai_qrnn_layer_new: input_size");
    assert_null(adz_gpt2_attention_new(large, 4, false, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "adz_gpt2_attention_new: nx");
    assert_null(adz_fastai_positional_encoding_new(INT64_MAX, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "adz_fastai_positional_encoding_new: d");
}

/* Masks that are left out give the values of masks that allow everything. */
static void masks_of_an_encoder_decoder_may_be_left_out(void **state)
{
    (void)state;
    adz_labml_transformer_layer_options o = ADZ_LABML_TRANSFORMER_LAYER_OPTIONS;
    o.src_attn = adz_labml_attention_new(1, 2, NULL);
    adz_module *model = adz_labml_encoder_decoder_new(adz_labml_encoder_new(labml_layer(), 1),
        adz_labml_decoder_new(
            adz_labml_transformer_layer_new(
                2, adz_labml_attention_new(1, 2, NULL), adz_feed_forward_new(2, 2, NULL), 0, &o),
            1),
        adz_embedding_new(3, 2, NULL), adz_embedding_new(3, 2, NULL),
        adz_labml_generator_new(3, 2, NULL));
    adz_module_release(&o.src_attn);
    adz_module_eval(model);
    adz_tensor *ids = adz_to(adz_reshape(adz_arange(0, 3, 1, ADZ_F32), ADZ_SHAPE(3, 1)), ADZ_I64);
    adz_tensor *open = adz_ones(ADZ_SHAPE(3, 3, 1), ADZ_BOOL);
    adz_tensor *memory = adz_labml_encode(model, ids, ADZ_NONE);
    assert_true(adz_equal(memory, adz_labml_encode(model, ids, open)));
    assert_true(adz_equal(adz_labml_decode(model, memory, ADZ_NONE, ids, ADZ_NONE),
        adz_labml_decode(model, memory, open, ids, open)));
    assert_int_equal(adz_error_code(), ADZ_OK);
    adz_module_release(&model);
}

/* ---- operators of one's own ------------------------------------------------------------------ */

static adz_status nothing(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)node;
    dx[0] = dy[0];
    return ADZ_OK;
}

static void what_a_record_lacks_is_said(void **state)
{
    (void)state;
    static const adz_operator op = { .size = sizeof op, .name = "own", .backward = nothing };
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(2), ADZ_F64), true);
    adz_tensor *y = adz_ones(ADZ_SHAPE(2), ADZ_F64);
    adz_record_options o = ADZ_RECORD_OPTIONS;
    static const adz_operator nameless = { .size = sizeof op, .name = "", .backward = nothing };
    assert_int_equal(adz_record(&nameless, &x, 1, &y, 1, NULL), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "record: op's name is empty");
    o.n_extras = 3;
    assert_int_equal(adz_record(&op, &x, 1, &y, 1, &o), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "own: extras is NULL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_without_a_size_are_refused),
        cmocka_unit_test(options_of_other_versions_are_read_as_far_as_both_know_them),
        cmocka_unit_test(options_are_filled_only_where_there_is_room),
        cmocka_unit_test(a_checkpoint_without_a_size_is_not_written),
        cmocka_unit_test(types_without_a_size_are_refused),
        cmocka_unit_test(null_and_nan_are_said),
        cmocka_unit_test(a_warmup_without_its_numbers_is_an_error),
        cmocka_unit_test(schedules_may_be_as_long_as_an_integer),
        cmocka_unit_test(a_list_that_is_null_is_not_as_long_as_it_says),
        cmocka_unit_test(numbers_at_the_end_of_their_type),
        cmocka_unit_test(shapes_of_too_many_sizes_are_not_read),
        cmocka_unit_test(layers_are_counted_before_they_are_made),
        cmocka_unit_test(sizes_whose_multiples_do_not_fit_are_refused),
        cmocka_unit_test(masks_of_an_encoder_decoder_may_be_left_out),
        cmocka_unit_test(what_a_record_lacks_is_said),
    };
    return cmocka_run_group_tests_name("arguments", tests, temporary_begin, temporary_end);
}
