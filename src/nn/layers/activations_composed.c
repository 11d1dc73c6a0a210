/* Modules of activation functions that are compositions of operators. They are no rows of the table
 * of activation functions, which is for functions with kernels. None has parameters. */
#include <stdio.h>

#include "adze/nn/activations.h"
#include "base/error.h"
#include "nn/module.h"

typedef struct {
    double p[2]; /* the function's numbers */
} composed_state;

/* FUNCTION(id, module, call, text): the type of a module. `text` prints in parentheses. */
#define FUNCTION(id, module, call, ...)                                         \
    static adz_tensor *id##_forward(adz_module *self, adz_tensor *x)            \
    {                                                                           \
        const double *p = ((const composed_state *)self->state)->p;             \
        (void)p;                                                                \
        return call;                                                            \
    }                                                                           \
    static size_t id##_repr(adz_module *self, char *buffer, size_t size)        \
    {                                                                           \
        const double *p = ((const composed_state *)self->state)->p;             \
        (void)p;                                                                \
        return (size_t)snprintf(buffer, size, __VA_ARGS__);                     \
    }                                                                           \
    static const adz_module_type id##_type = { .size = sizeof(adz_module_type), \
        .name = module,                                                         \
        .forward = id##_forward,                                                \
        .extra_repr = id##_repr };

FUNCTION(hardtanh, "Hardtanh", adz_hardtanh(x, p[0], p[1]), "min_val=%s, max_val=%s",
    adzi_text_float(p[0]), adzi_text_float(p[1]))
FUNCTION(relu6, "ReLU6", adz_relu6(x), "%s", "")
FUNCTION(hardswish, "Hardswish", adz_hardswish(x), "%s", "")
FUNCTION(mish, "Mish", adz_mish(x), "%s", "")
FUNCTION(softsign, "Softsign", adz_softsign(x), "%s", "")
FUNCTION(celu, "CELU", adz_celu(x, p[0]), "alpha=%s", adzi_text_float(p[0]))
FUNCTION(selu, "SELU", adz_selu(x), "%s", "")

static adz_module *composed_new(const adz_module_type *type, double first, double second)
{
    adz_module *self = adz_module_new(type, sizeof(composed_state));
    if (self != NULL) {
        *(composed_state *)self->state = (composed_state){ { first, second } };
    }
    return self;
}

adz_module *adz_hardtanh_new(double min_val, double max_val)
{
    if (!(min_val <= max_val)) {
        return adzi_fail("adz_hardtanh_new", ADZ_ERR_ARGUMENT,
            "min_val is %g and max_val %g, but min_val must not be above max_val", min_val,
            max_val);
    }
    return composed_new(&hardtanh_type, min_val, max_val);
}

adz_module *adz_celu_new(double alpha)
{
    if (alpha == 0 || alpha != alpha) {
        return adzi_fail("adz_celu_new", ADZ_ERR_ARGUMENT,
            "alpha is %g, but must be a number other than 0", alpha);
    }
    return composed_new(&celu_type, alpha, 0);
}

adz_module *adz_relu6_new(void)
{
    return composed_new(&relu6_type, 0, 0);
}

adz_module *adz_hardswish_new(void)
{
    return composed_new(&hardswish_type, 0, 0);
}

adz_module *adz_mish_new(void)
{
    return composed_new(&mish_type, 0, 0);
}

adz_module *adz_softsign_new(void)
{
    return composed_new(&softsign_type, 0, 0);
}

adz_module *adz_selu_new(void)
{
    return composed_new(&selu_type, 0, 0);
}
