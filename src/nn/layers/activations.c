#include "nn/layers/activations.h"

#include "adze/nn/containers.h"
#include "adze/ops/math.h"
#include "autograd/ops/activation/bias_activation.h"
#include "nn/layers/containers.h"
#include "nn/module.h"
#include "base/error.h"
#include "base/options.h"

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
    adzi_options_fill(__func__, options, size, &all, sizeof all);
}

adz_module *adz_relu_new(const adz_relu_options *options)
{
    adz_relu_options o = ADZ_RELU_OPTIONS;
    if (!adzi_options_read("adz_relu_new", "ADZ_RELU_OPTIONS", &o, sizeof o, options)) {
        return NULL;
    }
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

/* ---- GELU ----------------------------------------------------------------------------------- */

typedef struct {
    adz_gelu_approximate approximate;
} gelu_state;

static adz_tensor *gelu_forward(adz_module *self, adz_tensor *x)
{
    const gelu_state *state = self->state;
    return adz_gelu(x, state->approximate);
}

static size_t gelu_repr(adz_module *self, char *buffer, size_t size)
{
    const gelu_state *state = self->state;
    return (size_t)snprintf(
        buffer, size, "approximate='%s'", state->approximate == ADZ_GELU_TANH ? "tanh" : "none");
}

static const adz_module_type gelu_type = {
    .size = sizeof(adz_module_type),
    .name = "GELU",
    .forward = gelu_forward,
    .extra_repr = gelu_repr,
};

adz_module *adz_gelu_new(adz_gelu_approximate approximate)
{
    if (approximate != ADZ_GELU_NONE && approximate != ADZ_GELU_TANH) {
        return adzi_fail(
            "adz_gelu_new", ADZ_ERR_ARGUMENT, "%d is no adz_gelu_approximate", (int)approximate);
    }
    adz_module *self = adz_module_new(&gelu_type, sizeof(gelu_state));
    if (self != NULL) {
        *(gelu_state *)self->state = (gelu_state){ approximate };
    }
    return self;
}

/* ---- SiLU, Sigmoid, Tanh -------------------------------------------------------------------- */

static adz_tensor *silu_forward(adz_module *self, adz_tensor *x)
{
    (void)self;
    return adz_silu(x);
}

static adz_tensor *sigmoid_forward(adz_module *self, adz_tensor *x)
{
    (void)self;
    return adz_sigmoid(x);
}

static adz_tensor *tanh_forward(adz_module *self, adz_tensor *x)
{
    (void)self;
    return adz_tanh(x);
}

static const adz_module_type silu_type = {
    .size = sizeof(adz_module_type),
    .name = "SiLU",
    .forward = silu_forward,
};

static const adz_module_type sigmoid_type = {
    .size = sizeof(adz_module_type),
    .name = "Sigmoid",
    .forward = sigmoid_forward,
};

static const adz_module_type tanh_type = {
    .size = sizeof(adz_module_type),
    .name = "Tanh",
    .forward = tanh_forward,
};

adz_module *adz_silu_new(void)
{
    return adz_module_new(&silu_type, 0);
}

adz_module *adz_sigmoid_new(void)
{
    return adz_module_new(&sigmoid_type, 0);
}

adz_module *adz_tanh_new(void)
{
    return adz_module_new(&tanh_type, 0);
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

/* ---- by name -------------------------------------------------------------------------------- */

adz_module *adz_activation_new(adz_activation activation)
{
    switch (activation) {
    case ADZ_ACTIVATION_RELU:
        return adz_relu_new(NULL);
    case ADZ_ACTIVATION_GELU:
        return adz_gelu_new(ADZ_GELU_NONE);
    case ADZ_ACTIVATION_GELU_TANH:
        return adz_gelu_new(ADZ_GELU_TANH);
    case ADZ_ACTIVATION_SILU:
        return adz_silu_new();
    case ADZ_ACTIVATION_SIGMOID:
        return adz_sigmoid_new();
    case ADZ_ACTIVATION_TANH:
        return adz_tanh_new();
    case ADZ_ACTIVATION_LEAKY_RELU:
        return adz_leaky_relu_new(ADZI_LEAKY_SLOPE);
    case ADZ_ACTIVATION_IDENTITY:
        return adz_identity_new();
    }
    return adzi_fail(
        "adz_activation_new", ADZ_ERR_ARGUMENT, "%d is no adz_activation", (int)activation);
}

bool adzi_is_relu(const adz_module *module)
{
    return module->type.forward == relu_forward;
}

bool adzi_activation_of(const adz_module *module, adz_activation *activation)
{
    adz_tensor *(*const forward)(adz_module *, adz_tensor *) = module->type.forward;
    const void *state = module->state;
    *activation = ADZ_ACTIVATION_IDENTITY;
    if (forward == gelu_forward) {
        bool tanh = ((const gelu_state *)state)->approximate == ADZ_GELU_TANH;
        *activation = tanh ? ADZ_ACTIVATION_GELU_TANH : ADZ_ACTIVATION_GELU;
    } else if (forward == leaky_relu_forward) {
        *activation = ADZ_ACTIVATION_LEAKY_RELU;
        return ((const leaky_relu_state *)state)->negative_slope == ADZI_LEAKY_SLOPE;
    } else if (forward == relu_forward) {
        *activation = ADZ_ACTIVATION_RELU;
    } else if (forward == silu_forward) {
        *activation = ADZ_ACTIVATION_SILU;
    } else if (forward == sigmoid_forward) {
        *activation = ADZ_ACTIVATION_SIGMOID;
    } else if (forward == tanh_forward) {
        *activation = ADZ_ACTIVATION_TANH;
    } else {
        return adzi_is_identity(module);
    }
    return true;
}

/* ---- of one's own --------------------------------------------------------------------------- */

typedef struct {
    adz_activation_function function;
} function_state;

static adz_tensor *function_forward(adz_module *self, adz_tensor *x)
{
    const function_state *state = self->state;
    return state->function(x);
}

static const adz_module_type function_type = {
    .size = sizeof(adz_module_type),
    .name = "Function",
    .forward = function_forward,
};

adz_module *adz_function_new(adz_activation_function function)
{
    if (function == NULL) {
        return adzi_fail_null("adz_function_new", "function");
    }
    adz_module *self = adz_module_new(&function_type, sizeof(function_state));
    if (self != NULL) {
        *(function_state *)self->state = (function_state){ function };
    }
    return self;
}

adz_module *adzi_activation_choose(
    const char *op, adz_activation activation, adz_activation_function function, adz_module *module)
{
    if (function != NULL && module != NULL) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT,
            "activation_function and activation_module are both given; leave one NULL");
    }
    return module != NULL     ? adz_module_keep(module)
           : function != NULL ? adz_function_new(function)
                              : adz_activation_new(activation);
}
