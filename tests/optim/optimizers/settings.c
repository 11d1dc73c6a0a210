/* Settings: what is refused, and the defaults. */
#include "adze/zoo.h"
#include "cases.h"
#include "tests.h"

static void settings_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double value;
        const char *says;
    } bad[] = {
        { "lr", -1, "lr is -1, but must be finite and 0 or more" },
        { "lr", NAN, "lr is nan" },
        { "lr", INFINITY, "lr is inf" },
        { "beta1", 1, "beta1 is 1, but must be at least 0 and below 1" },
        { "beta1", -0.5, "beta1 is -0.5" },
        { "beta2", 1.5, "beta2 is 1.5" },
        { "beta2", NAN, "beta2 is nan" },
        { "eps", -1e-8, "eps is -1e-08" },
        { "weight_decay", -0.1, "weight_decay is -0.1" },
        { "alpha", -0.1, "alpha is -0.1" },
        { "momentum", -0.1, "momentum is -0.1" },
        { "lr_decay", -0.1, "lr_decay is -0.1" },
        { "initial_accumulator_value", -0.1, "initial_accumulator_value is -0.1" },
        { "warmup", -1, "warmup is -1" },
        { "d_model", -1, "d_model is -1" },
        { "total_steps", -1, "total_steps is -1" },
    };
    adz_tensor *w = start(ADZ_F64);
    for (int k = 0; k < n_cases; ++k) {
        adz_optimizer *o = cases[k].make(one(&w));
        for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
            double before = adz_optimizer_get(o, 0, bad[i].name);
            const char *says = isnan(before) ? "has no setting called" : bad[i].says;
            adz_error_clear();
            assert_int_equal(adz_optimizer_set(o, 0, bad[i].name, bad[i].value), ADZ_ERR_ARGUMENT);
            expect_error(ADZ_ERR_ARGUMENT, says);
            assert_true(isnan(before) || adz_optimizer_get(o, 0, bad[i].name) == before);
            adz_error_clear();
        }
        adz_optimizer_release(&o);
    }
}

static void constructors_refuse(void **state)
{
    (void)state;
    adz_tensor *w = start(ADZ_F64);
    adz_adam_options adam = ADZ_ADAM_OPTIONS;
    adam.beta1 = 1;
    assert_null(adz_adam_new(one(&w), 0.1, &adam));
    expect_error(ADZ_ERR_ARGUMENT, "adz_adam_new: beta1 is 1");
    assert_null(adz_adamw_new(one(&w), 0.1, &adam));
    expect_error(ADZ_ERR_ARGUMENT, "adz_adamw_new: beta1 is 1");
    adz_radam_options radam = ADZ_RADAM_OPTIONS;
    radam.beta2 = 1;
    assert_null(adz_radam_new(one(&w), 0.1, &radam));
    expect_error(ADZ_ERR_ARGUMENT, "adz_radam_new: beta2 is 1");
    adz_rmsprop_options rmsprop = ADZ_RMSPROP_OPTIONS;
    rmsprop.alpha = -1;
    assert_null(adz_rmsprop_new(one(&w), 0.1, &rmsprop));
    expect_error(ADZ_ERR_ARGUMENT, "adz_rmsprop_new: alpha is -1");
    adz_adagrad_options adagrad = ADZ_ADAGRAD_OPTIONS;
    adagrad.initial_accumulator_value = -1;
    assert_null(adz_adagrad_new(one(&w), 0.1, &adagrad));
    expect_error(ADZ_ERR_ARGUMENT, "adz_adagrad_new: initial_accumulator_value is -1");
    adz_rprop_options rprop = ADZ_RPROP_OPTIONS;
    rprop.step_size_min = 51;
    assert_null(adz_rprop_new(one(&w), 0.1, &rprop));
    expect_error(
        ADZ_ERR_ARGUMENT, "adz_rprop_new: step_size_min is 51, above step_size_max, which is 50");
    adz_adafactor_options adafactor = ADZ_ADAFACTOR_OPTIONS;
    adafactor.beta2_decay = 0.1;
    assert_null(adz_adafactor_new(one(&w), 0.1, &adafactor));
    expect_error(ADZ_ERR_ARGUMENT, "adz_adafactor_new: beta2_decay is 0.1");
    adafactor = (adz_adafactor_options)ADZ_ADAFACTOR_OPTIONS;
    adafactor.d = 0.5;
    assert_null(adz_adafactor_new(one(&w), 0.1, &adafactor));
    expect_error(ADZ_ERR_ARGUMENT, "adz_adafactor_new: d is 0.5");
    assert_null(adz_muon_new(one(&w), 0.1, NULL));
    expect_error(ADZ_ERR_SHAPE, "adz_muon_new: parameter 0[37] is no matrix [N, D]");
    assert_null(adz_adam_new(adz_tensor_list_of(NULL, 0), 0.1, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "the list of parameters is empty");
}

/* The init functions, for other languages than C, give the defaults of the macros. */
static void defaults_are_the_same_both_ways(void **state)
{
    (void)state;
#define SAME_DEFAULTS(type, macro)                                          \
    do {                                                                    \
        adz_##type##_options from_macro = macro, from_call;                 \
        memset(&from_call, 0x55, sizeof from_call);                         \
        adz_##type##_options_init(&from_call, sizeof from_call);            \
        adz_tensor *v = start(ADZ_F64);                                     \
        adz_optimizer *a = adz_##type##_new(one(&v), 0.1, &from_macro);     \
        adz_optimizer *b = adz_##type##_new(one(&v), 0.1, &from_call);      \
        adz_optimizer *c = adz_##type##_new(one(&v), 0.1, NULL);            \
        assert_int_equal(save(a, "a"), ADZ_OK);                             \
        assert_int_equal(save(b, "b"), ADZ_OK);                             \
        assert_int_equal(save(c, "c"), ADZ_OK);                             \
        assert_true(files_equal(temporary_path("a"), temporary_path("b"))); \
        assert_true(files_equal(temporary_path("a"), temporary_path("c"))); \
        adz_optimizer_release(&a);                                          \
        adz_optimizer_release(&b);                                          \
        adz_optimizer_release(&c);                                          \
    } while (0)
    SAME_DEFAULTS(sgd, ADZ_SGD_OPTIONS);
    SAME_DEFAULTS(adam, ADZ_ADAM_OPTIONS);
    SAME_DEFAULTS(adamw, ADZ_ADAMW_OPTIONS);
    SAME_DEFAULTS(radam, ADZ_RADAM_OPTIONS);
    SAME_DEFAULTS(rmsprop, ADZ_RMSPROP_OPTIONS);
    SAME_DEFAULTS(adagrad, ADZ_ADAGRAD_OPTIONS);
    SAME_DEFAULTS(adadelta, ADZ_ADADELTA_OPTIONS);
    SAME_DEFAULTS(adafactor, ADZ_ADAFACTOR_OPTIONS);
    SAME_DEFAULTS(adamax, ADZ_ADAMAX_OPTIONS);
    SAME_DEFAULTS(asgd, ADZ_ASGD_OPTIONS);
    SAME_DEFAULTS(nadam, ADZ_NADAM_OPTIONS);
    SAME_DEFAULTS(rprop, ADZ_RPROP_OPTIONS);
    SAME_DEFAULTS(labml_adam, ADZ_LABML_ADAM_OPTIONS);
    SAME_DEFAULTS(labml_amsgrad, ADZ_LABML_AMSGRAD_OPTIONS);
    SAME_DEFAULTS(labml_radam, ADZ_LABML_RADAM_OPTIONS);
    SAME_DEFAULTS(labml_ada_belief, ADZ_LABML_ADA_BELIEF_OPTIONS);
}

int settings_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(settings_are_refused),
        TEST(constructors_refuse),
        TEST(defaults_are_the_same_both_ways),
    };
    return cmocka_run_group_tests_name(
        "optimizers: settings", tests, temporary_begin, temporary_end);
}
