/* fastai's text classifier: pooling, the head, and texts in chunks. */
#include "adze/zoo.h"
#include "zoo/fastai_chunks.h"

/* ---- samples -------------------------------------------------------------------------------- */

static adz_module *block(adz_generator *g)
{
    adz_fastai_bn_drop_lin_options o;
    adz_fastai_bn_drop_lin_options_init(&o, sizeof o);
    o.p = 0.3;
    o.actn = adz_tanh_new();
    o.generator = g;
    return adz_fastai_bn_drop_lin_new(3, 4, &o);
}

static adz_module *bare(adz_generator *g)
{
    (void)g;
    adz_fastai_bn_drop_lin_options o = ADZ_FASTAI_BN_DROP_LIN_OPTIONS;
    o.bn = false;
    return adz_fastai_bn_drop_lin_new(3, 2, &o);
}

static adz_module *head(adz_generator *g)
{
    adz_fastai_pooling_classifier_options o;
    adz_fastai_pooling_classifier_options_init(&o, sizeof o);
    o.generator = g;
    return adz_fastai_pooling_classifier_new((int64_t[]){ 6, 4, 3 }, (double[]){ 0.25, 0 }, 3, &o);
}

static adz_module *chunked(adz_generator *g)
{
    (void)g;
    return adz_fastai_multi_batch_encoder_new(2, 4, stub_new(), 5);
}

/* A model of encoder and head; the ids contain padding. */
static adz_module *classifier(adz_generator *g)
{
    adz_fastai_pooling_classifier_options o = ADZ_FASTAI_POOLING_CLASSIFIER_OPTIONS;
    o.generator = g;
    adz_module *parts[2] = { adz_fastai_multi_batch_encoder_new(3, 100, stub_new(), 5), NULL };
    parts[1] = adz_fastai_pooling_classifier_new((int64_t[]){ 3, 2 }, (double[]){ 0.1 }, 2, &o);
    return adz_fastai_sequential_rnn_new(parts, 2);
}

/* ---- pooling -------------------------------------------------------------------------------- */

static adz_tensor *steps(void)
{
    static const double numbers[] = { 1, -2, 5, 0, 3, -7, -1, -1, -4, -4, 2, 6 };
    return adz_requires_grad_(adz_tensor_from(numbers, ADZ_SHAPE(2, 3, 2), ADZ_F64), true);
}

static adz_tensor *mask_of(const bool *bits, int64_t texts, int64_t length)
{
    return adz_tensor_from(bits, ADZ_SHAPE(texts, length), ADZ_BOOL);
}

static void padding_is_left_out(void **state)
{
    (void)state;
    adz_tensor *x = steps();
    adz_tensor *y = adz_fastai_masked_concat_pool(x, ADZ_NONE);
    assert_true(HOLDS(y, 1e-12, 3, -7, 5, 0, 3, -3, 2, 6, 2, 6, -1, 1.0 / 3));
    static const bool bits[] = { false, true, false, true, true, false };
    y = adz_fastai_masked_concat_pool(x, mask_of(bits, 2, 3));
    assert_true(HOLDS(y, 1e-12, 3, -7, 3, -2, 2, -4.5, 2, 6, 2, 6, 2, 6));
    static const bool last[] = { false, true, true, false, false, true };
    y = adz_fastai_masked_concat_pool(x, mask_of(last, 2, 3)); /* the last step may be padding */
    assert_true(HOLDS(y, 1e-12, 3, -7, 1, -2, 1, -2, 2, 6, -1, -1, -2.5, -2.5));
}

/* Of equal maxima the first one gets the gradient. Padding gets none. */
static void gradients_reach_the_steps_that_count(void **state)
{
    (void)state;
    static const bool bits[] = { true, false, false, true, false, false };
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(2, 3, 1), ADZ_F64), true);
    adz_tensor *y = adz_fastai_masked_concat_pool(x, mask_of(bits, 2, 3));
    adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM));
    assert_true(HOLDS(adz_tensor_grad(x), 1e-12, 0, 1.5, 1.5, 0, 1.5, 1.5));
}

static void pool_is_maximum_or_average(void **state)
{
    (void)state;
    adz_tensor *x = steps();
    assert_true(HOLDS(adz_fastai_pool(x, true), 0, 5, 0, 2, 6));
    assert_true(HOLDS(adz_fastai_pool(x, false), 1e-12, 3, -3, -1, 1.0 / 3));
}

static void bad_masks_are_refused(void **state)
{
    (void)state;
    static const bool bits[] = { false, true, false, true, true, true };
    adz_tensor *x = steps();
    assert_null(adz_fastai_masked_concat_pool(x, mask_of(bits, 2, 3)));
    expect_error(ADZ_ERR_ARGUMENT, "a text is nothing but padding, first at position [1, 0]");
    assert_null(adz_fastai_masked_concat_pool(x, mask_of(bits, 3, 2)));
    expect_error(ADZ_ERR_SHAPE, "mask[3, 2] must be [2, 3] for x[2, 3, 2]");
    assert_null(adz_fastai_masked_concat_pool(x, adz_zeros(ADZ_SHAPE(2, 4), ADZ_BOOL)));
    expect_error(ADZ_ERR_SHAPE, "mask[2, 4] must be [2, 3] for x[2, 3, 2]");
    assert_null(adz_fastai_masked_concat_pool(x, adz_zeros(ADZ_SHAPE(3, 3), ADZ_BOOL)));
    expect_error(ADZ_ERR_SHAPE, "mask[3, 3] must be [2, 3] for x[2, 3, 2]");
    assert_null(adz_fastai_pool(ADZ_NONE, true));
    expect_error(ADZ_ERR_ARGUMENT, "adz_fastai_pool: x is not optional");
    assert_null(adz_fastai_masked_concat_pool(x, adz_zeros(ADZ_SHAPE(2, 3, 2), ADZ_BOOL)));
    expect_error(ADZ_ERR_SHAPE, "mask[2, 3, 2]");
    assert_null(adz_fastai_masked_concat_pool(x, adz_zeros(ADZ_SHAPE(2, 3), ADZ_F32)));
    expect_error(ADZ_ERR_DTYPE, "mask is float32");
    assert_null(adz_fastai_masked_concat_pool(adz_ones(ADZ_SHAPE(2, 0, 3), ADZ_F32), ADZ_NONE));
    expect_error(ADZ_ERR_SHAPE,
        "adz_fastai_masked_concat_pool: x[2, 0, 3] must be [B, T, D] with at least one step");
    assert_null(adz_fastai_pool(adz_ones(ADZ_SHAPE(2, 3), ADZ_F32), true));
    expect_error(ADZ_ERR_SHAPE, "x[2, 3] must be [B, T, D]");
    assert_null(adz_fastai_masked_concat_pool(NULL, ADZ_NONE));
    expect_error(ADZ_ERR_NULL, "x");
    assert_null(adz_fastai_masked_concat_pool(x, NULL));
    expect_error(ADZ_ERR_NULL, "mask");
}

/* ---- the head ------------------------------------------------------------------------------- */

static void bad_heads_are_refused(void **state)
{
    (void)state;
    static const int64_t widths[] = { 6, 4, 2 }, odd[] = { 7, 4 }, none[] = { 6, 0 };
    static const double drops[] = { 0, 1.5 };
    expect_no_module(adz_fastai_pooling_classifier_new(widths, drops, 1, NULL), "1 widths");
    expect_no_module(adz_fastai_pooling_classifier_new(widths, drops, 3, NULL), "p is 1.5");
    expect_no_module(adz_fastai_pooling_classifier_new(odd, drops, 2, NULL), "3 times");
    expect_no_module(adz_fastai_pooling_classifier_new(none, drops, 2, NULL), "n_in 6 and n_out 0");
    assert_null(adz_fastai_pooling_classifier_new(NULL, drops, 3, NULL));
    expect_error(ADZ_ERR_NULL, "layers");
    assert_null(adz_fastai_pooling_classifier_new(widths, NULL, 3, NULL));
    expect_error(ADZ_ERR_NULL, "drops");
    adz_fastai_bn_drop_lin_options o = ADZ_FASTAI_BN_DROP_LIN_OPTIONS;
    o.p = -1;
    o.actn = adz_tanh_new();
    expect_no_module(adz_fastai_bn_drop_lin_new(3, 4, &o), "p is -1");
    o.p = 0;
    o.dtype = ADZ_BOOL;
    o.actn = NULL;
    assert_null(adz_fastai_bn_drop_lin_new(3, 4, &o));
    expect_error(ADZ_ERR_DTYPE, "bool");
    expect_no_module(adz_fastai_bn_drop_lin_new(0, 4, NULL), "n_in 0 and n_out 4");
    expect_refused(head(NULL), adz_ones(ADZ_SHAPE(2, 3, 4), ADZ_F32),
        "x[2, 3, 4] is pooled to 3 x 4 features, but layers[0] is 6");
    expect_refused(
        head(NULL), adz_ones(ADZ_SHAPE(2, 0, 2), ADZ_F32), "x[2, 0, 2] must be [B, T, D]");
}

static bool make_head(void)
{
    adz_module *m = head(NULL);
    const bool good = m != NULL;
    adz_module_release(&m);
    return good;
}

static void a_head_is_whole(void **state)
{
    (void)state;
    assert_true(refuse_each_request(make_head) > 5);
    adz_module *m = head(NULL);
    adz_module_eval(m);
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3, 2), ADZ_F32);
    static const bool bits[] = { false, true, false, true, true, false };
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "", x); /* The mask is given by its position. */
    adz_values_add(in, "", mask_of(bits, 2, 3));
    assert_int_equal(adz_module_call(m, in, out), ADZ_OK);
    adz_tensor *pooled = adz_fastai_masked_concat_pool(x, mask_of(bits, 2, 3));
    expect_same(
        adz_values_at(out, 0), adz_module_forward(adz_module_get_child(m, "layers"), pooled), 0);
    adz_values_clear(in);
    adz_values_clear(out);
    adz_values_add(in, "mask", mask_of(bits, 2, 3));
    assert_int_equal(adz_module_call(m, in, out), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "neither an encoder's out.0");
    adz_values_free(&in);
    adz_values_free(&out);
    adz_module_release(&m);
}

/* Which layers a block has, and their dtype. */
static void blocks_have_what_was_asked_for(void **state)
{
    (void)state;
    for (int bits = 0; bits < 8; ++bits) {
        adz_fastai_bn_drop_lin_options o = ADZ_FASTAI_BN_DROP_LIN_OPTIONS;
        o.bn = bits & 1;
        o.p = bits & 2 ? 0.5 : 0;
        o.actn = bits & 4 ? adz_tanh_new() : NULL;
        o.dtype = ADZ_F64;
        adz_module *m = adz_fastai_bn_drop_lin_new(1, 1, &o);
        static const char *const names[] = { "BatchNorm1d", "Dropout", "Linear", "Tanh" };
        size_t at = 0;
        for (int i = 0; i < 4; ++i) {
            if (i == 2 || bits & (1 << (i > 2 ? 2 : i))) {
                assert_string_equal(adz_module_name(adz_module_child_at(m, at++)), names[i]);
            }
        }
        assert_int_equal(adz_module_child_count(m), at);
        adz_tensor_list all = adz_module_parameters(m);
        for (size_t i = 0; i < all.count; ++i) {
            assert_int_equal(adz_tensor_dtype(all.items[i]), ADZ_F64);
        }
        adz_module_release(&m);
    }
    expect_no_module(adz_fastai_bn_drop_lin_new(1, 0, NULL), "n_in 1 and n_out 0 must be 1");
    adz_module *m =
        adz_fastai_pooling_classifier_new((int64_t[]){ 3, 1 }, (double[]){ 0 }, 2, NULL);
    assert_non_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(2, 1, 1), ADZ_F32)));
    adz_module_release(&m);
    adz_fastai_pooling_classifier_options wide = ADZ_FASTAI_POOLING_CLASSIFIER_OPTIONS;
    wide.dtype = ADZ_F64;
    m = adz_fastai_pooling_classifier_new((int64_t[]){ 3, 1 }, (double[]){ 0 }, 2, &wide);
    adz_tensor_list all = adz_module_parameters(m);
    assert_true(all.count > 0);
    for (size_t i = 0; i < all.count; ++i) {
        assert_int_equal(adz_tensor_dtype(all.items[i]), ADZ_F64);
    }
    adz_module_release(&m);
}

/* ---- chunks --------------------------------------------------------------------------------- */

static void bad_texts_are_refused(void **state)
{
    (void)state;
    expect_no_module(adz_fastai_multi_batch_encoder_new(0, 5, stub_new(), 1), "bptt 0");
    expect_no_module(adz_fastai_multi_batch_encoder_new(2, 0, stub_new(), 1), "max_len 0");
    expect_null(adz_fastai_multi_batch_encoder_new(2, 2, NULL, 1) == NULL,
        "adz_fastai_multi_batch_encoder_new", "module");
    expect_null(adz_fastai_multi_batch_encoder_new(0, 0, NULL, 1) == NULL,
        "adz_fastai_multi_batch_encoder_new", "module");
    expect_refused(chunked(NULL), adz_zeros(ADZ_SHAPE(2, 0), ADZ_I64),
        "MultiBatchEncoder: ids[2, 0] must be [B, T] with at least one step");
    expect_refused(chunked(NULL), adz_zeros(ADZ_SHAPE(4), ADZ_I64), "ids[4] must be [B, T]");
    expect_refused(adz_fastai_multi_batch_encoder_new(9, 5, stub_new(), 5),
        adz_zeros(ADZ_SHAPE(2, 7), ADZ_I64), "no chunk of ids[2, 7] in steps of 9 starts after 2");
    adz_module *m = adz_fastai_multi_batch_encoder_new(1, 1, stub_new(), 1);
    assert_non_null(m);
    adz_module_release(&m);
    m = chunked(NULL);
    assert_null(adz_module_forward(m, ADZ_NONE));
    expect_error(ADZ_ERR_ARGUMENT, "MultiBatchEncoder: ids is not optional");
    assert_null(adz_module_forward(m, adz_full(ADZ_SHAPE(1, 3), 6, ADZ_I64)));
    expect_error(ADZ_ERR_INDEX, "module.encoder: embedding: ");
    adz_module_release(&m);
    m = adz_fastai_multi_batch_encoder_new(2, 4, adz_embedding_new(6, 2, NULL), 5);
    assert_null(adz_module_forward(m, adz_zeros(ADZ_SHAPE(1, 3), ADZ_I64)));
    expect_error(ADZ_ERR_ARGUMENT, "the encoder gives no results called raw.0");
    adz_module_release(&m);
    m = classifier(NULL);
    assert_null(adz_module_forward(m, adz_full(ADZ_SHAPE(2, 3), 5, ADZ_I64)));
    expect_error(ADZ_ERR_ARGUMENT, "a text is nothing but padding, first at position [0, 0]");
    adz_module_release(&m);
}

/* ---- vector files --------------------------------------------------------------------------- */

static adz_status pool_call(adz_module *self, const adz_values *in, adz_values *out)
{
    (void)self;
    adz_tensor *x = adz_values_get(in, "x"), *mask = adz_values_get(in, "mask");
    return adz_values_add(out, "y", adz_fastai_masked_concat_pool(x, mask));
}

static const adz_module_type pool_type = {
    .size = sizeof(adz_module_type),
    .name = "Pool",
    .call = pool_call,
};

static adz_module *block_from_config(const json_t *config)
{
    adz_fastai_bn_drop_lin_options o = ADZ_FASTAI_BN_DROP_LIN_OPTIONS;
    o.bn = config_flag(config, "bn", true);
    o.p = config_number(config, "p", 0);
    o.actn = config_has(config, "actn") ? adz_relu_new() : NULL;
    return adz_fastai_bn_drop_lin_new(
        (int64_t)config_number(config, "n_in", 0), (int64_t)config_number(config, "n_out", 0), &o);
}

enum { MOST_WIDTHS = 8 };

static adz_module *head_of(const double *widths, const double *drops, int count)
{
    int64_t layers[MOST_WIDTHS];
    for (int i = 0; i < count; ++i) {
        layers[i] = (int64_t)widths[i];
    }
    return adz_fastai_pooling_classifier_new(layers, drops, (size_t)count, NULL);
}

static adz_module *head_from_config(const json_t *config)
{
    double widths[MOST_WIDTHS], drops[MOST_WIDTHS];
    int count = config_list(config, "layers", widths, MOST_WIDTHS);
    return config_list(config, "drops", drops, MOST_WIDTHS) == count - 1
               ? case_with_loss(head_of(widths, drops, count), 0, 0)
               : NULL;
}

static adz_module *encoder_from_config(const char *name, const json_t *config)
{
    return adz_fastai_multi_batch_encoder_new((int64_t)config_number(config, "bptt", 0),
        (int64_t)config_number(config, "max_len", 0), case_fastai_encoder(name, config),
        (int64_t)config_number(config, "pad_idx", 1));
}

static adz_module *classifier_from_config(const json_t *config)
{
    double numbers[MOST_WIDTHS], drops[MOST_WIDTHS];
    int64_t widths[MOST_WIDTHS];
    int count = config_list(config, "lin_ftrs", numbers, MOST_WIDTHS);
    for (int i = 0; i < count; ++i) {
        widths[i] = (int64_t)numbers[i];
    }
    adz_fastai_config c = case_fastai_config(config_text(config, "arch", ""), config);
    adz_fastai_text_classifier_options o = ADZ_FASTAI_TEXT_CLASSIFIER_OPTIONS;
    o.bptt = (int64_t)config_number(config, "bptt", 0);
    o.max_len = (int64_t)config_number(config, "max_len", 0);
    o.pad_idx = (int64_t)config_number(config, "pad_idx", 1);
    o.lin_ftrs = widths;
    o.n_lin_ftrs = (size_t)count;
    o.ps = config_list(config, "ps", drops, MOST_WIDTHS) == count ? drops : NULL;
    adz_module *model =
        adz_fastai_text_classifier_new((int64_t)config_number(config, "vocab_sz", 0),
            (int64_t)config_number(config, "n_class", 0), &c, &o);
    return case_with_loss(model, 0, 0);
}

static adz_module *from_config(const char *reference, const json_t *config)
{
    if (strcmp(reference, "fastai masked_concat_pool") == 0) {
        return adz_module_new(&pool_type, 0);
    }
    if (strcmp(reference, "fastai bn_drop_lin") == 0) {
        return block_from_config(config);
    }
    if (strcmp(reference, "fastai MultiBatchEncoder") == 0) {
        return encoder_from_config(config_text(config, "encoder", ""), config);
    }
    return strcmp(reference, "fastai text classifier") == 0 ? classifier_from_config(config)
                                                            : head_from_config(config);
}

static const struct CMUnitTest facts[] = {
    TEST(padding_is_left_out),
    TEST(gradients_reach_the_steps_that_count),
    TEST(pool_is_maximum_or_average),
    TEST(bad_masks_are_refused),
    TEST(bad_heads_are_refused),
    TEST(a_head_is_whole),
    TEST(blocks_have_what_was_asked_for),
    TEST(chunks_after_the_bound_are_kept),
    TEST(lost_chunks_get_no_gradient),
    TEST(results_of_all_chunks_are_joined),
    TEST(bad_texts_are_refused),
};

#define NORM(n)                                                  \
    "BatchNorm1d(" #n ", eps=1e-05, momentum=0.1, affine=True, " \
    "track_running_stats=True)\n"
#define NORM_NAMES(at) \
    at "weight " at "bias " at "running_mean " at "running_var " at "num_batches_tracked"
#define STUB(indent, steps)                                                                      \
    "MultiBatchEncoder(\n" indent "  " steps ", pad_idx=5\n" indent "  (module): Stub(\n" indent \
    "    (encoder): Embedding(6, 2)\n" indent "  )\n" indent ")"

const module_case fastai_classifier_module = {
    .name = "fastai_classifier",
    .references = { "fastai masked_concat_pool", "fastai bn_drop_lin",
        "fastai PoolingLinearClassifier", "fastai MultiBatchEncoder", "fastai text classifier" },
    .from_config = from_config,
    .renames = { "other=-" },
    .samples = { { block,
                     "Sequential(\n"
                     "  (0): " NORM(3) "  (1): Dropout(p=0.3, inplace=False)\n"
                                       "  (2): Linear(in_features=3, out_features=4, bias=True)\n"
                                       "  (3): Tanh()\n"
                                       ")",
                     NORM_NAMES("0.") " 2.weight 2.bias", { X(4, 3) } },
        { bare,
            "Sequential(\n"
            "  (0): Linear(in_features=3, out_features=2, bias=True)\n"
            ")",
            "0.weight 0.bias", { X(4, 3) } },
        { head,
            "PoolingLinearClassifier(\n"
            "  (layers): Sequential(\n"
            "    (0): " NORM(6) "    (1): Dropout(p=0.25, inplace=False)\n"
                                "    (2): Linear(in_features=6, out_features=4, bias=True)\n"
                                "    (3): ReLU(inplace=True)\n"
                                "    (4): " NORM(
                                    4) "    (5): Linear(in_features=4, out_features=3, bias=True)\n"
                                       "  )\n"
                                       ")",
            NORM_NAMES("layers.0.") " layers.2.weight layers.2.bias " NORM_NAMES(
                "layers.4.") " layers.5.weight layers.5.bias",
            { X(4, 3, 2) } },
        { chunked, STUB("", "bptt=2, max_len=4"), "module.encoder.weight", { IDS(6, 2, 7) } },
        { classifier,
            "SequentialRNN(\n"
            "  (0): " STUB("  ",
                "bptt=3, max_len=100") "\n"
                                       "  (1): PoolingLinearClassifier(\n"
                                       "    (layers): Sequential(\n"
                                       "      (0): " NORM(
                                           3) "      (1): Dropout(p=0.1, inplace=False)\n"
                                              "      (2): Linear(in_features=3, out_features=2, bias=True)\n"
                                              "    )\n"
                                              "  )\n"
                                              ")",
            "0.module.encoder.weight " NORM_NAMES("1.layers.0.") " 1.layers.2.weight "
                                                                 "1.layers.2.bias",
            { IDS(6, 3, 5) } } },
    FACTS(facts),
};
