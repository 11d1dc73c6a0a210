#include "adze/nn/activations.h"

#include "nn/module.h"
#include "tensor/error.h"
#include "tensor/options.h"

/* ---- ReLU ----------------------------------------------------------------------------------- */

typedef struct {
    bool inplace;
} relu_state;

static adz_tensor *relu_forward(adz_module *self, adz_tensor *x)
{
    const relu_state *state = self->state;
    return state->inplace ? adz_relu_(x) : adz_relu(x);
}

static size_t relu_repr(adz_module *self, char *buffer, size_t size)
{
    const relu_state *state = self->state;
    return (size_t)snprintf(buffer, size, "%s", state->inplace ? "inplace=True" : "");
}

static const adz_module_type relu_type = {
    .size = sizeof(adz_module_type),
    .name = "ReLU",
    .forward = relu_forward,
    .extra_repr = relu_repr,
};

void adz_relu_options_init(adz_relu_options *options, size_t size)
{
    adz_relu_options all = ADZ_RELU_OPTIONS;
    adzi_options_fill(options, size, &all, sizeof all);
}

adz_module *adz_relu_new(const adz_relu_options *options)
{
    adz_relu_options o = ADZ_RELU_OPTIONS;
    adzi_options_read(&o, sizeof o, options);
    adz_module *self = adz_module_new(&relu_type, sizeof(relu_state));
    if (self != NULL) {
        *(relu_state *)self->state = (relu_state){ o.inplace };
    }
    return self;
}

/* ---- LeakyReLU ------------------------------------------------------------------------------ */

typedef struct {
    double negative_slope;
} leaky_relu_state;

static adz_tensor *leaky_relu_forward(adz_module *self, adz_tensor *x)
{
    const leaky_relu_state *state = self->state;
    return adz_leaky_relu(x, state->negative_slope);
}

static size_t leaky_relu_repr(adz_module *self, char *buffer, size_t size)
{
    const leaky_relu_state *state = self->state;
    return (size_t)snprintf(
        buffer, size, "negative_slope=%s", adzi_text_float(state->negative_slope));
}

static const adz_module_type leaky_relu_type = {
    .size = sizeof(adz_module_type),
    .name = "LeakyReLU",
    .forward = leaky_relu_forward,
    .extra_repr = leaky_relu_repr,
};

adz_module *adz_leaky_relu_new(double negative_slope)
{
    adz_module *self = adz_module_new(&leaky_relu_type, sizeof(leaky_relu_state));
    if (self != NULL) {
        *(leaky_relu_state *)self->state = (leaky_relu_state){ negative_slope };
    }
    return self;
}

/* ---- Softmax -------------------------------------------------------------------------------- */

typedef struct {
    int dim;
} softmax_state;

static adz_tensor *softmax_forward(adz_module *self, adz_tensor *x)
{
    const softmax_state *state = self->state;
    return adz_softmax(x, state->dim);
}

static size_t softmax_repr(adz_module *self, char *buffer, size_t size)
{
    const softmax_state *state = self->state;
    return (size_t)snprintf(buffer, size, "dim=%d", state->dim);
}

static const adz_module_type softmax_type = {
    .size = sizeof(adz_module_type),
    .name = "Softmax",
    .forward = softmax_forward,
    .extra_repr = softmax_repr,
};

adz_module *adz_softmax_new(int dim)
{
    adz_module *self = adz_module_new(&softmax_type, sizeof(softmax_state));
    if (self != NULL) {
        *(softmax_state *)self->state = (softmax_state){ dim };
    }
    return self;
}
