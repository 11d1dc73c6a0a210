/* Adam and AdamW, as in torch.optim. The formula is in adam.kernel.c. */
#include "adze/optim/adam.h"

#include "adze/ops/compare.h"
#include "adze/ops/math.h"
#include "base/error.h"
#include "adze/options.h"
#include "adze/optim/adam_family.h"
#include "optim/expressions.h"

KERNEL_TABLE_FLOAT(adam);
KERNEL_TABLE_FLOAT(ada_belief);

/* ---- shared by the Adam family -------------------------------------------------------------- */

void adz_adam_f32(const adz_update_call *call, int64_t begin, int64_t end)
{
    if (call != NULL) {
        KERNEL_FOR(adam, ADZ_F32)(call, begin, end);
    }
}

void adz_adam_f64(const adz_update_call *call, int64_t begin, int64_t end)
{
    if (call != NULL) {
        KERNEL_FOR(adam, ADZ_F64)(call, begin, end);
    }
}

void adz_ada_belief_f32(const adz_update_call *call, int64_t begin, int64_t end)
{
    if (call != NULL) {
        KERNEL_FOR(ada_belief, ADZ_F32)(call, begin, end);
    }
}

void adz_ada_belief_f64(const adz_update_call *call, int64_t begin, int64_t end)
{
    if (call != NULL) {
        KERNEL_FOR(ada_belief, ADZ_F64)(call, begin, end);
    }
}

/* The change of the parameter, step * m / (root * sqrt(square) + eps), which is subtracted from it.
 * The two other modes are chosen by the number MODE, because a plan replays both kinds of steps. */
static adz_tensor *moved(
    adz_tensor *kept, adz_tensor *m, adz_tensor *square, adz_tensor *const *n, bool modes)
{
    adz_tensor *root = adz_mul(adz_sqrt(square), n[ADZ_ADAM_N_ROOT]);
    adz_tensor *size = adz_add(root, n[ADZ_ADAM_N_EPS]), *mode = n[ADZ_ADAM_N_MODE];
    if (modes) {
        size = adz_masked_fill(size, adz_eq_number(mode, ADZ_ADAM_PLAIN), 1);
    }
    adz_tensor *w = adz_sub(kept, adz_div(adz_mul(n[ADZ_ADAM_N_STEP], m), size));
    return modes ? adz_where(adz_eq_number(mode, ADZ_ADAM_WAIT), kept, w) : w;
}

adz_status adz_adam_express(adz_tensor **results, const adz_update *u, const adz_adam_parts *parts)
{
    if (results == NULL || u == NULL || parts == NULL) {
        return adzi_error_null("adz_adam_express", results == NULL ? "results"
                                                   : u == NULL     ? "update"
                                                                   : "parts");
    }
    adz_tensor *const *n = u->numbers;
    if (n == NULL || u->states == NULL) {
        return adzi_error_null(
            "adz_adam_express", n == NULL ? "update->numbers" : "update->states");
    }
    adz_tensor *g =
        adzi_decayed_gradient(u, parts->maximizes, parts->decays ? n[ADZ_ADAM_N_DECAY] : NULL);
    adz_tensor *m = adzi_averaged(
        n[ADZ_ADAM_N_BETA1], u->states[ADZ_ADAM_EXP_AVG], n[ADZ_ADAM_N_ONE_MINUS_BETA1], g);
    adz_tensor *s = parts->belief ? adz_sub(g, m) : g;
    adz_tensor *square = adz_add(adz_mul(n[ADZ_ADAM_N_BETA2], u->states[ADZ_ADAM_EXP_AVG_SQ]),
        adz_mul(adz_mul(n[ADZ_ADAM_N_ONE_MINUS_BETA2], s), s));
    results[1 + ADZ_ADAM_EXP_AVG] = m;
    results[1 + ADZ_ADAM_EXP_AVG_SQ] = square;
    if (u->states[ADZ_ADAM_MAX_EXP_AVG_SQ] != ADZ_NONE) {
        square = adz_maximum(u->states[ADZ_ADAM_MAX_EXP_AVG_SQ], square);
        results[1 + ADZ_ADAM_MAX_EXP_AVG_SQ] = square;
    }
    square = parts->belief ? adz_add(square, n[ADZ_ADAM_N_EPS]) : square;
    adz_tensor *kept = parts->keeps ? adz_mul(n[ADZ_ADAM_N_KEEP], u->parameter) : u->parameter;
    results[0] = moved(kept, m, square, n, parts->modes);
    return ADZ_OK;
}

/* ---- Adam and AdamW ------------------------------------------------------------------------- */

/* The settings after the first ones. */
ADZ_C_TEXT(more_settings,
           enum { ADAM_AMSGRAD = ADZ_ADAM_FIRST_SETTINGS, ADAM_MAXIMIZE, ADAM_ALL_SETTINGS };)

static uint32_t needs(const double *settings)
{
    return settings[ADAM_AMSGRAD] != 0 ? ADZ_ADAM_NEEDS_THREE : ADZ_ADAM_NEEDS_TWO;
}

/* The numbers of both. AdamW's decay is `decoupled`: it shrinks the parameter and does not enter
 * the gradient. The bias corrections go into ROOT and STEP. */
ADZ_C_TEXT(
    any_text, static void adam_any_numbers(double *n, const adz_step_context *at, bool decoupled) {
        const double *s = at->settings;
        const double lr = s[ADZ_ADAM_LR];
        const double decay = s[ADZ_ADAM_WEIGHT_DECAY];
        adz_adam_numbers(n, at);
        n[ADZ_ADAM_N_KEEP] = decoupled ? 1 - lr * decay : 1;
        n[ADZ_ADAM_N_DECAY] = decoupled ? 0 : decay;
        n[ADZ_ADAM_N_SIGN] = s[ADAM_MAXIMIZE] != 0 ? -1 : 1;
        n[ADZ_ADAM_N_ROOT] = 1 / sqrt(1 - adz_moment_power(at, 1, s[ADZ_ADAM_BETA2]));
        n[ADZ_ADAM_N_STEP] = lr / (1 - adz_moment_power(at, 0, s[ADZ_ADAM_BETA1]));
    })

ADZ_C_TEXT(
    adam_text, static void adam_numbers(
                   double *n, const adz_step_context *at) { adam_any_numbers(n, at, false); })

ADZ_C_TEXT(
    adamw_text, static void adamw_numbers(
                    double *n, const adz_step_context *at) { adam_any_numbers(n, at, true); })

static adz_status express(adz_tensor **results, const adz_update *u, bool decoupled)
{
    const bool decays = adz_update_setting(u, ADZ_ADAM_WEIGHT_DECAY) != 0;
    const adz_adam_parts parts = {
        .maximizes = adz_update_setting(u, ADAM_MAXIMIZE) != 0,
        .decays = decays && !decoupled,
        .keeps = decays && decoupled,
    };
    return adz_adam_express(results, u, &parts);
}

static adz_status adam_update(adz_tensor **results, const adz_update *u)
{
    return express(results, u, false);
}

static adz_status adamw_update(adz_tensor **results, const adz_update *u)
{
    return express(results, u, true);
}

/* The type of Adam or AdamW, which differ in their decay only. */
#define ADAM_TYPE(NAME, CONSTRUCTOR, decay, function, NUMBERS, text)                      \
    {                                                                                     \
        .size = sizeof(adz_optimizer_type), .name = (NAME), .constructor = (CONSTRUCTOR), \
        .settings = { ADZ_ADAM_SETTINGS(adz_adam_options, 1e-8, decay),                   \
            ADZ_FIELD(adz_adam_options, amsgrad, .value = 0),                             \
            ADZ_FIELD(adz_adam_options, maximize, .value = 0) },                          \
        .states = { ADZ_ADAM_THREE_STATES }, .update = (function), .needs = needs,        \
        .numbers = (NUMBERS), .n_numbers = ADZ_ADAM_NUMBERS, .kernels = ADZ_ADAM_KERNELS, \
        .numbers_text = { ADZ_ADAM_TEXTS, more_settings, any_text, text },                \
    }

static const adz_optimizer_type adam_type =
    ADAM_TYPE("Adam", "adz_adam_new", 0, adam_update, adam_numbers, adam_text);
static const adz_optimizer_type adamw_type =
    ADAM_TYPE("AdamW", "adz_adamw_new", 0.01, adamw_update, adamw_numbers, adamw_text);

ADZ_OPTIONS_TABLE(adz_adam_options, ADZ_ADAM_OPTIONS, adam_type.settings)

adz_optimizer *adz_adam_new(adz_tensor_list parameters, double lr, const adz_adam_options *options)
{
    return adzi_optimizer_from(&adam_type, &adz_adam_options_table, parameters, lr, options);
}

ADZ_OPTIONS_TABLE(adz_adamw_options, ADZ_ADAMW_OPTIONS, adamw_type.settings)

adz_optimizer *adz_adamw_new(
    adz_tensor_list parameters, double lr, const adz_adamw_options *options)
{
    return adzi_optimizer_from(&adamw_type, &adz_adamw_options_table, parameters, lr, options);
}
