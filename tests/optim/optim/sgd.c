/* SGD step by step, groups of parameters and their settings. */
#include "optim/optimizer.h"
#include "parameter.h"
#include "tests.h"

/* Takes three steps at lr 0.1 from w = (1, 2) and compares w after each with `expected`. */
static void expect_steps(const adz_sgd_options *options, const double expected[3][2])
{
    static const double gradients[3][2] = { { 1, -2 }, { 3, 0.5 }, { -1, 4 } };
    for (int f32 = 0; f32 < 2; ++f32) {
        adz_tensor *w = parameter(1, 2, f32 ? ADZ_F32 : ADZ_F64);
        adz_optimizer *sgd = adz_sgd_new(one(&w), 0.1, options);
        assert_non_null(sgd);
        for (int i = 0; i < 3; ++i) {
            set_grad(w, gradients[i][0], gradients[i][1]);
            assert_int_equal(adz_optimizer_step(sgd), ADZ_OK);
            assert_true(holds(w, expected[i], f32 ? 1e-6 : 1e-14));
        }
        adz_optimizer_release(&sgd);
    }
}

static void sgd_plain(void **state)
{
    (void)state;
    expect_steps(NULL, (const double[3][2]){ { 0.9, 2.2 }, { 0.6, 2.15 }, { 0.7, 1.75 } });
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.maximize = true;
    expect_steps(&o, (const double[3][2]){ { 1.1, 1.8 }, { 1.4, 1.85 }, { 1.3, 2.25 } });
}

static void sgd_weight_decay(void **state)
{
    (void)state;
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.weight_decay = 0.5;
    /* w = w - 0.1 (g + 0.5 w) = 0.95 w - 0.1 g */
    expect_steps(
        &o, (const double[3][2]){ { 0.85, 2.1 }, { 0.5075, 1.945 }, { 0.582125, 1.44775 } });
    o.maximize = true; /* 0.95 w + 0.1 g */
    expect_steps(
        &o, (const double[3][2]){ { 1.05, 1.7 }, { 1.2975, 1.665 }, { 1.132625, 1.98175 } });
}

static void sgd_momentum(void **state)
{
    (void)state;
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.momentum = 0.5;
    /* the momentum buffers m after each step: (1, -2), (3.5, -0.5), (0.75, 3.75) */
    expect_steps(&o, (const double[3][2]){ { 0.9, 2.2 }, { 0.55, 2.25 }, { 0.475, 1.875 } });
    /* dampening does not act in the first step; m: (1, -2), (2, -0.75), (0.5, 1.625) */
    o.dampening = 0.5;
    expect_steps(&o, (const double[3][2]){ { 0.9, 2.2 }, { 0.7, 2.275 }, { 0.65, 2.1125 } });
    o.dampening = 0;
    o.nesterov = true; /* g + m / 2: (1.5, -3), (4.75, 0.25), (-0.625, 5.875) */
    expect_steps(&o, (const double[3][2]){ { 0.85, 2.3 }, { 0.375, 2.275 }, { 0.4375, 1.6875 } });
    o.weight_decay = 0.5;
    /* step 1: g = (1.5, -1), m = g, d = (2.25, -1.5): w = (0.775, 2.15)
     * step 2: g = (3.3875, 1.575), m = (4.1375, 1.075), d = (5.45625, 2.1125) */
    expect_steps(&o, (const double[3][2]){ { 0.775, 2.15 }, { 0.229375, 1.93875 },
                         { 0.229375 - 0.1 * (-0.8853125 + 0.5 * (2.06875 - 0.8853125)),
                             1.93875 - 0.1 * (4.969375 + 0.5 * (0.5375 + 4.969375)) } });
}

static void parameters_without_a_gradient_are_skipped(void **state)
{
    (void)state;
    adz_tensor *both[] = { parameter(1, 2, ADZ_F32), parameter(3, 4, ADZ_F32) };
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.weight_decay = 0.5;
    o.momentum = 0.5;
    adz_optimizer *sgd = adz_sgd_new(adz_tensor_list_of(both, 2), 0.1, &o);
    set_grad(both[0], 1, 1);
    assert_int_equal(adz_optimizer_step(sgd), ADZ_OK);
    assert_true(HOLDS(both[1], 0, 3, 4));
    assert_false(HOLDS(both[0], 1e-3, 1, 2));
    assert_int_equal(adz_optimizer_fill_grad_zero(sgd), ADZ_OK);
    assert_true(all_are(adz_tensor_grad(both[0]), 0));
    assert_null(adz_tensor_grad(both[1]));
    assert_int_equal(adz_optimizer_zero_grad(sgd), ADZ_OK);
    assert_null(adz_tensor_grad(both[0]));
    adz_optimizer_release(&sgd);
}

static void large_parameters_do_not_depend_on_threads(void **state)
{
    (void)state;
    int before = adz_get_num_threads();
    adz_tensor *start = adz_randn(ADZ_SHAPE(100003), ADZ_F32);
    adz_tensor *grad = adz_randn(ADZ_SHAPE(100003), ADZ_F32), *first = NULL;
    double first_norm = 0;
    adz_sgd_options o = { sizeof o, 0.9, 0, 0.01, true, false };
    for (int threads = 1; threads <= 3; ++threads) {
        adz_set_num_threads(threads);
        adz_tensor *w = adz_requires_grad_(adz_clone(start), true);
        adz_optimizer *sgd = adz_sgd_new(one(&w), 0.1, &o);
        for (int i = 0; i < 3; ++i) {
            adz_tensor_set_grad(w, grad);
            adz_optimizer_step(sgd);
        }
        first = first == NULL ? w : first;
        assert_true(adz_equal(first, w));
        double norm = adz_clip_grad_norm(one(&w), 1, 2);
        first_norm = threads == 1 ? norm : first_norm;
        assert_true(norm == first_norm);
        adz_optimizer_release(&sgd);
    }
    adz_set_num_threads(before);
}

/* ---- groups and settings -------------------------------------------------------------------- */

static void groups_have_settings_of_their_own(void **state)
{
    (void)state;
    adz_tensor *a = parameter(1, 2, ADZ_F64), *b = parameter(1, 2, ADZ_F64);
    adz_optimizer *sgd = adz_sgd_new(one(&a), 0.1, NULL);
    assert_int_equal(adz_optimizer_add_param_group(sgd, one(&b)), 1);
    assert_int_equal(adz_optimizer_group_count(sgd), 2);
    assert_ptr_equal(adz_optimizer_group_parameters(sgd, 1).items[0], b);
    assert_int_equal(adz_optimizer_set(sgd, 1, "lr", 0.5), ADZ_OK);
    assert_true(adz_optimizer_get(sgd, 0, "lr") == 0.1);
    assert_true(adz_optimizer_get(sgd, 1, "lr") == 0.5);
    set_grad(a, 1, 1);
    set_grad(b, 1, 1);
    adz_optimizer_step(sgd);
    assert_true(HOLDS(a, 1e-15, 0.9, 1.9));
    assert_true(HOLDS(b, 1e-15, 0.5, 1.5));

    assert_int_equal(adz_optimizer_add_param_group(sgd, one(&a)), -1);
    expect_error(ADZ_ERR_ARGUMENT, "parameter 0[2] is in a group already");
    assert_int_equal(adz_optimizer_set(sgd, -1, "nesterov", 1), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "nesterov needs a momentum");
    assert_int_equal(adz_optimizer_set(sgd, 1, "momentum", 0.9), ADZ_OK);
    assert_int_equal(
        adz_optimizer_set(sgd, -1, "nesterov", 1), ADZ_ERR_ARGUMENT); /* refused by group 0 */
    expect_error(ADZ_ERR_ARGUMENT, "nesterov needs a momentum");
    assert_true(adz_optimizer_get(sgd, 1, "nesterov") == 0);
    assert_int_equal(adz_optimizer_set(sgd, -1, "lr", 0.25), ADZ_OK);
    assert_true(adz_optimizer_get(sgd, 0, "lr") + adz_optimizer_get(sgd, 1, "lr") == 0.5);
    assert_int_equal(adz_optimizer_set(sgd, 0, "lr", -1), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "lr is -1");
    assert_int_equal(adz_optimizer_set(sgd, 2, "lr", 1), ADZ_ERR_INDEX);
    expect_error(ADZ_ERR_INDEX, "no group 2, only 2");
    assert_true(isnan(adz_optimizer_get(sgd, 0, "betas")));
    expect_error(ADZ_ERR_ARGUMENT, "SGD has no setting called betas");
    assert_true(isnan(adz_optimizer_get(sgd, 0, "initial_lr")));
    expect_error(ADZ_ERR_ARGUMENT, "initial_lr");
    assert_string_equal(adz_optimizer_name(sgd), "SGD");
    adz_optimizer_release(&sgd);
}

static void constructors_refuse(void **state)
{
    (void)state;
    adz_tensor *w = parameter(1, 2, ADZ_F32);
    adz_tensor *twice[] = { w, w };
    assert_null(adz_sgd_new(adz_tensor_list_of(NULL, 0), 0.1, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "list of parameters is empty");
    assert_null(adz_sgd_new(adz_module_parameters(NULL), 0.1, NULL));
    expect_error(ADZ_ERR_NULL, "adz_module_parameters: module is NULL");
    assert_null(adz_sgd_new(one(&w), -0.1, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "lr is -0.1");
    assert_null(adz_sgd_new(one(&w), NAN, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "lr is nan");
    assert_null(adz_sgd_new(adz_tensor_list_of(twice, 2), 0.1, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "parameter 1[2] is in a group already");
    adz_tensor *y = adz_mul(w, w), *ids = adz_ones(ADZ_SHAPE(2), ADZ_I64);
    assert_null(adz_sgd_new(one(&y), 0.1, NULL));
    expect_error(ADZ_ERR_GRAPH, "not a leaf");
    assert_null(adz_sgd_new(one(&ids), 0.1, NULL));
    expect_error(ADZ_ERR_DTYPE, "int64");
    adz_tensor *turned = adz_transpose(adz_ones(ADZ_SHAPE(2, 3), ADZ_F32), 0, 1);
    turned = adz_requires_grad_(turned, true);
    assert_null(adz_sgd_new(one(&turned), 0.1, NULL));
    expect_error(ADZ_ERR_SHAPE, "parameter 0[3, 2] is not contiguous");
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.momentum = 0.9;
    o.dampening = NAN;
    assert_null(adz_sgd_new(one(&w), 0.1, &o));
    expect_error(ADZ_ERR_ARGUMENT, "dampening is nan, but must be a number");
    o = (adz_sgd_options)ADZ_SGD_OPTIONS;
    o.nesterov = true;
    assert_null(adz_sgd_new(one(&w), 0.1, &o));
    expect_error(ADZ_ERR_ARGUMENT, "nesterov needs a momentum");
    o = (adz_sgd_options)ADZ_SGD_OPTIONS;
    o.size = offsetof(adz_sgd_options,
        weight_decay); /* the size of the struct in a program compiled with an older adze */
    o.weight_decay = 9;
    adz_optimizer *sgd = adz_sgd_new(one(&w), 0.1, &o);
    assert_true(adz_optimizer_get(sgd, 0, "weight_decay") == 0);
    adz_optimizer_release(&sgd);
}

static void a_pending_error_stops_the_step(void **state)
{
    (void)state;
    adz_tensor *w = parameter(1, 2, ADZ_F32);
    adz_optimizer *sgd = adz_sgd_new(one(&w), 0.1, NULL);
    set_grad(w, 1, 1);
    assert_null(adz_matmul(w, adz_ones(ADZ_SHAPE(3), ADZ_F32)));
    assert_int_equal(adz_optimizer_step(sgd), adz_error_code());
    assert_true(isnan(adz_clip_grad_norm(one(&w), 0, 2)));
    assert_int_equal(adz_clip_grad_value(one(&w), 0), adz_error_code());
    adz_error_clear();
    assert_true(HOLDS(w, 0, 1, 2));
    assert_true(all_are(adz_tensor_grad(w), 1));
    adz_optimizer_release(&sgd);
}

static void a_step_counts_as_a_change(void **state)
{
    (void)state;
    adz_tensor *w = parameter(1, 2, ADZ_F32);
    adz_optimizer *sgd = adz_sgd_new(one(&w), 0.1, NULL);
    adz_tensor *loss = adz_sum(adz_mul(w, w), ADZ_ALL_DIMS, ADZ_DROPDIM);
    set_grad(w, 1, 1);
    adz_optimizer_step(sgd);
    assert_int_equal(adz_backward(loss), ADZ_ERR_VERSION);
    expect_error(ADZ_ERR_VERSION, "adz_optimizer_step");
    adz_optimizer_release(&sgd);
}

/* Gradients are set to zero in place, so a graph that saved one must not run backward. */
static void zeros_are_a_write(void **state)
{
    (void)state;
    adz_tensor *w = parameter(1, 2, ADZ_F64), *v = parameter(3, 4, ADZ_F64);
    adz_optimizer *sgd = adz_sgd_new(one(&w), 0.1, NULL);
    set_grad(w, 1, 1);
    adz_tensor *loss = adz_sum(adz_mul(v, adz_tensor_grad(w)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_int_equal(adz_optimizer_fill_grad_zero(sgd), ADZ_OK);
    assert_int_equal(adz_backward(loss), ADZ_ERR_VERSION);
    adz_error_clear();
    adz_optimizer_release(&sgd);
}

/* A value that one group refuses is set in none. */
static void all_groups_or_none_are_set(void **state)
{
    (void)state;
    adz_tensor *a = parameter(1, 2, ADZ_F64), *b = parameter(1, 2, ADZ_F64);
    adz_optimizer *sgd = adz_sgd_new(one(&a), 0.1, NULL);
    assert_int_equal(adz_optimizer_add_param_group(sgd, one(&b)), 1);
    assert_int_equal(adz_optimizer_set(sgd, 0, "momentum", 0.9), ADZ_OK);
    assert_int_equal(adz_optimizer_set(sgd, -1, "nesterov", 1), ADZ_ERR_ARGUMENT); /* group 1 */
    expect_error(ADZ_ERR_ARGUMENT, "nesterov needs a momentum");
    assert_true(adz_optimizer_get(sgd, 0, "nesterov") == 0);
    adz_optimizer_release(&sgd);
}

static void what_is_null_is_named(void **state)
{
    (void)state;
    adz_tensor *w = parameter(1, 2, ADZ_F64);
    adz_optimizer *sgd = adz_sgd_new(one(&w), 0.1, NULL);
    expect_null(adz_optimizer_keep(NULL) == NULL, "adz_optimizer_keep", "optimizer");
    expect_null(adz_optimizer_name(NULL) == NULL, "adz_optimizer_name", "optimizer");
    expect_null(adz_optimizer_add_param_group(NULL, one(&w)) == -1, "adz_optimizer_add_param_group",
        "optimizer");
    expect_null(isnan(adz_optimizer_get(NULL, 0, "lr")), "adz_optimizer_get", "optimizer");
    expect_null(isnan(adz_optimizer_get(sgd, 0, NULL)), "adz_optimizer_get", "name");
    expect_null(
        adz_optimizer_set(NULL, 0, "lr", 1) == ADZ_ERR_NULL, "adz_optimizer_set", "optimizer");
    expect_null(adz_optimizer_set(sgd, 0, NULL, 1) == ADZ_ERR_NULL, "adz_optimizer_set", "name");
    expect_null(
        adz_optimizer_zero_grad(NULL) == ADZ_ERR_NULL, "adz_optimizer_zero_grad", "optimizer");
    expect_null(adz_optimizer_fill_grad_zero(NULL) == ADZ_ERR_NULL, "adz_optimizer_fill_grad_zero",
        "optimizer");
    expect_null(adz_optimizer_step(NULL) == ADZ_ERR_NULL, "adz_optimizer_step", "optimizer");
    adz_optimizer_release(&sgd);
}

static void a_new_dtype_is_noticed(void **state)
{
    (void)state;
    adz_module *m = adz_linear_new(2, 2, NULL);
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.momentum = 0.9;
    adz_optimizer *sgd = adz_sgd_new(adz_module_parameters(m), 0.1, &o);
    adz_tensor *w = adz_module_get_parameter(m, "weight");
    adz_tensor_set_grad(w, adz_ones_like(w));
    assert_int_equal(adz_optimizer_step(sgd), ADZ_OK);
    adz_module_to(m, ADZ_F64);
    assert_int_equal(adz_optimizer_step(sgd), ADZ_ERR_DTYPE);
    expect_error(ADZ_ERR_DTYPE, "parameter 0[2, 2] is float64, its momentum_buffer float32");
    adz_optimizer_release(&sgd);
    adz_module_release(&m);
}

static adz_tensor *watch(adz_module *self, adz_tensor *x)
{
    (void)self;
    return x;
}

/* A gradient that is also a buffer of a module is converted with that module. */
static void a_gradient_of_another_dtype_is_noticed(void **state)
{
    (void)state;
    static const adz_module_type type = {
        .size = sizeof(adz_module_type), .name = "Watcher", .forward = watch
    };
    adz_tensor *w = parameter(1, 2, ADZ_F32);
    adz_optimizer *sgd = adz_sgd_new(one(&w), 0.1, NULL);
    set_grad(w, 3, 4);
    adz_module *watcher = adz_module_new(&type, 0);
    assert_non_null(adz_module_add_buffer(watcher, "gradient", adz_tensor_grad(w), true));
    assert_int_equal(adz_module_to(watcher, ADZ_F64), ADZ_OK);
    assert_int_equal(adz_optimizer_step(sgd), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "parameter 0[2] and its gradient[2] must be contiguous");
    assert_true(adz_tensor_at(w, (int64_t[]){ 0 }) == 1);
    adz_module_to(watcher, ADZ_F32);
    assert_int_equal(adz_optimizer_step(sgd), ADZ_OK);
    adz_module_release(&watcher);
    adz_optimizer_release(&sgd);
}

int sgd_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sgd_plain),
        TEST(sgd_weight_decay),
        TEST(sgd_momentum),
        TEST(parameters_without_a_gradient_are_skipped),
        TEST(large_parameters_do_not_depend_on_threads),
        TEST(groups_have_settings_of_their_own),
        TEST(constructors_refuse),
        TEST(a_pending_error_stops_the_step),
        TEST(a_step_counts_as_a_change),
        TEST(zeros_are_a_write),
        TEST(all_groups_or_none_are_set),
        TEST(what_is_null_is_named),
        TEST(a_new_dtype_is_noticed),
        TEST(a_gradient_of_another_dtype_is_noticed),
    };
    return cmocka_run_group_tests_name("optim: sgd", tests, NULL, NULL);
}
