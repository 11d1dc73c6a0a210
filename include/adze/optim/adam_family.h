/**
 * @file adam_family.h
 * Relatives of Adam of your own. They share Adam's states, formula and kernels, and compute their
 * own coefficients of the formula:
 *
 *     g = sign dw + decay w
 *     m = beta1 m + (1 - beta1) g
 *     s = g, or g - m with `belief`
 *     v = beta2 v + (1 - beta2) s^2
 *     w = keep w - step m / (root sqrt(v) + eps)
 *
 * With the third state, the largest v so far stands in the last line. With `belief`, eps is added
 * to v under the root, too.
 *
 * @code
 * // Adam whose rate falls with the square root of the number of steps.
 * ADZ_C_TEXT(falling_text, static void falling_numbers(double *n, const adz_step_context *at) {
 *     adz_adam_numbers(n, at);
 *     const double beta1 = at->settings[ADZ_ADAM_BETA1], beta2 = at->settings[ADZ_ADAM_BETA2];
 *     const double lr = at->settings[ADZ_ADAM_LR] / sqrt((double)at->step);
 *     n[ADZ_ADAM_N_ROOT] = 1 / sqrt(1 - adz_moment_power(at, 1, beta2));
 *     n[ADZ_ADAM_N_STEP] = lr / (1 - adz_moment_power(at, 0, beta1));
 * })
 *
 * static adz_status falling_update(adz_tensor **results, const adz_update *u)
 * {
 *     const adz_adam_parts parts = { false, false, false, false, false };
 *     return adz_adam_express(results, u, &parts);
 * }
 *
 * static const adz_optimizer_type falling_type = {
 *     .size = sizeof(adz_optimizer_type),
 *     .name = "FallingAdam",
 *     .settings = { ADZ_ADAM_SETTINGS(adz_adam_options, 1e-8, 0) },
 *     .states = { ADZ_ADAM_TWO_STATES },
 *     .update = falling_update,
 *     .numbers = falling_numbers,
 *     .n_numbers = ADZ_ADAM_NUMBERS,
 *     .kernels = ADZ_ADAM_KERNELS,
 *     .numbers_text = { ADZ_ADAM_TEXTS, falling_text },
 * };
 *
 * adz_module *model = adz_linear_new(4, 1, NULL);
 * adz_optimizer *falling =
 *     adz_optimizer_new(&falling_type, adz_module_parameters(model), NULL, 0);
 * adz_optimizer_release(&falling);
 * adz_module_release(&model);
 * @endcode
 */
#ifndef ADZE_OPTIM_ADAM_FAMILY_H
#define ADZE_OPTIM_ADAM_FAMILY_H

#include <math.h>

#include "adze/optim/type.h"
#include "adze/real.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- settings and states -------------------------------------------------------------------- */

/** The numbers of the first settings of a type. Settings of its own begin at
 * ADZ_ADAM_FIRST_SETTINGS. */
ADZ_C_TEXT(adz_adam_settings_text, enum { ADZ_ADAM_LR, ADZ_ADAM_BETA1, ADZ_ADAM_BETA2, ADZ_ADAM_EPS,
                                       ADZ_ADAM_WEIGHT_DECAY, ADZ_ADAM_FIRST_SETTINGS };)

/** The first settings of a type, which are members of the struct `options`, with the defaults of
 * epsilon and of the weight decay. */
#define ADZ_ADAM_SETTINGS(options, its_eps, decay)                       \
    ADZ_SETTING("lr", 1e-3, ADZ_FINITE_FROM(0)),                         \
        ADZ_FIELD(options, beta1, .value = 0.9, ADZ_BELOW(0, 1)),        \
        ADZ_FIELD(options, beta2, .value = 0.999, ADZ_BELOW(0, 1)),      \
        ADZ_FIELD(options, eps, .value = (its_eps), ADZ_FINITE_FROM(0)), \
        ADZ_FIELD(options, weight_decay, .value = (decay), ADZ_FINITE_FROM(0))

/** The states of a type: m, v, and the largest v so far. */
enum { ADZ_ADAM_EXP_AVG, ADZ_ADAM_EXP_AVG_SQ, ADZ_ADAM_MAX_EXP_AVG_SQ };

/** The first two states of a type, with PyTorch's names. */
#define ADZ_ADAM_TWO_STATES \
    { "exp_avg", 0 },       \
    {                       \
        "exp_avg_sq", 0     \
    }
/** All three states of a type. Those of AMSGrad use the last one, if their `needs` says so. */
#define ADZ_ADAM_THREE_STATES \
    ADZ_ADAM_TWO_STATES,      \
    {                         \
        "max_exp_avg_sq", 0   \
    }
/** What `needs` of a type returns: m and v, or all three states. */
enum { ADZ_ADAM_NEEDS_TWO = 3u, ADZ_ADAM_NEEDS_THREE = 7u };

/* ---- numbers -------------------------------------------------------------------------------- */

/** The values of the number ADZ_ADAM_N_MODE. Every mode updates the states and applies the decay.
 *
 *     ADAPTIVE  w = keep w - step m / (root sqrt(v) + eps)
 *     PLAIN     w = keep w - step m
 *     WAIT      w = keep w
 *
 * The numbers of the formula follow. */
ADZ_C_TEXT(adz_adam_names_text, enum { ADZ_ADAM_ADAPTIVE, ADZ_ADAM_PLAIN, ADZ_ADAM_WAIT }; enum {
    ADZ_ADAM_N_BETA1, ADZ_ADAM_N_ONE_MINUS_BETA1, ADZ_ADAM_N_BETA2, ADZ_ADAM_N_ONE_MINUS_BETA2,
    ADZ_ADAM_N_KEEP, ADZ_ADAM_N_DECAY, ADZ_ADAM_N_SIGN, ADZ_ADAM_N_ROOT, ADZ_ADAM_N_EPS,
    ADZ_ADAM_N_STEP, ADZ_ADAM_N_MODE, ADZ_ADAM_NUMBERS };)

/**
 * Fills the numbers: the betas and epsilon from the settings, no decay, no correction of the bias,
 * STEP 0 and the mode ADAPTIVE. The `numbers` of a type calls it first, and then sets STEP and what
 * else differs.
 *
 * @param n   ADZ_ADAM_NUMBERS numbers, which are filled
 * @param at  the step, with the settings
 */
ADZ_C_TEXT(
    adz_adam_numbers_text,
    static inline void adz_adam_numbers(double *n, const adz_step_context *at) {
        const double *s = at->settings;
        n[ADZ_ADAM_N_BETA1] = s[ADZ_ADAM_BETA1];
        n[ADZ_ADAM_N_ONE_MINUS_BETA1] = 1 - s[ADZ_ADAM_BETA1];
        n[ADZ_ADAM_N_BETA2] = s[ADZ_ADAM_BETA2];
        n[ADZ_ADAM_N_ONE_MINUS_BETA2] = 1 - s[ADZ_ADAM_BETA2];
        n[ADZ_ADAM_N_KEEP] = n[ADZ_ADAM_N_SIGN] = n[ADZ_ADAM_N_ROOT] = 1;
        n[ADZ_ADAM_N_DECAY] = n[ADZ_ADAM_N_STEP] = 0;
        n[ADZ_ADAM_N_EPS] = s[ADZ_ADAM_EPS];
        n[ADZ_ADAM_N_MODE] = ADZ_ADAM_ADAPTIVE;
    })

/** The texts that `numbers_text` of a type begins with. */
#define ADZ_ADAM_TEXTS adz_adam_names_text, adz_adam_settings_text, adz_adam_numbers_text

/**
 * RAdam's rectification: the factor by which the adaptive step is shortened. It depends on `rho`,
 * the effective number of gradients in v after `steps` steps, which is stored.
 *
 *     rho_inf = 2 / (1 - beta2) - 1,   rho = rho_inf - 2 steps beta2^steps / (1 - beta2^steps)
 *     r = sqrt((rho - 4) (rho - 2) rho_inf / ((rho_inf - 4) (rho_inf - 2) rho))
 *
 * @param beta2  in [0, 1)
 * @param steps  1 or more
 * @param rho    filled with rho
 * @return       r, or 0 for rho <= 4, where the variance of the step is not defined
 */
ADZ_C_TEXT(
    adz_radam_text,
    static inline double adz_radam_rectification(double beta2, double steps, double *rho) {
        const double last = 2 / (1 - beta2) - 1;
        const double power = adz_real_pow(beta2, steps);
        *rho = last - 2 * steps * power / (1 - power);
        return *rho > 4 ? sqrt((*rho - 4) * (*rho - 2) * last / ((last - 4) * (last - 2) * *rho))
                        : 0;
    })

/* ---- the update ----------------------------------------------------------------------------- */

/** Which parts of the formula a type uses. Parts that are left out would not change the values, but
 * would take operators. */
typedef struct adz_adam_parts {
    bool maximizes; /**< SIGN is -1 */
    bool decays;    /**< DECAY is not 0 */
    bool keeps;     /**< KEEP is not 1 */
    bool belief;    /**< s is g - m, as in AdaBelief */
    bool modes;     /**< MODE is not always ADAPTIVE */
} adz_adam_parts;

/**
 * The formula in operators, for the `update` of a type.
 *
 * @param results  as the type's `update` got them
 * @param update   as the type's `update` got it; its numbers are those of the enumeration
 * @param parts    which parts of the formula to use
 * @return         ADZ_OK, or ADZ_ERR_NULL recorded
 */
ADZ_API adz_status adz_adam_express(
    adz_tensor **results, const adz_update *update, const adz_adam_parts *parts);

/**
 * The formula as a kernel for f32. ADZ_ADAM_KERNELS names it.
 *
 * @param call   the arrays of an update; NULL changes nothing
 * @param begin  the first element
 * @param end    the element behind the last one
 */
ADZ_API void adz_adam_f32(const adz_update_call *call, int64_t begin, int64_t end);

/**
 * The formula as a kernel for f64. ADZ_ADAM_KERNELS names it.
 *
 * @param call   the arrays of an update; NULL changes nothing
 * @param begin  the first element
 * @param end    the element behind the last one
 */
ADZ_API void adz_adam_f64(const adz_update_call *call, int64_t begin, int64_t end);

/**
 * The formula with `belief` as a kernel for f32. ADZ_ADA_BELIEF_KERNELS names it.
 *
 * @param call   the arrays of an update; NULL changes nothing
 * @param begin  the first element
 * @param end    the element behind the last one
 */
ADZ_API void adz_ada_belief_f32(const adz_update_call *call, int64_t begin, int64_t end);

/**
 * The formula with `belief` as a kernel for f64. ADZ_ADA_BELIEF_KERNELS names it.
 *
 * @param call   the arrays of an update; NULL changes nothing
 * @param begin  the first element
 * @param end    the element behind the last one
 */
ADZ_API void adz_ada_belief_f64(const adz_update_call *call, int64_t begin, int64_t end);

/** The `kernels` of a type of the family. */
#define ADZ_ADAM_KERNELS                                    \
    {                                                       \
        [ADZ_F32] = adz_adam_f32, [ADZ_F64] = adz_adam_f64, \
    }
/** The `kernels` of a type with `belief`. */
#define ADZ_ADA_BELIEF_KERNELS                                          \
    {                                                                   \
        [ADZ_F32] = adz_ada_belief_f32, [ADZ_F64] = adz_ada_belief_f64, \
    }

#ifdef __cplusplus
}
#endif

#endif
