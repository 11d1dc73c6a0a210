/* Functions as modules, and the selection of a step. */
#include "nn/case.h"

static const double factor = 2.5;

static adz_tensor *scaled(adz_tensor *x, void *user)
{
    return adz_mul_number(adz_square(x), *(const double *)user);
}

static adz_module *lambda(adz_generator *g)
{
    (void)g;
    return ADZ_SEQUENTIAL(
        adz_linear_new(3, 2, NULL), adz_lambda_new("scaled", scaled, (void *)(uintptr_t)&factor));
}

static adz_module *last_step(adz_generator *g)
{
    (void)g;
    adz_gru_module_options o = ADZ_GRU_MODULE_OPTIONS;
    o.batch_first = true;
    return ADZ_SEQUENTIAL(adz_gru_new(3, 2, &o), adz_select_new(1, -1), adz_linear_new(2, 1, NULL));
}

static adz_module *first_of_time(adz_generator *g)
{
    (void)g;
    return ADZ_SEQUENTIAL(adz_rnn_new(3, 2, NULL), adz_select_new(0, -1));
}

/* ---- facts ---------------------------------------------------------------------------------- */

static void lambdas_get_their_data(void **state)
{
    (void)state;
    double by = 3;
    adz_module *m = adz_lambda_new("scaled", scaled, &by), *copy = adz_module_copy(m);
    adz_tensor *x = adz_full(ADZ_SHAPE(2), 2, ADZ_F32);
    assert_true(HOLDS(adz_module_forward(m, x), 0, 12, 12));
    by = 5;
    assert_true(HOLDS(adz_module_forward(copy, x), 0, 20, 20));
    char text[100];
    adz_module_to_string(copy, text, sizeof text);
    assert_string_equal(text, "Lambda(scaled)");
    adz_module_release(&m);
    adz_module_release(&copy);
}

static adz_tensor *failing(adz_tensor *x, void *user)
{
    (void)user;
    return adz_reshape(x, ADZ_SHAPE(7));
}

static void failures_of_lambdas_are_errors(void **state)
{
    (void)state;
    adz_module *m = adz_lambda_new("failing", failing, NULL);
    adz_values *in = adz_values_new(), *out = adz_values_new();
    expect_refused(m, adz_ones(ADZ_SHAPE(2), ADZ_F32), "[7]");
    m = adz_lambda_new("failing", failing, NULL);
    assert_int_equal(adz_module_call(m, in, out), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "Lambda: x");
    assert_int_equal(adz_values_count(out), 0);
    adz_module_release(&m);
    adz_values_free(&in);
    adz_values_free(&out);
    assert_null(adz_lambda_new(NULL, failing, NULL));
    expect_error(ADZ_ERR_NULL, "name");
    assert_null(adz_lambda_new("none", NULL, NULL));
    expect_error(ADZ_ERR_NULL, "function");
    char name[66];
    memset(name, 'n', sizeof name);
    name[65] = '\0';
    expect_no_module(adz_lambda_new("", failing, NULL), "name has no bytes");
    name[64] = '\0';
    expect_no_module(adz_lambda_new(name, failing, NULL), "name has too many bytes");
    name[63] = '\0';
    m = adz_lambda_new(name, failing, NULL);
    assert_non_null(m);
    adz_module_release(&m);
}

/* The state that the network hands on besides its steps is ignored, in calls with lists as well. */
static void steps_are_selected(void **state)
{
    (void)state;
    adz_module *m = first_of_time(NULL), *net = adz_module_get_child(m, "0");
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 2, 3), ADZ_F32), *y = adz_module_forward(net, x);
    expect_same(adz_module_forward(m, x), adz_select(y, 0, 3), 0);
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "x", x);
    assert_int_equal(adz_module_call(m, in, out), ADZ_OK);
    assert_int_equal(adz_values_count(out), 1);
    expect_same(adz_values_at(out, 0), adz_select(y, 0, 3), 0);
    adz_values_free(&in);
    adz_values_free(&out);
    adz_module_release(&m);
    m = adz_select_new(2, 0);
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(2, 3), ADZ_F32)));
    expect_error(ADZ_ERR_DIM, "dimension 2 is outside");
    adz_module_release(&m);
    m = adz_select_new(0, 2);
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(2, 3), ADZ_F32)));
    expect_error(ADZ_ERR_INDEX, "select: ");
    adz_module_release(&m);
}

static const struct CMUnitTest facts[] = {
    TEST(lambdas_get_their_data),
    TEST(failures_of_lambdas_are_errors),
    TEST(steps_are_selected),
};

const module_case functions_module = {
    .name = "functions",
    .samples = { { lambda,
                     "Sequential(\n"
                     "  (0): Linear(in_features=3, out_features=2, bias=True)\n"
                     "  (1): Lambda(scaled)\n"
                     ")",
                     "0.weight 0.bias", { X(4, 3) } },
        { last_step,
            "Sequential(\n"
            "  (0): GRU(3, 2, batch_first=True)\n"
            "  (1): Select(dim=1, index=-1)\n"
            "  (2): Linear(in_features=2, out_features=1, bias=True)\n"
            ")",
            "0.weight_ih_l0 0.weight_hh_l0 0.bias_ih_l0 0.bias_hh_l0 2.weight 2.bias",
            { X(4, 5, 3) } } },
    FACTS(facts),
};
