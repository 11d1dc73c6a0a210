/**
 * @file fastai_qrnn.h
 * fastai's quasi-recurrent networks: the gates of all steps come from one linear layer, and only a
 * moving average runs along the time.
 *
 * @code
 * adz_module *qrnn = adz_fastai_qrnn_new(8, 16, NULL);
 * adz_values *in = adz_values_new(), *out = adz_values_new();
 * adz_values_add(in, "x", adz_randn(ADZ_SHAPE(4, 10, 8), ADZ_F32)); // [B, T, I]
 * adz_module_call(qrnn, in, out);
 * adz_tensor *y = adz_values_at(out, 0); // y[4, 10, 16]
 * adz_tensor *h = adz_values_get(out, "h"); // h[1, 4, 16], the next call's "hid"
 * adz_values_free(&in);
 * adz_values_free(&out);
 * adz_module_release(&qrnn);
 * @endcode
 */
#ifndef ADZE_ZOO_FASTAI_QRNN_H
#define ADZE_ZOO_FASTAI_QRNN_H

#include "adze/nn/module.h"
#include "adze/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of a layer of a QRNN. Start from ADZ_FASTAI_QRNN_LAYER_OPTIONS. */
typedef struct adz_fastai_qrnn_layer_options {
    size_t size;              /**< sizeof(adz_fastai_qrnn_layer_options) */
    bool save_prev_x;         /**< window 2: the next call's first neighbour is this call's last
                                   step (first, when backward), without gradient; false */
    double zoneout;           /**< probability of a forget gate to be closed in training, in [0, 1];
                                   0 */
    int64_t window;           /**< steps that the gates see, 1 or 2; 1 */
    bool output_gate;         /**< a third gate multiplies the result; true */
    bool batch_first;         /**< x and y are [B, T, ...] instead of [T, B, ...]; true */
    bool backward;            /**< starts at the last step; false */
    adz_dtype dtype;          /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
    adz_generator *generator; /**< for zoneout, stays the caller's; NULL for the default one */
} adz_fastai_qrnn_layer_options;

/** The defaults. */
#define ADZ_FASTAI_QRNN_LAYER_OPTIONS                                                            \
    {                                                                                            \
        ADZ_MEMBER(size, sizeof(adz_fastai_qrnn_layer_options)), ADZ_MEMBER(save_prev_x, false), \
            ADZ_MEMBER(zoneout, 0), ADZ_MEMBER(window, 1), ADZ_MEMBER(output_gate, true),        \
            ADZ_MEMBER(batch_first, true), ADZ_MEMBER(backward, false),                          \
            ADZ_MEMBER(dtype, ADZ_F32), ADZ_MEMBER(generator, NULL)                              \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_fastai_qrnn_layer_options) as the caller knows it
 */
ADZ_API void adz_fastai_qrnn_layer_options_init(
    adz_fastai_qrnn_layer_options *options, size_t size);

/**
 * One layer of a QRNN.
 *
 *     z, f, o = split(linear(x_t)), with window 2 split(linear([x_t, x_(t-1)]))
 *     h_t = sigmoid(f) tanh(z) + (1 - sigmoid(f)) h_(t-1);  y_t = sigmoid(o) h_t
 *
 * Without output_gate y is h. In training, zoneout multiplies sigmoid(f) by mask / (1 - zoneout).
 * When backward, t + 1 stands for t - 1. What lies before the first step is zero, or with
 * save_prev_x what the previous call ended with, until adz_module_reset.
 *
 * Arguments: "x" [B, T, input_size] ([T, B, ...] without batch_first), T at least 1; "hid" [B, H],
 * absent for zeros. Results: y [B, T, H] ([T, B, H] without batch_first), and "h" [B, H], the
 * state after the last step, without the gate.
 *
 * Child: linear, with weight [gates * H, window * input_size], gates z, f and o, and bias. Buffer
 * prev_x, not persistent.
 *
 * @param input_size   features of x, 1 or more
 * @param hidden_size  H, 1 or more; 0 for input_size
 * @param options      NULL for the defaults
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 * ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see                fastai.text.models.qrnn.QRNNLayer
 */
ADZ_API adz_module *adz_fastai_qrnn_layer_new(
    int64_t input_size, int64_t hidden_size, const adz_fastai_qrnn_layer_options *options);

/** Options of a QRNN. Start from ADZ_FASTAI_QRNN_OPTIONS. */
typedef struct adz_fastai_qrnn_options {
    size_t size;              /**< sizeof(adz_fastai_qrnn_options) */
    int64_t n_layers;         /**< stacked layers, 1 to 65535; 1 */
    bool bias;                /**< must be true, as in the reference; true */
    bool batch_first;         /**< x and y are [B, T, ...] instead of [T, B, ...]; true */
    double dropout;           /**< has no effect, as in the reference, but draws its masks between
                                   the layers in training; in [0, 1]; 0 */
    bool bidirectional;       /**< a second stack of layers starts at the last step; false */
    bool save_prev_x;         /**< as in the layers; not with bidirectional; false */
    double zoneout;           /**< as in the layers; 0 */
    int64_t window;           /**< of every layer, 1 or 2; 0 for 2 in the first and 1 above; 0 */
    bool output_gate;         /**< as in the layers; true */
    adz_dtype dtype;          /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
    adz_generator *generator; /**< for zoneout and dropout, stays the caller's; NULL for the default
                                   one */
} adz_fastai_qrnn_options;

/** The defaults. */
#define ADZ_FASTAI_QRNN_OPTIONS                                                            \
    {                                                                                      \
        ADZ_MEMBER(size, sizeof(adz_fastai_qrnn_options)), ADZ_MEMBER(n_layers, 1),        \
            ADZ_MEMBER(bias, true), ADZ_MEMBER(batch_first, true), ADZ_MEMBER(dropout, 0), \
            ADZ_MEMBER(bidirectional, false), ADZ_MEMBER(save_prev_x, false),              \
            ADZ_MEMBER(zoneout, 0), ADZ_MEMBER(window, 0), ADZ_MEMBER(output_gate, true),  \
            ADZ_MEMBER(dtype, ADZ_F32), ADZ_MEMBER(generator, NULL)                        \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_fastai_qrnn_options) as the caller knows it
 */
ADZ_API void adz_fastai_qrnn_options_init(adz_fastai_qrnn_options *options, size_t size);

/**
 * Layers of a QRNN, each reading what the one below gives.
 *
 * Two directions are two stacks that meet only in the result, where the features of the second
 * follow those of the first.
 *
 * Arguments: "x" [B, T, input_size] ([T, B, ...] without batch_first), T at least 1; "hid"
 * [n_layers * directions, B, H], layer by layer, forward first, absent for zeros. Results: y
 * [B, T, directions * H] ([T, B, ...] without batch_first), and "h" [n_layers * directions, B, H],
 * the states after the last step.
 *
 * Children: layers, a list of QRNNLayers, and with bidirectional layers_bwd.
 *
 * @param input_size   features of x, 1 or more
 * @param hidden_size  H, 1 or more
 * @param options      NULL for the defaults
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 *                     ADZ_ERR_UNSUPPORTED (no bias, or save_prev_x with bidirectional),
 *                     ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see                fastai.text.models.qrnn.QRNN
 */
ADZ_API adz_module *adz_fastai_qrnn_new(
    int64_t input_size, int64_t hidden_size, const adz_fastai_qrnn_options *options);

#ifdef __cplusplus
}
#endif

#endif
