#include "ops/pool/max_pool.h"

#include "ops/pool/max_windows.h"
#include "adze/options.h"

ADZ_OPTIONS_INIT(adz_max_pool_options_init, adz_max_pool_options, ADZ_MAX_POOL_OPTIONS)

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

bool adzi_max_pool_read(const char *op, int n, adz_shape kernel_size,
    const adz_max_pool_options *options, adzi_window_attr *attr)
{
    static const int64_t zeros[ADZI_AXES] = { 0 }, ones[ADZI_AXES] = { 1, 1 };
    adz_max_pool_options o = ADZ_MAX_POOL_OPTIONS;
    *attr = (adzi_window_attr){ .n = n, .n_stride = n, .n_padding = n, .n_dilation = n };
    if (!ADZ_OPTIONS_READ(op, ADZ_MAX_POOL_OPTIONS, &o, options)) {
        return false;
    }
    attr->ceil_mode = o.ceil_mode;
    return adzi_read_pair(op, "kernel_size", n, kernel_size, 1, NULL, attr->kernel_size) &&
           adzi_read_pair(op, "stride", n, o.stride, 1, attr->kernel_size, attr->stride) &&
           adzi_read_pair(op, "padding", n, o.padding, 0, zeros, attr->padding) &&
           adzi_read_pair(op, "dilation", n, o.dilation, 1, ones, attr->dilation) &&
           adzi_check_padding(op, attr);
}

adz_tensor *adzi_max_pool(const adzi_op *op, adz_tensor *x, int n, adz_shape kernel_size,
    const adz_max_pool_options *options, adz_tensor **indices)
{
    adzi_call call;
    adzi_window_attr attr;
    adzi_axis axes[ADZI_AXES];
    if (indices != NULL) {
        *indices = NULL;
    }
    if (!adzi_enter(&call, op, "x", &x, 1, 0) || !adzi_want_float(&call, 0) ||
        !adzi_max_pool_read(op->name, n, kernel_size, options, &attr) ||
        !adzi_check_planes(op->name, x, n) ||
        !adzi_window_axes(op->name, x->rank, x->sizes, &attr, axes)) {
        return NULL;
    }
    return adzi_max_windows(&call, n, axes, &attr, sizeof attr, indices);
}
