/* Modules of activation functions that are compositions of operators. They are no rows of the table
 * of activation functions, which is for functions with kernels. None has parameters. */
#include "adze/nn/activations.h"
#include "base/error.h"
#include "nn/module.h"

/* Hardtanh has two numbers, CELU has one. */
typedef struct {
    double min_val, max_val;
} hardtanh_state;

typedef struct {
    double alpha;
} celu_state;

static const adz_field hardtanh_fields[] = { ADZ_FIELD(hardtanh_state, min_val, .value = -1),
    ADZ_FIELD(hardtanh_state, max_val, .value = 1) };
static const adz_field celu_fields[] = { ADZ_FIELD(celu_state, alpha, .value = 1) };

static adz_tensor *hardtanh_forward(adz_module *self, adz_tensor *x)
{
    const hardtanh_state *state = self->state;
    return adz_hardtanh(x, state->min_val, state->max_val);
}

static adz_tensor *celu_forward(adz_module *self, adz_tensor *x)
{
    return adz_celu(x, ((const celu_state *)self->state)->alpha);
}

static const adz_module_type hardtanh_type = { .size = sizeof(adz_module_type),
    .name = "Hardtanh",
    .forward = hardtanh_forward,
    ADZI_MODULE_FIELDS(hardtanh_fields) };

static const adz_module_type celu_type = { .size = sizeof(adz_module_type),
    .name = "CELU",
    .forward = celu_forward,
    ADZI_MODULE_FIELDS(celu_fields) };

adz_module *adz_hardtanh_new(double min_val, double max_val)
{
    const hardtanh_state state = { min_val, max_val };
    if (!(min_val <= max_val)) {
        return adzi_fail("adz_hardtanh_new", ADZ_ERR_ARGUMENT,
            "min_val is %g and max_val %g, but min_val must not be above max_val", min_val,
            max_val);
    }
    return adzi_module_of(&hardtanh_type, &state, sizeof state);
}

adz_module *adz_celu_new(double alpha)
{
    const celu_state state = { alpha };
    if (alpha == 0 || alpha != alpha) {
        return adzi_fail("adz_celu_new", ADZ_ERR_ARGUMENT,
            "alpha is %g, but must be a number other than 0", alpha);
    }
    return adzi_module_of(&celu_type, &state, sizeof state);
}

/* FUNCTION(id, module): a module of a function without numbers, and its constructor. */
#define FUNCTION(id, module)                                                     \
    static adz_tensor *id##_forward(adz_module *self, adz_tensor *x)             \
    {                                                                            \
        (void)self;                                                              \
        return adz_##id(x);                                                      \
    }                                                                            \
    static const adz_module_type id##_type = {                                   \
        .size = sizeof(adz_module_type), .name = module, .forward = id##_forward \
    };                                                                           \
    adz_module *adz_##id##_new(void)                                             \
    {                                                                            \
        return adz_module_new(&id##_type, 0);                                    \
    }

FUNCTION(relu6, "ReLU6")
FUNCTION(hardswish, "Hardswish")
FUNCTION(mish, "Mish")
FUNCTION(softsign, "Softsign")
FUNCTION(selu, "SELU")
