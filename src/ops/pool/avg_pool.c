#include "ops/pool/avg_pool.h"

#include "ops/pool/resample.h"
#include "adze/options.h"

/* The mean of each window, which is a linear map of x (ops/pool/resample.h). The node
 * saves nothing. */

/* The rows of the arguments, whose lists are printed as `kind` says. */
#define ARGUMENTS(kind)                                                                            \
    {                                                                                              \
        ADZ_FIELD_AS(                                                                              \
            adzi_avg_pool_arguments, kernel_size, "kernel_size", kind, ADZ_CLOSED(1, INT32_MAX)),  \
            ADZ_FIELD_AS(adz_avg_pool_options, stride, "stride", kind, ADZ_CLOSED(1, INT32_MAX)),  \
            ADZ_FIELD_AS(                                                                          \
                adz_avg_pool_options, padding, "padding", kind, ADZ_CLOSED(0, INT32_MAX)),         \
            ADZ_FIELD(adz_avg_pool_options, ceil_mode, .value = false, .shown = ADZ_SHOWN_NEVER),  \
            ADZ_FIELD(                                                                             \
                adz_avg_pool_options, count_include_pad, .value = true, .shown = ADZ_SHOWN_NEVER), \
            ADZ_FIELD(adz_avg_pool_options, divisor_override, .value = 0, ADZ_AT_LEAST(0),         \
                .hint = "0 stands for the size of the window", .shown = ADZ_SHOWN_NEVER)           \
    }

const adz_field adzi_avg_pool_rows[2][ADZI_AVG_POOL_ARGUMENTS] = { ARGUMENTS(ADZ_FIELD_SHAPE),
    ARGUMENTS(ADZ_FIELD_SIZES) };

ADZ_OPTIONS_TABLE(adz_avg_pool_options, ADZ_AVG_POOL_OPTIONS, adzi_avg_pool_rows[1])

const adz_field adzi_avg_pool_fields[ADZI_AVG_POOL_FIELDS] = { ADZI_FIELD_LIST(adzi_window_attr, n,
                                                                   kernel_size),
    ADZI_FIELD_LIST(adzi_window_attr, n_stride, stride),
    ADZI_FIELD_LIST(adzi_window_attr, n_padding, padding),
    ADZI_FIELD_HIDDEN_LIST(adzi_window_attr, n_dilation, dilation),
    ADZI_FIELD(adzi_window_attr, ceil_mode), ADZI_FIELD(adzi_window_attr, count_include_pad),
    ADZI_FIELD(adzi_window_attr, divisor_override) };

/* The factor of all sums: a divisor of the caller replaces the sizes of the windows. */
static double scale_of(const adzi_window_attr *attr)
{
    return attr->divisor_override != 0 ? 1 / (double)attr->divisor_override : 1;
}

adz_status adzi_avg_pool_expression(adz_tensor **y, adz_tensor *const *in, const void *block)
{
    const adzi_window_attr *attr = block;
    adzi_axis axes[ADZI_AXES];
    adzi_window_axes("avg_pool", in[0]->rank, in[0]->sizes, attr, axes);
    y[0] = adzi_resample_expression("avg_pool", in[0], attr->n, axes, scale_of(attr));
    return adzi_status(y[0]);
}

/* The sizes were checked in the forward. */
static void axes_of(const adzi_node *node, adzi_axis *axes)
{
    const adz_shape x = adzi_input_shape(node, 0);
    adzi_window_axes(node->op->name, x.rank, x.sizes, adzi_attr(node, adzi_window_attr), axes);
}

adz_status adzi_avg_pool_fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const adzi_window_attr *attr = adzi_attr(node, adzi_window_attr);
    adzi_axis axes[ADZI_AXES];
    axes_of(node, axes);
    return adzi_resample_fused(node, dx, dy, axes, scale_of(attr));
}

bool adzi_avg_pool_read(const char *op, int n, adzi_avg_pool_arguments *all,
    const adz_avg_pool_options *options, adzi_window_attr *attr)
{
    bool good;
    if (options != NULL) {
        good = adz_options_take(op, &adz_avg_pool_options_table, all, options);
    } else { /* the first row is that of kernel_size */
        all->o = (adz_avg_pool_options)ADZ_AVG_POOL_OPTIONS;
        good = adz_fields_check(op, adzi_avg_pool_rows[1], 1, all);
    }
    if (!good) {
        return false;
    }
    *attr = (adzi_window_attr){ .n = n,
        .n_stride = n,
        .n_padding = n,
        .n_dilation = n,
        .dilation = { 1, 1, 1 },
        .divisor_override = all->o.divisor_override,
        .ceil_mode = all->o.ceil_mode,
        .count_include_pad = all->o.count_include_pad };
    return adzi_read_window(op, &all->kernel_size, &all->o.stride, &all->o.padding, attr);
}

adz_tensor *adzi_avg_pool(const adzi_op *op, adz_tensor *x, int n, adz_shape kernel_size,
    const adz_avg_pool_options *options)
{
    adzi_avg_pool_arguments all = { .kernel_size = kernel_size };
    adzi_resampling call;
    if (!adzi_avg_pool_read(op->name, n, &all, options, &call.w.at.window)) {
        return NULL;
    }
    call.args.scale = scale_of(&call.w.at.window);
    return adzi_resample_call(op, x, &call);
}
