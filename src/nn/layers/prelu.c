/* PReLU: the leaky ReLU whose slopes are learned.
 *
 *     y = x where x > 0, else weight x
 *
 * weight has one slope, or one for each channel, the second dimension of x. */
#include "adze/nn/activations.h"

#include <math.h>
#include <stdio.h>

#include "adze/nn/init.h"
#include "base/error.h"
#include "adze/options.h"
#include "nn/module.h"

typedef struct {
    int64_t num_parameters;
    double init;
} prelu_state;

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    return adz_prelu(x, adzi_parameter(self, 0));
}

static adz_status reset_parameters(adz_module *self)
{
    const prelu_state *state = self->state;
    adz_tensor *weight = adzi_parameter(self, 0);
    return adz_init_constant_(weight, state->init) != NULL ? ADZ_OK : adz_error_code();
}

static size_t extra_repr(adz_module *self, char *buffer, size_t size)
{
    const prelu_state *state = self->state;
    return (size_t)snprintf(buffer, size, "num_parameters=%lld", (long long)state->num_parameters);
}

static const adz_module_type prelu_type = {
    .size = sizeof(adz_module_type),
    .name = "PReLU",
    .forward = forward,
    .reset_parameters = reset_parameters,
    .extra_repr = extra_repr,
};

ADZ_OPTIONS_INIT(adz_prelu_options_init, adz_prelu_options, ADZ_PRELU_OPTIONS)

adz_module *adz_prelu_new(const adz_prelu_options *options)
{
    static const char op[] = "adz_prelu_new";
    adz_prelu_options o = ADZ_PRELU_OPTIONS;
    if (!ADZ_OPTIONS_READ(op, ADZ_PRELU_OPTIONS, &o, options) ||
        !adz_check_parameter_dtype(op, o.dtype)) {
        return NULL;
    }
    if (o.num_parameters < 1 || !isfinite(o.init)) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT,
            "num_parameters is %lld and init %s, but must be 1 or more, and finite",
            (long long)o.num_parameters, adzi_text_number(o.init));
    }
    adzi_build build = adzi_build_begin();
    adz_module *self = adz_module_new(&prelu_type, sizeof(prelu_state));
    bool good = self != NULL;
    if (good) {
        *(prelu_state *)self->state = (prelu_state){ o.num_parameters, o.init };
        good = adz_module_add_parameter(
                   self, "weight", adz_full(ADZ_SHAPE(o.num_parameters), o.init, o.dtype)) != NULL;
    }
    return adzi_build_end(build, self, good);
}
