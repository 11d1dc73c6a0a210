/* Layers of recurrent cells, adze/recurrence.h: they compute what the library's layers, and loops
 * written out, compute. */
#include "solvers/loops/loops.h"

enum { IN = 3, HIDDEN = 4, BATCH = 2 };

static const char *const state_names[] = { "h", "c" };

/* ---- the library's cells --------------------------------------------------------------------- */

/* A layer of the library in both directions, and a layer of its cell in each direction with the
 * same weights. Kind 0 is an LSTM, 1 a GRU and 2 an RNN. */
typedef struct pair {
    int states;
    adz_module *whole, *layers[2];
} pair;

static adz_module *cell_of(int kind, adz_dtype dtype)
{
    adz_recurrent_cell_options o = ADZ_RECURRENT_CELL_OPTIONS;
    o.dtype = dtype;
    return kind == 0   ? adz_lstm_cell_new(IN, HIDDEN, &o)
           : kind == 1 ? adz_gru_cell_new(IN, HIDDEN, &o)
                       : adz_rnn_cell_new(IN, HIDDEN, &o);
}

static pair pair_new(int kind, bool batch_first)
{
    adz_rnn_module_options o = ADZ_RNN_MODULE_OPTIONS;
    o.bidirectional = true;
    o.batch_first = batch_first;
    adz_lstm_module_options lstm = ADZ_LSTM_MODULE_OPTIONS;
    lstm.bidirectional = true;
    lstm.batch_first = batch_first;
    adz_gru_module_options gru = ADZ_GRU_MODULE_OPTIONS;
    gru.bidirectional = true;
    gru.batch_first = batch_first;
    pair p = { kind == 0 ? 2 : 1,
        kind == 0   ? adz_lstm_new(IN, HIDDEN, &lstm)
        : kind == 1 ? adz_gru_new(IN, HIDDEN, &gru)
                    : adz_rnn_new(IN, HIDDEN, &o),
        { NULL, NULL } };
    static const char *const kinds[] = { "weight_ih", "weight_hh", "bias_ih", "bias_hh" };
    for (int d = 0; d < 2; ++d) {
        adz_recurrent_options r = ADZ_RECURRENT_OPTIONS;
        r.batch_first = batch_first;
        r.reverse = d == 1;
        p.layers[d] = adz_recurrent_new(cell_of(kind, ADZ_F32), &r);
        const bool before = adz_set_grad_enabled(false);
        for (int i = 0; i < 4; ++i) {
            char from[40], to[40];
            snprintf(from, sizeof from, "%s_l0%s", kinds[i], d == 1 ? "_reverse" : "");
            snprintf(to, sizeof to, "cell.%s", kinds[i]);
            assert_non_null(adz_copy_(adz_module_get_parameter(p.layers[d], to),
                adz_module_get_parameter(p.whole, from)));
        }
        adz_set_grad_enabled(before);
    }
    return p;
}

static void pair_free(pair *p)
{
    adz_module_release(&p->whole);
    adz_module_release(&p->layers[0]);
    adz_module_release(&p->layers[1]);
}

/* Calls a module. results gets y and the last states. */
static void call_layer(adz_module *m, adz_tensor *x, adz_tensor *const *first, int states,
    adz_tensor *lengths, adz_tensor **results)
{
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "x", x);
    for (int i = 0; i < states && first != NULL; ++i) {
        adz_values_add(in, i == 0 ? "h0" : "c0", first[i]);
    }
    adz_values_add(in, "lengths", lengths);
    assert_int_equal(adz_module_call(m, in, out), ADZ_OK);
    results[0] = adz_values_at(out, 0);
    for (int i = 0; i < states; ++i) {
        results[1 + i] = adz_values_get(out, state_names[i]);
    }
    adz_values_free(&in);
    adz_values_free(&out);
}

static adz_tensor *loss_of(adz_tensor *const *results, int n)
{
    adz_tensor *loss = adz_scalar(0, adz_tensor_dtype(results[0]));
    for (int i = 0; i < n; ++i) {
        loss = adz_add(loss, adz_sum(adz_square(results[i]), ADZ_ALL_DIMS, ADZ_DROPDIM));
    }
    return loss;
}

static void expect_close(adz_tensor *a, adz_tensor *b)
{
    assert_true(a != NULL && b != NULL && adz_allclose(a, b, 1e-5, 1e-6, false));
}

/* Compares results and gradients of one direction with the library's. */
static void compare_direction(const pair *p, int d, bool batch_first, bool starts, bool padded)
{
    const adz_shape shape = batch_first ? ADZ_SHAPE(BATCH, 6, IN) : ADZ_SHAPE(6, BATCH, IN);
    adz_tensor *x = adz_requires_grad_(adz_randn(shape, ADZ_F32), true);
    adz_tensor *all[2] = { adz_randn(ADZ_SHAPE(2, BATCH, HIDDEN), ADZ_F32),
        adz_randn(ADZ_SHAPE(2, BATCH, HIDDEN), ADZ_F32) };
    adz_tensor *own[2] = { adz_select(all[0], 0, d), adz_select(all[1], 0, d) };
    adz_tensor *lengths =
        padded ? adz_tensor_from(((int64_t[]){ 2, 6 }), ADZ_SHAPE(BATCH), ADZ_I64) : ADZ_NONE;
    adz_tensor *wanted[3], *found[3], *dx[2], *dw[2];
    call_layer(p->whole, x, starts ? all : NULL, p->states, lengths, wanted);
    call_layer(p->layers[d], x, starts ? own : NULL, p->states, lengths, found);
    wanted[0] = adz_narrow(wanted[0], 2, d * HIDDEN, HIDDEN);
    for (int i = 0; i < p->states; ++i) {
        wanted[1 + i] = adz_select(wanted[1 + i], 0, d);
    }
    for (int side = 0; side < 2; ++side) {
        adz_tensor *loss = loss_of(side == 0 ? wanted : found, 1 + p->states);
        adz_tensor *leaves[2] = { x,
            side == 0 ? adz_module_get_parameter(
                            p->whole, d == 1 ? "weight_hh_l0_reverse" : "weight_hh_l0")
                      : adz_module_get_parameter(p->layers[d], "cell.weight_hh") };
        adz_tensor *gradients[2];
        assert_int_equal(adz_autograd_grad(&loss, NULL, 1, leaves, 2, NULL, gradients), ADZ_OK);
        dx[side] = gradients[0];
        dw[side] = gradients[1];
    }
    for (int i = 0; i <= p->states; ++i) {
        expect_close(found[i], wanted[i]);
    }
    expect_close(dx[1], dx[0]);
    expect_close(dw[1], dw[0]);
}

static void layers_of_the_librarys_cells_are_the_librarys_layers(void **state)
{
    (void)state;
    adz_manual_seed(1);
    for (int kind = 0; kind < 3; ++kind) {
        for (int mode = 0; mode < 16; ++mode) {
            pair p = pair_new(kind, mode & 2);
            compare_direction(&p, mode & 1, mode & 2, mode & 4, mode & 8);
            pair_free(&p);
        }
    }
}

/* What the padding holds is not looked at, not even by gradients. */
static void the_padding_may_hold_anything(void **state)
{
    (void)state;
    pair p = pair_new(0, false);
    adz_tensor *lengths = adz_tensor_from(((int64_t[]){ 3, 5 }), ADZ_SHAPE(BATCH), ADZ_I64);
    for (int d = 0; d < 2; ++d) {
        adz_tensor *w = adz_module_get_parameter(p.layers[d], "cell.weight_ih");
        adz_tensor *clean = adz_randn(ADZ_SHAPE(5, BATCH, IN), ADZ_F32), *x = adz_clone(clean);
        adz_fill_(adz_select(adz_narrow(x, 0, 3, 2), 1, 0), NAN);
        adz_tensor *given[2] = { clean, x }, *results[2][3], *dw[2];
        for (int side = 0; side < 2; ++side) {
            call_layer(p.layers[d], given[side], NULL, 2, lengths, results[side]);
            adz_tensor *loss = loss_of(results[side], 3);
            assert_int_equal(adz_autograd_grad(&loss, NULL, 1, &w, 1, NULL, &dw[side]), ADZ_OK);
        }
        for (int i = 0; i < 3; ++i) {
            assert_true(same_bits(results[0][i], results[1][i]));
        }
        assert_true(same_bits(dw[0], dw[1]));
        adz_tensor *tail = adz_select(adz_narrow(results[1][0], 0, 3, 2), 1, 0);
        assert_true(adz_equal(tail, adz_zeros_like(tail)));
    }
    pair_free(&p);
}

/* ---- a cell of a program --------------------------------------------------------------------- */

/* Two states of different shapes, one of which counts, and an output that is no state:
 *
 *     s = tanh(s W + x), n = n + 1;  y = [s n, x]
 */
static adz_status counting_call(adz_module *self, const adz_values *in, adz_values *out)
{
    adz_tensor *x = adz_values_argument(in, 0, "x"), *s = adz_values_argument(in, 1, "s");
    adz_tensor *n = adz_values_argument(in, 2, "n");
    s = adz_tanh(adz_add(adz_matmul(s, adz_module_parameter_at(self, 0)), x));
    n = adz_add_number(n, 1);
    adz_tensor *y[] = { adz_mul(s, adz_unsqueeze(n, 1)), x };
    adz_values_add(out, "", adz_cat(y, 2, 1));
    adz_values_add(out, "s", s);
    return adz_values_add(out, "n", n);
}

static size_t counting_states(adz_module *self, adz_cell_state *states)
{
    (void)self;
    states[0] = (adz_cell_state){ "s", ADZ_SHAPE(IN) };
    states[1] = (adz_cell_state){ "n", { .rank = 0 } };
    return 2;
}

static const adz_module_type counting_type = { .size = sizeof(adz_module_type),
    .name = "CountingCell",
    .call = counting_call,
    .cell_states = counting_states };

static adz_module *counting_new(adz_dtype dtype)
{
    adz_module *self = adz_module_new(&counting_type, 0);
    adz_module_add_parameter(self, "w", adz_randn(ADZ_SHAPE(IN, IN), dtype));
    return self;
}

/* The loop that a layer stands for. After each `truncate` steps the states lose their graph. */
static void by_hand(
    adz_module *layer, adz_tensor *x, bool reverse, int64_t truncate, adz_tensor **results)
{
    adz_module *child = adz_module_get_child(layer, "cell");
    const int64_t length = adz_tensor_size(x, 0), batch = adz_tensor_size(x, 1);
    const adz_dtype dtype = adz_tensor_dtype(x);
    adz_tensor *s = adz_zeros(ADZ_SHAPE(batch, IN), dtype), *n = adz_zeros(ADZ_SHAPE(batch), dtype);
    adz_tensor *xs[32], *ys[32];
    assert_int_equal(adz_unbind(x, 0, xs, 32, NULL), ADZ_OK);
    for (int64_t step = 0; step < length; ++step) {
        const int64_t t = reverse ? length - 1 - step : step;
        adz_values *in = adz_values_new(), *out = adz_values_new();
        if (truncate > 0 && step > 0 && step % truncate == 0) {
            s = adz_detach(s);
            n = adz_detach(n);
        }
        adz_values_add(in, "", xs[t]);
        adz_values_add(in, "", s);
        adz_values_add(in, "", n);
        assert_int_equal(adz_module_call(child, in, out), ADZ_OK);
        ys[t] = adz_values_at(out, 0);
        s = adz_values_at(out, 1);
        n = adz_values_at(out, 2);
        adz_values_free(&in);
        adz_values_free(&out);
    }
    results[0] = adz_stack(ys, (size_t)length, 0);
    results[1] = s;
    results[2] = n;
}

static void call_counting(adz_module *layer, adz_tensor *x, adz_tensor **results)
{
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "x", x);
    assert_int_equal(adz_module_call(layer, in, out), ADZ_OK);
    results[0] = adz_values_at(out, 0);
    results[1] = adz_values_get(out, "s");
    results[2] = adz_values_get(out, "n");
    adz_values_free(&in);
    adz_values_free(&out);
}

/* The loss weighs the steps unequally, so that a gradient over a border of pieces shows. */
static void cells_of_a_program_run_as_a_loop_written_out(void **state)
{
    (void)state;
    adz_manual_seed(3);
    for (int reverse = 0; reverse < 2; ++reverse) {
        for (int64_t truncate = 0; truncate <= 9; ++truncate) {
            adz_recurrent_options o = ADZ_RECURRENT_OPTIONS;
            o.reverse = reverse;
            o.truncated_bptt_steps = truncate;
            adz_module *layer = adz_recurrent_new(counting_new(ADZ_F64), &o);
            adz_tensor *x = adz_randn(ADZ_SHAPE(8, BATCH, IN), ADZ_F64), *dw[2], *dx[2];
            adz_tensor *results[2][3], *w = adz_module_get_parameter(layer, "cell.w");
            adz_requires_grad_(x, true);
            call_counting(layer, x, results[0]);
            by_hand(layer, x, reverse, truncate, results[1]);
            for (int side = 0; side < 2; ++side) {
                adz_tensor *loss = loss_of(results[side], 3), *gradients[2];
                assert_int_equal(
                    adz_autograd_grad(&loss, NULL, 1, (adz_tensor *[]){ w, x }, 2, NULL, gradients),
                    ADZ_OK);
                dw[side] = gradients[0];
                dx[side] = gradients[1];
            }
            for (int i = 0; i < 3; ++i) {
                assert_true(same_bits(results[0][i], results[1][i]));
            }
            assert_true(adz_allclose(dw[0], dw[1], 1e-12, 1e-12, false));
            assert_true(same_bits(dx[0], dx[1]));
            adz_module_release(&layer);
        }
    }
}

static int of_layer(adz_tensor *const *inputs, size_t n, adz_tensor **outputs, void *user)
{
    adz_module *layer = user;
    adz_values *parameters = adz_values_new(), *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(parameters, "cell.weight_ih", inputs[1]);
    adz_values_add(parameters, "cell.weight_hh", inputs[2]);
    adz_values_add(in, "x", inputs[0]);
    adz_values_add(in, "h0", inputs[3]);
    adz_values_add(in, "lengths", inputs[4]);
    const adz_status status = adz_module_functional_call(layer, parameters, in, out);
    outputs[0] = adz_values_at(out, 0);
    outputs[1] = adz_values_at(out, 1);
    adz_values_free(&parameters);
    adz_values_free(&in);
    adz_values_free(&out);
    return status == ADZ_OK && n == 5 ? 2 : 0;
}

static void derivatives_agree_with_differences(void **state)
{
    (void)state;
    adz_manual_seed(5);
    for (int reverse = 0; reverse < 2; ++reverse) {
        adz_recurrent_options o = ADZ_RECURRENT_OPTIONS;
        o.reverse = reverse;
        adz_module *layer = adz_recurrent_new(cell_of(1, ADZ_F64), &o);
        adz_tensor *inputs[5] = { adz_randn(ADZ_SHAPE(4, BATCH, IN), ADZ_F64),
            adz_randn(ADZ_SHAPE(3 * HIDDEN, IN), ADZ_F64),
            adz_randn(ADZ_SHAPE(3 * HIDDEN, HIDDEN), ADZ_F64),
            adz_randn(ADZ_SHAPE(BATCH, HIDDEN), ADZ_F64),
            adz_tensor_from(((int64_t[]){ 4, 2 }), ADZ_SHAPE(BATCH), ADZ_I64) };
        for (int i = 0; i < 4; ++i) {
            adz_requires_grad_(inputs[i], true);
        }
        const adz_gradcheck_function f = { of_layer, layer };
        adz_gradcheck_report report;
        assert_int_equal(adz_gradcheck(&f, inputs, 5, NULL, &report), ADZ_OK);
        assert_true(report.nonzero > 0);
        adz_module_release(&layer);
    }
}

/* ---- plans ----------------------------------------------------------------------------------- */

typedef struct planned {
    adz_module *layer;
    adz_tensor *x, *lengths;
} planned;

static adz_tensor *train(void *user)
{
    planned *p = user;
    adz_tensor *results[2];
    call_layer(p->layer, p->x, NULL, 1, p->lengths, results);
    adz_tensor *loss = loss_of(results, 2);
    adz_module_zero_grad(p->layer);
    return adz_backward(loss) == ADZ_OK ? loss : NULL;
}

/* The launches of a plan of a training step over so many steps, which has the bits of calls. */
static size_t launches_of(int64_t steps, int64_t truncate, bool padded)
{
    adz_recurrent_options o = ADZ_RECURRENT_OPTIONS;
    o.truncated_bptt_steps = truncate;
    planned p = { adz_recurrent_new(cell_of(1, ADZ_F32), &o),
        adz_randn(ADZ_SHAPE(steps, BATCH, IN), ADZ_F32),
        padded ? adz_tensor_from(((int64_t[]){ 2, steps }), ADZ_SHAPE(BATCH), ADZ_I64) : ADZ_NONE };
    adz_plan *plan = adz_plan_new(train, &p, NULL);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    adz_copy_(p.x, adz_randn_like(p.x));
    adz_plan_info info;
    if (padded && FOLDS) { /* a call that is not captured yet would fail in the layer */
        const int64_t wrong[] = { steps + 1, 3 }, other[] = { steps, 3 };
        adz_tensor_write(p.lengths, wrong, sizeof wrong);
        assert_int_equal(adz_plan_run(plan), ADZ_ERR_INDEX);
        expect_error(ADZ_ERR_INDEX, "lengths[0]");
        adz_tensor_write(p.lengths, other, sizeof other);
    }
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    adz_plan_get_info(plan, &info, sizeof info);
    assert_true(!FOLDS || (info.captured && info.captures == 1));
    adz_tensor *w = adz_module_get_parameter(p.layer, "cell.weight_hh");
    adz_tensor *loss = adz_clone(adz_plan_output(plan)), *dw = adz_clone(adz_tensor_grad(w));
    assert_true(same_bits(train(&p), loss) && same_bits(adz_tensor_grad(w), dw));
    adz_plan_free(&plan);
    adz_module_release(&p.layer);
    return info.launches;
}

static void plans_have_a_loop(void **state)
{
    (void)state;
    for (int mode = 0; mode < 4; ++mode) {
        const int64_t truncate = mode & 1 ? 8 : 0;
        const size_t few = launches_of(40, truncate, mode & 2);
        assert_true(few > 0 && (!FOLDS || launches_of(400, truncate, mode & 2) == few));
    }
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void a_layer_is_a_module(void **state)
{
    (void)state;
    adz_recurrent_options o = ADZ_RECURRENT_OPTIONS;
    o.reverse = true;
    adz_module *layer = adz_recurrent_new(adz_activation_checkpoint_new(cell_of(0, ADZ_F32)), &o);
    adz_module *copy = adz_module_copy(layer);
    char text[256];
    adz_module_to_string(layer, text, sizeof text);
    assert_non_null(strstr(text, "Recurrent(\n  reverse=True"));
    adz_state_dict *dict = adz_module_state_dict(copy);
    assert_non_null(adz_state_dict_get(dict, "cell.module.weight_ih"));
    adz_state_dict_free(&dict);
    adz_tensor *x = adz_randn(ADZ_SHAPE(5, BATCH, IN), ADZ_F32), *y = adz_module_forward(layer, x);
    assert_true(same_bits(y, adz_module_forward(copy, x)));
    adz_module_release(&layer);
    adz_module_release(&copy);
}

static void wrong_cells_and_calls_are_refused(void **state)
{
    (void)state;
    adz_recurrent_options o = ADZ_RECURRENT_OPTIONS;
    assert_null(adz_recurrent_new(adz_linear_new(2, 3, NULL), NULL));
    expect_error(ADZ_ERR_ARGUMENT, "Linear is no recurrent cell");
    o.truncated_bptt_steps = -1;
    assert_null(adz_recurrent_new(cell_of(0, ADZ_F32), &o));
    expect_error(ADZ_ERR_ARGUMENT, "truncated_bptt_steps is -1");
    adz_module *layer = adz_recurrent_new(cell_of(0, ADZ_F32), NULL);
    adz_tensor *x = adz_randn(ADZ_SHAPE(5, BATCH, IN), ADZ_F32);
    adz_tensor *h = adz_zeros(ADZ_SHAPE(BATCH, HIDDEN), ADZ_F32);
    assert_null(ADZ_CALL(layer, { NULL, x }, { "h0", h }));
    expect_error(ADZ_ERR_ARGUMENT, "c0 is missing");
    assert_null(ADZ_CALL(layer, { NULL, x }, { "h0", h }, { "c0", adz_unsqueeze(h, 0) }));
    expect_error(ADZ_ERR_SHAPE, "c0[1, 2, 4] must be [2, 4]");
    assert_null(ADZ_CALL(layer, { NULL, x }, { "lengths", adz_zeros(ADZ_SHAPE(BATCH), ADZ_I64) }));
    expect_error(ADZ_ERR_INDEX, "lengths[0] is 0");
    assert_null(ADZ_CALL(layer, { NULL, x }, { "lengths", adz_ones(ADZ_SHAPE(3), ADZ_I64) }));
    expect_error(ADZ_ERR_SHAPE, "lengths[3]");
    assert_null(adz_module_forward(layer, adz_zeros(ADZ_SHAPE(3), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "x[3] must be [T, B, ...]");
    assert_null(adz_module_forward(layer, adz_zeros(ADZ_SHAPE(0, 2, IN), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "no time steps");
    assert_null(adz_module_forward(layer, adz_zeros(ADZ_SHAPE(5, 2, IN + 1), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "step 0");
    adz_module_release(&layer);
}

/* A cell that gives too little. */
static adz_status silent_call(adz_module *self, const adz_values *in, adz_values *out)
{
    (void)self;
    adz_values_argument(in, 2, "n");
    adz_values_argument(in, 1, "s");
    return adz_values_add(out, "", adz_values_argument(in, 0, "x"));
}

static void a_cell_that_gives_too_little_is_an_error(void **state)
{
    (void)state;
    static const adz_module_type type = { .size = sizeof(adz_module_type),
        .name = "SilentCell",
        .call = silent_call,
        .cell_states = counting_states };
    adz_module *layer = adz_recurrent_new(adz_module_new(&type, 0), NULL);
    assert_null(adz_module_forward(layer, adz_zeros(ADZ_SHAPE(5, 2, IN), ADZ_F32)));
    expect_error(ADZ_ERR_ARGUMENT, "the cell has 2 states, and gave 1 results");
    adz_module_release(&layer);
}

const struct CMUnitTest loops_recurrent[N_LOOPS_RECURRENT] = {
    TEST(layers_of_the_librarys_cells_are_the_librarys_layers),
    TEST(the_padding_may_hold_anything),
    TEST(cells_of_a_program_run_as_a_loop_written_out),
    TEST(derivatives_agree_with_differences),
    TEST(plans_have_a_loop),
    TEST(a_layer_is_a_module),
    TEST(wrong_cells_and_calls_are_refused),
    TEST(a_cell_that_gives_too_little_is_an_error),
};
