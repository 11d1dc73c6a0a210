/* What the optimizers of the Adam family share: the first settings, the states, the numbers, the
 * expression and the kernels. */
#ifndef ADZI_OPTIM_ADAM_FAMILY_H
#define ADZI_OPTIM_ADAM_FAMILY_H

#include <math.h>

#include "optim/adam.h"
#include "optim/optimizer.h"
#include "tensor/kernel/real.h"

/* The first settings of every optimizer of the family, in this order. */
ADZ_C_TEXT(adzi_adam_settings, enum { ADZI_ADAM_LR, ADZI_ADAM_BETA1, ADZI_ADAM_BETA2, ADZI_ADAM_EPS,
                                   ADZI_ADAM_WEIGHT_DECAY, ADZI_ADAM_SETTINGS };)
/* The names, defaults and ranges of these settings. */
#define ADZI_ADAM_FIRST_SETTINGS(eps, weight_decay)                                       \
    { "lr", 1e-3, ADZ_RANGE_NOT_NEGATIVE }, { "beta1", 0.9, ADZ_RANGE_FRACTION },         \
        { "beta2", 0.999, ADZ_RANGE_FRACTION }, { "eps", (eps), ADZ_RANGE_NOT_NEGATIVE }, \
    {                                                                                     \
        "weight_decay", (weight_decay), ADZ_RANGE_NOT_NEGATIVE                            \
    }

/* The states of the family, named as in PyTorch. */
#define ADZI_ADAM_TWO_STATES \
    { "exp_avg", 0 },        \
    {                        \
        "exp_avg_sq", 0      \
    }
#define ADZI_ADAM_THREE_STATES \
    ADZI_ADAM_TWO_STATES,      \
    {                          \
        "max_exp_avg_sq", 0    \
    }
/* The states as the bits of `needs`: m and v, with or without the largest v. */
enum { ADZI_ADAM_MOMENTS = 3u, ADZI_ADAM_MOMENTS_AND_MOST = 7u };

/** Numbers with betas and epsilon from the settings, no decay, no bias correction and the mode
 * ADAPTIVE. The caller sets STEP and whatever else differs. */
ADZ_C_TEXT(
    adzi_adam_text, static inline void adzi_adam_numbers_of(double *n, const adz_moment *at) {
        const double *s = at->settings;
        n[ADZI_ADAM_N_BETA1] = s[ADZI_ADAM_BETA1];
        n[ADZI_ADAM_N_FRESH1] = 1 - s[ADZI_ADAM_BETA1];
        n[ADZI_ADAM_N_BETA2] = s[ADZI_ADAM_BETA2];
        n[ADZI_ADAM_N_FRESH2] = 1 - s[ADZI_ADAM_BETA2];
        n[ADZI_ADAM_N_KEEP] = n[ADZI_ADAM_N_SIGN] = n[ADZI_ADAM_N_ROOT] = 1;
        n[ADZI_ADAM_N_DECAY] = n[ADZI_ADAM_N_STEP] = 0;
        n[ADZI_ADAM_N_EPS] = s[ADZI_ADAM_EPS];
        n[ADZI_ADAM_N_MODE] = ADZI_ADAM_ADAPTIVE;
    })

/** The texts that the numbers of the family begin with. */
#define ADZI_ADAM_TEXTS adzi_adam_names, adzi_adam_settings, adzi_adam_text

/** Which parts of the family's formula an optimizer uses. What is left out has no effect on the
 * values, but spares operators. */
typedef struct adzi_adam_parts {
    bool maximizes; /* SIGN is -1 */
    bool decays;    /* DECAY is not 0 */
    bool keeps;     /* KEEP is not 1 */
    bool belief;    /* AdaBelief's form of v */
    bool modes;     /* MODE is not always ADAPTIVE */
} adzi_adam_parts;

/** The family's formula, as an `update` of a type. */
adz_status adzi_adam_express(
    adz_tensor **results, const adz_update *u, const adzi_adam_parts *parts);

/** The kernels of the family, and those of AdaBelief, for `kernels` of a type. */
void adzi_adam_f32(const adz_update_call *call, int64_t begin, int64_t end);
void adzi_adam_f64(const adz_update_call *call, int64_t begin, int64_t end);
void adzi_ada_belief_f32(const adz_update_call *call, int64_t begin, int64_t end);
void adzi_ada_belief_f64(const adz_update_call *call, int64_t begin, int64_t end);
#define ADZI_ADAM_KERNELS                                     \
    {                                                         \
        [ADZ_F32] = adzi_adam_f32, [ADZ_F64] = adzi_adam_f64, \
    }

/**
 * RAdam's rectification: the factor by which the adaptive step is shortened. It depends on `rho`,
 * the effective number of gradients in the second moment after `steps` steps, which is stored.
 *
 *     rho_inf = 2 / (1 - beta2) - 1,   rho = rho_inf - 2 steps beta2^steps / (1 - beta2^steps)
 *     r = sqrt((rho - 4) (rho - 2) rho_inf / ((rho_inf - 4) (rho_inf - 2) rho))
 *
 * The result is 0 for rho <= 4, where the variance of the step is not defined.
 */
ADZ_C_TEXT(
    adzi_radam_text,
    static inline double adzi_radam_rectification(double beta2, double steps, double *rho) {
        const double last = 2 / (1 - beta2) - 1;
        const double power = adzi_real_pow(beta2, steps);
        *rho = last - 2 * steps * power / (1 - power);
        return *rho > 4 ? sqrt((*rho - 4) * (*rho - 2) * last / ((last - 4) * (last - 2) * *rho))
                        : 0;
    })

#endif
