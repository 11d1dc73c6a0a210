/* Optimizers, schedulers, clipping: update rules step by step, groups, state, failures. */
#include "../nn.h"

#include "optim/clip.h"
#include "optim/optimizer.h"

static adz_tensor *parameter(double a, double b, adz_dtype dtype)
{
    double values[] = { a, b };
    return adz_requires_grad_(adz_to(adz_tensor_from(values, ADZ_SHAPE(2), ADZ_F64), dtype), true);
}

static void set_grad(adz_tensor *t, double a, double b)
{
    double values[] = { a, b };
    adz_tensor *grad = adz_tensor_from(values, ADZ_SHAPE(2), ADZ_F64);
    assert_int_equal(adz_tensor_set_grad(t, adz_to(grad, adz_tensor_dtype(t))), ADZ_OK);
}

static adz_tensor_list one(adz_tensor *const *t)
{
    return adz_tensor_list_of(t, 1);
}

/* ---- SGD: three steps by hand --------------------------------------------------------------- */

/* Gradients (1, -2), (3, 0.5), (-1, 4) on w = (1, 2) at lr 0.1; expected after each step. */
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
        adz_optimizer_free(&sgd);
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
    /* m: (1, -2), (3.5, -0.5), (0.75, 3.75) */
    expect_steps(&o, (const double[3][2]){ { 0.9, 2.2 }, { 0.55, 2.25 }, { 0.475, 1.875 } });
    o.dampening = 0.5; /* the first gradient is not dampened: (1, -2), (2, -0.75), (0.5, 1.625) */
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
    adz_optimizer_free(&sgd);
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
        adz_optimizer_free(&sgd);
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
    assert_int_equal(adz_optimizer_set(sgd, -1, "nesterov", 1), ADZ_ERR_ARGUMENT); /* group 0 */
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
    adz_optimizer_free(&sgd);
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
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.nesterov = true;
    assert_null(adz_sgd_new(one(&w), 0.1, &o));
    expect_error(ADZ_ERR_ARGUMENT, "nesterov needs a momentum");
    o = (adz_sgd_options)ADZ_SGD_OPTIONS;
    o.size = offsetof(adz_sgd_options, weight_decay); /* an older caller's struct ends here */
    o.weight_decay = 9;
    adz_optimizer *sgd = adz_sgd_new(one(&w), 0.1, &o);
    assert_true(adz_optimizer_get(sgd, 0, "weight_decay") == 0);
    adz_optimizer_free(&sgd);
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
    adz_optimizer_free(&sgd);
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
    adz_optimizer_free(&sgd);
}

static void a_new_dtype_is_noticed(void **state)
{
    (void)state;
    adz_module *m = adz_linear_new(2, 2, NULL);
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.momentum = 0.9;
    adz_optimizer *sgd = adz_sgd_new(adz_module_parameters(m), 0.1, &o);
    adz_tensor *w = adz_module_parameter(m, "weight");
    adz_tensor_set_grad(w, adz_ones_like(w));
    assert_int_equal(adz_optimizer_step(sgd), ADZ_OK);
    adz_module_to(m, ADZ_F64);
    assert_int_equal(adz_optimizer_step(sgd), ADZ_ERR_DTYPE);
    expect_error(ADZ_ERR_DTYPE, "parameter 0[2, 2] is float64, its momentum_buffer float32");
    adz_optimizer_free(&sgd);
    adz_module_free(&m);
}

/* ---- schedulers ----------------------------------------------------------------------------- */

static double halves_then_grows(int64_t epoch, int group, void *user)
{
    return group == 0 ? 1.0 / (1 << epoch) : 1 + (double)epoch * *(double *)user;
}

static void expect_rates(adz_scheduler *s, const double *expected, size_t count, double tolerance)
{
    for (size_t i = 0; i < count; ++i) {
        if (!(fabs(adz_scheduler_last_lr(s, 0) - expected[i]) <= tolerance)) {
            fail_msg("%s: rate %d is %.17g, not %.17g", adz_scheduler_name(s), (int)i,
                adz_scheduler_last_lr(s, 0), expected[i]);
        }
        assert_int_equal(adz_scheduler_last_epoch(s), (int64_t)i);
        assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    }
    adz_scheduler_free(&s);
}

static void schedules(void **state)
{
    (void)state;
    adz_tensor *w = parameter(1, 2, ADZ_F32), *v = parameter(1, 2, ADZ_F32);
    adz_optimizer *sgd = adz_sgd_new(one(&w), 0.8, NULL);
    expect_rates(adz_step_lr_new(sgd, 3, 0.5),
        (const double[]){ 0.8, 0.8, 0.8, 0.4, 0.4, 0.4, 0.2, 0.2 }, 8, 1e-15);
    adz_optimizer_set(sgd, 0, "lr", 0.8);
    expect_rates(
        adz_exponential_lr_new(sgd, 0.5), (const double[]){ 0.8, 0.4, 0.2, 0.1 }, 4, 1e-15);
    adz_optimizer_set(sgd, 0, "lr", 0.8);
    double cosine[11];
    for (int i = 0; i < 11; ++i) { /* down for 4 epochs, up for 4, down again */
        cosine[i] = 0.1 + 0.7 * (1 + cos(3.14159265358979323846 * i / 4)) / 2;
    }
    expect_rates(adz_cosine_annealing_lr_new(sgd, 4, 0.1), cosine, 11, 1e-14);
    adz_optimizer_free(&sgd);

    sgd = adz_sgd_new(one(&w), 0.8, NULL);
    adz_optimizer_add_param_group(sgd, one(&v));
    adz_optimizer_set(sgd, 1, "lr", 0.2);
    double growth = 0.5;
    adz_scheduler *s = adz_lambda_lr_new(sgd, halves_then_grows, &growth);
    adz_scheduler_step(s);
    adz_scheduler_step(s);
    assert_true(fabs(adz_optimizer_get(sgd, 0, "lr") - 0.2) < 1e-15);
    assert_true(fabs(adz_optimizer_get(sgd, 1, "lr") - 0.4) < 1e-15);
    assert_true(adz_optimizer_get(sgd, 1, "initial_lr") == 0.2);
    adz_optimizer_free(&sgd); /* the scheduler keeps it */
    assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    assert_true(fabs(adz_scheduler_last_lr(s, 0) - 0.1) < 1e-15);

    double saved[8] = { 0 };
    assert_int_equal(adz_scheduler_get_state(s, saved, 8), 5);
    adz_scheduler_step(s);
    assert_int_equal(adz_scheduler_set_state(s, saved, 5), ADZ_OK);
    assert_int_equal(adz_scheduler_last_epoch(s), 3);
    assert_true(fabs(adz_scheduler_last_lr(s, 1) - 0.5) < 1e-15);
    assert_int_equal(adz_scheduler_set_state(s, saved, 4), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "no state of a LambdaLR over 2 groups, which has 5 numbers");
    assert_true(isnan(adz_scheduler_last_lr(s, 2)));
    expect_error(ADZ_ERR_INDEX, "no group 2");
    adz_scheduler_free(&s);
}

static void schedules_refuse(void **state)
{
    (void)state;
    adz_tensor *w = parameter(1, 2, ADZ_F32);
    adz_optimizer *sgd = adz_sgd_new(one(&w), 0.8, NULL);
    assert_null(adz_step_lr_new(sgd, 0, 0.5));
    expect_error(ADZ_ERR_ARGUMENT, "step_size is 0");
    assert_null(adz_cosine_annealing_lr_new(sgd, 0, 0.5));
    expect_error(ADZ_ERR_ARGUMENT, "t_max is 0");
    assert_null(adz_lambda_lr_new(sgd, NULL, NULL));
    expect_error(ADZ_ERR_NULL, "lambda is NULL");
    assert_null(adz_exponential_lr_new(NULL, 0.5));
    expect_error(ADZ_ERR_NULL, "optimizer is NULL");
    adz_optimizer_free(&sgd);
}

/* ---- clipping ------------------------------------------------------------------------------- */

static void norms_are_clipped(void **state)
{
    (void)state;
    adz_tensor *all[] = { parameter(0, 0, ADZ_F64), parameter(0, 0, ADZ_F32),
        parameter(0, 0, ADZ_F64) };
    adz_tensor_list list = adz_tensor_list_of(all, 3); /* the last one has no gradient */
    static const struct {
        double type, norm;
    } cases[] = { { 2, 13 }, { 1, 19 }, { INFINITY, 12 }, { 3, 12.207054953820636 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        set_grad(all[0], 3, -4);
        set_grad(all[1], 0, 12);
        double norm = adz_clip_grad_norm(list, 100, cases[i].type);
        assert_true(fabs(norm - cases[i].norm) < 1e-12);
        assert_true(HOLDS(adz_tensor_grad(all[0]), 0, 3, -4));
        norm = adz_clip_grad_norm(list, 2, cases[i].type);
        double factor = 2 / (norm + 1e-6);
        assert_true(HOLDS(adz_tensor_grad(all[0]), 1e-14, 3 * factor, -4 * factor));
        assert_true(HOLDS(adz_tensor_grad(all[1]), 1e-6, 0, 12 * factor));
    }
    assert_true(adz_clip_grad_norm(adz_tensor_list_of(&all[2], 1), 1, 2) == 0);
    set_grad(all[0], NAN, 1);
    assert_true(isnan(adz_clip_grad_norm(list, 1, 2)));
    assert_true(isnan(adz_clip_grad_norm(list, 1, INFINITY)));
    assert_int_equal(adz_error_code(), ADZ_OK);
    assert_true(isnan(adz_clip_grad_norm(list, -1, 2)));
    expect_error(ADZ_ERR_ARGUMENT, "max_norm is -1");
    assert_true(isnan(adz_clip_grad_norm(list, 1, 0)));
    expect_error(ADZ_ERR_ARGUMENT, "norm_type 0");
}

static void long_gradients_are_summed_exactly(void **state)
{
    (void)state;
    adz_tensor *w = adz_requires_grad_(adz_zeros(ADZ_SHAPE(1 << 20), ADZ_F32), true);
    adz_tensor_set_grad(w, adz_full_like(w, 0.1));
    double exact = (double)0.1f * 1024;
    assert_true(fabs(adz_clip_grad_norm(one(&w), 1e9, 2) / exact - 1) < 1e-14);
    assert_true(fabs(adz_clip_grad_norm(one(&w), 1e9, 1) / (exact * 1024) - 1) < 1e-14);
    assert_true(adz_clip_grad_norm(one(&w), 1e9, INFINITY) == (double)0.1f);
}

/* Of several blocks, the last of one element: each element counts once. */
static void every_element_counts(void **state)
{
    (void)state;
    enum { N = 2 * ADZI_NORM_BLOCK + 1 };
    for (int f32 = 0; f32 < 2; ++f32) {
        adz_tensor *w = adz_requires_grad_(adz_zeros(ADZ_SHAPE(N), f32 ? ADZ_F32 : ADZ_F64), true);
        adz_tensor *g = adz_arange(1, N + 1, 1, ADZ_F64);
        adz_tensor_set_grad(w, adz_to(g, adz_tensor_dtype(w)));
        double n = N;
        assert_true(adz_clip_grad_norm(one(&w), 1e30, INFINITY) == n);
        assert_true(fabs(adz_clip_grad_norm(one(&w), 1e30, 1) / (n * (n + 1) / 2) - 1) < 1e-14);
        double squares = n * (n + 1) * (2 * n + 1) / 6, cubes = n * (n + 1) / 2;
        assert_true(fabs(adz_clip_grad_norm(one(&w), 1e30, 2) / sqrt(squares) - 1) < 1e-14);
        assert_true(
            fabs(adz_clip_grad_norm(one(&w), 1e30, 3) / pow(cubes * cubes, 1.0 / 3) - 1) < 1e-14);
        /* The largest may come first, in its block and among the gradients. */
        adz_tensor_set_grad(w, adz_to(adz_neg(g), adz_tensor_dtype(w)));
        adz_tensor *both[] = { w, parameter(0, 0, ADZ_F64) };
        set_grad(both[1], 5, -6);
        assert_true(adz_clip_grad_norm(adz_tensor_list_of(both, 2), 1e30, INFINITY) == n);
        adz_tensor_set_grad(
            w, adz_to(adz_div_number(adz_ones(ADZ_SHAPE(N), ADZ_F64), 4), adz_tensor_dtype(w)));
        assert_true(adz_clip_grad_norm(adz_tensor_list_of(both, 2), 1e30, INFINITY) == 6);
    }
}

/* 0 is a limit like any other. */
static void gradients_are_clipped_to_nothing(void **state)
{
    (void)state;
    adz_tensor *w = parameter(0, 0, ADZ_F64);
    set_grad(w, 3, -4);
    assert_true(adz_clip_grad_norm(one(&w), 0, 2) == 5);
    assert_true(HOLDS(adz_tensor_grad(w), 0, 0, 0));
    set_grad(w, 3, -4);
    assert_int_equal(adz_clip_grad_value(one(&w), 0), ADZ_OK);
    assert_true(HOLDS(adz_tensor_grad(w), 0, 0, 0));
}

/* A graph that saved a gradient must not go on with the clipped one. */
static void clipping_is_a_write(void **state)
{
    (void)state;
    for (int by_value = 0; by_value < 2; ++by_value) {
        adz_tensor *w = parameter(0, 0, ADZ_F64), *v = parameter(1, 2, ADZ_F64);
        set_grad(w, 3, -4);
        adz_tensor *loss = adz_sum(adz_mul(v, adz_tensor_grad(w)), ADZ_ALL_DIMS, false);
        if (by_value) {
            adz_clip_grad_value(one(&w), 1);
        } else {
            adz_clip_grad_norm(one(&w), 1, 2);
        }
        assert_int_equal(adz_backward(loss), ADZ_ERR_VERSION);
        adz_error_clear();
    }
}

/* What is no tensor is said, and what came before it in the list is not clipped. */
static void lists_are_checked_before_clipping(void **state)
{
    (void)state;
    adz_tensor *list[] = { parameter(0, 0, ADZ_F64), NULL };
    set_grad(list[0], 3, -4);
    assert_true(isnan(adz_clip_grad_norm(adz_tensor_list_of(list, 2), 1, 2)));
    expect_error(ADZ_ERR_NULL, "a parameter");
    assert_int_equal(adz_clip_grad_value(adz_tensor_list_of(list, 2), 1), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "a parameter");
    assert_true(HOLDS(adz_tensor_grad(list[0]), 0, 3, -4));
}

static void values_are_clipped(void **state)
{
    (void)state;
    adz_tensor *w = parameter(0, 0, ADZ_F32);
    set_grad(w, 3, -4);
    assert_int_equal(adz_clip_grad_value(one(&w), 3.5), ADZ_OK);
    assert_true(HOLDS(adz_tensor_grad(w), 0, 3, -3.5));
    set_grad(w, NAN, 4);
    adz_clip_grad_value(one(&w), 1);
    assert_true(isnan(adz_tensor_at(adz_tensor_grad(w), (int64_t[]){ 0 })));
    assert_true(adz_tensor_at(adz_tensor_grad(w), (int64_t[]){ 1 }) == 1);
    assert_int_equal(adz_clip_grad_value(one(&w), -1), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "clip_value is -1");
}

/* ---- state ---------------------------------------------------------------------------------- */

static void take_steps(adz_optimizer *sgd, adz_tensor *a, adz_tensor *b, int from, int to)
{
    for (int i = from; i < to; ++i) {
        set_grad(a, i, 1.0 / (i + 1));
        set_grad(b, -i, 0.3);
        assert_int_equal(adz_optimizer_step(sgd), ADZ_OK);
    }
}

static adz_optimizer *two_groups(adz_tensor *a, adz_tensor *b)
{
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.momentum = 0.9;
    o.nesterov = true;
    adz_optimizer *sgd = adz_sgd_new(one(&a), 0.1, &o);
    adz_optimizer_add_param_group(sgd, one(&b));
    return sgd;
}

static void state_goes_out_and_in(void **state)
{
    (void)state;
    adz_tensor *a = parameter(1, 2, ADZ_F64), *b = parameter(1, 2, ADZ_F64);
    adz_optimizer *sgd = two_groups(a, b);
    adz_optimizer_set(sgd, 1, "lr", 1.0 / 3);
    adz_scheduler *s = adz_exponential_lr_new(sgd, 0.9);
    take_steps(sgd, a, b, 0, 3);
    adz_scheduler_step(s);
    adz_state *saved = adz_state_new();
    assert_int_equal(adzi_optimizer_collect(sgd, saved), ADZ_OK);
    assert_int_equal(adz_state_count(saved), 2);
    assert_string_equal(adz_state_name(saved, 1), "state.1.momentum_buffer");
    json_t *groups = adzi_optimizer_groups(sgd);
    char *text = json_dumps(groups, JSON_REAL_PRECISION(17));
    assert_non_null(strstr(text, "\"nesterov\": true"));
    assert_non_null(strstr(text, "\"params\": [1]"));
    json_t *read = json_loads(text, 0, NULL);

    adz_tensor *a2 = parameter(0, 0, ADZ_F64), *b2 = parameter(0, 0, ADZ_F64);
    adz_optimizer *other = two_groups(a2, b2);
    assert_int_equal(adzi_optimizer_restore(other, saved, read), ADZ_OK);
    ADZ_NO_GRAD
    {
        adz_copy_(a2, a);
        adz_copy_(b2, b);
    }
    assert_true(adz_optimizer_get(other, 1, "lr") == adz_optimizer_get(sgd, 1, "lr"));
    assert_true(adz_optimizer_get(other, 1, "initial_lr") == 1.0 / 3);
    take_steps(sgd, a, b, 3, 6);
    take_steps(other, a2, b2, 3, 6);
    assert_true(adz_equal(a, a2));
    assert_true(adz_equal(b, b2));

    /* refused, and nothing changed */
    adz_state_add(saved, "model.weight", a); /* not the optimizer's */
    json_t *one_group = json_pack("[O]", json_array_get(read, 0));
    assert_int_equal(adzi_optimizer_restore(other, saved, one_group), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "the state has 1 groups of parameters, SGD 2");
    json_object_set_new(json_array_get(read, 0), "lr", json_real(7));
    adz_state_add(saved, "state.5.momentum_buffer", a);
    assert_int_equal(adzi_optimizer_restore(other, saved, read), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "SGD has no state.5.momentum_buffer");
    assert_true(adz_optimizer_get(other, 0, "lr") != 7);
    take_steps(sgd, a, b, 6, 8);
    take_steps(other, a2, b2, 6, 8);
    assert_true(adz_equal(a, a2));
    free(text);
    json_decref(one_group);
    json_decref(read);
    json_decref(groups);
    adz_state_free(&saved);
    adz_scheduler_free(&s);
    adz_optimizer_free(&other);
    adz_optimizer_free(&sgd);
}

/* ---- training ------------------------------------------------------------------------------- */

static adz_module *small_model(void)
{
    return ADZ_SEQUENTIAL(
        adz_linear_new(1, 16, NULL), adz_relu_new(NULL), adz_linear_new(16, 1, NULL));
}

/* One step of training; returns the loss, NaN for a failure. */
static double train(adz_module *model, adz_optimizer *sgd)
{
    adz_scope *scope = adz_scope_open();
    if (scope == NULL) {
        return NAN;
    }
    adz_tensor *x = adz_rand(ADZ_SHAPE(32, 1), ADZ_F32);
    adz_tensor *loss = adz_mse_loss(adz_module_forward(model, x), adz_mul(x, x), ADZ_REDUCE_MEAN);
    bool good = adz_optimizer_zero_grad(sgd) == ADZ_OK && adz_backward(loss) == ADZ_OK &&
                !isnan(adz_clip_grad_norm(adz_module_parameters(model), 1, 2)) &&
                adz_optimizer_step(sgd) == ADZ_OK;
    double value = good ? adz_item(loss) : NAN;
    adz_scope_close(scope);
    return value;
}

static void a_model_learns(void **state)
{
    (void)state;
    adz_manual_seed(1);
    adz_module *model = small_model();
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.momentum = 0.9;
    adz_optimizer *sgd = adz_sgd_new(adz_module_parameters(model), 0.05, &o);
    double first = train(model, sgd), last = 0;
    for (int i = 0; i < 1000; ++i) {
        last = train(model, sgd);
    }
    assert_true(last < 0.002 && last < 0.05 * first);
    adz_optimizer_free(&sgd);
    adz_module_free(&model);
}

static bool all_or_nothing = true;

/* A model, two steps and a state; when a step fails, no parameter may have changed. */
static bool exercise(void)
{
    adz_module *model = small_model();
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.momentum = 0.9;
    adz_optimizer *sgd = model != NULL ? adz_sgd_new(adz_module_parameters(model), 0.05, &o) : NULL;
    adz_scheduler *s = sgd != NULL ? adz_step_lr_new(sgd, 2, 0.5) : NULL;
    bool good = s != NULL;
    for (int i = 0; i < 2 && good; ++i) {
        adz_tensor *w = adz_module_parameter(model, "0.weight");
        adz_tensor *v = adz_module_parameter(model, "2.bias");
        float before[17];
        adz_tensor_read(w, before, 16 * sizeof(float));
        adz_tensor_read(v, before + 16, sizeof(float));
        good = !isnan(train(model, sgd)) && adz_scheduler_step(s) == ADZ_OK;
        bool same = memcmp(adz_tensor_data(w), before, 16 * sizeof(float)) == 0 &&
                    memcmp(adz_tensor_data(v), before + 16, sizeof(float)) == 0;
        all_or_nothing = all_or_nothing && (good || same);
    }
    adz_state *state = good ? adz_state_new() : NULL;
    good = state != NULL && adzi_optimizer_collect(sgd, state) == ADZ_OK;
    json_t *groups = good ? adzi_optimizer_groups(sgd) : NULL;
    good = groups != NULL && adzi_optimizer_restore(sgd, state, groups) == ADZ_OK;
    json_decref(groups);
    adz_state_free(&state);
    adz_scheduler_free(&s);
    adz_optimizer_free(&sgd);
    adz_module_free(&model);
    return good;
}

static void refused_memory_changes_nothing(void **state)
{
    (void)state;
    int points = refuse_each_request(exercise);
    printf("%d failure points\n", points);
    assert_true(points > 60);
    assert_true(all_or_nothing);
}

int main(void)
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
        TEST(a_new_dtype_is_noticed),
        TEST(schedules),
        TEST(schedules_refuse),
        TEST(norms_are_clipped),
        TEST(long_gradients_are_summed_exactly),
        TEST(every_element_counts),
        TEST(gradients_are_clipped_to_nothing),
        TEST(clipping_is_a_write),
        TEST(lists_are_checked_before_clipping),
        TEST(values_are_clipped),
        TEST(state_goes_out_and_in),
        TEST(a_model_learns),
        TEST(refused_memory_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
