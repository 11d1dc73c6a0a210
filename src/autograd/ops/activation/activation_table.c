#include "autograd/ops/activation/activation_table.h"

/* call_RELU(x, p) and so on: the operator of each row. */
#define CALL(value, module, expression, ...)                 \
    static adz_tensor *call_##value(adz_tensor *x, double p) \
    {                                                        \
        (void)p;                                             \
        return expression;                                   \
    }
ADZI_ACTIVATIONS(CALL)
CALL(IDENTITY, "Identity", x, none)

#define KERNELS(value, module, call, kernel, ...) \
    KERNEL_TABLE_FLOAT(kernel);                   \
    KERNEL_TABLE_FLOAT(kernel##_backward);
ADZI_ACTIVATIONS(KERNELS)

#define ROW(value, name, expression, kernel, ...) \
    [ADZ_ACTIVATION_##value] = { .module = name,  \
        .call = call_##value,                     \
        .forward = kernel##_kernels,              \
        .backward = kernel##_backward_kernels,    \
        __VA_ARGS__ },

static const adzi_activation_row rows[] = {
    ADZI_ACTIVATIONS(ROW)[ADZ_ACTIVATION_IDENTITY] = { .module = "Identity",
        .call = call_IDENTITY,
        .gated = "Bilinear" },
};

enum { COUNT = sizeof rows / sizeof *rows };

const adzi_activation_row *adzi_activation_row_of(adz_activation activation)
{
    return &rows[activation];
}

int adzi_activation_count(void)
{
    return COUNT;
}

bool adzi_check_activation(const char *op, adz_activation activation)
{
    if ((unsigned)activation >= COUNT) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "%d is no adz_activation", (int)activation);
        return false;
    }
    return true;
}
