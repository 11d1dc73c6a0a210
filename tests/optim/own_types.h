/* Optimizers of a program's own, for tests. */
#ifndef ADZE_TESTS_OPTIM_OWN_TYPES_H
#define ADZE_TESTS_OPTIM_OWN_TYPES_H

#include "adze/adze.h"

/* Lion (Chen et al., 2023), by its expression alone:
 *     w = (1 - lr decay) w - lr sign(beta1 m + (1 - beta1) g),  m = beta2 m + (1 - beta2) g */
enum { LION_LR, LION_BETA1, LION_BETA2, LION_DECAY };

static inline adz_tensor *lion_mix(adz_tensor *m, adz_tensor *g, adz_tensor *beta)
{
    return adz_add(g, adz_mul(beta, adz_sub(m, g)));
}

static inline adz_status lion_update(adz_tensor **results, const adz_update *u)
{
    adz_tensor *w = u->parameter, *g = u->gradient, *m = u->states[0];
    adz_tensor *lr = u->numbers[LION_LR], *decay = u->numbers[LION_DECAY];
    adz_tensor *c = lion_mix(m, g, u->numbers[LION_BETA1]), *zero = adz_zeros_like(lr);
    adz_tensor *down = adz_where(adz_lt_number(c, 0), adz_neg(lr), zero);
    adz_tensor *step = adz_where(adz_gt_number(c, 0), lr, down);
    step = adz_where(adz_isnan(c), c, step);
    results[0] = adz_sub(adz_sub(w, adz_mul(adz_mul(lr, decay), w)), step);
    results[1] = lion_mix(m, g, u->numbers[LION_BETA2]);
    return ADZ_OK;
}

static const adz_optimizer_type lion_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "Lion",
    .settings = { ADZ_SETTING("lr", 1e-4, ADZ_FINITE_FROM(0)),
        ADZ_SETTING("beta1", 0.9, ADZ_BELOW(0, 1)), ADZ_SETTING("beta2", 0.99, ADZ_BELOW(0, 1)),
        ADZ_SETTING("weight_decay", 0, ADZ_FINITE_FROM(0)) },
    .states = { { "exp_avg", 0 } },
    .update = lion_update,
};

/* A step along the mean of all gradients, with a kernel for f32 and the expression for f64:
 *     s = s + g,  at first s = start
 *     w = w - (lr / t) s,  t = 1, 2, ...; with `ascend` w + (lr / t) s */
ADZ_C_TEXT(
    mean_text, enum { MEAN_LR, MEAN_START, MEAN_ASCEND }; enum { MEAN_STEP, MEAN_NUMBERS };
    static inline void mean_numbers(double *numbers, const adz_step_context *at) {
        const double lr = at->settings[MEAN_LR] / (double)at->step;
        numbers[MEAN_STEP] = at->settings[MEAN_ASCEND] != 0 ? -lr : lr;
    })

static inline adz_status mean_update(adz_tensor **results, const adz_update *u)
{
    results[1] = adz_add(u->states[0], u->gradient);
    results[0] = adz_sub(u->parameter, adz_mul(u->numbers[MEAN_STEP], results[1]));
    return ADZ_OK;
}

static inline void mean_f32(const adz_update_call *call, int64_t begin, int64_t end)
{
    float *w = (float *)call->parameter, *s = (float *)call->states[0];
    const float *g = (const float *)call->gradient, step = (float)call->numbers[MEAN_STEP];
    for (int64_t i = begin; i < end; ++i) {
        s[i] += g[i];
        w[i] -= step * s[i];
    }
}

static const adz_optimizer_type mean_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "Mean",
    .settings = { ADZ_SETTING("lr", 0.1, ADZ_FINITE_FROM(0)),
        ADZ_SETTING("start", 0.25, ADZ_FINITE_FROM(0)), ADZ_SETTING_FLAG("ascend", 0) },
    .states = { { "sum", MEAN_START } },
    .update = mean_update,
    .numbers = mean_numbers,
    .n_numbers = MEAN_NUMBERS,
    .kernels = { [ADZ_F32] = mean_f32 },
    .numbers_text = { mean_text },
};

#endif
