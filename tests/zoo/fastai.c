/* fastai's feed-forward network. */
#include "adze/zoo.h"
#include "nn/case.h"

static adz_module *twice(adz_generator *g)
{
    adz_fastai_feed_forward_options o;
    adz_fastai_feed_forward_options_init(&o, sizeof o);
    o.ff_p = 0.3;
    o.act = ADZ_FASTAI_ACTIVATION_GELU;
    o.generator = g;
    return adz_fastai_feed_forward_new(4, 6, &o);
}

static adz_module *once(adz_generator *g)
{
    adz_fastai_feed_forward_options o = ADZ_FASTAI_FEED_FORWARD_OPTIONS;
    o.ff_p = 0.2;
    o.act = ADZ_FASTAI_ACTIVATION_SWISH;
    o.double_drop = false;
    o.generator = g;
    return adz_fastai_feed_forward_new(4, 6, &o);
}

static adz_module *plain(adz_generator *g)
{
    (void)g;
    return adz_fastai_feed_forward_new(3, 5, NULL);
}

/* Each MergeLayer adds the argument of the SequentialEx, at any position in it. */
static void merge_layers_add_the_argument(void **state)
{
    (void)state;
    adz_module *layers[] = { adz_tanh_new(), adz_fastai_merge_layer_new(), adz_tanh_new(),
        adz_fastai_merge_layer_new() };
    adz_module *m = adz_fastai_sequential_ex_new(layers, 4);
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3), ADZ_F64);
    adz_tensor *y = adz_add(adz_tanh(adz_add(adz_tanh(x), x)), x);
    expect_same(adz_module_forward(m, x), y, 0);
    adz_module_release(&m);
    m = adz_fastai_merge_layer_new();
    assert_null(adz_module_forward(m, x));
    expect_error(ADZ_ERR_UNSUPPORTED, "SequentialEx");
    adz_module_release(&m);
    adz_module *broken[] = { adz_tanh_new(), NULL, adz_tanh_new() };
    assert_null(adz_fastai_sequential_ex_new(broken, 3));
    expect_error(ADZ_ERR_NULL, "");
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    adz_fastai_feed_forward_options o = ADZ_FASTAI_FEED_FORWARD_OPTIONS;
    expect_no_module(adz_fastai_feed_forward_new(0, 5, NULL), "d_model 0 and d_ff 5");
    o.ff_p = 1.5;
    expect_no_module(adz_fastai_feed_forward_new(3, 5, &o), "ff_p is 1.5");
    o.ff_p = 0;
    o.act = (adz_fastai_activation)9;
    expect_no_module(adz_fastai_feed_forward_new(3, 5, &o),
        "act is 9, but must be 0 (relu), 1 (swish) or 2 (gelu)");
    o.act = ADZ_FASTAI_ACTIVATION_RELU;
    o.dtype = ADZ_BOOL;
    assert_null(adz_fastai_feed_forward_new(3, 5, &o));
    expect_error(ADZ_ERR_DTYPE, "bool");
    expect_refused(plain(NULL), adz_ones(ADZ_SHAPE(2, 4), ADZ_F32), "layers.0: linear: x[2, 4]");
}

/* Sines and cosines of d features, of which an odd number has one sine more. */
static void positions_are_sines_and_cosines(void **state)
{
    (void)state;
    adz_fastai_positional_encoding_options o = ADZ_FASTAI_POSITIONAL_ENCODING_OPTIONS;
    o.dtype = ADZ_F64;
    adz_tensor *pos = adz_tensor_from((double[]){ 0, 2 }, ADZ_SHAPE(2), ADZ_F64);
    for (int64_t d = 1; d <= 7; ++d) {
        adz_module *m = adz_fastai_positional_encoding_new(d, &o);
        const int64_t n = (d + 1) / 2;
        adz_tensor *y = adz_module_forward(m, pos);
        assert_true(adz_tensor_size(y, 0) == 2 && adz_tensor_size(y, 1) == 2 * n);
        for (int64_t i = 0; i < n; ++i) {
            const double angle = 2 / pow(10000, 2 * (double)i / (double)d);
            assert_true(adz_tensor_at(y, (int64_t[]){ 0, i }) == 0);
            assert_true(adz_tensor_at(y, (int64_t[]){ 0, n + i }) == 1);
            assert_true(fabs(adz_tensor_at(y, (int64_t[]){ 1, i }) - sin(angle)) < 1e-12);
            assert_true(fabs(adz_tensor_at(y, (int64_t[]){ 1, n + i }) - cos(angle)) < 1e-12);
        }
        assert_null(adz_module_forward(m, ADZ_NONE));
        expect_error(ADZ_ERR_ARGUMENT, "PositionalEncoding: pos is not optional");
        adz_module_release(&m);
    }
    expect_no_module(adz_fastai_positional_encoding_new(0, NULL), "d is 0");
}

static adz_module *from_config(const char *reference, const json_t *config)
{
    if (strcmp(reference, "fastai feed_forward") != 0) {
        return case_activation(strstr(reference, "GeLU") != NULL ? "gelu_tanh" : "swish");
    }
    adz_fastai_feed_forward_options o = ADZ_FASTAI_FEED_FORWARD_OPTIONS;
    o.act = case_fastai_activation(config);
    o.ff_p = config_number(config, "ff_p", 0);
    o.double_drop = config_flag(config, "double_drop", true);
    return adz_fastai_feed_forward_new((int64_t)config_number(config, "d_model", 0),
        (int64_t)config_number(config, "d_ff", 0), &o);
}

static const struct CMUnitTest facts[] = {
    TEST(merge_layers_add_the_argument),
    TEST(bad_values_are_refused),
    TEST(positions_are_sines_and_cosines),
};

const module_case fastai_module = {
    .name = "fastai",
    .references = { "fastai feed_forward", "fastai GeLU", "fastai Swish" },
    .from_config = from_config,
    .samples = { { twice,
                     "SequentialEx(\n"
                     "  (layers): ModuleList(\n"
                     "    (0): Linear(in_features=4, out_features=6, bias=True)\n"
                     "    (1): GELU(approximate='tanh')\n"
                     "    (2): Dropout(p=0.3, inplace=False)\n"
                     "    (3): Linear(in_features=6, out_features=4, bias=True)\n"
                     "    (4): Dropout(p=0.3, inplace=False)\n"
                     "    (5): MergeLayer()\n"
                     "    (6): LayerNorm((4,), eps=1e-05, elementwise_affine=True)\n"
                     "  )\n"
                     ")",
                     "layers.0.weight layers.0.bias layers.3.weight layers.3.bias layers.6.weight layers.6.bias",
                     { X(2, 3, 4) } },
        { once,
            "SequentialEx(\n"
            "  (layers): ModuleList(\n"
            "    (0): Linear(in_features=4, out_features=6, bias=True)\n"
            "    (1): SiLU()\n"
            "    (2): Linear(in_features=6, out_features=4, bias=True)\n"
            "    (3): Dropout(p=0.2, inplace=False)\n"
            "    (4): MergeLayer()\n"
            "    (5): LayerNorm((4,), eps=1e-05, elementwise_affine=True)\n"
            "  )\n"
            ")",
            "layers.0.weight layers.0.bias layers.2.weight layers.2.bias layers.5.weight layers.5.bias",
            { X(2, 4) } },
        { plain,
            "SequentialEx(\n"
            "  (layers): ModuleList(\n"
            "    (0): Linear(in_features=3, out_features=5, bias=True)\n"
            "    (1): ReLU(inplace=True)\n"
            "    (2): Dropout(p=0.0, inplace=False)\n"
            "    (3): Linear(in_features=5, out_features=3, bias=True)\n"
            "    (4): Dropout(p=0.0, inplace=False)\n"
            "    (5): MergeLayer()\n"
            "    (6): LayerNorm((3,), eps=1e-05, elementwise_affine=True)\n"
            "  )\n"
            ")",
            "layers.0.weight layers.0.bias layers.3.weight layers.3.bias layers.6.weight layers.6.bias",
            { X(3) } } },
    FACTS(facts),
};
