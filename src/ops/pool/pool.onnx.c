/* Printers of pooling and interpolation. ONNX's nodes take [N, C, ...], so an x without a batch
 * gets a dimension of size 1 in front. */
#include <string.h>

#include "export/onnx.h"

adzi_onnx_printer adzi_onnx_print_adaptive, adzi_onnx_print_avg_pool, adzi_onnx_print_interpolate,
    adzi_onnx_print_max_pool;
adzi_onnx_batch_rule adzi_onnx_batch_windows;

enum { MOST = 3 }; /* dimensions of a window */

/* How the windows of a call lie. */
typedef struct {
    size_t n; /* dimensions of a window */
    int64_t kernel[MOST], stride[MOST], dilation[MOST];
    int64_t pads[2 * MOST]; /* before x, then behind it */
    bool beyond;            /* a last window reaches beyond the padding of the call */
    bool padded;
} windows;

/* The sizes of x and of the result in the dimensions of the windows. */
static void sizes_of(const adzi_onnx *g, size_t n, int64_t *in, int64_t *out)
{
    const adzi_traced_value *x = adzi_onnx_input(g, 0), *y = adzi_onnx_result(g, 0);
    for (size_t i = 0; i < n; ++i) {
        in[i] = x->sizes[(size_t)x->rank - n + i];
        out[i] = y->sizes[(size_t)y->rank - n + i];
    }
}

/* Reads windows of one size. The padding behind x is as long as the last window needs, so that
 * ceil_mode, which runtimes round in different ways, is not written. */
static void read_windows(const adzi_onnx *g, windows *w)
{
    int64_t in[MOST], out[MOST], padding[MOST];
    w->n = adzi_onnx_list(g, "kernel_size", w->kernel, MOST);
    adzi_onnx_list(g, "stride", w->stride, MOST);
    adzi_onnx_list(g, "dilation", w->dilation, MOST);
    adzi_onnx_list(g, "padding", padding, MOST);
    sizes_of(g, w->n, in, out);
    for (size_t i = 0; i < w->n; ++i) {
        const int64_t reach = w->dilation[i] * (w->kernel[i] - 1) + 1;
        const int64_t behind = (out[i] - 1) * w->stride[i] + reach - in[i] - padding[i];
        w->pads[i] = padding[i];
        w->pads[w->n + i] = behind > 0 ? behind : 0;
        w->beyond = w->beyond || behind > padding[i];
        w->padded = w->padded || padding[i] > 0;
    }
}

/* ---- windows of one size ------------------------------------------------------------------- */

/* ONNX counts the indices of the largest elements in another way. */
static bool wants_indices(adzi_onnx *g)
{
    if (g->call->n_out > 1 && adzi_onnx_result(g, 1)->used) {
        adzi_onnx_refuse(g, "gives indices, which count otherwise in ONNX");
        return true;
    }
    return false;
}

/* Whether a window has padding only, of which runtimes make the lowest float and not -infinity. */
static bool misses_x(adzi_onnx *g, const windows *w)
{
    int64_t in[MOST], out[MOST];
    sizes_of(g, w->n, in, out);
    for (size_t i = 0; i < w->n; ++i) {
        for (int64_t j = 0; w->pads[i] > 0 && w->dilation[i] > 1 && j < out[i]; ++j) {
            const int64_t first = j * w->stride[i] - w->pads[i], step = w->dilation[i];
            const int64_t start = first < 0 ? (-first + step - 1) / step * step + first : first;
            if (start >= in[i] || start > first + step * (w->kernel[i] - 1)) {
                adzi_onnx_refuse(g, "has a window of padding only; use less padding");
                return true;
            }
        }
    }
    return false;
}

bool adzi_onnx_print_max_pool(adzi_onnx *g)
{
    windows w = { 0 };
    if (wants_indices(g)) {
        return false;
    }
    read_windows(g, &w);
    if (misses_x(g, &w)) {
        return false;
    }
    const char *x = adzi_onnx_batched(g, w.n), *y = adzi_onnx_batched_result(g, w.n);
    adzi_onnx_node(g, "MaxPool", ADZI_NAMES(x), ADZI_NAMES(y),
        ADZI_ATTRS(ADZI_ATTR_INTS("kernel_shape", w.kernel, w.n),
            ADZI_ATTR_INTS("strides", w.stride, w.n), ADZI_ATTR_INTS("dilations", w.dilation, w.n),
            ADZI_ATTR_INTS("pads", w.pads, 2 * w.n)));
    return adzi_onnx_unbatched(g, w.n, y);
}

static void average(
    adzi_onnx *g, const windows *w, const char *x, const char *y, bool count_include_pad)
{
    adzi_onnx_node(g, "AveragePool", ADZI_NAMES(x), ADZI_NAMES(y),
        ADZI_ATTRS(ADZI_ATTR_INTS("kernel_shape", w->kernel, w->n),
            ADZI_ATTR_INTS("strides", w->stride, w->n), ADZI_ATTR_INTS("pads", w->pads, 2 * w->n),
            ADZI_ATTR_INT("count_include_pad", count_include_pad)));
}

/* A divisor of the caller is a factor behind the mean that counts all elements of a window. */
bool adzi_onnx_print_avg_pool(adzi_onnx *g)
{
    windows w = { 0 };
    const int64_t divisor = adzi_onnx_attr_whole(g, "divisor_override");
    const bool include = adzi_onnx_attr_whole(g, "count_include_pad") != 0;
    read_windows(g, &w);
    if (divisor == 0 && include && w.padded && w.beyond) {
        return adzi_onnx_refuse(g,
            "has a last window that counts a part of its padding, which ONNX cannot express; set count_include_pad or ceil_mode to false");
    }
    const char *x = adzi_onnx_batched(g, w.n), *y = adzi_onnx_batched_result(g, w.n);
    if (divisor == 0) {
        average(g, &w, x, y, include && w.padded);
        return adzi_onnx_unbatched(g, w.n, y);
    }
    const char *mean = adzi_onnx_temporary(g);
    double elements = 1;
    for (size_t i = 0; i < w.n; ++i) {
        elements *= (double)w.kernel[i];
    }
    const char *factor =
        adzi_onnx_number(g, adzi_onnx_input(g, 0)->dtype, elements / (double)divisor);
    average(g, &w, x, mean, true);
    adzi_onnx_node(g, "Mul", ADZI_NAMES(mean, factor), ADZI_NAMES(y), ADZI_NO_ATTRS);
    return adzi_onnx_unbatched(g, w.n, y);
}

/* ---- adaptive ------------------------------------------------------------------------------ */

/* One window, or windows of one size side by side. The type of the row is "Average" or "Max". */
bool adzi_onnx_print_adaptive(adzi_onnx *g)
{
    windows w = { 0 };
    int64_t in[MOST], out[MOST];
    bool one =
        strcmp(adzi_onnx_type(g), "Average") == 0; /* GlobalMaxPool adds nothing to MaxPool */
    char type[32];
    w.n = adzi_onnx_list(g, "output_size", out, MOST);
    sizes_of(g, w.n, in, out);
    if (wants_indices(g)) {
        return false;
    }
    for (size_t i = 0; i < w.n; ++i) {
        if (out[i] == 0 || in[i] % out[i] != 0) {
            return adzi_onnx_refuse(g,
                "has windows of different sizes; use an output_size that divides the sizes of x");
        }
        one = one && out[i] == 1;
        w.kernel[i] = w.stride[i] = in[i] / out[i];
    }
    const char *x = adzi_onnx_batched(g, w.n), *y = adzi_onnx_batched_result(g, w.n);
    snprintf(type, sizeof type, "%s%sPool", one ? "Global" : "", adzi_onnx_type(g));
    if (one) {
        adzi_onnx_node(g, type, ADZI_NAMES(x), ADZI_NAMES(y), ADZI_NO_ATTRS);
    } else {
        adzi_onnx_node(g, type, ADZI_NAMES(x), ADZI_NAMES(y),
            ADZI_ATTRS(ADZI_ATTR_INTS("kernel_shape", w.kernel, w.n),
                ADZI_ATTR_INTS("strides", w.stride, w.n)));
    }
    return adzi_onnx_unbatched(g, w.n, y);
}

/* ---- interpolation ------------------------------------------------------------------------- */

/* The sizes of the result: batch and channels are those of x. */
static const char *sizes_with_batch(adzi_onnx *g, const int64_t *out, size_t n)
{
    const char *batch = adzi_onnx_temporary(g), *sizes = adzi_onnx_temporary(g);
    adzi_onnx_node(g, "Shape", ADZI_NAMES(adzi_onnx_in(g, 0)), ADZI_NAMES(batch),
        ADZI_ATTRS(ADZI_ATTR_INT("start", 0), ADZI_ATTR_INT("end", 2)));
    adzi_onnx_node(g, "Concat", ADZI_NAMES(batch, adzi_onnx_ints(g, out, n)), ADZI_NAMES(sizes),
        ADZI_ATTRS(ADZI_ATTR_INT("axis", 0)));
    return sizes;
}

bool adzi_onnx_print_interpolate(adzi_onnx *g)
{
    enum { NEAREST };
    int64_t in[MOST], out[MOST];
    const double factor = adzi_onnx_attr_number(g, "scale_factor");
    const int64_t mode = adzi_onnx_attr_whole(g, "mode");
    const bool corners = adzi_onnx_attr_whole(g, "align_corners") != 0;
    const size_t n = adzi_onnx_list(g, "size", out, MOST);
    sizes_of(g, n, in, out);
    for (size_t i = 0; i < n && factor > 0; ++i) {
        if ((double)in[i] * factor != (double)out[i]) {
            return adzi_onnx_refuse(
                g, "has a scale_factor that gives no whole sizes; give the size");
        }
    }
    return adzi_onnx_last(g, "Resize",
        ADZI_NAMES(adzi_onnx_in(g, 0), "", "", sizes_with_batch(g, out, n)),
        ADZI_ATTRS(ADZI_ATTR_TEXT("mode", mode == NEAREST ? "nearest" : "linear"),
            ADZI_ATTR_TEXT("coordinate_transformation_mode", mode == NEAREST ? "asymmetric"
                                                             : corners       ? "align_corners"
                                                                             : "half_pixel"),
            ADZI_ATTR_TEXT("nearest_mode", "floor")));
}

/* The batch, or the channels of an x without a batch, lie before the windows. */
bool adzi_onnx_batch_windows(const adzi_onnx *g)
{
    const adzi_onnx_batch b = *adzi_onnx_batch_in(g, 0);
    int64_t numbers[MOST];
    size_t n = adzi_onnx_list(g, "kernel_size", numbers, MOST);
    n = n > 0 ? n : adzi_onnx_list(g, "output_size", numbers, MOST);
    n = n > 0 ? n : adzi_onnx_list(g, "size", numbers, MOST);
    return (b.axis < 0 || (size_t)b.axis + n < (size_t)adzi_onnx_input(g, 0)->rank) &&
           adzi_onnx_batch_first(g);
}
