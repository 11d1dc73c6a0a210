/* Optimizers whose rates are scheduled, and the comparison of rates. */
#ifndef ADZE_TESTS_OPTIM_SCHEDULES_RATES_H
#define ADZE_TESTS_OPTIM_SCHEDULES_RATES_H

#include "optim/optimizer.h"
#include "../../nn.h"

static const double pi = 3.14159265358979323846;

static inline adz_tensor *parameter(void)
{
    return adz_requires_grad_(adz_ones(ADZ_SHAPE(2), ADZ_F64), true);
}

static inline adz_optimizer *sgd_of(double lr)
{
    adz_tensor *w = parameter();
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.momentum = 0.5;
    return adz_sgd_new(adz_tensor_list_of(&w, 1), lr, &o);
}

/* An optimizer of two groups with different rates. */
static inline adz_optimizer *two_groups(double lr, double other)
{
    adz_optimizer *o = sgd_of(lr);
    adz_tensor *v = parameter();
    assert_int_equal(adz_optimizer_add_param_group(o, adz_tensor_list_of(&v, 1)), 1);
    assert_int_equal(adz_optimizer_set(o, 1, "lr", other), ADZ_OK);
    return o;
}

static inline bool near(double a, double b)
{
    bool good = fabs(a - b) <= 1e-14 * fmax(1, fabs(b));
    if (!good) {
        printf("%.17g is not %.17g\n", a, b);
    }
    return good;
}

/* Steps a scheduler through n epochs. In each, the rate of group 0 must be the listed one. Frees
 * the scheduler. */
static inline void expect_rates(adz_scheduler *s, adz_optimizer *o, const double *rates, int n)
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
    adz_scheduler_release(&s);
}

#endif
