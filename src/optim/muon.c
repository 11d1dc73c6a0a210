/* Momentum with orthogonal steps, as torch.optim.Muon. */
#include <math.h>

#include "adze/ops/linalg.h"
#include "adze/ops/math.h"
#include "adze/ops/reduction.h"
#include "adze/ops/shape.h"
#include "adze/optim/sgd.h"
#include "base/error.h"
#include "optim/expressions.h"

ADZ_C_TEXT(muon_names,
           enum { MUON_LR, MUON_WEIGHT_DECAY, MUON_MOMENTUM, MUON_NESTEROV, MUON_NS_A, MUON_NS_B,
               MUON_NS_C, MUON_EPS, MUON_NS_STEPS, MUON_ADJUST_LR_FN, MUON_SETTINGS };
           enum { MUON_N_LR, MUON_N_KEEP, MUON_N_MOMENTUM, MUON_N_FRESH, MUON_NUMBERS };)

ADZ_C_TEXT(
    muon_text, static void muon_numbers(double *n, const adz_step_context *at) {
        const double *s = at->settings;
        n[MUON_N_LR] = s[MUON_LR];
        n[MUON_N_KEEP] = 1 - s[MUON_LR] * s[MUON_WEIGHT_DECAY];
        n[MUON_N_MOMENTUM] = s[MUON_MOMENTUM];
        n[MUON_N_FRESH] = 1 - s[MUON_MOMENTUM];
    })

/* The nearly orthogonal matrix that Newton-Schulz iterations make of u [N, D]. */
static adz_tensor *orthogonal(const adz_update *at, adz_tensor *u)
{
    const bool tall = u->sizes[0] > u->sizes[1];
    const double a = adz_update_setting(at, MUON_NS_A), b = adz_update_setting(at, MUON_NS_B);
    const double c = adz_update_setting(at, MUON_NS_C), eps = adz_update_setting(at, MUON_EPS);
    const int steps = (int)adz_update_setting(at, MUON_NS_STEPS);
    adz_tensor *x = tall ? adz_transpose(u, 0, 1) : u;
    x = adz_div(x, adz_clamp(adz_norm(x, 2, ADZ_ALL_DIMS, ADZ_DROPDIM), eps, INFINITY));
    for (int i = 0; i < steps && x != NULL; ++i) {
        adz_tensor *gram = adz_matmul(x, adz_transpose(x, 0, 1));
        adz_tensor *factor = adz_addmm(gram, gram, gram, b, c);
        x = adz_addmm(x, factor, x, a, 1);
    }
    return tall ? adz_transpose(x, 0, 1) : x;
}

/* What the rate of a matrix [rows, columns] is multiplied by. */
static double adjustment(int fn, double rows, double columns)
{
    return fn == ADZ_ADJUST_LR_MATCH_RMS_ADAMW      ? 0.2 * sqrt(fmax(rows, columns))
           : fn == ADZ_ADJUST_LR_SPECTRAL_UNCLAMPED ? sqrt(rows / columns)
                                                    : sqrt(fmax(1, rows / columns));
}

static adz_status update(adz_tensor **results, const adz_update *u)
{
    adz_tensor *const *n = u->numbers;
    adz_tensor *w = u->parameter, *momentum = n[MUON_N_MOMENTUM], *fresh = n[MUON_N_FRESH];
    adz_tensor *m = adzi_averaged(momentum, u->states[0], fresh, u->gradient);
    const bool nesterov = adz_update_setting(u, MUON_NESTEROV) != 0;
    const int fn = (int)adz_update_setting(u, MUON_ADJUST_LR_FN);
    const bool empty = w->numel == 0;
    adz_tensor *move = nesterov ? adzi_averaged(momentum, m, fresh, u->gradient) : m;
    move = empty ? move : orthogonal(u, move);
    const double factor = empty ? 1 : adjustment(fn, (double)w->sizes[0], (double)w->sizes[1]);
    results[0] =
        adz_sub(adz_mul(n[MUON_N_KEEP], w), adz_mul(adz_mul_number(n[MUON_N_LR], factor), move));
    results[1] = m;
    return ADZ_OK;
}

static adz_status check_parameter(const char *op, const adz_tensor *parameter, size_t i)
{
    if (parameter->rank == 2) {
        return ADZ_OK;
    }
    return adzi_error(op, ADZ_ERR_SHAPE,
        "parameter %zu%s is no matrix [N, D], which Muon is for; train it by adz_adamw_new", i,
        adzi_text_shape(parameter));
}

static const adz_optimizer_type muon_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "Muon",
    .constructor = "adz_muon_new",
    .settings = { ADZ_SETTING("lr", 1e-3, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_muon_options, weight_decay, .value = 0.1, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_muon_options, momentum, .value = 0.95, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_muon_options, nesterov, .value = 1),
        ADZ_FIELD(adz_muon_options, ns_a, .value = 3.4445, ADZ_FINITE),
        ADZ_FIELD(adz_muon_options, ns_b, .value = -4.775, ADZ_FINITE),
        ADZ_FIELD(adz_muon_options, ns_c, .value = 2.0315, ADZ_FINITE),
        ADZ_FIELD(adz_muon_options, eps, .value = 1e-7, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_muon_options, ns_steps, .value = 5, ADZ_CLOSED(0, 99)),
        ADZ_FIELD_AS(adz_muon_options, adjust_lr_fn, "adjust_lr_fn", ADZ_FIELD_INT, .value = 0,
            ADZ_CLOSED(0, 2)) },
    .states = { { "momentum_buffer", 0 } },
    .update = update,
    .numbers = muon_numbers,
    .numbers_text = { muon_names, muon_text },
    .n_numbers = MUON_NUMBERS,
    .whole = true,
    .uncounted = true,
    .check_parameter = check_parameter,
};

ADZ_OPTIONS_TABLE(adz_muon_options, ADZ_MUON_OPTIONS, muon_type.settings)

adz_optimizer *adz_muon_new(adz_tensor_list parameters, double lr, const adz_muon_options *options)
{
    return adzi_optimizer_from(&muon_type, &adz_muon_options_table, parameters, lr, options);
}
