#include "ops/pool/resample.h"

#include <math.h>

#include "ops/pool/interpolate.h"
#include "ops/options.h"

/* Another size for signals and images, torch.nn.functional.interpolate. All modes are linear maps
 * of x along each dimension (ops/pool/resample.h). The node saves nothing. */

static const char name[] = "interpolate";

static const char *const modes[] = { "nearest", "linear", "bilinear", "trilinear", NULL };

static const adz_field options_rows[] = {
    ADZ_FIELD_AS(adz_interpolate_options, mode, "mode", ADZ_FIELD_ENUM, .values = modes),
    ADZ_FIELD(adz_interpolate_options, scale_factor, .value = 0, ADZ_FINITE_FROM(0),
        .hint = "0 stands for none"),
    ADZ_FIELD(adz_interpolate_options, align_corners, .value = false),
};

ADZ_OPTIONS_TABLE(adz_interpolate_options, ADZ_INTERPOLATE_OPTIONS, options_rows)

/* What a call gets: `size` as the caller gave it, with rank 0 for none. */
typedef struct {
    adzi_resampling run;
    const adz_shape *size;
} interpolation;

static void axes_of(
    int rank, const int64_t *sizes, const adzi_interpolate_attr *attr, adzi_axis *axes)
{
    adzi_axis *a = adzi_axes_begin(axes, attr->n);
    for (int i = 0; i < attr->n; ++i) {
        a[i] = (adzi_axis){ .kind = attr->mode == ADZ_INTERPOLATE_NEAREST ? ADZI_AXIS_NEAREST
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
    return ((const adzi_interpolate_attr *)attr)->n;
}

static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *block)
{
    const adzi_interpolate_attr *attr = block;
    adzi_axis axes[ADZI_AXES];
    axes_of(in[0]->rank, in[0]->sizes, attr, axes);
    y[0] = adzi_resample_expression("interpolate", in[0], attr->n, axes, 1);
    return adzi_status(y[0]);
}

static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const adz_shape x = adzi_input_shape(node, 0);
    adzi_axis axes[ADZI_AXES];
    axes_of(x.rank, x.sizes, adzi_attr(node, adzi_interpolate_attr), axes);
    return adzi_resample_fused(node, dx, dy, axes, 1);
}

bool adzi_interpolate_read(const char *op, const adz_shape *size,
    const adz_interpolate_options *options, adz_interpolate_options *o)
{
    if (!ADZI_OPTIONS_TAKE(op, adz_interpolate_options, ADZ_INTERPOLATE_OPTIONS, o, options)) {
        return false;
    }
    if ((size->rank != 0) == (o->scale_factor != 0)) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "size %s and scale_factor %s: give either a size or a scale_factor",
            size->rank < 0 ? "(more than 8)" : adzi_text_sizes(size->rank, size->sizes),
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
static int dimensions_of(const adz_tensor *x, unsigned mode)
{
    static const char *const forms[] = { "[N, C, L], [N, C, H, W] or [N, C, D, H, W]", "[N, C, L]",
        "[N, C, H, W]", "[N, C, D, H, W]" };
    const int n = x->rank - 2; /* of the modes, each number but 0 is that of its dimensions */
    if (mode == ADZ_INTERPOLATE_NEAREST ? n < 1 || n > ADZI_AXES : n != (int)mode) {
        adzi_error(name, ADZ_ERR_SHAPE, "x%s does not fit mode %s, which takes %s",
            adzi_text_shape(x), modes[mode], forms[mode]);
        return 0;
    }
    return adzi_check_planes(name, x, n) ? n : 0;
}

/* The sizes of x times the factor, rounded down. */
static bool scaled_sizes(const adz_tensor *x, adzi_interpolate_attr *attr)
{
    for (int i = 0; i < attr->n; ++i) {
        const double size = floor((double)x->sizes[x->rank - attr->n + i] * attr->scale_factor);
        if (!(size >= 1 && size <= INT32_MAX)) {
            adzi_error(name, ADZ_ERR_SHAPE,
                "x%s scaled by %s has a size of %s; sizes are from 1 to 2147483647",
                adzi_text_shape(x), adzi_text_number(attr->scale_factor), adzi_text_number(size));
            return false;
        }
        attr->size[i] = (int64_t)size;
    }
    return true;
}

static const adz_field fields[] = { ADZI_FIELD_HIDDEN(adzi_interpolate_attr, n),
    ADZI_FIELD_AS(adzi_interpolate_attr, size, "size", ADZ_FIELD_I64, .counted = true,
        ADZ_CLOSED(1, INT32_MAX)),
    ADZI_FIELD(adzi_interpolate_attr, scale_factor),
    ADZI_FIELD_ENUM(adzi_interpolate_attr, mode, modes),
    ADZI_FIELD(adzi_interpolate_attr, align_corners) };

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    interpolation *call = block;
    adzi_interpolate_attr *at = &call->run.w.at.interpolate;
    at->n = dimensions_of(in[0], at->mode);
    if (at->n == 0 ||
        !(call->size->rank == 0 ? scaled_sizes(in[0], at)
                                : adzi_spread_given(name, "size", call->size, at->n, at->size) &&
                                      adz_fields_check(name, fields, 2, at))) {
        return adzi_status(NULL);
    }
    axes_of(in[0]->rank, in[0]->sizes, at, call->run.w.axes);
    return adzi_planes_rule(name, y, at->n, call->run.w.axes);
}

const adzi_op adzi_op_interpolate = { .name = name,
    .fused = fused,
    ADZI_ATTRIBUTES(adzi_interpolate_attr, fields),
    .expression = expression,
    .shape_rule = shape_rule,
    .dtypes = ADZ_DTYPES_FLOATS };

adz_tensor *adz_interpolate(adz_tensor *x, adz_shape size, const adz_interpolate_options *options)
{
    adz_interpolate_options o;
    interpolation call = { .size = &size };
    call.run.args.scale = 1;
    if (!adzi_interpolate_read(name, &size, options, &o)) {
        return NULL;
    }
    call.run.w.at.interpolate = (adzi_interpolate_attr){
        .scale_factor = o.scale_factor, .mode = (unsigned)o.mode, .align_corners = o.align_corners
    };
    return adzi_resample_call(&adzi_op_interpolate, x, &call.run);
}
