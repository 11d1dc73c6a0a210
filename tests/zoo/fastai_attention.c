/* fastai's positions, attentions and decoder layer. */
#include <math.h>

#include "adze/zoo.h"
#include "zoo/fastai_attention.h"

/* ---- samples -------------------------------------------------------------------------------- */

static adz_module *positions(adz_generator *g)
{
    (void)g;
    return adz_fastai_positional_encoding_new(5, NULL);
}

static adz_module *plain(adz_generator *g)
{
    (void)g;
    return adz_fastai_attention_new(2, 4, NULL);
}

static adz_module *dropping(adz_generator *g)
{
    adz_fastai_attention_options o;
    adz_fastai_attention_options_init(&o, sizeof o);
    o.d_head = 3;
    o.resid_p = 0.2;
    o.attn_p = 0.3;
    o.bias = false;
    o.scale = false;
    o.generator = g;
    return adz_fastai_attention_new(2, 4, &o);
}

static adz_module *relative(adz_generator *g)
{
    adz_fastai_attention_options o = ADZ_FASTAI_ATTENTION_OPTIONS;
    o.attn_p = 0.2;
    o.generator = g;
    return adz_fastai_relative_attention_new(2, 4, &o);
}

static adz_module *unscaled(adz_generator *g)
{
    (void)g;
    adz_fastai_attention_options o = ADZ_FASTAI_ATTENTION_OPTIONS;
    o.d_head = 3;
    o.bias = false;
    o.scale = false;
    return adz_fastai_relative_attention_new(2, 4, &o);
}

static adz_module *layer(adz_generator *g)
{
    adz_fastai_decoder_layer_options o;
    adz_fastai_decoder_layer_options_init(&o, sizeof o);
    o.resid_p = 0.1;
    o.attn_p = 0.2;
    o.ff_p = 0.3;
    o.act = ADZ_FASTAI_ACTIVATION_GELU;
    o.generator = g;
    return adz_fastai_decoder_layer_new(2, 4, 0, 6, &o);
}

static adz_module *relative_layer(adz_generator *g)
{
    (void)g;
    adz_fastai_decoder_layer_options o = ADZ_FASTAI_DECODER_LAYER_OPTIONS;
    o.bias = false;
    o.act = ADZ_FASTAI_ACTIVATION_SWISH;
    o.double_drop = false;
    o.attn_cls = adz_fastai_relative_attention_new;
    return adz_fastai_decoder_layer_new(1, 4, 3, 5, &o);
}

/* ---- positions ------------------------------------------------------------------------------ */

static void sines_stand_before_cosines(void **state)
{
    (void)state;
    adz_fastai_positional_encoding_options o;
    adz_fastai_positional_encoding_options_init(&o, sizeof o);
    o.dtype = ADZ_F64;
    adz_module *m = adz_fastai_positional_encoding_new(5, &o);
    static const int64_t positions[] = { 0, 3, -2 };
    adz_tensor *y = adz_module_forward(m, adz_tensor_from(positions, ADZ_SHAPE(3), ADZ_I64));
    assert_int_equal(adz_tensor_size(y, 1), 6);
    for (int64_t t = 0; t < 3; ++t) {
        for (int64_t i = 0; i < 3; ++i) {
            double angle = (double)positions[t] * pow(10000, -2.0 * (double)i / 5);
            assert_true(fabs(adz_tensor_at(y, (int64_t[]){ t, i }) - sin(angle)) < 1e-12);
            assert_true(fabs(adz_tensor_at(y, (int64_t[]){ t, 3 + i }) - cos(angle)) < 1e-12);
        }
    }
    expect_refused(m, adz_ones(ADZ_SHAPE(2, 1), ADZ_F64), "pos[2, 1] must be [T]");
}

/* ---- the shift ------------------------------------------------------------------------------ */

static void a_row_moves_left_until_its_distance_is_its_key(void **state)
{
    (void)state;
    adz_tensor *x =
        adz_add_number(adz_reshape(adz_arange(0, 12, 1, ADZ_F64), ADZ_SHAPE(1, 1, 3, 4)), 1);
    static const double moved[] = { 3, 4, 0, 5, 6, 7, 8, 0, 9, 10, 11, 12 };
    static const double cut[] = { 3, 4, 0, 0, 6, 7, 8, 0, 9, 10, 11, 12 };
    adz_tensor *expected = adz_tensor_from(moved, ADZ_SHAPE(1, 1, 3, 4), ADZ_F64);
    expect_same(adz_fastai_line_shift(x, false), expected, 0);
    expected = adz_tensor_from(cut, ADZ_SHAPE(1, 1, 3, 4), ADZ_F64);
    expect_same(adz_fastai_line_shift(x, true), expected, 0);
    assert_null(adz_fastai_line_shift(adz_ones(ADZ_SHAPE(3, 4), ADZ_F32), false));
    expect_error(ADZ_ERR_SHAPE, "x[3, 4] must be [B, H, n, p]");
}

/* ---- masks ---------------------------------------------------------------------------------- */

/* A causal mask by position, a causal mask by name, and is_causal give equal results and gradients.
 */
static void a_causal_mask_is_the_rule(void **state)
{
    (void)state;
    adz_module *m = plain(NULL);
    adz_module_to(m, ADZ_F64);
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(2, 4, 4), ADZ_F64), true);
    adz_tensor *dy = adz_randn(ADZ_SHAPE(2, 4, 4), ADZ_F64), *ys[3], *gradients[3];
    ys[0] = CALL(m, { "x", x }, { "mask", later(4, 4) });
    ys[1] = CALL(m, { "", x }, { "", later(4, 4) });
    ys[2] = CALL(m, { "x", x }, { "is_causal", adz_scalar(1, ADZ_BOOL) });
    for (int i = 0; i < 3; ++i) {
        assert_non_null(ys[i]);
        assert_int_equal(adz_autograd_backward(&ys[i], &dy, 1, NULL), ADZ_OK);
        gradients[i] = adz_clone(adz_tensor_grad(x));
        adz_tensor_set_grad(x, ADZ_NONE);
        expect_same(ys[i], ys[0], 1e-12);
        expect_same(gradients[i], gradients[0], 1e-12);
    }
    /* The first step sees only itself, so its result is that of a call with this step alone. */
    adz_tensor *first = adz_narrow(x, 1, 0, 1);
    expect_same(adz_module_forward(m, first), adz_narrow(ys[0], 1, 0, 1), 1e-12);
    assert_false(alike(adz_module_forward(m, x), ys[0], 1e-3));
    adz_tensor *off = CALL(m, { "x", x }, { "is_causal", adz_scalar(0, ADZ_I64) });
    expect_same(off, adz_module_forward(m, x), 0);
    adz_module_release(&m);
}

/* Steps of padding at the end that all queries do not see do not change the results before them. */
static void hidden_keys_do_not_matter(void **state)
{
    (void)state;
    adz_module *m = plain(NULL);
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3, 4), ADZ_F32);
    adz_tensor *both[] = { x, adz_randn(ADZ_SHAPE(2, 2, 4), ADZ_F32) };
    static const bool hidden[] = { false, false, false, true, true };
    adz_tensor *mask = adz_tensor_from(hidden, ADZ_SHAPE(1, 1, 1, 5), ADZ_BOOL);
    adz_tensor *y = CALL(m, { "x", adz_cat(both, 2, 1) }, { "mask", mask });
    expect_same(adz_narrow(y, 1, 0, 3), adz_module_forward(m, x), 1e-6);
    adz_module_release(&m);
}

/* A query whose keys are all hidden gets zeros, so attention adds the bias of the last layer only.
 */
static void a_query_that_sees_nothing_gets_nothing(void **state)
{
    (void)state;
    adz_module *m = plain(NULL);
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3, 4), ADZ_F32);
    adz_tensor *y = CALL(m, { "x", x }, { "mask", adz_full(ADZ_SHAPE(1, 1, 3, 3), 1, ADZ_BOOL) });
    adz_tensor *sum = adz_add(x, adz_module_get_parameter(m, "out.bias"));
    expect_same(y, adz_module_forward(adz_module_get_child(m, "ln"), sum), 1e-6);
    adz_module_release(&m);
}

/* ---- relative attention --------------------------------------------------------------------- */

/* Attention to a memory and x gives the last results of a call with both joined. */
static void a_memory_is_what_came_before(void **state)
{
    (void)state;
    adz_module *m = relative(NULL);
    adz_module_eval(m);
    adz_module_to(m, ADZ_F64);
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 5, 4), ADZ_F64),
               *r = adz_randn(ADZ_SHAPE(5, 4), ADZ_F64);
    adz_tensor *u = adz_randn(ADZ_SHAPE(2, 1, 2), ADZ_F64);
    adz_tensor *v = adz_randn(ADZ_SHAPE(2, 1, 2), ADZ_F64);
    adz_tensor *whole =
        CALL(m, { "x", x }, { "mask", later(5, 5) }, { "r", r }, { "u", u }, { "v", v });
    adz_tensor *mem = adz_narrow(x, 1, 0, 3), *end = adz_narrow(x, 1, 3, 2);
    adz_tensor *masks[] = { later(2, 5), adz_scalar(1, ADZ_F32) };
    for (int i = 0; i < 2; ++i) {
        adz_tensor *y = CALL(m, { "x", end }, { "r", r }, { "u", u }, { "v", v }, { "mem", mem },
            { i == 0 ? "mask" : "is_causal", masks[i] });
        expect_same(y, adz_narrow(whole, 1, 3, 2), 1e-12);
    }
    adz_module_release(&m);
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void bad_sizes_are_refused(void **state)
{
    (void)state;
    adz_fastai_attention_options o = ADZ_FASTAI_ATTENTION_OPTIONS;
    expect_no_module(adz_fastai_positional_encoding_new(0, NULL), "d is 0");
    expect_no_module(adz_fastai_attention_new(0, 4, NULL), "n_heads is 0");
    expect_no_module(adz_fastai_attention_new(2, 0, NULL), "d_model is 0");
    expect_no_module(
        adz_fastai_attention_new(5, 4, NULL), "5 heads leave nothing of d_model 4 for a head");
    o.d_head = -1;
    expect_no_module(adz_fastai_relative_attention_new(2, 4, &o), "d_head is -1");
    o.d_head = (int64_t)1 << 58;
    expect_no_module(adz_fastai_attention_new(16, 4, &o), "are too many");
    o.d_head = INT64_MAX / 3 / 16;
    assert_null(adz_fastai_attention_new(16, 4, &o));
    expect_error(ADZ_ERR_ARGUMENT, "more than fit in memory");
    o.d_head = INT64_MAX / 4;
    expect_no_module(adz_fastai_attention_new(2, 4, &o), "more than fit in memory");
    o.d_head = 0;
    o.attn_p = 1.5;
    expect_no_module(adz_fastai_attention_new(2, 4, &o), "p is 1.5");
    o.attn_p = 0;
    o.resid_p = -0.5;
    expect_no_module(adz_fastai_attention_new(2, 4, &o), "p is -0.5");
    o.resid_p = 0;
    o.dtype = ADZ_I64;
    assert_null(adz_fastai_attention_new(2, 4, &o));
    expect_error(ADZ_ERR_DTYPE, "int64");
    expect_no_module(adz_fastai_decoder_layer_new(2, 4, 2, 0, NULL), "d_ff 0");
    /* If the heads do not divide the features, d_head is rounded down, as in fastai. */
    adz_module *m = adz_fastai_attention_new(2, 5, NULL);
    assert_int_equal(adz_tensor_size(adz_module_get_parameter(m, "attention.weight"), 0), 12);
    adz_module_release(&m);
}

static void expect_error_of(adz_tensor *y, adz_status code, const char *says)
{
    assert_null(y);
    expect_error(code, says);
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    expect_refused(plain(NULL), adz_ones(ADZ_SHAPE(2, 3, 5), ADZ_F32), "x[2, 3, 5] must be");
    expect_refused(plain(NULL), adz_ones(ADZ_SHAPE(3, 4), ADZ_F32), "x[3, 4] must be [B, T, 4]");
    adz_module *m = plain(NULL);
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 3, 4), ADZ_F32);
    adz_tensor *wide = adz_zeros(ADZ_SHAPE(1, 1, 3, 4), ADZ_BOOL);
    adz_tensor *deep = adz_zeros(ADZ_SHAPE(1, 1, 1, 3, 3), ADZ_BOOL);
    expect_error_of(CALL(m, { "x", x }, { "mask", wide }), ADZ_ERR_SHAPE,
        "mask[1, 1, 3, 4] must broadcast to [2, 2, 3, 3]");
    expect_error_of(CALL(m, { "x", x }, { "mask", deep }), ADZ_ERR_SHAPE, "must broadcast to");
    expect_error_of(CALL(m, { "x", x }, { "mask", x }), ADZ_ERR_SHAPE, "must broadcast to");
    expect_error_of(CALL(m, { "x", x }, { "mask", adz_ones(ADZ_SHAPE(3, 3), ADZ_F32) }),
        ADZ_ERR_DTYPE, "mask is float32, but must be bool");
    expect_error_of(
        CALL(m, { "x", x }, { "mem", x }), ADZ_ERR_ARGUMENT, "takes no argument 1 called mem");
    expect_error_of(
        CALL(m, { "", x }, { "", wide }, { "", x }), ADZ_ERR_ARGUMENT, "takes no argument 2");
    expect_error_of(
        CALL(m, { "x", x }, { "is_causal", x }), ADZ_ERR_SHAPE, "is_causal[2, 3, 4] must be one");
    adz_module_release(&m);
}

static void bad_relative_arguments_are_refused(void **state)
{
    (void)state;
    adz_module *m = relative(NULL);
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 3, 4), ADZ_F32), *r = adz_ones(ADZ_SHAPE(3, 4), ADZ_F32);
    adz_tensor *u = adz_ones(ADZ_SHAPE(2, 1, 2), ADZ_F32);
    adz_tensor *other = adz_ones(ADZ_SHAPE(3, 2, 4), ADZ_F32);
    expect_error_of(adz_module_forward(m, x), ADZ_ERR_ARGUMENT, "r is left out");
    expect_error_of(CALL(m, { "x", x }, { "r", r }, { "u", u }), ADZ_ERR_ARGUMENT, "v is left out");
    expect_error_of(CALL(m, { "x", x }, { "r", u }), ADZ_ERR_SHAPE, "r[2, 1, 2] must be [3, 4]");
    expect_error_of(CALL(m, { "x", x }, { "r", r }, { "u", u }, { "v", r }), ADZ_ERR_SHAPE,
        "v[3, 4] must be [2, 1, 2]");
    expect_error_of(CALL(m, { "x", x }, { "r", r }, { "u", u }, { "v", u }, { "mem", other }),
        ADZ_ERR_SHAPE, "mem[3, 2, 4] must be [2, M, 4]");
    expect_error_of(
        CALL(m, { "x", x }, { "r", r }, { "u", u }, { "v", u }, { "mask", later(3, 5) }),
        ADZ_ERR_SHAPE, "mask[1, 1, 3, 5] must broadcast to [2, 2, 3, 3]");
    adz_module_release(&m);
    m = layer(NULL);
    expect_error_of(CALL(m, { "", x }, { "", later(3, 3) }, { "", r }), ADZ_ERR_ARGUMENT,
        "value 2 has no name");
    expect_error_of(CALL(m, { "", x }, { "r", r }), ADZ_ERR_ARGUMENT,
        "mhra: MultiHeadAttention: takes no argument 1 called r");
    adz_module_release(&m);
}

/* ---- vector files --------------------------------------------------------------------------- */

/* adz_fastai_line_shift as a module, for the vector files of this function. */
static adz_tensor *shift_forward(adz_module *self, adz_tensor *x)
{
    return adz_fastai_line_shift(x, *(const bool *)adz_module_data(self));
}

static const adz_module_type shift_type = {
    .size = sizeof(adz_module_type),
    .name = "line_shift",
    .forward = shift_forward,
};

static adz_module *shift_new(bool mask)
{
    adz_module *m = adz_module_new(&shift_type, sizeof(bool));
    if (m != NULL) {
        *(bool *)adz_module_data(m) = mask;
    }
    return m;
}

static int64_t size_of(const json_t *config, const char *key)
{
    return (int64_t)config_number(config, key, 0);
}

static adz_module *layer_from(const json_t *config)
{
    adz_fastai_decoder_layer_options o = ADZ_FASTAI_DECODER_LAYER_OPTIONS;
    o.resid_p = config_number(config, "resid_p", 0);
    o.attn_p = config_number(config, "attn_p", 0);
    o.ff_p = config_number(config, "ff_p", 0);
    o.bias = config_flag(config, "bias", true);
    o.scale = config_flag(config, "scale", true);
    o.act = case_fastai_activation(config);
    o.double_drop = config_flag(config, "double_drop", true);
    bool is_relative = strcmp(config_text(config, "attn_cls", "MultiHeadAttention"),
                           "MultiHeadRelativeAttention") == 0;
    o.attn_cls = is_relative ? adz_fastai_relative_attention_new : NULL;
    return adz_fastai_decoder_layer_new(size_of(config, "n_heads"), size_of(config, "d_model"),
        size_of(config, "d_head"), size_of(config, "d_inner"), &o);
}

static adz_module *from_config(const char *reference, const json_t *config)
{
    if (strcmp(reference, "fastai PositionalEncoding") == 0) {
        return adz_fastai_positional_encoding_new(size_of(config, "d"), NULL);
    }
    if (strcmp(reference, "fastai _line_shift") == 0) {
        return shift_new(config_flag(config, "mask", false));
    }
    if (strcmp(reference, "fastai DecoderLayer") == 0) {
        return layer_from(config);
    }
    adz_fastai_attention_options o = ADZ_FASTAI_ATTENTION_OPTIONS;
    o.d_head = size_of(config, "d_head");
    o.resid_p = config_number(config, "resid_p", 0);
    o.attn_p = config_number(config, "attn_p", 0);
    o.bias = config_flag(config, "bias", true);
    o.scale = config_flag(config, "scale", true);
    return (strcmp(reference, "fastai MultiHeadAttention") == 0
                ? adz_fastai_attention_new
                : adz_fastai_relative_attention_new)(
        size_of(config, "n_heads"), size_of(config, "d_model"), &o);
}

static const struct CMUnitTest facts[] = {
    TEST(sines_stand_before_cosines),
    TEST(a_row_moves_left_until_its_distance_is_its_key),
    TEST(a_causal_mask_is_the_rule),
    TEST(hidden_keys_do_not_matter),
    TEST(a_query_that_sees_nothing_gets_nothing),
    TEST(a_memory_is_what_came_before),
    TEST(relative_scores_are_content_and_position),
    TEST(weights_of_keys_are_dropped),
    TEST(a_layer_takes_its_mask_by_position),
    TEST(tensors_that_ended_are_refused),
    TEST(sizes_of_memories_are_compared),
    TEST(bad_sizes_are_refused),
    TEST(bad_arguments_are_refused),
    TEST(bad_relative_arguments_are_refused),
};

#define LINEAR(in, out, bias) "Linear(in_features=" #in ", out_features=" #out ", bias=" #bias ")\n"
#define NORM                  "LayerNorm((4,), eps=1e-05, elementwise_affine=True)\n"
#define NAMES(at)                                                                                  \
    at "attention.weight " at "attention.bias " at "out.weight " at "out.bias " at "ln.weight " at \
       "ln.bias"
#define NAMES_WITHOUT_BIAS(at) at "attention.weight " at "out.weight " at "ln.weight " at "ln.bias"

const module_case fastai_attention_module = {
    .name = "fastai_attention",
    .references = { "fastai PositionalEncoding", "fastai _line_shift", "fastai MultiHeadAttention",
        "fastai MultiHeadRelativeAttention", "fastai DecoderLayer" },
    .from_config = from_config,
    .samples = { { positions, "PositionalEncoding()", "freq", { X(3) } },
        { plain,
            "MultiHeadAttention(\n"
            "  n_heads=2, d_head=2, scale=True\n"
            "  (attention): " LINEAR(4, 12, True) "  (out): " LINEAR(
                4, 4, True) "  (drop_att): Dropout(p=0.0, inplace=False)\n"
                            "  (drop_res): Dropout(p=0.0, inplace=False)\n"
                            "  (ln): " NORM ")",
            NAMES(""), { X(2, 3, 4) } },
        { dropping,
            "MultiHeadAttention(\n"
            "  n_heads=2, d_head=3, scale=False\n"
            "  (attention): " LINEAR(4, 18, False) "  (out): " LINEAR(
                6, 4, False) "  (drop_att): Dropout(p=0.3, inplace=False)\n"
                             "  (drop_res): Dropout(p=0.2, inplace=False)\n"
                             "  (ln): " NORM ")",
            NAMES_WITHOUT_BIAS(""), { X(2, 3, 4) } },
        { relative,
            "MultiHeadRelativeAttention(\n"
            "  n_heads=2, d_head=2, scale=True\n"
            "  (attention): " LINEAR(4, 12, True) "  (out): " LINEAR(
                4, 4, True) "  (drop_att): Dropout(p=0.2, inplace=False)\n"
                            "  (drop_res): Dropout(p=0.0, inplace=False)\n"
                            "  (ln): " NORM "  (r_attn): " LINEAR(4, 4, True) ")",
            NAMES("") " r_attn.weight r_attn.bias",
            { X_NAMED("x", 2, 2, 4), X_NAMED("r", 3, 4), X_NAMED("u", 2, 1, 2),
                X_NAMED("v", 2, 1, 2), X_NAMED("mem", 2, 1, 4) } },
        { unscaled,
            "MultiHeadRelativeAttention(\n"
            "  n_heads=2, d_head=3, scale=False\n"
            "  (attention): " LINEAR(4, 18, False) "  (out): " LINEAR(
                6, 4, False) "  (drop_att): Dropout(p=0.0, inplace=False)\n"
                             "  (drop_res): Dropout(p=0.0, inplace=False)\n"
                             "  (ln): " NORM "  (r_attn): " LINEAR(4, 6, False) ")",
            NAMES_WITHOUT_BIAS("") " r_attn.weight",
            { X(1, 3, 4), X_NAMED("r", 3, 4), X_NAMED("u", 2, 1, 3), X_NAMED("v", 2, 1, 3) } },
        { layer,
            "DecoderLayer(\n"
            "  (mhra): MultiHeadAttention(\n"
            "    n_heads=2, d_head=2, scale=True\n"
            "    (attention): " LINEAR(4, 12, True) "    (out): " LINEAR(
                4, 4, True) "    (drop_att): Dropout(p=0.2, inplace=False)\n"
                            "    (drop_res): Dropout(p=0.1, inplace=False)\n"
                            "    (ln): " NORM "  )\n"
                            "  (ff): SequentialEx(\n"
                            "    (layers): ModuleList(\n"
                            "      (0): " LINEAR(
                                4, 6, True) "      (1): GELU(approximate='tanh')\n"
                                            "      (2): Dropout(p=0.3, inplace=False)\n"
                                            "      (3): " LINEAR(6, 4,
                                                True) "      (4): Dropout(p=0.3, inplace=False)\n"
                                                      "      (5): MergeLayer()\n"
                                                      "      (6): " NORM "    )\n"
                                                      "  )\n"
                                                      ")",
            NAMES(
                "mhra.") " ff.layers.0.weight ff.layers.0.bias ff.layers.3.weight ff.layers.3.bias ff.layers.6.weight ff.layers.6.bias",
            { X(2, 3, 4) } },
        { relative_layer,
            "DecoderLayer(\n"
            "  (mhra): MultiHeadRelativeAttention(\n"
            "    n_heads=1, d_head=3, scale=True\n"
            "    (attention): " LINEAR(4, 9, False) "    (out): " LINEAR(3, 4,
                False) "    (drop_att): Dropout(p=0.0, inplace=False)\n"
                       "    (drop_res): Dropout(p=0.0, inplace=False)\n"
                       "    (ln): " NORM "    (r_attn): " LINEAR(4, 3,
                           False) "  )\n"
                                  "  (ff): SequentialEx(\n"
                                  "    (layers): ModuleList(\n"
                                  "      (0): " LINEAR(4, 5,
                                      True) "      (1): SiLU()\n"
                                            "      (2): " LINEAR(5, 4,
                                                True) "      (3): Dropout(p=0.0, inplace=False)\n"
                                                      "      (4): MergeLayer()\n"
                                                      "      (5): " NORM "    )\n"
                                                      "  )\n"
                                                      ")",
            NAMES_WITHOUT_BIAS(
                "mhra.") " mhra.r_attn.weight ff.layers.0.weight ff.layers.0.bias ff.layers.2.weight ff.layers.2.bias ff.layers.5.weight ff.layers.5.bias",
            { X(1, 2, 4), X_NAMED("r", 4, 4), X_NAMED("u", 1, 1, 3), X_NAMED("v", 1, 1, 3),
                X_NAMED("mem", 1, 2, 4) } } },
    FACTS(facts),
};
