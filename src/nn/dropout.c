#include "adze/nn/dropout.h"

#include "adze/ops/dropout.h"
#include "nn/module.h"
#include "tensor/error.h"
#include "tensor/options.h"

typedef struct {
    double p;
    adz_generator *generator;
} dropout_state;

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    const dropout_state *state = self->state;
    return adz_dropout(x, state->p, self->training, state->generator);
}

static size_t extra_repr(adz_module *self, char *buffer, size_t size)
{
    const dropout_state *state = self->state;
    return (size_t)snprintf(buffer, size, "p=%s, inplace=False", adzi_text_float(state->p));
}

static const adz_module_type dropout_type = {
    .size = sizeof(adz_module_type),
    .name = "Dropout",
    .forward = forward,
    .extra_repr = extra_repr,
};

void adz_dropout_options_init(adz_dropout_options *options, size_t size)
{
    adz_dropout_options all = ADZ_DROPOUT_OPTIONS;
    adzi_options_fill(options, size, &all, sizeof all);
}

adz_module *adz_dropout_new(double p, const adz_dropout_options *options)
{
    adz_dropout_options o = ADZ_DROPOUT_OPTIONS;
    adzi_options_read(&o, sizeof o, options);
    if (!(p >= 0 && p <= 1)) {
        return adzi_fail("adz_dropout_new", ADZ_ERR_ARGUMENT, "p is %s, but must be in [0, 1]",
            adzi_text_number(p));
    }
    adz_module *self = adz_module_new(&dropout_type, sizeof(dropout_state));
    if (self != NULL) {
        *(dropout_state *)self->state = (dropout_state){ p, o.generator };
    }
    return self;
}
