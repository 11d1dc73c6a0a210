/* The functions among the networks whose exports are tested. */
#include "networks.h"

/* ---- sequences of different lengths ---------------------------------------------------------- */

enum { STEPS = 5, IN = 6, HIDDEN = 3 };

/* Weights [rows, columns], or a bias [rows], of numbers between -0.5 and 0.5. */
static adz_tensor *some_weights(int64_t rows, int64_t columns, adz_dtype dtype)
{
    float numbers[12 * IN];
    const int64_t n = rows * (columns > 0 ? columns : 1);
    for (int64_t i = 0; i < n; ++i) {
        numbers[i] = (float)((i * 7 + rows + columns) % 23) / 22 - 0.5f;
    }
    adz_shape shape = columns > 0 ? ADZ_SHAPE(rows, columns) : ADZ_SHAPE(rows);
    return adz_to(adz_tensor_from(numbers, shape, ADZ_F32), dtype);
}

/* The weights of both directions of a layer with `gates` times HIDDEN rows. */
static void both_directions(int64_t gates, adz_dtype dtype, adz_tensor *weights[8])
{
    for (int d = 0; d < 8; d += 4) {
        weights[d] = some_weights(gates * HIDDEN, IN, dtype);
        weights[d + 1] = some_weights(gates * HIDDEN, HIDDEN, dtype);
        weights[d + 2] = some_weights(gates * HIDDEN, 0, dtype);
        weights[d + 3] = some_weights(gates * HIDDEN, 0, dtype);
    }
}

/* Sequences of 5, 1 and 3 steps, whatever x[5, 3, 6] holds behind their ends. */
static adz_tensor *some_lengths(void)
{
    return adz_tensor_from((const int64_t[]){ STEPS, 1, 3 }, ADZ_SHAPE(3), ADZ_I64);
}

/* y and the last states, as one matrix. */
static adz_tensor *joined(adz_tensor *y, adz_tensor *h)
{
    adz_tensor *parts[] = { adz_reshape(y, ADZ_SHAPE(-1, HIDDEN)),
        adz_reshape(h, ADZ_SHAPE(-1, HIDDEN)) };
    return adz_cat(parts, 2, 0);
}

adz_tensor *gru_of_lengths(adz_tensor *x)
{
    adz_gru_options o = ADZ_GRU_OPTIONS;
    adz_tensor *weights[8], *h;
    both_directions(3, (adz_dtype)adz_tensor_dtype(x), weights);
    o.bidirectional = true;
    o.lengths = some_lengths();
    adz_tensor *y = adz_gru(x, ADZ_NONE, weights, 8, &o, &h);
    return joined(y, h);
}

adz_tensor *rnn_of_lengths(adz_tensor *x)
{
    adz_rnn_options o = ADZ_RNN_OPTIONS;
    adz_tensor *weights[8], *h;
    both_directions(1, (adz_dtype)adz_tensor_dtype(x), weights);
    o.bidirectional = true;
    o.lengths = some_lengths();
    adz_tensor *y = adz_rnn(x, ADZ_NONE, weights, 8, &o, &h);
    return joined(y, h);
}

adz_tensor *lstm_of_lengths(adz_tensor *x)
{
    adz_lstm_options o = ADZ_LSTM_OPTIONS;
    adz_tensor *weights[8], *h, *c;
    both_directions(4, (adz_dtype)adz_tensor_dtype(x), weights);
    o.bidirectional = true;
    o.lengths = some_lengths();
    adz_tensor *y = adz_lstm(x, ADZ_NONE, ADZ_NONE, weights, 8, &o, &h, &c);
    return joined(joined(y, h), c);
}

/* ---- operators that no layer has ------------------------------------------------------------ */

adz_tensor *reductions_of(adz_tensor *x)
{
    adz_tensor *indices = NULL, *parts[9];
    adz_tensor *most = adz_max_dim(x, -1, ADZ_KEEPDIM, &indices);
    parts[0] = adz_add(most, adz_to(indices, (adz_dtype)adz_tensor_dtype(x)));
    parts[1] = adz_std(x, ADZ_DIMS(-1), 1, ADZ_KEEPDIM);
    parts[2] = adz_logsumexp(x, ADZ_DIMS(-1), ADZ_KEEPDIM);
    parts[3] = adz_norm(x, 3, ADZ_DIMS(-1), ADZ_KEEPDIM);
    parts[4] = adz_norm(x, 2, ADZ_DIMS(-1), ADZ_KEEPDIM);
    parts[5] = adz_prod(x, ADZ_DIMS(-1), ADZ_KEEPDIM);
    parts[6] = adz_amin(x, ADZ_DIMS(-1), ADZ_KEEPDIM);
    parts[7] = adz_to(adz_any(adz_gt_number(x, 1), ADZ_DIMS(-1), ADZ_KEEPDIM), ADZ_F32);
    parts[8] = adz_norm(adz_relu(x), 0, ADZ_DIMS(-1), ADZ_KEEPDIM);
    return adz_cat(parts, 9, -1);
}

adz_tensor *shapes_of(adz_tensor *x)
{
    const int64_t pads[] = { 1, 2 };
    adz_tensor *piece[3] = { NULL }, *row[5] = { NULL };
    size_t n = 0;
    adz_tensor *y = adz_pad(adz_flip(x, ADZ_DIMS(-1)), pads, 2, 0.5); /* [B, 5, 9] */
    adz_split(y, 3, 2, piece, 3, &n);
    adz_unbind(piece[1], 1, row, 5, &n);
    y = adz_matmul(piece[0], adz_transpose(piece[2], 1, 2)); /* [B, 5, 5] */
    y = adz_tril(adz_cumsum(y, 1), 0);
    adz_tensor *sums = adz_sum(row[2], ADZ_DIMS(1), ADZ_DROPDIM); /* [B] */
    return adz_add(y, adz_unsqueeze(adz_unsqueeze(sums, -1), -1));
}

adz_tensor *roll_of(adz_tensor *x)
{
    return adz_roll(x, 2, -1);
}

adz_module *parametrized_network(void)
{
    adz_module *conv = adz_conv2d_new(4, 6, ADZ_SHAPE(3), NULL);
    adz_module *linear = adz_linear_new(6 * 4 * 6, 5, NULL);
    adz_spectral_norm(conv, "weight", NULL);
    adz_weight_norm(linear, "weight", 0);
    return ADZ_SEQUENTIAL(conv, adz_channel_shuffle_new(3),
        adz_local_response_norm_new(3, 0.5, 0.75, 1), adz_cross_map_lrn2d_new(4, 0.5, 0.5, 2),
        adz_dropout2d_new(0.5, NULL), adz_alpha_dropout_new(0.5, NULL), adz_flatten_new(1, -1),
        linear);
}
