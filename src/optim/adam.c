/* Adam and AdamW, as in torch.optim. The formula is in adam.kernel.c. */
#include "adze/optim/adam.h"

#include <math.h>

#include "optim/adam_family.h"
#include "base/error.h"
#include "base/options.h"

KERNEL_TABLE_FLOAT(adam);

/* ---- shared by the Adam family -------------------------------------------------------------- */

adzi_adam_numbers adzi_adam_numbers_of(const adzi_moment *at)
{
    const double *s = at->settings;
    return (adzi_adam_numbers){ .beta1 = s[ADZI_ADAM_BETA1],
        .beta2 = s[ADZI_ADAM_BETA2],
        .keep = 1,
        .sign = 1,
        .root = 1,
        .eps = s[ADZI_ADAM_EPS],
        .mode = ADZI_ADAM_ADAPTIVE };
}

void adzi_adam_update(const adzi_update *u)
{
    const adzi_adam_args args = { .w = u->parameter,
        .dw = u->gradient,
        .m = u->state[0]->data,
        .v = u->state[1]->data,
        .most = u->needs == ADZI_ADAM_MOMENTS_AND_MOST ? u->state[2]->data : NULL,
        .numbers = u->numbers };
    adzi_launch(KERNEL_FOR(adam, u->dtype), &args, u->count, ADZI_OPTIM_GRAIN);
}

/* ---- Adam and AdamW ------------------------------------------------------------------------- */

enum { AMSGRAD = ADZI_ADAM_SETTINGS, MAXIMIZE, SETTINGS };

static unsigned needs(const double *settings)
{
    return settings[AMSGRAD] != 0 ? ADZI_ADAM_MOMENTS_AND_MOST : ADZI_ADAM_MOMENTS;
}

/* The numbers of both. AdamW's decay is `decoupled`: it shrinks the parameter and does not enter
 * the gradient. The bias corrections go into `root` and `step`. */
static void numbers(const adzi_moment *at, void *out, bool decoupled)
{
    const double *s = at->settings;
    double lr = s[ADZI_ADAM_LR], decay = s[ADZI_ADAM_WEIGHT_DECAY];
    adzi_adam_numbers n = adzi_adam_numbers_of(at);
    n.keep = decoupled ? 1 - lr * decay : 1;
    n.decay = decoupled ? 0 : decay;
    n.sign = s[MAXIMIZE] != 0 ? -1 : 1;
    n.root = 1 / sqrt(1 - adzi_moment_power(at, 1, n.beta2));
    n.step = lr / (1 - adzi_moment_power(at, 0, n.beta1));
    *(adzi_adam_numbers *)out = n;
}

static void adam_numbers(const adzi_moment *at, void *out)
{
    numbers(at, out, false);
}

static void adamw_numbers(const adzi_moment *at, void *out)
{
    numbers(at, out, true);
}

/* The type of Adam or AdamW, which differ in their name and in their numbers only. */
#define ADAM_TYPE(NAME, NUMBERS)                                                              \
    {                                                                                         \
        .name = (NAME), .n_settings = SETTINGS,                                               \
        .settings = { ADZI_ADAM_NAMES, { "amsgrad", ADZI_FLAG }, { "maximize", ADZI_FLAG } }, \
        .n_states = 3, .states = ADZI_ADAM_STATES, .counts_steps = true, .needs = needs,      \
        .numbers = (NUMBERS), .update = adzi_adam_update,                                     \
    }

static const adzi_optimizer_type adam_type = ADAM_TYPE("Adam", adam_numbers);
static const adzi_optimizer_type adamw_type = ADAM_TYPE("AdamW", adamw_numbers);

ADZI_OPTIONS_INIT(adz_adam_options_init, adz_adam_options, ADZ_ADAM_OPTIONS)

adz_optimizer *adz_adam_new(adz_tensor_list parameters, double lr, const adz_adam_options *options)
{
    adz_adam_options o = ADZ_ADAM_OPTIONS;
    if (!ADZI_OPTIONS_READ("adz_adam_new", ADZ_ADAM_OPTIONS, &o, options)) {
        return NULL;
    }
    double settings[SETTINGS] = { lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.amsgrad,
        o.maximize };
    return adzi_optimizer_new("adz_adam_new", &adam_type, parameters, settings);
}

ADZI_OPTIONS_INIT(adz_adamw_options_init, adz_adamw_options, ADZ_ADAMW_OPTIONS)

adz_optimizer *adz_adamw_new(
    adz_tensor_list parameters, double lr, const adz_adamw_options *options)
{
    adz_adamw_options o = ADZ_ADAMW_OPTIONS;
    if (!ADZI_OPTIONS_READ("adz_adamw_new", ADZ_ADAMW_OPTIONS, &o, options)) {
        return NULL;
    }
    double settings[SETTINGS] = { lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.amsgrad,
        o.maximize };
    return adzi_optimizer_new("adz_adamw_new", &adamw_type, parameters, settings);
}
