/* The schedules: rates worked out by hand or by their closed form, state, what they refuse. */
#include "../nn.h"
#include "../temporary.h"

#include "optim/optimizer.h"

static const double pi = 3.14159265358979323846;

static adz_tensor *parameter(void)
{
    return adz_requires_grad_(adz_ones(ADZ_SHAPE(2), ADZ_F64), true);
}

static adz_optimizer *sgd_of(double lr)
{
    adz_tensor *w = parameter();
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.momentum = 0.5;
    return adz_sgd_new(adz_tensor_list_of(&w, 1), lr, &o);
}

/* A second group, of another rate. */
static adz_optimizer *two_groups(double lr, double other)
{
    adz_optimizer *o = sgd_of(lr);
    adz_tensor *v = parameter();
    assert_int_equal(adz_optimizer_add_param_group(o, adz_tensor_list_of(&v, 1)), 1);
    assert_int_equal(adz_optimizer_set(o, 1, "lr", other), ADZ_OK);
    return o;
}

static bool near(double a, double b)
{
    bool good = fabs(a - b) <= 1e-14 * fmax(1, fabs(b));
    if (!good) {
        printf("%.17g is not %.17g\n", a, b);
    }
    return good;
}

/* The rate and what is set agree with a list, one step after another; ends the scheduler. */
static void expect_rates(adz_scheduler *s, adz_optimizer *o, const double *rates, int n)
{
    assert_non_null(s);
    for (int i = 0; i < n; ++i) {
        if (!near(adz_optimizer_get(o, 0, "lr"), rates[i])) {
            fail_msg("%s, epoch %d", adz_scheduler_name(s), i);
        }
        assert_true(adz_scheduler_last_lr(s, 0) == adz_optimizer_get(o, 0, "lr"));
        assert_int_equal(adz_scheduler_last_epoch(s), i);
        assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    }
    adz_scheduler_free(&s);
}

static void milestones(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(0.8);
    const int64_t at[] = { 5, 2, 5, 0 }; /* any order; twice at 5; at once */
    expect_rates(adz_multi_step_lr_new(o, at, 4, 0.5), o,
        (const double[]){ 0.4, 0.4, 0.2, 0.2, 0.2, 0.05, 0.05 }, 7);
    adz_optimizer_free(&o);
    o = sgd_of(0.8);
    expect_rates(adz_multi_step_lr_new(o, NULL, 0, 0.5), o, (const double[]){ 0.8, 0.8, 0.8 }, 3);
    adz_optimizer_free(&o);
}

static void a_line(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(0.6);
    expect_rates(
        adz_linear_lr_new(o, 0.5, 1, 3), o, (const double[]){ 0.3, 0.4, 0.5, 0.6, 0.6, 0.6 }, 6);
    adz_optimizer_free(&o);
    o = sgd_of(0.6);
    adz_scheduler *s = adz_linear_lr_new(o, 1, 0, 7); /* down to nothing, and not below */
    for (int i = 0; i < 12; ++i) {
        double lr = adz_optimizer_get(o, 0, "lr");
        assert_true(lr >= 0 && near(lr, 0.6 * fmax(0, 1 - i / 7.0)));
        assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    }
    adz_scheduler_free(&s);
    adz_optimizer_free(&o);
}

/* From 0 up to eta_min and back: rounding must not end below 0, where no rate may be. */
static void a_cosine_from_zero(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(0);
    adz_scheduler *s = adz_cosine_annealing_lr_new(o, 4, 0.001);
    for (int i = 0; i < 24; ++i) {
        assert_true(near(adz_optimizer_get(o, 0, "lr"), 0.001 * (1 - cos(pi * i / 4)) / 2));
        assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    }
    adz_scheduler_free(&s);
    adz_optimizer_free(&o);
}

static void warm_restarts(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(0.8);
    double rates[20];
    int at = 0;
    for (int length = 2; at < 14; length *= 2) { /* 2, 4, 8 epochs */
        for (int i = 0; i < length; ++i) {
            rates[at++] = 0.1 + 0.7 * (1 + cos(pi * i / length)) / 2;
        }
    }
    expect_rates(adz_cosine_annealing_warm_restarts_new(o, 2, 2, 0.1), o, rates, at);
    adz_optimizer_free(&o);

    /* Fractions of an epoch, forwards and backwards, with and without growth. */
    for (int mult = 1; mult <= 3; ++mult) {
        o = sgd_of(0.8);
        adz_scheduler *s = adz_cosine_annealing_warm_restarts_new(o, 2, mult, 0.1);
        const double epochs[] = { 0.5, 1.75, 2, 2.25, 7.5, 8, 26.125, 1 };
        for (size_t k = 0; k < sizeof epochs / sizeof *epochs; ++k) {
            double since = epochs[k], length = 2;
            while (since >= length) {
                since -= length;
                length *= mult;
            }
            assert_int_equal(adz_scheduler_step_to(s, epochs[k]), ADZ_OK);
            assert_true(near(
                adz_optimizer_get(o, 0, "lr"), 0.1 + 0.7 * (1 + cos(pi * since / length)) / 2));
            assert_int_equal(adz_scheduler_last_epoch(s), (int64_t)epochs[k]);
        }
        assert_int_equal(adz_scheduler_step_to(s, -1), ADZ_ERR_ARGUMENT);
        expect_error(ADZ_ERR_ARGUMENT, "epoch is -1");
        adz_scheduler_free(&s);
        adz_optimizer_free(&o);
    }
}

static void warm_ups(void **state)
{
    (void)state;
    adz_lr_warmup w = { 4, 10 };
    for (int t = 0; t < 14; ++t) {
        assert_true(near(adz_lr_warmup_constant(t, 0, &w), fmin(1, (t + 1) / 4.0)));
        assert_true(
            near(adz_lr_warmup_inverse_sqrt(t, 0, &w), fmin((t + 1) / 4.0, sqrt(4.0 / (t + 1)))));
        assert_true(
            near(adz_lr_warmup_linear(t, 0, &w), t < 4 ? t / 4.0 : fmax(0, (10 - t) / 6.0)));
    }
    adz_lr_warmup all = { 4, 4 };
    assert_true(adz_lr_warmup_linear(4, 0, &all) == 0);
    adz_optimizer *o = sgd_of(0.8);
    expect_rates(adz_lambda_lr_new(o, adz_lr_warmup_constant, &w), o,
        (const double[]){ 0.2, 0.4, 0.6, 0.8, 0.8 }, 5);
    adz_optimizer_free(&o);
}

/* ---- one cycle ------------------------------------------------------------------------------ */

static void one_cycle_of_lines(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(7);
    adz_one_cycle_options options = ADZ_ONE_CYCLE_OPTIONS;
    options.anneal_strategy = ADZ_ANNEAL_STRATEGY_LINEAR;
    options.pct_start = 0.5;
    options.div_factor = 4;
    options.final_div_factor = 2;
    options.base_momentum = 0.6;
    options.max_momentum = 0.9;
    /* 10 steps: up until step 4, down until step 9 */
    adz_scheduler *s = adz_one_cycle_lr_new(o, 0.8, 10, &options);
    assert_true(adz_optimizer_get(o, 0, "initial_lr") == 0.2);
    for (int t = 0; t < 10; ++t) {
        double up = t <= 4 ? t / 4.0 : 1, down = t <= 4 ? 0 : (t - 4) / 5.0;
        assert_true(near(adz_optimizer_get(o, 0, "lr"), 0.2 + 0.6 * up - 0.7 * down));
        assert_true(near(adz_optimizer_get(o, 0, "momentum"), 0.9 - 0.3 * up + 0.3 * down));
        assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    }
    assert_true(adz_optimizer_get(o, 0, "lr") >= 0);
    assert_true(adz_optimizer_get(o, 0, "momentum") == 0.9);
    double lr = adz_optimizer_get(o, 0, "lr");
    assert_int_equal(adz_scheduler_step(s), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "OneCycleLR was made for 10 steps, which are over");
    assert_int_equal(adz_scheduler_last_epoch(s), 10);
    assert_true(adz_optimizer_get(o, 0, "lr") == lr);
    adz_scheduler_free(&s);
    adz_optimizer_free(&o);
}

static void one_cycle_in_three_phases(void **state)
{
    (void)state;
    adz_tensor *w = parameter(), *v = parameter();
    adz_optimizer *o = adz_adam_new(adz_tensor_list_of(&w, 1), 7, NULL);
    adz_optimizer_add_param_group(o, adz_tensor_list_of(&v, 1));
    const double tops[] = { 0.8, 0.4 }, low[] = { 0.7, 0.75 }, high[] = { 0.9, 0.95 };
    adz_one_cycle_options options = ADZ_ONE_CYCLE_OPTIONS;
    options.three_phase = true;
    options.pct_start = 0.3;
    options.max_lrs = tops;
    options.base_momenta = low;
    options.max_momenta = high;
    options.n_max_lrs = options.n_base_momenta = options.n_max_momenta = 2;
    /* 10 steps: up until step 2, down until step 4, out until step 9 */
    adz_scheduler *s = adz_one_cycle_lr_new(o, 0, 10, &options);
    assert_non_null(s);
    for (int t = 0; t < 10; ++t) {
        double part = t <= 2 ? t / 2.0 : t <= 4 ? (t - 2) / 2.0 : (t - 4) / 5.0;
        double falling = (1 + cos(pi * part)) / 2; /* 1 to 0 */
        for (int g = 0; g < 2; ++g) {
            double first = tops[g] / 25, last = first / 1e4;
            double lr = t <= 2   ? tops[g] + (first - tops[g]) * falling
                        : t <= 4 ? first + (tops[g] - first) * falling
                                 : last + (first - last) * falling;
            double m = t <= 2   ? low[g] + (high[g] - low[g]) * falling
                       : t <= 4 ? high[g] + (low[g] - high[g]) * falling
                                : high[g];
            assert_true(near(adz_optimizer_get(o, g, "lr"), lr));
            assert_true(near(adz_optimizer_get(o, g, "beta1"), m));
        }
        assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    }
    adz_scheduler_free(&s);
    adz_optimizer_free(&o);
}

/* A first phase of no steps begins at its end, the top; a last one ends where the first does. */
static void one_cycle_with_phases_of_no_length(void **state)
{
    (void)state;
    adz_one_cycle_options options = ADZ_ONE_CYCLE_OPTIONS;
    options.anneal_strategy = ADZ_ANNEAL_STRATEGY_LINEAR;
    options.div_factor = 4;
    options.final_div_factor = 2;
    options.base_momentum = 0.6;
    options.max_momentum = 0.9;
    for (int three = 0; three < 2; ++three) { /* of three phases, the second has no step either */
        adz_optimizer *o = sgd_of(7);
        options.three_phase = three != 0;
        options.pct_start = 0.1;
        adz_scheduler *s = adz_one_cycle_lr_new(o, 0.8, 10, &options);
        for (int t = 0; t < 10; ++t) {
            double lr = !three ? 0.8 - 0.7 * t / 9 : t == 0 ? 0.8 : 0.2 - 0.1 * t / 9;
            double momentum = !three ? 0.6 + 0.3 * t / 9 : t == 0 ? 0.6 : 0.9;
            assert_true(near(adz_optimizer_get(o, 0, "lr"), lr));
            assert_true(near(adz_optimizer_get(o, 0, "momentum"), momentum));
            assert_int_equal(adz_scheduler_step(s), ADZ_OK);
        }
        /* The call after the last step goes on along the line. */
        double beyond = three ? 0.2 - 0.1 * 10 / 9 : 0.8 - 0.7 * 10 / 9;
        assert_true(near(adz_optimizer_get(o, 0, "lr"), beyond));
        adz_scheduler_free(&s);
        adz_optimizer_free(&o);
    }
    adz_optimizer *o = sgd_of(7);
    options.three_phase = false;
    options.pct_start = 1;
    adz_scheduler *s = adz_one_cycle_lr_new(o, 0.8, 10, &options);
    for (int t = 0; t < 10; ++t) {
        assert_true(near(adz_optimizer_get(o, 0, "lr"), 0.2 + 0.6 * t / 9));
        assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    }
    assert_true(isfinite(adz_optimizer_get(o, 0, "lr")));
    adz_scheduler_free(&s);
    adz_optimizer_free(&o);
}

/* The least numbers that are allowed: one step; no part of the steps for going up. */
static void one_cycle_at_its_borders(void **state)
{
    (void)state;
    adz_one_cycle_options options = ADZ_ONE_CYCLE_OPTIONS;
    options.anneal_strategy = ADZ_ANNEAL_STRATEGY_LINEAR;
    options.div_factor = 4;
    options.final_div_factor = 2;
    adz_optimizer *o = sgd_of(7);
    adz_scheduler *s = adz_one_cycle_lr_new(o, 0.8, 1, &options);
    assert_true(near(adz_optimizer_get(o, 0, "lr"), 0.1));
    adz_scheduler_free(&s);
    options.pct_start = 0; /* the first phase ends before the first step */
    s = adz_one_cycle_lr_new(o, 0.8, 10, &options);
    for (int t = 0; t < 10; ++t) {
        assert_true(near(adz_optimizer_get(o, 0, "lr"), 0.8 - 0.7 * (t + 1) / 10));
        assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    }
    adz_scheduler_free(&s);
    adz_optimizer_free(&o);
}

/* Each number of each group is checked before any is set. */
static void one_cycle_checks_every_group(void **state)
{
    (void)state;
    adz_optimizer *o = two_groups(1, 2);
    const double good[] = { 0.5, 0.5 }, low[] = { 0.5, -1 }, high[] = { 0.5, NAN };
    for (int which = 0; which < 5; ++which) {
        adz_one_cycle_options options = ADZ_ONE_CYCLE_OPTIONS;
        options.max_lrs = which == 0 ? low : good;
        options.base_momenta = which == 1 ? low : which == 2 ? high : good;
        options.max_momenta = which == 3 ? low : which == 4 ? high : good;
        options.n_max_lrs = options.n_base_momenta = options.n_max_momenta = 2;
        assert_null(adz_one_cycle_lr_new(o, 1, 10, &options));
        expect_error(ADZ_ERR_ARGUMENT, which == 0 ? "max_lr is -1" : "momentum is ");
        assert_true(adz_optimizer_get(o, 0, "lr") == 1 && adz_optimizer_get(o, 1, "lr") == 2);
    }
    adz_one_cycle_options options = ADZ_ONE_CYCLE_OPTIONS;
    options.final_div_factor = 0;
    assert_null(adz_one_cycle_lr_new(o, 1, 10, &options));
    expect_error(ADZ_ERR_ARGUMENT, "final_div_factor 0; both must be above 0");
    adz_optimizer_free(&o);
}

static void one_cycle_leaves_the_momentum(void **state)
{
    (void)state;
    adz_tensor *w = parameter();
    adz_optimizer *o = adz_adagrad_new(adz_tensor_list_of(&w, 1), 0.1, NULL);
    assert_null(adz_one_cycle_lr_new(o, 1, 10, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "Adagrad has no momentum to cycle; set cycle_momentum to false");
    assert_true(adz_optimizer_get(o, 0, "lr") == 0.1);
    adz_one_cycle_options options = ADZ_ONE_CYCLE_OPTIONS;
    options.cycle_momentum = false;
    adz_scheduler *s = adz_one_cycle_lr_new(o, 1, 10, &options);
    assert_non_null(s);
    assert_true(near(adz_optimizer_get(o, 0, "lr"), 1.0 / 25));
    adz_scheduler_free(&s);
    adz_optimizer_free(&o);
    o = sgd_of(0.1);
    s = adz_one_cycle_lr_new(o, 1, 10, &options);
    adz_scheduler_step(s);
    assert_true(adz_optimizer_get(o, 0, "momentum") == 0.5);
    adz_scheduler_free(&s);
    adz_optimizer_free(&o);
}

/* ---- plateau -------------------------------------------------------------------------------- */

static void watch(adz_plateau_options options, const double *metrics, const double *rates, int n)
{
    adz_optimizer *o = sgd_of(1);
    adz_scheduler *s = adz_reduce_lr_on_plateau_new(o, &options);
    assert_non_null(s);
    for (int i = 0; i < n; ++i) {
        assert_int_equal(adz_scheduler_step_metric(s, metrics[i]), ADZ_OK);
        if (!near(adz_optimizer_get(o, 0, "lr"), rates[i])) {
            fail_msg("metric %d", i);
        }
    }
    assert_true(isnan(adz_optimizer_get(o, 0, "initial_lr")));
    adz_error_clear();
    adz_scheduler_free(&s);
    adz_optimizer_free(&o);
}

static void plateaus(void **state)
{
    (void)state;
    adz_plateau_options o = ADZ_PLATEAU_OPTIONS;
    o.factor = 0.5;
    o.patience = 1;
    o.threshold = 0.1;
    /* relative: below 0.9 of the best counts */
    watch(o, (const double[]){ 10, 9.5, 9.1, 8, 7.5, NAN, 1, 1, 1 },
        (const double[]){ 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125 }, 9);
    o.threshold_mode = ADZ_THRESHOLD_MODE_ABS;
    watch(o, (const double[]){ 10, 9.95, 9.91, 9.8, 9.75, 9.71 },
        (const double[]){ 1, 1, 0.5, 0.5, 0.5, 0.25 }, 6);
    o.mode = ADZ_PLATEAU_MODE_MAX;
    watch(o, (const double[]){ -5, -4.8, -4.75, -4.75, -4, -5, -5 },
        (const double[]){ 1, 1, 1, 0.5, 0.5, 0.5, 0.25 }, 7);
    o.threshold_mode = ADZ_THRESHOLD_MODE_REL;
    watch(o, (const double[]){ 5, 5.4, 5.6, 5.6, 6 }, (const double[]){ 1, 1, 1, 1, 0.5 }, 5);
    /* two epochs of rest after each reduction, and a floor */
    o = (adz_plateau_options)ADZ_PLATEAU_OPTIONS;
    o.factor = 0.5;
    o.patience = 0;
    o.cooldown = 2;
    o.min_lr = 0.2;
    watch(o, (const double[]){ 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 },
        (const double[]){ 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2, 0.2 }, 11);
    o.cooldown = 0;
    o.eps = 0.2; /* 0.5 to 0.25 is worth it, to 0.2 is not */
    watch(o, (const double[]){ 1, 1, 1, 1, 1 }, (const double[]){ 1, 0.5, 0.25, 0.25, 0.25 }, 5);
}

/* What is only as good as asked for is not better, in each of the four ways; and what changes the
 * rate only by eps changes nothing. All the numbers are exact. */
static void plateaus_at_their_borders(void **state)
{
    (void)state;
    adz_plateau_options o = ADZ_PLATEAU_OPTIONS;
    o.factor = 0.5;
    o.patience = 0;
    o.threshold = 0.5;
    watch(o, (const double[]){ 8, 4, 3.5 }, (const double[]){ 1, 0.5, 0.5 }, 3);
    o.threshold_mode = ADZ_THRESHOLD_MODE_ABS;
    watch(o, (const double[]){ 8, 7.5, 7.25 }, (const double[]){ 1, 0.5, 0.5 }, 3);
    o.mode = ADZ_PLATEAU_MODE_MAX;
    watch(o, (const double[]){ 8, 8.5, 8.75 }, (const double[]){ 1, 0.5, 0.5 }, 3);
    o.threshold_mode = ADZ_THRESHOLD_MODE_REL;
    watch(o, (const double[]){ 8, 12, 12.5 }, (const double[]){ 1, 0.5, 0.5 }, 3);
    o.eps = 0.25;
    watch(o, (const double[]){ 8, 8, 8 }, (const double[]){ 1, 0.5, 0.5 }, 3);
    o.eps = 0; /* after a reduction, patience begins anew */
    o.patience = 1;
    watch(o, (const double[]){ 8, 8, 8, 8, 8 }, (const double[]){ 1, 1, 0.5, 0.5, 0.25 }, 5);
    o.eps = 0.25;
    o.patience = 1; /* as many bad epochs as patience has are borne */
    watch(o, (const double[]){ 8, 8, 8, 8 }, (const double[]){ 1, 1, 0.5, 0.5 }, 4);
}

static void plateaus_of_groups(void **state)
{
    (void)state;
    adz_optimizer *o = two_groups(1, 0.5);
    const double least[] = { 0.6, 0.1 };
    adz_plateau_options options = ADZ_PLATEAU_OPTIONS;
    options.patience = 0;
    options.factor = 0.5;
    options.min_lrs = least;
    options.n_min_lrs = 2;
    adz_scheduler *s = adz_reduce_lr_on_plateau_new(o, &options);
    adz_scheduler_step_metric(s, 1);
    adz_scheduler_step_metric(s, 1);
    assert_true(adz_optimizer_get(o, 0, "lr") == 0.6 && adz_optimizer_get(o, 1, "lr") == 0.25);
    assert_true(adz_scheduler_last_lr(s, 1) == 0.25);
    assert_int_equal(adz_scheduler_step(s), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "adz_scheduler_step_metric");
    adz_scheduler_free(&s);
    s = adz_exponential_lr_new(o, 0.5);
    assert_int_equal(adz_scheduler_step_metric(s, 1), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "ExponentialLR takes no metric");
    assert_int_equal(adz_scheduler_step_to(s, 1.5), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "ExponentialLR knows no fractions");
    adz_scheduler_free(&s);
    adz_optimizer_free(&o);
}

/* A rate may fall to 0 at once; a state is refused at the first number that no run can reach. */
static void plateaus_to_nothing_and_their_states(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(1);
    adz_plateau_options options = ADZ_PLATEAU_OPTIONS;
    options.factor = 0;
    options.patience = 3;
    options.cooldown = 2;
    adz_scheduler *s = adz_reduce_lr_on_plateau_new(o, &options);
    for (int t = 0; t < 5; ++t) {
        assert_true(adz_optimizer_get(o, 0, "lr") == 1);
        assert_int_equal(adz_scheduler_step_metric(s, 1), ADZ_OK);
    }
    assert_true(adz_optimizer_get(o, 0, "lr") == 0);
    double values[8];
    const size_t n = adz_scheduler_get_state(s, values, 8), bad = n - 2, cooling = n - 1;
    assert_int_equal(n, 1 + 2 + 3);
    assert_true(values[bad] == 4 && values[cooling] == 2);
    assert_int_equal(adz_scheduler_set_state(s, values, n), ADZ_OK);
    const struct {
        size_t at;
        double value;
    } odd[] = { { bad, 5 }, { bad, -1 }, { cooling, 3 }, { cooling, -1 }, { n - 3, NAN } };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; ++i) {
        double kept = values[odd[i].at];
        values[odd[i].at] = odd[i].value;
        assert_int_equal(adz_scheduler_set_state(s, values, n), ADZ_ERR_ARGUMENT);
        expect_error(ADZ_ERR_ARGUMENT, "no state of a ReduceLROnPlateau over 1 groups");
        values[odd[i].at] = kept;
    }
    values[bad] = values[cooling] = 0;
    assert_int_equal(adz_scheduler_set_state(s, values, n), ADZ_OK);
    adz_scheduler_free(&s);
    adz_optimizer_free(&o);
}

/* ---- what all owe --------------------------------------------------------------------------- */

enum { KINDS = 9 };

static adz_lr_warmup warmup = { 4, 10 };

static adz_scheduler *make(int kind, adz_optimizer *o)
{
    static const int64_t at[] = { 3, 6 };
    adz_plateau_options options = ADZ_PLATEAU_OPTIONS;
    options.patience = 1;
    options.cooldown = 1;
    options.factor = 0.5;
    switch (kind) {
    case 0:
        return adz_step_lr_new(o, 3, 0.5);
    case 1:
        return adz_multi_step_lr_new(o, at, 2, 0.5);
    case 2:
        return adz_exponential_lr_new(o, 0.9);
    case 3:
        return adz_linear_lr_new(o, 0.2, 1, 6);
    case 4:
        return adz_cosine_annealing_lr_new(o, 5, 0.01);
    case 5:
        return adz_cosine_annealing_warm_restarts_new(o, 2, 2, 0.01);
    case 6:
        return adz_lambda_lr_new(o, adz_lr_warmup_linear, &warmup);
    case 7:
        return adz_one_cycle_lr_new(o, 1, 20, NULL);
    default:
        return adz_reduce_lr_on_plateau_new(o, &options);
    }
}

static double metric_at(int t)
{
    return t < 3 ? 5 - t : 3.0 + 0.1 * (t % 2);
}

static adz_status go_on(adz_scheduler *s, int kind, int t)
{
    return kind == KINDS - 1 ? adz_scheduler_step_metric(s, metric_at(t)) : adz_scheduler_step(s);
}

/* A scheduler that is kept lives until its last owner ends it. */
static void schedulers_are_kept(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(1);
    int64_t before = adzi_live_bytes();
    adz_scheduler *s = adz_exponential_lr_new(o, 0.5);
    int64_t with_one = adzi_live_bytes();
    assert_true(with_one > before);
    adz_scheduler *kept = adz_scheduler_keep(s), *again = adz_scheduler_keep(s);
    assert_ptr_equal(kept, s);
    adz_scheduler_free(&s);
    assert_null(s);
    adz_scheduler_free(&again);
    assert_true(adzi_live_bytes() == with_one);
    assert_int_equal(adz_scheduler_step(kept), ADZ_OK);
    adz_scheduler_free(&kept);
    assert_true(adzi_live_bytes() == before);
    adz_scheduler_free(&kept);
    adz_scheduler_free(NULL);
    adz_optimizer_free(&o);
}

/* Where a rate that cannot be comes out, the scheduler stays where it was. */
static void a_step_that_fails_moves_nothing(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(1);
    adz_scheduler *s = adz_cosine_annealing_warm_restarts_new(o, 8, 2, -1); /* below 0 from 5 on */
    double before[8], after[8];
    for (int t = 0; t < 4; ++t) {
        assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    }
    const size_t n = adz_scheduler_get_state(s, before, 8);
    for (int way = 0; way < 2; ++way) {
        adz_status status = way == 0 ? adz_scheduler_step(s) : adz_scheduler_step_to(s, 6.5);
        assert_int_equal(status, ADZ_ERR_ARGUMENT);
        expect_error(ADZ_ERR_ARGUMENT, "CosineAnnealingWarmRestarts gives group 0 the rate -");
        assert_int_equal(adz_scheduler_get_state(s, after, 8), n);
        assert_memory_equal(before, after, n * sizeof *before);
    }
    assert_int_equal(adz_scheduler_step_to(s, 0x1p53), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    assert_int_equal(adz_scheduler_step_to(s, 0), ADZ_OK);
    assert_int_equal(adz_scheduler_last_epoch(s), 0);
    adz_scheduler_free(&s);
    int64_t live = adzi_live_bytes();
    adz_one_cycle_options options = ADZ_ONE_CYCLE_OPTIONS;
    options.div_factor = 1e-300;
    assert_null(adz_one_cycle_lr_new(o, 1e300, 10, &options)); /* begins at infinity */
    expect_error(ADZ_ERR_ARGUMENT, "gives group 0 the rate inf");
    assert_true(adzi_live_bytes() == live);
    adz_optimizer_free(&o);
}

/* The last epoch that a state may have: 2^53 - 1, or the end of what a cycle was made for. */
static void states_have_a_last_epoch(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(1);
    for (int cycle = 0; cycle < 2; ++cycle) {
        adz_scheduler *s =
            cycle ? adz_one_cycle_lr_new(o, 1, 10, NULL) : adz_exponential_lr_new(o, 0.5);
        double values[8], last = cycle ? 10 : 0x1p53 - 1;
        const size_t n = adz_scheduler_get_state(s, values, 8);
        values[0] = last;
        assert_int_equal(adz_scheduler_set_state(s, values, n), ADZ_OK);
        values[0] = last + 1;
        assert_int_equal(adz_scheduler_set_state(s, values, n), ADZ_ERR_ARGUMENT);
        adz_error_clear();
        adz_scheduler_free(&s);
    }
    adz_optimizer_free(&o);
}

/* Restarts of one length are found at once however far away they are, and a state stands before the
 * next restart. */
static void restarts_far_away(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(1);
    adz_scheduler *s = adz_cosine_annealing_warm_restarts_new(o, 4, 1, 0);
    assert_int_equal(adz_scheduler_step_to(s, 0x1p51 + 1.5), ADZ_OK);
    assert_true(near(adz_optimizer_get(o, 0, "lr"), (1 + cos(pi * 1.5 / 4)) / 2));
    double values[8];
    const size_t n = adz_scheduler_get_state(s, values, 8);
    assert_true(values[n - 2] == 1.5 && values[n - 1] == 4);
    values[n - 2] = 3.5;
    assert_int_equal(adz_scheduler_set_state(s, values, n), ADZ_OK);
    values[n - 2] = 4;
    assert_int_equal(adz_scheduler_set_state(s, values, n), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    adz_scheduler_free(&s);
    adz_optimizer_free(&o);
}

/* A line of no epochs is at its start in the first, and nowhere else. */
static void a_line_of_no_length(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(0.6);
    expect_rates(adz_linear_lr_new(o, 0.5, 1, 0), o, (const double[]){ 0.3, 0.3, 0.3 }, 3);
    adz_optimizer_free(&o);
}

static void what_is_null_is_named(void **state)
{
    (void)state;
    adz_optimizer *o = two_groups(1, 2);
    adz_scheduler *s = adz_exponential_lr_new(o, 0.5);
    double values[8];
    assert_null(adz_scheduler_keep(NULL));
    expect_error(ADZ_ERR_NULL, "adz_scheduler_keep: scheduler is NULL");
    assert_int_equal(adz_scheduler_step(NULL), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "adz_scheduler_step: scheduler is NULL");
    assert_int_equal(adz_scheduler_step_metric(NULL, 1), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "adz_scheduler_step_metric: scheduler is NULL");
    assert_int_equal(adz_scheduler_step_to(NULL, 1), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "adz_scheduler_step_to: scheduler is NULL");
    assert_int_equal(adz_scheduler_last_epoch(NULL), -1);
    expect_error(ADZ_ERR_NULL, "adz_scheduler_last_epoch: scheduler is NULL");
    assert_true(isnan(adz_scheduler_last_lr(NULL, 0)));
    expect_error(ADZ_ERR_NULL, "adz_scheduler_last_lr: scheduler is NULL");
    assert_int_equal(adz_scheduler_get_state(NULL, values, 8), 0);
    expect_error(ADZ_ERR_NULL, "adz_scheduler_get_state: scheduler is NULL");
    assert_int_equal(adz_scheduler_set_state(NULL, values, 8), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "adz_scheduler_set_state: scheduler is NULL");
    assert_int_equal(adz_scheduler_set_state(s, NULL, 5), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "adz_scheduler_set_state: values is NULL");
    for (int group = -1; group < 4; ++group) {
        bool there = group == 0 || group == 1;
        assert_true(isnan(adz_scheduler_last_lr(s, group)) != there);
        if (!there) {
            expect_error(ADZ_ERR_INDEX, "there is no group");
        }
    }
    adz_scheduler_free(&s);
    adz_optimizer_free(&o);
}

static adz_status both_ways(adz_optimizer *o, adz_scheduler *s, bool load)
{
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.optimizer = o;
    c.schedulers = &s;
    c.n_schedulers = 1;
    return load ? adz_checkpoint_load(&c, temporary_path("run"))
                : adz_checkpoint_save(&c, temporary_path("run"));
}

/* A run that is cut off after any number of steps goes on with the same bits. */
static void state_goes_out_and_in(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; ++kind) {
        for (int cut = 0; cut < 10; ++cut) {
            adz_optimizer *o = two_groups(0.3, 0.7), *p = two_groups(0.3, 0.7);
            adz_scheduler *s = make(kind, o), *r = make(kind, p);
            for (int t = 0; t < cut; ++t) {
                assert_int_equal(go_on(s, kind, t), ADZ_OK);
            }
            assert_int_equal(both_ways(o, s, false), ADZ_OK);
            assert_int_equal(go_on(r, kind, 0), ADZ_OK);
            assert_int_equal(both_ways(p, r, true), ADZ_OK);
            assert_int_equal(adz_scheduler_last_epoch(r), cut);
            for (int t = cut; t < 14; ++t) {
                for (int g = 0; g < 2; ++g) {
                    assert_true(adz_optimizer_get(o, g, "lr") == adz_optimizer_get(p, g, "lr"));
                    assert_true(adz_scheduler_last_lr(s, g) == adz_scheduler_last_lr(r, g));
                    assert_true(
                        adz_optimizer_get(o, g, "momentum") == adz_optimizer_get(p, g, "momentum"));
                }
                assert_int_equal(go_on(s, kind, t), ADZ_OK);
                assert_int_equal(go_on(r, kind, t), ADZ_OK);
            }
            adz_scheduler_free(&s);
            adz_scheduler_free(&r);
            adz_optimizer_free(&o);
            adz_optimizer_free(&p);
        }
    }
}

/* Each number of a state replaced by what it cannot be; the epoch and the rates come first. */
static void bad_states_are_refused(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; ++kind) {
        adz_optimizer *o = two_groups(0.3, 0.7);
        adz_scheduler *s = make(kind, o);
        double good[12], bad[12];
        size_t n = adz_scheduler_get_state(s, good, 12);
        assert_true(n >= 5 && n <= 8);
        for (size_t i = 0; i < n; ++i) {
            const double wrong[] = { NAN, -1, INFINITY };
            for (int k = 0; k < 3; ++k) {
                bool best = kind == KINDS - 1 && i == 5; /* may be anything but NaN */
                memcpy(bad, good, sizeof bad);
                bad[i] = wrong[k];
                adz_status expected = best && k > 0 ? ADZ_OK : ADZ_ERR_ARGUMENT;
                assert_int_equal(adz_scheduler_set_state(s, bad, n), expected);
                if (expected != ADZ_OK) {
                    expect_error(ADZ_ERR_ARGUMENT, "this is no state of a");
                }
            }
        }
        assert_int_equal(adz_scheduler_set_state(s, good, n), ADZ_OK);
        assert_int_equal(adz_scheduler_set_state(s, good, n - 1), ADZ_ERR_ARGUMENT);
        expect_error(ADZ_ERR_ARGUMENT, adz_scheduler_name(s));
        adz_scheduler_free(&s);
        adz_optimizer_free(&o);
    }
}

static int current_kind;

static bool exercise(void)
{
    adz_scope *scope = adz_scope_open();
    if (scope == NULL) {
        return false;
    }
    adz_tensor *w = parameter();
    adz_sgd_options options = ADZ_SGD_OPTIONS;
    options.momentum = 0.5;
    adz_optimizer *o = w != NULL ? adz_sgd_new(adz_tensor_list_of(&w, 1), 0.3, &options) : NULL;
    adz_scheduler *s = o != NULL ? make(current_kind, o) : NULL;
    bool good = s != NULL && go_on(s, current_kind, 0) == ADZ_OK;
    if (o != NULL && s == NULL) {
        assert_true(o->groups[0].settings[0] == 0.3 && isnan(o->groups[0].initial_lr));
        assert_true(o->groups[0].settings[1] == 0.5);
    }
    adz_scheduler_free(&s);
    adz_optimizer_free(&o);
    adz_scope_close(scope);
    return good;
}

static void refused_memory_leaks_nothing(void **state)
{
    (void)state;
    int points = 0;
    for (current_kind = 0; current_kind < KINDS; ++current_kind) {
        points += refuse_each_request(exercise);
    }
    assert_true(points > 5 * KINDS);
}

static double below_0(int64_t epoch, int group, void *user)
{
    (void)group;
    (void)user;
    return epoch < 2 ? 1 : -1;
}

static void constructors_refuse(void **state)
{
    (void)state;
    adz_optimizer *o = two_groups(0.3, 0.7);
    assert_null(adz_multi_step_lr_new(o, NULL, 2, 0.5));
    expect_error(ADZ_ERR_NULL, "milestones is NULL");
    assert_null(adz_linear_lr_new(o, 0, 1, 5));
    expect_error(ADZ_ERR_ARGUMENT, "start_factor is 0");
    assert_null(adz_linear_lr_new(o, 0.5, 1.5, 5));
    expect_error(ADZ_ERR_ARGUMENT, "end_factor 1.5");
    assert_null(adz_linear_lr_new(o, 0.5, 1, -1));
    expect_error(ADZ_ERR_ARGUMENT, "total_iters is -1");
    assert_null(adz_cosine_annealing_warm_restarts_new(o, 0, 1, 0));
    expect_error(ADZ_ERR_ARGUMENT, "t_0 is 0");
    assert_null(adz_cosine_annealing_warm_restarts_new(o, 1, 0, 0));
    expect_error(ADZ_ERR_ARGUMENT, "t_mult is 0");
    assert_null(adz_one_cycle_lr_new(o, 1, 0, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "total_steps is 0");
    assert_null(adz_one_cycle_lr_new(o, -1, 10, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "max_lr is -1");
    assert_null(adz_one_cycle_lr_new(NULL, 1, 10, NULL));
    expect_error(ADZ_ERR_NULL, "optimizer is NULL");
    assert_null(adz_reduce_lr_on_plateau_new(NULL, NULL));
    expect_error(ADZ_ERR_NULL, "optimizer is NULL");
#define REFUSES(type, field, value, call, says)      \
    do {                                             \
        adz_##type##_options bad;                    \
        adz_##type##_options_init(&bad, sizeof bad); \
        bad.field = value;                           \
        assert_null(call);                           \
        expect_error(ADZ_ERR_ARGUMENT, says);        \
    } while (0)
#define CYCLE(field, value, says) \
    REFUSES(one_cycle, field, value, adz_one_cycle_lr_new(o, 1, 10, &bad), says)
#define PLATEAU(field, value, says) \
    REFUSES(plateau, field, value, adz_reduce_lr_on_plateau_new(o, &bad), says)
    const double numbers[] = { 1, 1, 1 };
    CYCLE(pct_start, 1.5, "pct_start is 1.5");
    CYCLE(pct_start, NAN, "pct_start is nan");
    CYCLE(div_factor, 0, "div_factor is 0");
    CYCLE(final_div_factor, -1, "final_div_factor -1");
    CYCLE(anneal_strategy, (adz_anneal_strategy)7, "anneal_strategy is 7");
    CYCLE(max_momentum, -1, "momentum is -1");
    CYCLE(max_lrs, numbers; bad.n_max_lrs = 3, "3 numbers in max_lrs for 2 groups");
    CYCLE(base_momenta, numbers; bad.n_base_momenta = 1, "1 numbers in base_momenta");
    CYCLE(max_momenta, numbers; bad.n_max_momenta = 3, "3 numbers in max_momenta");
    PLATEAU(factor, 1, "factor is 1");
    PLATEAU(factor, NAN, "factor is nan");
    PLATEAU(patience, -1, "patience is -1");
    PLATEAU(cooldown, -2, "cooldown is -2");
    PLATEAU(cooldown, -2; bad.patience = 0, "cooldown is -2");
    PLATEAU(mode, (adz_plateau_mode)7, "mode is 7");
    PLATEAU(threshold_mode, (adz_threshold_mode)7, "threshold_mode is 7");
    PLATEAU(threshold, INFINITY, "threshold is inf");
    PLATEAU(min_lr, -1, "min_lr is -1");
    PLATEAU(eps, -1, "eps is -1");
    PLATEAU(min_lrs, numbers; bad.n_min_lrs = 3, "3 numbers in min_lrs for 2 groups");
    assert_true(adz_optimizer_get(o, 0, "lr") == 0.3 && adz_optimizer_get(o, 1, "lr") == 0.7);
    assert_true(isnan(adz_optimizer_get(o, 0, "initial_lr")));
    adz_error_clear();

    /* A rate that is none: nothing moves, and the optimizer's step is not refused for it. */
    assert_null(adz_exponential_lr_new(NULL, 1));
    adz_error_clear();
    adz_scheduler *s = adz_lambda_lr_new(o, below_0, NULL);
    assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    assert_int_equal(adz_scheduler_step(s), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "LambdaLR gives group 0 the rate -0.3 at epoch 2");
    assert_int_equal(adz_scheduler_last_epoch(s), 1);
    assert_true(adz_optimizer_get(o, 0, "lr") == 0.3);
    adz_scheduler_free(&s);
    adz_optimizer_free(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(milestones),
        TEST(a_line),
        TEST(a_cosine_from_zero),
        TEST(warm_restarts),
        TEST(warm_ups),
        TEST(one_cycle_of_lines),
        TEST(one_cycle_in_three_phases),
        TEST(one_cycle_with_phases_of_no_length),
        TEST(one_cycle_at_its_borders),
        TEST(one_cycle_checks_every_group),
        TEST(one_cycle_leaves_the_momentum),
        TEST(plateaus),
        TEST(plateaus_at_their_borders),
        TEST(plateaus_of_groups),
        TEST(plateaus_to_nothing_and_their_states),
        TEST(schedulers_are_kept),
        TEST(a_step_that_fails_moves_nothing),
        TEST(states_have_a_last_epoch),
        TEST(restarts_far_away),
        TEST(a_line_of_no_length),
        TEST(what_is_null_is_named),
        TEST(state_goes_out_and_in),
        TEST(bad_states_are_refused),
        TEST(refused_memory_leaks_nothing),
        TEST(constructors_refuse),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
