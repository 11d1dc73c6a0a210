/* Windows that slide over the spatial dimensions of a tensor [N, C, ...]: those of convolutions and
 * pooling. */
#ifndef ADZI_ONNX_WINDOW_H
#define ADZI_ONNX_WINDOW_H

#include "run.h"

enum { WINDOW_DIMS = 3 };

typedef struct reader_window {
    int n; /* spatial dimensions */
    int64_t size[WINDOW_DIMS], kernel[WINDOW_DIMS], stride[WINDOW_DIMS], dilation[WINDOW_DIMS];
    int64_t before[WINDOW_DIMS], after[WINDOW_DIMS]; /* elements of padding */
    int64_t count[WINDOW_DIMS];                      /* of windows */
} reader_window;

#define AUTO_PAD "auto_pad:s=NOTSET|SAME_UPPER|SAME_LOWER|VALID"

/** A list attribute with an entry for each of n dimensions; false with an error recorded. */
bool adzi_reader_entries(const reader_call *call, const char *name, int n, int64_t otherwise,
    int64_t least, int64_t *to);

/**
 * The window of a node by its attributes kernel_shape, strides, dilations, pads, auto_pad and
 * ceil_mode.
 *
 * @param weight  a weight whose last sizes are those of the kernel; NULL if kernel_shape gives them
 */
bool adzi_reader_window(const reader_call *call, const adz_tensor *weight, reader_window *window);

/** The window of a transposed convolution, without its padding. */
bool adzi_reader_transposed(
    const reader_call *call, const adz_tensor *weight, reader_window *window);

/** The window of a pooling whose result is input 0. */
bool adzi_reader_pooled(const reader_call *call, reader_window *window);

/** Whether the padding is equal at both ends of each dimension, and at most 1 / `part` of the
 * kernel; 0 for any size. */
bool adzi_reader_even(const reader_window *window, int part);

/** x with the padding; x itself if there is none. */
adz_tensor *adzi_reader_padded(adz_tensor *x, const reader_window *window, double value);

/** The n numbers as a shape. */
adz_shape adzi_reader_sizes(const reader_window *window, const int64_t *numbers);

#endif
