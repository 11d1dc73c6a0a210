/* Adafactor, as torch.optim.Adafactor. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "adze/ops/compare.h"
#include "adze/ops/linalg.h"
#include "adze/ops/math.h"
#include "adze/ops/reduction.h"
#include "adze/optim/adagrad.h"
#include "adze/real.h"
#include "optim/expressions.h"

ADZ_C_TEXT(adafactor_names,
           enum { ADAFACTOR_LR, ADAFACTOR_BETA2_DECAY, ADAFACTOR_EPS1, ADAFACTOR_EPS2, ADAFACTOR_D,
               ADAFACTOR_WEIGHT_DECAY, ADAFACTOR_MAXIMIZE, ADAFACTOR_SETTINGS };
           enum { ADAFACTOR_N_FRESH, ADAFACTOR_N_RATE, ADAFACTOR_N_EPS2, ADAFACTOR_N_D,
               ADAFACTOR_N_KEEP, ADAFACTOR_NUMBERS };)

enum { ROW_VAR, COL_VAR, VARIANCE }; /* states */

ADZ_C_TEXT(
    adafactor_text, static void adafactor_numbers(double *n, const adz_step_context *at) {
        const double *s = at->settings;
        const double step = (double)at->step;
        n[ADAFACTOR_N_FRESH] = adz_real_pow(step, s[ADAFACTOR_BETA2_DECAY]);
        n[ADAFACTOR_N_RATE] = fmin(s[ADAFACTOR_LR], 1 / sqrt(step));
        n[ADAFACTOR_N_EPS2] = s[ADAFACTOR_EPS2];
        n[ADAFACTOR_N_D] = s[ADAFACTOR_D];
        n[ADAFACTOR_N_KEEP] = 1 - s[ADAFACTOR_LR] * s[ADAFACTOR_WEIGHT_DECAY];
    })

static adz_tensor *rms(adz_tensor *x)
{
    return adz_sqrt(adz_mean(adz_square(x), ADZ_ALL_DIMS, ADZ_DROPDIM));
}

/* The larger one of x and a floor, which also stands for NaN. */
static adz_tensor *at_least(adz_tensor *x, adz_tensor *floor)
{
    return adz_where(adz_gt(x, floor), x, floor);
}

/* old + fresh (x - old) */
static adz_tensor *averaged(const adz_update *u, adz_tensor *old, adz_tensor *x)
{
    return adz_add(old, adz_mul(u->numbers[ADAFACTOR_N_FRESH], adz_sub(x, old)));
}

/* The variances of all elements. The new states become results. */
static adz_tensor *variance(adz_tensor **results, const adz_update *u, adz_tensor *g, double eps)
{
    adz_tensor *squares = adz_square(g);
    if (u->states[VARIANCE] != ADZ_NONE) {
        return results[1 + VARIANCE] = averaged(u, u->states[VARIANCE], squares);
    }
    adz_tensor *of_rows = adz_mean(squares, ADZ_DIMS(-1), ADZ_KEEPDIM);
    adz_tensor *of_columns = adz_mean(squares, ADZ_DIMS(-2), ADZ_KEEPDIM);
    adz_tensor *row = results[1 + ROW_VAR] = averaged(u, u->states[ROW_VAR], of_rows);
    adz_tensor *column = results[1 + COL_VAR] = averaged(u, u->states[COL_VAR], of_columns);
    adz_tensor *mean = adz_clamp(adz_mean(row, ADZ_DIMS(-2), ADZ_KEEPDIM), eps, INFINITY);
    return adz_div(adz_matmul(row, column), mean);
}

static adz_status update(adz_tensor **results, const adz_update *u)
{
    adz_tensor *const *n = u->numbers;
    adz_tensor *w = u->parameter;
    adz_tensor *g = adzi_decayed_gradient(u, adz_update_setting(u, ADAFACTOR_MAXIMIZE) != 0, NULL);
    const double given = adz_update_setting(u, ADAFACTOR_EPS1);
    const double eps = given >= 0                       ? given
                       : adz_tensor_dtype(w) == ADZ_F32 ? (double)FLT_EPSILON
                                                        : DBL_EPSILON;
    adz_tensor *rate = adz_mul(n[ADAFACTOR_N_RATE], at_least(rms(w), n[ADAFACTOR_N_EPS2]));
    if (adz_update_setting(u, ADAFACTOR_WEIGHT_DECAY) != 0) {
        w = adz_mul(n[ADAFACTOR_N_KEEP], w);
    }
    adz_tensor *v = adz_clamp(variance(results, u, g, eps), eps * eps, INFINITY);
    adz_tensor *move = adz_div(g, adz_sqrt(v)), *one = adz_ones_like(rate);
    adz_tensor *shortened = at_least(adz_div(rms(move), n[ADAFACTOR_N_D]), one);
    results[0] = adz_sub(w, adz_mul(adz_div(rate, shortened), move));
    return ADZ_OK;
}

static int state_shape(int state, const adz_tensor *parameter, int64_t *sizes)
{
    const int rank = parameter->rank;
    if (rank < 2) {
        return state == VARIANCE ? ADZ_STATE_LIKE_PARAMETER : ADZ_STATE_ABSENT;
    }
    if (state == VARIANCE) {
        return ADZ_STATE_ABSENT;
    }
    memcpy(sizes, parameter->sizes, (size_t)rank * sizeof *sizes);
    sizes[state == ROW_VAR ? rank - 1 : rank - 2] = 1;
    return rank;
}

static const adz_optimizer_type adafactor_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "Adafactor",
    .constructor = "adz_adafactor_new",
    .settings = { ADZ_SETTING("lr", 0.01, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_adafactor_options, beta2_decay, .value = -0.8, .bounds = ADZ_BOUNDS_ABOVE,
            .least = -INFINITY, .most = 0),
        ADZ_FIELD(adz_adafactor_options, eps1, .value = -1, ADZ_FINITE),
        ADZ_FIELD(adz_adafactor_options, eps2, .value = 1e-3, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_adafactor_options, d, .value = 1, ADZ_FINITE_FROM(1)),
        ADZ_FIELD(adz_adafactor_options, weight_decay, .value = 0, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_adafactor_options, maximize, .value = 0) },
    .states = { { "row_var", 0 }, { "col_var", 0 }, { "variance", 0 } },
    .update = update,
    .numbers = adafactor_numbers,
    .numbers_text = { adafactor_names, adafactor_text },
    .n_numbers = ADAFACTOR_NUMBERS,
    .whole = true,
    .state_shape = state_shape,
};

ADZ_OPTIONS_TABLE(adz_adafactor_options, ADZ_ADAFACTOR_OPTIONS, adafactor_type.settings)

adz_optimizer *adz_adafactor_new(
    adz_tensor_list parameters, double lr, const adz_adafactor_options *options)
{
    return adzi_optimizer_from(
        &adafactor_type, &adz_adafactor_options_table, parameters, lr, options);
}
