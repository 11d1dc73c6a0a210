/* Convolution layers: y = convolution of x with weight, + bias, and their transposed forms.
 *
 * A padding mode other than zeros pads x by adz_pad_mode first, and the convolution pads nothing.
 */
#include "adze/nn/conv.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "adze/nn/init.h"
#include "adze/ops/shape.h"
#include "ops/conv/conv.h"
#include "nn/module.h"
#include "base/error.h"
#include "adze/options.h"

enum { WEIGHT, BIAS };

/* The arguments of a layer. Arrays have one number per spatial dimension. */
typedef struct {
    bool transposed;
    adz_padding_rule rule;
    adz_padding_mode mode;
    adzi_conv conv;            /* of the call, with the padding that the operator applies */
    int64_t padding[2];        /* as it was given */
    int64_t output_padding[2]; /* as it was given */
    int64_t pads[4];           /* of adz_pad_mode, unless mode is zeros */
} conv_state;

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    const conv_state *s = self->state;
    if (s->mode != ADZ_PADDING_ZEROS) {
        /* The convolution would name the padded tensor in its messages. */
        if (x->rank < s->conv.n + 1 || x->rank > s->conv.n + 2) {
            return adzi_fail(adzi_conv_op(false, s->conv.n)->name, ADZ_ERR_SHAPE,
                "x%s has rank %d, but must have %d or %d", adzi_text_shape(x), x->rank,
                s->conv.n + 1, s->conv.n + 2);
        }
        x = adz_pad_mode(x, s->pads, 2 * (size_t)s->conv.n, s->mode);
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

/* ---- printing ------------------------------------------------------------------------------- */

enum { LONGEST = 512 }; /* characters of a printed layer: 15 numbers and their names */

/* A text of fixed length that is added to. */
typedef struct {
    char chars[LONGEST];
    size_t length;
} line;

static void add(line *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(line *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(text->chars + text->length, LONGEST - text->length, format, list);
    va_end(list);
    text->length += n > 0 ? (size_t)n : 0;
    text->length = text->length < LONGEST ? text->length : LONGEST - 1;
}

/* Adds ", name=(1, 2)" as Python prints a tuple, unless all numbers are `otherwise`. */
static void add_tuple(line *text, const char *name, const int64_t *values, int n, int64_t otherwise)
{
    if (values[0] == otherwise && values[n - 1] == otherwise) {
        return;
    }
    add(text, ", %s=(%lld,", name, (long long)values[0]);
    if (n == 2) {
        add(text, " %lld", (long long)values[1]);
    }
    add(text, ")");
}

static size_t repr(adz_module *self, char *buffer, size_t size)
{
    static const char *const modes[] = { "zeros", "reflect", "replicate", "circular" };
    const conv_state *s = self->state;
    const adz_tensor *weight = adzi_parameter(self, WEIGHT);
    const int n = s->conv.n;
    const int64_t a = weight->sizes[0], b = weight->sizes[1] * s->conv.groups;
    line text = { .length = 0 };
    add(&text, "%lld, %lld", (long long)(s->transposed ? a : b),
        (long long)(s->transposed ? b : a));
    add_tuple(&text, "kernel_size", weight->sizes + 2, n, 0);
    add_tuple(&text, "stride", s->conv.stride, n, 0);
    if (s->rule == ADZ_PADDING_NUMBERS) {
        add_tuple(&text, "padding", s->padding, n, 0);
    } else {
        add(&text, ", padding=%s", adzi_conv_rule_name(s->rule));
    }
    add_tuple(&text, "dilation", s->conv.dilation, n, 1);
    add_tuple(&text, "output_padding", s->output_padding, n, 0);
    if (s->conv.groups != 1) {
        add(&text, ", groups=%lld", (long long)s->conv.groups);
    }
    if (adzi_is_none(adzi_parameter(self, BIAS))) {
        add(&text, ", bias=False");
    }
    if (s->mode != ADZ_PADDING_ZEROS) {
        add(&text, ", padding_mode=%s", modes[s->mode]);
    }
    return (size_t)snprintf(buffer, size, "%s", text.chars);
}

/* ---- constructors --------------------------------------------------------------------------- */

#define CONV_TYPE(its_name)                                                      \
    {                                                                            \
        .size = sizeof(adz_module_type), .name = (its_name), .forward = forward, \
        .reset_parameters = reset_parameters, .extra_repr = repr,                \
    }

static const adz_module_type types[2][2] = { { CONV_TYPE("Conv1d"), CONV_TYPE("Conv2d") },
    { CONV_TYPE("ConvTranspose1d"), CONV_TYPE("ConvTranspose2d") } };

ADZ_OPTIONS_INIT(adz_conv_module_options_init, adz_conv_module_options, ADZ_CONV_MODULE_OPTIONS)

/* Checks channels, groups and the sizes of the kernel, and spreads the latter over n dimensions. */
static bool check_sizes(const char *op, int n, int64_t in, int64_t out, adz_shape kernel,
    const adz_conv_module_options *o, int64_t *sizes)
{
    if (!adz_check_size(op, "in_channels", in, 1) || !adz_check_size(op, "out_channels", out, 1)) {
        return false;
    }
    if (o->groups < 1 || in % o->groups != 0 || out % o->groups != 0) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "groups %lld must divide in_channels %lld and out_channels %lld", (long long)o->groups,
            (long long)in, (long long)out);
        return false;
    }
    bool good = kernel.rank == 1 || kernel.rank == n;
    for (int d = 0; good && d < n; ++d) {
        sizes[d] = kernel.sizes[kernel.rank == 1 ? 0 : d];
        good = sizes[d] >= 1;
    }
    if (!good) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "kernel_size %s must be %s of 1 or more",
            kernel.rank < 0 || kernel.rank > ADZ_MAX_RANK
                ? "of a wrong rank"
                : adzi_text_sizes(kernel.rank, kernel.sizes),
            n == 1 ? "a size" : "one size for both dimensions, or two,");
    }
    return good;
}

/* Fills the state from checked options. With a padding mode the module pads, and the operator does
 * not. adz_pad_mode counts dimensions from the last. */
static bool read_options(conv_state *s, const char *op, bool transposed, int n,
    const int64_t *kernel, const adz_conv_module_options *o)
{
    adz_conv_options conv = ADZ_CONV_OPTIONS;
    conv.stride = o->stride;
    conv.padding = o->padding;
    conv.padding_rule = o->padding_rule;
    conv.dilation = o->dilation;
    conv.output_padding = o->output_padding;
    conv.groups = o->groups;
    *s = (conv_state){ .transposed = transposed, .rule = o->padding_rule, .mode = o->padding_mode };
    if ((unsigned)o->padding_mode > ADZ_PADDING_CIRCULAR ||
        (transposed && o->padding_mode != ADZ_PADDING_ZEROS)) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "padding_mode %d is %s", (int)o->padding_mode,
            transposed ? "not zeros, which transposed convolutions need" : "no adz_padding_mode");
        return false;
    }
    if (!adzi_conv_read(&s->conv, op, &conv, transposed, n, kernel)) {
        return false;
    }
    for (int d = 0; d < n; ++d) {
        s->padding[d] = s->conv.padding[d];
        s->output_padding[d] = transposed ? s->conv.padding[d] - s->conv.padding_after[d] : 0;
        if (s->mode != ADZ_PADDING_ZEROS) {
            s->pads[2 * (n - 1 - d)] = s->conv.padding[d];
            s->pads[2 * (n - 1 - d) + 1] = s->conv.padding_after[d];
            s->conv.padding[d] = s->conv.padding_after[d] = 0;
        }
    }
    return true;
}

static adz_module *build_conv(const char *op, bool transposed, int n, int64_t in, int64_t out,
    adz_shape kernel_size, const adz_conv_module_options *options)
{
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    conv_state state;
    int64_t kernel[2] = { 1, 1 };
    if (!ADZ_OPTIONS_READ(op, ADZ_CONV_MODULE_OPTIONS, &o, options) ||
        !adz_check_parameter_dtype(op, o.dtype) ||
        !check_sizes(op, n, in, out, kernel_size, &o, kernel) ||
        !read_options(&state, op, transposed, n, kernel, &o)) {
        return NULL;
    }
    const int64_t rows = transposed ? in : out, columns = (transposed ? out : in) / o.groups;
    const int64_t sizes[] = { rows, columns, kernel[0], kernel[1] };
    adzi_build build = adzi_build_begin();
    adz_module *self = adz_module_new(&types[transposed][n - 1], sizeof state);
    bool good = self != NULL;
    if (good) {
        *(conv_state *)self->state = state;
        good = adz_module_add_parameter(
                   self, "weight", adz_empty(adz_shape_of(n + 2, sizes), o.dtype)) != NULL &&
               adz_module_add_parameter(
                   self, "bias", o.bias ? adz_empty(ADZ_SHAPE(out), o.dtype) : ADZ_NONE) != NULL &&
               reset_parameters(self) == ADZ_OK;
    }
    return adzi_build_end(build, self, good);
}

adz_module *adz_conv1d_new(int64_t in_channels, int64_t out_channels, int64_t kernel_size,
    const adz_conv_module_options *options)
{
    return build_conv(
        __func__, false, 1, in_channels, out_channels, ADZ_SHAPE(kernel_size), options);
}

adz_module *adz_conv2d_new(int64_t in_channels, int64_t out_channels, adz_shape kernel_size,
    const adz_conv_module_options *options)
{
    return build_conv(__func__, false, 2, in_channels, out_channels, kernel_size, options);
}

adz_module *adz_conv_transpose1d_new(int64_t in_channels, int64_t out_channels, int64_t kernel_size,
    const adz_conv_module_options *options)
{
    return build_conv(
        __func__, true, 1, in_channels, out_channels, ADZ_SHAPE(kernel_size), options);
}

adz_module *adz_conv_transpose2d_new(int64_t in_channels, int64_t out_channels,
    adz_shape kernel_size, const adz_conv_module_options *options)
{
    return build_conv(__func__, true, 2, in_channels, out_channels, kernel_size, options);
}
