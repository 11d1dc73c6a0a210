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

static void step(
    adz_tensor *x, adz_tensor *h, adzi_recurrent_states *s, const adzi_recurrent_attr *attr)
{
    adz_tensor *gate[4] = { NULL };
    if (!adzi_recurrent_split(adz_add(x, h), attr, 4, gate)) {
        s->h = NULL;
        return;
    }
    adz_tensor *kept = adz_mul(adz_sigmoid(gate[1]), s->c);
    s->c = adz_add(kept, adz_mul(adz_sigmoid(gate[0]), adz_tanh(gate[2])));
    s->h = adz_mul(adz_sigmoid(gate[3]), adz_tanh(s->c));
}

static const char *const c_step[] = {
    "const float in = @sigmoid($0), forget = @sigmoid($1);",
    "const float fresh = @tanh($2), out = @sigmoid($3);",
    "$c = forget * $c + in * fresh;",
    "$h = out * @tanh($c);",
    NULL,
};

const adzi_recurrent_cell adzi_lstm_cell = { .op = &adzi_op_lstm_layer,
    .name = "lstm",
    .states = 2,
    .gates = 4,
    .saved = 4,
    .saves_gates = true,
    .step = step,
    .forward = lstm_step_kernels,
    .back = lstm_step_back_kernels,
    .c_step = { c_step },
    .onnx_order = (const int[]){ 0, 3, 1, 2 } /* ONNX has i, o, f, g */ };

ADZI_RECURRENT_OP(lstm, ADZI_FIELD_HIDDEN);
