/* Every optimizer against its formula as a plain loop, in f64, in f32 on each instruction set; and
 * what all of them owe: state out and in, memory refused, settings refused. */
#include "../nn.h"
#include "../temporary.h"

#include "optim/adam_family.h"
#include "optim/optimizer.h"
#include "base/cpu.h"

enum { N = 37, STEPS = 12, ROWS = 3 };

/* ---- the formulas --------------------------------------------------------------------------- */

typedef struct adam_rule {
    double lr, beta1, beta2, eps;
    double decay, keep; /* joins the gradient; what the parameter is multiplied by */
    bool amsgrad, maximize, optimized;
} adam_rule;

/* The moments; returns m, and in *square what stands under the root. */
static double moments(
    const adam_rule *r, double w, double g, double *s[ROWS], int i, double *square)
{
    g = (r->maximize ? -g : g) + r->decay * w;
    s[0][i] = r->beta1 * s[0][i] + (1 - r->beta1) * g;
    s[1][i] = r->beta2 * s[1][i] + (1 - r->beta2) * g * g;
    s[2][i] = fmax(s[2][i], s[1][i]);
    *square = r->amsgrad ? s[2][i] : s[1][i];
    return s[0][i];
}

static void adam_loop(const adam_rule *r, double *w, const double *g, double *s[ROWS], int t)
{
    for (int i = 0; i < N; ++i) {
        double square, m = moments(r, w[i], g[i], s, i, &square);
        double c1 = 1 - pow(r->beta1, t), c2 = 1 - pow(r->beta2, t);
        w[i] *= r->keep;
        w[i] -= r->optimized ? r->lr * sqrt(c2) / c1 * m / (sqrt(square) + r->eps)
                             : r->lr * (m / c1) / (sqrt(square / c2) + r->eps);
    }
}

/* `from`: rectified when rho is at least that, strictly above when `above`. */
static void radam_loop(
    const adam_rule *r, bool above, bool waits, double *w, const double *g, double *s[ROWS], int t)
{
    double last = 2 / (1 - r->beta2) - 1, power = pow(r->beta2, t);
    double rho = last - 2 * t * power / (1 - power), c1 = 1 - pow(r->beta1, t);
    bool rectifies = above ? rho > 5 : rho >= 5;
    double length =
        rectifies ? sqrt((rho - 4) / (last - 4) * (rho - 2) / (last - 2) * last / rho) : 0;
    for (int i = 0; i < N; ++i) {
        double square, m = moments(r, w[i], g[i], s, i, &square);
        w[i] *= r->keep;
        if (rectifies && r->optimized) {
            w[i] -= r->lr * length * sqrt(1 - power) / c1 * m / (sqrt(square) + r->eps);
        } else if (rectifies) {
            w[i] -= r->lr * length / c1 * m / (sqrt(square / (1 - power)) + r->eps);
        } else if (!waits) {
            w[i] -= r->lr / c1 * m;
        }
    }
}

/* AdaBelief: rectified from rho 5 on unless told not to; before that along m, or it waits. */
static void belief_loop(const adam_rule *r, bool rectify, bool waits, double *w, const double *g,
    double *s[ROWS], int t)
{
    double last = 2 / (1 - r->beta2) - 1, power = pow(r->beta2, t);
    double rho = last - 2 * t * power / (1 - power), c1 = 1 - pow(r->beta1, t), c2 = 1 - power;
    bool adaptive = !rectify || rho >= 5;
    double length =
        rectify ? sqrt((rho - 4) / (last - 4) * (rho - 2) / (last - 2) * last / rho) : 1;
    for (int i = 0; i < N; ++i) {
        double d = g[i] + r->decay * w[i], m = r->beta1 * s[0][i] + (1 - r->beta1) * d;
        s[0][i] = m;
        s[1][i] = r->beta2 * s[1][i] + (1 - r->beta2) * (d - m) * (d - m);
        s[2][i] = fmax(s[2][i], s[1][i]);
        double under = (r->amsgrad ? s[2][i] : s[1][i]) + r->eps;
        double step =
            r->optimized ? sqrt(c2) * m / (sqrt(under) + r->eps) : m / (sqrt(under / c2) + r->eps);
        w[i] *= r->keep;
        w[i] -= r->lr / c1 * (adaptive ? length * step : waits ? 0 : m);
    }
}

static void rmsprop_loop(
    const adz_rmsprop_options *o, double lr, double *w, const double *g, double *s[ROWS])
{
    for (int i = 0; i < N; ++i) {
        double d = (o->maximize ? -g[i] : g[i]) + o->weight_decay * w[i];
        s[0][i] = o->alpha * s[0][i] + (1 - o->alpha) * d * d;
        s[1][i] = o->alpha * s[1][i] + (1 - o->alpha) * d;
        double under = o->centered ? s[0][i] - s[1][i] * s[1][i] : s[0][i];
        s[2][i] = o->momentum * s[2][i] + d / (sqrt(under) + o->eps);
        w[i] -= lr * s[2][i];
    }
}

static void adagrad_loop(
    const adz_adagrad_options *o, double lr, double *w, const double *g, double *s[ROWS], int t)
{
    for (int i = 0; i < N; ++i) {
        double d = (o->maximize ? -g[i] : g[i]) + o->weight_decay * w[i];
        s[0][i] = (t == 1 ? o->initial_accumulator_value : s[0][i]) + d * d;
        w[i] -= lr / (1 + (t - 1) * o->lr_decay) * d / (sqrt(s[0][i]) + o->eps);
    }
}

/* ---- the cases ------------------------------------------------------------------------------ */

typedef struct optimizer_case {
    const char *name;
    adz_optimizer *(*make)(adz_tensor_list list);
    void (*loop)(double *w, const double *g, double *s[ROWS], int t);
    double f32_tolerance;
} optimizer_case;

#define CASE(which)                              \
    {                                            \
#which, which##_make, which##_loop, 2e-5 \
    }

static adz_optimizer *plain_adam_make(adz_tensor_list list)
{
    return adz_adam_new(list, 0.02, NULL);
}

static void plain_adam_loop(double *w, const double *g, double *s[ROWS], int t)
{
    adam_loop(&(adam_rule){ .lr = 0.02, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .keep = 1 }, w,
        g, s, t);
}

static adz_optimizer *full_adam_make(adz_tensor_list list)
{
    adz_adam_options o = { sizeof o, 0.7, 0.8, 1e-3, 0.1, true, true };
    return adz_adam_new(list, 0.02, &o);
}

static void full_adam_loop(double *w, const double *g, double *s[ROWS], int t)
{
    adam_loop(&(adam_rule){ 0.02, 0.7, 0.8, 1e-3, 0.1, 1, true, true, false }, w, g, s, t);
}

static adz_optimizer *plain_adamw_make(adz_tensor_list list)
{
    return adz_adamw_new(list, 0.02, NULL);
}

static void plain_adamw_loop(double *w, const double *g, double *s[ROWS], int t)
{
    adam_loop(&(adam_rule){ 0.02, 0.9, 0.999, 1e-8, 0, 1 - 0.02 * 0.01, false, false, false }, w, g,
        s, t);
}

static adz_optimizer *full_adamw_make(adz_tensor_list list)
{
    adz_adamw_options o = ADZ_ADAMW_OPTIONS;
    o.amsgrad = o.maximize = true;
    o.weight_decay = 0.5;
    o.beta2 = 0.6;
    return adz_adamw_new(list, 0.02, &o);
}

static void full_adamw_loop(double *w, const double *g, double *s[ROWS], int t)
{
    adam_loop(
        &(adam_rule){ 0.02, 0.9, 0.6, 1e-8, 0, 1 - 0.02 * 0.5, true, true, false }, w, g, s, t);
}

static adz_optimizer *plain_radam_make(adz_tensor_list list)
{
    adz_radam_options o = ADZ_RADAM_OPTIONS;
    o.beta2 = 0.9; /* rectified from step 6 on */
    o.weight_decay = 0.1;
    return adz_radam_new(list, 0.02, &o);
}

static void plain_radam_loop(double *w, const double *g, double *s[ROWS], int t)
{
    radam_loop(
        &(adam_rule){ 0.02, 0.9, 0.9, 1e-8, 0.1, 1, false, false, true }, true, false, w, g, s, t);
}

static adz_optimizer *decoupled_radam_make(adz_tensor_list list)
{
    adz_radam_options o = { sizeof o, 0.8, 0.95, 1e-4, 0.2, true, true };
    return adz_radam_new(list, 0.02, &o);
}

static void decoupled_radam_loop(double *w, const double *g, double *s[ROWS], int t)
{
    radam_loop(&(adam_rule){ 0.02, 0.8, 0.95, 1e-4, 0, 1 - 0.02 * 0.2, false, true, true }, true,
        false, w, g, s, t);
}

static const adz_rmsprop_options plain_rms = ADZ_RMSPROP_OPTIONS,
                                 full_rms = { sizeof full_rms, 0.9, 1e-3, 0.1, 0.5, true, true };

static adz_optimizer *plain_rmsprop_make(adz_tensor_list list)
{
    return adz_rmsprop_new(list, 0.01, NULL);
}

static void plain_rmsprop_loop(double *w, const double *g, double *s[ROWS], int t)
{
    (void)t;
    rmsprop_loop(&plain_rms, 0.01, w, g, s);
}

static adz_optimizer *full_rmsprop_make(adz_tensor_list list)
{
    return adz_rmsprop_new(list, 0.01, &full_rms);
}

static void full_rmsprop_loop(double *w, const double *g, double *s[ROWS], int t)
{
    (void)t;
    rmsprop_loop(&full_rms, 0.01, w, g, s);
}

static const adz_adagrad_options plain_ada = ADZ_ADAGRAD_OPTIONS,
                                 full_ada = { sizeof full_ada, 0.2, 1e-3, 0.1, 0.7, true };

static adz_optimizer *plain_adagrad_make(adz_tensor_list list)
{
    return adz_adagrad_new(list, 0.1, NULL);
}

static void plain_adagrad_loop(double *w, const double *g, double *s[ROWS], int t)
{
    adagrad_loop(&plain_ada, 0.1, w, g, s, t);
}

static adz_optimizer *full_adagrad_make(adz_tensor_list list)
{
    return adz_adagrad_new(list, 0.1, &full_ada);
}

static void full_adagrad_loop(double *w, const double *g, double *s[ROWS], int t)
{
    adagrad_loop(&full_ada, 0.1, w, g, s, t);
}

static adz_optimizer *labml_adam_make(adz_tensor_list list)
{
    adz_labml_adam_options o = ADZ_LABML_ADAM_OPTIONS;
    o.eps = 1e-3;
    o.weight_decay = 0.3;
    return adz_labml_adam_new(list, 0.02, &o);
}

static void labml_adam_loop(double *w, const double *g, double *s[ROWS], int t)
{
    adam_loop(
        &(adam_rule){ 0.02, 0.9, 0.999, 1e-3, 0, 1 - 0.02 * 0.3, false, false, true }, w, g, s, t);
}

static adz_optimizer *labml_l2_make(adz_tensor_list list)
{
    adz_labml_adam_options o = { sizeof o, 0.8, 0.9, 1e-3, 0.3, false, true, false };
    return adz_labml_adam_new(list, 0.02, &o);
}

static void labml_l2_loop(double *w, const double *g, double *s[ROWS], int t)
{
    adam_loop(&(adam_rule){ 0.02, 0.8, 0.9, 1e-3, 0.3, 1, false, false, false }, w, g, s, t);
}

static adz_optimizer *labml_amsgrad_make(adz_tensor_list list)
{
    adz_labml_amsgrad_options o = ADZ_LABML_AMSGRAD_OPTIONS;
    o.beta2 = 0.6;
    o.weight_decay = 0.01;
    o.absolute = true;
    return adz_labml_amsgrad_new(list, 0.02, &o);
}

static void labml_amsgrad_loop(double *w, const double *g, double *s[ROWS], int t)
{
    adam_loop(&(adam_rule){ 0.02, 0.9, 0.6, 1e-16, 0, 0.99, true, false, true }, w, g, s, t);
}

static adz_optimizer *labml_warmup_make(adz_tensor_list list)
{
    adz_labml_amsgrad_options o = ADZ_LABML_WARMUP_OPTIONS;
    o.weight_decay = 0.5; /* at the full rate, warm-up or not */
    return adz_labml_adam_warmup_new(list, 0.02, 7, &o);
}

static void labml_warmup_loop(double *w, const double *g, double *s[ROWS], int t)
{
    double lr = t < 7 ? 1e-8 + t * 0.02 / 7 : 0.02;
    adam_loop(
        &(adam_rule){ lr, 0.9, 0.999, 1e-16, 0, 1 - 0.02 * 0.5, false, false, true }, w, g, s, t);
}

static adz_optimizer *labml_noam_make(adz_tensor_list list)
{
    return adz_labml_noam_new(list, 0.4, 5, 16, NULL);
}

static void labml_noam_loop(double *w, const double *g, double *s[ROWS], int t)
{
    double lr = 0.4 / 4 * fmin(1 / sqrt(t), t / (5 * sqrt(5)));
    adam_loop(&(adam_rule){ lr, 0.9, 0.999, 1e-16, 0, 1, false, false, true }, w, g, s, t);
}

static adz_optimizer *labml_radam_make(adz_tensor_list list)
{
    adz_labml_radam_options o = ADZ_LABML_RADAM_OPTIONS;
    o.beta2 = 0.9;
    o.amsgrad = true;
    o.weight_decay = 0.5;
    return adz_labml_radam_new(list, 0.02, &o);
}

static void labml_radam_loop(double *w, const double *g, double *s[ROWS], int t)
{
    radam_loop(&(adam_rule){ 0.02, 0.9, 0.9, 1e-8, 0, 1 - 0.02 * 0.5, true, false, true }, false,
        false, w, g, s, t);
}

static adz_optimizer *labml_waiting_radam_make(adz_tensor_list list)
{
    adz_labml_radam_options o = ADZ_LABML_RADAM_OPTIONS;
    o.beta2 = 0.9;
    o.weight_decay = 0.1;
    o.weight_decouple = o.optimized_update = o.degenerated_to_sgd = false;
    return adz_labml_radam_new(list, 0.02, &o);
}

static void labml_waiting_radam_loop(double *w, const double *g, double *s[ROWS], int t)
{
    radam_loop(
        &(adam_rule){ 0.02, 0.9, 0.9, 1e-8, 0.1, 1, false, false, false }, false, true, w, g, s, t);
}

static adz_optimizer *labml_cosine_make(adz_tensor_list list)
{
    adz_labml_amsgrad_options o = ADZ_LABML_WARMUP_OPTIONS;
    o.weight_decay = 0.5; /* at the full rate throughout */
    o.amsgrad = true;
    o.beta2 = 0.6;
    return adz_labml_adam_warmup_cosine_decay_new(list, 0.02, 3, 9, &o);
}

/* 12 steps see the rise, the fall, the tenth that is left at least, and the cosine's return. */
static void labml_cosine_loop(double *w, const double *g, double *s[ROWS], int t)
{
    double wave = 0.5 + 0.5 * sin(acos(0) * (1 - 2 * (t - 3) / 6.0));
    double lr = t < 3 ? 1e-8 + t * 0.02 / 3 : wave < 0.1 ? 0.002 : 0.02 * wave;
    adam_loop(
        &(adam_rule){ lr, 0.9, 0.6, 1e-16, 0, 1 - 0.02 * 0.5, true, false, true }, w, g, s, t);
}

static adz_optimizer *labml_belief_make(adz_tensor_list list)
{
    adz_labml_ada_belief_options o = ADZ_LABML_ADA_BELIEF_OPTIONS;
    o.beta2 = 0.9;
    o.weight_decay = 0.5;
    return adz_labml_ada_belief_new(list, 0.02, &o);
}

static void labml_belief_loop(double *w, const double *g, double *s[ROWS], int t)
{
    belief_loop(&(adam_rule){ 0.02, 0.9, 0.9, 1e-16, 0, 1 - 0.02 * 0.5, false, false, false }, true,
        false, w, g, s, t);
}

static adz_optimizer *labml_waiting_belief_make(adz_tensor_list list)
{
    adz_labml_ada_belief_options o = { sizeof o, 0.8, 0.9, 1e-3, 0.1, false, false, true, true,
        false, true };
    return adz_labml_ada_belief_new(list, 0.02, &o);
}

static void labml_waiting_belief_loop(double *w, const double *g, double *s[ROWS], int t)
{
    belief_loop(
        &(adam_rule){ 0.02, 0.8, 0.9, 1e-3, 0.1, 1, true, false, true }, true, true, w, g, s, t);
}

static adz_optimizer *labml_plain_belief_make(adz_tensor_list list)
{
    adz_labml_ada_belief_options o = ADZ_LABML_ADA_BELIEF_OPTIONS;
    o.eps = 1e-3;
    o.weight_decay = 0.01;
    o.absolute = true;
    o.rectify = false;
    return adz_labml_ada_belief_new(list, 0.02, &o);
}

static void labml_plain_belief_loop(double *w, const double *g, double *s[ROWS], int t)
{
    belief_loop(&(adam_rule){ 0.02, 0.9, 0.999, 1e-3, 0, 0.99, false, false, false }, false, false,
        w, g, s, t);
}

static adz_optimizer *full_sgd_make(adz_tensor_list list)
{
    adz_sgd_options o = { sizeof o, 0.9, 0, 0.1, true, true };
    return adz_sgd_new(list, 0.02, &o);
}

static void full_sgd_loop(double *w, const double *g, double *s[ROWS], int t)
{
    for (int i = 0; i < N; ++i) {
        double d = -g[i] + 0.1 * w[i];
        s[0][i] = t == 1 ? d : 0.9 * s[0][i] + d;
        w[i] -= 0.02 * (d + 0.9 * s[0][i]);
    }
}

static const optimizer_case cases[] = {
    CASE(full_sgd),
    CASE(plain_adam),
    CASE(full_adam),
    CASE(plain_adamw),
    CASE(full_adamw),
    CASE(plain_radam),
    CASE(decoupled_radam),
    CASE(plain_rmsprop),
    CASE(full_rmsprop),
    CASE(plain_adagrad),
    CASE(full_adagrad),
    CASE(labml_adam),
    CASE(labml_l2),
    CASE(labml_amsgrad),
    CASE(labml_warmup),
    CASE(labml_noam),
    CASE(labml_radam),
    CASE(labml_waiting_radam),
    CASE(labml_cosine),
    CASE(labml_belief),
    CASE(labml_waiting_belief),
    CASE(labml_plain_belief),
};
enum { CASES = sizeof cases / sizeof *cases };

/* ---- running them --------------------------------------------------------------------------- */

static double start_at(int i)
{
    return cos(1.3 * i) + 0.2;
}

/* Changes sign and size from step to step, and does not depend on w. */
static double gradient_at(int i, int t)
{
    return sin(0.7 * i + 1.9 * t) * (1 + 0.5 * (i % 3)) + 0.1;
}

static adz_tensor *start(adz_dtype dtype)
{
    double values[N];
    for (int i = 0; i < N; ++i) {
        values[i] = start_at(i);
    }
    return adz_requires_grad_(adz_to(adz_tensor_from(values, ADZ_SHAPE(N), ADZ_F64), dtype), true);
}

static void give_gradient(adz_tensor *w, int t)
{
    double values[N];
    for (int i = 0; i < N; ++i) {
        values[i] = gradient_at(i, t);
    }
    adz_tensor *g = adz_tensor_from(values, ADZ_SHAPE(N), ADZ_F64);
    assert_int_equal(adz_tensor_set_grad(w, adz_to(g, adz_tensor_dtype(w))), ADZ_OK);
}

static void take_steps(adz_optimizer *optimizer, adz_tensor *w, int from, int to)
{
    for (int t = from; t < to; ++t) {
        give_gradient(w, t);
        assert_int_equal(adz_optimizer_step(optimizer), ADZ_OK);
    }
}

static adz_tensor_list one(adz_tensor *const *t)
{
    return adz_tensor_list_of(t, 1);
}

static void expected_after(const optimizer_case *c, int steps, double w[N])
{
    double rows[ROWS][N] = { 0 }, g[N], *s[ROWS] = { rows[0], rows[1], rows[2] };
    for (int i = 0; i < N; ++i) {
        w[i] = start_at(i);
    }
    for (int t = 0; t < steps; ++t) {
        for (int i = 0; i < N; ++i) {
            g[i] = gradient_at(i, t);
        }
        c->loop(w, g, s, t + 1);
    }
}

static void each_follows_its_loop(void **state)
{
    (void)state;
    for (int k = 0; k < CASES; ++k) {
        adz_tensor *w = start(ADZ_F64);
        adz_optimizer *optimizer = cases[k].make(one(&w));
        assert_non_null(optimizer);
        for (int t = 0; t < STEPS; ++t) {
            double expected[N];
            take_steps(optimizer, w, t, t + 1);
            expected_after(&cases[k], t + 1, expected);
            if (!holds(w, expected, 1e-13)) {
                fail_msg("%s, step %d", cases[k].name, t + 1);
            }
        }
        adz_optimizer_free(&optimizer);
    }
}

static void each_in_f32_on_each_processor(void **state)
{
    (void)state;
    int level = adzi_cpu_level;
    for (int k = 0; k < CASES; ++k) {
        adz_tensor *first = NULL;
        double expected[N];
        expected_after(&cases[k], STEPS, expected);
        for (adzi_cpu_level = 0; adzi_cpu_level <= adzi_cpu_best(); ++adzi_cpu_level) {
            adz_tensor *w = start(ADZ_F32);
            adz_optimizer *optimizer = cases[k].make(one(&w));
            take_steps(optimizer, w, 0, STEPS);
            if (!holds(w, expected, cases[k].f32_tolerance)) {
                fail_msg("%s, level %d", cases[k].name, adzi_cpu_level);
            }
            first = first == NULL ? w : first;
            assert_true(adz_equal(first, w));
            adz_optimizer_free(&optimizer);
        }
    }
    adzi_cpu_level = level;
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    int before = adz_get_num_threads();
    adz_tensor *from = adz_randn(ADZ_SHAPE(70001), ADZ_F32), *g = adz_randn_like(from);
    for (int k = 0; k < CASES; ++k) {
        adz_tensor *first = NULL;
        for (int threads = 1; threads <= 3; ++threads) {
            adz_set_num_threads(threads);
            adz_tensor *w = adz_requires_grad_(adz_clone(from), true);
            adz_optimizer *optimizer = cases[k].make(one(&w));
            for (int t = 0; t < 2; ++t) {
                adz_tensor_set_grad(w, g);
                assert_int_equal(adz_optimizer_step(optimizer), ADZ_OK);
            }
            first = first == NULL ? w : first;
            assert_true(adz_equal(first, w));
            adz_optimizer_free(&optimizer);
        }
    }
    adz_set_num_threads(before);
}

static void groups_go_their_own_ways(void **state)
{
    (void)state;
    for (int k = 0; k < CASES; ++k) {
        adz_tensor *w = start(ADZ_F64), *v = start(ADZ_F64), *alone = start(ADZ_F64);
        adz_optimizer *both = cases[k].make(one(&w)), *single = cases[k].make(one(&alone));
        assert_int_equal(adz_optimizer_add_param_group(both, one(&v)), 1);
        assert_int_equal(adz_optimizer_set(both, 1, "lr", 0.001), ADZ_OK);
        assert_int_equal(adz_optimizer_set(single, 0, "lr", 0.001), ADZ_OK);
        for (int i = 0; i < 2; ++i) { /* powers of one group's are not another's */
            const char *beta = i == 0 ? "beta1" : "beta2";
            if (adz_optimizer_set(both, 1, beta, 0.75) == ADZ_OK) {
                assert_int_equal(adz_optimizer_set(single, 0, beta, 0.75), ADZ_OK);
            }
            adz_error_clear(); /* some have none */
        }
        for (int t = 0; t < 7; ++t) {
            give_gradient(v, t);
            take_steps(both, w, t, t + 1);
            take_steps(single, alone, t, t + 1);
        }
        double expected[N];
        expected_after(&cases[k], 7, expected);
        assert_true(holds(w, expected, 1e-13));
        assert_true(adz_equal(v, alone));
        assert_false(adz_equal(v, w));
        adz_optimizer_free(&single);
        adz_optimizer_free(&both);
    }
}

/* A parameter whose first gradient comes late counts its own steps. */
static void steps_are_counted_for_each_parameter(void **state)
{
    (void)state;
    for (int k = 0; k < CASES; ++k) {
        adz_tensor *both[] = { start(ADZ_F64), start(ADZ_F64) };
        adz_optimizer *optimizer = cases[k].make(adz_tensor_list_of(both, 2));
        take_steps(optimizer, both[0], 0, 2);
        give_gradient(both[1], 0);
        take_steps(optimizer, both[0], 2, 3);
        double expected[N];
        expected_after(&cases[k], 1, expected);
        assert_true(holds(both[1], expected, 1e-13));
        expected_after(&cases[k], 3, expected);
        assert_true(holds(both[0], expected, 1e-13));
        adz_optimizer_free(&optimizer);
    }
}

static void a_nan_stays_where_it_is(void **state)
{
    (void)state;
    for (int k = 0; k < CASES; ++k) {
        adz_tensor *w = start(ADZ_F64);
        adz_optimizer *optimizer = cases[k].make(one(&w));
        take_steps(optimizer, w, 0, 6); /* past the steps in which a rectified one waits */
        give_gradient(w, 6);
        adz_tensor *spoilt = adz_clone(adz_tensor_grad(w));
        adz_copy_(adz_narrow(spoilt, 0, 5, 1), adz_scalar(NAN, ADZ_F64));
        adz_tensor_set_grad(w, spoilt);
        assert_int_equal(adz_optimizer_step(optimizer), ADZ_OK);
        take_steps(optimizer, w, 7, 9);
        double expected[N];
        expected_after(&cases[k], 9, expected);
        for (int64_t i = 0; i < N; ++i) {
            double value = adz_tensor_at(w, (int64_t[]){ i });
            assert_true(i == 5 ? isnan(value) : fabs(value - expected[i]) < 1e-13);
        }
        adz_optimizer_free(&optimizer);
    }
}

/* ---- state ---------------------------------------------------------------------------------- */

static adz_status save(adz_optimizer *optimizer, const char *name)
{
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.optimizer = optimizer;
    return adz_checkpoint_save(&c, temporary_path(name));
}

static adz_status load(adz_optimizer *optimizer, const char *name)
{
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.optimizer = optimizer;
    return adz_checkpoint_load(&c, temporary_path(name));
}

static void state_continues_bit_for_bit(void **state)
{
    (void)state;
    for (int k = 0; k < CASES; ++k) {
        for (int f32 = 0; f32 < 2; ++f32) {
            adz_tensor *w = start(f32 ? ADZ_F32 : ADZ_F64), *v = start(f32 ? ADZ_F32 : ADZ_F64);
            adz_optimizer *one_go = cases[k].make(one(&w)), *other = cases[k].make(one(&v));
            adz_optimizer_set(one_go, 0, "lr", 1.0 / 3);
            take_steps(one_go, w, 0, 4);
            assert_int_equal(save(one_go, "state"), ADZ_OK);
            take_steps(other, v, 5, 7); /* what it has gives way to what is loaded */
            assert_int_equal(load(other, "state"), ADZ_OK);
            ADZ_NO_GRAD
            {
                adz_copy_(v, w);
            }
            assert_int_equal(save(other, "again"), ADZ_OK);
            assert_true(files_equal(temporary_path("state"), temporary_path("again")));
            take_steps(one_go, w, 4, 9);
            take_steps(other, v, 4, 9);
            if (!adz_equal(w, v)) {
                fail_msg("%s goes on differently after loading", cases[k].name);
            }
            adz_optimizer_free(&other);
            adz_optimizer_free(&one_go);
        }
    }
}

static void states_of_others_are_refused(void **state)
{
    (void)state;
    adz_tensor *w = start(ADZ_F64);
    for (int k = 0; k < CASES; ++k) {
        adz_optimizer *one_kind = cases[k].make(one(&w));
        take_steps(one_kind, w, 0, 1);
        assert_int_equal(save(one_kind, "one"), ADZ_OK);
        for (int other = 0; other < CASES; ++other) {
            adz_optimizer *o = cases[other].make(one(&w));
            bool same = strcmp(adz_optimizer_name(o), adz_optimizer_name(one_kind)) == 0;
            assert_int_equal(load(o, "one"), same ? ADZ_OK : ADZ_ERR_STATE);
            if (!same) {
                expect_error(ADZ_ERR_STATE, adz_optimizer_name(one_kind));
            }
            adz_optimizer_free(&o);
        }
        adz_optimizer_free(&one_kind);
    }
}

static bool counts_steps(adz_state *all)
{
    bool counts = false;
    for (size_t i = 0; i < adz_state_count(all); ++i) {
        counts = counts || strstr(adz_state_name(all, i), "step") != NULL;
    }
    return counts;
}

/* Each entry of a state is left out in turn. An optimizer that counts no steps, such as SGD,
 * accepts a state without momentum, because before the first step there is none. */
static void incomplete_states_are_refused(void **state)
{
    (void)state;
    for (int k = 0; k < CASES; ++k) {
        adz_tensor *w = start(ADZ_F64);
        adz_optimizer *o = cases[k].make(one(&w));
        take_steps(o, w, 0, 2);
        adz_state *all = adz_state_new();
        assert_int_equal(adzi_optimizer_collect(o, all), ADZ_OK);
        json_t *groups = adzi_optimizer_groups(o);
        const size_t entries = counts_steps(all) ? adz_state_count(all) : 0;
        for (size_t out = 0; out < entries; ++out) {
            adz_state *part = adz_state_new();
            for (size_t i = 0; i < adz_state_count(all); ++i) {
                if (i != out) {
                    adz_state_add(part, adz_state_name(all, i), adz_state_tensor(all, i));
                }
            }
            assert_int_equal(adzi_optimizer_restore(o, part, groups), ADZ_ERR_STATE);
            const char *name = adz_state_name(all, out);
            expect_error(ADZ_ERR_STATE, strstr(name, "step") != NULL ? "but no step" : name);
            adz_state_free(&part);
        }
        assert_int_equal(adzi_optimizer_restore(o, all, groups), ADZ_OK);
        json_decref(groups);
        adz_state_free(&all);
        adz_optimizer_free(&o);
    }
}

/* A setting that asks for one state more, between two steps: a run that is cut off there goes on
 * with the same bits. */
static void a_state_may_be_asked_for_later(void **state)
{
    (void)state;
    adz_tensor *w = start(ADZ_F64), *v = start(ADZ_F64);
    adz_optimizer *o = adz_adam_new(one(&w), 0.1, NULL), *p = adz_adam_new(one(&v), 0.1, NULL);
    take_steps(o, w, 0, 3);
    assert_int_equal(adz_optimizer_set(o, 0, "amsgrad", 1), ADZ_OK);
    assert_int_equal(save(o, "later"), ADZ_OK);
    assert_int_equal(load(p, "later"), ADZ_OK);
    ADZ_NO_GRAD
    {
        adz_copy_(v, w);
    }
    take_steps(o, w, 3, 6);
    take_steps(p, v, 3, 6);
    assert_true(adz_equal(w, v));
    adz_optimizer_free(&o);
    adz_optimizer_free(&p);
}

/* ---- borders -------------------------------------------------------------------------------- */

/* A NaN stays the largest square that was seen, as in torch.maximum. */
static void a_nan_stays_the_largest_square(void **state)
{
    (void)state;
    for (int labml = 0; labml < 2; ++labml) {
        adz_tensor *w = adz_requires_grad_(adz_ones(ADZ_SHAPE(20), ADZ_F64), true);
        adz_adam_options o = ADZ_ADAM_OPTIONS;
        o.amsgrad = true;
        adz_optimizer *adam =
            labml ? adz_labml_amsgrad_new(one(&w), 0.1, NULL) : adz_adam_new(one(&w), 0.1, &o);
        for (int t = 0; t < 3; ++t) {
            adz_tensor *g = adz_full(ADZ_SHAPE(20), 2, ADZ_F64);
            adz_tensor_data_f64(g)[7] = t == 1 ? NAN : 2;
            adz_optimizer_zero_grad(adam);
            adz_backward(adz_sum(adz_mul(w, g), ADZ_ALL_DIMS, false));
            assert_int_equal(adz_optimizer_step(adam), ADZ_OK);
        }
        adz_state *kept = adz_state_new();
        assert_int_equal(adzi_optimizer_collect(adam, kept), ADZ_OK);
        const double *most = NULL;
        for (size_t i = 0; i < adz_state_count(kept); ++i) {
            if (strstr(adz_state_name(kept, i), "max_exp_avg_sq") != NULL) {
                most = adz_tensor_data_f64(adz_state_tensor(kept, i));
            }
        }
        assert_non_null(most);
        for (int i = 0; i < 20; ++i) {
            assert_true(isnan(most[i]) == (i == 7));
        }
        adz_state_free(&kept);
        adz_optimizer_free(&adam);
    }
}

/* Without a weight decay nothing is added to the gradient, not even 0 times an infinite weight. */
static void an_infinite_weight_stays(void **state)
{
    (void)state;
    adz_adam_options amsgrad = ADZ_ADAM_OPTIONS;
    amsgrad.amsgrad = true;
    for (int k = 0; k <= CASES; ++k) {
        adz_tensor *w = adz_requires_grad_(adz_full(ADZ_SHAPE(9), INFINITY, ADZ_F64), true);
        adz_optimizer *o =
            k < CASES ? cases[k].make(one(&w)) : adz_adam_new(one(&w), 0.1, &amsgrad);
        bool decays = adz_optimizer_get(o, 0, "weight_decay") != 0;
        adz_error_clear();
        if (!decays) {
            adz_tensor_set_grad(w, adz_ones(ADZ_SHAPE(9), ADZ_F64));
            assert_int_equal(adz_optimizer_step(o), ADZ_OK);
            assert_true(all_are(w, INFINITY));
        }
        adz_optimizer_free(&o);
    }
}

/* A rate of 0 for an average means: the last gradient alone. */
static void averages_may_be_of_one(void **state)
{
    (void)state;
    for (int k = 0; k < CASES; ++k) {
        adz_tensor *w = start(ADZ_F64);
        adz_optimizer *o = cases[k].make(one(&w));
        bool has = !isnan(adz_optimizer_get(o, 0, "beta1"));
        adz_error_clear();
        assert_true(!has || (adz_optimizer_set(o, 0, "beta1", 0) == ADZ_OK &&
                                adz_optimizer_set(o, 0, "beta2", 0) == ADZ_OK));
        adz_optimizer_free(&o);
    }
}

/* Of the approximated length rho of the average, 5 itself is still too short for PyTorch and long
 * enough for the annotated library. With this beta2, rho rises to 5 and then to what follows it. */
static void rectification_begins_at_five(void **state)
{
    (void)state;
    const double beta2 = nextafter(2.0 / 3, 1);
    for (int labml = 0; labml < 2; ++labml) {
        adz_tensor *w = adz_requires_grad_(adz_zeros(ADZ_SHAPE(1), ADZ_F64), true);
        adz_radam_options o = ADZ_RADAM_OPTIONS;
        adz_labml_radam_options l = ADZ_LABML_RADAM_OPTIONS;
        o.beta2 = l.beta2 = beta2;
        l.degenerated_to_sgd = true;
        adz_optimizer *radam =
            labml ? adz_labml_radam_new(one(&w), 1, &l) : adz_radam_new(one(&w), 1, &o);
        int below = 0, at = 0, above = 0;
        for (int t = 1; t <= 200; ++t) {
            double before = adz_item(w), rho;
            adz_optimizer_zero_grad(radam);
            adz_backward(adz_mul_number(w, 2));
            assert_int_equal(adz_optimizer_step(radam), ADZ_OK);
            double step = before - adz_item(w);
            adzi_radam_rectification(beta2, t, &rho);
            below += rho < 5 ? 1 : 0;
            at += rho == 5 ? 1 : 0;
            above += rho > 5 ? 1 : 0;
            /* Along the gradient over its size, or along the gradient itself. */
            bool rectified = labml ? rho >= 5 : rho > 5;
            assert_true(fabs(step - (rectified ? 1 : 2)) < 1e-6);
        }
        assert_true(below > 0 && at > 0 && above > 0);
        adz_optimizer_free(&radam);
    }
}

/* ---- refused memory ------------------------------------------------------------------------- */

/* Names and bits of an optimizer's state, its settings, and the parameters. */
typedef struct snapshot {
    char bytes[8192];
    size_t size;
} snapshot;

typedef struct attempt {
    const optimizer_case *c;
    adz_tensor *w[2];
    adz_optimizer *optimizer;
    snapshot before;
} attempt;

static void append(snapshot *s, const void *bytes, size_t size)
{
    assert_true(s->size + size <= sizeof s->bytes);
    memcpy(s->bytes + s->size, bytes, size);
    s->size += size;
}

static void take_snapshot(const attempt *a, snapshot *s)
{
    adz_state *state = adz_state_new();
    s->size = 0;
    assert_int_equal(adzi_optimizer_collect(a->optimizer, state), ADZ_OK);
    for (size_t i = 0; i < adz_state_count(state); ++i) {
        const adz_tensor *t = adz_state_tensor(state, i);
        append(s, adz_state_name(state, i), strlen(adz_state_name(state, i)));
        append(s, t->data, (size_t)t->numel * 8);
    }
    append(s, a->optimizer->groups[0].settings, sizeof a->optimizer->groups[0].settings);
    for (int k = 0; k < 2; ++k) {
        append(s, adz_tensor_data_f64(a->w[k]), N * sizeof(double));
    }
    adz_state_free(&state);
}

static adz_status try_step(void *user)
{
    return adz_optimizer_step(((attempt *)user)->optimizer);
}

static adz_status try_load(void *user)
{
    return load(((attempt *)user)->optimizer, "kept");
}

static adz_status try_make(void *user)
{
    attempt *a = user;
    adz_optimizer *o = a->c->make(adz_tensor_list_of(a->w, 2));
    adz_optimizer_free(&o);
    return adz_error_code();
}

static bool unchanged(void *user)
{
    static snapshot now;
    const attempt *a = user;
    take_snapshot(a, &now);
    return now.size == a->before.size && memcmp(now.bytes, a->before.bytes, now.size) == 0;
}

static void refused_memory_changes_nothing(void **state)
{
    (void)state;
    int points = 0;
    for (int k = 0; k < CASES; ++k) {
        static attempt a;
        a = (attempt){ .c = &cases[k], .w = { start(ADZ_F64), start(ADZ_F64) } };
        int made = refuse_each(try_make, NULL, &a);
        assert_true(made >= 3);
        a.optimizer = cases[k].make(adz_tensor_list_of(a.w, 2));
        give_gradient(a.w[0], 0);
        give_gradient(a.w[1], 1);
        take_snapshot(&a, &a.before);
        int stepped = refuse_each(try_step, unchanged, &a);
        assert_true(stepped >= 2); /* a state for each of the two at least */
        assert_false(unchanged(&a));
        assert_int_equal(save(a.optimizer, "kept"), ADZ_OK);
        take_steps(a.optimizer, a.w[0], 2, 3);
        take_snapshot(&a, &a.before);
        int loaded = refuse_each(try_load, unchanged, &a);
        assert_true(loaded > 10);
        assert_false(unchanged(&a));
        points += made + stepped + loaded;
        adz_optimizer_free(&a.optimizer);
    }
    printf("%d failure points\n", points);
}

/* ---- settings ------------------------------------------------------------------------------- */

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
    for (int k = 0; k < CASES; ++k) {
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
        adz_optimizer_free(&o);
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
    assert_null(adz_adam_new(adz_tensor_list_of(NULL, 0), 0.1, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "the list of parameters is empty");
}

/* The rate alone, where warmup leaves nothing to fall over and at the ends of a fall. */
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
        { 0, 0, 1, 0.2 }, /* one step is the least that a fall takes */
        { 5, 2, 6, 0.2 },
        { 0, 1e10, 1000, 2 },
    };
    for (size_t i = 0; i < sizeof rates / sizeof *rates; ++i) {
        double rate = adz_labml_adam_warmup_cosine_decay_rate(
            2, rates[i].warmup, rates[i].total, rates[i].step);
        assert_true(fabs(rate - rates[i].rate) < 1e-12);
    }
}

/* AdaBelief's moment goes by the library's name. */
static void a_belief_is_kept_as_a_variance(void **state)
{
    (void)state;
    adz_tensor *w = start(ADZ_F64);
    adz_labml_ada_belief_options options = ADZ_LABML_ADA_BELIEF_OPTIONS;
    options.amsgrad = true;
    adz_optimizer *o = adz_labml_ada_belief_new(one(&w), 0.1, &options);
    take_steps(o, w, 0, 1);
    adz_state *kept = adz_state_new();
    assert_int_equal(adzi_optimizer_collect(o, kept), ADZ_OK);
    static const char *const names[] = { "state.0.exp_avg", "state.0.exp_avg_var",
        "state.0.max_exp_avg_var", "state.0.step" };
    assert_int_equal(adz_state_count(kept), 4);
    for (size_t k = 0; k < 4; ++k) {
        size_t at = 0;
        while (at < 4 && strcmp(adz_state_name(kept, at), names[k]) != 0) {
            ++at;
        }
        assert_true(at < 4);
        double g = gradient_at(0, 0),
               value = adz_tensor_at(adz_state_tensor(kept, at), (int64_t[]){ 0 });
        assert_true(k != 1 || fabs(value - 0.001 * 0.81 * g * g) < 1e-15);
    }
    adz_state_free(&kept);
    adz_optimizer_free(&o);
}

/* The functions for other languages give what the macros give. */
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
        adz_optimizer_free(&a);                                             \
        adz_optimizer_free(&b);                                             \
        adz_optimizer_free(&c);                                             \
    } while (0)
    SAME_DEFAULTS(sgd, ADZ_SGD_OPTIONS);
    SAME_DEFAULTS(adam, ADZ_ADAM_OPTIONS);
    SAME_DEFAULTS(adamw, ADZ_ADAMW_OPTIONS);
    SAME_DEFAULTS(radam, ADZ_RADAM_OPTIONS);
    SAME_DEFAULTS(rmsprop, ADZ_RMSPROP_OPTIONS);
    SAME_DEFAULTS(adagrad, ADZ_ADAGRAD_OPTIONS);
    SAME_DEFAULTS(labml_adam, ADZ_LABML_ADAM_OPTIONS);
    SAME_DEFAULTS(labml_amsgrad, ADZ_LABML_AMSGRAD_OPTIONS);
    SAME_DEFAULTS(labml_radam, ADZ_LABML_RADAM_OPTIONS);
    SAME_DEFAULTS(labml_ada_belief, ADZ_LABML_ADA_BELIEF_OPTIONS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_follows_its_loop),
        TEST(each_in_f32_on_each_processor),
        TEST(threads_change_no_bit),
        TEST(groups_go_their_own_ways),
        TEST(steps_are_counted_for_each_parameter),
        TEST(a_nan_stays_where_it_is),
        TEST(state_continues_bit_for_bit),
        TEST(states_of_others_are_refused),
        TEST(incomplete_states_are_refused),
        TEST(a_state_may_be_asked_for_later),
        TEST(a_nan_stays_the_largest_square),
        TEST(an_infinite_weight_stays),
        TEST(averages_may_be_of_one),
        TEST(rectification_begins_at_five),
        TEST(refused_memory_changes_nothing),
        TEST(settings_are_refused),
        TEST(constructors_refuse),
        TEST(a_cosine_keeps_a_tenth),
        TEST(a_belief_is_kept_as_a_variance),
        TEST(defaults_are_the_same_both_ways),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
