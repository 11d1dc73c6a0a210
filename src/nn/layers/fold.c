/* Unfold and Fold: the patches of images as columns, and the sum of such columns as images. They
 * have no parameters: each calls its operator. */
#include <stdio.h>

#include "adze/nn/conv.h"
#include "ops/conv/fold.h"
#include "base/error.h"
#include "adze/options.h"
#include "nn/layers/numbers.h"
#include "nn/module.h"

typedef struct {
    adz_shape output_size, kernel_size; /* with one number or two, as the caller gave them */
    adz_conv_options options;
} fold_state;

static adz_tensor *unfold(adz_module *self, adz_tensor *x)
{
    const fold_state *state = self->state;
    return adz_unfold(x, state->kernel_size, &state->options);
}

static adz_tensor *fold(adz_module *self, adz_tensor *x)
{
    const fold_state *state = self->state;
    return adz_fold(x, state->output_size, state->kernel_size, &state->options);
}

static adz_shape or_number(adz_shape given, int64_t otherwise)
{
    return given.rank > 0 ? given : ADZ_SHAPE(otherwise);
}

static size_t unfold_repr(adz_module *self, char *buffer, size_t size)
{
    const fold_state *state = self->state;
    const adz_conv_options *o = &state->options;
    char kernel[ADZI_NUMBERS], stride[ADZI_NUMBERS], padding[ADZI_NUMBERS], dilation[ADZI_NUMBERS];
    adzi_print_numbers(kernel, state->kernel_size, false);
    adzi_print_numbers(stride, or_number(o->stride, 1), false);
    adzi_print_numbers(padding, or_number(o->padding, 0), false);
    adzi_print_numbers(dilation, or_number(o->dilation, 1), false);
    return (size_t)snprintf(buffer, size, "kernel_size=%s, dilation=%s, padding=%s, stride=%s",
        kernel, dilation, padding, stride);
}

static size_t fold_repr(adz_module *self, char *buffer, size_t size)
{
    char output[ADZI_NUMBERS], rest[5 * ADZI_NUMBERS];
    adzi_print_numbers(output, ((const fold_state *)self->state)->output_size, false);
    unfold_repr(self, rest, sizeof rest);
    return (size_t)snprintf(buffer, size, "output_size=%s, %s", output, rest);
}

static const adz_module_type unfold_type = {
    .size = sizeof(adz_module_type),
    .name = "Unfold",
    .forward = unfold,
    .extra_repr = unfold_repr,
};

static const adz_module_type fold_type = {
    .size = sizeof(adz_module_type),
    .name = "Fold",
    .forward = fold,
    .extra_repr = fold_repr,
};

static adz_module *fold_new(const char *op, const adz_module_type *type, adz_shape output_size,
    adz_shape kernel_size, const adz_conv_options *options)
{
    fold_state state = { output_size, kernel_size, ADZ_CONV_OPTIONS };
    adzi_conv conv;
    int64_t kernel[2];
    if (!ADZ_OPTIONS_READ(op, ADZ_CONV_OPTIONS, &state.options, options) ||
        !adzi_fold_read_kernel(op, &state.options, kernel_size, &conv, kernel)) {
        return NULL;
    }
    adz_module *self = adz_module_new(type, sizeof state);
    if (self != NULL) {
        *(fold_state *)self->state = state;
    }
    return self;
}

adz_module *adz_unfold_new(adz_shape kernel_size, const adz_conv_options *options)
{
    return fold_new("adz_unfold_new", &unfold_type, ADZ_SHAPE_SCALAR, kernel_size, options);
}

adz_module *adz_fold_new(
    adz_shape output_size, adz_shape kernel_size, const adz_conv_options *options)
{
    int64_t image[2];
    return adzi_fold_read_output("adz_fold_new", output_size, image)
               ? fold_new("adz_fold_new", &fold_type, output_size, kernel_size, options)
               : NULL;
}
