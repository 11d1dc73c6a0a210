/* GPT-2, from its parts to the language model. */
#include "nn/case.h"

/* ---- samples -------------------------------------------------------------------------------- */

static adz_gpt2_options tiny(void)
{
    adz_gpt2_options o;
    adz_gpt2_options_init(&o, sizeof o);
    o.vocab_size = 7;
    o.n_positions = 6;
    o.n_ctx = 5;
    o.n_embd = 4;
    o.n_layer = 2;
    o.n_head = 2;
    o.layer_norm_epsilon = 1e-3;
    return o;
}

static adz_module *conv1d(adz_generator *g)
{
    (void)g;
    return adz_gpt2_conv1d_new(3, 4, NULL);
}

static adz_module *layer_norm(adz_generator *g)
{
    (void)g;
    return adz_gpt2_layer_norm_new(4, NULL);
}

static adz_module *notes(adz_generator *g)
{
    adz_gpt2_notes_feed_forward_options o;
    adz_gpt2_notes_feed_forward_options_init(&o, sizeof o);
    o.generator = g;
    return adz_gpt2_notes_feed_forward_new(6, 4, &o);
}

static adz_module *mlp(adz_generator *g)
{
    (void)g;
    adz_gpt2_options o = tiny();
    return adz_gpt2_mlp_new(5, &o);
}

static adz_module *attention(adz_generator *g)
{
    (void)g;
    adz_gpt2_options o = tiny();
    return adz_gpt2_attention_new(4, 5, true, &o);
}

static adz_module *unscaled(adz_generator *g)
{
    (void)g;
    adz_gpt2_options o = tiny();
    return adz_gpt2_attention_new(6, 3, false, &o);
}

static adz_module *block(adz_generator *g)
{
    (void)g;
    adz_gpt2_options o = tiny();
    return adz_gpt2_block_new(5, true, &o);
}

static adz_module *model(adz_generator *g)
{
    (void)g;
    adz_gpt2_options o = tiny();
    o.n_layer = 1;
    return adz_gpt2_model_new(&o);
}

static adz_module *dropped(adz_generator *g)
{
    adz_gpt2_options o = tiny();
    o.n_layer = 0;
    o.embd_pdrop = 0.4;
    o.generator = g;
    return adz_gpt2_model_new(&o);
}

static adz_module *lm(adz_generator *g)
{
    (void)g;
    adz_gpt2_options o = tiny();
    return adz_gpt2_lm_head_model_new(&o);
}

/* ---- parts ---------------------------------------------------------------------------------- */

static void conv1d_starts_as_in_gpt2(void **state)
{
    (void)state;
    adz_module *m = adz_gpt2_conv1d_new(100, 50, NULL);
    for (int pass = 0; pass < 2; ++pass) { /* as made, and drawn anew */
        adz_tensor *w = adz_module_parameter(m, "weight");
        assert_int_equal(adz_tensor_size(w, 0), 50);
        assert_int_equal(adz_tensor_size(w, 1), 100);
        double squares = adz_item(adz_mean(adz_square(w), ADZ_ALL_DIMS, ADZ_DROPDIM));
        assert_true(fabs(sqrt(squares) / 0.02 - 1) < 0.06);
        assert_true(all_are(adz_module_parameter(m, "bias"), 0));
        fill(w, 1);
        fill(adz_module_parameter(m, "bias"), 1);
        assert_int_equal(adz_module_reset_parameters(m), ADZ_OK);
    }
    adz_module_free(&m);
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
    adz_module_free(&m);
}

/* ---- a past --------------------------------------------------------------------------------- */

/* The call's results under names; x alone, or after a past. */
static adz_values *call(adz_module *m, const char *name, adz_tensor *x, const adz_values *before)
{
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, name, x);
    for (size_t i = 0; before != NULL && i < adz_values_count(before); ++i) {
        const char *from = adz_values_name(before, i);
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

/* In pieces of 2, 1 and 2 steps, a module gives what it gives for the whole at once. */
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
    adz_module_free(&m);
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
        adz_tensor *table = adz_module_parameter(both[i], "transformer.wte.weight");
        assert_ptr_equal(adz_module_parameter(both[i], "lm_head.decoder.weight"), table);
        assert_int_equal(adz_module_parameters(both[i]).count, 2 + 2 * 12 + 2);
        fill(table, 0.25);
    }
    adz_module_reset_parameters(m); /* the table as a table, whatever the decoder draws */
    double most = 0;
    const float *values = adz_tensor_data_f32(adz_module_parameter(m, "transformer.wte.weight"));
    for (int i = 0; i < 28; ++i) {
        double size = fabs((double)values[i]);
        most = size > most ? size : most;
    }
    assert_true(most > 1);
    adz_module_free(&m);
    adz_module_free(&copy);
}

static adz_tensor *one_result(adz_module *m, const char *const *names, adz_tensor *const *tensors,
    size_t n, const char *result)
{
    adz_values *in = adz_values_new(), *out = adz_values_new();
    for (size_t i = 0; i < n; ++i) {
        adz_values_add(in, names != NULL ? names[i] : "", tensors[i]);
    }
    adz_status status = adz_module_call(m, in, out);
    adz_tensor *y = status != ADZ_OK ? NULL
                    : result != NULL ? adz_values_find(out, result)
                                     : adz_values_at(out, 0);
    adz_values_free(&in);
    adz_values_free(&out);
    return y;
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
    adz_tensor *by_place[] = { ids, ADZ_NONE, ADZ_NONE, labels };
    assert_true(HOLDS(one_result(m, NULL, by_place, 4, NULL), 1e-5, expected));
    adz_module_free(&m);
}

/* A vector of ids gives a matrix of logits; positions and types of one's own are heeded. */
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
    adz_module_free(&m);
}

/* GPT-2's own dropout comes after the sum of the embeddings, and in training alone. */
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
    adz_module_free(&m);
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
    expect_error(ADZ_ERR_DTYPE, "int64");
    adz_gpt2_layer_norm_options n;
    adz_gpt2_layer_norm_options_init(&n, sizeof n);
    n.eps = -1;
    expect_no_module(adz_gpt2_layer_norm_new(3, &n), "eps is -1");
    expect_no_module(adz_gpt2_notes_feed_forward_new(0, 3, NULL), "d_model is 0");
    expect_no_module(adz_gpt2_notes_feed_forward_new(3, 0, NULL), "nx is 0");
    adz_gpt2_notes_feed_forward_options f = ADZ_GPT2_NOTES_FEED_FORWARD_OPTIONS;
    f.dropout = 2;
    expect_no_module(adz_gpt2_notes_feed_forward_new(3, 4, &f), "p is 2");
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
    expect_refused(lm(NULL), adz_zeros(ADZ_SHAPE(2, 7), ADZ_I64), "but n_positions is 6");
    expect_refused(lm(NULL), adz_zeros(ADZ_SHAPE(2, 6), ADZ_I64),
        "transformer.h.0.attn: Attention: x[2, 6, 4]");
    expect_refused(lm(NULL), adz_zeros(ADZ_SHAPE_SCALAR, ADZ_I64), "input_ids[] must be [..., T]");
    adz_module *m = block(NULL);
    static const char *const names[] = { "x", "past" };
    adz_tensor *given[] = { adz_ones(ADZ_SHAPE(2, 1, 4), ADZ_F32),
        adz_ones(ADZ_SHAPE(2, 3, 2, 1, 2), ADZ_F32) };
    assert_null(one_result(m, names, given, 2, NULL));
    expect_error(ADZ_ERR_SHAPE, "past[2, 3, 2, 1, 2] must be [2, 2, 2, P, 2]");
    adz_module_free(&m);
    m = lm(NULL);
    static const char *const half[] = { "input_ids", "past.0" };
    given[0] = adz_zeros(ADZ_SHAPE(2, 1), ADZ_I64);
    assert_null(one_result(m, half, given, 2, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "past.1 is left out");
    assert_null(adz_module_forward(m, adz_full(ADZ_SHAPE(2, 1), 7, ADZ_I64)));
    expect_error(ADZ_ERR_INDEX, "transformer.wte: embedding: ");
    adz_module_free(&m);
}

/* A mask that is not causal goes the reference's way, and both ways agree where the masks do. */
static void another_mask_counts(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *m = attention(NULL);
    assert_int_equal(adz_module_to(m, ADZ_F64), ADZ_OK);
    adz_manual_seed(3);
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 4, 4), ADZ_F64);
    adz_tensor *before = adz_module_forward(m, x), *mask = adz_module_buffer(m, "bias");
    double *values = adz_tensor_data_f64(mask);
    values[4] = 0; /* the first row's last column: hidden anyway */
    assert_true(adz_equal(adz_module_forward(m, x), before));
    values[3 * 5 + 1] = 0; /* the last query no longer sees the second key */
    adz_tensor *after = adz_module_forward(m, x);
    expect_same(adz_narrow(after, 1, 0, 3), adz_narrow(before, 1, 0, 3), 1e-14);
    assert_false(
        adz_allclose(adz_narrow(after, 1, 3, 1), adz_narrow(before, 1, 3, 1), 1e-6, 1e-6, false));
    adz_module_free(&m);
    adz_scope_close(scope);
}

/* ---- vector files --------------------------------------------------------------------------- */

static int64_t size_of(const json_t *config, const char *key, int64_t otherwise)
{
    return (int64_t)config_number(config, key, (double)otherwise);
}

static adz_gpt2_options options_of(const json_t *config)
{
    adz_gpt2_options o = ADZ_GPT2_OPTIONS;
    o.vocab_size = size_of(config, "vocab_size", o.vocab_size);
    o.n_positions = size_of(config, "n_positions", o.n_positions);
    o.n_ctx = size_of(config, "n_ctx", o.n_ctx);
    o.n_embd = size_of(config, "n_embd", o.n_embd);
    o.n_layer = size_of(config, "n_layer", o.n_layer);
    o.n_head = size_of(config, "n_head", o.n_head);
    o.layer_norm_epsilon = config_number(config, "layer_norm_epsilon", o.layer_norm_epsilon);
    return o;
}

static adz_module *part_from_config(const char *part, const json_t *config)
{
    if (strcmp(part, "gelu") == 0) {
        return adz_gelu_new(ADZ_GELU_TANH);
    }
    if (strcmp(part, "Conv1D") == 0) {
        return adz_gpt2_conv1d_new(size_of(config, "nf", 0), size_of(config, "nx", 0), NULL);
    }
    if (strcmp(part, "LayerNorm") == 0) {
        adz_gpt2_layer_norm_options o = ADZ_GPT2_LAYER_NORM_OPTIONS;
        o.eps = config_number(config, "eps", o.eps);
        return adz_gpt2_layer_norm_new(size_of(config, "hidden_size", 0), &o);
    }
    adz_gpt2_notes_feed_forward_options o = ADZ_GPT2_NOTES_FEED_FORWARD_OPTIONS;
    o.dropout = config_number(config, "dropout", o.dropout);
    return adz_gpt2_notes_feed_forward_new(
        size_of(config, "d_model", 768), size_of(config, "nx", 768 * 4), &o);
}

static adz_module *from_config(const char *reference, const json_t *config)
{
    adz_gpt2_options o = options_of(config);
    bool scale = config_flag(config, "scale", false);
    const char *part = strrchr(reference, ' ') + 1;
    if (strcmp(part, "MLP") == 0) {
        return adz_gpt2_mlp_new(size_of(config, "n_state", 4 * o.n_embd), &o);
    }
    if (strcmp(part, "Attention") == 0) {
        return adz_gpt2_attention_new(size_of(config, "nx", 0), o.n_ctx, scale, &o);
    }
    if (strcmp(part, "Block") == 0) {
        return adz_gpt2_block_new(o.n_ctx, scale, &o);
    }
    if (strcmp(part, "GPT2Model") == 0) {
        return adz_gpt2_model_new(&o);
    }
    if (strcmp(part, "GPT2LMHeadModel") == 0) {
        return config_flag(config, "tied", true) ? adz_gpt2_lm_head_model_new(&o) : NULL;
    }
    return part_from_config(part, config);
}

static const struct CMUnitTest facts[] = {
    TEST(conv1d_starts_as_in_gpt2),
    TEST(conv1d_takes_any_rank),
    TEST(a_past_continues),
    TEST(another_mask_counts),
    TEST(the_head_is_the_table),
    TEST(labels_give_the_loss),
    TEST(ids_have_any_rank),
    TEST(embeddings_are_dropped),
    TEST(bad_sizes_are_refused),
    TEST(bad_inputs_are_refused),
};

#define TWO_LAYERS(indent)                                                                 \
    indent "(c_fc): Conv1D(nf=16, nx=4)\n" indent "(c_proj): Conv1D(nf=4, nx=16)\n" indent \
           "(act): GELU(approximate='tanh')\n"
#define NORM "LayerNorm((4,), eps=0.001, elementwise_affine=True)\n"
#define BLOCK(indent)                                                                   \
    "Block(\n" indent "  (ln_1): " NORM indent "  (attn): Attention(\n" indent          \
    "    n_head=2, scale=True\n" indent "    (c_attn): Conv1D(nf=12, nx=4)\n" indent    \
    "    (c_proj): Conv1D(nf=4, nx=4)\n" indent "  )\n" indent "  (ln_2): " NORM indent \
    "  (mlp): MLP(\n" TWO_LAYERS(indent "    ") indent "  )\n" indent ")"
#define BLOCK_NAMES(at)                                                                         \
    at "ln_1.weight " at "ln_1.bias " at "attn.bias " at "attn.c_attn.weight " at               \
       "attn.c_attn.bias " at "attn.c_proj.weight " at "attn.c_proj.bias " at "ln_2.weight " at \
       "ln_2.bias " at "mlp.c_fc.weight " at "mlp.c_fc.bias " at "mlp.c_proj.weight " at        \
       "mlp.c_proj.bias"
#define LM_TREE                                                                        \
    "GPT2LMHeadModel(\n"                                                               \
    "  (transformer): GPT2Model(\n"                                                    \
    "    (wte): Embedding(7, 4)\n"                                                     \
    "    (wpe): Embedding(6, 4)\n"                                                     \
    "    (h): ModuleList(\n"                                                           \
    "      (0-1): 2 x " BLOCK(                                                         \
        "      ") "\n"                                                                 \
                  "    )\n"                                                            \
                  "    (ln_f): " NORM "  )\n"                                          \
                  "  (lm_head): GPT2LMHead(\n"                                         \
                  "    (decoder): Linear(in_features=4, out_features=7, bias=False)\n" \
                  "  )\n"                                                              \
                  ")"
#define LM_NAMES                                                                            \
    "transformer.wte.weight transformer.wpe.weight " BLOCK_NAMES(                           \
        "transformer.h.0.") " " BLOCK_NAMES("transformer.h.1.") " transformer.ln_f.weight " \
                                                                "transformer.ln_f.bias "    \
                                                                "lm_head.decoder.weight"

const module_case gpt2_module = {
    .name = "gpt2",
    .references = { "GPT-2 notes Conv1D", "GPT-2 notes FeedForward", "graykode gelu",
        "graykode Conv1D", "graykode LayerNorm", "graykode MLP", "graykode Attention",
        "graykode Block", "graykode GPT2Model", "graykode GPT2LMHeadModel" },
    .from_config = from_config,
    .renames = { "ids=input_ids", "labels=lm_labels" },
    .carries = { "present", "past" },
    .samples = { { conv1d, "Conv1D(nf=3, nx=4)", "weight bias", { X(2, 3, 4) } },
        { layer_norm, "LayerNorm((4,), eps=1e-12, elementwise_affine=True)", "weight bias",
            { X(2, 4) } },
        { notes,
            "FeedForward(\n"
            "  (c_fc): Conv1D(nf=6, nx=4)\n"
            "  (c_proj): Conv1D(nf=4, nx=6)\n"
            "  (act): GELU(approximate='none')\n"
            "  (dropout): Dropout(p=0.1, inplace=False)\n"
            ")",
            "c_fc.weight c_fc.bias c_proj.weight c_proj.bias", { X(2, 3, 4) } },
        { mlp,
            "MLP(\n"
            "  (c_fc): Conv1D(nf=5, nx=4)\n"
            "  (c_proj): Conv1D(nf=4, nx=5)\n"
            "  (act): GELU(approximate='tanh')\n"
            ")",
            "c_fc.weight c_fc.bias c_proj.weight c_proj.bias", { X(4) } },
        { attention,
            "Attention(\n"
            "  n_head=2, scale=True\n"
            "  (c_attn): Conv1D(nf=12, nx=4)\n"
            "  (c_proj): Conv1D(nf=4, nx=4)\n"
            ")",
            "bias c_attn.weight c_attn.bias c_proj.weight c_proj.bias",
            { X(2, 3, 4), X(2, 2, 2, 2, 2) } },
        { unscaled,
            "Attention(\n"
            "  n_head=2, scale=False\n"
            "  (c_attn): Conv1D(nf=18, nx=6)\n"
            "  (c_proj): Conv1D(nf=6, nx=6)\n"
            ")",
            "bias c_attn.weight c_attn.bias c_proj.weight c_proj.bias", { X(1, 3, 6) } },
        { block, BLOCK(""), BLOCK_NAMES(""), { X(2, 3, 4), X_NAMED("past", 2, 2, 2, 1, 2) } },
        { model,
            "GPT2Model(\n"
            "  (wte): Embedding(7, 4)\n"
            "  (wpe): Embedding(6, 4)\n"
            "  (h): ModuleList(\n"
            "    (0): " BLOCK("    ") "\n"
                                      "  )\n"
                                      "  (ln_f): " NORM ")",
            "wte.weight wpe.weight " BLOCK_NAMES("h.0.") " ln_f.weight ln_f.bias",
            { IDS(7, 2, 2), IDS_NAMED("token_type_ids", 7, 2, 2),
                IDS_NAMED("position_ids", 6, 2, 2), X_NAMED("past.0", 2, 2, 2, 1, 2) } },
        { dropped,
            "GPT2Model(\n"
            "  (wte): Embedding(7, 4)\n"
            "  (wpe): Embedding(6, 4)\n"
            "  (h): ModuleList()\n"
            "  (ln_f): " NORM "  (drop): Dropout(p=0.4, inplace=False)\n)",
            "wte.weight wpe.weight ln_f.weight ln_f.bias", { IDS(7, 2, 3) } },
        { lm, LM_TREE, LM_NAMES, { IDS(7, 2, 3) } },
        { lm, LM_TREE, LM_NAMES, { IDS(7, 2, 3), IDS_NAMED("lm_labels", 7, 2, 3) } } },
    FACTS(facts),
};
