/* Loads by other names, reports of what was found, and dtypes that are converted. */
#include <math.h>

#include "scale.h"
#include "tests.h"

/* A state with one tensor of 7s per name, shaped like the weight of scale_new(3). */
static adz_state_dict *sevens(const char *const *names, size_t n)
{
    adz_state_dict *state = adz_state_dict_new();
    for (size_t i = 0; i < n; ++i) {
        assert_int_equal(
            adz_state_dict_add(state, names[i], adz_full(ADZ_SHAPE(3), 7, ADZ_F32)), ADZ_OK);
    }
    return state;
}

static adz_module *two_scales(void)
{
    return ADZ_SEQUENTIAL(scale_new(3, 2), scale_new(3, 2));
}

static bool is_loaded(adz_module *m, const char *path)
{
    return all_are(adz_module_get_parameter(m, path), 7);
}

/* A load that changes nothing is an error, and its message says which prefix would fit. */
static void a_load_that_fits_nothing_is_an_error(void **state)
{
    (void)state;
    adz_module *m = two_scales();
    adz_state_dict *given = sevens((const char *[]){ "net.0.weight", "net.1.weight", "other" }, 3);
    assert_int_equal(adz_module_load_state_dict(m, given, false), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE,
        "none of 3 tensors has a name of the module; nothing was loaded. 2 of 2 names fit with the prefix \"net.\" of adz_load_options. missing: 0.weight, 1.weight; unexpected: net.0.weight, net.1.weight, other");
    assert_int_equal(adz_module_load_state_dict(m, given, true), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "with the prefix \"net.\"");
    adz_state_dict_free(&given);

    given = adz_state_dict_new();
    assert_int_equal(adz_module_load_state_dict(m, given, false), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "none of 0 tensors has a name of the module");
    adz_module *empty = adz_relu_new(); /* It has no state, so nothing is missing. */
    assert_int_equal(adz_module_load_state_dict(empty, given, false), ADZ_OK);
    adz_module_release(&empty);
    adz_state_dict_free(&given);
    adz_module_release(&m);
}

/* A file of a part of the module: the hint names the child to load into. */
static void a_child_that_would_fit_is_named(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(two_scales(), scale_new(3, 2));
    adz_state_dict *given = sevens((const char *[]){ "0.weight", "1.weight" }, 2);
    assert_int_equal(adz_module_load_state_dict(m, given, true), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE,
        "2 of 2 names fit the module's child: load into adz_module_get_child(module, \"0\"). missing: 0.0.weight");
    assert_int_equal(adz_module_load_state_dict(adz_module_get_child(m, "0"), given, true), ADZ_OK);
    assert_true(is_loaded(m, "0.1.weight"));
    adz_state_dict_free(&given);
    adz_module_release(&m);
}

/* The names of one list of a report, joined by blanks. */
static const char *names_of(const adz_load_report *report, adz_load_kind kind)
{
    static char text[200];
    text[0] = '\0';
    for (size_t i = 0; i < adz_load_report_count(report, kind); ++i) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%s%s", i > 0 ? " " : "",
            adz_load_report_name_at(report, kind, i));
    }
    return text;
}

static void a_report_lists_the_names(void **state)
{
    (void)state;
    adz_module *m = two_scales();
    adz_state_dict *given = sevens((const char *[]){ "0.weight", "more", "less" }, 3);
    adz_load_options options = ADZ_LOAD_OPTIONS;
    options.report = adz_load_report_new();
    assert_int_equal(adz_load_report_count(options.report, ADZ_LOAD_LOADED), 0);
    for (int strict = 0; strict < 2; ++strict) { /* The report is the same for a load that fails. */
        options.strict = strict;
        assert_int_equal(
            adz_module_load_state_dict_with(m, given, &options), strict ? ADZ_ERR_STATE : ADZ_OK);
        adz_error_clear();
        assert_string_equal(names_of(options.report, ADZ_LOAD_LOADED), "0.weight");
        assert_string_equal(names_of(options.report, ADZ_LOAD_MISSING), "1.weight");
        assert_string_equal(names_of(options.report, ADZ_LOAD_UNEXPECTED), "more less");
    }
    assert_true(is_loaded(m, "0.weight") && !is_loaded(m, "1.weight"));
    assert_null(adz_load_report_name_at(options.report, ADZ_LOAD_MISSING, 1));
    expect_error(ADZ_ERR_INDEX, "there is no name 1, only 1");
    assert_int_equal(adz_load_report_count(options.report, (adz_load_kind)3), 0);
    expect_error(ADZ_ERR_ARGUMENT, "3 is no adz_load_kind");
    expect_null(adz_load_report_name_at(NULL, ADZ_LOAD_MISSING, 0) == NULL,
        "adz_load_report_name_at", "report");
    adz_load_report_free(&options.report);
    assert_null(options.report);
    adz_load_report_free(&options.report);
    adz_state_dict_free(&given);
    adz_module_release(&m);
}

/* "layers.K.w" becomes "K.weight", and "skip" is left out. */
static bool rename_layers(const char *name, char *renamed, size_t size, void *user)
{
    int k;
    ++*(int *)user;
    assert_string_equal(name, renamed);
    assert_true(size > strlen(name) + 200);
    if (sscanf(name, "layers.%d.w", &k) == 1) {
        snprintf(renamed, size, "%d.weight", k);
    }
    return strcmp(name, "skip") != 0;
}

static bool rename_all_alike(const char *name, char *renamed, size_t size, void *user)
{
    (void)name;
    (void)user;
    snprintf(renamed, size, "0.weight");
    return true;
}

static bool rename_fails(const char *name, char *renamed, size_t size, void *user)
{
    (void)renamed;
    (void)size;
    (void)user;
    adz_error_set("rename", ADZ_ERR_FORMAT, name);
    return true;
}

static void names_are_changed(void **state)
{
    (void)state;
    int calls = 0;
    adz_module *m = two_scales();
    adz_state_dict *given =
        sevens((const char *[]){ "old.layers.0.w", "old.layers.1.w", "old.skip", "older" }, 4);
    adz_load_options options = ADZ_LOAD_OPTIONS;
    options.prefix = "old.";
    options.rename = rename_layers;
    options.user = &calls;
    assert_int_equal(adz_module_load_state_dict_with(m, given, &options), ADZ_OK);
    assert_int_equal(calls, 3);
    assert_true(is_loaded(m, "0.weight") && is_loaded(m, "1.weight"));
    options.rename = rename_all_alike;
    assert_int_equal(adz_module_load_state_dict_with(m, given, &options), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "there is a tensor called 0.weight already");
    options.rename = rename_fails;
    assert_int_equal(adz_module_load_state_dict_with(m, given, &options), ADZ_ERR_FORMAT);
    expect_error(ADZ_ERR_FORMAT, "rename: layers.0.w");
    options.rename = NULL;
    options.prefix = "none.";
    assert_int_equal(adz_module_load_state_dict_with(m, given, &options), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "none of 0 tensors");
    adz_state_dict_free(&given);
    adz_module_release(&m);
}

/* Whole numbers are converted if every value fits. Floats of another dtype are not, and only they
 * get the advice to convert the module. */
static void whole_numbers_are_converted_if_they_fit(void **state)
{
    (void)state;
    static const struct {
        adz_dtype from, to;
        double value;
        const char *says; /* NULL: it fits */
    } cases[] = {
        { ADZ_I32, ADZ_I64, -5, NULL },
        { ADZ_U8, ADZ_I64, 255, NULL },
        { ADZ_BOOL, ADZ_U8, 1, NULL },
        { ADZ_I64, ADZ_I32, 2147483647.0, NULL },
        { ADZ_I64, ADZ_I32, 2147483648.0, "(int64 given, int32 here, which has no 2147483648)" },
        { ADZ_I32, ADZ_U8, 255, NULL },
        { ADZ_I32, ADZ_U8, -1, "(int32 given, uint8 here, which has no -1)" },
        { ADZ_I64, ADZ_BOOL, 1, NULL },
        { ADZ_I64, ADZ_BOOL, 2, "(int64 given, bool here, which has no 2)" },
        { ADZ_F32, ADZ_I64, 2, "of another dtype: b (float32 given, int64 here)" },
        { ADZ_I64, ADZ_F32, 2, "of another dtype: b (int64 given, float32 here)" },
        { ADZ_F64, ADZ_F32, 2, "of another dtype, which adz_module_to changes: b (float64" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        adz_module *m = outer_new();
        adz_tensor *b = adz_module_add_buffer(m, "b", adz_zeros(ADZ_SHAPE(3), cases[i].to), true);
        adz_state_dict *given = adz_state_dict_new();
        adz_state_dict_add(given, "b", adz_full(ADZ_SHAPE(3), cases[i].value, cases[i].from));
        adz_status status = adz_module_load_state_dict(m, given, true);
        if (cases[i].says == NULL) {
            assert_int_equal(status, ADZ_OK);
            assert_true(all_are(b, cases[i].value));
        } else {
            assert_int_equal(status, ADZ_ERR_STATE);
            expect_error(ADZ_ERR_STATE, cases[i].says);
            assert_true(all_are(b, 0));
        }
        assert_int_equal(adz_tensor_dtype(b), cases[i].to);
        adz_state_dict_free(&given);
        adz_module_release(&m);
    }
}

/* Constructors that skip draws leave NaN and the generator as it was; constants are written. */
static void draws_can_be_skipped(void **state)
{
    (void)state;
    adz_manual_seed(3);
    adz_tensor *first = adz_rand(ADZ_SHAPE(4), ADZ_F32);
    adz_manual_seed(3);
    assert_false(adz_set_skip_init(true));
    assert_true(adz_is_skip_init());
    adz_module *m = ADZ_SEQUENTIAL(adz_linear_new(4, 3, NULL), adz_embedding_new(5, 3, NULL),
        adz_gru_new(3, 3, NULL), adz_conv1d_new(3, 3, 3, NULL),
        adz_layer_norm_new(ADZ_SHAPE(3), NULL));
    adz_tensor *t = adz_zeros(ADZ_SHAPE(3, 3), ADZ_F32);
    assert_ptr_equal(adz_init_orthogonal_(t, 1, NULL), t);
    assert_true(isnan(adz_item(adz_sum(t, ADZ_ALL_DIMS, ADZ_DROPDIM))));
    assert_ptr_equal(adz_init_trunc_normal_(t, 0, 1, -2, 2, NULL), t);
    assert_true(adz_set_skip_init(false));
    adz_named_list all = adz_module_named_parameters(m);
    for (size_t i = 0; i < all.count; ++i) {
        double sum = adz_item(adz_sum(all.items[i].tensor, ADZ_ALL_DIMS, ADZ_DROPDIM));
        assert_true(isnan(sum) == (strncmp(all.items[i].name, "4.", 2) != 0));
    }
    assert_true(alike(adz_rand(ADZ_SHAPE(4), ADZ_F32), first, 0));
    adz_module_release(&m);
}

int loading_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_load_that_fits_nothing_is_an_error),
        TEST(a_child_that_would_fit_is_named),
        TEST(a_report_lists_the_names),
        TEST(names_are_changed),
        TEST(whole_numbers_are_converted_if_they_fit),
        TEST(draws_can_be_skipped),
    };
    return cmocka_run_group_tests_name("module: loading", tests, NULL, NULL);
}
