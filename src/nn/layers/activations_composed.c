/* Modules of activation functions that are compositions of operators. They are no rows of the table
 * of activation functions, which is for functions with kernels. None has parameters. */
#include "adze/nn/activations.h"
#include "adze/ops/math.h"

#include <math.h>

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

FUNCTION(hardsigmoid, "Hardsigmoid")
FUNCTION(logsigmoid, "LogSigmoid")
FUNCTION(relu6, "ReLU6")
FUNCTION(hardswish, "Hardswish")
FUNCTION(mish, "Mish")
FUNCTION(softsign, "Softsign")
FUNCTION(selu, "SELU")
FUNCTION(tanhshrink, "Tanhshrink")

/* ---- functions with one or two numbers ------------------------------------------------------ */

typedef struct {
    double first, second;
} numbers_state;

/* NUMBERS1(id, module, number, shown) and NUMBERS2(id, module, number, number): the type of a
 * module whose function takes numbers of these names. Users write all of them. */
#define NUMBER(at, number, ...)                                                                    \
    {                                                                                              \
        .name = #number, .kind = ADZ_FIELD_F64, .offset = offsetof(numbers_state, at), __VA_ARGS__ \
    }
#define NUMBERS_TYPE(id, module, call)                                          \
    static adz_tensor *id##_forward(adz_module *self, adz_tensor *x)            \
    {                                                                           \
        const numbers_state *p = self->state;                                   \
        return call;                                                            \
    }                                                                           \
    static const adz_module_type id##_type = { .size = sizeof(adz_module_type), \
        .name = module,                                                         \
        .forward = id##_forward,                                                \
        ADZI_MODULE_FIELDS(id##_fields) };
#define NUMBERS1(id, module, number, shown_)                                           \
    static const adz_field id##_fields[] = { NUMBER(first, number, .shown = shown_) }; \
    NUMBERS_TYPE(id, module, adz_##id(x, p->first))
#define NUMBERS2(id, module, number, other)                                     \
    static const adz_field id##_fields[] = { NUMBER(first, number, .shown = 0), \
        NUMBER(second, other, .shown = 0) };                                    \
    NUMBERS_TYPE(id, module, adz_##id(x, p->first, p->second))

NUMBERS1(elu, "ELU", alpha, 0)
NUMBERS1(hardshrink, "Hardshrink", lambd, ADZ_SHOWN_BARE)
NUMBERS2(softplus, "Softplus", beta, threshold)
NUMBERS1(softshrink, "Softshrink", lambd, ADZ_SHOWN_BARE)
NUMBERS2(threshold, "Threshold", threshold, value)

static adz_module *of_numbers(const adz_module_type *type, double first, double second)
{
    const numbers_state state = { first, second };
    return adzi_module_of(type, &state, sizeof state);
}

adz_module *adz_elu_new(double alpha)
{
    return of_numbers(&elu_type, alpha, 0);
}

adz_module *adz_hardshrink_new(double lambd)
{
    return of_numbers(&hardshrink_type, lambd, 0);
}

adz_module *adz_softplus_new(double beta, double threshold)
{
    if (!isfinite(beta) || beta == 0) {
        return adzi_fail("adz_softplus_new", ADZ_ERR_ARGUMENT,
            "beta is %s, but must be a finite number other than 0", adzi_text_number(beta));
    }
    return of_numbers(&softplus_type, beta, threshold);
}

adz_module *adz_softshrink_new(double lambd)
{
    if (!(lambd >= 0)) {
        return adzi_fail("adz_softshrink_new", ADZ_ERR_ARGUMENT,
            "lambd is %s, but must be 0 or more", adzi_text_number(lambd));
    }
    return of_numbers(&softshrink_type, lambd, 0);
}

adz_module *adz_threshold_new(double threshold, double value)
{
    return of_numbers(&threshold_type, threshold, value);
}

/* ---- functions along a dimension ------------------------------------------------------------ */

typedef struct {
    int dim;
} dim_state;

static const adz_field dim_fields[] = { ADZ_FIELD(dim_state, dim, .value = -1) };

/* ALONG(id, module): a module of a function along one dimension, and its constructor. */
#define ALONG(id, module)                                                       \
    static adz_tensor *id##_forward(adz_module *self, adz_tensor *x)            \
    {                                                                           \
        return adz_##id(x, ((const dim_state *)self->state)->dim);              \
    }                                                                           \
    static const adz_module_type id##_type = { .size = sizeof(adz_module_type), \
        .name = module,                                                         \
        .forward = id##_forward,                                                \
        ADZI_MODULE_FIELDS(dim_fields) };                                       \
    adz_module *adz_##id##_new(int dim)                                         \
    {                                                                           \
        const dim_state state = { dim };                                        \
        return adzi_module_of(&id##_type, &state, sizeof state);                \
    }

ALONG(glu, "GLU")
ALONG(log_softmax, "LogSoftmax")
ALONG(softmin, "Softmin")

/* The softmax over channels, which are the third dimension from the end. */
static adz_tensor *softmax2d_forward(adz_module *self, adz_tensor *x)
{
    (void)self;
    if (x->rank != 3 && x->rank != 4) {
        return adzi_fail("softmax2d", ADZ_ERR_SHAPE, "x%s must be [N, C, H, W] or [C, H, W]",
            adzi_text_shape(x));
    }
    return adz_softmax(x, -3);
}

static const adz_module_type softmax2d_type = {
    .size = sizeof(adz_module_type), .name = "Softmax2d", .forward = softmax2d_forward
};

adz_module *adz_softmax2d_new(void)
{
    return adz_module_new(&softmax2d_type, 0);
}
