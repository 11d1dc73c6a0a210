/* PReLU: the leaky ReLU whose slopes are learned.
 *
 *     y = x where x > 0, else weight x
 *
 * weight has one slope, or one for each channel, the second dimension of x. */
#include "adze/nn/activations.h"

#include "adze/nn/init.h"
#include "base/error.h"
#include "adze/options.h"
#include "nn/module.h"

typedef struct {
    adz_prelu_options o;
} prelu_state;

static const adz_field fields[] = {
    ADZ_FIELD(adz_prelu_options, num_parameters, .value = 1, ADZ_SIZE_FROM(1)),
    ADZ_FIELD(adz_prelu_options, init, .value = 0.25, ADZ_FINITE, .shown = ADZ_SHOWN_NEVER),
    ADZ_FIELD_PARAMETER_DTYPE(adz_prelu_options),
};

ADZ_OPTIONS_TABLE(adz_prelu_options, ADZ_PRELU_OPTIONS, fields)

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    return adz_prelu(x, adzi_parameter(self, 0));
}

static adz_status reset_parameters(adz_module *self)
{
    const prelu_state *state = self->state;
    adz_tensor *weight = adzi_parameter(self, 0);
    return adz_init_constant_(weight, state->o.init) != NULL ? ADZ_OK : adz_error_code();
}

static const adz_module_type prelu_type = {
    .size = sizeof(adz_module_type),
    .name = "PReLU",
    .forward = forward,
    .reset_parameters = reset_parameters,
    ADZI_MODULE_FIELDS(fields),
};

adz_module *adz_prelu_new(const adz_prelu_options *options)
{
    prelu_state s;
    if (!adz_options_take("adz_prelu_new", &adz_prelu_options_table, &s, options)) {
        return NULL;
    }
    adzi_build build = adzi_build_begin();
    adz_module *self = adzi_module_of(&prelu_type, &s, sizeof s);
    adz_tensor *slopes = adz_full(ADZ_SHAPE(s.o.num_parameters), s.o.init, s.o.dtype);
    return adzi_build_end(
        build, self, self != NULL && adz_module_add_parameter(self, "weight", slopes) != NULL);
}
