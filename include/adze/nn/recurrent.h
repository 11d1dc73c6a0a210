/**
 * @file recurrent.h
 * GRU and RNN as modules, and the cells of recurrent networks.
 */
#ifndef ADZE_NN_RECURRENT_H
#define ADZE_NN_RECURRENT_H

#include "adze/nn/module.h"
#include "adze/ops/activation.h"
#include "adze/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of a GRU module. Start from ADZ_GRU_MODULE_OPTIONS. */
typedef struct adz_gru_module_options {
    size_t size;              /**< sizeof(adz_gru_module_options) */
    int64_t num_layers;       /**< stacked layers, 1 to 65535; 1 */
    bool bias;                /**< each layer and direction has two biases; true */
    bool batch_first;         /**< x and y are [B, T, ...] instead of [T, B, ...]; false */
    double dropout;           /**< while training, on what each layer but the last hands on, in
                                 [0, 1]; 0 */
    bool bidirectional;       /**< a second direction reads from the last step on; false */
    adz_dtype dtype;          /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
    adz_generator *generator; /**< for dropout, stays the caller's and must outlive the module and
                                 its copies; NULL for the default one */
} adz_gru_module_options;

/** The defaults. */
#define ADZ_GRU_MODULE_OPTIONS                                                                \
    {                                                                                         \
        ADZ_MEMBER(size, sizeof(adz_gru_module_options)), ADZ_MEMBER(num_layers, 1),          \
            ADZ_MEMBER(bias, true), ADZ_MEMBER(batch_first, false), ADZ_MEMBER(dropout, 0.0), \
            ADZ_MEMBER(bidirectional, false), ADZ_MEMBER(dtype, ADZ_F32),                     \
            ADZ_MEMBER(generator, NULL)                                                       \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_gru_module_options) as the caller knows it
 */
ADZ_API void adz_gru_module_options_init(adz_gru_module_options *options, size_t size);

/**
 * Gated recurrent units over a sequence: adz_gru with parameters.
 *
 *     r, z, n = split(x_t W_ih^T + b_ih);   pr, pz, pn = split(h W_hh^T + b_hh)
 *     r = sigmoid(r + pr);  z = sigmoid(z + pz);  n = tanh(n + r pn)
 *     h = (1 - z) n + z h;  y_t = h
 *
 * A call takes x[T, B, I] ([B, T, I] with batch_first, [T, I] without a batch) and may take the
 * initial state "h0" [num_layers * directions, B, H]; left out, it is zeros. It may take "lengths",
 * int64 [B], if x is padded; adz_gru says what they do. Its results are y[T, B, directions *
 * H] and "h", the state after the last step of each sequence.
 *
 * The parameters are weight_ih_l0 [3H, I], weight_hh_l0 [3H, H], bias_ih_l0 [3H] and bias_hh_l0
 * [3H], those of the second direction end in _reverse, then come those of layer 1; all start
 * uniform in (-1/sqrt(H), 1/sqrt(H)).
 *
 * @param input_size   features I of x, 1 or more
 * @param hidden_size  features H of the state, 1 or more
 * @param options      NULL for the defaults
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 * ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see                torch.nn.GRU
 */
ADZ_API adz_module *adz_gru_new(
    int64_t input_size, int64_t hidden_size, const adz_gru_module_options *options);

/** Options of an RNN module. Start from ADZ_RNN_MODULE_OPTIONS. */
typedef struct adz_rnn_module_options {
    size_t size;              /**< sizeof(adz_rnn_module_options) */
    int64_t num_layers;       /**< stacked layers, 1 to 65535; 1 */
    bool bias;                /**< each layer and direction has two biases; true */
    bool batch_first;         /**< x and y are [B, T, ...] instead of [T, B, ...]; false */
    double dropout;           /**< while training, on what each layer but the last hands on, in
                                 [0, 1]; 0 */
    bool bidirectional;       /**< a second direction reads from the last step on; false */
    adz_dtype dtype;          /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
    adz_generator *generator; /**< for dropout, stays the caller's and must outlive the module and
                                 its copies; NULL for the default one */
    adz_activation nonlinearity; /**< ADZ_ACTIVATION_TANH or ADZ_ACTIVATION_RELU; tanh */
} adz_rnn_module_options;

/** The defaults. */
#define ADZ_RNN_MODULE_OPTIONS                                                                \
    {                                                                                         \
        ADZ_MEMBER(size, sizeof(adz_rnn_module_options)), ADZ_MEMBER(num_layers, 1),          \
            ADZ_MEMBER(bias, true), ADZ_MEMBER(batch_first, false), ADZ_MEMBER(dropout, 0.0), \
            ADZ_MEMBER(bidirectional, false), ADZ_MEMBER(dtype, ADZ_F32),                     \
            ADZ_MEMBER(generator, NULL), ADZ_MEMBER(nonlinearity, ADZ_ACTIVATION_TANH)        \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_rnn_module_options) as the caller knows it
 */
ADZ_API void adz_rnn_module_options_init(adz_rnn_module_options *options, size_t size);

/**
 * A plain recurrent network over a sequence: adz_rnn with parameters.
 *
 *     h = f(x_t W_ih^T + b_ih + h W_hh^T + b_hh);  y_t = h;   f is tanh or relu
 *
 * A call takes x[T, B, I] ([B, T, I] with batch_first, [T, I] without a batch) and may take the
 * initial state "h0" [num_layers * directions, B, H]; left out, it is zeros. It may take "lengths",
 * int64 [B], if x is padded; adz_rnn says what they do. Its results are y[T, B, directions *
 * H] and "h", the state after the last step of each sequence.
 *
 * The parameters are weight_ih_l0 [H, I], weight_hh_l0 [H, H], bias_ih_l0 [H] and bias_hh_l0
 * [H], those of the second direction end in _reverse, then come those of layer 1; all start
 * uniform in (-1/sqrt(H), 1/sqrt(H)).
 *
 * @param input_size   features I of x, 1 or more
 * @param hidden_size  features H of the state, 1 or more
 * @param options      NULL for the defaults
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 * ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see                torch.nn.RNN
 */
ADZ_API adz_module *adz_rnn_new(
    int64_t input_size, int64_t hidden_size, const adz_rnn_module_options *options);

/** Options of the cells. Start from ADZ_RECURRENT_CELL_OPTIONS. */
typedef struct adz_recurrent_cell_options {
    size_t size;                 /**< sizeof(adz_recurrent_cell_options) */
    bool bias;                   /**< the cell has two biases; true */
    adz_dtype dtype;             /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
    adz_activation nonlinearity; /**< of an RNN cell: ADZ_ACTIVATION_TANH or ADZ_ACTIVATION_RELU;
                                      others ignore it; tanh */
} adz_recurrent_cell_options;

/** The defaults. */
#define ADZ_RECURRENT_CELL_OPTIONS                                                    \
    {                                                                                 \
        ADZ_MEMBER(size, sizeof(adz_recurrent_cell_options)), ADZ_MEMBER(bias, true), \
            ADZ_MEMBER(dtype, ADZ_F32), ADZ_MEMBER(nonlinearity, ADZ_ACTIVATION_TANH) \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_recurrent_cell_options) as the caller knows it
 */
ADZ_API void adz_recurrent_cell_options_init(adz_recurrent_cell_options *options, size_t size);

/**
 * One step of an LSTM, for programs that go through time themselves.
 *
 *     i, f, g, o = split(x W_ih^T + b_ih + h W_hh^T + b_hh)
 *     c = sigmoid(f) c + sigmoid(i) tanh(g);  h = sigmoid(o) tanh(c)
 *
 * A call takes x[B, I], or [I] without a batch, and may take the states "h0" and "c0", each [B, H]
 * or [H], together; left out, they are zeros. Its results are h[B, H] and "c". The parameters are
 * weight_ih [4H, I], weight_hh [4H, H], bias_ih [4H] and bias_hh [4H], uniform in (-1/sqrt(H),
 * 1/sqrt(H)).
 *
 * @param input_size   features I of x, 1 or more
 * @param hidden_size  features H of the state, 1 or more
 * @param options      NULL for the defaults
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 * ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see                torch.nn.LSTMCell
 */
ADZ_API adz_module *adz_lstm_cell_new(
    int64_t input_size, int64_t hidden_size, const adz_recurrent_cell_options *options);

/**
 * One step of a GRU, for programs that go through time themselves.
 *
 *     r, z, n = split(x W_ih^T + b_ih);   pr, pz, pn = split(h W_hh^T + b_hh)
 *     r = sigmoid(r + pr);  z = sigmoid(z + pz);  n = tanh(n + r pn)
 *     h = (1 - z) n + z h
 *
 * A call takes x[B, I], or [I] without a batch, and may take the state "h0" [B, H] or [H]; left
 * out, it is zeros. Its result is h[B, H]. The parameters are weight_ih [3H, I], weight_hh [3H, H],
 * bias_ih [3H] and bias_hh [3H], uniform in (-1/sqrt(H), 1/sqrt(H)).
 *
 * @param input_size   features I of x, 1 or more
 * @param hidden_size  features H of the state, 1 or more
 * @param options      NULL for the defaults
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 * ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see                torch.nn.GRUCell
 */
ADZ_API adz_module *adz_gru_cell_new(
    int64_t input_size, int64_t hidden_size, const adz_recurrent_cell_options *options);

/**
 * One step of an RNN, for programs that go through time themselves.
 *
 *     h = f(x W_ih^T + b_ih + h W_hh^T + b_hh);   f is tanh or relu
 *
 * A call takes x[B, I], or [I] without a batch, and may take the state "h0" [B, H] or [H]; left
 * out, it is zeros. Its result is h[B, H]. The parameters are weight_ih [H, I], weight_hh [H, H],
 * bias_ih [H] and bias_hh [H], uniform in (-1/sqrt(H), 1/sqrt(H)).
 *
 * @param input_size   features I of x, 1 or more
 * @param hidden_size  features H of the state, 1 or more
 * @param options      NULL for the defaults
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 * ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see                torch.nn.RNNCell
 */
ADZ_API adz_module *adz_rnn_cell_new(
    int64_t input_size, int64_t hidden_size, const adz_recurrent_cell_options *options);

#ifdef __cplusplus
}
#endif

#endif
