#include "ops/recurrent/recurrent_layer.h"

/* One direction of one layer of an LSTM (Hochreiter and Schmidhuber, 1997; gates as in
 * torch.nn.LSTM).
 *
 *     i, f, g, o = x_t w_ih^T + b_ih + h_(t-1) w_hh^T + b_hh;   sigmoid of i, f, o, tanh of g
 *     c_t = f * c_(t-1) + i * g,   h_t = o * tanh(c_t),   y_t = h_t
 *
 * x[T, B, I], y[T, B, H]. The node saves the inputs, y, and the gates and cells of every step. */

KERNEL_TABLE_FLOAT(lstm_step);
KERNEL_TABLE_FLOAT(lstm_step_back);

static void step(adz_tensor *gates, adz_tensor **h, adz_tensor **c, adz_tensor *weight,
    adz_tensor *bias, const adzi_recurrent_attr *attr)
{
    adz_tensor *gate[4] = { NULL };
    adz_tensor *sums = adz_add(gates, adz_linear(*h, weight, bias));
    const int64_t n = attr->h;
    if (sums == NULL || adz_split_sizes(sums, (int64_t[]){ n, n, n, n }, 4, 1, gate) != ADZ_OK) {
        *h = *c = NULL;
        return;
    }
    adz_tensor *kept = adz_mul(adz_sigmoid(gate[1]), *c);
    *c = adz_add(kept, adz_mul(adz_sigmoid(gate[0]), adz_tanh(gate[2])));
    *h = adz_mul(adz_sigmoid(gate[3]), adz_tanh(*c));
}

const adzi_recurrent_cell adzi_lstm_cell = { .op = &adzi_op_lstm_layer,
    .names = "x, h0, c0, weight_ih, weight_hh, bias_ih, bias_hh, lengths",
    .states = 2,
    .gates = 4,
    .saved = 4,
    .saves_gates = true,
    .step = step,
    .forward = lstm_step_kernels,
    .back = lstm_step_back_kernels };

ADZI_RECURRENT_OP(lstm, ADZI_FIELD_HIDDEN);
