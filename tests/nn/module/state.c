/* The state of a module that is saved, loaded and converted. */
#include "scale.h"
#include "tests.h"

static void states_load_all_or_nothing(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(scale_new(3, 2), scale_new(4, 2), scale_new(5, 2));
    adz_state_dict *given = adz_state_dict_new();
    adz_state_dict_add(given, "0.weight", adz_full(ADZ_SHAPE(3), 7, ADZ_F64));
    adz_state_dict_add(given, "1.weight", adz_full(ADZ_SHAPE(2, 2), 7, ADZ_F32));
    adz_state_dict_add(given, "1.bias", adz_full(ADZ_SHAPE(2), 7, ADZ_F32));
    assert_int_equal(adz_state_dict_add(given, "1.bias", adz_scalar(1, ADZ_F32)), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "called 1.bias already");
    assert_int_equal(adz_module_load_state_dict(m, given, true), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE,
        "1 missing, 1 unexpected, 1 of another shape, 1 of another dtype; nothing was loaded. missing: 2.weight; unexpected: 1.bias; of another shape: 1.weight ([2, 2] given, [4] here); of another dtype, which adz_module_to changes: 0.weight (float64 given, float32 here)");
    assert_int_equal(adz_module_load_state_dict(m, given, false), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "0 missing, 0 unexpected, 1 of another shape");
    adz_tensor *w = adz_module_get_parameter(m, "0.weight");
    assert_true(all_are(w, 1));
    adz_state_dict_free(&given);

    given = adz_state_dict_new();
    adz_state_dict_add(given, "0.weight", adz_full(ADZ_SHAPE(3), 7, ADZ_BF16));
    adz_state_dict_add(given, "more", adz_full(ADZ_SHAPE(3), 7, ADZ_F64));
    assert_int_equal(adz_module_load_state_dict(m, given, false), ADZ_OK);
    assert_true(all_are(w, 7));
    assert_int_equal(adz_tensor_dtype(w), ADZ_F32);
    assert_null(adz_mul(NULL, w)); /* Records an error. */
    assert_int_equal(adz_module_load_state_dict(m, given, false), ADZ_ERR_NULL);
    adz_error_clear();
    adz_state_dict_free(&given);

    adz_module *copy = adz_module_copy(m);
    fill(w, 9);
    adz_state_dict *saved = adz_module_state_dict(m);
    assert_int_equal(adz_module_load_state_dict(copy, saved, true), ADZ_OK);
    assert_true(alike(adz_module_get_parameter(copy, "0.weight"), w, 0));
    /* m takes its own state. */
    assert_int_equal(adz_module_load_state_dict(m, saved, true), ADZ_OK);
    adz_state_dict_free(&saved);
    adz_module_release(&copy);
    adz_module_release(&m);
}

/* Of two names of one tensor, the one that ends in "_raw" is loaded last. "_raw" alone is no such
 * name. */
static void raw_weights_are_loaded_last(void **state)
{
    (void)state;
    static const char *const names[] = { "weight_raw", "_raw" };
    for (int k = 0; k < 2; ++k) {
        adz_module *m = outer_new();
        adz_module_add_child(m, "inner", scale_new(3, 2));
        adz_tensor *w = adz_module_get_parameter(m, "inner.weight");
        assert_non_null(adz_module_add_parameter(m, names[k], w));
        adz_state_dict *given = adz_state_dict_new();
        adz_state_dict_add(given, names[k], adz_full(ADZ_SHAPE(3), 5, ADZ_F32));
        adz_state_dict_add(given, "inner.weight", adz_full(ADZ_SHAPE(3), 6, ADZ_F32));
        assert_int_equal(adz_module_load_state_dict(m, given, true), ADZ_OK);
        assert_true(all_are(w, 5 + k));
        adz_state_dict_free(&given);
        adz_module_release(&m);
    }
}

/* Half precision becomes float32 or float64, and no other dtype. */
static void half_precision_is_converted(void **state)
{
    (void)state;
    static const adz_dtype to[] = { ADZ_F32, ADZ_F64, ADZ_I64, ADZ_BOOL, ADZ_BF16 };
    for (size_t i = 0; i < sizeof to / sizeof *to; ++i) {
        adz_module *m = outer_new();
        adz_tensor *t = adz_module_add_buffer(m, "b", adz_zeros(ADZ_SHAPE(3), to[i]), true);
        adz_state_dict *given = adz_state_dict_new();
        adz_state_dict_add(given, "b", adz_full(ADZ_SHAPE(3), 1, ADZ_F16));
        adz_status status = adz_module_load_state_dict(m, given, true);
        if (i < 2) {
            assert_int_equal(status, ADZ_OK);
            assert_true(all_are(t, 1));
        } else {
            assert_int_equal(status, ADZ_ERR_STATE);
            expect_error(ADZ_ERR_STATE, "of another dtype: b (float16");
        }
        adz_state_dict_free(&given);
        adz_module_release(&m);
    }
}

/* If memory for the names that do not fit is refused, that is the error. */
static void refused_memory_is_said_first(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(scale_new(3, 2), scale_new(4, 2), scale_new(5, 2));
    adz_state_dict *given = adz_state_dict_new();
    adz_state_dict_add(given, "0.weight", adz_ones(ADZ_SHAPE(3), ADZ_F64));
    adz_state_dict_add(given, "1.weight", adz_ones(ADZ_SHAPE(2, 2), ADZ_F32));
    adz_state_dict_add(given, "1.bias", adz_ones(ADZ_SHAPE(2), ADZ_F32));
    int refused = 0;
    for (bool reached = true; reached; ++refused) {
        int64_t bytes = adzi_live_bytes();
        adzi_alloc_fail_at(refused + 1);
        adz_status status = adz_module_load_state_dict(m, given, true);
        reached = adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        assert_int_equal(status, reached ? ADZ_ERR_MEMORY : ADZ_ERR_STATE);
        expect_error(status, reached ? "" : "1 missing, 1 unexpected");
        assert_int_equal(adzi_live_bytes(), bytes);
    }
    assert_true(refused >= 6);
    adz_state_dict_free(&given);
    adz_module_release(&m);
}

static void a_load_counts_as_a_change(void **state)
{
    (void)state;
    adz_module *m = scale_new(3, 2);
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(3), ADZ_F32), true);
    adz_tensor *loss = adz_mean(adz_module_forward(m, x), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_module *other = scale_new(3, 2);
    adz_state_dict *dict = adz_module_state_dict(other);
    adz_module_load_state_dict(m, dict, true);
    assert_int_equal(adz_backward(loss), ADZ_ERR_VERSION);
    expect_error(ADZ_ERR_VERSION, "load_state_dict");
    adz_state_dict_free(&dict);
    adz_module_release(&other);
    adz_module_release(&m);
}

/* The version of a parameter only rises, also while its dtype goes there and back. */
static void versions_rise_with_the_dtype(void **state)
{
    (void)state;
    adz_module *m = scale_new(3, 2);
    adz_tensor *w = adz_module_get_parameter(m, "weight");
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(3), ADZ_F32), true);
    for (int writes = 0; writes < 4; ++writes) {
        adz_tensor *loss = adz_sum(adz_module_forward(m, x), ADZ_ALL_DIMS, ADZ_DROPDIM);
        assert_int_equal(adz_module_to(m, ADZ_F64), ADZ_OK);
        assert_int_equal(adz_module_to(m, ADZ_F32), ADZ_OK);
        for (int i = 0; i < writes; ++i) {
            fill(w, 2);
        }
        assert_int_equal(adz_backward(loss), ADZ_ERR_VERSION);
        adz_error_clear();
    }
    adz_module_release(&m);
}

/* A buffer that was changed in place by a graph can be read after its dtype has changed. */
static void a_graph_in_a_buffer_stays_readable(void **state)
{
    (void)state;
    adz_module *m = scale_new(3, 2);
    adz_tensor *b = adz_module_add_buffer(m, "b", adz_ones(ADZ_SHAPE(3), ADZ_F32), true);
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(3), ADZ_F32), true);
    assert_non_null(adz_add_(b, x));
    assert_int_equal(adz_module_to(m, ADZ_F64), ADZ_OK);
    assert_true(all_are(adz_neg(b), -2));
    adz_module_release(&m);
}

int state_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(states_load_all_or_nothing),
        TEST(raw_weights_are_loaded_last),
        TEST(half_precision_is_converted),
        TEST(refused_memory_is_said_first),
        TEST(a_load_counts_as_a_change),
        TEST(versions_rise_with_the_dtype),
        TEST(a_graph_in_a_buffer_stays_readable),
    };
    return cmocka_run_group_tests_name("module: state", tests, NULL, NULL);
}
