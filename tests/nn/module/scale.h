/* Modules of a user's own: one with a parameter, one with two inputs, and one with children. */
#ifndef ADZE_TESTS_NN_MODULE_SCALE_H
#define ADZE_TESTS_NN_MODULE_SCALE_H

#include "../../nn.h"

typedef struct {
    double factor;
    char *text; /* freed by the module */
} scale_state;

static int destroyed, resets;

static inline adz_tensor *scale_forward(adz_module *self, adz_tensor *x)
{
    const scale_state *state = adz_module_data(self);
    return adz_mul_number(adz_mul(x, adz_module_parameter_at(self, 0)), state->factor);
}

static inline adz_status scale_reset(adz_module *self)
{
    (void)self;
    ++resets;
    return ADZ_OK;
}

static inline size_t scale_repr(adz_module *self, char *buffer, size_t size)
{
    const scale_state *state = adz_module_data(self);
    return (size_t)snprintf(buffer, size, "factor=%d", (int)state->factor);
}

static inline void scale_destroy(adz_module *self)
{
    scale_state *state = adz_module_data(self);
    free(state->text);
    ++destroyed;
}

static inline adz_status scale_copy(adz_module *copy, adz_module *original)
{
    const scale_state *from = adz_module_data(original);
    scale_state *to = adz_module_data(copy);
    to->factor = from->factor;
    to->text = strdup(from->text);
    return ADZ_OK;
}

static const adz_module_type scale_type = { .size = sizeof(adz_module_type),
    .name = "Scale",
    .forward = scale_forward,
    .reset_parameters = scale_reset,
    .extra_repr = scale_repr,
    .destroy = scale_destroy,
    .copy_data = scale_copy };

static inline adz_module *scale_new(int64_t width, double factor)
{
    adz_module *self = adz_module_new(&scale_type, sizeof(scale_state));
    adz_scope *scope = adz_scope_open();
    if (adz_module_add_parameter(self, "weight", adz_ones(ADZ_SHAPE(width), ADZ_F32)) == NULL) {
        adz_module_release(&self);
    } else {
        scale_state *state = adz_module_data(self);
        state->factor = factor;
        state->text = strdup("text");
    }
    adz_scope_close(scope);
    return self;
}

/* A call with named arguments and results: the sum a + b, where b may be absent, and a - b. */
static inline adz_status both_call(adz_module *self, const adz_values *in, adz_values *out)
{
    (void)self;
    adz_tensor *a = adz_values_argument(in, 0, "a"), *b = adz_values_argument(in, 1, "b");
    adz_tensor *other = b == ADZ_NONE ? adz_zeros_like(a) : b;
    adz_tensor *sum = adz_add(a, other), *difference = adz_add_scaled(a, other, -1);
    if (adz_values_add(out, "sum", sum) != ADZ_OK) {
        return adz_error_code();
    }
    if (adz_values_add(out, "absent", ADZ_NONE) != ADZ_OK) {
        return adz_error_code();
    }
    return adz_values_add(out, "difference", difference);
}

static const adz_module_type both_type = {
    .size = sizeof(adz_module_type), .name = "Both", .call = both_call
};

/* Calls its children. If one fails, it leaves a scope open. */
static inline adz_tensor *outer_forward(adz_module *self, adz_tensor *x)
{
    adz_scope *scope = adz_scope_open();
    for (size_t i = 0; i < adz_module_child_count(self); ++i) {
        x = adz_module_forward(adz_module_child_at(self, i), x);
        if (x == NULL) {
            return NULL;
        }
    }
    return adz_scope_return(scope, x);
}

static const adz_module_type outer_type = {
    .size = sizeof(adz_module_type), .name = "Outer", .forward = outer_forward
};

static inline adz_module *outer_new(void)
{
    return adz_module_new(&outer_type, 0);
}

#endif
