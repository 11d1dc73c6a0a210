/* Convolution layers: y = convolution of x with weight, + bias, and their transposed forms.
 *
 * A padding mode other than zeros pads x by adz_pad_mode first, and the convolution pads nothing.
 */
#include "adze/nn/conv.h"

#include <math.h>

#include "adze/nn/init.h"
#include "adze/ops/shape.h"
#include "ops/conv/conv.h"
#include "nn/module.h"
#include "base/error.h"
#include "adze/options.h"

enum { WEIGHT, BIAS };

/* The arguments of a layer. Once they are read, the shapes among them have one number per spatial
 * dimension, as PyTorch prints them. */
typedef struct {
    adz_conv_module_options o;
    int64_t in_channels, out_channels;
    adz_shape kernel_size;
    bool transposed;
    adzi_conv conv;                   /* of the call, with the padding that the operator applies */
    int64_t pads[2 * ADZI_CONV_AXES]; /* of adz_pad_mode, unless the padding mode is zeros */
} conv_state;

/* By adz_padding_mode. */
static const char *const modes[] = { "zeros", "reflect", "replicate", "circular", NULL };

static const adz_field fields[] = {
    ADZ_FIELD(conv_state, in_channels, ADZ_SIZE_FROM(1), .shown = ADZ_SHOWN_BARE),
    ADZ_FIELD(conv_state, out_channels, ADZ_SIZE_FROM(1), .shown = ADZ_SHOWN_BARE),
    ADZ_FIELD(conv_state, kernel_size, ADZ_SIZE_FROM(1)),
    ADZ_FIELD(adz_conv_module_options, stride, .value = 1, ADZ_SIZE_FROM(1)),
    ADZ_FIELD(
        adz_conv_module_options, padding, .value = 0, ADZ_SIZE_FROM(0), .shown = ADZ_SHOWN_CHANGED),
    ADZ_FIELD_AS(adz_conv_module_options, padding_rule, "padding", ADZ_FIELD_ENUM,
        .values = adzi_conv_rules, .shown = ADZ_SHOWN_CHANGED),
    ADZ_FIELD(adz_conv_module_options, dilation, .value = 1, ADZ_SIZE_FROM(1),
        .shown = ADZ_SHOWN_CHANGED),
    ADZ_FIELD(adz_conv_module_options, output_padding, .value = 0, ADZ_SIZE_FROM(0),
        .shown = ADZ_SHOWN_CHANGED),
    ADZ_FIELD(
        adz_conv_module_options, groups, .value = 1, ADZ_SIZE_FROM(1), .shown = ADZ_SHOWN_CHANGED),
    ADZ_FIELD(adz_conv_module_options, bias, .value = true, .shown = ADZ_SHOWN_CHANGED),
    ADZ_FIELD_AS(adz_conv_module_options, padding_mode, "padding_mode", ADZ_FIELD_ENUM,
        .values = modes, .shown = ADZ_SHOWN_CHANGED),
    ADZ_FIELD_PARAMETER_DTYPE(adz_conv_module_options),
};

ADZ_OPTIONS_TABLE(adz_conv_module_options, ADZ_CONV_MODULE_OPTIONS, fields)

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    const conv_state *s = self->state;
    if (s->o.padding_mode != ADZ_PADDING_ZEROS) {
        /* The convolution would name the padded tensor in its messages. */
        if (x->rank < s->conv.n + 1 || x->rank > s->conv.n + 2) {
            return adzi_fail(adzi_conv_op(false, s->conv.n)->name, ADZ_ERR_SHAPE,
                "x%s has rank %d, but must have %d or %d", adzi_text_shape(x), x->rank,
                s->conv.n + 1, s->conv.n + 2);
        }
        x = adz_pad_mode(x, s->pads, 2 * (size_t)s->conv.n, s->o.padding_mode);
    }
    return adzi_conv_call(
        s->transposed, x, adzi_parameter(self, WEIGHT), adzi_parameter(self, BIAS), &s->conv);
}

/* Draws both from U(-1/sqrt(k), 1/sqrt(k)), where k is the number of weights per row. PyTorch draws
 * the weight by kaiming_uniform_ with a = sqrt(5), which is this distribution. */
static adz_status reset_parameters(adz_module *self)
{
    adz_tensor *weight = adzi_parameter(self, WEIGHT), *bias = adzi_parameter(self, BIAS);
    const double bound = 1 / sqrt((double)weight->numel / (double)weight->sizes[0]);
    if (adz_init_uniform_(weight, -bound, bound, NULL) == NULL ||
        (!adzi_is_none(bias) && adz_init_uniform_(bias, -bound, bound, NULL) == NULL)) {
        return adz_error_code();
    }
    return ADZ_OK;
}

/* ---- constructors --------------------------------------------------------------------------- */

#define CONV_TYPE(its_name)                                                      \
    {                                                                            \
        .size = sizeof(adz_module_type), .name = (its_name), .forward = forward, \
        .reset_parameters = reset_parameters, ADZI_MODULE_FIELDS(fields),        \
    }

static const adz_module_type types[2][ADZI_CONV_AXES] = {
    { CONV_TYPE("Conv1d"), CONV_TYPE("Conv2d"), CONV_TYPE("Conv3d") },
    { CONV_TYPE("ConvTranspose1d"), CONV_TYPE("ConvTranspose2d"), CONV_TYPE("ConvTranspose3d") }
};

/* Checks what no single field says, and spreads the sizes of the kernel over n dimensions. */
static bool check_sizes(const char *op, int n, const conv_state *s, int64_t *sizes)
{
    static const char *const forms[] = { "a size", "one size for both dimensions, or two,",
        "one size for all dimensions, or three," };
    const adz_shape *kernel = &s->kernel_size;
    if (s->in_channels % s->o.groups != 0 || s->out_channels % s->o.groups != 0) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "groups %lld must divide in_channels %lld and out_channels %lld",
            (long long)s->o.groups, (long long)s->in_channels, (long long)s->out_channels);
        return false;
    }
    if (s->transposed && s->o.padding_mode != ADZ_PADDING_ZEROS) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "padding_mode %d is not zeros, which transposed convolutions need",
            (int)s->o.padding_mode);
        return false;
    }
    if (kernel->rank != 1 && kernel->rank != n) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "kernel_size %s must be %s of 1 or more",
            adzi_text_sizes(kernel->rank, kernel->sizes), forms[n - 1]);
        return false;
    }
    for (int d = 0; d < n; ++d) {
        sizes[d] = kernel->sizes[kernel->rank == 1 ? 0 : d];
    }
    return true;
}

/* Fills the rest of the state from checked options. With a padding mode the module pads, and the
 * operator does not. adz_pad_mode counts dimensions from the last. */
static bool read_options(conv_state *s, const char *op, int n, const int64_t *kernel)
{
    adz_conv_module_options *o = &s->o;
    const adz_conv_options conv = { .size = sizeof conv,
        .stride = o->stride,
        .padding = o->padding,
        .padding_rule = o->padding_rule,
        .dilation = o->dilation,
        .output_padding = o->output_padding,
        .groups = o->groups };
    s->conv.n = n;
    if (!adzi_conv_read(&s->conv, op, &conv, s->transposed, kernel)) {
        return false;
    }
    s->kernel_size = adz_shape_of(n, kernel);
    o->stride = adz_shape_of(n, s->conv.stride);
    o->dilation = adz_shape_of(n, s->conv.dilation);
    o->padding = adz_shape_of(o->padding_rule == ADZ_PADDING_NUMBERS ? n : 0, s->conv.padding);
    o->output_padding = (adz_shape){ .rank = s->transposed ? n : 0 };
    for (int d = 0; d < n; ++d) {
        if (s->transposed) {
            o->output_padding.sizes[d] = s->conv.padding[d] - s->conv.padding_after[d];
        }
        if (o->padding_mode != ADZ_PADDING_ZEROS) {
            s->pads[2 * (n - 1 - d)] = s->conv.padding[d];
            s->pads[2 * (n - 1 - d) + 1] = s->conv.padding_after[d];
            s->conv.padding[d] = s->conv.padding_after[d] = 0;
        }
    }
    return true;
}

/* Builds a module over n dimensions from its arguments. */
static adz_module *build_conv(
    const char *op, int n, conv_state s, const adz_conv_module_options *options)
{
    const bool transposed = s.transposed;
    const int64_t in = s.in_channels, out = s.out_channels;
    int64_t kernel[ADZI_CONV_AXES] = { 1, 1, 1 };
    if (!adz_options_take(op, &adz_conv_module_options_table, &s, options) ||
        !check_sizes(op, n, &s, kernel) || !read_options(&s, op, n, kernel)) {
        return NULL;
    }
    const int64_t rows = transposed ? in : out, columns = (transposed ? out : in) / s.o.groups;
    const int64_t sizes[] = { rows, columns, kernel[0], kernel[1], kernel[2] };
    adzi_build build = adzi_build_begin();
    adz_module *self = adzi_module_of(&types[transposed][n - 1], &s, sizeof s);
    const bool good = self != NULL &&
                      adz_module_add_parameter(self, "weight",
                          adz_empty(adz_shape_of(n + 2, sizes), s.o.dtype)) != NULL &&
                      adz_module_add_parameter(self, "bias",
                          s.o.bias ? adz_empty(ADZ_SHAPE(out), s.o.dtype) : ADZ_NONE) != NULL &&
                      reset_parameters(self) == ADZ_OK;
    return adzi_build_end(build, self, good);
}

adz_module *adz_conv1d_new(int64_t in_channels, int64_t out_channels, int64_t kernel_size,
    const adz_conv_module_options *options)
{
    const conv_state s = { .in_channels = in_channels,
        .out_channels = out_channels,
        .kernel_size = ADZ_SHAPE(kernel_size) };
    return build_conv(__func__, 1, s, options);
}

adz_module *adz_conv2d_new(int64_t in_channels, int64_t out_channels, adz_shape kernel_size,
    const adz_conv_module_options *options)
{
    const conv_state s = {
        .in_channels = in_channels, .out_channels = out_channels, .kernel_size = kernel_size
    };
    return build_conv(__func__, 2, s, options);
}

adz_module *adz_conv3d_new(int64_t in_channels, int64_t out_channels, adz_shape kernel_size,
    const adz_conv_module_options *options)
{
    const conv_state s = {
        .in_channels = in_channels, .out_channels = out_channels, .kernel_size = kernel_size
    };
    return build_conv(__func__, 3, s, options);
}

adz_module *adz_conv_transpose1d_new(int64_t in_channels, int64_t out_channels, int64_t kernel_size,
    const adz_conv_module_options *options)
{
    const conv_state s = { .in_channels = in_channels,
        .out_channels = out_channels,
        .kernel_size = ADZ_SHAPE(kernel_size),
        .transposed = true };
    return build_conv(__func__, 1, s, options);
}

adz_module *adz_conv_transpose2d_new(int64_t in_channels, int64_t out_channels,
    adz_shape kernel_size, const adz_conv_module_options *options)
{
    const conv_state s = { .in_channels = in_channels,
        .out_channels = out_channels,
        .kernel_size = kernel_size,
        .transposed = true };
    return build_conv(__func__, 2, s, options);
}

adz_module *adz_conv_transpose3d_new(int64_t in_channels, int64_t out_channels,
    adz_shape kernel_size, const adz_conv_module_options *options)
{
    const conv_state s = { .in_channels = in_channels,
        .out_channels = out_channels,
        .kernel_size = kernel_size,
        .transposed = true };
    return build_conv(__func__, 3, s, options);
}
