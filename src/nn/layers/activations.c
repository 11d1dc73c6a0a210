/* Modules of activation functions: one module type per row of the table of activation functions,
 * the softmax, and modules of a function that the user wrote. None has parameters. */
#include "adze/nn/activations.h"

#include <stdio.h>

#include "adze/nn/containers.h"
#include "adze/ops/math.h"
#include "ops/activation/activation_table.h"
#include "base/error.h"
#include "adze/options.h"
#include "nn/layers/activations.h"
#include "nn/module.h"

/* ---- modules of the table's rows ------------------------------------------------------------ */

typedef struct {
    adz_activation activation;
    double p; /* the function's number, such as the slope of LeakyReLU; the row has its default */
    bool inplace; /* true for a ReLU that writes its result into x */
} activation_state;

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    const activation_state *state = self->state;
    return state->inplace ? adz_relu_(x)
                          : adzi_activation_row_of(state->activation)->call(x, state->p);
}

static size_t repr(adz_module *self, char *buffer, size_t size)
{
    const activation_state *state = self->state;
    const adzi_activation_row *row = adzi_activation_row_of(state->activation);
    if (row->parameter != NULL) {
        return (size_t)snprintf(buffer, size, "%s=%s", row->parameter, adzi_text_float(state->p));
    }
    const char *text = row->repr != NULL ? row->repr : "";
    return (size_t)snprintf(buffer, size, "%s", state->inplace ? "inplace=True" : text);
}

/* Declares the activation function, so that the linear layer before it can compute it. False if p
 * is not the row's number, because the fused operators read the row. `inplace` needs no check: the
 * linear layer's result would be overwritten, but nobody else has it. */
static bool elementwise_step(adz_module *self, adz_bias_activation_options *step)
{
    const activation_state *state = self->state;
    step->activation = state->activation;
    return state->p == adzi_activation_row_of(state->activation)->p;
}

/* A row of `types`: the module type of one row of the table. */
#define TYPE(value, module, ...)                                  \
    [ADZ_ACTIVATION_##value] = { .size = sizeof(adz_module_type), \
        .name = module,                                           \
        .forward = forward,                                       \
        .extra_repr = repr,                                       \
        .elementwise_step = elementwise_step },

static const adz_module_type types[] = { ADZI_ACTIVATIONS(TYPE) };

/* The module of any row except the identity, whose module is adz_identity_new. */
static adz_module *activation_new(adz_activation activation, double p, bool inplace)
{
    const activation_state state = { activation, p, inplace };
    return adzi_module_of(&types[activation], &state, sizeof state);
}

adz_module *adz_activation_new(adz_activation activation)
{
    if (!adzi_check_activation("adz_activation_new", activation)) {
        return NULL;
    }
    return activation == ADZ_ACTIVATION_IDENTITY
               ? adz_identity_new()
               : activation_new(activation, adzi_activation_row_of(activation)->p, false);
}

adz_module *adz_relu_new(void)
{
    return activation_new(ADZ_ACTIVATION_RELU, 0, false);
}

adz_module *adz_relu_inplace_new(void)
{
    return activation_new(ADZ_ACTIVATION_RELU, 0, true);
}

adz_module *adz_leaky_relu_new(double negative_slope)
{
    return activation_new(ADZ_ACTIVATION_LEAKY_RELU, negative_slope, false);
}

adz_module *adz_gelu_new(adz_gelu_approximate approximate)
{
    if (approximate != ADZ_GELU_NONE && approximate != ADZ_GELU_TANH) {
        return adzi_fail(
            "adz_gelu_new", ADZ_ERR_ARGUMENT, "%d is no adz_gelu_approximate", (int)approximate);
    }
    return adz_activation_new(
        approximate == ADZ_GELU_TANH ? ADZ_ACTIVATION_GELU_TANH : ADZ_ACTIVATION_GELU);
}

adz_module *adz_silu_new(void)
{
    return adz_activation_new(ADZ_ACTIVATION_SILU);
}

adz_module *adz_sigmoid_new(void)
{
    return adz_activation_new(ADZ_ACTIVATION_SIGMOID);
}

adz_module *adz_tanh_new(void)
{
    return adz_activation_new(ADZ_ACTIVATION_TANH);
}

/* ---- Softmax -------------------------------------------------------------------------------- */

typedef struct {
    int dim;
} softmax_state;

static const adz_field softmax_fields[] = { ADZ_FIELD(softmax_state, dim, .value = -1) };

static adz_tensor *softmax_forward(adz_module *self, adz_tensor *x)
{
    const softmax_state *state = self->state;
    return adz_softmax(x, state->dim);
}

static const adz_module_type softmax_type = {
    .size = sizeof(adz_module_type),
    .name = "Softmax",
    .forward = softmax_forward,
    ADZI_MODULE_FIELDS(softmax_fields),
};

adz_module *adz_softmax_new(int dim)
{
    const softmax_state state = { dim };
    return adzi_module_of(&softmax_type, &state, sizeof state);
}

/* ---- functions of the user ------------------------------------------------------------------ */

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
    const function_state state = { function };
    return adzi_module_of(&function_type, &state, sizeof state);
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
