/* Rectified Adam, as PyTorch has it. */
#include "adze/optim/radam.h"

#include <math.h>

#include "optim/adam_family.h"
#include "base/options.h"

enum { DECOUPLED = ADZI_ADAM_SETTINGS, MAXIMIZE, SETTINGS };

double adzi_radam_rectification(double beta2, double steps, double *rho)
{
    double last = 2 / (1 - beta2) - 1, power = pow(beta2, steps);
    *rho = last - 2 * steps * power / (1 - power);
    return *rho > 4 ? sqrt((*rho - 4) * (*rho - 2) * last / ((last - 4) * (last - 2) * *rho)) : 0;
}

static unsigned needs(const double *settings)
{
    (void)settings;
    return ADZI_ADAM_MOMENTS;
}

static void numbers(const adzi_moment *at, void *out)
{
    const double *s = at->settings;
    double steps = (double)at->step, lr = s[ADZI_ADAM_LR], decay = s[ADZI_ADAM_WEIGHT_DECAY], rho;
    adzi_adam_numbers n = adzi_adam_numbers_of(at);
    double rectification = adzi_radam_rectification(n.beta2, steps, &rho);
    n.keep = s[DECOUPLED] != 0 ? 1 - lr * decay : 1;
    n.decay = s[DECOUPLED] != 0 ? 0 : decay;
    n.sign = s[MAXIMIZE] != 0 ? -1 : 1;
    n.step = lr / (1 - adzi_moment_power(at, 0, n.beta1));
    if (rho > 5) { /* epsilon joins the uncorrected root */
        n.step *= rectification * sqrt(1 - adzi_moment_power(at, 1, n.beta2));
    } else {
        n.mode = ADZI_ADAM_PLAIN;
    }
    *(adzi_adam_numbers *)out = n;
}

static const adzi_optimizer_type radam_type = {
    .name = "RAdam",
    .n_settings = SETTINGS,
    .settings = { ADZI_ADAM_NAMES, { "decoupled_weight_decay", ADZI_FLAG },
        { "maximize", ADZI_FLAG } },
    .n_states = 2,
    .states = ADZI_ADAM_STATES,
    .counts_steps = true,
    .needs = needs,
    .numbers = numbers,
    .update = adzi_adam_update,
};

ADZI_OPTIONS_INIT(adz_radam_options_init, adz_radam_options, ADZ_RADAM_OPTIONS)

adz_optimizer *adz_radam_new(
    adz_tensor_list parameters, double lr, const adz_radam_options *options)
{
    adz_radam_options o = ADZ_RADAM_OPTIONS;
    if (!ADZI_OPTIONS_READ("adz_radam_new", ADZ_RADAM_OPTIONS, &o, options)) {
        return NULL;
    }
    double settings[SETTINGS] = { lr, o.beta1, o.beta2, o.eps, o.weight_decay,
        o.decoupled_weight_decay, o.maximize };
    return adzi_optimizer_new("adz_radam_new", &radam_type, parameters, settings);
}
