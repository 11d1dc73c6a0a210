#include "ops/pool/avg_pool.h"

#include "ops/pool/resample.h"
#include "adze/options.h"

/* The mean of each window, which is a linear map of x (ops/pool/resample.h). The node
 * saves nothing. */

ADZ_OPTIONS_INIT(adz_avg_pool_options_init, adz_avg_pool_options, ADZ_AVG_POOL_OPTIONS)

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

bool adzi_avg_pool_read(const char *op, int n, adz_shape kernel_size,
    const adz_avg_pool_options *options, adzi_window_attr *attr)
{
    static const int64_t zeros[ADZI_AXES] = { 0 };
    adz_avg_pool_options o = ADZ_AVG_POOL_OPTIONS;
    *attr = (adzi_window_attr){
        .n = n, .n_stride = n, .n_padding = n, .n_dilation = n, .dilation = { 1, 1 }
    };
    if (!ADZ_OPTIONS_READ(op, ADZ_AVG_POOL_OPTIONS, &o, options)) {
        return false;
    }
    attr->ceil_mode = o.ceil_mode;
    attr->count_include_pad = o.count_include_pad;
    attr->divisor_override = o.divisor_override;
    if (o.divisor_override < 0) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "divisor_override is %lld, but must be 1 or more, or 0 for the size of the window",
            (long long)o.divisor_override);
        return false;
    }
    return adzi_read_pair(op, "kernel_size", n, kernel_size, 1, NULL, attr->kernel_size) &&
           adzi_read_pair(op, "stride", n, o.stride, 1, attr->kernel_size, attr->stride) &&
           adzi_read_pair(op, "padding", n, o.padding, 0, zeros, attr->padding) &&
           adzi_check_padding(op, attr);
}

adz_tensor *adzi_avg_pool(const adzi_op *op, adz_tensor *x, int n, adz_shape kernel_size,
    const adz_avg_pool_options *options)
{
    adzi_call call;
    adzi_window_attr attr;
    adzi_axis axes[ADZI_AXES];
    if (!adzi_enter(&call, op, "x", &x, 1, 0) || !adzi_want_float(&call, 0) ||
        !adzi_avg_pool_read(op->name, n, kernel_size, options, &attr) ||
        !adzi_check_planes(op->name, x, n) ||
        !adzi_window_axes(op->name, x->rank, x->sizes, &attr, axes)) {
        return NULL;
    }
    return adzi_resample_call(&call, n, axes, scale_of(&attr), &attr, sizeof attr);
}
