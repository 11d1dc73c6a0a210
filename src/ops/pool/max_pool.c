#include "ops/pool/max_pool.h"

#include "ops/pool/max_windows.h"
#include "adze/options.h"

const adz_field adzi_max_pool_rows[ADZI_MAX_POOL_ARGUMENTS] = {
    ADZ_FIELD_AS(adzi_max_pool_arguments, kernel_size, "kernel_size", ADZ_FIELD_SIZES,
        ADZ_CLOSED(1, INT32_MAX)),
    ADZ_FIELD_AS(adz_max_pool_options, stride, "stride", ADZ_FIELD_SIZES, ADZ_CLOSED(1, INT32_MAX)),
    ADZ_FIELD_AS(
        adz_max_pool_options, padding, "padding", ADZ_FIELD_SIZES, ADZ_CLOSED(0, INT32_MAX)),
    ADZ_FIELD_AS(adz_max_pool_options, dilation, "dilation", ADZ_FIELD_SIZES, .value = 1,
        ADZ_CLOSED(1, INT32_MAX)),
    ADZ_FIELD(adz_max_pool_options, ceil_mode, .value = false),
};

ADZ_OPTIONS_TABLE(adz_max_pool_options, ADZ_MAX_POOL_OPTIONS, adzi_max_pool_rows)

const adz_field adzi_max_pool_fields[ADZI_MAX_POOL_FIELDS] = { ADZI_FIELD_LIST(adzi_window_attr, n,
                                                                   kernel_size),
    ADZI_FIELD_LIST(adzi_window_attr, n_stride, stride),
    ADZI_FIELD_LIST(adzi_window_attr, n_padding, padding),
    ADZI_FIELD_LIST(adzi_window_attr, n_dilation, dilation),
    ADZI_FIELD(adzi_window_attr, ceil_mode), ADZI_FIELD_HIDDEN(adzi_window_attr, count_include_pad),
    ADZI_FIELD_HIDDEN(adzi_window_attr, divisor_override) };

/* The sizes were checked in the forward. */
static void axes_of(const adzi_node *node, adzi_axis *axes)
{
    const adz_shape x = adzi_input_shape(node, 0);
    adzi_window_axes(node->op->name, x.rank, x.sizes, adzi_attr(node, adzi_window_attr), axes);
}

adz_status adzi_max_pool_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adzi_axis axes[ADZI_AXES];
    axes_of(node, axes);
    return adzi_max_windows_backward(node, dx, dy, adzi_attr(node, adzi_window_attr)->n, axes);
}

adz_status adzi_max_pool_fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adzi_axis axes[ADZI_AXES];
    axes_of(node, axes);
    return adzi_max_windows_fused(node, dx, dy, axes);
}

bool adzi_max_pool_read(const char *op, int n, adzi_max_pool_arguments *all,
    const adz_max_pool_options *options, adzi_window_attr *attr)
{
    bool good;
    if (options != NULL) {
        good = adz_options_take(op, &adz_max_pool_options_table, all, options);
    } else { /* the first row is that of kernel_size */
        all->o = (adz_max_pool_options)ADZ_MAX_POOL_OPTIONS;
        good = adz_fields_check(op, adzi_max_pool_rows, 1, all);
    }
    if (!good) {
        return false;
    }
    *attr = (adzi_window_attr){ .n = n,
        .n_stride = n,
        .n_padding = n,
        .n_dilation = n,
        .dilation = { 1, 1, 1 },
        .ceil_mode = all->o.ceil_mode };
    return adzi_spread(op, "dilation", &all->o.dilation, n, attr->dilation) &&
           adzi_read_window(op, &all->kernel_size, &all->o.stride, &all->o.padding, attr);
}

adz_tensor *adzi_max_pool(const adzi_op *op, adz_tensor *x, int n, adz_shape kernel_size,
    const adz_max_pool_options *options, adz_tensor **indices)
{
    adzi_max_pool_arguments all = { .kernel_size = kernel_size };
    adzi_max_windows_call call;
    if (indices != NULL) {
        *indices = NULL;
    }
    return adzi_max_pool_read(op->name, n, &all, options, &call.w.at.window)
               ? adzi_max_windows(op, x, &call, indices)
               : NULL;
}
