/* fastai's Transformer and Transformer-XL. */
#include <math.h>

#include "nn/case.h"

/* ---- samples -------------------------------------------------------------------------------- */

static adz_fastai_transformer_options tiny(adz_fastai_transformer_options o, adz_generator *g)
{
    o.ctx_len = 5;
    o.n_layers = 1;
    o.n_heads = 2;
    o.d_model = 4;
    o.d_head = 2;
    o.d_inner = 3;
    o.generator = g;
    return o;
}

static adz_fastai_transformer_options transformer_options(adz_generator *g)
{
    adz_fastai_transformer_options o;
    adz_fastai_transformer_options_init(&o, sizeof o);
    return tiny(o, g);
}

static adz_fastai_transformer_options xl_options(adz_generator *g)
{
    adz_fastai_transformer_options o;
    adz_fastai_transformer_xl_options_init(&o, sizeof o);
    return tiny(o, g);
}

static adz_module *transformer(adz_generator *g)
{
    adz_fastai_transformer_options o = transformer_options(g);
    o.embed_p = 0.1;
    o.attn_p = 0.2;
    return adz_fastai_transformer_new(7, &o);
}

static adz_module *sinusoidal(adz_generator *g)
{
    adz_fastai_transformer_options o = transformer_options(g);
    o.learned_pos_enc = false;
    o.bias = false;
    o.double_drop = false;
    o.act = ADZ_FASTAI_ACTIVATION_GELU;
    o.n_layers = 2;
    return adz_fastai_transformer_new(7, &o);
}

static adz_module *xl(adz_generator *g)
{
    adz_fastai_transformer_options o = xl_options(g);
    o.mem_len = 4;
    return adz_fastai_transformer_xl_new(7, &o);
}

static adz_module *forgetful(adz_generator *g)
{
    adz_fastai_transformer_options o = xl_options(g);
    o.mask = false;
    o.resid_p = 0.2;
    o.double_drop = false;
    return adz_fastai_transformer_xl_new(7, &o);
}

static adz_tensor *some_ids(int64_t batch, int64_t length)
{
    return adz_randint(0, 7, ADZ_SHAPE(batch, length), ADZ_I64);
}

/* ---- positions and masks -------------------------------------------------------------------- */

/* What follows changes nothing, and positions change what stands first. */
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
        adz_module_free(&all[i]);
    }
}

/* An attention of one's own is given the mask and can tell what it hides. */
static adz_tensor *seen;

static adz_status spy_call(adz_module *self, const adz_values *in, adz_values *out)
{
    adz_tensor *mask = adz_values_find(in, "mask");
    (void)self;
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
    adz_module_free(&m);
    o.mask = false;
    o.mem_len = 0;
    m = adz_fastai_transformer_new(7, &o);
    assert_non_null(adz_module_forward(m, some_ids(1, 2)));
    assert_ptr_equal(seen, ADZ_NONE);
    adz_module_free(&m);
}

/* ---- memory --------------------------------------------------------------------------------- */

/* All results of a call, by name. */
static adz_values *call(adz_module *m, adz_tensor *ids)
{
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "", ids);
    assert_int_equal(adz_module_call(m, in, out), ADZ_OK);
    adz_values_free(&in);
    return out;
}

/* A text in pieces gives what it gives at once, as long as the memory reaches back to its start:
 * with one layer; the input of a second one was computed from less. */
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
    adz_module_free(&m);
}

static void memory_has_its_length_and_no_gradient(void **state)
{
    (void)state;
    adz_module *m = xl(NULL);
    static const int64_t lengths[] = { 1, 2, 3, 4, 7 }, kept[] = { 1, 3, 4, 4, 4 };
    for (int i = 0; i < 5; ++i) {
        adz_values *out = call(m, some_ids(2, lengths[i]));
        assert_int_equal(adz_values_count(out), 3);
        assert_true(adz_tensor_requires_grad(adz_values_find(out, "out.0")));
        for (int k = 0; k < 2; ++k) {
            adz_tensor *mem = adz_values_find(out, k == 0 ? "raw.0" : "raw.1");
            assert_int_equal(adz_tensor_size(mem, 1), kept[i]);
            assert_false(adz_tensor_requires_grad(mem));
        }
        /* the last memory ends in what the last layer gave */
        adz_tensor *end = adz_narrow(adz_values_find(out, "raw.1"), 1, kept[i] - 1, 1);
        expect_same(end, adz_narrow(adz_values_at(out, 0), 1, lengths[i] - 1, 1), 0);
        adz_values_free(&out);
    }
    assert_int_equal(adz_module_named_buffers(m).count, 3); /* freq and two memories */
    adz_module_reset(m);
    assert_int_equal(adz_module_named_buffers(m).count, 1);
    adz_module_free(&m);
}

/* A copy goes on where the original was, and a picked row as if it had been alone. */
static void memory_is_copied_and_picked(void **state)
{
    (void)state;
    adz_module *m = xl(NULL);
    adz_tensor *before = some_ids(3, 4), *after = some_ids(3, 2);
    assert_non_null(adz_module_forward(m, before));
    adz_module *copy = adz_module_copy(m);
    adz_tensor *y = adz_module_forward(m, after);
    expect_same(adz_module_forward(copy, after), y, 0);
    adz_module_free(&copy);
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
    assert_non_null(adz_module_forward(m, some_ids(2, 1))); /* nothing has changed */
    adz_module_reset(m);
    assert_int_equal(adz_module_select_hidden(m, picked), ADZ_OK); /* of nothing */
    adz_module_free(&m);
}

static void a_failed_call_remembers_nothing(void **state)
{
    (void)state;
    adz_module *m = xl(NULL);
    adz_tensor *ids = some_ids(2, 3);
    assert_non_null(adz_module_forward(m, ids));
    assert_null(adz_module_forward(m, some_ids(3, 3)));
    expect_error(ADZ_ERR_SHAPE, "ids[3, 3] beside a memory of a batch of 2");
    assert_null(adz_module_forward(m, adz_full(ADZ_SHAPE(2, 3), 7, ADZ_I64)));
    expect_error(ADZ_ERR_INDEX, "encoder: embedding: ");
    assert_int_equal(adz_tensor_size(adz_module_buffer(m, "mem_0"), 1), 3);
    adz_module_reset(m);
    assert_non_null(adz_module_forward(m, some_ids(3, 3)));
    adz_module_free(&m);
}

/* ---- how it starts -------------------------------------------------------------------------- */

static void expect_drawn(adz_module *m, const char *name, double mean, double deviation)
{
    adz_tensor *t = adz_module_parameter(m, name);
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
    expect_drawn(m, "u", 0, 0.02); /* from the start: in the reference they are not drawn */
    expect_drawn(m, "v", 0, 0.02);
    static const char *const weights[] = { "layers.0.mhra.attention.weight",
        "layers.0.mhra.out.weight", "layers.0.mhra.r_attn.weight", "layers.0.ff.layers.0.weight",
        "layers.0.ff.layers.3.weight", "u", "v" };
    fill(adz_module_parameter(m, "u"), 1);
    fill(adz_module_parameter(m, "v"), 1);
    adz_tensor *table = adz_clone(adz_module_parameter(m, "encoder.weight"));
    assert_int_equal(adz_fastai_init_transformer(m), ADZ_OK);
    for (int i = 0; i < 7; ++i) {
        expect_drawn(m, weights[i], 0, 0.02);
    }
    expect_drawn(m, "layers.0.mhra.ln.weight", 1, 0.02);
    expect_drawn(m, "layers.0.ff.layers.6.weight", 1, 0.02);
    assert_true(all_are(adz_module_parameter(m, "layers.0.mhra.r_attn.bias"), 0));
    assert_true(all_are(adz_module_parameter(m, "layers.0.ff.layers.0.bias"), 0));
    assert_true(all_are(adz_module_parameter(m, "layers.0.mhra.ln.bias"), 0));
    assert_true(adz_equal(table, adz_module_parameter(m, "encoder.weight")));
    fill(adz_module_parameter(m, "u"), 1);
    assert_int_equal(adz_module_reset_parameters(m), ADZ_OK);
    expect_drawn(m, "u", 0, 0.02);
    adz_module_free(&m);
    assert_int_equal(adz_fastai_init_transformer(NULL), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "module");
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
    expect_no_module(adz_fastai_transformer_new(7, &o), "mem_len is 3, but only");
    o = good;
    o.d_model = 5;
    adz_module *m = adz_fastai_transformer_new(7, &o); /* a table may have any width */
    assert_non_null(m);
    adz_module_free(&m);
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
    adz_module_free(&all[0]);
    adz_tensor *y = adz_module_forward(all[1], some_ids(1, 9)); /* sines do not end */
    assert_non_null(y);
    adz_module_free(&all[1]);
    adz_module_free(&all[2]);
}

/* Attentions that do not fit their model say so. */
static void an_attention_must_fit(void **state)
{
    (void)state;
    adz_fastai_transformer_options o = transformer_options(NULL);
    o.attn_cls = adz_fastai_relative_attention_new;
    adz_module *m = adz_fastai_transformer_new(7, &o);
    assert_null(adz_module_forward(m, some_ids(1, 2)));
    expect_error(ADZ_ERR_ARGUMENT, "layers.0.mhra: MultiHeadRelativeAttention: r is left out");
    adz_module_free(&m);
    o = xl_options(NULL);
    o.attn_cls = adz_fastai_attention_new;
    m = adz_fastai_transformer_xl_new(7, &o);
    assert_null(adz_module_forward(m, some_ids(1, 2)));
    expect_error(ADZ_ERR_ARGUMENT, "layers.0.mhra: MultiHeadAttention: takes no argument 1");
    adz_module_free(&m);
}

/* ---- vector files --------------------------------------------------------------------------- */

static adz_module *from_config(const char *reference, const json_t *config)
{
    return case_fastai_encoder(strrchr(reference, ' ') + 1, config);
}

static const struct CMUnitTest facts[] = {
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
};

#define LINEAR(in, out, bias) "Linear(in_features=" #in ", out_features=" #out ", bias=" #bias ")\n"
#define NORM                  "LayerNorm((4,), eps=1e-05, elementwise_affine=True)\n"
#define DROPOUT(p)            "Dropout(p=" #p ", inplace=False)\n"
#define NAMES_OF_FF(at, second, norm)                                                            \
    at "layers.0.weight " at "layers.0.bias " at "layers." second ".weight " at "layers." second \
       ".bias " at "layers." norm ".weight " at "layers." norm ".bias"
#define NAMES_OF_ATTENTION(at) at "attention.weight " at "out.weight " at "ln.weight " at "ln.bias "
#define NAMES_OF_SINGLE(at)    NAMES_OF_ATTENTION(at "mhra.") NAMES_OF_FF(at "ff.", "2", "5")

const module_case fastai_transformer_module = {
    .name = "fastai_transformer",
    .references = { "fastai Transformer", "fastai TransformerXL" },
    .from_config = from_config,
    .renames = { "mem.#=raw.#" },
    .samples = { { transformer,
                     "Transformer(\n"
                     "  mask=True\n"
                     "  (encoder): Embedding(7, 4)\n"
                     "  (pos_enc): Embedding(5, 4)\n"
                     "  (drop_emb): " DROPOUT(
                         0.1) "  (layers): ModuleList(\n"
                              "    (0): DecoderLayer(\n"
                              "      (mhra): MultiHeadAttention(\n"
                              "        n_heads=2, d_head=2, scale=True\n"
                              "        (attention): " LINEAR(4, 12, True) "        (out): " LINEAR(4, 4, True) "        (drop_att): " DROPOUT(0.2) "        (drop_res): " DROPOUT(
                                  0.0) "        (ln): " NORM "      )\n"
                                       "      (ff): SequentialEx(\n"
                                       "        (layers): ModuleList(\n"
                                       "          (0): " LINEAR(4, 3,
                                           True) "          (1): ReLU(inplace=True)\n"
                                                 "          (2): " DROPOUT(
                                                     0.0) "          (3): " LINEAR(3, 4,
                                                     True) "          (4): " DROPOUT(0.0) "        "
                                                                                          "  (5): "
                                                                                          "MergeLay"
                                                                                          "er()\n"
                                                                                          "        "
                                                                                          "  "
                                                                                          "(6):"
                                                                                          " " NORM
                                                                                          "        "
                                                                                          ")\n"
                                                                                          "      "
                                                                                          ")\n"
                                                                                          "    )\n"
                                                                                          "  )\n"
                                                                                          ")",
                     "encoder.weight pos_enc.weight layers.0.mhra.attention.weight "
                     "layers.0.mhra.attention.bias layers.0.mhra.out.weight layers.0.mhra.out.bias "
                     "layers.0.mhra.ln.weight layers.0.mhra.ln.bias " NAMES_OF_FF(
                         "layers.0.ff.", "3", "6"),
                     { IDS(7, 2, 3) } },
        { sinusoidal,
            "Transformer(\n"
            "  mask=True\n"
            "  (encoder): Embedding(7, 4)\n"
            "  (pos_enc): PositionalEncoding()\n"
            "  (drop_emb): " DROPOUT(
                0.0) "  (layers): ModuleList(\n"
                     "    (0-1): 2 x DecoderLayer(\n"
                     "      (mhra): MultiHeadAttention(\n"
                     "        n_heads=2, d_head=2, scale=True\n"
                     "        (attention): " LINEAR(4, 12, False) "        (out): " LINEAR(4, 4, False) "        (drop_att): " DROPOUT(
                         0.0) "        (drop_res): " DROPOUT(0.0) "        (ln): " NORM "      )\n"
                                                                  "      (ff): SequentialEx(\n"
                                                                  "        (layers): ModuleList(\n"
                                                                  "          (0): " LINEAR(4, 3,
                                                                      True) "          (1): "
                                                                            "GELU(approximate='"
                                                                            "tanh')\n"
                                                                            "          "
                                                                            "(2): " LINEAR(3, 4, True) "          (3): " DROPOUT(
                                                                                0.0) "          "
                                                                                     "(4): "
                                                                                     "MergeLayer()"
                                                                                     "\n"
                                                                                     "          "
                                                                                     "(5): " NORM
                                                                                     "        )\n"
                                                                                     "      )\n"
                                                                                     "    )\n"
                                                                                     "  )\n"
                                                                                     ")",
            "encoder.weight pos_enc.freq " NAMES_OF_SINGLE("layers.0.") " " NAMES_OF_SINGLE(
                "layers.1."),
            { IDS(7, 1, 4) } },
        { xl,
            "TransformerXL(\n"
            "  mem_len=4, mask=True\n"
            "  (encoder): Embedding(7, 4)\n"
            "  (pos_enc): PositionalEncoding()\n"
            "  (drop_emb): " DROPOUT(
                0.0) "  (layers): ModuleList(\n"
                     "    (0): DecoderLayer(\n"
                     "      (mhra): MultiHeadRelativeAttention(\n"
                     "        n_heads=2, d_head=2, scale=True\n"
                     "        (attention): " LINEAR(4, 12, False) "        (out): " LINEAR(4, 4,
                         False) "        (drop_att): " DROPOUT(0.0) "        (drop_res): " DROPOUT(0.0) "        (ln): " NORM "        (r_attn): " LINEAR(4,
                         4,
                         False) "      )\n"
                                "      (ff): SequentialEx(\n"
                                "        (layers): ModuleList(\n"
                                "          (0): " LINEAR(4, 3,
                                    True) "          (1): ReLU(inplace=True)\n"
                                          "          (2): " DROPOUT(0.0) "          (3): " LINEAR(3,
                                              4,
                                              True) "          (4): " DROPOUT(0.0) "          (5): "
                                                                                   "MergeLayer()\n"
                                                                                   "          "
                                                                                   "(6): " NORM
                                                                                   "        )\n"
                                                                                   "      )\n"
                                                                                   "    )\n"
                                                                                   "  )\n"
                                                                                   ")",
            "u v encoder.weight pos_enc.freq " NAMES_OF_ATTENTION(
                "layers.0.mhra.") "layers.0.mhra.r_attn.weight " NAMES_OF_FF("layers.0.ff.", "3",
                "6"),
            { IDS(7, 2, 3) } },
        { forgetful,
            "TransformerXL(\n"
            "  mem_len=0, mask=False\n"
            "  (encoder): Embedding(7, 4)\n"
            "  (pos_enc): PositionalEncoding()\n"
            "  (drop_emb): " DROPOUT(
                0.0) "  (layers): ModuleList(\n"
                     "    (0): DecoderLayer(\n"
                     "      (mhra): MultiHeadRelativeAttention(\n"
                     "        n_heads=2, d_head=2, scale=True\n"
                     "        (attention): " LINEAR(4, 12, False) "        (out): " LINEAR(4, 4, False) "        (drop_att): " DROPOUT(
                         0.0) "        (drop_res): " DROPOUT(0.2) "        (ln): " NORM
                                                                  "        (r_attn): " LINEAR(4, 4,
                                                                      False) "      )\n"
                                                                             "      (ff): "
                                                                             "SequentialEx(\n"
                                                                             "        (layers): "
                                                                             "ModuleList(\n"
                                                                             "          "
                                                                             "(0): " LINEAR(4, 3,
                                                                                 True) "          "
                                                                                       "(1): "
                                                                                       "ReLU("
                                                                                       "inplace="
                                                                                       "True)\n"
                                                                                       "          "
                                                                                       "(2):"
                                                                                       " " LINEAR(3, 4, True) "          (3): " DROPOUT(
                                                                                           0.0) "  "
                                                                                                "  "
                                                                                                "  "
                                                                                                "  "
                                                                                                "  "
                                                                                                "(4"
                                                                                                "):"
                                                                                                " M"
                                                                                                "er"
                                                                                                "ge"
                                                                                                "La"
                                                                                                "ye"
                                                                                                "r("
                                                                                                ")"
                                                                                                "\n"
                                                                                                "  "
                                                                                                "  "
                                                                                                "  "
                                                                                                "  "
                                                                                                "  "
                                                                                                "(5"
                                                                                                "):"
                                                                                                " " NORM
                                                                                                "  "
                                                                                                "  "
                                                                                                "  "
                                                                                                "  "
                                                                                                ")"
                                                                                                "\n"
                                                                                                "  "
                                                                                                "  "
                                                                                                "  "
                                                                                                ")"
                                                                                                "\n"
                                                                                                "  "
                                                                                                "  "
                                                                                                ")"
                                                                                                "\n"
                                                                                                "  "
                                                                                                ")"
                                                                                                "\n"
                                                                                                ")",
            "u v encoder.weight pos_enc.freq " NAMES_OF_ATTENTION(
                "layers.0.mhra.") "layers.0.mhra.r_attn.weight " NAMES_OF_FF("layers.0.ff.", "2",
                "5"),
            { IDS(7, 1, 3) } } },
    FACTS(facts),
};
