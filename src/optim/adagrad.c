/* Adagrad, as torch.optim.Adagrad. The formula is in adagrad.kernel.c. The rate of step t is
 * lr / (1 + (t - 1) lr_decay). */
#include "adze/optim/adagrad.h"

#include "optim/adagrad.h"
#include "optim/optimizer.h"
#include "tensor/copy.h"
#include "base/options.h"

KERNEL_TABLE_FLOAT(adagrad);

enum { LR, LR_DECAY, EPS, WEIGHT_DECAY, INITIAL, MAXIMIZE, SETTINGS }; /* settings */

static unsigned needs(const double *settings)
{
    (void)settings;
    return 1u;
}

static void numbers(const adzi_moment *at, void *out)
{
    const double *s = at->settings;
    *(adzi_adagrad_numbers *)out = (adzi_adagrad_numbers){
        .lr = s[LR] / (1 + (double)(at->step - 1) * s[LR_DECAY]),
        .eps = s[EPS],
        .decay = s[WEIGHT_DECAY],
        .sign = s[MAXIMIZE] != 0 ? -1 : 1,
    };
}

static void update(const adzi_update *u)
{
    if (u->fresh & 1u) {
        adzi_fill(u->state[0], u->settings[INITIAL]);
    }
    const adzi_adagrad_args args = {
        .w = u->parameter, .dw = u->gradient, .sum = u->state[0]->data, .numbers = u->numbers
    };
    adzi_launch(KERNEL_FOR(adagrad, u->dtype), &args, u->count, ADZI_OPTIM_GRAIN);
}

static const adzi_optimizer_type adagrad_type = {
    .name = "Adagrad",
    .n_settings = SETTINGS,
    .settings = { { "lr", ADZI_NOT_NEGATIVE }, { "lr_decay", ADZI_NOT_NEGATIVE },
        { "eps", ADZI_NOT_NEGATIVE }, { "weight_decay", ADZI_NOT_NEGATIVE },
        { "initial_accumulator_value", ADZI_NOT_NEGATIVE }, { "maximize", ADZI_FLAG } },
    .n_states = 1,
    .states = { "sum" },
    .counts_steps = true,
    .needs = needs,
    .numbers = numbers,
    .update = update,
};

ADZI_OPTIONS_INIT(adz_adagrad_options_init, adz_adagrad_options, ADZ_ADAGRAD_OPTIONS)

adz_optimizer *adz_adagrad_new(
    adz_tensor_list parameters, double lr, const adz_adagrad_options *options)
{
    adz_adagrad_options o = ADZ_ADAGRAD_OPTIONS;
    if (!ADZI_OPTIONS_READ("adz_adagrad_new", ADZ_ADAGRAD_OPTIONS, &o, options)) {
        return NULL;
    }
    double settings[SETTINGS] = { lr, o.lr_decay, o.eps, o.weight_decay,
        o.initial_accumulator_value, o.maximize };
    return adzi_optimizer_new("adz_adagrad_new", &adagrad_type, parameters, settings);
}
