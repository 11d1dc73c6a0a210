#include "adze/ops/shape.h"
#include "window.h"

#include <string.h>

/* The spatial dimensions of input 0; 0 with an error recorded for none or more than three. */
static int spatial(const reader_call *call)
{
    int rank = adz_tensor_rank(adzi_reader_in(call, 0));
    if (rank >= 3 && rank <= 2 + WINDOW_DIMS) {
        return rank - 2;
    }
    if (rank >= 0) {
        adzi_reader_fail(call, ADZ_ERR_UNSUPPORTED, "input 0 has %d dimensions, not 3 to 5", rank);
    }
    return 0;
}

bool adzi_reader_entries(
    const reader_call *call, const char *name, int n, int64_t otherwise, int64_t least, int64_t *to)
{
    const reader_attribute *list = adzi_reader_attribute(call->node, name);
    if (list != NULL && list->n != (size_t)n) {
        adzi_reader_fail(
            call, ADZ_ERR_SHAPE, "attribute %s has %zu numbers instead of %d", name, list->n, n);
        return false;
    }
    for (int i = 0; i < n; i++) {
        to[i] = list != NULL ? list->ints[i] : otherwise;
        if (to[i] < least || to[i] > INT32_MAX) {
            adzi_reader_fail(
                call, ADZ_ERR_ARGUMENT, "attribute %s holds %lld", name, (long long)to[i]);
            return false;
        }
    }
    return true;
}

static bool kernel_of(const reader_call *call, const adz_tensor *weight, reader_window *w)
{
    if (weight == NULL) {
        if (adzi_reader_attribute(call->node, "kernel_shape") == NULL) {
            adzi_reader_fail(call, ADZ_ERR_ARGUMENT, "attribute kernel_shape is missing");
            return false;
        }
        return adzi_reader_entries(call, "kernel_shape", w->n, 1, 1, w->kernel);
    }
    adz_shape shape = adz_tensor_shape(weight);
    if (shape.rank != w->n + 2) {
        adzi_reader_fail(call, ADZ_ERR_SHAPE, "the weight has %d dimensions instead of %d",
            shape.rank, w->n + 2);
        return false;
    }
    memcpy(w->kernel, shape.sizes + 2, (size_t)w->n * sizeof(int64_t));
    int64_t stated[WINDOW_DIMS];
    if (!adzi_reader_entries(call, "kernel_shape", w->n, 0, 0, stated)) {
        return false;
    }
    for (int i = 0; i < w->n; i++) {
        if (stated[i] != 0 && stated[i] != w->kernel[i]) {
            adzi_reader_fail(call, ADZ_ERR_SHAPE, "kernel_shape differs from the weight's sizes");
            return false;
        }
    }
    return true;
}

/** Padding for as many windows as strides fit into the size. */
static void pad_same(reader_window *w, bool upper)
{
    for (int i = 0; i < w->n; i++) {
        int64_t count = (w->size[i] + w->stride[i] - 1) / w->stride[i];
        int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
        int64_t total = (count - 1) * w->stride[i] + reach - w->size[i];
        total = total > 0 ? total : 0;
        w->before[i] = upper ? total / 2 : total - total / 2;
        w->after[i] = total - w->before[i];
    }
}

static bool pads_of(const reader_call *call, reader_window *w)
{
    int64_t pads[2 * WINDOW_DIMS];
    if (!adzi_reader_entries(call, "pads", 2 * w->n, 0, 0, pads)) {
        return false;
    }
    const char *rule = adzi_reader_string(call, "auto_pad", "NOTSET");
    for (int i = 0; i < w->n; i++) {
        w->before[i] = pads[i];
        w->after[i] = pads[w->n + i];
        if (strcmp(rule, "NOTSET") != 0 && (pads[i] != 0 || pads[w->n + i] != 0)) {
            adzi_reader_fail(call, ADZ_ERR_ARGUMENT, "pads and auto_pad exclude each other");
            return false;
        }
    }
    if (strncmp(rule, "SAME", 4) == 0) {
        pad_same(w, strcmp(rule, "SAME_UPPER") == 0);
    }
    return true;
}

/** With ceil_mode a last window may reach beyond the padded input, but it begins before its end. */
static bool count_windows(const reader_call *call, reader_window *w)
{
    bool up = adzi_reader_int(call, "ceil_mode", 0) != 0;
    for (int i = 0; i < w->n; i++) {
        int64_t room =
            w->size[i] + w->before[i] + w->after[i] - ((w->kernel[i] - 1) * w->dilation[i] + 1);
        if (room < 0) {
            adzi_reader_fail(call, ADZ_ERR_SHAPE, "the kernel is larger than the padded input");
            return false;
        }
        w->count[i] = (up ? (room + w->stride[i] - 1) / w->stride[i] : room / w->stride[i]) + 1;
        if (up && (w->count[i] - 1) * w->stride[i] >= w->size[i] + w->before[i]) {
            --w->count[i];
        }
    }
    return true;
}

bool adzi_reader_transposed(
    const reader_call *call, const adz_tensor *weight, reader_window *window)
{
    *window = (reader_window){ .n = spatial(call) };
    if (window->n == 0) {
        return false;
    }
    adz_shape x = adz_tensor_shape(adzi_reader_in(call, 0));
    memcpy(window->size, x.sizes + 2, (size_t)window->n * sizeof(int64_t));
    return kernel_of(call, weight, window) &&
           adzi_reader_entries(call, "strides", window->n, 1, 1, window->stride) &&
           adzi_reader_entries(call, "dilations", window->n, 1, 1, window->dilation);
}

bool adzi_reader_window(const reader_call *call, const adz_tensor *weight, reader_window *window)
{
    return adzi_reader_transposed(call, weight, window) && pads_of(call, window) &&
           count_windows(call, window);
}

bool adzi_reader_pooled(const reader_call *call, reader_window *window)
{
    return adzi_reader_transposed(call, NULL, window) && pads_of(call, window);
}

bool adzi_reader_even(const reader_window *window, int part)
{
    for (int i = 0; i < window->n; i++) {
        if (window->before[i] != window->after[i] || window->before[i] * part > window->kernel[i]) {
            return false;
        }
    }
    return true;
}

adz_tensor *adzi_reader_padded(adz_tensor *x, const reader_window *window, double value)
{
    int64_t pads[2 * WINDOW_DIMS];
    bool none = true;
    for (int i = 0; i < window->n; i++) {
        int last = 2 * (window->n - 1 - i); /* adz_pad begins with the last dimension */
        pads[last] = window->before[i];
        pads[last + 1] = window->after[i];
        none = none && pads[last] == 0 && pads[last + 1] == 0;
    }
    return none ? x : adz_pad(x, pads, (size_t)(2 * window->n), value);
}

adz_shape adzi_reader_sizes(const reader_window *window, const int64_t *numbers)
{
    return adz_shape_of(window->n, numbers);
}
