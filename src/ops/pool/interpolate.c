#include "ops/pool/resample.h"

#include <math.h>

#include "ops/pool/interpolate.h"
#include "adze/options.h"

/* Another size for signals and images, torch.nn.functional.interpolate. All three modes are linear
 * maps of x along each dimension (ops/pool/resample.h). The node saves nothing. */

ADZ_OPTIONS_INIT(adz_interpolate_options_init, adz_interpolate_options, ADZ_INTERPOLATE_OPTIONS)

typedef struct {
    int n;
    int64_t size[ADZI_AXES]; /* of the result */
    double scale_factor;     /* 0: the sizes decide */
    unsigned mode;
    bool align_corners;
} interpolate_attr;

static void axes_of(int rank, const int64_t *sizes, const interpolate_attr *attr, adzi_axis *axes)
{
    axes[0] = adzi_axis_single();
    for (int i = 0; i < attr->n; ++i) {
        axes[ADZI_AXES - attr->n + i] =
            (adzi_axis){ .kind = attr->mode == ADZ_INTERPOLATE_NEAREST ? ADZI_AXIS_NEAREST
                                                                       : ADZI_AXIS_LINEAR,
                .in = sizes[rank - attr->n + i],
                .out = attr->size[i],
                .scale = attr->scale_factor > 0 ? 1 / attr->scale_factor : 0,
                .align_corners = attr->align_corners,
                .dilation = 1 };
    }
}

int adzi_interpolate_axes(int rank, const int64_t *sizes, const void *attr, adzi_axis *axes)
{
    axes_of(rank, sizes, attr, axes);
    return ((const interpolate_attr *)attr)->n;
}

static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *block)
{
    const interpolate_attr *attr = block;
    adzi_axis axes[ADZI_AXES];
    axes_of(in[0]->rank, in[0]->sizes, attr, axes);
    y[0] = adzi_resample_expression("interpolate", in[0], attr->n, axes, 1);
    return adzi_status(y[0]);
}

static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const adz_shape x = adzi_input_shape(node, 0);
    adzi_axis axes[ADZI_AXES];
    axes_of(x.rank, x.sizes, adzi_attr(node, interpolate_attr), axes);
    return adzi_resample_fused(node, dx, dy, axes, 1);
}

static const char *const modes[] = { "nearest", "linear", "bilinear", NULL };

static const adz_field fields[] = { ADZI_FIELD_LIST(interpolate_attr, n, size),
    ADZI_FIELD(interpolate_attr, scale_factor), ADZI_FIELD_ENUM(interpolate_attr, mode, modes),
    ADZI_FIELD(interpolate_attr, align_corners) };

const adzi_op adzi_op_interpolate = {
    .name = "interpolate", .fused = fused, ADZI_FIELDS(fields), .expression = expression
};

bool adzi_interpolate_read(const char *op, adz_shape size, const adz_interpolate_options *options,
    adz_interpolate_options *o)
{
    if (!ADZ_OPTIONS_READ(op, ADZ_INTERPOLATE_OPTIONS, o, options)) {
        return false;
    }
    const bool given = size.rank != 0, scaled = o->scale_factor != 0;
    if ((unsigned)o->mode > ADZ_INTERPOLATE_BILINEAR) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "%d is no adz_interpolate_mode", (int)o->mode);
        return false;
    }
    if (given == scaled || (scaled && !(o->scale_factor > 0 && isfinite(o->scale_factor)))) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "size %s and scale_factor %s: give either a size, or a finite scale_factor above 0",
            size.rank < 0 ? "(more than 8)" : adzi_text_sizes(size.rank, size.sizes),
            adzi_text_number(o->scale_factor));
        return false;
    }
    if (o->align_corners && o->mode == ADZ_INTERPOLATE_NEAREST) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "align_corners belongs to the linear modes; nearest has no corners to align");
        return false;
    }
    return true;
}

/* Checks that x has the dimensions of the mode. Returns how many of them change, or 0. */
static int dimensions_of(const char *op, const adz_tensor *x, adz_interpolate_mode mode)
{
    const int n = x->rank - 2;
    const bool fits = mode == ADZ_INTERPOLATE_LINEAR     ? n == 1
                      : mode == ADZ_INTERPOLATE_BILINEAR ? n == 2
                                                         : n == 1 || n == 2;
    if (!fits) {
        adzi_error(op, ADZ_ERR_SHAPE, "x%s does not fit mode %s, which takes %s",
            adzi_text_shape(x), modes[mode],
            mode == ADZ_INTERPOLATE_LINEAR     ? "[N, C, L]"
            : mode == ADZ_INTERPOLATE_BILINEAR ? "[N, C, H, W]"
                                               : "[N, C, L] or [N, C, H, W]");
        return 0;
    }
    return adzi_check_planes(op, x, n) ? n : 0;
}

/* The sizes of x times the factor, rounded down. */
static bool scaled_sizes(
    const char *op, const adz_tensor *x, double scale_factor, int n, interpolate_attr *attr)
{
    attr->scale_factor = scale_factor;
    for (int i = 0; i < n; ++i) {
        const double size = floor((double)x->sizes[x->rank - n + i] * scale_factor);
        if (!(size >= 1 && size <= INT32_MAX)) {
            adzi_error(op, ADZ_ERR_SHAPE,
                "x%s scaled by %s has a size of %s; sizes are from 1 to 2147483647",
                adzi_text_shape(x), adzi_text_number(scale_factor), adzi_text_number(size));
            return false;
        }
        attr->size[i] = (int64_t)size;
    }
    return true;
}

adz_tensor *adz_interpolate(adz_tensor *x, adz_shape size, const adz_interpolate_options *options)
{
    static const char op[] = "interpolate";
    adzi_call call;
    adz_interpolate_options o = ADZ_INTERPOLATE_OPTIONS;
    adzi_axis axes[ADZI_AXES];
    if (!ADZI_ENTER(&call, interpolate, x) || !adzi_want_float(&call, 0) ||
        !adzi_interpolate_read(op, size, options, &o)) {
        return NULL;
    }
    const int n = dimensions_of(op, x, o.mode);
    interpolate_attr attr = { .n = n, .mode = (unsigned)o.mode, .align_corners = o.align_corners };
    if (n == 0 || !(size.rank == 0 ? scaled_sizes(op, x, o.scale_factor, n, &attr)
                                   : adzi_read_pair(op, "size", n, size, 1, NULL, attr.size))) {
        return NULL;
    }
    axes_of(x->rank, x->sizes, &attr, axes);
    return adzi_resample_call(&call, n, axes, 1, &attr, sizeof attr);
}
