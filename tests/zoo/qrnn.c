/* fastai's QRNN. */
#include "adze/zoo.h"
#include "nn/recurrent.h"

/* ---- samples -------------------------------------------------------------------------------- */

static adz_module *plain(adz_generator *g)
{
    (void)g;
    return adz_fastai_qrnn_new(3, 2, NULL);
}

static adz_module *two_ways(adz_generator *g)
{
    adz_fastai_qrnn_options o;
    adz_fastai_qrnn_options_init(&o, sizeof o);
    o.n_layers = 2;
    o.bidirectional = true;
    o.dropout = 0.5;
    o.zoneout = 0.3;
    o.batch_first = false;
    o.generator = g;
    return adz_fastai_qrnn_new(3, 2, &o);
}

static adz_module *stateful(adz_generator *g)
{
    (void)g;
    adz_fastai_qrnn_options o = ADZ_FASTAI_QRNN_OPTIONS;
    o.n_layers = 2;
    o.window = 2;
    o.save_prev_x = true;
    o.output_gate = false;
    return adz_fastai_qrnn_new(2, 3, &o);
}

/* ---- facts ---------------------------------------------------------------------------------- */

static void a_sequence_goes_on_in_the_next_call(void **state)
{
    (void)state;
    adz_module *m = stateful(NULL);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 5, 2), ADZ_F32), *h;
    adz_tensor *whole = call_from(m, x, ADZ_NONE, NULL);
    assert_int_equal(adz_module_reset(m), ADZ_OK);
    call_from(m, adz_narrow(x, 1, 0, 3), ADZ_NONE, &h);
    expect_same(call_from(m, adz_narrow(x, 1, 3, 2), h, NULL), adz_narrow(whole, 1, 3, 2), 1e-6);
    adz_module_release(&m);
}

/* The stack of the second direction computes what the first one computes of the reversed sequence.
 */
static void the_second_direction_starts_at_the_end(void **state)
{
    (void)state;
    adz_fastai_qrnn_options o = ADZ_FASTAI_QRNN_OPTIONS;
    o.bidirectional = true;
    adz_module *both = adz_fastai_qrnn_new(3, 2, &o), *one = plain(NULL);
    adz_state_dict *values = adz_state_dict_new();
    adz_state_dict_add(values, "layers.0.linear.weight",
        adz_module_get_parameter(both, "layers_bwd.0.linear.weight"));
    adz_state_dict_add(
        values, "layers.0.linear.bias", adz_module_get_parameter(both, "layers_bwd.0.linear.bias"));
    assert_int_equal(adz_module_load_state_dict(one, values, true), ADZ_OK);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 5, 3), ADZ_F32);
    adz_tensor *turned = adz_flip(adz_module_forward(one, adz_flip(x, ADZ_DIMS(1))), ADZ_DIMS(1));
    expect_same(adz_narrow(adz_module_forward(both, x), 2, 2, 2), turned, 1e-6);
    adz_state_dict_free(&values);
    adz_module_release(&both);
    adz_module_release(&one);
}

/* In training the dropout between the layers draws numbers, so that later draws change. It does not
 * change the result. */
static void dropout_draws_and_changes_nothing(void **state)
{
    (void)state;
    adz_generator *g = adz_generator_new(3);
    adz_fastai_qrnn_options o = ADZ_FASTAI_QRNN_OPTIONS;
    o.n_layers = 2;
    o.dropout = 0.9;
    o.generator = g;
    adz_module *m = adz_fastai_qrnn_new(3, 2, &o);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 5, 3), ADZ_F32);
    adz_generator_state before = adz_generator_get_state(g);
    adz_tensor *y = adz_module_forward(m, x);
    assert_true(adz_generator_get_state(g).offset > before.offset);
    before = adz_generator_get_state(g);
    adz_module_eval(m);
    expect_same(adz_module_forward(m, x), y, 0);
    assert_true(adz_generator_get_state(g).offset == before.offset);
    adz_module_release(&m);
    adz_generator_free(&g);
}

/* A stack of two layers in two directions is its layers one after the other. */
static void a_stack_is_its_layers(void **state)
{
    (void)state;
    for (int bits = 0; bits < 8; ++bits) {
        adz_fastai_qrnn_options o = ADZ_FASTAI_QRNN_OPTIONS;
        o.n_layers = 2;
        o.bidirectional = true;
        o.batch_first = bits & 1;
        o.output_gate = bits & 2;
        o.window = bits & 4 ? 1 : 0;
        o.dtype = ADZ_F64;
        adz_module *m = adz_fastai_qrnn_new(3, 2, &o);
        adz_tensor *x = adz_randn(ADZ_SHAPE(4, 4, 3), ADZ_F64), *h, *ys[2];
        adz_tensor *hid = adz_randn(ADZ_SHAPE(4, 4, 2), ADZ_F64), *states[4];
        for (int d = 0; d < 2; ++d) {
            ys[d] = x;
            for (int i = 0; i < 2; ++i) {
                adz_module *list = adz_module_get_child(m, d == 0 ? "layers" : "layers_bwd");
                adz_module *layer = adz_module_child_at(list, (size_t)i);
                ys[d] = call_from(layer, ys[d], adz_select(hid, 0, 2 * i + d), &states[2 * i + d]);
                adz_tensor *w = adz_module_get_parameter(layer, "linear.weight");
                assert_int_equal(adz_tensor_size(w, 0), o.output_gate ? 6 : 4);
                assert_int_equal(
                    adz_tensor_size(w, 1), (i == 0 ? 3 : 2) * (o.window == 0 && i == 0 ? 2 : 1));
                assert_int_equal(adz_tensor_dtype(w), ADZ_F64);
            }
        }
        adz_tensor *y = call_from(m, x, hid, &h);
        expect_same(y, adz_cat(ys, 2, 2), 1e-13);
        expect_same(h, adz_stack(states, 4, 0), 1e-13);
        adz_values *in = adz_values_new(), *out = adz_values_new(); /* by position */
        adz_values_add(in, "", x);
        adz_values_add(in, "", hid);
        assert_int_equal(adz_module_call(m, in, out), ADZ_OK);
        expect_same(adz_values_at(out, 0), y, 0);
        adz_values_free(&in);
        adz_values_free(&out);
        adz_module_release(&m);
    }
}

/* The layers have the stack's zoneout: a value of 1 keeps the states in training. */
static void layers_have_the_zoneout(void **state)
{
    (void)state;
    adz_fastai_qrnn_options o = ADZ_FASTAI_QRNN_OPTIONS;
    o.n_layers = 2;
    o.zoneout = 1;
    adz_module *m = adz_fastai_qrnn_new(3, 2, &o);
    adz_tensor *hid = adz_randn(ADZ_SHAPE(2, 4, 2), ADZ_F32), *h;
    call_from(m, adz_randn(ADZ_SHAPE(4, 5, 3), ADZ_F32), hid, &h);
    expect_same(h, hid, 0);
    adz_module_release(&m);
}

/* One feature is enough. Each size of the states is compared. */
static void every_size_counts(void **state)
{
    (void)state;
    adz_module *m = adz_fastai_qrnn_new(1, 1, NULL);
    assert_non_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(1, 1, 1), ADZ_F32)));
    assert_null(adz_module_forward(m, ADZ_NONE));
    expect_error(ADZ_ERR_ARGUMENT, "QRNN: x is not optional");
    adz_module_release(&m);
    m = plain(NULL);
    adz_tensor *x = adz_ones(ADZ_SHAPE(4, 5, 3), ADZ_F32);
    adz_tensor *odd[] = { adz_ones(ADZ_SHAPE(2, 4, 2), ADZ_F32),
        adz_ones(ADZ_SHAPE(1, 5, 2), ADZ_F32), adz_ones(ADZ_SHAPE(1, 4, 3), ADZ_F32),
        adz_ones(ADZ_SHAPE(4, 2), ADZ_F32) };
    for (int i = 0; i < 4; ++i) {
        assert_null(call_from(m, x, odd[i], NULL));
        expect_error(ADZ_ERR_SHAPE, "must have shape [1, 4, 2] for x[4, 5, 3]: layers and");
    }
    adz_module_release(&m);
    adz_fastai_qrnn_options o = ADZ_FASTAI_QRNN_OPTIONS;
    o.window = -1;
    expect_no_module(adz_fastai_qrnn_new(3, 2, &o), "window is -1, but must be in [0, 2]");
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    expect_no_module(adz_fastai_qrnn_new(0, 2, NULL), "input_size is 0, but must be 1 or more");
    expect_no_module(adz_fastai_qrnn_new(2, 0, NULL), "hidden_size is 0");
    adz_fastai_qrnn_options o = ADZ_FASTAI_QRNN_OPTIONS;
    o.n_layers = 0;
    expect_no_module(adz_fastai_qrnn_new(3, 2, &o), "n_layers is 0");
    o.n_layers = 2;
    o.window = 3;
    expect_no_module(adz_fastai_qrnn_new(3, 2, &o), "window is 3");
    o.window = 0;
    o.dropout = -1;
    expect_no_module(adz_fastai_qrnn_new(3, 2, &o), "dropout is -1");
    o.dropout = 0;
    o.zoneout = 2;
    expect_no_module(adz_fastai_qrnn_new(3, 2, &o), "zoneout is 2");
    o.zoneout = 0;
    o.bias = false;
    assert_null(adz_fastai_qrnn_new(3, 2, &o));
    expect_error(ADZ_ERR_UNSUPPORTED, "without bias");
    o.bias = true;
    o.save_prev_x = o.bidirectional = true;
    assert_null(adz_fastai_qrnn_new(3, 2, &o));
    expect_error(ADZ_ERR_UNSUPPORTED, "save_prev_x");
    o.save_prev_x = false;
    o.dtype = ADZ_BOOL;
    assert_null(adz_fastai_qrnn_new(3, 2, &o));
    expect_error(ADZ_ERR_DTYPE, "bool");
}

static void bad_inputs_are_refused(void **state)
{
    (void)state;
    adz_tensor *x = adz_ones(ADZ_SHAPE(4, 5, 3), ADZ_F32);
    expect_refused(plain(NULL), adz_ones(ADZ_SHAPE(4, 5, 2), ADZ_F32),
        "layers.0: QRNNLayer: x[4, 5, 2] must be [B, T, 3]");
    expect_refused(plain(NULL), adz_ones(ADZ_SHAPE(4), ADZ_F32), "x[4] must be [B, T, 3]");
    adz_module *m = two_ways(NULL);
    assert_null(call_from(m, x, adz_ones(ADZ_SHAPE(2, 5, 2), ADZ_F32), NULL));
    expect_error(ADZ_ERR_SHAPE, "hid[2, 5, 2] must have shape [4, 5, 2] for x[4, 5, 3]");
    assert_null(call_from(m, x, adz_ones(ADZ_SHAPE(4, 4, 2), ADZ_F32), NULL));
    expect_error(ADZ_ERR_SHAPE, "hid[4, 4, 2]");
    adz_module_release(&m);
}

/* ---- vector files --------------------------------------------------------------------------- */

static adz_module *from_config(const char *reference, const json_t *config)
{
    (void)reference;
    adz_fastai_qrnn_options o = ADZ_FASTAI_QRNN_OPTIONS;
    o.n_layers = (int64_t)config_number(config, "n_layers", 1);
    o.bias = config_flag(config, "bias", true);
    o.batch_first = config_flag(config, "batch_first", true);
    o.dropout = config_number(config, "dropout", 0);
    o.bidirectional = config_flag(config, "bidirectional", false);
    o.save_prev_x = config_flag(config, "save_prev_x", false);
    o.zoneout = config_number(config, "zoneout", 0);
    o.window = config_has(config, "window") ? (int64_t)config_number(config, "window", 0) : 0;
    o.output_gate = config_flag(config, "output_gate", true);
    return adz_fastai_qrnn_new((int64_t)config_number(config, "input_size", 0),
        (int64_t)config_number(config, "hidden_size", 0), &o);
}

static const struct CMUnitTest facts[] = {
    TEST(a_sequence_goes_on_in_the_next_call),
    TEST(the_second_direction_starts_at_the_end),
    TEST(dropout_draws_and_changes_nothing),
    TEST(a_stack_is_its_layers),
    TEST(layers_have_the_zoneout),
    TEST(every_size_counts),
    TEST(bad_options_are_refused),
    TEST(bad_inputs_are_refused),
};

#define LAYER(at, in, out)                                                          \
    "    (" at "): QRNNLayer(\n"                                                    \
    "      (linear): Linear(in_features=" in ", out_features=" out ", bias=True)\n" \
    "    )\n"

const module_case qrnn_module = {
    .name = "qrnn",
    .references = { "fastai QRNN" },
    .from_config = from_config,
    .carries = { "h", "hid" },
    .detaches = true,
    .samples = { { plain,
                     "QRNN(\n"
                     "  (layers): ModuleList(\n" LAYER("0", "6", "6") "  )\n"
                                                                      ")",
                     "layers.0.linear.weight layers.0.linear.bias",
                     { X(2, 3, 3), X_NAMED("hid", 1, 2, 2) } },
        { two_ways,
            "QRNN(\n"
            "  (layers): ModuleList(\n" LAYER("0", "6", "6")
                LAYER("1", "2", "6") "  )\n"
                                     "  (layers_bwd): ModuleList(\n" LAYER("0", "6", "6")
                                         LAYER("1", "2", "6") "  )\n"
                                                              ")",
            "layers.0.linear.weight layers.0.linear.bias layers.1.linear.weight layers.1.linear.bias layers_bwd.0.linear.weight layers_bwd.0.linear.bias layers_bwd.1.linear.weight layers_bwd.1.linear.bias",
            { X(3, 2, 3), X(4, 2, 2) } },
        { stateful,
            "QRNN(\n"
            "  (layers): ModuleList(\n" LAYER("0", "4", "6") LAYER("1", "6", "6") "  )\n"
                                                                                  ")",
            "layers.0.linear.weight layers.0.linear.bias layers.1.linear.weight layers.1.linear.bias",
            { X(2, 3, 2) } } },
    FACTS(facts),
};
