/* Windows over the last one to three dimensions of a tensor, for pooling and interpolation.
 *
 * An operator over windows treats x as [P, D, H, W]: P volumes, which are independent, of D slices
 * with H rows each. An operator of two dimensions has D = 1, one of one dimension H = 1 too. */
#ifndef ADZI_OPS_POOL_WINDOWS_H
#define ADZI_OPS_POOL_WINDOWS_H

#include "ops/op.h"
#include "ops/spread.h"

/* The most dimensions that a window covers. The axis of the columns is the last one. */
enum { ADZI_DEPTH, ADZI_ROWS, ADZI_COLUMNS, ADZI_AXES };

/** The attributes of a pooling with windows of one size. Each array has a number of used elements
 * of its own, as tables of fields want it; all of them are n. */
typedef struct adzi_window_attr {
    int n; /* dimensions of a window, 1 to 3 */
    int64_t kernel_size[ADZI_AXES];
    int n_stride;
    int64_t stride[ADZI_AXES];
    int n_padding;
    int64_t padding[ADZI_AXES];
    int n_dilation;
    int64_t dilation[ADZI_AXES];
    int64_t divisor_override; /* 0: none */
    bool ceil_mode, count_include_pad;
} adzi_window_attr;

/** The attributes of an adaptive pooling. */
typedef struct adzi_adaptive_attr {
    int n;
    int64_t output_size[ADZI_AXES];
} adzi_adaptive_attr;

extern const adz_field adzi_adaptive_fields[2];

/** The attributes of interpolate. */
typedef struct adzi_interpolate_attr {
    int n;
    int64_t size[ADZI_AXES]; /* of the result */
    double scale_factor;     /* 0: the sizes decide */
    unsigned mode;
    bool align_corners;
} adzi_interpolate_attr;

/** How the windows of one dimension follow from its sizes. */
typedef enum adzi_axis_kind {
    ADZI_AXIS_WINDOW,   /* kernel, stride, padding and dilation */
    ADZI_AXIS_ADAPTIVE, /* `out` windows that cover all positions */
    ADZI_AXIS_NEAREST,  /* one position each */
    ADZI_AXIS_LINEAR    /* two neighbouring positions each */
} adzi_axis_kind;

/** One dimension: `in` positions of x, of which each of `out` positions of y sees a window. */
typedef struct adzi_axis {
    adzi_axis_kind kind;
    int64_t in, out;
    int64_t kernel, stride, padding, dilation;
    bool include_pad;   /* the mean divides by the padded window */
    bool sum;           /* no mean: every weight is 1 */
    double scale;       /* positions of x per position of y; 0: from the sizes */
    bool align_corners; /* of ADZI_AXIS_LINEAR */
} adzi_axis;

/** What a call of an operator over windows begins with. The node keeps the attributes alone; the
 * shape rule fills the axes. */
typedef struct adzi_windows {
    union {
        adzi_window_attr window;
        adzi_adaptive_attr adaptive;
        adzi_interpolate_attr interpolate;
    } at;
    const char *op;
    adzi_axis axes[ADZI_AXES];
} adzi_windows;

/** The positions that position j of y sees: start, start + dilation, ... `count` times. */
typedef struct adzi_window {
    int64_t start, count;
} adzi_window;

adzi_window adzi_axis_window(const adzi_axis *axis, int64_t j);

/** The weight of position `k` of the window of position j, for means and interpolation. */
double adzi_axis_weight(const adzi_axis *axis, int64_t j, int64_t k);

/** The axes of windows over n dimensions: those in front of them have size 1 and stay as they are.
 * Returns the first one of the n, which the caller fills. */
adzi_axis *adzi_axes_begin(adzi_axis axes[ADZI_AXES], int n);

/** Fills kernel size, stride (by default that of the kernel) and padding of attributes that have n,
 * no padding, and the dilation. Fails with ADZ_ERR_ARGUMENT also if the padding is more than half
 * of a window. */
bool adzi_read_window(const char *op, const adz_shape *kernel_size, const adz_shape *stride,
    const adz_shape *padding, adzi_window_attr *attr);

/** Checks that x has the n dimensions of a window behind one or two others: [C, L] or [N, C, L],
 * [C, H, W] or [N, C, H, W], [C, D, H, W] or [N, C, D, H, W]. None of the n may be empty. */
bool adzi_check_planes(const char *op, const adz_tensor *x, int n);

/** Works out the axes of a pooling of x[...]. Fails with ADZ_ERR_SHAPE if a window is larger than
 * the padded x. */
bool adzi_window_axes(
    const char *op, int rank, const int64_t *sizes, const adzi_window_attr *attr, adzi_axis *axes);

/** The axes of an adaptive pooling. */
void adzi_adaptive_axes(
    int rank, const int64_t *sizes, const adzi_adaptive_attr *attr, adzi_axis *axes);

/** Reads the output size of an adaptive pooling over n dimensions. */
bool adzi_read_adaptive(
    const char *op, int n, const adz_shape *output_size, adzi_adaptive_attr *attr);

/** The shape rules of poolings: the axes of x follow from the attributes, and the shape of y from
 * the axes. An adaptive output size of -1 becomes that of x. */
adz_status adzi_window_rule(adz_result *y, adz_tensor *const *in, void *windows);
adz_status adzi_adaptive_rule(adz_result *y, adz_tensor *const *in, void *windows);

/** For a shape rule: the last n sizes of the result are those of the axes. */
adz_status adzi_planes_rule(const char *op, adz_result *y, int n, const adzi_axis *axes);

/** The number of planes of x. */
static inline int64_t adzi_planes(int rank, const int64_t *sizes, int n)
{
    return adzi_numel(rank - n, sizes);
}

#endif
