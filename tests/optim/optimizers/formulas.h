/* The formulas of the optimizers as plain loops over N parameters. */
#ifndef ADZE_TESTS_OPTIM_OPTIMIZERS_FORMULAS_H
#define ADZE_TESTS_OPTIM_OPTIMIZERS_FORMULAS_H

#include "../../nn.h"

enum { N = 37, STEPS = 12, ROWS = 3 };

/* ---- the formulas --------------------------------------------------------------------------- */

typedef struct adam_rule {
    double lr, beta1, beta2, eps;
    double decay, keep; /* `decay` times the parameter is added to the gradient; `keep` multiplies
                           the parameter */
    bool amsgrad, maximize, optimized;
} adam_rule;

/* Updates the moments. Returns m; *square becomes the second moment, or its maximum for AMSGrad. */
static inline double moments(
    const adam_rule *r, double w, double g, double *s[ROWS], int i, double *square)
{
    g = (r->maximize ? -g : g) + r->decay * w;
    s[0][i] = r->beta1 * s[0][i] + (1 - r->beta1) * g;
    s[1][i] = r->beta2 * s[1][i] + (1 - r->beta2) * g * g;
    s[2][i] = fmax(s[2][i], s[1][i]);
    *square = r->amsgrad ? s[2][i] : s[1][i];
    return s[0][i];
}

static inline void adam_loop(const adam_rule *r, double *w, const double *g, double *s[ROWS], int t)
{
    for (int i = 0; i < N; ++i) {
        double square, m = moments(r, w[i], g[i], s, i, &square);
        double c1 = 1 - pow(r->beta1, t), c2 = 1 - pow(r->beta2, t);
        w[i] *= r->keep;
        w[i] -= r->optimized ? r->lr * sqrt(c2) / c1 * m / (sqrt(square) + r->eps)
                             : r->lr * (m / c1) / (sqrt(square / c2) + r->eps);
    }
}

/* RAdam rectifies from rho = 5 on, or above it if `above` is set. Before that, it steps along m, or
 * waits if `waits` is set. */
static inline void radam_loop(
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

/* AdaBelief. If `rectify` is set, it rectifies from rho = 5 on. Before that, it steps along m, or
 * waits if `waits` is set. */
static inline void belief_loop(const adam_rule *r, bool rectify, bool waits, double *w,
    const double *g, double *s[ROWS], int t)
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

static inline void rmsprop_loop(
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

static inline void adagrad_loop(
    const adz_adagrad_options *o, double lr, double *w, const double *g, double *s[ROWS], int t)
{
    for (int i = 0; i < N; ++i) {
        double d = (o->maximize ? -g[i] : g[i]) + o->weight_decay * w[i];
        s[0][i] = (t == 1 ? o->initial_accumulator_value : s[0][i]) + d * d;
        w[i] -= lr / (1 + (t - 1) * o->lr_decay) * d / (sqrt(s[0][i]) + o->eps);
    }
}

static inline void adadelta_loop(
    const adz_adadelta_options *o, double lr, double *w, const double *g, double *s[ROWS])
{
    for (int i = 0; i < N; ++i) {
        double d = (o->maximize ? -g[i] : g[i]) + o->weight_decay * w[i];
        s[0][i] = o->rho * s[0][i] + (1 - o->rho) * d * d;
        d *= sqrt(s[1][i] + o->eps) / sqrt(s[0][i] + o->eps);
        s[1][i] = o->rho * s[1][i] + (1 - o->rho) * d * d;
        w[i] -= lr * d;
    }
}

static inline void adamax_loop(
    const adz_adamax_options *o, double lr, double *w, const double *g, double *s[ROWS], int t)
{
    for (int i = 0; i < N; ++i) {
        double d = (o->maximize ? -g[i] : g[i]) + o->weight_decay * w[i];
        s[0][i] = o->beta1 * s[0][i] + (1 - o->beta1) * d;
        s[1][i] = fmax(o->beta2 * s[1][i], fabs(d) + o->eps);
        w[i] -= lr / (1 - pow(o->beta1, t)) * s[0][i] / s[1][i];
    }
}

/* s[2][0] is the product of all mu. */
static inline void nadam_loop(
    const adz_nadam_options *o, double lr, double *w, const double *g, double *s[ROWS], int t)
{
    double mu = o->beta1 * (1 - 0.5 * pow(0.96, t * o->momentum_decay));
    double next = o->beta1 * (1 - 0.5 * pow(0.96, (t + 1) * o->momentum_decay));
    double product = s[2][0] = (t == 1 ? 1 : s[2][0]) * mu;
    for (int i = 0; i < N; ++i) {
        double decay = o->decoupled_weight_decay ? 0 : o->weight_decay;
        double d = (o->maximize ? -g[i] : g[i]) + decay * w[i];
        s[0][i] = o->beta1 * s[0][i] + (1 - o->beta1) * d;
        s[1][i] = o->beta2 * s[1][i] + (1 - o->beta2) * d * d;
        double size = sqrt(s[1][i] / (1 - pow(o->beta2, t))) + o->eps;
        w[i] *= o->decoupled_weight_decay ? 1 - lr * o->weight_decay : 1;
        w[i] -= lr * (1 - mu) / (1 - product) * d / size;
        w[i] -= lr * next / (1 - product * next) * s[0][i] / size;
    }
}

/* s[0] is the averaged parameter, s[1][0] is eta and s[1][1] is mu. */
static inline void asgd_loop(
    const adz_asgd_options *o, double lr, double *w, const double *g, double *s[ROWS], int t)
{
    double eta = t == 1 ? lr : s[1][0], mu = t == 1 ? 1 : s[1][1];
    for (int i = 0; i < N; ++i) {
        double d = (o->maximize ? -g[i] : g[i]) + o->weight_decay * w[i];
        w[i] = (1 - o->lambd * eta) * w[i] - eta * d;
        s[0][i] += mu * (w[i] - s[0][i]);
    }
    s[1][0] = lr / pow(1 + o->lambd * lr * t, o->alpha);
    s[1][1] = 1 / fmax(1, t - o->t0);
}

static inline void rprop_loop(
    const adz_rprop_options *o, double lr, double *w, const double *g, double *s[ROWS], int t)
{
    for (int i = 0; i < N; ++i) {
        double d = o->maximize ? -g[i] : g[i], turn = d * s[0][i];
        double size = (t == 1 ? lr : s[1][i]) * (turn > 0      ? o->etaplus
                                                    : turn < 0 ? o->etaminus
                                                               : 1);
        s[1][i] = fmin(fmax(size, o->step_size_min), o->step_size_max);
        s[0][i] = turn < 0 ? 0 : d;
        w[i] -= s[0][i] > 0 ? s[1][i] : s[0][i] < 0 ? -s[1][i] : 0;
    }
}

/* Of a vector, whose variances are not factored. */
static inline void adafactor_loop(
    const adz_adafactor_options *o, double lr, double *w, const double *g, double *s[ROWS], int t)
{
    double fresh = pow(t, o->beta2_decay), eps = o->eps1 < 0 ? 0x1p-52 : o->eps1;
    double size = 0, move = 0, u[N];
    for (int i = 0; i < N; ++i) {
        s[0][i] += fresh * (g[i] * g[i] - s[0][i]);
        u[i] = (o->maximize ? -g[i] : g[i]) / sqrt(fmax(s[0][i], eps * eps));
        size += w[i] * w[i] / N;
        move += u[i] * u[i] / N;
    }
    double rate = fmin(lr, 1 / sqrt(t)) * fmax(o->eps2, sqrt(size)) / fmax(1, sqrt(move) / o->d);
    for (int i = 0; i < N; ++i) {
        w[i] = (1 - lr * o->weight_decay) * w[i] - rate * u[i];
    }
}

#endif
