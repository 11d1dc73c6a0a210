#include "ops/conv/conv.h"
#include "adze/options.h"

/* The options of a convolution, checked and spread over its spatial dimensions. */

ADZ_OPTIONS_INIT(adz_conv_options_init, adz_conv_options, ADZ_CONV_OPTIONS)

/* Spreads a list over n dimensions: an empty list gives the default, one number is for all. Numbers
 * below `least` are refused. */
static bool spread(int64_t *to, const char *op, const char *name, adz_shape list, int n,
    int64_t otherwise, int64_t least)
{
    if (list.rank < 0 || (list.rank > 1 && list.rank != n)) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "%s%s must have %s", name,
            list.rank < 0 ? "" : adzi_text_sizes(list.rank, list.sizes),
            n == 1 ? "one number" : "one number for both dimensions, or two");
        return false;
    }
    for (int d = 0; d < n; ++d) {
        to[d] = list.rank == 0 ? otherwise : list.sizes[list.rank == 1 ? 0 : d];
        if (to[d] < least) {
            adzi_error(op, ADZ_ERR_ARGUMENT, "%s %lld must be %lld or more", name, (long long)to[d],
                (long long)least);
            return false;
        }
    }
    return true;
}

static const char *const rules[] = { "numbers", "valid", "same", "causal" };

const char *adzi_conv_rule_name(adz_padding_rule rule)
{
    return rules[rule];
}

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
            rules[o->padding_rule]);
        return false;
    }
    if (!spread(at->padding, op, "padding", o->padding, at->n, 0, 0)) {
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
    int64_t more[2];
    if (!transposed && o->output_padding.rank != 0) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "output_padding is for transposed convolutions alone");
        return false;
    }
    if (!spread(more, op, "output_padding", o->output_padding, at->n, 0, 0)) {
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
    int n, const int64_t *kernel)
{
    adz_conv_options o = ADZ_CONV_OPTIONS;
    if (!ADZ_OPTIONS_READ(op, ADZ_CONV_OPTIONS, &o, options)) {
        return false;
    }
    *at = (adzi_conv){ .n = n, .n_padding = n, .n_after = n, .n_dilation = n, .groups = o.groups };
    if (o.groups < 1) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "groups %lld must be 1 or more", (long long)o.groups);
        return false;
    }
    if ((unsigned)o.padding_rule > ADZ_PADDING_CAUSAL) {
        adzi_error(
            op, ADZ_ERR_ARGUMENT, "padding_rule %d is no adz_padding_rule", (int)o.padding_rule);
        return false;
    }
    if (transposed && o.padding_rule >= ADZ_PADDING_SAME) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "padding \"%s\" is for convolutions; a transposed one takes numbers",
            rules[o.padding_rule]);
        return false;
    }
    return spread(at->stride, op, "stride", o.stride, n, 1, 1) &&
           spread(at->dilation, op, "dilation", o.dilation, n, 1, 1) &&
           read_padding(at, op, &o, kernel) && read_output_padding(at, op, &o, transposed);
}
