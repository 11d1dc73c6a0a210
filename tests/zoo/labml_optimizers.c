/* labml's optimizers: what is refused, the rates, and the names of the states. */
#include "adze/zoo.h"
#include "optim/optimizers/cases.h"
#include "optim/optimizers/tests.h"

static void constructors_refuse(void **state)
{
    (void)state;
    adz_tensor *w = start(ADZ_F64);
    adz_labml_adam_options labml = ADZ_LABML_ADAM_OPTIONS;
    labml.eps = -1;
    assert_null(adz_labml_adam_new(one(&w), 0.1, &labml));
    expect_error(ADZ_ERR_ARGUMENT, "adz_labml_adam_new: eps is -1");
    assert_null(adz_labml_amsgrad_new(one(&w), -1, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "adz_labml_amsgrad_new: lr is -1");
    assert_null(adz_labml_radam_new(one(&w), -1, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "adz_labml_radam_new: lr is -1");
    assert_null(adz_labml_adam_warmup_new(one(&w), 1, -1, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "adz_labml_adam_warmup_new: warmup is -1");
    assert_null(adz_labml_adam_warmup_cosine_decay_new(one(&w), 1, -1, 9, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "adz_labml_adam_warmup_cosine_decay_new: warmup is -1");
    assert_null(adz_labml_adam_warmup_cosine_decay_new(one(&w), 1, 0, NAN, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "adz_labml_adam_warmup_cosine_decay_new: total_steps is nan");
    adz_labml_ada_belief_options belief = ADZ_LABML_ADA_BELIEF_OPTIONS;
    belief.beta1 = -1;
    assert_null(adz_labml_ada_belief_new(one(&w), 0.1, &belief));
    expect_error(ADZ_ERR_ARGUMENT, "adz_labml_ada_belief_new: beta1 is -1");
    assert_null(adz_labml_noam_new(one(&w), 1, 0, 16, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "adz_labml_noam_new: warmup is 0, but must be above 0");
    assert_null(adz_labml_noam_new(one(&w), 1, 4, 0, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "adz_labml_noam_new: d_model is 0, but must be above 0");
}

/* The message names the macro that has the defaults of the constructor that was called. */
static void messages_name_the_defaults(void **state)
{
    (void)state;
    adz_tensor *w = start(ADZ_F64);
    const adz_labml_amsgrad_options empty = { 0 };
    assert_null(adz_labml_amsgrad_new(one(&w), 1, &empty));
    expect_error(ADZ_ERR_ARGUMENT, "begin with ADZ_LABML_AMSGRAD_OPTIONS");
    assert_null(adz_labml_adam_warmup_new(one(&w), 1, 4, &empty));
    expect_error(ADZ_ERR_ARGUMENT, "begin with ADZ_LABML_WARMUP_OPTIONS");
}

/* The rate at the beginning and the end of the cosine, and with a warm-up that leaves no step for
 * the cosine. */
static void a_cosine_keeps_a_tenth(void **state)
{
    (void)state;
    static const struct {
        double warmup, total;
        int64_t step;
        double rate;
    } rates[] = {
        { 4, 12, 2, 1 + 1e-8 },
        { 4, 12, 4, 2 },
        { 4, 12, 8, 1 },
        { 4, 12, 12, 0.2 },
        { 4, 12, 16, 1 },
        { 0, 0, 1, 0.2 }, /* A fall takes at least one step. */
        { 5, 2, 6, 0.2 },
        { 0, 1e10, 1000, 2 },
    };
    for (size_t i = 0; i < sizeof rates / sizeof *rates; ++i) {
        double rate = adz_labml_adam_warmup_cosine_decay_rate(
            2, rates[i].warmup, rates[i].total, rates[i].step);
        assert_true(fabs(rate - rates[i].rate) < 1e-12);
    }
}

/* AdaBelief stores its second moment under the name that the annotated library uses. */
static void a_belief_is_kept_as_a_variance(void **state)
{
    (void)state;
    adz_tensor *w = start(ADZ_F64);
    adz_labml_ada_belief_options options = ADZ_LABML_ADA_BELIEF_OPTIONS;
    options.amsgrad = true;
    adz_optimizer *o = adz_labml_ada_belief_new(one(&w), 0.1, &options);
    take_steps(o, w, 0, 1);
    adz_state_dict *kept = adz_state_dict_new();
    assert_int_equal(adzi_optimizer_collect(o, kept), ADZ_OK);
    static const char *const names[] = { "state.0.exp_avg", "state.0.exp_avg_var",
        "state.0.max_exp_avg_var", "state.0.step" };
    assert_int_equal(adz_state_dict_count(kept), 4);
    for (size_t k = 0; k < 4; ++k) {
        size_t at = 0;
        while (at < 4 && strcmp(adz_state_dict_name_at(kept, at), names[k]) != 0) {
            ++at;
        }
        assert_true(at < 4);
        double g = gradient_at(0, 0),
               value = adz_tensor_at(adz_state_dict_at(kept, at), (int64_t[]){ 0 });
        assert_true(k != 1 || fabs(value - 0.001 * 0.81 * g * g) < 1e-15);
    }
    adz_state_dict_free(&kept);
    adz_optimizer_release(&o);
}

int labml_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(constructors_refuse),
        TEST(messages_name_the_defaults),
        TEST(a_cosine_keeps_a_tenth),
        TEST(a_belief_is_kept_as_a_variance),
    };
    return cmocka_run_group_tests_name("optimizers: labml", tests, temporary_begin, temporary_end);
}
