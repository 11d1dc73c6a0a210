/* Facts about GPT-2 that the sweep cannot check. */
#include "adze/zoo.h"
#include "zoo/gpt2.h"

static void conv1d_starts_as_in_gpt2(void **state)
{
    (void)state;
    adz_module *m = adz_gpt2_conv1d_new(100, 50, NULL);
    for (int pass = 0; pass < 2; ++pass) { /* after the constructor, and after a reset */
        adz_tensor *w = adz_module_get_parameter(m, "weight");
        assert_int_equal(adz_tensor_size(w, 0), 50);
        assert_int_equal(adz_tensor_size(w, 1), 100);
        double squares = adz_item(adz_mean(adz_square(w), ADZ_ALL_DIMS, ADZ_DROPDIM));
        assert_true(fabs(sqrt(squares) / 0.02 - 1) < 0.06);
        assert_true(all_are(adz_module_get_parameter(m, "bias"), 0));
        fill(w, 1);
        fill(adz_module_get_parameter(m, "bias"), 1);
        assert_int_equal(adz_module_reset_parameters(m), ADZ_OK);
    }
    adz_module_release(&m);
}

static void conv1d_takes_any_rank(void **state)
{
    (void)state;
    adz_module *m = conv1d(NULL);
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3, 2, 4), ADZ_F32), *y = adz_module_forward(m, x);
    assert_int_equal(adz_tensor_rank(y), 4);
    adz_tensor *row =
        adz_reshape(adz_narrow(adz_reshape(x, ADZ_SHAPE(12, 4)), 0, 7, 1), ADZ_SHAPE(4));
    adz_tensor *same = adz_narrow(adz_reshape(y, ADZ_SHAPE(12, 3)), 0, 7, 1);
    expect_same(adz_module_forward(m, row), adz_reshape(same, ADZ_SHAPE(3)), 1e-6);
    adz_module_release(&m);
}

/* ---- a past --------------------------------------------------------------------------------- */

/* Calls a module with x, after the results `before` of another call, or alone if that is NULL. */
static adz_values *call(adz_module *m, const char *name, adz_tensor *x, const adz_values *before)
{
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, name, x);
    for (size_t i = 0; before != NULL && i < adz_values_count(before); ++i) {
        const char *from = adz_values_name_at(before, i);
        if (strncmp(from, "present", 7) == 0) {
            char to[32];
            snprintf(to, sizeof to, "past%s", from + 7);
            adz_values_add(in, to, adz_values_at(before, i));
        }
    }
    if (adz_module_call(m, in, out) != ADZ_OK) {
        adz_values_free(&out);
    }
    adz_values_free(&in);
    return out;
}

/* A text in pieces of 2, 1 and 2 steps gives the results of the whole text. */
static void expect_pieces_like_the_whole(adz_module *m, const char *name, adz_tensor *x)
{
    adz_values *whole = call(m, name, x, NULL), *past = NULL;
    assert_non_null(whole);
    static const int64_t starts[] = { 0, 2, 3, 5 };
    for (int i = 0; i < 3; ++i) {
        int64_t n = starts[i + 1] - starts[i];
        adz_values *now = call(m, name, adz_narrow(x, 1, starts[i], n), past);
        assert_non_null(now);
        expect_same(
            adz_values_at(now, 0), adz_narrow(adz_values_at(whole, 0), 1, starts[i], n), 1e-12);
        adz_values_free(&past);
        past = now;
    }
    for (size_t i = 1; i < adz_values_count(whole); ++i) {
        expect_same(adz_values_at(past, i), adz_values_at(whole, i), 1e-12);
    }
    adz_values_free(&past);
    adz_values_free(&whole);
    adz_module_release(&m);
}

static void a_past_continues(void **state)
{
    (void)state;
    adz_module *parts[] = { attention(NULL), block(NULL) };
    for (int i = 0; i < 2; ++i) {
        adz_module_to(parts[i], ADZ_F64);
        expect_pieces_like_the_whole(parts[i], "x", adz_randn(ADZ_SHAPE(3, 5, 4), ADZ_F64));
    }
    adz_module *m = lm(NULL);
    adz_module_to(m, ADZ_F64);
    expect_pieces_like_the_whole(m, "input_ids", adz_randint(0, 7, ADZ_SHAPE(2, 5), ADZ_I64));
}

/* ---- the language model --------------------------------------------------------------------- */

static void the_head_is_the_table(void **state)
{
    (void)state;
    adz_module *m = lm(NULL), *copy = adz_module_copy(m);
    adz_module *both[] = { m, copy };
    for (int i = 0; i < 2; ++i) {
        adz_tensor *table = adz_module_get_parameter(both[i], "transformer.wte.weight");
        assert_ptr_equal(adz_module_get_parameter(both[i], "lm_head.decoder.weight"), table);
        assert_int_equal(adz_module_parameters(both[i]).count, 2 + 2 * 12 + 2);
        fill(table, 0.25);
    }
    /* The shared weight is initialised as a table, not as a decoder. */
    adz_module_reset_parameters(m);
    double most = 0;
    const float *values =
        adz_tensor_data_f32(adz_module_get_parameter(m, "transformer.wte.weight"));
    for (int i = 0; i < 28; ++i) {
        double size = fabs((double)values[i]);
        most = size > most ? size : most;
    }
    assert_true(most > 1);
    adz_module_release(&m);
    adz_module_release(&copy);
}

static void labels_give_the_loss(void **state)
{
    (void)state;
    adz_module *m = lm(NULL);
    adz_tensor *ids = adz_randint(0, 7, ADZ_SHAPE(2, 3), ADZ_I64);
    static const int64_t wanted[] = { 1, -1, 3, 0, 6, -1 };
    adz_tensor *labels = adz_tensor_from(wanted, ADZ_SHAPE(2, 3), ADZ_I64);
    static const char *const names[] = { "lm_labels", "input_ids" };
    adz_tensor *given[] = { labels, ids };
    adz_tensor *loss = one_result(m, names, given, 2, "loss");
    adz_tensor *p = adz_log_softmax(one_result(m, NULL, &ids, 1, "logits"), -1);
    double expected = 0;
    for (int i = 0; i < 6; ++i) {
        if (wanted[i] >= 0) {
            expected -= adz_tensor_at(p, (int64_t[]){ i / 3, i % 3, wanted[i] }) / 4;
        }
    }
    assert_true(HOLDS(loss, 1e-5, expected));
    adz_tensor *by_position[] = { ids, ADZ_NONE, ADZ_NONE, labels };
    assert_true(HOLDS(one_result(m, NULL, by_position, 4, NULL), 1e-5, expected));
    adz_module_release(&m);
}

/* Ids may have any rank: a vector gives a matrix of logits. Given positions and types are used. */
static void ids_have_any_rank(void **state)
{
    (void)state;
    adz_module *m = lm(NULL);
    adz_tensor *ids = adz_randint(0, 7, ADZ_SHAPE(2, 1, 3), ADZ_I64);
    adz_tensor *y = adz_module_forward(m, ids);
    assert_int_equal(adz_tensor_rank(y), 4);
    adz_tensor *row = adz_reshape(adz_narrow(ids, 0, 1, 1), ADZ_SHAPE(3));
    adz_tensor *rows = adz_reshape(adz_narrow(y, 0, 1, 1), ADZ_SHAPE(3, 7));
    expect_same(adz_module_forward(m, row), rows, 1e-5);
    adz_tensor *counted[] = { row, adz_arange(0, 3, 1, ADZ_I64) };
    expect_same(one_result(m, NULL, counted, 2, NULL), rows, 1e-5);
    adz_tensor *typed[] = { row, ADZ_NONE, adz_zeros(ADZ_SHAPE(3), ADZ_I64) };
    assert_false(alike(one_result(m, NULL, typed, 3, NULL), rows, 1e-3));
    adz_module_release(&m);
}

/* The dropout of GPT-2 follows the sum of the embeddings, and acts in training mode only. */
static void embeddings_are_dropped(void **state)
{
    (void)state;
    adz_gpt2_options o = tiny();
    o.n_layer = 0;
    o.embd_pdrop = 1;
    adz_module *m = adz_gpt2_lm_head_model_new(&o);
    adz_tensor *ids = adz_randint(0, 7, ADZ_SHAPE(3, 5), ADZ_I64);
    assert_true(all_are(adz_module_forward(m, ids), 0));
    adz_module_eval(m);
    assert_false(all_are(adz_module_forward(m, ids), 0));
    adz_module_release(&m);
}

/* In training attention loses probabilities, and attention and the feed-forward network lose
 * results: where all are lost, attention returns the bias of its last layer, which is 0, and a
 * block its input. */
static void attention_and_results_are_dropped(void **state)
{
    (void)state;
    for (int masked = 0; masked < 2; ++masked) {
        adz_gpt2_options o = tiny();
        o.attn_pdrop = 1;
        adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3, 4), ADZ_F32);
        adz_module *m = adz_gpt2_attention_new(4, 5, true, &o);
        if (masked != 0) { /* another mask takes another way */
            adz_fill_(adz_module_get_buffer(m, "bias"), 1);
        }
        adz_values *in = adz_values_new(), *out = adz_values_new();
        adz_values_add(in, "x", x);
        for (int trains = 1; trains >= 0; --trains) {
            adz_module_train(m, trains != 0);
            adz_values_clear(out);
            assert_int_equal(adz_module_call(m, in, out), ADZ_OK);
            assert_true(all_are(adz_values_at(out, 0), 0) == (trains != 0));
        }
        adz_module_release(&m);
        o.attn_pdrop = 0;
        o.resid_pdrop = 1;
        m = adz_gpt2_block_new(5, true, &o);
        for (int trains = 1; trains >= 0; --trains) {
            adz_module_train(m, trains != 0);
            adz_values_clear(out);
            assert_int_equal(adz_module_call(m, in, out), ADZ_OK);
            assert_true(adz_equal(adz_values_at(out, 0), x) == (trains != 0));
        }
        adz_values_free(&in);
        adz_values_free(&out);
        adz_module_release(&m);
    }
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void bad_sizes_are_refused(void **state)
{
    (void)state;
    expect_no_module(adz_gpt2_conv1d_new(0, 3, NULL), "nf is 0");
    expect_no_module(adz_gpt2_conv1d_new(2, -3, NULL), "nx is -3");
    adz_gpt2_conv1d_options c;
    adz_gpt2_conv1d_options_init(&c, sizeof c);
    c.dtype = ADZ_I64;
    assert_null(adz_gpt2_conv1d_new(2, 3, &c));
    expect_error(
        ADZ_ERR_DTYPE, "adz_gpt2_conv1d_new: parameters are float32 or float64, not int64");
    adz_gpt2_layer_norm_options n;
    adz_gpt2_layer_norm_options_init(&n, sizeof n);
    n.dtype = ADZ_F64;
    adz_module *norm = adz_gpt2_layer_norm_new(3, &n);
    assert_int_equal(adz_tensor_dtype(adz_module_get_parameter(norm, "weight")), ADZ_F64);
    adz_module_release(&norm);
    n.eps = -1;
    expect_no_module(adz_gpt2_layer_norm_new(3, &n), "eps is -1");
    expect_no_module(adz_gpt2_notes_feed_forward_new(0, 3, NULL), "d_model is 0");
    expect_no_module(adz_gpt2_notes_feed_forward_new(3, 0, NULL), "nx is 0");
    adz_gpt2_notes_feed_forward_options f = ADZ_GPT2_NOTES_FEED_FORWARD_OPTIONS;
    f.dropout = 2;
    expect_no_module(
        adz_gpt2_notes_feed_forward_new(3, 4, &f), "dropout is 2, but must be in [0, 1]");
    expect_no_module(adz_gpt2_mlp_new(0, NULL), "n_state is 0");
    adz_gpt2_options o = tiny();
    expect_no_module(adz_gpt2_attention_new(5, 5, true, &o), "n_head is 2, but must divide the 5");
    expect_no_module(adz_gpt2_attention_new(4, 0, true, &o), "n_ctx is 0");
    o.n_head = 0;
    expect_no_module(adz_gpt2_block_new(5, true, &o), "n_head is 0");
    o = tiny();
    o.vocab_size = 0;
    expect_no_module(adz_gpt2_model_new(&o), "vocab_size is 0");
    o = tiny();
    o.embd_pdrop = -0.5;
    expect_no_module(adz_gpt2_model_new(&o), "p is -0.5");
    o = tiny();
    o.attn_pdrop = 1.5;
    expect_no_module(adz_gpt2_model_new(&o), "attn_pdrop is 1.5");
    o = tiny();
    o.resid_pdrop = -1;
    expect_no_module(adz_gpt2_model_new(&o), "resid_pdrop is -1");
    o = tiny();
    o.n_layer = -1;
    expect_no_module(adz_gpt2_lm_head_model_new(&o), "n_layer is -1");
}

static void bad_inputs_are_refused(void **state)
{
    (void)state;
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 3, 5), ADZ_F32);
    expect_refused(conv1d(NULL), x, "Conv1D: x[2, 3, 5] must end in nx, which is 4");
    expect_refused(conv1d(NULL), adz_scalar(1, ADZ_F32), "x[] must end in nx");
    expect_refused(layer_norm(NULL), x, "layer_norm: ");
    expect_refused(notes(NULL), x, "c_fc: Conv1D: x[2, 3, 5] must end in nx, which is 4");
    expect_refused(mlp(NULL), x, "c_fc: Conv1D: x[2, 3, 5]");
    expect_refused(attention(NULL), x, "x[2, 3, 5] must be [B, T, 4]");
    expect_refused(attention(NULL), adz_ones(ADZ_SHAPE(2, 6, 4), ADZ_F32),
        "makes 6 positions, but n_ctx is 5");
    expect_refused(lm(NULL), adz_zeros(ADZ_SHAPE(2, 7), ADZ_I64),
        "input_ids[2, 7] after a past of 0 makes 7 positions, but n_positions is 6");
    expect_refused(lm(NULL), adz_zeros(ADZ_SHAPE(2, 6), ADZ_I64),
        "transformer.h.0.attn: Attention: x[2, 6, 4]");
    expect_refused(lm(NULL), adz_zeros(ADZ_SHAPE_SCALAR, ADZ_I64), "input_ids[] must be [..., T]");
}

static void bad_inputs_and_pasts_of_models_are_refused(void **state)
{
    (void)state;
    adz_module *m = model(NULL);
    assert_null(adz_module_forward(m, ADZ_NONE));
    expect_error(ADZ_ERR_ARGUMENT, "GPT2Model: input_ids is not optional");
    int64_t ones[ADZ_MAX_RANK];
    for (int i = 0; i < ADZ_MAX_RANK; ++i) {
        ones[i] = 1;
    }
    assert_null(adz_module_forward(m, adz_zeros(adz_shape_of(ADZ_MAX_RANK, ones), ADZ_I64)));
    expect_error(ADZ_ERR_SHAPE, "leaves no dimension for features");
    static const char *const wrong[] = { "input_ids", "past.0" };
    adz_tensor *flat[] = { adz_zeros(ADZ_SHAPE(2, 5), ADZ_I64),
        adz_ones(ADZ_SHAPE(2, 2), ADZ_F32) };
    assert_null(one_result(m, wrong, flat, 2, NULL));
    expect_error(ADZ_ERR_SHAPE, "GPT2Model: past.0[2, 2] must be [2, B, H, P, D/H]");
    adz_module_release(&m);
    m = dropped(NULL); /* It has no block, so that no past is read. */
    flat[1] = adz_ones(ADZ_SHAPE(2, 2, 2, 2, 2), ADZ_F32);
    assert_non_null(one_result(m, wrong, flat, 2, NULL));
    adz_module_release(&m);
    m = block(NULL);
    static const char *const names[] = { "x", "past" };
    adz_tensor *given[] = { adz_ones(ADZ_SHAPE(2, 1, 4), ADZ_F32),
        adz_ones(ADZ_SHAPE(2, 3, 2, 1, 2), ADZ_F32) };
    assert_null(one_result(m, names, given, 2, NULL));
    expect_error(ADZ_ERR_SHAPE, "past[2, 3, 2, 1, 2] must be [2, 2, 2, P, 2]");
    adz_module_release(&m);
    m = lm(NULL);
    static const char *const half[] = { "input_ids", "past.0" };
    given[0] = adz_zeros(ADZ_SHAPE(2, 1), ADZ_I64);
    assert_null(one_result(m, half, given, 2, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "past.1 is left out");
    assert_null(adz_module_forward(m, adz_full(ADZ_SHAPE(2, 1), 7, ADZ_I64)));
    expect_error(ADZ_ERR_INDEX, "transformer.wte: embedding: ");
    adz_module_release(&m);
}

static adz_tensor *forward_child(adz_module *m, const char *name, adz_tensor *x)
{
    adz_module *child = adz_module_get_child(m, name);
    assert_non_null(child);
    return adz_module_forward(child, x);
}

static adz_tensor *block_by_parts(adz_module *m, adz_tensor *x)
{
    x = adz_add(x, forward_child(m, "attn", forward_child(m, "ln_1", x)));
    return adz_add(x, forward_child(m, "mlp", forward_child(m, "ln_2", x)));
}

/* A block adds the results of its attention and its network to its input. A model adds the
 * embeddings of words, positions and token types. Words and token types have the same table. */
static void a_block_and_a_model_are_their_parts(void **state)
{
    (void)state;
    adz_module *m = block(NULL), *whole = lm(NULL),
               *stack = adz_module_get_child(whole, "transformer");
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3, 4), ADZ_F32);
    expect_same(adz_module_forward(m, x), block_by_parts(m, x), 0);
    adz_tensor *two[] = { adz_narrow(x, 1, 2, 1), NULL };
    two[1] = one_result(m, NULL, (adz_tensor *[]){ adz_narrow(x, 1, 0, 2) }, 1, "present");
    expect_same(one_result(m, NULL, two, 2, NULL), adz_narrow(block_by_parts(m, x), 1, 2, 1), 1e-5);
    adz_tensor *given[] = { adz_randint(0, 7, ADZ_SHAPE(2, 3), ADZ_I64),
        adz_randint(0, 6, ADZ_SHAPE(2, 3), ADZ_I64), adz_randint(0, 7, ADZ_SHAPE(2, 3), ADZ_I64) };
    adz_tensor *h = adz_add(
        adz_add(forward_child(stack, "wte", given[0]), forward_child(stack, "wpe", given[1])),
        forward_child(stack, "wte", given[2]));
    h = block_by_parts(adz_module_get_child(stack, "h.0"), h);
    h = forward_child(stack, "ln_f", block_by_parts(adz_module_get_child(stack, "h.1"), h));
    expect_same(one_result(stack, NULL, given, 3, NULL), h, 1e-5);
    adz_module *parts[] = { stack, whole };
    /* Pasts are given by their positions. The model with a head has the labels before them. */
    for (int i = 0; i < 2; ++i) {
        adz_tensor *whole_text = adz_randint(0, 7, ADZ_SHAPE(2, 4), ADZ_I64);
        adz_values *past = call(parts[i], "input_ids", adz_narrow(whole_text, 1, 0, 3), NULL);
        adz_tensor *last[] = { adz_narrow(whole_text, 1, 3, 1), ADZ_NONE, ADZ_NONE, ADZ_NONE,
            ADZ_NONE, ADZ_NONE };
        last[3 + i] = adz_values_at(past, 1);
        last[4 + i] = adz_values_at(past, 2);
        expect_same(one_result(parts[i], NULL, last, 5 + (size_t)i, NULL),
            adz_narrow(adz_module_forward(parts[i], whole_text), 1, 3, 1), 1e-5);
        adz_values_free(&past);
    }
    expect_same(one_result(whole, NULL, given, 3, "logits"),
        forward_child(whole, "lm_head.decoder", h), 1e-5);
    adz_module_release(&m);
    adz_module_release(&whole);
}

/* Attention has 12 heads as in GPT-2, both without options and with the struct of an older program,
 * which ends before the number of heads. */
static void defaults_are_gpt2s(void **state)
{
    (void)state;
    adz_gpt2_options older = ADZ_GPT2_OPTIONS;
    older.size = offsetof(adz_gpt2_options, n_head);
    older.n_head = 7;
    for (int i = 0; i < 2; ++i) {
        char text[200];
        adz_module *m = adz_gpt2_attention_new(24, 5, true, i == 0 ? NULL : &older);
        adz_module_to_string(m, text, sizeof text);
        assert_non_null(strstr(text, "n_head=12, scale=True"));
        adz_module_release(&m);
    }
}

static void parts_have_the_dtype(void **state)
{
    (void)state;
    adz_gpt2_options o = tiny();
    o.dtype = ADZ_F64;
    adz_module *m = adz_gpt2_lm_head_model_new(&o), *network = mlp(NULL);
    adz_tensor_list all = adz_module_parameters(m);
    for (size_t i = 0; i < all.count; ++i) {
        assert_int_equal(adz_tensor_dtype(all.items[i]), ADZ_F64);
    }
    adz_module_release(&m);
    adz_tensor *x = adz_randn(ADZ_SHAPE(3, 4), ADZ_F32);
    adz_tensor *h = forward_child(network, "act", forward_child(network, "c_fc", x));
    expect_same(adz_module_forward(network, x), forward_child(network, "c_proj", h), 0);
    adz_module_release(&network);
}

/* Modules with one feature, one head and one position can be made. */
static void the_smallest_parts_are_made(void **state)
{
    (void)state;
    adz_gpt2_options o = tiny();
    o.n_head = o.n_embd = o.n_ctx = o.n_positions = o.vocab_size = 1;
    adz_tensor *x = adz_ones(ADZ_SHAPE(1, 1, 1), ADZ_F32), *ids = adz_zeros(ADZ_SHAPE(1), ADZ_I64);
    adz_module *parts[] = { adz_gpt2_attention_new(1, 1, true, &o), adz_gpt2_block_new(1, true, &o),
        adz_gpt2_mlp_new(1, &o), adz_gpt2_conv1d_new(1, 1, NULL),
        adz_gpt2_notes_feed_forward_new(1, 1, NULL), adz_gpt2_model_new(&o),
        adz_gpt2_lm_head_model_new(&o) };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
        assert_non_null(adz_module_forward(parts[i], i < 5 ? x : ids));
        adz_module_release(&parts[i]);
    }
    expect_no_module(adz_gpt2_attention_new(0, 1, true, &o), "adz_gpt2_attention_new: nx is 0");
    expect_no_module(adz_gpt2_block_new(0, true, &o), "adz_gpt2_block_new: n_ctx is 0");
    o.n_embd = 0;
    expect_no_module(adz_gpt2_block_new(1, true, &o), "adz_gpt2_block_new: n_embd is 0");
    expect_no_module(adz_gpt2_mlp_new(1, &o), "adz_gpt2_mlp_new: n_embd is 0");
    expect_no_module(adz_gpt2_model_new(&o), "adz_gpt2_model_new: n_embd is 0");
    o.n_embd = 1;
    o.n_ctx = 0;
    expect_no_module(adz_gpt2_model_new(&o), "adz_gpt2_model_new: n_ctx is 0");
    o.n_ctx = 1;
    o.n_positions = 0;
    expect_no_module(adz_gpt2_model_new(&o), "adz_gpt2_model_new: n_positions is 0");
    o.n_positions = 1;
    o.n_head = 2;
    expect_no_module(adz_gpt2_model_new(&o), "adz_gpt2_model_new: n_head is 2");
    o.n_head = 1;
    o.dtype = ADZ_I64;
    assert_null(adz_gpt2_attention_new(1, 1, true, &o));
    expect_error(ADZ_ERR_DTYPE, "adz_gpt2_attention_new: parameters are float32 or float64");
}

const struct CMUnitTest gpt2_facts[23] = {
    TEST(conv1d_starts_as_in_gpt2),
    TEST(conv1d_takes_any_rank),
    TEST(a_past_continues),
    TEST(another_mask_counts),
    TEST(every_element_of_the_mask_counts),
    TEST(masks_have_shapes),
    TEST(masks_hide_tokens),
    TEST(masks_cover_the_past),
    TEST(skip_init_leaves_weights_out),
    TEST(the_smallest_parts_are_made),
    TEST(a_block_and_a_model_are_their_parts),
    TEST(a_wrong_past_is_refused),
    TEST(the_head_is_the_table),
    TEST(labels_give_the_loss),
    TEST(ids_have_any_rank),
    TEST(embeddings_are_dropped),
    TEST(attention_and_results_are_dropped),
    TEST(dropout_of_attention_keeps_the_mean),
    TEST(bad_sizes_are_refused),
    TEST(bad_inputs_are_refused),
    TEST(bad_inputs_and_pasts_of_models_are_refused),
    TEST(defaults_are_gpt2s),
    TEST(parts_have_the_dtype),
};
