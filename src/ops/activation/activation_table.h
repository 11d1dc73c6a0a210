/* The table of the activation functions that a network can be given as an option. */
#ifndef ADZI_OPS_ACTIVATION_ACTIVATION_TABLE_H
#define ADZI_OPS_ACTIVATION_ACTIVATION_TABLE_H

#include "adze/ops/activation.h"
#include "ops/elementwise/elementwise.h"

/**
 * The list: ROW(value, module, call, kernel, other fields of adzi_activation_row) per function.
 *
 * `value` is the name behind ADZ_ACTIVATION_ in adze/ops/activation.h, `module` is PyTorch's name
 * of the module, and `call` computes the function of x and of the row's number p. The kernels are
 * those of the operator: <kernel> and <kernel>_backward. To add an activation function, add a value
 * to the enumeration and a row here. The identity has no kernels; its row is written out in
 * activation_table.c.
 */
#define ADZI_ACTIVATIONS(ROW)                                                                   \
    ROW(RELU, "ReLU", adz_relu(x), relu, .plain = "ReLU", .gated = "ReGLU")                     \
    ROW(GELU, "GELU", adz_gelu(x, ADZ_GELU_NONE), gelu, .repr = "approximate='none'",           \
        .plain = "GELU", .gated = "GEGLU")                                                      \
    ROW(GELU_TANH, "GELU", adz_gelu(x, ADZ_GELU_TANH), gelu_tanh, .repr = "approximate='tanh'") \
    ROW(SILU, "SiLU", adz_silu(x), silu, .gated = "SwiGLU")                                     \
    ROW(SIGMOID, "Sigmoid", adz_sigmoid(x), sigmoid, .reads_result = true, .gated = "GLU")      \
    ROW(TANH, "Tanh", adz_tanh(x), tanh, .reads_result = true)                                  \
    ROW(LEAKY_RELU, "LeakyReLU", adz_leaky_relu(x, p), leaky_relu, .p = 0.01,                   \
        .parameter = "negative_slope")

typedef struct adzi_activation_row {
    const char *module; /* PyTorch's name of the module */
    adz_tensor *(*call)(adz_tensor *x, double p);
    adzi_float_kernels forward, backward; /* of (x, p) and (dy, x, p); NULL for the identity */
    bool reads_result; /* the backward kernel reads y and not x; relu's takes either one, because x
                          and y are above 0 at the same positions */
    double p;          /* the function's number, which kernels read as p[0] */
    const char *parameter;     /* the name of p where a module's user may set it */
    const char *repr;          /* what a module prints in parentheses */
    const char *plain, *gated; /* the names of feed-forward networks with this function, without
                                  and with a gate; NULL where there is none */
} adzi_activation_row;

/** The row of an activation function. `activation` must be valid: adzi_check_activation(). */
const adzi_activation_row *adzi_activation_row_of(adz_activation activation);

/** The number of rows. The values of adz_activation are 0 .. count-1. */
int adzi_activation_count(void);

/** The names of the functions for tables of fields: those of their operators. NULL ends them. */
extern const char *const adzi_activation_names[];

/** True if the table has a row for `activation`, else false with ADZ_ERR_ARGUMENT recorded. */
bool adzi_check_activation(const char *op, adz_activation activation);

#endif
