/* fastai's QRNN layer and its recurrence. */
#include "adze/zoo.h"
#include "nn/recurrent.h"

/* ---- samples -------------------------------------------------------------------------------- */

static adz_module *plain(adz_generator *g)
{
    (void)g;
    return adz_fastai_qrnn_layer_new(3, 2, NULL);
}

static adz_fastai_qrnn_layer_options wide(void)
{
    adz_fastai_qrnn_layer_options o;
    adz_fastai_qrnn_layer_options_init(&o, sizeof o);
    o.window = 2;
    o.save_prev_x = true;
    return o;
}

static adz_module *looking_back(adz_generator *g)
{
    adz_fastai_qrnn_layer_options o = wide();
    o.zoneout = 0.4;
    o.generator = g;
    return adz_fastai_qrnn_layer_new(2, 3, &o);
}

static adz_module *looking_ahead(adz_generator *g)
{
    (void)g;
    adz_fastai_qrnn_layer_options o = wide();
    o.backward = true;
    o.output_gate = false;
    o.batch_first = false;
    return adz_fastai_qrnn_layer_new(2, 0, &o);
}

/* ---- facts ---------------------------------------------------------------------------------- */

/* Two calls with the parts of a sequence give the results of one call, unless the layer is reset.
 */
static void the_previous_x_is_carried_over(void **state)
{
    (void)state;
    adz_fastai_qrnn_layer_options o = wide();
    adz_module *m = adz_fastai_qrnn_layer_new(3, 2, &o);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 5, 3), ADZ_F32), *h;
    adz_tensor *whole = call_from(m, x, ADZ_NONE, NULL);
    assert_int_equal(adz_module_reset(m), ADZ_OK);
    adz_tensor *first = call_from(m, adz_narrow(x, 1, 0, 2), ADZ_NONE, &h);
    adz_tensor *rest = call_from(m, adz_narrow(x, 1, 2, 3), h, NULL);
    expect_same(first, adz_narrow(whole, 1, 0, 2), 1e-6);
    expect_same(rest, adz_narrow(whole, 1, 2, 3), 1e-6);
    adz_tensor *previous = adz_module_get_buffer(m, "prev_x");
    expect_same(previous, adz_select(x, 1, -1), 0);
    assert_int_equal(adz_module_reset(m), ADZ_OK);
    assert_ptr_equal(adz_module_get_buffer(m, "prev_x"), ADZ_NONE);
    adz_tensor *again = call_from(m, adz_narrow(x, 1, 0, 2), ADZ_NONE, NULL);
    expect_same(again, first, 0);
    adz_module_release(&m);
}

/* y and the last state of a layer, step by step; x[T, B, D] and y in the order of time. */
static adz_tensor *by_steps(adz_module *m, const adz_fastai_qrnn_layer_options *o, adz_tensor *x,
    adz_tensor *h, adz_tensor **last)
{
    enum { STEPS = 4 };
    adz_tensor *ys[STEPS], *before = adz_zeros_like(adz_select(x, 0, 0));
    for (int i = 0; i < STEPS; ++i) {
        const int64_t t = o->backward ? STEPS - 1 - i : i;
        adz_tensor *now = adz_select(x, 0, t), *both[] = { now, before };
        adz_tensor *gates = adz_module_forward(
            adz_module_get_child(m, "linear"), o->window == 2 ? adz_cat(both, 2, 1) : now);
        adz_tensor *z = adz_tanh(adz_narrow(gates, 1, 0, 2));
        adz_tensor *f = adz_sigmoid(adz_narrow(gates, 1, 2, 2));
        h = adz_add(adz_mul(f, z), adz_mul(adz_add_number(adz_neg(f), 1), h));
        ys[t] = o->output_gate ? adz_mul(adz_sigmoid(adz_narrow(gates, 1, 4, 2)), h) : h;
        before = now;
    }
    *last = h;
    return adz_stack(ys, STEPS, 0);
}

/* Windows of 1 and 2, with and without a gate for the output, in both layouts and directions. */
static void a_layer_is_its_steps(void **state)
{
    (void)state;
    for (int bits = 0; bits < 32; ++bits) {
        adz_fastai_qrnn_layer_options o = ADZ_FASTAI_QRNN_LAYER_OPTIONS;
        o.window = 1 + (bits & 1);
        o.output_gate = bits & 2;
        o.batch_first = bits & 4;
        o.backward = bits & 8;
        o.dtype = ADZ_F64;
        adz_module *m = adz_fastai_qrnn_layer_new(3, 2, &o);
        adz_tensor *x = adz_randn(ADZ_SHAPE(4, 2, 3), ADZ_F64), *h, *last;
        adz_tensor *hid = adz_randn(ADZ_SHAPE(2, 2), ADZ_F64), *given = bits & 16 ? hid : ADZ_NONE;
        adz_tensor *wanted = by_steps(m, &o, x, bits & 16 ? hid : adz_zeros_like(hid), &last);
        adz_tensor *y = call_from(m, o.batch_first ? adz_transpose(x, 0, 1) : x, given, &h);
        expect_same(o.batch_first ? adz_transpose(y, 0, 1) : y, wanted, 1e-13);
        expect_same(h, last, 1e-13);
        assert_ptr_equal(adz_module_get_buffer(m, "prev_x"), ADZ_NONE);
        adz_module_release(&m);
    }
}

/* What is carried is no part of the graph, nor of the caller's x. */
static void the_previous_x_is_a_copy(void **state)
{
    (void)state;
    adz_fastai_qrnn_layer_options o = wide();
    o.batch_first = false;
    adz_module *m = adz_fastai_qrnn_layer_new(3, 2, &o);
    adz_tensor *x = adz_ones(ADZ_SHAPE(1, 2, 3), ADZ_F32);
    call_from(m, x, ADZ_NONE, NULL);
    fill(x, 7);
    adz_tensor *previous = adz_module_get_buffer(m, "prev_x");
    assert_true(all_are(previous, 1));
    assert_false(adz_tensor_requires_grad(previous));
    adz_module_release(&m);
}

static void carried_rows_are_selected(void **state)
{
    (void)state;
    adz_fastai_qrnn_layer_options o = wide();
    adz_module *m = adz_fastai_qrnn_layer_new(1, 2, &o);
    assert_int_equal(
        adz_module_select_hidden(m, adz_arange(0, 1, 1, ADZ_I64)), ADZ_OK); /* no state yet */
    adz_tensor *x = adz_reshape(adz_arange(0, 3, 1, ADZ_F32), ADZ_SHAPE(3, 1, 1));
    call_from(m, x, ADZ_NONE, NULL);
    adz_tensor *rows = adz_tensor_from((int64_t[]){ 2, 0 }, ADZ_SHAPE(2), ADZ_I64);
    assert_int_equal(adz_module_select_hidden(m, rows), ADZ_OK);
    assert_true(HOLDS(adz_module_get_buffer(m, "prev_x"), 0, 2, 0));
    adz_module_release(&m);
}

/* With zoneout 1 the gate f is 0, so the state does not change. */
static void zoneout_keeps_the_state_in_training_only(void **state)
{
    (void)state;
    adz_fastai_qrnn_layer_options o = ADZ_FASTAI_QRNN_LAYER_OPTIONS;
    o.zoneout = 1;
    adz_module *m = adz_fastai_qrnn_layer_new(3, 2, &o);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 5, 3), ADZ_F32), *h;
    adz_tensor *hid = adz_randn(ADZ_SHAPE(4, 2), ADZ_F32);
    call_from(m, x, hid, &h);
    expect_same(h, hid, 0);
    adz_module_eval(m);
    call_from(m, x, hid, &h);
    assert_false(alike(h, hid, 1e-3));
    adz_module_release(&m);
}

/* The user can replace the child "linear" by another module. */
static void the_linear_layer_can_be_replaced(void **state)
{
    (void)state;
    adz_module *m = plain(NULL);
    adz_linear_options o = ADZ_LINEAR_OPTIONS;
    o.bias = false;
    adz_module_set_child(m, "linear", ADZ_SEQUENTIAL(adz_linear_new(3, 6, &o)));
    fill(adz_module_get_parameter(m, "linear.0.weight"), 0);
    adz_tensor *hid = adz_ones(ADZ_SHAPE(4, 2), ADZ_F32), *h;
    call_from(m, adz_ones(ADZ_SHAPE(4, 1, 3), ADZ_F32), hid, &h);
    assert_true(all_are(h, 0.5));
    adz_module_set_child(m, "linear", adz_linear_new(3, 4, NULL));
    assert_null(call_from(m, adz_ones(ADZ_SHAPE(4, 1, 3), ADZ_F32), hid, NULL));
    expect_error(ADZ_ERR_SHAPE, "4");
    adz_module_release(&m);
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    expect_no_module(adz_fastai_qrnn_layer_new(0, 2, NULL), "input_size is 0");
    expect_no_module(adz_fastai_qrnn_layer_new(3, -1, NULL), "hidden_size is -1");
    adz_fastai_qrnn_layer_options o = ADZ_FASTAI_QRNN_LAYER_OPTIONS;
    o.window = 3;
    expect_no_module(adz_fastai_qrnn_layer_new(3, 2, &o), "window is 3");
    o.window = 1;
    o.zoneout = 1.5;
    expect_no_module(adz_fastai_qrnn_layer_new(3, 2, &o), "zoneout is 1.5");
    o.zoneout = 0;
    o.dtype = ADZ_I64;
    assert_null(adz_fastai_qrnn_layer_new(3, 2, &o));
    expect_error(ADZ_ERR_DTYPE, "int64");
}

static void bad_inputs_are_refused(void **state)
{
    (void)state;
    adz_tensor *x = adz_ones(ADZ_SHAPE(4, 5, 3), ADZ_F32);
    expect_refused(plain(NULL), adz_ones(ADZ_SHAPE(4, 3), ADZ_F32), "x[4, 3] must be [B, T, 3]");
    expect_refused(looking_ahead(NULL), x, "x[4, 5, 3] must be [T, B, 2]");
    expect_refused(plain(NULL), adz_ones(ADZ_SHAPE(4, 0, 3), ADZ_F32), "no time steps");
    expect_refused(looking_back(NULL), adz_ones(ADZ_SHAPE(4, 0, 2), ADZ_F32), "no time steps");
    adz_fastai_qrnn_layer_options o = wide();
    adz_module *m = adz_fastai_qrnn_layer_new(3, 2, &o);
    assert_null(call_from(m, x, adz_ones(ADZ_SHAPE(5, 2), ADZ_F32), NULL));
    expect_error(ADZ_ERR_SHAPE, "hid[5, 2] must be [4, 2] for x[4, 5, 3]");
    call_from(m, x, ADZ_NONE, NULL);
    assert_null(call_from(m, adz_narrow(x, 0, 0, 2), ADZ_NONE, NULL));
    expect_error(ADZ_ERR_SHAPE, "the previous call's had 4; adz_module_reset");
    expect_same(adz_module_get_buffer(m, "prev_x"), adz_ones(ADZ_SHAPE(4, 3), ADZ_F32), 0);
    adz_module_release(&m);
}

/* One feature is enough. Each size of the state is compared, and what is left out is named. */
static void every_size_counts(void **state)
{
    (void)state;
    adz_module *m = adz_fastai_qrnn_layer_new(1, 1, NULL);
    assert_non_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(1, 1, 1), ADZ_F32)));
    assert_null(adz_module_forward(m, ADZ_NONE));
    expect_error(ADZ_ERR_ARGUMENT, "QRNNLayer: x is not optional");
    adz_module_release(&m);
    m = plain(NULL);
    adz_tensor *x = adz_ones(ADZ_SHAPE(4, 5, 3), ADZ_F32);
    adz_tensor *odd[] = { adz_ones(ADZ_SHAPE(3, 2), ADZ_F32), adz_ones(ADZ_SHAPE(4, 3), ADZ_F32),
        adz_ones(ADZ_SHAPE(4, 2, 1), ADZ_F32) };
    for (int i = 0; i < 3; ++i) {
        assert_null(call_from(m, x, odd[i], NULL));
        expect_error(ADZ_ERR_SHAPE, "must be [4, 2] for x[4, 5, 3], which is [B, T, 3]");
    }
    adz_module_release(&m);
    m = looking_ahead(NULL);
    assert_null(call_from(m, adz_ones(ADZ_SHAPE(5, 4, 2), ADZ_F32), odd[1], NULL));
    expect_error(ADZ_ERR_SHAPE, "hid[4, 3] must be [4, 2] for x[5, 4, 2], which is [T, B, 2]");
    adz_module_release(&m);
}

/* A call that was refused memory carries nothing on. A state may be given by its position. */
static void a_refused_call_carries_nothing(void **state)
{
    (void)state;
    adz_fastai_qrnn_layer_options o = wide();
    adz_module *m = adz_fastai_qrnn_layer_new(3, 2, &o);
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 4, 3), ADZ_F32),
               *hid = adz_randn(ADZ_SHAPE(2, 2), ADZ_F32);
    adz_tensor *wanted = call_from(m, x, hid, NULL);
    for (int n = 1;; ++n) {
        adz_module_reset(m);
        adz_values *in = adz_values_new(), *out = adz_values_new();
        adz_values_add(in, "", x);
        adz_values_add(in, "", hid);
        adzi_alloc_fail_at(n);
        adz_status status = adz_module_call(m, in, out);
        adzi_alloc_fail_at(0);
        if (status == ADZ_OK) {
            expect_same(adz_values_at(out, 0), wanted, 0);
        } else {
            adz_error_clear();
            assert_ptr_equal(adz_module_get_buffer(m, "prev_x"), ADZ_NONE);
        }
        adz_values_free(&in);
        adz_values_free(&out);
        if (status == ADZ_OK) {
            assert_true(n > 5);
            break;
        }
    }
    adz_module_release(&m);
}

/* ---- vector files --------------------------------------------------------------------------- */

/* The recurrence of fastai as a module without parameters. */
typedef struct {
    bool batch_first, backward;
} recurrence_state;

static adz_status recurrence_call(adz_module *self, const adz_values *in, adz_values *out)
{
    const recurrence_state *state = adz_module_data(self);
    const adz_forget_mult_options o = {
        .size = sizeof o, .batch_first = state->batch_first, .backward = state->backward
    };
    return adz_values_add(out, "",
        adz_forget_mult(adz_values_get(in, "x"), adz_values_get(in, "f"),
            adz_values_get(in, "hidden_init"), &o));
}

static const adz_module_type recurrence_type = {
    .size = sizeof(adz_module_type), .name = "forget_mult", .call = recurrence_call
};

static adz_module *from_config(const char *reference, const json_t *config)
{
    bool batch_first = config_flag(config, "batch_first", true);
    bool backward = config_flag(config, "backward", false);
    if (strcmp(reference, "fastai QRNNLayer") != 0) {
        adz_module *m = adz_module_new(&recurrence_type, sizeof(recurrence_state));
        *(recurrence_state *)adz_module_data(m) = (recurrence_state){ batch_first, backward };
        return m;
    }
    adz_fastai_qrnn_layer_options o = ADZ_FASTAI_QRNN_LAYER_OPTIONS;
    o.save_prev_x = config_flag(config, "save_prev_x", false);
    o.zoneout = config_number(config, "zoneout", 0);
    o.window = (int64_t)config_number(config, "window", 1);
    o.output_gate = config_flag(config, "output_gate", true);
    o.batch_first = batch_first;
    o.backward = backward;
    return adz_fastai_qrnn_layer_new((int64_t)config_number(config, "input_size", 0),
        (int64_t)config_number(config, "hidden_size", 0), &o);
}

static const struct CMUnitTest facts[] = {
    TEST(the_previous_x_is_carried_over),
    TEST(the_previous_x_is_a_copy),
    TEST(a_layer_is_its_steps),
    TEST(a_refused_call_carries_nothing),
    TEST(every_size_counts),
    TEST(carried_rows_are_selected),
    TEST(zoneout_keeps_the_state_in_training_only),
    TEST(the_linear_layer_can_be_replaced),
    TEST(bad_options_are_refused),
    TEST(bad_inputs_are_refused),
};

const module_case qrnn_layer_module = {
    .name = "qrnn_layer",
    .references = { "fastai QRNNLayer", "fastai forget_mult_CPU" },
    .from_config = from_config,
    .carries = { "h", "hid" },
    .samples = { { plain,
                     "QRNNLayer(\n"
                     "  (linear): Linear(in_features=3, out_features=6, bias=True)\n"
                     ")",
                     "linear.weight linear.bias", { X(4, 2, 3), X_NAMED("hid", 4, 2) } },
        { looking_back,
            "QRNNLayer(\n"
            "  (linear): Linear(in_features=4, out_features=9, bias=True)\n"
            ")",
            "linear.weight linear.bias", { X(2, 3, 2) } },
        { looking_ahead,
            "QRNNLayer(\n"
            "  (linear): Linear(in_features=4, out_features=4, bias=True)\n"
            ")",
            "linear.weight linear.bias", { X(3, 2, 2), X(2, 2) } } },
    FACTS(facts),
};
