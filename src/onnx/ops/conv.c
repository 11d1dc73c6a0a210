/* Convolutions. */
#include <string.h>

#include "adze/ops.h"
#include "window.h"

typedef adz_tensor *convolution(
    adz_tensor *x, adz_tensor *weight, adz_tensor *bias, const adz_conv_options *options);

static adz_tensor *conv(const reader_call *call)
{
    static convolution *const by_dims[] = { adz_conv1d, adz_conv2d, adz_conv3d };
    adz_tensor *x = adzi_reader_in(call, 0), *weight = adzi_reader_in(call, 1);
    reader_window w;
    if (x == NULL || weight == NULL || !adzi_reader_window(call, weight, &w)) {
        return NULL;
    }
    adz_conv_options options = ADZ_CONV_OPTIONS;
    options.stride = adzi_reader_sizes(&w, w.stride);
    options.dilation = adzi_reader_sizes(&w, w.dilation);
    options.groups = adzi_reader_int(call, "group", 1);
    if (adzi_reader_even(&w, 0)) {
        options.padding = adzi_reader_sizes(&w, w.before);
    } else {
        x = adzi_reader_padded(x, &w, 0);
    }
    return by_dims[w.n - 1](x, weight, adzi_reader_in(call, 2), &options);
}

/** What a transposed convolution gains at its ends, or loses where it is negative. */
typedef struct ends {
    int64_t before[WINDOW_DIMS], after[WINDOW_DIMS];
} ends;

/** Shares a total of lost elements between both ends. A single one is gained at the end; of more,
 * and for SAME_UPPER, ONNX does not say clearly where they belong. False with an error recorded. */
static bool share(const reader_call *call, ends *e, int i, int64_t total, bool upper)
{
    if (total < (upper ? 0 : -1)) {
        adzi_reader_fail(call, ADZ_ERR_UNSUPPORTED,
            "auto_pad or output_shape that make dimension %d longer than the kernel reaches are not supported",
            i + 2);
        return false;
    }
    int64_t lost = total > 0 ? total : 0;
    int64_t first = upper ? lost / 2 : lost - lost / 2;
    e->before[i] = -first;
    e->after[i] = first - total;
    return true;
}

static bool transposed_ends(const reader_call *call, const reader_window *w, ends *e)
{
    int64_t pads[2 * WINDOW_DIMS], more[WINDOW_DIMS], shape[WINDOW_DIMS];
    const char *rule = adzi_reader_string(call, "auto_pad", "NOTSET");
    bool same = strncmp(rule, "SAME", 4) == 0, upper = strcmp(rule, "SAME_UPPER") == 0;
    bool shaped = adzi_reader_attribute(call->node, "output_shape") != NULL;
    if (!adzi_reader_entries(call, "pads", 2 * w->n, 0, 0, pads) ||
        !adzi_reader_entries(call, "output_padding", w->n, 0, 0, more) ||
        !adzi_reader_entries(call, "output_shape", w->n, 0, 0, shape)) {
        return false;
    }
    for (int i = 0; i < w->n; i++) {
        int64_t full = (w->size[i] - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1;
        if (shaped || same) {
            int64_t wanted = shaped ? shape[i] : w->size[i] * w->stride[i];
            if (!share(call, e, i, full + more[i] - wanted, upper)) {
                return false;
            }
            e->after[i] += more[i];
        } else {
            e->before[i] = -pads[i];
            e->after[i] = more[i] - pads[w->n + i];
        }
        if (full + e->before[i] + e->after[i] < 1) {
            adzi_reader_fail(
                call, ADZ_ERR_SHAPE, "the padding leaves nothing of dimension %d", i + 2);
            return false;
        }
    }
    return true;
}

/** Sets padding and output_padding if these can say the ends. */
static bool by_options(const reader_window *w, const ends *e, adz_conv_options *options)
{
    int64_t padding[WINDOW_DIMS], more[WINDOW_DIMS];
    for (int i = 0; i < w->n; i++) {
        padding[i] = -e->before[i];
        more[i] = e->after[i] - e->before[i];
        int64_t most = w->stride[i] > w->dilation[i] ? w->stride[i] : w->dilation[i];
        if (more[i] < 0 || more[i] >= most) {
            return false;
        }
    }
    options->padding = adzi_reader_sizes(w, padding);
    options->output_padding = adzi_reader_sizes(w, more);
    return true;
}

static adz_tensor *conv_transpose(const reader_call *call)
{
    static convolution *const by_dims[] = { adz_conv_transpose1d, adz_conv_transpose2d,
        adz_conv_transpose3d };
    adz_tensor *x = adzi_reader_in(call, 0), *weight = adzi_reader_in(call, 1);
    adz_tensor *bias = adzi_reader_in(call, 2);
    reader_window w;
    ends e;
    if (x == NULL || weight == NULL || bias == NULL || !adzi_reader_transposed(call, weight, &w) ||
        !transposed_ends(call, &w, &e)) {
        return NULL;
    }
    adz_conv_options options = ADZ_CONV_OPTIONS;
    options.stride = adzi_reader_sizes(&w, w.stride);
    options.dilation = adzi_reader_sizes(&w, w.dilation);
    options.groups = adzi_reader_int(call, "group", 1);
    if (by_options(&w, &e, &options)) {
        return by_dims[w.n - 1](x, weight, bias, &options);
    }
    memcpy(w.before, e.before, sizeof(w.before));
    memcpy(w.after, e.after, sizeof(w.after));
    adz_tensor *y = by_dims[w.n - 1](x, weight, ADZ_NONE, &options);
    y = adzi_reader_padded(y, &w, 0);
    return bias == ADZ_NONE ? y : adz_add(y, adzi_reader_along(bias, 2 + w.n, 1));
}

/** Input 0 holds patches [N, C KH KW, L]; sums them into images. */
static adz_tensor *col2im(const reader_call *call)
{
    adz_shape image, kernel;
    if (!adzi_reader_shape(call, NULL, 1, &image) || !adzi_reader_shape(call, NULL, 2, &kernel)) {
        return NULL;
    }
    if (image.rank != 2 || kernel.rank != 2) {
        return adzi_reader_fail(
            call, ADZ_ERR_UNSUPPORTED, "images of %d dimensions; 2 are supported", image.rank);
    }
    reader_window w = { .n = 2 };
    int64_t pads[4];
    if (!adzi_reader_entries(call, "strides", 2, 1, 1, w.stride) ||
        !adzi_reader_entries(call, "dilations", 2, 1, 1, w.dilation) ||
        !adzi_reader_entries(call, "pads", 4, 0, 0, pads)) {
        return NULL;
    }
    for (int i = 0; i < 2; i++) {
        w.before[i] = -pads[i];
        w.after[i] = -pads[2 + i];
        image.sizes[i] += pads[i] + pads[2 + i];
    }
    adz_conv_options options = ADZ_CONV_OPTIONS;
    options.stride = adzi_reader_sizes(&w, w.stride);
    options.dilation = adzi_reader_sizes(&w, w.dilation);
    return adzi_reader_padded(adz_fold(adzi_reader_in(call, 0), image, kernel, &options), &w, 0);
}

#define CONV "kernel_shape:I strides:I dilations:I pads:I group:i " AUTO_PAD

const reader_operator adzi_reader_convolutions[] = {
    ROW("Col2Im", 18, 0, 3, 3, 1, "strides:I dilations:I pads:I", 6, col2im),
    ROW("Conv", 1, 0, 2, 3, 1, CONV, 0, conv),
    ROW("ConvTranspose", 1, 0, 2, 3, 1, CONV " output_shape:I output_padding:I", 0, conv_transpose),
    { .name = NULL },
};
