/**
 * @file lstm.h
 * Long short-term memory as a module.
 */
#ifndef ADZE_NN_LSTM_H
#define ADZE_NN_LSTM_H

#include "adze/nn/module.h"
#include "adze/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of an LSTM module. Start from ADZ_LSTM_MODULE_OPTIONS. */
typedef struct adz_lstm_module_options {
    size_t size;              /**< sizeof(adz_lstm_module_options) */
    int64_t num_layers;       /**< stacked layers, 1 to 65535; 1 */
    bool bias;                /**< each layer and direction has two biases; true */
    bool batch_first;         /**< x and y are [B, T, ...] instead of [T, B, ...]; false */
    double dropout;           /**< while training, on what each layer but the last hands on, in
                                 [0, 1]; 0 */
    bool bidirectional;       /**< a second direction reads from the last step on; false */
    adz_dtype dtype;          /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
    adz_generator *generator; /**< for dropout, stays the caller's and must outlive the module and
                                 its copies; NULL for the default one */
} adz_lstm_module_options;

/** The defaults. */
#define ADZ_LSTM_MODULE_OPTIONS                                                               \
    {                                                                                         \
        ADZ_MEMBER(size, sizeof(adz_lstm_module_options)), ADZ_MEMBER(num_layers, 1),         \
            ADZ_MEMBER(bias, true), ADZ_MEMBER(batch_first, false), ADZ_MEMBER(dropout, 0.0), \
            ADZ_MEMBER(bidirectional, false), ADZ_MEMBER(dtype, ADZ_F32),                     \
            ADZ_MEMBER(generator, NULL)                                                       \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_lstm_module_options) as the caller knows it
 */
ADZ_API void adz_lstm_module_options_init(adz_lstm_module_options *options, size_t size);

/**
 * Long short-term memory over a sequence: adz_lstm with parameters.
 *
 *     i, f, g, o = split(x_t W_ih^T + b_ih + h W_hh^T + b_hh)
 *     c = sigmoid(f) c + sigmoid(i) tanh(g);  h = sigmoid(o) tanh(c);  y_t = h
 *
 * A call takes x[T, B, I] ([B, T, I] with batch_first, [T, I] without a batch) and may take the
 * initial states "h0" and "c0", each [num_layers * directions, B, H], together; left out, they are
 * zeros. It may take "lengths", int64 [B], if x is padded; adz_lstm says what they do. Its results
 * are y[T, B, directions * H], "h" and "c", the states after the last step of each sequence.
 *
 * The parameters are weight_ih_l0 [4H, I], weight_hh_l0 [4H, H], bias_ih_l0 [4H] and bias_hh_l0
 * [4H], those of the second direction end in _reverse, then come those of layer 1; all start
 * uniform in (-1/sqrt(H), 1/sqrt(H)).
 *
 * @param input_size   features I of x, 1 or more
 * @param hidden_size  features H of the state, 1 or more
 * @param options      NULL for the defaults
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 * ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see                torch.nn.LSTM
 */
ADZ_API adz_module *adz_lstm_new(
    int64_t input_size, int64_t hidden_size, const adz_lstm_module_options *options);

#ifdef __cplusplus
}
#endif

#endif
