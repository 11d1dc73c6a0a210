/* Calls that compute several modules at once: linear layers with the activation, gate, dropout and
 * residual that follow them. */
#include "nn/fusion.h"

#include "adze/ops/linalg.h"

/* Number of elements of a hidden layer from which adzi_forward_gated pays. So many elements no
 * longer fit the cache, so each pass over them that is saved gains time. */
enum { LEAST_ELEMENTS = 65536 };

adz_bias_activation_options adzi_no_steps(void)
{
    adz_bias_activation_options steps = ADZ_BIAS_ACTIVATION_OPTIONS;
    steps.activation = ADZ_ACTIVATION_IDENTITY;
    return steps;
}

bool adzi_add_step(adz_module *module, adz_bias_activation_options *steps)
{
    adz_bias_activation_options step = adzi_no_steps();
    if (module->type.elementwise_step == NULL || !module->type.elementwise_step(module, &step)) {
        return false;
    }
    const bool drops = step.training && step.dropout > 0;
    const bool has_dropout = steps->training; /* set below, together with its probability */
    const bool activates = step.activation != ADZ_ACTIVATION_IDENTITY;
    if ((activates && (steps->activation != ADZ_ACTIVATION_IDENTITY || has_dropout)) ||
        (drops && (has_dropout || module->masks != NULL))) {
        return false;
    }
    if (activates) {
        steps->activation = step.activation;
    }
    if (drops) {
        steps->dropout = step.dropout;
        steps->training = true;
        steps->generator = step.generator;
    }
    return true;
}

bool adzi_relu_can_wait(adz_module *relu, adz_module *next, const adz_tensor *x)
{
    adz_bias_activation_options steps = adzi_no_steps();
    return next->type.takes_maximum && !adzi_self()->anomaly && x->alive == ADZI_ALIVE &&
           adzi_is_exclusive(x) && adzi_add_step(relu, &steps) &&
           steps.activation == ADZ_ACTIVATION_RELU && !steps.training;
}

/* What a linear layer computes with: weight[out, in] and bias[out] or ADZ_NONE. */
typedef struct {
    adz_tensor *weight, *bias;
} linear_parts;

/* Fills `parts` and returns true if the layer, whose type declares its linear parts, computes x
 * without an error. A false result is no error: the caller then calls the module, which reports
 * what is wrong. */
static bool takes(adz_module *module, linear_parts *parts, const adz_tensor *x)
{
    if (adzi_self()->anomaly || module->n_parametrized > 0 || x->alive != ADZI_ALIVE ||
        x->rank < 1) {
        return false;
    }
    module->type.linear_parts(module, &parts->weight, &parts->bias);
    const adz_tensor *weight = parts->weight;
    return weight != NULL && weight->rank == 2 && x->sizes[x->rank - 1] == weight->sizes[1] &&
           (x->dtype == weight->dtype ||
               (x->dtype == ADZ_F32 && adzi_is_half((adz_dtype)weight->dtype)));
}

adz_tensor *adzi_forward_linear(
    adz_module *layer, const adz_bias_activation_options *steps, adz_tensor *x)
{
    linear_parts parts = { NULL, ADZ_NONE };
    if (steps->activation != ADZ_ACTIVATION_RELU || !takes(layer, &parts, x)) {
        return ADZ_NONE;
    }
    return adz_linear_relu_dropout(
        x, parts.weight, parts.bias, steps->dropout, steps->training, steps->generator);
}

adz_tensor *adzi_forward_gated(
    adz_module *layer, adz_module *gate, const adz_bias_activation_options *steps, adz_tensor *x)
{
    linear_parts of_layer = { NULL, ADZ_NONE }, of_gate = { ADZ_NONE, ADZ_NONE };
    if (!takes(layer, &of_layer, x) || (gate != NULL && !takes(gate, &of_gate, x))) {
        return ADZ_NONE;
    }
    const int64_t *sizes = of_layer.weight->sizes;
    if (sizes[1] == 0 || x->numel / sizes[1] * sizes[0] < LEAST_ELEMENTS) {
        return ADZ_NONE;
    }
    adz_tensor *h = adz_linear(x, of_layer.weight, ADZ_NONE);
    adz_tensor *g = gate != NULL ? adz_linear(x, of_gate.weight, ADZ_NONE) : ADZ_NONE;
    return adz_bias_activation(h, of_layer.bias, g, of_gate.bias, steps);
}
