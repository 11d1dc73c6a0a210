/* Parametrised parameters: registering, computing, states, copies, removal. */
#include "../nn.h"

static void expect_print(adz_module *m, const char *expected)
{
    char text[600];
    adz_module_to_string(m, text, sizeof text);
    assert_string_equal(text, expected);
}

/* The names of the state, with blanks between. */
static void expect_state(adz_module *m, const char *expected)
{
    char text[300] = "";
    adz_state_dict *state = adz_module_state_dict(m);
    for (size_t i = 0; i < adz_state_dict_count(state); ++i) {
        strcat(strcat(text, i > 0 ? " " : ""), adz_state_dict_name_at(state, i));
    }
    adz_state_dict_free(&state);
    assert_string_equal(text, expected);
}

static adz_module *linear(void)
{
    return adz_linear_new(3, 2, NULL);
}

static adz_tensor *x_of(int64_t rows)
{
    return adz_randn(ADZ_SHAPE(rows, 3), ADZ_F32);
}

/* ---- a parametrisation of the tests' own ----------------------------------------------------- */

/* Doubles; the inverse halves. A type without an inverse is a copy of this one. */
static adz_tensor *twice(adz_module *self, adz_tensor *x)
{
    (void)self;
    return adz_mul_number(x, 2);
}

static adz_status half(adz_module *self, adz_tensor *value, adz_values *originals)
{
    (void)self;
    adz_tensor *y = adz_mul_number(value, 0.5);
    return y != NULL ? adz_values_add(originals, "", y) : adz_error_code();
}

static const adz_module_type twice_type = {
    .size = sizeof(adz_module_type), .name = "Twice", .forward = twice, .right_inverse = half
};
static const adz_module_type one_way_type = {
    .size = sizeof(adz_module_type), .name = "OneWay", .forward = twice
};

static adz_tensor *narrower(adz_module *self, adz_tensor *x)
{
    (void)self;
    return adz_narrow(x, 0, 0, 1);
}
static const adz_module_type narrower_type = {
    .size = sizeof(adz_module_type), .name = "Narrower", .forward = narrower
};

static void the_value_stays_and_gradients_reach_the_original(void **state)
{
    (void)state;
    adz_module *m = linear();
    adz_tensor *weight = adz_module_get_parameter(m, "weight"), *x = x_of(4);
    adz_tensor *before = adz_clone(adz_detach(weight)), *y = adz_module_forward(m, x);
    assert_non_null(
        adz_module_register_parametrization(m, "weight", adz_module_new(&twice_type, 0)));
    assert_true(adz_module_is_parametrized(m, "weight"));
    assert_true(adz_module_is_parametrized(m, NULL));
    assert_false(adz_module_is_parametrized(m, "bias"));
    assert_ptr_equal(adz_module_get_parameter(m, "parametrizations.weight.original"), weight);
    expect_state(m, "bias parametrizations.weight.original");
    assert_int_equal(adz_module_parameters(m).count, 2);
    assert_true(alike(adz_module_get_parameter(m, "weight"), before, 0));
    assert_true(alike(adz_module_parameter_at(m, 0), before, 0));
    assert_true(alike(adz_mul_number(weight, 2), before, 0));
    adz_tensor *z = adz_module_forward(m, x);
    assert_true(alike(z, y, 0));
    adz_backward(adz_sum(z, ADZ_ALL_DIMS, ADZ_DROPDIM));
    adz_tensor *sums = adz_mul_number(adz_sum(x, ADZ_DIMS(0), ADZ_KEEPDIM), 2);
    assert_true(
        alike(adz_tensor_grad(weight), adz_cat((adz_tensor *[]){ sums, sums }, 2, 0), 1e-6));
    adz_module_release(&m);
}

static void parametrisations_follow_each_other(void **state)
{
    (void)state;
    adz_module *m = linear(), *outer = ADZ_SEQUENTIAL(m, adz_relu_new());
    adz_tensor *before = adz_clone(adz_detach(adz_module_get_parameter(m, "weight")));
    adz_module_register_parametrization(m, "weight", adz_module_new(&twice_type, 0));
    adz_module_register_parametrization(m, "weight", adz_module_new(&twice_type, 0));
    expect_print(outer, "Sequential(\n"
                        "  (0): ParametrizedLinear(\n"
                        "    in_features=3, out_features=2, bias=True\n"
                        "    (parametrizations): ModuleDict(\n"
                        "      (weight): ParametrizationList(\n"
                        "        (0-1): 2 x Twice()\n"
                        "      )\n"
                        "    )\n"
                        "  )\n"
                        "  (1): ReLU()\n"
                        ")");
    assert_string_equal(adz_module_name(m), "ParametrizedLinear");
    adz_tensor *original = adz_module_get_parameter(m, "parametrizations.weight.original");
    assert_true(alike(adz_mul_number(original, 2), before, 0));
    assert_true(alike(adz_module_get_parameter(m, "weight"), adz_mul_number(original, 4), 0));
    adz_tensor *value = adz_randn(ADZ_SHAPE(2, 3), ADZ_F32);
    assert_int_equal(adz_module_assign_parametrized(m, "weight", value), ADZ_OK);
    assert_true(alike(adz_module_get_parameter(m, "weight"), value, 0));
    adz_module *list = adz_module_get_child(m, "parametrizations.weight");
    adz_values *none = adz_values_new(), *out = adz_values_new();
    assert_int_equal(adz_module_call(list, none, out), ADZ_OK);
    assert_true(alike(adz_values_at(out, 0), value, 0));
    adz_values_free(&none);
    adz_values_free(&out);
    adz_module_release(&outer);
}

/* What a Sequential would compute with the layer before it is left to the layer. */
static void fused_layers_compute_the_value(void **state)
{
    (void)state;
    adz_module *m = linear(), *outer = ADZ_SEQUENTIAL(m, adz_relu_new());
    adz_tensor *x = x_of(5), *y = adz_module_forward(outer, x);
    adz_module_register_parametrization(m, "weight", adz_module_new(&twice_type, 0));
    assert_true(alike(adz_module_forward(outer, x), y, 1e-6));
    adz_module_release(&outer);
}

static void copies_are_parametrised(void **state)
{
    (void)state;
    adz_module *m = linear();
    adz_weight_norm(m, "weight", 0);
    adz_module *copy = adz_module_copy(m);
    assert_true(adz_module_is_parametrized(copy, "weight"));
    assert_string_equal(adz_module_name(copy), "ParametrizedLinear");
    expect_state(copy, "bias parametrizations.weight.original0 parametrizations.weight.original1");
    adz_tensor *x = x_of(3), *y = adz_module_forward(m, x);
    assert_true(alike(adz_module_forward(copy, x), y, 0));
    fill(adz_module_get_parameter(copy, "parametrizations.weight.original0"), 1);
    assert_true(alike(adz_module_forward(m, x), y, 0)); /* nothing is shared */
    assert_false(adz_equal(adz_module_forward(copy, x), y));
    adz_module_release(&m);
    assert_non_null(adz_module_forward(copy, x));
    adz_module_release(&copy);
}

static void layers_draw_their_weights_again(void **state)
{
    (void)state;
    adz_module *m = linear(), *plain = linear();
    adz_weight_norm(m, "weight", 0);
    adz_manual_seed(11);
    assert_int_equal(adz_module_reset_parameters(m), ADZ_OK);
    adz_manual_seed(11);
    assert_int_equal(adz_module_reset_parameters(plain), ADZ_OK);
    adz_tensor *weight = adz_module_get_parameter(plain, "weight");
    assert_true(alike(adz_module_get_parameter(m, "weight"), weight, 1e-6));
    assert_true(adz_module_is_parametrized(m, "weight"));
    adz_module_release(&plain);
    adz_module_release(&m);
    m = linear();
    adz_module_register_parametrization(m, "weight", adz_module_new(&one_way_type, 0));
    assert_int_equal(adz_module_reset_parameters(m), ADZ_ERR_UNSUPPORTED);
    expect_error(ADZ_ERR_UNSUPPORTED, "OneWay has no right_inverse");
    assert_non_null(adz_module_forward(m, x_of(1)));
    adz_module_release(&m);
}

static void parametrisations_are_removed(void **state)
{
    (void)state;
    adz_module *m = linear();
    adz_tensor *weight = adz_keep(adz_module_get_parameter(m, "weight"));
    adz_tensor *before = adz_clone(adz_detach(weight));
    adz_module_register_parametrization(m, "weight", adz_module_new(&twice_type, 0));
    assert_int_equal(adz_module_remove_parametrizations(m, "weight", true), ADZ_OK);
    assert_ptr_equal(adz_module_get_parameter(m, "weight"), weight); /* optimizers keep it */
    assert_true(alike(weight, before, 0));
    assert_false(adz_module_is_parametrized(m, NULL));
    expect_print(m, "Linear(in_features=3, out_features=2, bias=True)");
    expect_state(m, "weight bias");
    adz_module_register_parametrization(m, "weight", adz_module_new(&one_way_type, 0));
    assert_int_equal(adz_module_remove_parametrizations(m, "weight", false), ADZ_OK);
    assert_ptr_equal(adz_module_get_parameter(m, "weight"), weight);
    assert_true(alike(weight, before, 0));
    adz_release(&weight);
    assert_int_equal(adz_weight_norm(m, "weight", 0), ADZ_OK);
    assert_int_equal(adz_module_remove_parametrizations(m, "weight", false), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "weight has 2 originals");
    assert_int_equal(adz_module_remove_parametrizations(m, "weight", true), ADZ_OK);
    assert_true(alike(adz_module_get_parameter(m, "weight"), before, 1e-6));
    assert_true(adz_tensor_requires_grad(adz_module_get_parameter(m, "weight")));
    assert_int_equal(adz_module_remove_parametrizations(m, "weight", true), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "Linear has no parametrised parameter weight");
    adz_module_release(&m);
}

static void two_parameters_of_one_module(void **state)
{
    (void)state;
    adz_module *m = linear();
    assert_int_equal(adz_weight_norm(m, "weight", -1), ADZ_OK);
    assert_int_equal(adz_spectral_norm(m, "bias", NULL), ADZ_OK);
    expect_state(m, "parametrizations.weight.original0 parametrizations.weight.original1 "
                    "parametrizations.bias.original");
    assert_non_null(adz_module_forward(m, x_of(2)));
    assert_int_equal(adz_module_remove_parametrizations(m, "weight", true), ADZ_OK);
    assert_string_equal(adz_module_name(m), "ParametrizedLinear");
    assert_int_equal(adz_module_remove_parametrizations(m, "bias", false), ADZ_OK);
    assert_string_equal(adz_module_name(m), "Linear");
    assert_int_equal(adz_module_child_count(m), 0);
    adz_module_release(&m);
}

static void what_cannot_be_parametrised_is_refused(void **state)
{
    (void)state;
    adz_module *m = linear(), *norm = adz_batch_norm1d_new(3, NULL);
    adz_module *const twice_new = adz_module_new(&twice_type, 0);
    assert_null(adz_module_register_parametrization(m, "nothing", twice_new));
    expect_error(ADZ_ERR_ARGUMENT, "Linear has no parameter nothing");
    assert_null(
        adz_module_register_parametrization(norm, "running_mean", adz_module_new(&twice_type, 0)));
    expect_error(ADZ_ERR_ARGUMENT, "BatchNorm1d has no parameter running_mean");
    assert_null(
        adz_module_register_parametrization(m, "weight", adz_module_new(&narrower_type, 0)));
    expect_error(ADZ_ERR_SHAPE, "has the shape [1, 3], but must have [2, 3]");
    expect_state(m, "weight bias");
    adz_weight_norm(m, "weight", 0);
    assert_null(adz_module_set_parameter(m, "weight", adz_ones(ADZ_SHAPE(2, 3), ADZ_F32)));
    expect_error(ADZ_ERR_STATE, "weight is parametrised; adz_module_assign_parametrized");
    assert_int_equal(
        adz_module_assign_parametrized(m, "weight", adz_ones(ADZ_SHAPE(4, 3), ADZ_F32)),
        ADZ_ERR_SHAPE);
    expect_error(ADZ_ERR_SHAPE, "the inverse has the shape [4, 1], but must have [2, 1]");
    assert_int_equal(adz_module_store_weights(m, ADZ_BF16), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "adz_module_remove_parametrizations first");
    assert_int_equal(adz_weight_norm(m, "weight", 0), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "it must be the first parametrisation");
    assert_int_equal(adz_weight_norm(m, "bias", 1), ADZ_ERR_DIM);
    expect_error(ADZ_ERR_DIM, "dim is 1");
    adz_values *given = adz_values_new(), *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(given, "weight", adz_ones(ADZ_SHAPE(2, 3), ADZ_F32));
    adz_values_add(in, "", x_of(1));
    assert_int_equal(adz_module_functional_call(m, given, in, out), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "parametrizations.weight");
    adz_values_free(&given);
    adz_values_free(&in);
    adz_values_free(&out);
    adz_module_dict_remove(adz_module_get_child(m, "parametrizations"), "weight");
    assert_null(adz_module_forward(m, x_of(1)));
    expect_error(ADZ_ERR_STATE, "parametrizations.weight was taken away");
    adz_module_release(&m);
    adz_module_release(&norm);
}

/* Others' parameters may stand in for the originals for one call. */
static void originals_are_replaced_for_a_call(void **state)
{
    (void)state;
    adz_module *m = adz_linear_new(2, 1, NULL);
    adz_weight_norm(m, "weight", 0);
    fill(adz_module_get_parameter(m, "bias"), 0);
    adz_values *given = adz_values_new(), *in = adz_values_new(), *out = adz_values_new();
    adz_tensor *v = adz_tensor_from((float[]){ 3, 4 }, ADZ_SHAPE(1, 2), ADZ_F32);
    adz_values_add(given, "parametrizations.weight.original1", v);
    adz_values_add(given, "parametrizations.weight.original0", adz_ones(ADZ_SHAPE(1, 1), ADZ_F32));
    adz_values_add(in, "", adz_ones(ADZ_SHAPE(1, 2), ADZ_F32));
    assert_int_equal(adz_module_functional_call(m, given, in, out), ADZ_OK);
    assert_true(HOLDS(adz_values_at(out, 0), 1e-6, 1.4));
    adz_values_free(&given);
    adz_values_free(&in);
    adz_values_free(&out);
    adz_module_release(&m);
}

/* ---- one value per call ---------------------------------------------------------------------- */

static int computed;
static jmp_buf out_of_the_call;
static bool jumps;

static adz_tensor *counted(adz_module *self, adz_tensor *x)
{
    (void)self;
    ++computed;
    return adz_mul_number(x, 2);
}

static const adz_module_type counted_type = {
    .size = sizeof(adz_module_type), .name = "Counted", .forward = counted
};

/* Reads its parameter twice, by position and by name, and may be left in between. */
static adz_tensor *squares(adz_module *self, adz_tensor *x)
{
    adz_tensor *w = adz_module_parameter_at(self, 0);
    if (jumps) {
        longjmp(out_of_the_call, 1);
    }
    return adz_mul(x, adz_mul(w, adz_module_get_parameter(self, "weight")));
}

static const adz_module_type squares_type = {
    .size = sizeof(adz_module_type), .name = "Squares", .forward = squares
};

static adz_module *squares_new(void)
{
    adz_module *m = adz_module_new(&squares_type, 0);
    assert_non_null(adz_module_add_parameter(m, "weight", adz_full(ADZ_SHAPE(2), 3, ADZ_F32)));
    assert_non_null(
        adz_module_register_parametrization(m, "weight", adz_module_new(&counted_type, 0)));
    return m;
}

static void a_call_computes_the_value_once(void **state)
{
    (void)state;
    adz_module *m = squares_new();
    computed = 0;
    assert_true(HOLDS(adz_module_forward(m, adz_ones(ADZ_SHAPE(2), ADZ_F32)), 0, 36, 36));
    assert_int_equal(computed, 1);
    adz_module_get_parameter(m, "weight"); /* outside of a call */
    assert_int_equal(computed, 2);
    adz_module_release(&m);
}

/* What a call has noted that was left by a jump serves no later call. */
static void later_calls_compute_anew(void **state)
{
    (void)state;
    adz_module *m = squares_new();
    adz_tensor *original = adz_module_get_parameter(m, "parametrizations.weight.original");
    adz_tensor *x = adz_ones(ADZ_SHAPE(2), ADZ_F32);
    jumps = true;
    if (setjmp(out_of_the_call) == 0) {
        adz_module_forward(m, x);
        fail();
    }
    jumps = false;
    fill(original, 1);
    assert_true(HOLDS(adz_module_get_parameter(m, "weight"), 0, 2, 2));
    assert_true(HOLDS(adz_module_forward(m, x), 0, 4, 4));
    adz_module_release(&m);
}

/* ---- jumps out of parametrisations ----------------------------------------------------------- */

static bool in_forward, in_inverse; /* where the parametrisation is left */

static adz_tensor *leaving(adz_module *self, adz_tensor *x)
{
    (void)self;
    if (in_forward) {
        longjmp(out_of_the_call, 1);
    }
    return adz_mul_number(x, 1);
}

static adz_status leaving_inverse(adz_module *self, adz_tensor *value, adz_values *originals)
{
    (void)self;
    if (in_inverse) {
        longjmp(out_of_the_call, 1);
    }
    return adz_values_add(originals, "", value);
}

static const adz_module_type leaving_type = { .size = sizeof(adz_module_type),
    .name = "Leaving",
    .forward = leaving,
    .right_inverse = leaving_inverse };

/* Runs `act`, which is left by a jump, with a module and a parametrisation. Calls are recorded and
 * errors reported as before. */
static void expect_left(
    void (*act)(adz_module *, adz_module *), adz_module *m, adz_module *parametrization)
{
    if (setjmp(out_of_the_call) == 0) {
        act(m, parametrization);
        fail();
    }
    in_forward = in_inverse = false;
    assert_true(adz_is_grad_enabled());
    assert_int_equal(adzi_self()->holds, 0);
}

static void register_it(adz_module *m, adz_module *parametrization)
{
    adz_module_register_parametrization(m, "weight", parametrization);
}

static void assign_ones(adz_module *m, adz_module *parametrization)
{
    (void)parametrization;
    adz_module_assign_parametrized(m, "weight", adz_ones(ADZ_SHAPE(2, 3), ADZ_F32));
}

static void remove_it(adz_module *m, adz_module *parametrization)
{
    (void)parametrization;
    adz_module_remove_parametrizations(m, "weight", true);
}

static void norm_of_a_typo(adz_module *m, adz_module *parametrization)
{
    (void)parametrization;
    adz_spectral_norm(m, "wieght", NULL);
}

static void leave(adz_status status, const char *message, void *user)
{
    (void)status;
    (void)message;
    (void)user;
    longjmp(out_of_the_call, 1);
}

static void jumps_leave_the_modes_as_they_were(void **state)
{
    (void)state;
    adz_module *m = linear(), *first = adz_module_new(&leaving_type, 0);
    for (volatile int further = 0; further < 2; ++further) {
        in_forward = true;
        expect_left(register_it, m, first);
        in_inverse = true;
        expect_left(register_it, m, first);
        assert_int_equal(adz_module_is_parametrized(m, "weight"), further);
        register_it(m, first);
        first = further == 0 ? adz_module_new(&leaving_type, 0) : NULL;
    }
    in_inverse = true;
    expect_left(assign_ones, m, NULL);
    in_forward = true;
    expect_left(remove_it, m, NULL);
    adz_on_error(leave, NULL);
    expect_left(norm_of_a_typo, m, NULL);
    adz_on_error(NULL, NULL);
    expect_error(ADZ_ERR_ARGUMENT, "wieght");
    adz_module_remove_parametrizations(m, "weight", true);
    assert_false(adz_module_is_parametrized(m, "weight"));
    adz_module_release(&m);
}

static bool exercise(void)
{
    adz_scope *scope = adz_scope_open();
    adz_module *m = scope != NULL ? linear() : NULL, *copy = NULL;
    bool good = m != NULL && adz_weight_norm(m, "weight", 0) == ADZ_OK &&
                adz_spectral_norm(m, "bias", NULL) == ADZ_OK;
    good = good && adz_module_forward(m, x_of(2)) != NULL && (copy = adz_module_copy(m)) != NULL &&
           adz_module_forward(copy, x_of(2)) != NULL &&
           adz_module_reset_parameters(copy) == ADZ_OK &&
           adz_module_remove_parametrizations(m, "weight", true) == ADZ_OK &&
           adz_module_remove_parametrizations(m, "bias", true) == ADZ_OK;
    adz_module_release(&m);
    adz_module_release(&copy);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return good;
}

static void refused_memory_changes_nothing(void **state)
{
    (void)state;
    assert_true(refuse_each_request(exercise) > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_value_stays_and_gradients_reach_the_original),
        TEST(parametrisations_follow_each_other),
        TEST(fused_layers_compute_the_value),
        TEST(copies_are_parametrised),
        TEST(layers_draw_their_weights_again),
        TEST(parametrisations_are_removed),
        TEST(two_parameters_of_one_module),
        TEST(what_cannot_be_parametrised_is_refused),
        TEST(originals_are_replaced_for_a_call),
        TEST(a_call_computes_the_value_once),
        TEST(later_calls_compute_anew),
        TEST(jumps_leave_the_modes_as_they_were),
        TEST(refused_memory_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
