#include "adze/optim/sgd.h"

#include "optim/optimizer.h"
#include "optim/sgd.h"
#include "base/error.h"
#include "base/options.h"

KERNEL_TABLE_FLOAT(sgd);

enum { LR, MOMENTUM, DAMPENING, WEIGHT_DECAY, NESTEROV, MAXIMIZE, SETTINGS };

static adz_status check(const char *op, const double *settings)
{
    if (settings[DAMPENING] != settings[DAMPENING] ||
        (settings[NESTEROV] != 0 && (settings[MOMENTUM] == 0 || settings[DAMPENING] != 0))) {
        return adzi_error(op, ADZ_ERR_ARGUMENT,
            "momentum %s, dampening %s: nesterov needs a momentum and no dampening",
            adzi_text_number(settings[MOMENTUM]), adzi_text_number(settings[DAMPENING]));
    }
    return ADZ_OK;
}

static unsigned needs(const double *settings)
{
    return settings[MOMENTUM] != 0 ? 1u : 0u;
}

static void numbers(const adzi_moment *at, void *out)
{
    const double *s = at->settings;
    const bool first = at->fresh & 1u;
    *(adzi_sgd_numbers *)out = (adzi_sgd_numbers){
        .lr = s[LR],
        .momentum = s[MOMENTUM],
        .fresh_part = first ? 1 : 1 - s[DAMPENING], /* at first m is 0, and becomes g */
        .weight_decay = s[WEIGHT_DECAY],
        .sign = s[MAXIMIZE] != 0 ? -1 : 1,
        .nesterov = s[NESTEROV] != 0,
    };
}

static void update(const adzi_update *u)
{
    const adzi_sgd_args args = { .w = u->parameter,
        .dw = u->gradient,
        .m = u->needs != 0 ? u->state[0]->data : NULL,
        .numbers = u->numbers };
    adzi_launch(KERNEL_FOR(sgd, u->dtype), &args, u->count, ADZI_OPTIM_GRAIN);
}

static const adzi_optimizer_type sgd_type = {
    .name = "SGD",
    .n_settings = SETTINGS,
    .settings = { { "lr", ADZI_NOT_NEGATIVE }, { "momentum", ADZI_NOT_NEGATIVE },
        { "dampening", ADZI_OWN_RANGE }, { "weight_decay", ADZI_NOT_NEGATIVE },
        { "nesterov", ADZI_FLAG }, { "maximize", ADZI_FLAG } },
    .n_states = 1,
    .states = { "momentum_buffer" },
    .check = check,
    .needs = needs,
    .numbers = numbers,
    .update = update,
};

ADZI_OPTIONS_INIT(adz_sgd_options_init, adz_sgd_options, ADZ_SGD_OPTIONS)

adz_optimizer *adz_sgd_new(adz_tensor_list parameters, double lr, const adz_sgd_options *options)
{
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    if (!ADZI_OPTIONS_READ("adz_sgd_new", ADZ_SGD_OPTIONS, &o, options)) {
        return NULL;
    }
    double settings[SETTINGS] = { lr, o.momentum, o.dampening, o.weight_decay, o.nesterov,
        o.maximize };
    return adzi_optimizer_new("adz_sgd_new", &sgd_type, parameters, settings);
}
