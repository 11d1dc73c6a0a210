/* adz_optimizer_check: adze's types agree with themselves, and faults are found. */
#include "adze/zoo.h"
#include "tests.h"

/* ---- adze's types --------------------------------------------------------------------------- */

/* The kernels of adze have the bits of the expressions. */
static void expect_equal_bits(adz_optimizer *o)
{
    const adz_optimizer_type *type = adz_optimizer_type_of(o);
    double settings[ADZ_OPTIMIZER_SETTINGS];
    size_t n = 0;
    for (; n < ADZ_OPTIMIZER_SETTINGS && type->settings[n].name != NULL; ++n) {
        settings[n] = adz_optimizer_get(o, 0, type->settings[n].name);
    }
    if (adz_optimizer_check(type, settings, n, 0) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
    adz_optimizer_release(&o);
}

static void kernels_have_the_bits_of_their_expressions(void **state)
{
    (void)state;
    adz_tensor *w = parameter(3, ADZ_F32);
    const adz_tensor_list l = adz_tensor_list_of(&w, 1);
    adz_radam_options fast = ADZ_RADAM_OPTIONS; /* rectified from step 6 on */
    fast.beta2 = 0.9;
    adz_labml_radam_options fast_labml = ADZ_LABML_RADAM_OPTIONS;
    fast_labml.beta2 = 0.9;
    expect_equal_bits(adz_sgd_new(l, 0.1, NULL));
    expect_equal_bits(adz_adam_new(l, 0.1, NULL));
    expect_equal_bits(adz_adamw_new(l, 0.1, NULL));
    expect_equal_bits(adz_radam_new(l, 0.1, &fast));
    expect_equal_bits(adz_rmsprop_new(l, 0.1, NULL));
    expect_equal_bits(adz_adagrad_new(l, 0.1, NULL));
    expect_equal_bits(adz_adadelta_new(l, 0.1, NULL));
    expect_equal_bits(adz_adafactor_new(l, 0.1, NULL));
    expect_equal_bits(adz_adamax_new(l, 0.1, NULL));
    expect_equal_bits(adz_asgd_new(l, 0.1, NULL));
    expect_equal_bits(adz_nadam_new(l, 0.1, NULL));
    expect_equal_bits(adz_rprop_new(l, 0.1, NULL));
    expect_equal_bits(adz_labml_adam_new(l, 0.1, NULL));
    expect_equal_bits(adz_labml_amsgrad_new(l, 0.1, NULL));
    expect_equal_bits(adz_labml_adam_warmup_new(l, 0.1, 5, NULL));
    expect_equal_bits(adz_labml_adam_warmup_cosine_decay_new(l, 0.1, 2, 6, NULL));
    expect_equal_bits(adz_labml_noam_new(l, 0.1, 3, 16, NULL));
    expect_equal_bits(adz_labml_radam_new(l, 0.1, &fast_labml));
    expect_equal_bits(adz_labml_ada_belief_new(l, 0.1, NULL));
}

/* ---- a relative of Adam ---------------------------------------------------------------------- */

/* Adam whose rate falls with the square root of the number of steps. */
ADZ_C_TEXT(
    falling_text, static void falling_numbers(double *n, const adz_step_context *at) {
        const double *s = at->settings;
        adz_adam_numbers(n, at);
        n[ADZ_ADAM_N_ROOT] = 1 / sqrt(1 - adz_moment_power(at, 1, s[ADZ_ADAM_BETA2]));
        n[ADZ_ADAM_N_STEP] = s[ADZ_ADAM_LR] / sqrt((double)at->step) /
                             (1 - adz_moment_power(at, 0, s[ADZ_ADAM_BETA1]));
    })

static adz_status falling_update(adz_tensor **results, const adz_update *u)
{
    const adz_adam_parts parts = { false, false, false, false, false };
    return adz_adam_express(results, u, &parts);
}

static const adz_optimizer_type falling_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "FallingAdam",
    .settings = { ADZ_ADAM_SETTINGS(adz_adam_options, 1e-8, 0) },
    .states = { ADZ_ADAM_TWO_STATES },
    .update = falling_update,
    .numbers = falling_numbers,
    .n_numbers = ADZ_ADAM_NUMBERS,
    .kernels = ADZ_ADAM_KERNELS,
    .numbers_text = { ADZ_ADAM_TEXTS, falling_text },
    .constructor = "falling_adam_new",
};

static void relatives_of_adam_share_its_formula(void **state)
{
    (void)state;
    assert_int_equal(adz_optimizer_check(&falling_type, NULL, 0, 0), ADZ_OK);
    adz_tensor *w = parameter(3, ADZ_F64), *v = parameter(3, ADZ_F64);
    adz_optimizer *falling = adz_optimizer_new(&falling_type, adz_tensor_list_of(&w, 1), NULL, 0);
    adz_optimizer *adam = adz_adam_new(adz_tensor_list_of(&v, 1), 1e-3, NULL);
    for (int step = 1; step <= 4; ++step) {
        adz_optimizer_set(adam, 0, "lr", 1e-3 / sqrt((double)step));
        adz_optimizer_zero_grad(falling);
        adz_optimizer_zero_grad(adam);
        adz_backward(adz_sum(adz_mul(w, w), ADZ_ALL_DIMS, ADZ_DROPDIM));
        adz_backward(adz_sum(adz_mul(v, v), ADZ_ALL_DIMS, ADZ_DROPDIM));
        assert_int_equal(adz_optimizer_step(falling), ADZ_OK);
        assert_int_equal(adz_optimizer_step(adam), ADZ_OK);
        assert_true(adz_equal(w, v));
    }
    adz_optimizer_release(&falling);
    adz_optimizer_release(&adam);
    const double wrong[] = { -1 };
    assert_null(adz_optimizer_new(&falling_type, adz_tensor_list_of(&w, 1), wrong, 1));
    expect_error(ADZ_ERR_ARGUMENT, "falling_adam_new: lr is -1");
    assert_true(isnan(adz_moment_power(NULL, 0, 2)));
    expect_null(adz_adam_express(NULL, NULL, NULL) == ADZ_ERR_NULL, "adz_adam_express", "results");
    adz_adam_f32(NULL, 0, 3); /* changes nothing */
}

static void types_of_ones_own_agree(void **state)
{
    (void)state;
    assert_int_equal(adz_optimizer_check(&lion_type, NULL, 0, 0), ADZ_OK);
    assert_int_equal(adz_optimizer_check(&mean_type, NULL, 0, 0), ADZ_OK);
    assert_true(adz_is_grad_enabled());
}

/* ---- faults --------------------------------------------------------------------------------- */

static enum { HONEST, ULP, RELATIVE, FORGETS_STATE, FROM_ZERO, TO_END, STEP_TWO, NOT_FINITE } fault;

/* mean_f32 with a fault. */
static void faulty_f32(const adz_update_call *call, int64_t begin, int64_t end)
{
    float *w = (float *)call->parameter, *s = (float *)call->states[0];
    const float *g = (const float *)call->gradient, step = (float)call->numbers[MEAN_STEP];
    begin = fault == FROM_ZERO ? 0 : begin;
    for (int64_t i = begin; i < end; ++i) {
        const float sum = s[i] + g[i];
        s[i] = fault == FORGETS_STATE ? s[i] : sum;
        w[i] -= step * sum;
        w[i] = fault == ULP && fabsf(w[i]) < 1e30f ? nextafterf(w[i], INFINITY) : w[i];
        w[i] = fault == RELATIVE ? w[i] * 1.00001f : w[i];
        w[i] = fault == STEP_TWO && fabsf(step) < 0.06f ? w[i] + step * g[i] : w[i];
        w[i] = fault == NOT_FINITE && !(fabsf(w[i]) < INFINITY) ? 0 : w[i];
    }
}

static void faults_of_a_kernel_are_found(void **state)
{
    (void)state;
    adz_optimizer_type type = mean_type;
    type.kernels[ADZ_F32] = faulty_f32;
    fault = HONEST;
    assert_int_equal(adz_optimizer_check(&type, NULL, 0, 0), ADZ_OK);
    fault = ULP;
    assert_int_equal(adz_optimizer_check(&type, NULL, 0, 1), ADZ_OK);
    static const struct {
        int fault;
        double ulps;
        const char *says;
    } faults[] = {
        { ULP, 0,
            "Mean: in step 1 of a float32 parameter of 1 elements, with lr=0.1, start=0.25, ascend=0, element 0 of the parameter is " },
        { RELATIVE, 4, "by its kernel, but " },
        { FORGETS_STATE, 0, "element 0 of sum is 0.25 by its kernel, but 0.3" },
        { FROM_ZERO, 0, "by its kernel called for two ranges of elements, but" },
        { STEP_TWO, 0, "in step 2 of a float32 parameter of 1 elements" },
        { NOT_FINITE, 0, "parameter of 37 elements" },
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i) {
        fault = (int)faults[i].fault;
        assert_int_equal(adz_optimizer_check(&type, NULL, 0, faults[i].ulps), ADZ_ERR_NUMERIC);
        expect_error(ADZ_ERR_NUMERIC, faults[i].says);
    }
    fault = HONEST;
}

/* A kernel that knows nothing of a setting. The check changes settings, alone and in pairs. */
static int kernel_forgets; /* 0: ascend; 1: that both `ascend` and `start` are not the defaults */

static adz_status switched_update(adz_tensor **results, const adz_update *u)
{
    const bool ascends = adz_update_setting(u, MEAN_ASCEND) != 0;
    const bool starts = adz_update_setting(u, MEAN_START) != 0.25;
    const bool forgotten = ascends && (starts || kernel_forgets == 0);
    results[1] = adz_add(u->states[0], u->gradient);
    adz_tensor *step = adz_mul(u->numbers[MEAN_STEP], results[1]);
    results[0] = adz_sub(u->parameter, forgotten ? adz_mul_number(step, 2) : step);
    return ADZ_OK;
}

static void forgotten_settings_are_found(void **state)
{
    (void)state;
    adz_optimizer_type type = mean_type;
    type.update = switched_update;
    for (kernel_forgets = 0; kernel_forgets < 2; ++kernel_forgets) {
        assert_int_equal(adz_optimizer_check(&type, NULL, 0, 100), ADZ_ERR_NUMERIC);
        expect_error(ADZ_ERR_NUMERIC,
            kernel_forgets == 0 ? "ascend=1, element" : "start=0, ascend=1, element");
        /* with the other value of the flag as given, the check changes it, too */
        const double given[] = { 0.1, 0.25, 1 };
        assert_int_equal(adz_optimizer_check(&type, given, 3, 100), ADZ_ERR_NUMERIC);
        expect_error(ADZ_ERR_NUMERIC, "ascend=1");
    }
}

/* Divides by the norm of the parameter's gradient. */
static adz_status normed_update(adz_tensor **results, const adz_update *u)
{
    adz_tensor *norm = adz_sqrt(adz_sum(adz_square(u->gradient), ADZ_ALL_DIMS, ADZ_DROPDIM));
    results[0] = adz_sub(u->parameter, adz_mul(u->numbers[0], adz_div(u->gradient, norm)));
    return ADZ_OK;
}

static void an_update_that_is_not_elementwise_is_found(void **state)
{
    (void)state;
    adz_optimizer_type normed = { .size = sizeof normed,
        .name = "Normed",
        .settings = { ADZ_SETTING("lr", 0.1, ADZ_FINITE_FROM(0)) },
        .update = normed_update };
    assert_int_equal(adz_optimizer_check(&normed, NULL, 0, 0), ADZ_ERR_NUMERIC);
    expect_error(ADZ_ERR_NUMERIC, "If not, set `whole`");
    normed.whole = true;
    assert_int_equal(adz_optimizer_check(&normed, NULL, 0, 0), ADZ_OK);
}

/* ---- arguments ------------------------------------------------------------------------------ */

static adz_tensor *checks(void *user)
{
    *(adz_status *)user = adz_optimizer_check(&lion_type, NULL, 0, 0);
    return adz_ones(ADZ_SHAPE(1), ADZ_F32);
}

static void the_check_refuses(void **state)
{
    (void)state;
    assert_int_equal(adz_optimizer_check(&lion_type, NULL, 0, -1), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "ulps is -1; it has to be 0 or more");
    assert_int_equal(adz_optimizer_check(&lion_type, NULL, 0, NAN), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "ulps is nan");
    const double bad[] = { -1 };
    assert_int_equal(adz_optimizer_check(&lion_type, bad, 1, 0), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "lr is -1");
    adz_error_set("test", ADZ_ERR_IO, "an earlier failure");
    assert_int_equal(adz_optimizer_check(&lion_type, NULL, 0, 0), ADZ_ERR_IO);
    expect_error(ADZ_ERR_IO, "an earlier failure");
    adz_status inside = ADZ_OK;
    assert_null(adz_plan_new(checks, &inside, NULL));
    assert_int_equal(inside, ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "adz_optimizer_check");
}

static void hear(adz_status status, const char *message, void *user)
{
    (void)status;
    (void)message;
    ++*(int *)user;
}

static adz_status flags_differ(const char *op, const double *settings)
{
    return settings[MEAN_ASCEND] == 0 || settings[MEAN_START] != 0
               ? ADZ_OK
               : adz_error_set(op, ADZ_ERR_ARGUMENT, "start is 0");
}

/* Combinations that the type refuses are left out, and nobody hears of them. */
static void refused_settings_are_left_out(void **state)
{
    (void)state;
    int heard = 0;
    adz_optimizer_type type = mean_type;
    type.check = flags_differ;
    adz_on_error(hear, &heard);
    assert_int_equal(adz_optimizer_check(&type, NULL, 0, 0), ADZ_OK);
    adz_on_error(adz_quiet, NULL);
    assert_int_equal(heard, 0);
}

static int small_rank; /* the rank of the state of a small parameter, else it is one number */

static int shape_by_size(int state, const adz_tensor *parameter, int64_t *sizes)
{
    (void)state, (void)sizes;
    return adz_tensor_numel(parameter) > 20 ? 0 : small_rank;
}

static adz_status halved(adz_tensor **results, const adz_update *u)
{
    results[0] = adz_mul_number(u->parameter, 0.5);
    if (u->states[0] != ADZ_NONE) {
        results[1] = adz_mul_number(u->states[0], 1);
    }
    return ADZ_OK;
}

/* A state of one half with more elements than that of the whole, and a state of the whole alone. */
static void shapes_that_depend_on_the_size_are_found(void **state)
{
    (void)state;
    const int ranks[] = { ADZ_STATE_LIKE_PARAMETER, ADZ_STATE_ABSENT };
    const adz_optimizer_type type = { .size = sizeof(adz_optimizer_type),
        .name = "Sized",
        .settings = { ADZ_SETTING("lr", 0.1, ADZ_FINITE_FROM(0)) },
        .states = { { "sum", 0 } },
        .update = halved,
        .state_shape = shape_by_size };
    for (int k = 0; k < 2; ++k) {
        small_rank = ranks[k];
        assert_int_equal(adz_optimizer_check(&type, NULL, 0, 0), ADZ_ERR_ARGUMENT);
        expect_error(ADZ_ERR_ARGUMENT, "Sized: sum has another shape by the update of one half");
    }
}

int checked_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(kernels_have_the_bits_of_their_expressions),
        TEST(relatives_of_adam_share_its_formula),
        TEST(types_of_ones_own_agree),
        TEST(faults_of_a_kernel_are_found),
        TEST(forgotten_settings_are_found),
        TEST(an_update_that_is_not_elementwise_is_found),
        TEST(shapes_that_depend_on_the_size_are_found),
        TEST(the_check_refuses),
        TEST(refused_settings_are_left_out),
    };
    return cmocka_run_group_tests_name("optimizer types: checked", tests, NULL, NULL);
}
