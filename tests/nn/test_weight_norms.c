/* Weight norm and spectral norm: values, states, plans, activation checkpoints, jumps. */
#include "../nn.h"
#include "nn/micro_state.h"

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

/* ---- weight norm ----------------------------------------------------------------------------- */

static void lengths_and_directions(void **state)
{
    (void)state;
    adz_module *m = adz_linear_new(2, 2, NULL);
    adz_copy_(adz_detach(adz_module_get_parameter(m, "weight")),
        adz_tensor_from((float[]){ 3, 4, 5, 12 }, ADZ_SHAPE(2, 2), ADZ_F32));
    assert_int_equal(adz_weight_norm(m, "weight", 0), ADZ_OK);
    adz_tensor *g = adz_module_get_parameter(m, "parametrizations.weight.original0");
    assert_int_equal(adz_tensor_rank(g), 2);
    assert_true(HOLDS(g, 1e-6, 5, 13));
    fill(g, 1);
    assert_true(HOLDS(adz_module_get_parameter(m, "weight"), 1e-6, 0.6, 0.8, 5 / 13., 12 / 13.));
    adz_module_release(&m);
    m = adz_linear_new(2, 2, NULL);
    fill(adz_module_get_parameter(m, "weight"), 2);
    assert_int_equal(adz_weight_norm(m, "weight", -1), ADZ_OK);
    g = adz_module_get_parameter(m, "parametrizations.weight.original0");
    assert_int_equal(adz_tensor_rank(g), 0);
    assert_true(HOLDS(g, 1e-6, 4));
    adz_module_release(&m);
}

static void frozen_weights_stay_frozen(void **state)
{
    (void)state;
    adz_module *m = linear();
    adz_module_requires_grad_(m, false);
    adz_weight_norm(m, "weight", 0);
    adz_spectral_norm(m, "bias", NULL);
    adz_tensor_list all = adz_module_parameters(m);
    for (size_t i = 0; i < all.count; ++i) {
        assert_false(adz_tensor_requires_grad(all.items[i]));
    }
    adz_module_release(&m);
}

/* Files of torch.nn.utils.weight_norm and of its spectral_norm. */
static void older_names_are_loaded(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(adz_linear_new(2, 1, NULL));
    adz_weight_norm(adz_module_child_at(m, 0), "weight", 0);
    adz_state_dict *older = adz_state_dict_new();
    adz_tensor *v = adz_tensor_from((float[]){ 3, 4 }, ADZ_SHAPE(1, 2), ADZ_F32);
    adz_state_dict_add(older, "0.bias", adz_zeros(ADZ_SHAPE(1), ADZ_F32));
    adz_state_dict_add(older, "0.weight_g", adz_full(ADZ_SHAPE(1, 1), 10, ADZ_F32));
    adz_state_dict_add(older, "0.weight_v", v);
    assert_int_equal(adz_module_load_state_dict(m, older, true), ADZ_OK);
    assert_true(HOLDS(adz_module_get_parameter(m, "0.weight"), 1e-6, 6, 8));
    adz_state_dict_free(&older);
    adz_module_release(&m);
    m = adz_linear_new(2, 1, NULL);
    adz_spectral_norm(m, "weight", NULL);
    older = adz_state_dict_new();
    adz_state_dict_add(older, "bias", adz_zeros(ADZ_SHAPE(1), ADZ_F32));
    adz_state_dict_add(older, "weight_orig", v);
    adz_state_dict_add(older, "weight_u", adz_ones(ADZ_SHAPE(1), ADZ_F32));
    adz_state_dict_add(older, "weight_v", adz_reshape(adz_mul_number(v, 0.2), ADZ_SHAPE(2)));
    assert_int_equal(adz_module_load_state_dict(m, older, true), ADZ_OK);
    adz_module_eval(m);
    assert_true(HOLDS(adz_module_get_parameter(m, "weight"), 1e-6, 0.6, 0.8));
    adz_state_dict_free(&older);
    adz_module_release(&m);
}

static adz_state_dict *older_state; /* weight_g 10 and weight_v (3, 4) */

static bool load_older(void)
{
    adz_scope *scope = adz_scope_open();
    adz_module *m = scope != NULL ? adz_linear_new(2, 1, NULL) : NULL;
    bool good = m != NULL && adz_weight_norm(m, "weight", 0) == ADZ_OK &&
                adz_module_load_state_dict(m, older_state, true) == ADZ_OK;
    if (good) { /* all of it is loaded */
        adz_tensor *g = adz_module_get_parameter(m, "parametrizations.weight.original0");
        adz_tensor *v = adz_module_get_parameter(m, "parametrizations.weight.original1");
        assert_true(adz_tensor_data_f32(g)[0] == 10 && adz_tensor_data_f32(v)[1] == 4);
    }
    adz_module_release(&m);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return good;
}

static void older_names_are_loaded_or_refused(void **state)
{
    (void)state;
    older_state = adz_state_dict_new();
    adz_state_dict_add(older_state, "bias", adz_zeros(ADZ_SHAPE(1), ADZ_F32));
    adz_state_dict_add(older_state, "weight_g", adz_full(ADZ_SHAPE(1, 1), 10, ADZ_F32));
    adz_state_dict_add(
        older_state, "weight_v", adz_tensor_from((float[]){ 3, 4 }, ADZ_SHAPE(1, 2), ADZ_F32));
    assert_true(refuse_each_request(load_older) > 20);
    adz_state_dict_free(&older_state);
}

/* ---- spectral norm --------------------------------------------------------------------------- */

static adz_module *spectral(void)
{
    adz_module *m = adz_linear_new(4, 3, NULL);
    assert_int_equal(adz_spectral_norm(m, "weight", NULL), ADZ_OK);
    return m;
}

static adz_tensor *vector_u(adz_module *m)
{
    return adz_module_get_buffer(m, "parametrizations.weight.0._u");
}

static void the_largest_singular_value_becomes_one(void **state)
{
    (void)state;
    adz_manual_seed(5);
    adz_module *m = spectral();
    expect_state(m, "bias parametrizations.weight.original parametrizations.weight.0._u "
                    "parametrizations.weight.0._v");
    expect_print(m, "ParametrizedLinear(\n"
                    "  in_features=4, out_features=3, bias=True\n"
                    "  (parametrizations): ModuleDict(\n"
                    "    (weight): ParametrizationList(\n"
                    "      (0): _SpectralNorm()\n"
                    "    )\n"
                    "  )\n"
                    ")");
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 4), ADZ_F32);
    for (int i = 0; i < 60; ++i) {
        adz_module_forward(m, x);
    }
    adz_tensor *u, *s = NULL, *v, *w = adz_module_get_parameter(m, "weight");
    assert_int_equal(adz_svd(w, &u, &s, &v), ADZ_OK);
    assert_true(fabs(adz_item(adz_narrow(s, 0, 0, 1)) - 1) < 1e-5);
    adz_module_release(&m);
}

/* One call in training moves the vectors once, and one in evaluation does not. */
static void calls_in_training_move_the_vectors_once(void **state)
{
    (void)state;
    adz_module *m = adz_linear_new(2, 2, NULL);
    adz_spectral_norm(m, "weight", NULL);
    adz_tensor *w = adz_module_get_parameter(m, "parametrizations.weight.original");
    adz_copy_(adz_detach(w), adz_tensor_from((float[]){ 2, 0, 0, 1 }, ADZ_SHAPE(2, 2), ADZ_F32));
    adz_copy_(adz_module_get_buffer(m, "parametrizations.weight.0._v"),
        adz_tensor_from((float[]){ 0.6f, 0.8f }, ADZ_SHAPE(2), ADZ_F32));
    adz_module_forward(m, adz_ones(ADZ_SHAPE(1, 2), ADZ_F32));
    const double n = sqrt(1.2 * 1.2 + 0.8 * 0.8), r = sqrt(2.4 * 2.4 + 0.8 * 0.8);
    assert_true(HOLDS(vector_u(m), 1e-6, 1.2 / n, 0.8 / n));
    assert_true(
        HOLDS(adz_module_get_buffer(m, "parametrizations.weight.0._v"), 1e-6, 2.4 / r, 0.8 / r));
    adz_tensor *u = adz_clone(vector_u(m));
    char text[300];
    adz_module_to_string(m, text, sizeof text); /* reads the shape of the weight, and no more */
    assert_true(adz_equal(vector_u(m), u));
    adz_module_eval(m);
    adz_module_forward(m, adz_ones(ADZ_SHAPE(1, 2), ADZ_F32));
    adz_module_get_parameter(m, "weight");
    assert_true(adz_equal(vector_u(m), u));
    adz_module_release(&m);
}

/* Two calls before one backward, as networks of generators and critics are trained. */
static void two_calls_share_a_backward(void **state)
{
    (void)state;
    adz_module *m = spectral();
    adz_tensor *a = adz_module_forward(m, adz_randn(ADZ_SHAPE(2, 4), ADZ_F32));
    adz_tensor *b = adz_module_forward(m, adz_randn(ADZ_SHAPE(2, 4), ADZ_F32));
    adz_module_eval(m);
    adz_tensor *c = adz_module_forward(m, adz_randn(ADZ_SHAPE(2, 4), ADZ_F32));
    adz_module_train(m, true);
    adz_module_forward(m, adz_randn(ADZ_SHAPE(2, 4), ADZ_F32));
    adz_tensor *loss = adz_sub(adz_add(a, c), b);
    assert_int_equal(adz_backward(adz_sum(adz_square(loss), ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_non_null(
        adz_tensor_grad(adz_module_get_parameter(m, "parametrizations.weight.original")));
    adz_module_release(&m);
}

static void outputs_of_transposed_convolutions_are_columns(void **state)
{
    (void)state;
    adz_module *m = adz_conv_transpose1d_new(2, 5, 3, NULL);
    assert_int_equal(adz_spectral_norm(m, "weight", NULL), ADZ_OK);
    assert_int_equal(adz_tensor_numel(vector_u(m)), 5);
    assert_non_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(1, 2, 4), ADZ_F32)));
    adz_module_release(&m);
    m = linear();
    adz_spectral_norm_options o = ADZ_SPECTRAL_NORM_OPTIONS;
    o.dim = -1;
    assert_int_equal(adz_spectral_norm(m, "weight", &o), ADZ_OK);
    assert_int_equal(adz_tensor_numel(vector_u(m)), 3);
    o.n_power_iterations = 0;
    assert_int_equal(adz_spectral_norm(m, "bias", &o), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "n_power_iterations is 0");
    o.n_power_iterations = 1;
    o.dim = 3;
    assert_int_equal(adz_spectral_norm(m, "bias", &o), ADZ_ERR_DIM);
    expect_error(ADZ_ERR_DIM, "adz_spectral_norm");
    adz_module_release(&m);
}

/* ---- plans, checkpoints, ranks --------------------------------------------------------------- */

typedef struct training {
    adz_module *module;
    adz_optimizer *optimizer;
    adz_tensor *x;
} training;

static adz_tensor *step(void *user)
{
    training *t = user;
    adz_optimizer_zero_grad(t->optimizer);
    adz_tensor *y = adz_module_forward(t->module, t->x);
    adz_tensor *loss = adz_mean(adz_square(y), ADZ_ALL_DIMS, ADZ_DROPDIM);
    return adz_backward(loss) == ADZ_OK && adz_optimizer_step(t->optimizer) == ADZ_OK ? loss : NULL;
}

static training training_of(adz_module *module, adz_tensor *x)
{
    return (training){ module, adz_sgd_new(adz_module_parameters(module), 0.1, NULL), x };
}

/* Replayed steps have the bits of ordinary ones, in the vectors too. */
static void plans_move_the_vectors(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(spectral(), adz_relu_new(), adz_linear_new(3, 2, NULL));
    adz_weight_norm(adz_module_child_at(m, 2), "weight", 0);
    adz_module *other = adz_module_copy(m);
    adz_tensor *x = adz_randn(ADZ_SHAPE(5, 4), ADZ_F32);
    training planned = training_of(m, x), plain = training_of(other, x);
    adz_plan *plan = adz_plan_new(step, &planned, NULL);
    assert_non_null(plan);
    step(&plain); /* making the plan has done a step */
    adz_tensor *before = adz_clone(vector_u(adz_module_child_at(m, 0)));
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        assert_true(adz_equal(adz_plan_result_at(plan, 0), step(&plain)));
    }
    adz_named_list buffers = adz_module_named_buffers(m), others = adz_module_named_buffers(other);
    assert_int_equal(buffers.count, 2);
    for (size_t i = 0; i < buffers.count; ++i) {
        assert_true(adz_equal(buffers.items[i].tensor, others.items[i].tensor));
    }
    assert_false(adz_equal(before, vector_u(adz_module_child_at(m, 0))));
    adz_tensor_list p = adz_module_parameters(m), q = adz_module_parameters(other);
    for (size_t i = 0; i < p.count; ++i) {
        assert_true(adz_equal(p.items[i], q.items[i]));
    }
    adz_plan_free(&plan);
    adz_optimizer_release(&planned.optimizer);
    adz_optimizer_release(&plain.optimizer);
    adz_module_release(&m);
    adz_module_release(&other);
}

/* The second call of an activation checkpoint does not move the vectors again. */
static void activation_checkpoints_move_the_vectors_once(void **state)
{
    (void)state;
    adz_module *m = spectral(), *other = adz_module_copy(m);
    adz_module *checked = adz_activation_checkpoint_new(m);
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(2, 4), ADZ_F32), true);
    for (int i = 0; i < 2; ++i) {
        adz_tensor *a = adz_module_forward(checked, x), *b = adz_module_forward(other, x);
        assert_true(adz_equal(a, b));
        assert_int_equal(adz_backward(adz_mean(a, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
        assert_int_equal(adz_backward(adz_mean(b, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    }
    assert_true(adz_equal(vector_u(m), vector_u(other)));
    assert_true(
        alike(adz_tensor_grad(adz_module_get_parameter(m, "parametrizations.weight.original")),
            adz_tensor_grad(adz_module_get_parameter(other, "parametrizations.weight.original")),
            1e-6));
    adz_module_release(&checked);
    adz_module_release(&other);
}

/* The second call begins with the vectors of the first, far from those of the singular value. */
static void activation_checkpoints_repeat_the_call(void **state)
{
    (void)state;
    adz_module *m = spectral();
    fill(vector_u(m), 0.5);
    fill(adz_module_get_buffer(m, "parametrizations.weight.0._v"), 0.5);
    adz_module *other = adz_module_copy(m), *checked = adz_activation_checkpoint_new(m);
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(2, 4), ADZ_F32), true);
    adz_tensor *early = adz_module_forward(checked, x); /* a later call moves the vectors */
    adz_tensor *a = adz_module_forward(checked, x);
    adz_tensor *early_plain = adz_module_forward(other, x), *b = adz_module_forward(other, x);
    assert_int_equal(adz_backward(adz_sum(adz_add(early, a), ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_int_equal(
        adz_backward(adz_sum(adz_add(early_plain, b), ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_true(adz_equal(vector_u(m), vector_u(other)));
    assert_true(
        alike(adz_tensor_grad(adz_module_get_parameter(m, "parametrizations.weight.original")),
            adz_tensor_grad(adz_module_get_parameter(other, "parametrizations.weight.original")),
            1e-5));
    adz_module_release(&checked);
    adz_module_release(&other);
}

/* The vectors would depend on which rank computes which micro-batch. */
static void micro_batches_are_refused(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(spectral());
    assert_null(adzi_micro_state_new("parallel", m, 4, 0, 2));
    expect_error(ADZ_ERR_UNSUPPORTED, "vectors of a spectral norm would differ between ranks");
    adz_module_remove_parametrizations(adz_module_child_at(m, 0), "weight", true);
    adzi_micro_state *micro = adzi_micro_state_new("parallel", m, 4, 0, 2);
    assert_non_null(micro);
    adzi_micro_state_free(&micro);
    adz_module_release(&m);
}

static void other_dtypes(void **state)
{
    (void)state;
    adz_module *m = spectral();
    assert_int_equal(adz_module_to(m, ADZ_F64), ADZ_OK);
    adz_tensor *y = adz_module_forward(m, adz_ones(ADZ_SHAPE(1, 4), ADZ_F64));
    assert_non_null(y);
    assert_int_equal(adz_tensor_dtype(y), ADZ_F64);
    adz_module_release(&m);
}

/* A parametrisation that jumps out leaves nothing behind that a later call would see. */
static jmp_buf out_of_the_call;
static bool jumps;

static adz_tensor *jumping(adz_module *self, adz_tensor *x)
{
    (void)self;
    if (jumps) {
        longjmp(out_of_the_call, 1);
    }
    return adz_mul_number(x, 2);
}
static const adz_module_type jumping_type = {
    .size = sizeof(adz_module_type), .name = "Jumping", .forward = jumping
};

static void calls_may_be_left_by_a_jump(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(spectral(), adz_module_new(&jumping_type, 0));
    adz_module_eval(m);
    adz_tensor *x = adz_keep(adz_ones(ADZ_SHAPE(1, 4), ADZ_F32));
    adz_tensor *y = adz_keep(adz_module_forward(m, x));
    jumps = true;
    for (volatile int i = 0; i < 3; ++i) {
        if (setjmp(out_of_the_call) == 0) {
            adz_module_forward(m, x);
            fail();
        }
    }
    jumps = false;
    assert_true(adz_equal(adz_module_forward(m, x), y));
    adz_release(&x);
    adz_release(&y);
    adz_module_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lengths_and_directions),
        TEST(frozen_weights_stay_frozen),
        TEST(older_names_are_loaded),
        TEST(older_names_are_loaded_or_refused),
        TEST(the_largest_singular_value_becomes_one),
        TEST(calls_in_training_move_the_vectors_once),
        TEST(two_calls_share_a_backward),
        TEST(outputs_of_transposed_convolutions_are_columns),
        TEST(plans_move_the_vectors),
        TEST(activation_checkpoints_move_the_vectors_once),
        TEST(activation_checkpoints_repeat_the_call),
        TEST(micro_batches_are_refused),
        TEST(other_dtypes),
        TEST(calls_may_be_left_by_a_jump),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
