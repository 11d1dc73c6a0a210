/* Activation modules by the names that the configs of reference vectors use. */
#include "adze/zoo.h"
#include "nn/case.h"

adz_module *case_activation(const char *name)
{
    static const struct {
        const char *name;
        adz_activation activation;
    } known[] = {
        { "relu", ADZ_ACTIVATION_RELU },
        { "gelu", ADZ_ACTIVATION_GELU },
        { "gelu_tanh", ADZ_ACTIVATION_GELU_TANH },
        { "silu", ADZ_ACTIVATION_SILU },
        { "swish", ADZ_ACTIVATION_SILU },
        { "sigmoid", ADZ_ACTIVATION_SIGMOID },
        { "tanh", ADZ_ACTIVATION_TANH },
        { "leaky_relu", ADZ_ACTIVATION_LEAKY_RELU },
        { "identity", ADZ_ACTIVATION_IDENTITY },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        if (strcmp(known[i].name, name) == 0) {
            return adz_activation_new(known[i].activation);
        }
    }
    return NULL;
}

adz_fastai_activation case_fastai_activation(const json_t *config)
{
    static const char *const names[] = { "ReLU", "Swish", "GeLU" };
    const char *act = config_text(config, "act", "ReLU");
    int number = -1;
    for (int i = 0; i < 3; ++i) {
        number = strcmp(names[i], act) == 0 ? i : number;
    }
    return (adz_fastai_activation)number;
}
