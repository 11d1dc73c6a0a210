#include "ops/conv/conv.h"
#include "ops/options.h"
#include "ops/spread.h"

/* The options of a convolution, checked and spread over its spatial dimensions. */

const char *const adzi_conv_rules[] = { "numbers", "valid", "same", "causal", NULL };

static const adz_field fields[] = {
    ADZ_FIELD(adz_conv_options, stride, .value = 1, ADZ_AT_LEAST(1)),
    ADZ_FIELD(adz_conv_options, padding, .value = 0, ADZ_AT_LEAST(0)),
    ADZ_FIELD_AS(
        adz_conv_options, padding_rule, "padding_rule", ADZ_FIELD_ENUM, .values = adzi_conv_rules),
    ADZ_FIELD(adz_conv_options, dilation, .value = 1, ADZ_AT_LEAST(1)),
    ADZ_FIELD(adz_conv_options, output_padding, .value = 0, ADZ_AT_LEAST(0)),
    ADZ_FIELD(adz_conv_options, groups, .value = 1, ADZ_AT_LEAST(1)),
};

ADZ_OPTIONS_TABLE(adz_conv_options, ADZ_CONV_OPTIONS, fields)

/* Padding "same": the result has the size of the input. An odd number of elements puts one more at
 * the end. Padding "causal": as many elements, all of them in front. */
static bool pad_by_rule(adzi_conv *at, const char *op, adz_padding_rule rule, const int64_t *kernel)
{
    for (int d = 0; d < at->n; ++d) {
        int64_t all;
        if (rule == ADZ_PADDING_SAME && at->stride[d] != 1) {
            adzi_error(op, ADZ_ERR_ARGUMENT,
                "padding \"same\" needs stride 1, but the stride is %lld; give the padding as numbers",
                (long long)at->stride[d]);
            return false;
        }
        if (kernel[d] < 1 || __builtin_mul_overflow(at->dilation[d], kernel[d] - 1, &all)) {
            all = 0; /* the checks of sizes refuse this kernel */
        }
        at->padding[d] = rule == ADZ_PADDING_SAME ? all / 2 : all;
        at->padding_after[d] = all - at->padding[d];
    }
    return true;
}

static bool read_padding(
    adzi_conv *at, const char *op, const adz_conv_options *o, const int64_t *kernel)
{
    if (o->padding_rule != ADZ_PADDING_NUMBERS && o->padding.rank != 0) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "padding_rule \"%s\" leaves no room for the numbers in padding; give one of the two",
            adzi_conv_rules[o->padding_rule]);
        return false;
    }
    if (!adzi_spread(op, "padding", &o->padding, at->n, at->padding)) {
        return false;
    }
    memcpy(at->padding_after, at->padding, sizeof at->padding);
    return o->padding_rule < ADZ_PADDING_SAME || pad_by_rule(at, op, o->padding_rule, kernel);
}

/* output_padding makes the result of a transposed convolution larger at its end. PyTorch wants it
 * smaller than the stride or the dilation. */
static bool read_output_padding(
    adzi_conv *at, const char *op, const adz_conv_options *o, bool transposed)
{
    int64_t more[ADZI_CONV_AXES] = { 0 };
    if (!transposed && o->output_padding.rank != 0) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "output_padding is for transposed convolutions alone");
        return false;
    }
    if (!adzi_spread(op, "output_padding", &o->output_padding, at->n, more)) {
        return false;
    }
    for (int d = 0; d < at->n; ++d) {
        if (more[d] > 0 && more[d] >= at->stride[d] && more[d] >= at->dilation[d]) {
            adzi_error(op, ADZ_ERR_ARGUMENT,
                "output_padding %lld must be smaller than the stride, %lld, or the dilation, %lld",
                (long long)more[d], (long long)at->stride[d], (long long)at->dilation[d]);
            return false;
        }
        at->padding_after[d] -= more[d];
    }
    return true;
}

bool adzi_conv_read(adzi_conv *at, const char *op, const adz_conv_options *options, bool transposed,
    const int64_t *kernel)
{
    const int n = at->n;
    adz_conv_options o;
    if (!ADZI_OPTIONS_TAKE(op, adz_conv_options, ADZ_CONV_OPTIONS, &o, options)) {
        return false;
    }
    *at = (adzi_conv){ .n = n,
        .n_padding = n,
        .n_after = n,
        .n_dilation = n,
        .stride = { 1, 1, 1 },
        .dilation = { 1, 1, 1 },
        .groups = o.groups };
    if (transposed && o.padding_rule >= ADZ_PADDING_SAME) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "padding \"%s\" is for convolutions; a transposed one takes numbers",
            adzi_conv_rules[o.padding_rule]);
        return false;
    }
    return adzi_spread(op, "stride", &o.stride, n, at->stride) &&
           adzi_spread(op, "dilation", &o.dilation, n, at->dilation) &&
           read_padding(at, op, &o, kernel) && read_output_padding(at, op, &o, transposed);
}
