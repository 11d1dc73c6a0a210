/* Unfold and Fold: the patches of images as columns, and the sum of such columns as images. They
 * have no parameters: each calls its operator. */
#include "adze/nn/conv.h"
#include "ops/conv/fold.h"
#include "base/error.h"
#include "adze/options.h"
#include "nn/module.h"

typedef struct {
    adz_conv_options o;
    adz_shape output_size, kernel_size; /* with one number or two, as the caller gave them */
} fold_state;

/* Unfold prints the rows behind the first one. */
static const adz_field fields[] = {
    ADZ_FIELD_AS(fold_state, output_size, "output_size", ADZ_FIELD_SIZES, .value = 0),
    ADZ_FIELD_AS(fold_state, kernel_size, "kernel_size", ADZ_FIELD_SIZES, .value = 0),
    ADZ_FIELD_AS(adz_conv_options, dilation, "dilation", ADZ_FIELD_SIZES, .value = 1),
    ADZ_FIELD_AS(adz_conv_options, padding, "padding", ADZ_FIELD_SIZES, .value = 0),
    ADZ_FIELD_AS(adz_conv_options, stride, "stride", ADZ_FIELD_SIZES, .value = 1),
    ADZ_FIELD(adz_conv_options, groups, .value = 1, .shown = ADZ_SHOWN_NEVER),
};

static const adz_options_table table = { "ADZ_CONV_OPTIONS", sizeof(adz_conv_options), fields,
    sizeof fields / sizeof *fields };

static adz_tensor *unfold(adz_module *self, adz_tensor *x)
{
    const fold_state *state = self->state;
    return adz_unfold(x, state->kernel_size, &state->o);
}

static adz_tensor *fold(adz_module *self, adz_tensor *x)
{
    const fold_state *state = self->state;
    return adz_fold(x, state->output_size, state->kernel_size, &state->o);
}

static const adz_module_type unfold_type = {
    .size = sizeof(adz_module_type),
    .name = "Unfold",
    .forward = unfold,
    .fields = fields + 1,
    .n_fields = sizeof fields / sizeof *fields - 1,
};

static const adz_module_type fold_type = {
    .size = sizeof(adz_module_type),
    .name = "Fold",
    .forward = fold,
    ADZI_MODULE_FIELDS(fields),
};

static adz_module *fold_new(const char *op, const adz_module_type *type, adz_shape output_size,
    adz_shape kernel_size, const adz_conv_options *options)
{
    fold_state state = { .output_size = output_size, .kernel_size = kernel_size };
    adzi_conv conv;
    int64_t kernel[2];
    return adz_options_take(op, &table, &state, options) &&
                   adzi_fold_read_kernel(op, &state.o, kernel_size, &conv, kernel)
               ? adzi_module_of(type, &state, sizeof state)
               : NULL;
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
