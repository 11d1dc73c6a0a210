/* The groups of parameters of fastai's text models, and freezing. */
#include "adze/zoo.h"
#include "zoo/fastai_config.h"

#include "base/alloc.h"
#include "base/system_memory.h"

/* Compares the names of the parameters of all groups: blanks between names, "|" between groups. */
static void expect_groups(adz_module *m, adz_fastai_groups *groups, const char *expected)
{
    assert_non_null(groups);
    char text[4000] = "";
    size_t n = 0;
    adz_named_list all = adz_module_named_parameters(m);
    for (size_t i = 0; i < adz_fastai_groups_count(groups); ++i) {
        adz_tensor_list list = adz_fastai_groups_at(groups, i);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s", i > 0 ? " |" : "");
        for (size_t k = 0; k < list.count; ++k) {
            for (size_t p = 0; p < all.count; ++p) {
                if (all.items[p].tensor == list.items[k]) {
                    n += (size_t)snprintf(text + n, sizeof text - n, " %s", all.items[p].name);
                }
            }
        }
    }
    assert_string_equal(text, expected);
    adz_fastai_groups_free(&groups);
    assert_null(groups);
}

void an_awd_lstm_is_split_by_layer(void **state)
{
    (void)state;
    adz_fastai_config c = small("awd_lstm_lm_config", NULL);
    c.n_layers = 2;
    adz_module *m = adz_fastai_language_model_new(9, &c, 1);
#define RNN(at)                                                                     \
    " " at "weight_hh_l0_raw " at "module.weight_ih_l0 " at "module.bias_ih_l0 " at \
    "module.bias_hh_l0"
    expect_groups(m, adz_fastai_awd_lstm_lm_split(m),
        RNN("0.rnns.0.") " |" RNN("0.rnns.1.") " | 0.encoder.weight 1.decoder.bias");
    adz_module_release(&m);
    m = adz_fastai_text_classifier_new(9, 2, &c, NULL);
#define HEAD                                                                                  \
    " 1.layers.0.weight 1.layers.0.bias 1.layers.2.weight 1.layers.2.bias 1.layers.4.weight " \
    "1.layers.4.bias 1.layers.6.weight 1.layers.6.bias"
    expect_groups(m, adz_fastai_awd_lstm_clas_split(m),
        " 0.module.encoder.weight |" RNN("0.module.rnns.0.") " |" RNN(
            "0.module.rnns.1.") " |" HEAD);
    adz_module_release(&m);
}

/* The names of the 12 parameters of a layer; 10 if it has relative positions and no bias. */
#define FF(at)                                                                      \
    " " at "ff.layers.0.weight " at "ff.layers.0.bias " at "ff.layers.2.weight " at \
    "ff.layers.2.bias " at "ff.layers.5.weight " at "ff.layers.5.bias"
#define LAYER(at)                                                                      \
    " " at "mhra.attention.weight " at "mhra.attention.bias " at "mhra.out.weight " at \
    "mhra.out.bias " at "mhra.ln.weight " at "mhra.ln.bias" FF(at)
#define XL_FF(at)                                                                   \
    " " at "ff.layers.0.weight " at "ff.layers.0.bias " at "ff.layers.3.weight " at \
    "ff.layers.3.bias " at "ff.layers.6.weight " at "ff.layers.6.bias"
#define XL_LAYER(at)                                                              \
    " " at "mhra.attention.weight " at "mhra.out.weight " at "mhra.ln.weight " at \
    "mhra.ln.bias " at "mhra.r_attn.weight" XL_FF(at)

void a_transformer_is_split_in_thirds(void **state)
{
    (void)state;
    adz_fastai_config c = small("tfmer_lm_config", NULL);
    c.n_layers = 4;
    adz_module *m = adz_fastai_language_model_new(9, &c, 1);
    expect_groups(m, adz_fastai_tfmer_lm_split(m),
        LAYER("0.layers.0.") " |" LAYER("0.layers.1.") " |" LAYER("0.layers.2.")
            LAYER("0.layers.3.") " | 0.encoder.weight");
    adz_module_release(&m);
    c.n_layers = 30; /* groups of many parameters */
    m = adz_fastai_language_model_new(9, &c, 1);
    adz_fastai_groups *groups = adz_fastai_tfmer_lm_split(m);
    adz_named_list all = adz_module_named_parameters(adz_module_get_child(m, "0.layers"));
    assert_int_equal(all.count, 360);
    for (size_t i = 0; i < all.count; ++i) {
        adz_tensor_list list = adz_fastai_groups_at(groups, i / 120);
        assert_int_equal(list.count, 120);
        assert_ptr_equal(list.items[i % 120], all.items[i].tensor);
    }
    adz_fastai_groups_free(&groups);
    adz_module_release(&m);
    c.output_p = 0.5;
    c.n_layers = 1; /* With fewer than three layers, the first two thirds are empty. */
    m = adz_fastai_text_classifier_new(9, 2, &c, NULL);
    expect_groups(m, adz_fastai_tfmer_clas_split(m),
        " 0.module.encoder.weight | | |" LAYER("0.module.layers.0.") " |" HEAD);
    adz_module_release(&m);
    c = small("tfmerXL_lm_config", NULL);
    c.n_layers = 3;
    m = adz_fastai_language_model_new(9, &c, 1);
    expect_groups(m, adz_fastai_tfmer_xl_lm_split(m),
        XL_LAYER("0.layers.0.") " 0.u 0.v |" XL_LAYER("0.layers.1.") " |" XL_LAYER(
            "0.layers.2.") " | 0.encoder.weight 1.decoder.bias");
    adz_module_release(&m);
    m = adz_fastai_text_classifier_new(9, 2, &c, NULL);
    expect_groups(m, adz_fastai_tfmer_xl_clas_split(m),
        " 0.module.encoder.weight |" XL_LAYER(
            "0.module.layers.0.") " 0.module.u 0.module.v |" XL_LAYER("0.module.layers."
                                                                      "1.") " "
                                                                            "|" XL_LAYER(
                                                                                "0."
                                                                                "module."
                                                                                "layers."
                                                                                "2.") " "
                                                                                      "|" HEAD);
    adz_module_release(&m);
}

void models_of_another_kind_are_not_split(void **state)
{
    (void)state;
    static adz_fastai_groups *(*const splits[])(adz_module *) = { adz_fastai_awd_lstm_lm_split,
        adz_fastai_awd_lstm_clas_split, adz_fastai_tfmer_lm_split, adz_fastai_tfmer_clas_split,
        adz_fastai_tfmer_xl_lm_split, adz_fastai_tfmer_xl_clas_split };
    static const char *const says[] = { "Transformer has no child called rnns",
        "Transformer has no child called module", NULL, "Transformer has no child called module",
        "Transformer has no parameter called u", "Transformer has no child called module" };
    adz_fastai_config c = small("tfmer_lm_config", NULL);
    adz_module *m = adz_fastai_language_model_new(9, &c, 1);
    for (int i = 0; i < 6; ++i) {
        if (says[i] != NULL) {
            assert_null(splits[i](m));
            expect_error(ADZ_ERR_ARGUMENT, says[i]);
        }
        assert_null(splits[i](NULL));
        expect_error(ADZ_ERR_NULL, "model");
    }
    adz_module_release(&m);
    /* A head has layers, too, but no embedding. */
    adz_module *head =
        adz_fastai_pooling_classifier_new((int64_t[]){ 3, 2 }, (double[]){ 0 }, 2, NULL);
    m = ADZ_SEQUENTIAL(head, adz_identity_new());
    assert_null(adz_fastai_tfmer_lm_split(m));
    expect_error(ADZ_ERR_ARGUMENT, "its PoolingLinearClassifier has no child called encoder");
    adz_module_release(&m);
    adz_fastai_groups *none = NULL;
    assert_int_equal(adz_fastai_groups_count(none), 0);
    assert_int_equal(adz_fastai_groups_at(none, 0).count, 0);
    expect_error(ADZ_ERR_NULL, "groups");
    assert_int_equal(adz_fastai_freeze_to(none, 0), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "groups");
    adz_fastai_groups_free(&none);
}

void groups_are_frozen_from_the_first_on(void **state)
{
    (void)state;
    adz_module *m = xl_classifier(NULL);
    adz_fastai_groups *groups = adz_fastai_tfmer_xl_clas_split(m);
    static const int64_t to[] = { -1, 2, 0, 5, -2, 9, -9 };
    static const size_t first[] = { 4, 2, 0, 5, 3, 5, 0 };
    for (int i = 0; i < 7; ++i) {
        assert_int_equal(adz_fastai_freeze_to(groups, to[i]), ADZ_OK);
        for (size_t g = 0; g < 5; ++g) {
            adz_tensor_list list = adz_fastai_groups_at(groups, g);
            for (size_t k = 0; k < list.count; ++k) {
                assert_int_equal(adz_tensor_requires_grad(list.items[k]), g >= first[i]);
            }
        }
    }
    assert_int_equal(adz_fastai_groups_at(groups, 5).count, 0);
    expect_error(ADZ_ERR_INDEX, "there is no group 5, only 5");
    adz_module_release(&m);
    /* The groups outlive the model. */
    assert_true(adz_tensor_numel(adz_fastai_groups_at(groups, 0).items[0]) == 28);
    adz_fastai_groups_free(&groups);
}

/* Under AddressSanitizer, and where every block comes from malloc, a tool reports the access. */
void groups_are_freed_once(void **state)
{
    (void)state;
#ifdef ADZI_ASAN
    const bool watched = true;
#else
    const bool watched = adzi_plain_memory;
#endif
    if (watched) {
        return;
    }
    adz_module *m = xl_classifier(NULL);
    adz_fastai_groups *groups = adz_fastai_tfmer_xl_clas_split(m), *copy = groups;
    assert_non_null(groups);
    adz_fastai_groups_free(&groups);
    assert_int_equal(adz_error_code(), ADZ_OK);
    assert_int_equal(adz_fastai_groups_count(copy), 0);
    expect_error(ADZ_ERR_OWNERSHIP, "adz_fastai_groups_count: groups is a stale pointer");
    assert_null(adz_fastai_groups_at(copy, 0).items);
    expect_error(ADZ_ERR_OWNERSHIP, "adz_fastai_groups_at: groups is a stale pointer");
    assert_int_equal(adz_fastai_freeze_to(copy, 0), ADZ_ERR_OWNERSHIP);
    expect_error(ADZ_ERR_OWNERSHIP, "adz_fastai_freeze_to: groups is a stale pointer");
    adz_fastai_groups_free(&copy);
    assert_null(copy);
    expect_error(ADZ_ERR_OWNERSHIP, "adz_fastai_groups_free: groups is a stale pointer");
    adz_module_release(&m);
}

void rates_rise_by_equal_factors(void **state)
{
    (void)state;
    double rates[4] = { 0 };
    assert_int_equal(adz_fastai_lr_range(1e-4, 1e-1, 4, rates), ADZ_OK);
    for (int i = 0; i < 4; ++i) {
        assert_true(fabs(rates[i] / pow(10, i - 4) - 1) < 1e-12);
    }
    assert_int_equal(adz_fastai_lr_range(0, 1e-1, 3, rates), ADZ_OK);
    assert_true(rates[0] == 1e-2 && rates[1] == 1e-2 && rates[2] == 1e-1 && rates[3] > 0.099);
    assert_int_equal(adz_fastai_lr_range(1e-4, 1e-1, 1, rates), ADZ_OK);
    assert_true(rates[0] == 1e-1);
    static const double bad[][2] = { { -1, 1 }, { 1, 0 }, { NAN, 1 }, { 1, INFINITY },
        { INFINITY, 1 } };
    for (int i = 0; i < 5; ++i) {
        assert_int_equal(adz_fastai_lr_range(bad[i][0], bad[i][1], 2, rates), ADZ_ERR_ARGUMENT);
        expect_error(ADZ_ERR_ARGUMENT, "rates must be above 0");
    }
    assert_int_equal(adz_fastai_lr_range(1, 1, 0, rates), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "in 0 steps");
    assert_int_equal(adz_fastai_lr_range(1, 1, 1, NULL), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "rates");
}

static adz_module *kept;

static bool split_once(void)
{
    adz_fastai_groups *groups = adz_fastai_tfmer_xl_clas_split(kept);
    bool good = groups != NULL;
    adz_fastai_groups_free(&groups);
    return good;
}

void refused_memory_splits_nothing(void **state)
{
    (void)state;
    kept = xl_classifier(NULL);
    assert_true(refuse_each_request(split_once) > 0);
    adz_module_release(&kept);
}
