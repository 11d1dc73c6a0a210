#include "adze/optim/rmsprop.h"

#include "optim/optimizer.h"
#include "optim/rmsprop.h"
#include "base/options.h"

KERNEL_TABLE_FLOAT(rmsprop);

enum { LR, ALPHA, EPS, WEIGHT_DECAY, MOMENTUM, CENTERED, MAXIMIZE, SETTINGS };
enum { SQUARE, BUFFER, MEAN, STATES };

static unsigned needs(const double *settings)
{
    return 1u << SQUARE | (settings[MOMENTUM] != 0 ? 1u << BUFFER : 0) |
           (settings[CENTERED] != 0 ? 1u << MEAN : 0);
}

static void numbers(const adzi_moment *at, void *out)
{
    const double *s = at->settings;
    *(adzi_rmsprop_numbers *)out = (adzi_rmsprop_numbers){
        .lr = s[LR],
        .alpha = s[ALPHA],
        .eps = s[EPS],
        .momentum = s[MOMENTUM],
        .decay = s[WEIGHT_DECAY],
        .sign = s[MAXIMIZE] != 0 ? -1 : 1,
    };
}

static void update(const adzi_update *u)
{
    const adzi_rmsprop_args args = {
        .w = u->parameter,
        .dw = u->gradient,
        .v = u->state[SQUARE]->data,
        .mean = u->needs & 1u << MEAN ? u->state[MEAN]->data : NULL,
        .m = u->needs & 1u << BUFFER ? u->state[BUFFER]->data : NULL,
        .numbers = u->numbers,
    };
    adzi_launch(KERNEL_FOR(rmsprop, u->dtype), &args, u->count, ADZI_OPTIM_GRAIN);
}

static const adzi_optimizer_type rmsprop_type = {
    .name = "RMSprop",
    .n_settings = SETTINGS,
    .settings = { { "lr", ADZI_NOT_NEGATIVE }, { "alpha", ADZI_NOT_NEGATIVE },
        { "eps", ADZI_NOT_NEGATIVE }, { "weight_decay", ADZI_NOT_NEGATIVE },
        { "momentum", ADZI_NOT_NEGATIVE }, { "centered", ADZI_FLAG }, { "maximize", ADZI_FLAG } },
    .n_states = STATES,
    .states = { "square_avg", "momentum_buffer", "grad_avg" },
    .counts_steps = true,
    .needs = needs,
    .numbers = numbers,
    .update = update,
};

ADZI_OPTIONS_INIT(adz_rmsprop_options_init, adz_rmsprop_options, ADZ_RMSPROP_OPTIONS)

adz_optimizer *adz_rmsprop_new(
    adz_tensor_list parameters, double lr, const adz_rmsprop_options *options)
{
    adz_rmsprop_options o = ADZ_RMSPROP_OPTIONS;
    if (!ADZI_OPTIONS_READ("adz_rmsprop_new", ADZ_RMSPROP_OPTIONS, &o, options)) {
        return NULL;
    }
    double settings[SETTINGS] = { lr, o.alpha, o.eps, o.weight_decay, o.momentum, o.centered,
        o.maximize };
    return adzi_optimizer_new("adz_rmsprop_new", &rmsprop_type, parameters, settings);
}
