/* Arguments of calls that a module does not take, and calls that are written in one line. */
#include "nn/module.h"
#include "scale.h"
#include "tests.h"

/* Expects that a call was refused, and that it has appended no result. */
static void expect_refused(adz_status status, const adz_values *out, const char *says)
{
    assert_int_equal(status, ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, says);
    assert_int_equal(adz_values_count(out), 0);
}

/* An argument that the module does not read is an error, by name or by position, and the message
 * lists what the module takes. */
static void unknown_arguments_are_refused(void **state)
{
    (void)state;
    adz_module *gru = adz_gru_new(3, 4, NULL);
    adz_module *nested = ADZ_SEQUENTIAL(
        ADZ_SEQUENTIAL(adz_identity_new()), adz_activation_checkpoint_new(adz_module_keep(gru)));
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_tensor *x = adz_ones(ADZ_SHAPE(5, 2, 3), ADZ_F32);
    adz_tensor *lengths = adz_tensor_from((int64_t[]){ 5, 2 }, ADZ_SHAPE(2), ADZ_I64);
    adz_values_add(in, NULL, x);
    adz_values_add(in, "lenghts", lengths);
    expect_refused(adz_module_call(gru, in, out), out,
        "GRU: takes no argument \"lenghts\", only x, h0, lengths; it would be ignored");
    adz_values_clear(in);
    adz_values_add(in, NULL, x);
    for (int i = 0; i < 2; ++i) {
        adz_values_add(in, NULL, ADZ_NONE);
    }
    adz_values_add(in, NULL, lengths); /* the position of an LSTM's lengths */
    expect_refused(adz_module_call(gru, in, out), out, "GRU: takes no value 3; it would be");
    adz_values_clear(in);
    adz_values_add(in, NULL, x);
    adz_values_add(in, "x", x); /* twice the same argument */
    expect_refused(adz_module_call(gru, in, out), out, "GRU: takes no value 0, only x, h0");
    /* Containers pass arguments on; the module that gets them in the end says what is wrong. */
    adz_values_clear(in);
    adz_values_clear(out);
    adz_values_add(in, NULL, x);
    adz_values_add(in, "lengths", lengths);
    assert_int_equal(adz_module_call(nested, in, out), ADZ_OK);
    assert_int_equal(adz_values_count(out), 2);
    /* An absent argument is not ignored: there is nothing to ignore. */
    adz_values_clear(out);
    adz_values_add(in, "absent", ADZ_NONE);
    assert_int_equal(adz_module_call(gru, in, out), ADZ_OK);
    adz_values_free(&in);
    adz_values_free(&out);
    adz_module_release(&gru);
    adz_module_release(&nested);
}

/* A module of the user, and one that has only a forward, refuse an argument that they do not know.
 */
static void unknown_names_of_other_modules(void **state)
{
    (void)state;
    adz_module *both = adz_module_new(&both_type, 0), *linear = adz_linear_new(3, 4, NULL);
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_tensor *x = adz_ones(ADZ_SHAPE(5, 2, 3), ADZ_F32);
    adz_values_add(in, "a", x);
    adz_values_add(in, "c", x);
    expect_refused(adz_module_call(both, in, out), out, "Both: takes no argument \"c\", only a, b");
    adz_values_clear(in);
    adz_values_add(in, "weight", x);
    expect_refused(adz_module_call(linear, in, out), out, "takes no argument \"weight\", only x");
    adz_values_clear(in);
    adz_values_add(in, "input", x);
    assert_int_equal(adz_module_call(linear, in, out), ADZ_OK);
    assert_int_equal(adz_values_count(out), 1);
    adz_values_free(&in);
    adz_values_free(&out);
    adz_module_release(&both);
    adz_module_release(&linear);
}

/* Hands its arguments on to its child. */
static adz_status wrapper_call(adz_module *self, const adz_values *in, adz_values *out)
{
    assert_ptr_equal(adz_values_get(in, ""), ADZ_NONE); /* an empty name is no name */
    return adz_module_call(adz_module_child_at(self, 0), in, out);
}

/* A module that hands its arguments on need not read them: the module inside is asked. */
static void wrappers_need_not_read(void **state)
{
    (void)state;
    static const adz_module_type wrapper = {
        .size = sizeof(adz_module_type), .name = "Wrapper", .call = wrapper_call
    };
    adz_module *m = adz_module_new(&wrapper, 0);
    adz_module_add_child(m, "inner", adz_module_new(&both_type, 0));
    adz_tensor *x = adz_ones(ADZ_SHAPE(2), ADZ_F32);
    assert_true(all_are(ADZ_CALL(m, { "b", x }, { "a", x }), 2));
    assert_null(ADZ_CALL(m, { "b", x }, { "a", x }, { "c", x }));
    expect_error(ADZ_ERR_ARGUMENT, "inner: Both: takes no argument \"c\", only a, b");
    adz_module_release(&m);
}

static void calls_can_be_written_in_one_line(void **state)
{
    (void)state;
    adz_module *gru = adz_gru_new(3, 4, NULL), *relu = adz_relu_new();
    adz_tensor *x = adz_ones(ADZ_SHAPE(5, 2, 3), ADZ_F32);
    adz_tensor *lengths = adz_tensor_from((int64_t[]){ 5, 2 }, ADZ_SHAPE(2), ADZ_I64);
    adz_values *results = adz_values_new();
    adz_tensor *y = ADZ_CALL_RESULTS(gru, results, { NULL, x }, { "lengths", lengths });
    assert_int_equal(adz_values_count(results), 2);
    assert_ptr_equal(adz_values_at(results, 0), y);
    assert_true(all_are(adz_narrow(adz_select(y, 1, 1), 0, 2, 3), 0)); /* the padding */
    assert_true(alike(ADZ_CALL(gru, { "lengths", lengths }, { "x", x }), y, 0));
    assert_true(alike(ADZ_CALL(relu, { "", x }), x, 0));
    assert_null(ADZ_CALL(gru, { NULL, x }, { "lenghts", lengths }));
    expect_error(ADZ_ERR_ARGUMENT, "GRU: takes no argument \"lenghts\"");
    assert_null(ADZ_CALL(gru, { NULL, NULL }));
    expect_error(ADZ_ERR_NULL, "adz_values_add: t is NULL");
    expect_null(
        adz_module_call_named(gru, NULL, 1, NULL) == NULL, "adz_module_call_named", "arguments");
    assert_int_equal(adz_values_count(results), 2);
    adz_values_free(&results);
    adz_module_release(&gru);
    adz_module_release(&relu);
}

int arguments_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(unknown_arguments_are_refused),
        TEST(unknown_names_of_other_modules),
        TEST(wrappers_need_not_read),
        TEST(calls_can_be_written_in_one_line),
    };
    return cmocka_run_group_tests_name("module: arguments", tests, NULL, NULL);
}
