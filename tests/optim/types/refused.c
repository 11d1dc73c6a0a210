/* Types that are refused, and updates that do not do what they promise. */
#include "adze/zoo.h"
#include "../../temporary.h"
#include "tests.h"

static adz_tensor_list one(adz_tensor *const *t)
{
    return adz_tensor_list_of(t, 1);
}

/* ---- types ---------------------------------------------------------------------------------- */

static void expect_no_optimizer(const adz_optimizer_type *type, adz_status code, const char *says)
{
    adz_tensor *w = parameter(3, ADZ_F32);
    assert_null(adz_optimizer_new(type, one(&w), NULL, 0));
    expect_error(code, says);
    assert_int_equal(adz_optimizer_check(type, NULL, 0, 0), code);
    expect_error(code, says);
}

#define EXPECT_BAD(says, ...)                              \
    do {                                                   \
        adz_optimizer_type bad = mean_type;                \
        __VA_ARGS__;                                       \
        expect_no_optimizer(&bad, ADZ_ERR_ARGUMENT, says); \
    } while (0)

static void bad_members_are_named(void **state)
{
    (void)state;
    expect_no_optimizer(NULL, ADZ_ERR_NULL, "type is NULL");
    EXPECT_BAD("the type's size is 0; set it to sizeof(adz_optimizer_type)", bad.size = 0);
    EXPECT_BAD("the type has no name", bad.name = NULL);
    EXPECT_BAD("the type has no name", bad.name = "");
    EXPECT_BAD("the type Mean has no `update`", bad.update = NULL);
    /* what a type that was compiled with fewer members has of `update` */
    EXPECT_BAD("the type Mean has no `update`", bad.size = offsetof(adz_optimizer_type, update));
    EXPECT_BAD("function `numbers`, but n_numbers is 0", bad.n_numbers = 0);
    EXPECT_BAD("a function `numbers`, but n_numbers is 17", bad.n_numbers = 17);
    EXPECT_BAD("no function `numbers`, but n_numbers is 1", bad.numbers = NULL);
    EXPECT_BAD("the type Mean has a kernel for dtype 3", bad.kernels[ADZ_I64] = mean_f32);
    EXPECT_BAD("the type Mean is `whole` and has a kernel", bad.whole = true);
    EXPECT_BAD("the type Mean is `elementwise` and `whole`", bad.whole = bad.elementwise = true);
}

static void bad_settings_are_named(void **state)
{
    (void)state;
    EXPECT_BAD(
        "the first setting of the type Mean has to be \"lr\"", bad.settings[0].name = "rate");
    EXPECT_BAD("the first setting of the type Mean has to be \"lr\"", bad.settings[0].name = NULL);
    EXPECT_BAD("setting 1 and setting 2 of the type Mean are both called start",
        bad.settings[2].name = "start");
    EXPECT_BAD("setting 1 of the type Mean is called \"\"", bad.settings[1].name = "");
    EXPECT_BAD("setting 1 of the type Mean is called \"a.b\"", bad.settings[1].name = "a.b");
    EXPECT_BAD("setting 1 of the type Mean is called params", bad.settings[1].name = "params");
    EXPECT_BAD("called initial_lr, a name that files have", bad.settings[2].name = "initial_lr");
    EXPECT_BAD("setting 3 of the type Mean has no name, but setting 5 is called five",
        bad.settings[5].name = "five");
    EXPECT_BAD("the setting start of the type Mean is not a single number",
        bad.settings[1].kind = ADZ_FIELD_SHAPE);
    EXPECT_BAD("lr is nan, but must be finite and 0 or more", bad.settings[0].value = NAN);
    EXPECT_BAD("ascend is 2, but must be 0 or 1", bad.settings[2].value = 2);
    EXPECT_BAD("ascend is nan, but must be 0 or 1", bad.settings[2].value = NAN);
}

static void bad_states_are_named(void **state)
{
    (void)state;
    EXPECT_BAD(
        "state 0 and state 1 of the type Mean are both called sum", bad.states[1].name = "sum");
    EXPECT_BAD("state 0 of the type Mean is called step, a name", bad.states[0].name = "step");
    EXPECT_BAD("state 1 of the type Mean has no name, but state 2 is called two",
        bad.states[2].name = "two");
    EXPECT_BAD("state sum of the type Mean begins with setting 3; there are 3 settings",
        bad.states[0].initial = 3);
    EXPECT_BAD("state sum of the type Mean begins with setting -3",
        bad.states[0].initial = ADZ_INITIAL_ONE - 1);
}

static int shape_rank; /* what the functions below return, and the size of the state */
static int64_t shape_size;

static int any_shape(int state, const adz_tensor *parameter, int64_t *sizes)
{
    (void)state;
    sizes[0] = shape_size + 0 * adz_tensor_numel(parameter);
    return shape_rank;
}

static adz_status matrices_only(const char *op, const adz_tensor *parameter, size_t i)
{
    return adz_tensor_rank(parameter) == 2
               ? ADZ_OK
               : adz_error_set(op, ADZ_ERR_SHAPE, i == 0 ? "parameter 0 is no matrix" : "");
}

static void shapes_of_states_are_checked(void **state)
{
    (void)state;
    EXPECT_BAD("the type Mean has `state_shape` and a kernel", bad.state_shape = any_shape);
    adz_optimizer_type type = mean_type;
    memset(type.kernels, 0, sizeof type.kernels);
    type.state_shape = any_shape;
    shape_rank = ADZ_MAX_RANK + 1;
    expect_no_optimizer(&type, ADZ_ERR_ARGUMENT, "gives the state sum of parameter 0");
    shape_rank = ADZ_STATE_ABSENT - 1;
    expect_no_optimizer(&type, ADZ_ERR_ARGUMENT, "the rank -3; a rank is 0 to 8");
    shape_rank = 1;
    shape_size = -1;
    expect_no_optimizer(&type, ADZ_ERR_SHAPE, "-1");
    shape_size = 2; /* of another shape than the update's result */
    adz_tensor *w = parameter(3, ADZ_F64);
    adz_optimizer *o = adz_optimizer_new(&type, one(&w), NULL, 0);
    adz_tensor_set_grad(w, adz_ones(ADZ_SHAPE(3), ADZ_F64));
    assert_int_equal(adz_optimizer_step(o), ADZ_ERR_SHAPE);
    expect_error(ADZ_ERR_SHAPE, "");
    adz_optimizer_release(&o);
    shape_rank = ADZ_STATE_LIKE_PARAMETER;
    o = adz_optimizer_new(&type, one(&w), NULL, 0);
    assert_int_equal(adz_optimizer_step(o), ADZ_OK);
    adz_optimizer_release(&o);
    type.state_shape = NULL;
    type.check_parameter = matrices_only;
    expect_no_optimizer(&type, ADZ_ERR_SHAPE, "parameter 0 is no matrix");
}

static uint32_t needs_too_many(const double *settings)
{
    return settings[MEAN_ASCEND] != 0 ? 2 : 1;
}

static adz_status start_below_one(const char *op, const double *settings)
{
    return settings[MEAN_START] < 1 ? ADZ_OK
                                    : adz_error_set(op, ADZ_ERR_ARGUMENT, "start is 1 or more");
}

static adz_status refuse(const char *op, const double *settings)
{
    (void)op;
    (void)settings;
    return ADZ_ERR_SHAPE; /* without saying why */
}

static void functions_of_the_type_are_asked(void **state)
{
    (void)state;
    adz_optimizer_type type = mean_type;
    adz_tensor *w = parameter(3, ADZ_F32);
    type.needs = needs_too_many;
    type.check = start_below_one;
    adz_optimizer *o = adz_optimizer_new(&type, one(&w), NULL, 0);
    assert_non_null(o);
    assert_int_equal(adz_optimizer_set(o, 0, "ascend", 1), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "`needs` of the type Mean asks for the states 0x2, but there");
    assert_int_equal(adz_optimizer_set(o, 0, "start", 1), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "adz_optimizer_set: start is 1 or more");
    assert_true(adz_optimizer_get(o, 0, "start") == 0.25);
    assert_true(adz_optimizer_get(o, 0, "ascend") == 0);
    adz_optimizer_release(&o);
    type.check = refuse;
    assert_null(adz_optimizer_new(&type, one(&w), NULL, 0));
    expect_error(ADZ_ERR_SHAPE, "the check of Mean refused the settings");
}

static void values_of_settings_are_counted(void **state)
{
    (void)state;
    adz_tensor *w = parameter(3, ADZ_F32);
    const double values[] = { 0.5, 0.75, 1, 4 };
    assert_null(adz_optimizer_new(&mean_type, one(&w), values, 4));
    expect_error(ADZ_ERR_ARGUMENT, "4 settings are given; Mean has 3");
    assert_null(adz_optimizer_new(&mean_type, one(&w), NULL, 1));
    expect_error(ADZ_ERR_NULL, "1 settings at NULL are given");
    adz_optimizer *o = adz_optimizer_new(&mean_type, one(&w), values, 1);
    assert_true(adz_optimizer_get(o, 0, "lr") == 0.5 && adz_optimizer_get(o, 0, "start") == 0.25);
    assert_ptr_equal(adz_optimizer_type_of(o), &mean_type);
    assert_string_equal(adz_optimizer_name(o), "Mean");
    adz_optimizer_release(&o);
    o = adz_optimizer_new(&mean_type, one(&w), values, 3);
    assert_true(adz_optimizer_get(o, 0, "start") == 0.75 && adz_optimizer_get(o, 0, "ascend") == 1);
    adz_optimizer_release(&o);
    assert_null(adz_optimizer_type_of(NULL));
    expect_error(ADZ_ERR_NULL, "optimizer is NULL");
}

/* ---- defaults of adze's types --------------------------------------------------------------- */

/* The settings of an optimizer without options are the defaults of its type. */
static void expect_defaults(adz_optimizer *o, const char *changed)
{
    const adz_optimizer_type *type = adz_optimizer_type_of(o);
    for (int i = 1; i < ADZ_OPTIMIZER_SETTINGS && type->settings[i].name != NULL; ++i) {
        const char *name = type->settings[i].name;
        const bool given = changed != NULL && strstr(changed, name) != NULL;
        if (!given && adz_optimizer_get(o, 0, name) != type->settings[i].value) {
            fail_msg("%s: the default of %s is not that of the options", type->name, name);
        }
    }
    adz_optimizer_release(&o);
}

static void defaults_are_those_of_the_options(void **state)
{
    (void)state;
    adz_tensor *w = parameter(3, ADZ_F32);
    const adz_tensor_list l = one(&w);
    expect_defaults(adz_sgd_new(l, 0.1, NULL), NULL);
    expect_defaults(adz_adam_new(l, 0.1, NULL), NULL);
    expect_defaults(adz_adamw_new(l, 0.1, NULL), NULL);
    expect_defaults(adz_radam_new(l, 0.1, NULL), NULL);
    expect_defaults(adz_rmsprop_new(l, 0.1, NULL), NULL);
    expect_defaults(adz_adagrad_new(l, 0.1, NULL), NULL);
    expect_defaults(adz_labml_adam_new(l, 0.1, NULL), NULL);
    expect_defaults(adz_labml_amsgrad_new(l, 0.1, NULL), NULL);
    expect_defaults(adz_labml_adam_warmup_new(l, 0.1, 5, NULL), "warmup");
    expect_defaults(
        adz_labml_adam_warmup_cosine_decay_new(l, 0.1, 5, 9, NULL), "warmup total_steps");
    expect_defaults(adz_labml_noam_new(l, 0.1, 5, 9, NULL), "warmup d_model");
    expect_defaults(adz_labml_radam_new(l, 0.1, NULL), NULL);
    expect_defaults(adz_labml_ada_belief_new(l, 0.1, NULL), NULL);
}

/* ---- updates -------------------------------------------------------------------------------- */

/* What the update of `faulty_type` does. */
static enum {
    NOTHING,
    NO_PARAMETER,
    NO_STATE,
    SHORT,
    OTHER_DTYPE,
    IN_PLACE,
    FAILS,
    SILENT,
    JUMPS,
    STEPS,
    READS_RATE,
    READS_MOMENTUM,
    READS_NONE,
    SWAPS,
    KEEPS
} fault;
static jmp_buf out;
static adz_optimizer *inner;

static adz_status faulty_update(adz_tensor **results, const adz_update *u)
{
    adz_tensor *w = u->parameter, *m = u->states[0];
    results[0] = adz_sub(w, adz_mul(u->numbers[0], u->gradient));
    results[1] = adz_add(m, u->gradient);
    switch (fault) {
    case NO_PARAMETER:
        results[0] = NULL;
        break;
    case NO_STATE:
        results[1] = NULL;
        break;
    case SHORT:
        results[0] = adz_narrow(w, 0, 0, 1);
        break;
    case OTHER_DTYPE:
        results[1] = adz_to(m, ADZ_F64);
        break;
    case IN_PLACE:
        adz_mul_number_(m, 1);
        break;
    case FAILS:
        results[0] =
            adz_matmul(adz_ones(ADZ_SHAPE(2, 3), ADZ_F32), adz_ones(ADZ_SHAPE(2, 3), ADZ_F32));
        break;
    case SILENT:
        return ADZ_ERR_NUMERIC;
    case JUMPS:
        longjmp(out, 1);
    case STEPS:
        fault = NOTHING;
        adz_optimizer_step(inner);
        fault = STEPS;
        break;
    case READS_RATE:
    case READS_MOMENTUM:
    case READS_NONE:
        adz_update_setting(u, fault == READS_RATE ? 0 : fault == READS_MOMENTUM ? 1 : 3);
        break;
    case SWAPS: /* each becomes what the other one was */
    case KEEPS:
        results[0] = fault == SWAPS ? m : w;
        results[1] = fault == SWAPS ? w : m;
        break;
    default:
        assert_true(adz_update_setting(u, 2) == 0.125);
        break;
    }
    return ADZ_OK;
}

static const adz_optimizer_type faulty_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "Faulty",
    .settings = { ADZ_SETTING("lr", 0.1, ADZ_FINITE_FROM(0)),
        ADZ_SETTING("momentum", 0.5, ADZ_FINITE_FROM(0)),
        ADZ_SETTING("extra", 0.125, ADZ_FINITE_FROM(0)) },
    .states = { { "trace", 0 } },
    .update = faulty_update,
};

static bool has_state(adz_optimizer *o)
{
    adz_scope *scope = adz_scope_open();
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.optimizer = o;
    assert_int_equal(adz_checkpoint_save(&c, temporary_path("state")), ADZ_OK);
    adz_safetensors *saved = adz_safetensors_load(temporary_path("state"), NULL);
    const bool has = adz_safetensors_has(saved, "state.0.trace");
    adz_safetensors_free(&saved);
    adz_scope_close(scope);
    return has;
}

/* JSON has no number for inf and nan, but a checkpoint holds them. */
static void settings_that_are_not_finite_are_saved(void **state)
{
    (void)state;
    adz_optimizer_type type = faulty_type;
    type.settings[2].bounds = ADZ_BOUNDS_NONE;
    const double values[] = { INFINITY, -INFINITY, NAN };
    for (size_t i = 0; i < sizeof values / sizeof *values; ++i) {
        adz_tensor *w = parameter(3, ADZ_F32);
        const double settings[] = { 0.1, 0.5, values[i] }, others[] = { 0.1, 0.5, 0.125 };
        adz_optimizer *o = adz_optimizer_new(&type, adz_tensor_list_of(&w, 1), settings, 3);
        adz_optimizer *other = adz_optimizer_new(&type, adz_tensor_list_of(&w, 1), others, 3);
        adz_checkpoint c = ADZ_CHECKPOINT;
        c.optimizer = o;
        assert_int_equal(adz_checkpoint_save(&c, temporary_path("inf")), ADZ_OK);
        c.optimizer = other;
        assert_int_equal(adz_checkpoint_load(&c, temporary_path("inf")), ADZ_OK);
        const double got = adz_optimizer_get(other, 0, "extra");
        assert_true(isnan(values[i]) ? isnan(got) : got == values[i]);
        adz_optimizer_release(&o);
        adz_optimizer_release(&other);
    }
}

/* The second parameter's update fails after the first one was computed. Neither has changed. */
static void a_failed_update_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        int fault;
        adz_status code;
        const char *says;
    } faults[] = {
        { NO_PARAMETER, ADZ_ERR_STATE,
            "the update of Faulty gives no result 0, the new parameter, of parameter 0[3]" },
        { NO_STATE, ADZ_ERR_STATE, "the update of Faulty gives no result 1, trace, of" },
        { SHORT, ADZ_ERR_SHAPE,
            "gives result 0, the new parameter, as float32[1]; the parameter is float32[3]" },
        { OTHER_DTYPE, ADZ_ERR_SHAPE, "gives result 1, trace, as float64[3]" },
        { IN_PLACE, ADZ_ERR_STATE, "has changed parameter 0[3], its gradient or a state in place" },
        { FAILS, ADZ_ERR_SHAPE, "matmul" },
        { SILENT, ADZ_ERR_NUMERIC, "the update of Faulty failed for parameter 0[3]" },
        { STEPS, ADZ_ERR_STATE, "the update of Faulty uses the optimizer whose step calls it" },
        { READS_RATE, ADZ_ERR_ARGUMENT, "change lr from step to step" },
        { READS_MOMENTUM, ADZ_ERR_ARGUMENT, "change momentum from step to step" },
        { READS_NONE, ADZ_ERR_INDEX, "Faulty has no setting 3, only 3" },
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i) {
        adz_tensor *w[] = { parameter(3, ADZ_F32), parameter(3, ADZ_F32) };
        adz_tensor *before = adz_clone(adz_detach(w[0]));
        adz_optimizer *o = inner =
            adz_optimizer_new(&faulty_type, adz_tensor_list_of(w, 2), NULL, 0);
        fault = (int)faults[i].fault;
        assert_int_equal(step(o, w[0]), faults[i].code);
        expect_error(faults[i].code, faults[i].says);
        if (faults[i].fault != STEPS) { /* there the inner step has changed them */
            assert_true(adz_equal(w[0], before));
            assert_false(has_state(o));
        }
        fault = NOTHING;
        assert_int_equal(step(o, w[0]), ADZ_OK);
        assert_false(adz_equal(w[0], before));
        assert_true(has_state(o));
        adz_optimizer_release(&o);
    }
}

static void leave_by_a_jump(adz_optimizer *o, adz_tensor *w)
{
    if (setjmp(out) == 0) {
        fault = JUMPS;
        step(o, w);
        fail_msg("the step has returned");
    }
    fault = NOTHING;
}

/* A step that was left by a jump is no step. */
static void an_update_may_be_left_by_a_jump(void **state)
{
    (void)state;
    adz_tensor *w = parameter(3, ADZ_F32), *v = parameter(3, ADZ_F32);
    adz_optimizer *o = adz_optimizer_new(&faulty_type, one(&w), NULL, 0);
    adz_optimizer *other = adz_optimizer_new(&faulty_type, one(&v), NULL, 0);
    leave_by_a_jump(o, w);
    assert_true(adz_equal(w, v));
    assert_false(has_state(o));
    leave_by_a_jump(o, w);
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(step(o, w), ADZ_OK);
        assert_int_equal(step(other, v), ADZ_OK);
    }
    assert_true(adz_is_grad_enabled());
    assert_true(adz_equal(w, v));
    adz_optimizer_release(&o);
    adz_optimizer_release(&other);
}

/* Results may be the tensors of the update. */
static void results_may_be_old_values(void **state)
{
    (void)state;
    adz_tensor *w = parameter(3, ADZ_F32), *first = adz_clone(adz_detach(w));
    adz_optimizer *o = adz_optimizer_new(&faulty_type, one(&w), NULL, 0);
    fault = SWAPS;
    assert_int_equal(step(o, w), ADZ_OK);
    assert_true(all_are(w, 0)); /* the state of before */
    assert_int_equal(step(o, w), ADZ_OK);
    assert_true(adz_equal(w, first));
    fault = KEEPS;
    assert_int_equal(step(o, w), ADZ_OK);
    assert_true(adz_equal(w, first));
    fault = SWAPS;
    assert_int_equal(step(o, w), ADZ_OK);
    assert_true(all_are(w, 0));
    fault = NOTHING;
    adz_optimizer_release(&o);
}

static void wrong_settings_are_told_apart(void **state)
{
    (void)state;
    assert_true(isnan(adz_update_setting(NULL, 0)));
    expect_error(ADZ_ERR_NULL, "update is NULL");
    const adz_update none = { .parameter = NULL };
    assert_true(isnan(adz_update_setting(&none, 0)));
    expect_error(ADZ_ERR_NULL, "update->at is NULL");
}

int refused_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bad_members_are_named),
        TEST(bad_settings_are_named),
        TEST(bad_states_are_named),
        TEST(shapes_of_states_are_checked),
        TEST(functions_of_the_type_are_asked),
        TEST(values_of_settings_are_counted),
        TEST(defaults_are_those_of_the_options),
        TEST(settings_that_are_not_finite_are_saved),
        TEST(a_failed_update_changes_nothing),
        TEST(an_update_may_be_left_by_a_jump),
        TEST(results_may_be_old_values),
        TEST(wrong_settings_are_told_apart),
    };
    return cmocka_run_group_tests_name(
        "optimizer types: refused", tests, temporary_begin, temporary_end);
}
