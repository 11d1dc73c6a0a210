/**
 * @file recurrent.h
 * Recurrent operators: LSTM, GRU and RNN, and the recurrence of the QRNN.
 */
#ifndef ADZE_OPS_RECURRENT_H
#define ADZE_OPS_RECURRENT_H

#include "adze/ops/activation.h"
#include "adze/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of adz_lstm. Start from ADZ_LSTM_OPTIONS. */
typedef struct adz_lstm_options {
    size_t size;              /**< sizeof(adz_lstm_options) */
    int64_t layers;           /**< stacked layers, 1 to 65535; 1 */
    bool bias;                /**< whether each layer and direction has two biases; true */
    bool batch_first;         /**< whether x and y are [B, T, ...] and not [T, B, ...]; false */
    bool bidirectional;       /**< whether a second direction reads the steps backwards; false */
    bool training;            /**< whether dropout acts; false */
    double dropout;           /**< probability of zeroing an output of each layer but the last,
                                   in [0, 1]; 0 */
    adz_generator *generator; /**< that dropout draws from; NULL for the default one */
    adz_tensor *lengths;      /**< int64 [B], the steps of each sequence, 1 .. T, in any order;
                                   NULL if all have T */
} adz_lstm_options;

/** The defaults. */
#define ADZ_LSTM_OPTIONS                                                                           \
    {                                                                                              \
        ADZ_MEMBER(size, sizeof(adz_lstm_options)), ADZ_MEMBER(layers, 1), ADZ_MEMBER(bias, true), \
            ADZ_MEMBER(batch_first, false), ADZ_MEMBER(bidirectional, false),                      \
            ADZ_MEMBER(training, false), ADZ_MEMBER(dropout, 0.0), ADZ_MEMBER(generator, NULL),    \
            ADZ_MEMBER(lengths, NULL)                                                              \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_lstm_options) as the caller knows it
 */
ADZ_API void adz_lstm_options_init(adz_lstm_options *options, size_t size);

/**
 * Long short-term memory over a sequence.
 *
 *     i, f, g, o = split(x_t W_ih^T + b_ih + h W_hh^T + b_hh)
 *     c = sigmoid(f) c + sigmoid(i) tanh(g);  h = sigmoid(o) tanh(c);  y_t = h
 *
 * Layer l reads the output of layer l - 1. The second direction starts at the last step. y holds
 * both directions, forward first. Without a batch, x is [T, I] and the states are [layers *
 * directions, H].
 *
 * With lengths, x is padded to T steps. The padding may hold anything: states pass it unchanged, y
 * is 0 there, the last states are those at the end of each sequence, and the second direction
 * starts at that end. Results and gradients are those of packed sequences in PyTorch.
 *
 * @param x          x[T, B, I] ([B, T, I] with batch_first), T at least 1; f32 or f64
 * @param h0         h0[layers * directions, B, H], layer by layer, forward first; ADZ_NONE for
 *                   zeros
 * @param c0         c0[layers * directions, B, H], layer by layer, forward first; ADZ_NONE for
 *                   zeros
 * @param weights    for each layer and direction in that order: weight_ih[4H, I] (above the first
 *                   layer [4H, directions * H]), weight_hh[4H, H] and, with bias, bias_ih[4H],
 *                   bias_hh[4H]; rows in the order i, f, g, o
 * @param n_weights  2 or 4 for each layer and direction
 * @param options    NULL for the defaults
 * @param h          receives h[layers * directions, B, H] after the last step, borrowed from the
 *                   scope; NULL on failure; may be NULL itself
 * @param c          receives the cells c[layers * directions, B, H] after the last step, borrowed
 *                   from the scope; NULL on failure; may be NULL itself
 * @return           y[T, B, directions * H] ([B, T, ...] with batch_first), borrowed from the
 *                   scope, or NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_INDEX (a length that is
 *                   not in 1 .. T), ADZ_ERR_MEMORY
 * @grad             x, h0, c0 and the weights, to any order; saves gates, cells and y of every step
 * @see              torch.nn.LSTM
 */
ADZ_API adz_tensor *adz_lstm(adz_tensor *x, adz_tensor *h0, adz_tensor *c0,
    adz_tensor *const *weights, size_t n_weights, const adz_lstm_options *options, adz_tensor **h,
    adz_tensor **c);

/** Options of adz_gru. Start from ADZ_GRU_OPTIONS. */
typedef struct adz_gru_options {
    size_t size;              /**< sizeof(adz_gru_options) */
    int64_t layers;           /**< stacked layers, 1 to 65535; 1 */
    bool bias;                /**< whether each layer and direction has two biases; true */
    bool batch_first;         /**< whether x and y are [B, T, ...] and not [T, B, ...]; false */
    bool bidirectional;       /**< whether a second direction reads the steps backwards; false */
    bool training;            /**< whether dropout acts; false */
    double dropout;           /**< probability of zeroing an output of each layer but the last,
                                   in [0, 1]; 0 */
    adz_generator *generator; /**< that dropout draws from; NULL for the default one */
    adz_tensor *lengths;      /**< int64 [B], the steps of each sequence, 1 .. T, in any order;
                                   NULL if all have T */
} adz_gru_options;

/** The defaults. */
#define ADZ_GRU_OPTIONS                                                                           \
    {                                                                                             \
        ADZ_MEMBER(size, sizeof(adz_gru_options)), ADZ_MEMBER(layers, 1), ADZ_MEMBER(bias, true), \
            ADZ_MEMBER(batch_first, false), ADZ_MEMBER(bidirectional, false),                     \
            ADZ_MEMBER(training, false), ADZ_MEMBER(dropout, 0.0), ADZ_MEMBER(generator, NULL),   \
            ADZ_MEMBER(lengths, NULL)                                                             \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_gru_options) as the caller knows it
 */
ADZ_API void adz_gru_options_init(adz_gru_options *options, size_t size);

/**
 * Gated recurrent units over a sequence.
 *
 *     r, z, n = split(x_t W_ih^T + b_ih);   pr, pz, pn = split(h W_hh^T + b_hh)
 *     r = sigmoid(r + pr);  z = sigmoid(z + pz);  n = tanh(n + r pn)
 *     h = (1 - z) n + z h;  y_t = h
 *
 * Layer l reads the output of layer l - 1. The second direction starts at the last step. y holds
 * both directions, forward first. Without a batch, x is [T, I] and the states are [layers *
 * directions, H].
 *
 * With lengths, x is padded to T steps. The padding may hold anything: states pass it unchanged, y
 * is 0 there, the last states are those at the end of each sequence, and the second direction
 * starts at that end. Results and gradients are those of packed sequences in PyTorch.
 *
 * @param x          x[T, B, I] ([B, T, I] with batch_first), T at least 1; f32 or f64
 * @param h0         h0[layers * directions, B, H], layer by layer, forward first; ADZ_NONE for
 *                   zeros
 * @param weights    for each layer and direction in that order: weight_ih[3H, I] (above the first
 *                   layer [3H, directions * H]), weight_hh[3H, H] and, with bias, bias_ih[3H],
 *                   bias_hh[3H]; rows in the order r, z, n
 * @param n_weights  2 or 4 for each layer and direction
 * @param options    NULL for the defaults
 * @param h          receives h[layers * directions, B, H] after the last step, borrowed from the
 *                   scope; NULL on failure; may be NULL itself
 * @return           y[T, B, directions * H] ([B, T, ...] with batch_first), borrowed from the
 *                   scope, or NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_INDEX (a length that is
 *                   not in 1 .. T), ADZ_ERR_MEMORY
 * @grad             x, h0 and the weights, to any order; saves gates and y of every step
 * @see              torch.nn.GRU
 */
ADZ_API adz_tensor *adz_gru(adz_tensor *x, adz_tensor *h0, adz_tensor *const *weights,
    size_t n_weights, const adz_gru_options *options, adz_tensor **h);

/** Options of adz_rnn. Start from ADZ_RNN_OPTIONS. */
typedef struct adz_rnn_options {
    size_t size;                 /**< sizeof(adz_rnn_options) */
    int64_t layers;              /**< stacked layers, 1 to 65535; 1 */
    bool bias;                   /**< whether each layer and direction has two biases; true */
    bool batch_first;            /**< whether x and y are [B, T, ...] and not [T, B, ...]; false */
    bool bidirectional;          /**< whether a second direction reads the steps backwards; false */
    bool training;               /**< whether dropout acts; false */
    double dropout;              /**< probability of zeroing an output of each layer but the last,
                                      in [0, 1]; 0 */
    adz_generator *generator;    /**< that dropout draws from; NULL for the default one */
    adz_tensor *lengths;         /**< int64 [B], the steps of each sequence, 1 .. T, in any order;
                                      NULL if all have T */
    adz_activation nonlinearity; /**< ADZ_ACTIVATION_TANH or ADZ_ACTIVATION_RELU; tanh */
} adz_rnn_options;

/** The defaults. */
#define ADZ_RNN_OPTIONS                                                                           \
    {                                                                                             \
        ADZ_MEMBER(size, sizeof(adz_rnn_options)), ADZ_MEMBER(layers, 1), ADZ_MEMBER(bias, true), \
            ADZ_MEMBER(batch_first, false), ADZ_MEMBER(bidirectional, false),                     \
            ADZ_MEMBER(training, false), ADZ_MEMBER(dropout, 0.0), ADZ_MEMBER(generator, NULL),   \
            ADZ_MEMBER(lengths, NULL), ADZ_MEMBER(nonlinearity, ADZ_ACTIVATION_TANH)              \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_rnn_options) as the caller knows it
 */
ADZ_API void adz_rnn_options_init(adz_rnn_options *options, size_t size);

/**
 * A plain recurrent network over a sequence.
 *
 *     h = f(x_t W_ih^T + b_ih + h W_hh^T + b_hh);  y_t = h;   f is tanh or relu
 *
 * Layer l reads the output of layer l - 1. The second direction starts at the last step. y holds
 * both directions, forward first. Without a batch, x is [T, I] and the states are [layers *
 * directions, H].
 *
 * With lengths, x is padded to T steps. The padding may hold anything: states pass it unchanged, y
 * is 0 there, the last states are those at the end of each sequence, and the second direction
 * starts at that end. Results and gradients are those of packed sequences in PyTorch.
 *
 * @param x          x[T, B, I] ([B, T, I] with batch_first), T at least 1; f32 or f64
 * @param h0         h0[layers * directions, B, H], layer by layer, forward first; ADZ_NONE for
 *                   zeros
 * @param weights    for each layer and direction in that order: weight_ih[H, I] (above the first
 *                   layer [H, directions * H]), weight_hh[H, H] and, with bias, bias_ih[H],
 *                   bias_hh[H]
 * @param n_weights  2 or 4 for each layer and direction
 * @param options    NULL for the defaults
 * @param h          receives h[layers * directions, B, H] after the last step, borrowed from the
 *                   scope; NULL on failure; may be NULL itself
 * @return           y[T, B, directions * H] ([B, T, ...] with batch_first), borrowed from the
 *                   scope, or NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_INDEX (a length that is
 *                   not in 1 .. T), ADZ_ERR_MEMORY
 * @grad             x, h0 and the weights, to any order; saves y of every step
 * @see              torch.nn.RNN
 */
ADZ_API adz_tensor *adz_rnn(adz_tensor *x, adz_tensor *h0, adz_tensor *const *weights,
    size_t n_weights, const adz_rnn_options *options, adz_tensor **h);

/** Options of adz_forget_mult. Start from ADZ_FORGET_MULT_OPTIONS. */
typedef struct adz_forget_mult_options {
    size_t size;      /**< sizeof(adz_forget_mult_options) */
    bool batch_first; /**< whether the first dimension of x is the batch and not the time; false */
    bool backward;    /**< whether to run from the last step: h_t = f_t x_t + (1 - f_t) h_(t+1);
                           false */
} adz_forget_mult_options;

/** The defaults. */
#define ADZ_FORGET_MULT_OPTIONS                                                            \
    {                                                                                      \
        ADZ_MEMBER(size, sizeof(adz_forget_mult_options)), ADZ_MEMBER(batch_first, false), \
            ADZ_MEMBER(backward, false)                                                    \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_forget_mult_options) as the caller knows it
 */
ADZ_API void adz_forget_mult_options_init(adz_forget_mult_options *options, size_t size);

/**
 * The recurrence of the QRNN: a moving average with a weight for every step and element.
 *
 *     h_t = f_t x_t + (1 - f_t) h_(t-1)
 *
 * @param x        x[T, B, H] ([B, T, H] with batch_first), T at least 1; f32 or f64
 * @param f        shaped like x; between 0 and 1 in a QRNN, but any number is allowed
 * @param h0       h0[B, H], the state before the first step; ADZ_NONE for zeros
 * @param options  NULL for the defaults
 * @return         h of every step, shaped like x, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT (a size of the options),
 *                 ADZ_ERR_MEMORY
 * @grad           x, f and h0, to any order; saves them and h
 * @see            fastai.text.models.qrnn.forget_mult_CPU
 */
ADZ_API adz_tensor *adz_forget_mult(
    adz_tensor *x, adz_tensor *f, adz_tensor *h0, const adz_forget_mult_options *options);

#ifdef __cplusplus
}
#endif

#endif
