/* RReLU: the leaky ReLU whose slopes are drawn in training. In evaluation all have the slope in the
 * middle. */
#include "adze/nn/activations.h"

#include "base/error.h"
#include "adze/options.h"
#include "nn/module.h"

typedef struct {
    adz_rrelu_options o;
} rrelu_state;

static const adz_field fields[] = {
    ADZ_FIELD(adz_rrelu_options, lower, .value = 1.0 / 8, ADZ_FINITE),
    ADZ_FIELD(adz_rrelu_options, upper, .value = 1.0 / 3, ADZ_FINITE),
};

ADZ_OPTIONS_TABLE(adz_rrelu_options, ADZ_RRELU_OPTIONS, fields)

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    const adz_rrelu_options *o = &((const rrelu_state *)self->state)->o;
    return adz_rrelu(x, o->lower, o->upper, self->training, o->generator);
}

static const adz_module_type rrelu_type = {
    .size = sizeof(adz_module_type),
    .name = "RReLU",
    .forward = forward,
    ADZI_MODULE_FIELDS(fields),
};

adz_module *adz_rrelu_new(const adz_rrelu_options *options)
{
    rrelu_state s;
    if (!adz_options_take("adz_rrelu_new", &adz_rrelu_options_table, &s, options)) {
        return NULL;
    }
    if (s.o.lower > s.o.upper) {
        return adzi_fail("adz_rrelu_new", ADZ_ERR_ARGUMENT,
            "lower is %s and upper %s, but lower must not be above upper",
            adzi_text_number(s.o.lower), adzi_text_number(s.o.upper));
    }
    return adzi_module_of(&rrelu_type, &s, sizeof s);
}
