/* Facts about fastai's Transformer and Transformer-XL that the sweep cannot check. */
#include "adze/zoo.h"
#include "zoo/fastai_transformer.h"

/* Later tokens do not change the results of earlier ones; the position of a token does. */
static void later_tokens_are_hidden(void **state)
{
    (void)state;
    adz_module *all[] = { transformer(NULL), sinusoidal(NULL), xl(NULL) };
    for (int i = 0; i < 3; ++i) {
        adz_module_eval(all[i]);
        adz_tensor *ids = some_ids(2, 5), *y = adz_module_forward(all[i], ids);
        adz_module_reset(all[i]);
        adz_tensor *first = adz_module_forward(all[i], adz_narrow(ids, 1, 0, 3));
        expect_same(first, adz_narrow(y, 1, 0, 3), 1e-6);
        adz_module_release(&all[i]);
    }
}

/* The mask that an attention of the user was called with. */
static adz_tensor *seen;

static adz_status spy_call(adz_module *self, const adz_values *in, adz_values *out)
{
    adz_tensor *mask = adz_values_get(in, "mask");
    (void)self;
    for (size_t i = 0; i < adz_values_count(in); ++i) { /* reads what it does not need */
        (void)adz_values_at(in, i);
    }
    seen = mask == ADZ_NONE ? mask : adz_keep(adz_to(mask, ADZ_I64));
    return adz_values_add(out, "", adz_values_argument(in, 0, "x"));
}

static const adz_module_type spy_type = {
    .size = sizeof(adz_module_type),
    .name = "Spy",
    .call = spy_call,
};

static adz_module *spy_new(int64_t n_heads, int64_t d_model, const adz_fastai_attention_options *o)
{
    return n_heads == 2 && d_model == 4 && o->d_head == 2 ? adz_module_new(&spy_type, 0) : NULL;
}

static void an_attention_of_ones_own_gets_the_mask(void **state)
{
    (void)state;
    adz_fastai_transformer_options o = xl_options(NULL);
    o.attn_cls = spy_new;
    o.mem_len = 1;
    adz_module *m = adz_fastai_transformer_xl_new(7, &o);
    assert_non_null(m);
    for (int pass = 0; pass < 2; ++pass) {
        static const int64_t first[] = { 0, 1, 0, 0 }, second[] = { 0, 0, 1, 0, 0, 0 };
        assert_non_null(adz_module_forward(m, some_ids(1, 2)));
        adz_tensor *expected =
            adz_tensor_from(pass == 0 ? first : second, ADZ_SHAPE(1, 1, 2, 2 + pass), ADZ_I64);
        assert_true(adz_equal(seen, expected));
        adz_release(&seen);
    }
    adz_module_release(&m);
    o.mask = false;
    o.mem_len = 0;
    m = adz_fastai_transformer_new(7, &o);
    assert_non_null(adz_module_forward(m, some_ids(1, 2)));
    assert_ptr_equal(seen, ADZ_NONE);
    adz_module_release(&m);
}

/* ---- memory --------------------------------------------------------------------------------- */

/* Calls a model and returns all its results with their names. */
static adz_values *call(adz_module *m, adz_tensor *ids)
{
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "", ids);
    assert_int_equal(adz_module_call(m, in, out), ADZ_OK);
    adz_values_free(&in);
    return out;
}

/* With one layer, a text in pieces gives the results of the whole text as long as the memory
 * reaches back to its start. With two layers it does not, because the first layer had seen fewer
 * steps when it made the memory. */
static void memory_continues_a_text(void **state)
{
    (void)state;
    adz_module *m = xl(NULL);
    adz_module_to(m, ADZ_F64);
    adz_tensor *ids = some_ids(2, 5), *whole = adz_module_forward(m, ids);
    adz_module_reset(m);
    static const int64_t starts[] = { 0, 2, 3, 5 };
    for (int i = 0; i < 3; ++i) {
        int64_t n = starts[i + 1] - starts[i];
        adz_tensor *y = adz_module_forward(m, adz_narrow(ids, 1, starts[i], n));
        expect_same(y, adz_narrow(whole, 1, starts[i], n), 1e-12);
    }
    adz_module_release(&m);
}

static void memory_has_its_length_and_no_gradient(void **state)
{
    (void)state;
    adz_module *m = xl(NULL);
    static const int64_t lengths[] = { 1, 2, 3, 4, 7 }, kept[] = { 1, 3, 4, 4, 4 };
    for (int i = 0; i < 5; ++i) {
        adz_values *out = call(m, some_ids(2, lengths[i]));
        assert_int_equal(adz_values_count(out), 3);
        assert_true(adz_tensor_requires_grad(adz_values_get(out, "out.0")));
        for (int k = 0; k < 2; ++k) {
            adz_tensor *mem = adz_values_get(out, k == 0 ? "raw.0" : "raw.1");
            assert_int_equal(adz_tensor_size(mem, 1), kept[i]);
            assert_false(adz_tensor_requires_grad(mem));
        }
        /* The last memory ends with the results of the last layer. */
        adz_tensor *end = adz_narrow(adz_values_get(out, "raw.1"), 1, kept[i] - 1, 1);
        expect_same(end, adz_narrow(adz_values_at(out, 0), 1, lengths[i] - 1, 1), 0);
        adz_values_free(&out);
    }
    assert_int_equal(adz_module_named_buffers(m).count, 3); /* the buffer "freq" and two memories */
    adz_module_reset(m);
    assert_int_equal(adz_module_named_buffers(m).count, 1);
    adz_module_release(&m);
}

/* A copy continues with the memory of the original, and a selected row as if it were alone. */
static void memory_is_copied_and_picked(void **state)
{
    (void)state;
    adz_module *m = xl(NULL);
    adz_tensor *before = some_ids(3, 4), *after = some_ids(3, 2);
    assert_non_null(adz_module_forward(m, before));
    adz_module *copy = adz_module_copy(m);
    adz_tensor *y = adz_module_forward(m, after);
    expect_same(adz_module_forward(copy, after), y, 0);
    adz_module_release(&copy);
    adz_module_reset(m);
    assert_non_null(adz_module_forward(m, before));
    static const int64_t rows[] = { 2, 0 };
    adz_tensor *picked = adz_tensor_from(rows, ADZ_SHAPE(2), ADZ_I64);
    assert_int_equal(adz_module_select_hidden(m, picked), ADZ_OK);
    expect_same(adz_module_forward(m, adz_index_select(after, 0, picked)),
        adz_index_select(y, 0, picked), 1e-6);
    static const int64_t none[] = { 2 };
    adz_tensor *wrong = adz_tensor_from(none, ADZ_SHAPE(1), ADZ_I64);
    assert_int_equal(adz_module_select_hidden(m, wrong), ADZ_ERR_INDEX);
    expect_error(ADZ_ERR_INDEX, "");
    assert_non_null(adz_module_forward(m, some_ids(2, 1))); /* The memory has not changed. */
    adz_module_reset(m);
    assert_int_equal(adz_module_select_hidden(m, picked), ADZ_OK); /* The memory is empty. */
    adz_module_release(&m);
}

static void a_failed_call_remembers_nothing(void **state)
{
    (void)state;
    adz_module *m = xl(NULL);
    adz_tensor *ids = some_ids(2, 3);
    assert_non_null(adz_module_forward(m, ids));
    assert_null(adz_module_forward(m, some_ids(3, 3)));
    expect_error(ADZ_ERR_SHAPE, "ids[3, 3] does not fit a memory of a batch of 2");
    assert_null(adz_module_forward(m, adz_full(ADZ_SHAPE(2, 3), 7, ADZ_I64)));
    expect_error(ADZ_ERR_INDEX, "encoder: embedding: ");
    assert_int_equal(adz_tensor_size(adz_module_get_buffer(m, "mem_0"), 1), 3);
    adz_module_reset(m);
    assert_non_null(adz_module_forward(m, some_ids(3, 3)));
    adz_module_release(&m);
}

/* ---- initial values ------------------------------------------------------------------------- */

static void expect_drawn(adz_module *m, const char *name, double mean, double deviation)
{
    adz_tensor *t = adz_module_get_parameter(m, name);
    assert_non_null(t);
    double found = adz_item(adz_mean(t, ADZ_ALL_DIMS, ADZ_DROPDIM));
    double around =
        adz_item(adz_mean(adz_square(adz_sub_number(t, mean)), ADZ_ALL_DIMS, ADZ_DROPDIM));
    double n = (double)adz_tensor_numel(t), wide = 5 * deviation / sqrt(n);
    if (fabs(found - mean) > wide || fabs(sqrt(around) - deviation) > wide) {
        fail_msg("%s has mean %g and deviation %g", name, found, sqrt(around));
    }
}

static void the_initialiser_is_the_references(void **state)
{
    (void)state;
    adz_manual_seed(3);
    adz_fastai_transformer_options o = xl_options(NULL);
    o.n_heads = 8;
    o.d_model = 32;
    o.d_head = 16;
    o.d_inner = 40;
    o.bias = true;
    adz_module *m = adz_fastai_transformer_xl_new(50, &o);
    /* The constructor draws them; the reference leaves them uninitialised. */
    expect_drawn(m, "u", 0, 0.02);
    expect_drawn(m, "v", 0, 0.02);
    static const char *const weights[] = { "layers.0.mhra.attention.weight",
        "layers.0.mhra.out.weight", "layers.0.mhra.r_attn.weight", "layers.0.ff.layers.0.weight",
        "layers.0.ff.layers.3.weight", "u", "v" };
    fill(adz_module_get_parameter(m, "u"), 1);
    fill(adz_module_get_parameter(m, "v"), 1);
    adz_tensor *table = adz_clone(adz_module_get_parameter(m, "encoder.weight"));
    assert_int_equal(adz_fastai_init_transformer(m), ADZ_OK);
    for (int i = 0; i < 7; ++i) {
        expect_drawn(m, weights[i], 0, 0.02);
    }
    expect_drawn(m, "layers.0.mhra.ln.weight", 1, 0.02);
    expect_drawn(m, "layers.0.ff.layers.6.weight", 1, 0.02);
    assert_true(all_are(adz_module_get_parameter(m, "layers.0.mhra.r_attn.bias"), 0));
    assert_true(all_are(adz_module_get_parameter(m, "layers.0.ff.layers.0.bias"), 0));
    assert_true(all_are(adz_module_get_parameter(m, "layers.0.mhra.ln.bias"), 0));
    assert_true(adz_equal(table, adz_module_get_parameter(m, "encoder.weight")));
    fill(adz_module_get_parameter(m, "u"), 1);
    assert_int_equal(adz_module_reset_parameters(m), ADZ_OK);
    expect_drawn(m, "u", 0, 0.02);
    adz_module_release(&m);
    assert_int_equal(adz_fastai_init_transformer(NULL), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "module");
}

/* ---- parts ---------------------------------------------------------------------------------- */

static adz_tensor *run_layer(adz_module *m, size_t i, adz_tensor *h, bool hides)
{
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "", h);
    if (hides) {
        adz_values_add(in, "is_causal", adz_scalar(1, ADZ_BOOL));
    }
    adz_module *layer = adz_module_child_at(adz_module_get_child(m, "layers"), i);
    assert_int_equal(adz_module_call(layer, in, out), ADZ_OK);
    h = adz_values_at(out, 0);
    adz_values_free(&in);
    adz_values_free(&out);
    return h;
}

/* Words and positions are added, and the layers follow one another. */
static void a_transformer_is_its_parts(void **state)
{
    (void)state;
    for (int bits = 0; bits < 4; ++bits) {
        adz_fastai_transformer_options o = transformer_options(NULL);
        o.learned_pos_enc = bits & 1;
        o.mask = bits & 2;
        o.n_layers = 2;
        adz_module *m = adz_fastai_transformer_new(7, &o);
        adz_module_eval(m);
        adz_tensor *ids = some_ids(2, 5);
        adz_tensor *positions =
            adz_module_forward(adz_module_get_child(m, "pos_enc"), adz_arange(0, 5, 1, ADZ_I64));
        adz_tensor *h =
            adz_add(adz_module_forward(adz_module_get_child(m, "encoder"), ids), positions);
        for (size_t i = 0; i < 2; ++i) {
            h = run_layer(m, i, h, o.mask);
        }
        adz_values *out = call(m, ids);
        assert_int_equal(adz_values_count(out), 2);
        expect_same(adz_values_get(out, "out.0"), h, 1e-6);
        expect_same(adz_values_get(out, "raw.0"), h, 1e-6);
        adz_values_free(&out);
        adz_module_release(&m);
    }
    adz_module *m = forgetful(NULL);
    adz_values *out = call(m, some_ids(2, 3)); /* Without a memory there is one raw result. */
    assert_int_equal(adz_values_count(out), 2);
    expect_same(adz_values_get(out, "raw.0"), adz_values_get(out, "out.0"), 0);
    adz_values_free(&out);
    adz_module_release(&m);
}

static void embeddings_are_dropped(void **state)
{
    (void)state;
    for (int i = 0; i < 2; ++i) {
        adz_fastai_transformer_options o = i == 0 ? transformer_options(NULL) : xl_options(NULL);
        o.n_layers = 0;
        o.embed_p = 1;
        adz_module *m =
            i == 0 ? adz_fastai_transformer_new(7, &o) : adz_fastai_transformer_xl_new(7, &o);
        assert_true(all_are(adz_module_forward(m, some_ids(2, 3)), 0));
        adz_module_eval(m);
        assert_false(all_are(adz_module_forward(m, some_ids(2, 3)), 0));
        assert_null(adz_module_forward(m, ADZ_NONE));
        expect_error(ADZ_ERR_ARGUMENT, "ids is not optional");
        adz_module_release(&m);
    }
}

/* One word, one position, one head, and as many features as positions need. */
static void the_smallest_models_are_made(void **state)
{
    (void)state;
    adz_fastai_transformer_options o = ADZ_FASTAI_TRANSFORMER_OPTIONS;
    o.ctx_len = o.n_layers = o.n_heads = o.d_model = o.d_inner = 1;
    o.d_head = 0;
    adz_module *m = adz_fastai_transformer_new(1, &o);
    adz_tensor *ids = adz_zeros(ADZ_SHAPE(1, 1), ADZ_I64);
    assert_non_null(adz_module_forward(m, ids));
    adz_module_release(&m);
    adz_fastai_transformer_options all = ADZ_FASTAI_TRANSFORMER_XL_OPTIONS;
    all.ctx_len = all.n_layers = all.mem_len = all.d_inner = 1;
    all.n_heads = 2;
    all.d_model = 6;
    all.d_head = 0;
    m = adz_fastai_transformer_xl_new(1, &all);
    adz_tensor *u = adz_module_get_parameter(m, "u");
    assert_true(adz_tensor_size(u, 0) == 2 && adz_tensor_size(u, 2) == 3); /* 6 features, 2 heads */
    for (int i = 0; i < 3; ++i) {
        assert_non_null(adz_module_forward(m, ids));
        assert_int_equal(adz_tensor_size(adz_module_get_buffer(m, "mem_1"), 1), 1);
    }
    adz_module_release(&m);
    adz_fastai_transformer_options bad = o;
    bad.n_heads = 0;
    expect_no_module(adz_fastai_transformer_new(1, &bad), "transformer_new: n_heads is 0");
    bad = o;
    bad.d_model = 0;
    expect_no_module(adz_fastai_transformer_new(1, &bad), "transformer_new: d_model is 0");
    bad = o;
    bad.d_head = -1;
    expect_no_module(adz_fastai_transformer_new(1, &bad), "transformer_new: d_head is -1");
    bad = o;
    bad.d_inner = 0;
    expect_no_module(adz_fastai_transformer_new(1, &bad), "transformer_new: d_inner is 0");
    bad = o;
    bad.dtype = ADZ_I64;
    assert_null(adz_fastai_transformer_new(1, &bad));
    expect_error(ADZ_ERR_DTYPE, "transformer_new: parameters are float32 or float64");
}

/* Scores are divided by the root of d_head unless the option `scale` is off. */
static void scores_are_scaled_if_asked_for(void **state)
{
    (void)state;
    adz_tensor *ids = some_ids(2, 5), *y[2];
    for (int scale = 0; scale < 2; ++scale) {
        adz_fastai_transformer_options o = transformer_options(NULL);
        o.scale = scale;
        adz_manual_seed(3);
        adz_module *m = adz_fastai_transformer_new(7, &o);
        adz_module_eval(m);
        adz_tensor *keys = adz_module_get_parameter(m, "layers.0.mhra.attention.weight");
        ADZ_NO_GRAD
        {
            adz_mul_number_(keys, 10);
        }
        y[scale] = adz_module_forward(m, ids);
        adz_module_release(&m);
    }
    assert_false(adz_allclose(y[0], y[1], 1e-3, 1e-3, false));
}

static void models_have_one_dtype(void **state)
{
    (void)state;
    for (int i = 0; i < 3; ++i) {
        adz_fastai_transformer_options o = i < 2 ? transformer_options(NULL) : xl_options(NULL);
        o.learned_pos_enc = i == 0;
        o.dtype = ADZ_F64;
        adz_module *m =
            i < 2 ? adz_fastai_transformer_new(7, &o) : adz_fastai_transformer_xl_new(7, &o);
        adz_tensor_list all = adz_module_parameters(m);
        for (size_t k = 0; k < all.count; ++k) {
            assert_int_equal(adz_tensor_dtype(all.items[k]), ADZ_F64);
        }
        assert_int_equal(adz_tensor_dtype(adz_module_forward(m, some_ids(1, 2))), ADZ_F64);
        adz_module_release(&m);
    }
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void bad_options_are_refused(void **state)
{
    (void)state;
    const adz_fastai_transformer_options good = transformer_options(NULL);
    adz_fastai_transformer_options o = good;
    expect_no_module(adz_fastai_transformer_new(0, &o), "vocab_sz is 0");
    o.ctx_len = 0;
    expect_no_module(adz_fastai_transformer_new(7, &o), "ctx_len is 0");
    o = good;
    o.n_layers = -1;
    expect_no_module(adz_fastai_transformer_new(7, &o), "n_layers is -1");
    o = good;
    o.n_heads = 5;
    o.d_head = 0;
    expect_no_module(adz_fastai_transformer_new(7, &o), "5 heads leave nothing of d_model 4");
    o = good;
    o.d_inner = 0;
    expect_no_module(adz_fastai_transformer_new(7, &o), "d_inner is 0");
    o = good;
    o.embed_p = 2;
    expect_no_module(adz_fastai_transformer_new(7, &o), "p is 2");
    o = good;
    o.ff_p = -1;
    expect_no_module(adz_fastai_transformer_new(7, &o), "p is -1");
    o = good;
    o.mem_len = 3;
    expect_no_module(
        adz_fastai_transformer_new(7, &o), "mem_len is 3, but a Transformer has no memory");
    o = good;
    o.d_model = 5;
    adz_module *m = adz_fastai_transformer_new(7, &o); /* A learned table may have any width. */
    assert_non_null(m);
    adz_module_release(&m);
    o.learned_pos_enc = false;
    expect_no_module(adz_fastai_transformer_new(7, &o), "d_model is 5, but sinusoidal");
    o = xl_options(NULL);
    o.d_model = 5;
    expect_no_module(adz_fastai_transformer_xl_new(7, &o), "d_model is 5, but sinusoidal");
    o = xl_options(NULL);
    o.mem_len = -1;
    expect_no_module(adz_fastai_transformer_xl_new(7, &o), "mem_len is -1");
    o.mem_len = 1;
    o.learned_pos_enc = true;
    assert_null(adz_fastai_transformer_xl_new(7, &o));
    expect_error(ADZ_ERR_UNSUPPORTED, "leave learned_pos_enc off");
    o = xl_options(NULL);
    o.dtype = ADZ_BOOL;
    assert_null(adz_fastai_transformer_xl_new(7, &o));
    expect_error(ADZ_ERR_DTYPE, "bool");
}

static void bad_ids_are_refused(void **state)
{
    (void)state;
    expect_refused(transformer(NULL), some_ids(2, 6), "ids[2, 6] are 6 in a row, but ctx_len is 5");
    expect_refused(transformer(NULL), adz_zeros(ADZ_SHAPE(3), ADZ_I64), "ids[3] must be [B, T]");
    expect_refused(xl(NULL), adz_zeros(ADZ_SHAPE(3), ADZ_I64), "ids[3] must be [B, T]");
    adz_module *all[] = { transformer(NULL), sinusoidal(NULL), xl(NULL) };
    for (int i = 0; i < 3; ++i) {
        assert_null(adz_module_forward(all[i], adz_full(ADZ_SHAPE(2, 3), 7, ADZ_I64)));
        expect_error(ADZ_ERR_INDEX, "encoder: embedding: ");
        assert_null(adz_module_forward(all[i], adz_full(ADZ_SHAPE(2, 3), -1, ADZ_I64)));
        expect_error(ADZ_ERR_INDEX, "encoder: embedding: ");
    }
    adz_module_release(&all[0]);
    adz_tensor *y = adz_module_forward(all[1], some_ids(1, 9)); /* Sines have no last position. */
    assert_non_null(y);
    adz_module_release(&all[1]);
    adz_module_release(&all[2]);
}

/* An attention that does not fit the model is refused. */
static void an_attention_must_fit(void **state)
{
    (void)state;
    adz_fastai_transformer_options o = transformer_options(NULL);
    o.attn_cls = adz_fastai_relative_attention_new;
    adz_module *m = adz_fastai_transformer_new(7, &o);
    assert_null(adz_module_forward(m, some_ids(1, 2)));
    expect_error(ADZ_ERR_ARGUMENT, "layers.0.mhra: MultiHeadRelativeAttention: r is left out");
    adz_module_release(&m);
    o = xl_options(NULL);
    o.attn_cls = adz_fastai_attention_new;
    m = adz_fastai_transformer_xl_new(7, &o);
    assert_null(adz_module_forward(m, some_ids(1, 2)));
    expect_error(ADZ_ERR_ARGUMENT, "layers.0.mhra: MultiHeadAttention: takes no argument 1");
    adz_module_release(&m);
}

const struct CMUnitTest fastai_transformer_facts[15] = {
    TEST(later_tokens_are_hidden),
    TEST(an_attention_of_ones_own_gets_the_mask),
    TEST(memory_continues_a_text),
    TEST(memory_has_its_length_and_no_gradient),
    TEST(memory_is_copied_and_picked),
    TEST(a_failed_call_remembers_nothing),
    TEST(the_initialiser_is_the_references),
    TEST(bad_options_are_refused),
    TEST(bad_ids_are_refused),
    TEST(an_attention_must_fit),
    TEST(a_transformer_is_its_parts),
    TEST(embeddings_are_dropped),
    TEST(the_smallest_models_are_made),
    TEST(scores_are_scaled_if_asked_for),
    TEST(models_have_one_dtype),
};
