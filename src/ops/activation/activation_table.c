#include "ops/activation/activation_table.h"

/* The table of activation functions, made from the list ADZI_ACTIVATIONS by three macros: one
 * function, two tables of kernels and one row for each function of the list. The identity has no
 * operator and no kernels, so its function and its row are written out. */

/* call_RELU(x, p) and so on: calls the operator of each row. (void)p is for functions without a
 * number of their own. */
#define CALL(value, module, expression, ...)                 \
    static adz_tensor *call_##value(adz_tensor *x, double p) \
    {                                                        \
        (void)p;                                             \
        return expression;                                   \
    }
ADZI_ACTIVATIONS(CALL)
CALL(IDENTITY, "Identity", x, none)

/* The kernels of each row's operator: relu and relu_backward, and so on. */
#define KERNELS(value, module, call, kernel, ...) \
    KERNEL_TABLE_FLOAT(kernel);                   \
    KERNEL_TABLE_FLOAT(kernel##_backward);
ADZI_ACTIVATIONS(KERNELS)

/* The row of each function, at the index that is its value of adz_activation. */
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

/* The enumeration has no gaps, so the highest index gives the number of rows. */
enum { COUNT = sizeof rows / sizeof *rows };

/* Trusts its argument: operators check it by adzi_check_activation() when they are called. */
const adzi_activation_row *adzi_activation_row_of(adz_activation activation)
{
    return &rows[activation];
}

int adzi_activation_count(void)
{
    return COUNT;
}

#define NAME(value, module, call, kernel, ...) [ADZ_ACTIVATION_##value] = #kernel,
const char *const adzi_activation_names[COUNT + 1] = {
    ADZI_ACTIVATIONS(NAME)[ADZ_ACTIVATION_IDENTITY] = "identity"
};

bool adzi_check_activation(const char *op, adz_activation activation)
{
    static const adz_field row = {
        .name = "activation", .kind = ADZ_FIELD_ENUM, .values = adzi_activation_names
    };
    return adz_fields_check(op, &row, 1, &activation);
}
