#include "ops/recurrent/recurrent_layer.h"

/* One direction of one layer of a plain recurrent network (Elman, 1990; as in torch.nn.RNN).
 *
 *     h_t = f(x_t w_ih^T + b_ih + h_(t-1) w_hh^T + b_hh),   y_t = h_t,   f is tanh or relu
 *
 * x[T, B, I], y[T, B, H]. The node saves the inputs and y, from which both derivatives follow. */

KERNEL_TABLE_FLOAT(rnn_step);
KERNEL_TABLE_FLOAT(rnn_step_back);

static void step(
    adz_tensor *x, adz_tensor *h, adzi_recurrent_states *s, const adzi_recurrent_attr *attr)
{
    adz_tensor *sum = adz_add(x, h);
    s->h = attr->relu ? adz_relu(sum) : adz_tanh(sum);
}

static const char *const c_tanh[] = { "$h = @tanh($0);", NULL };
static const char *const c_relu[] = { "$h = $0 <= 0 ? 0 : $0;", NULL };

const adzi_recurrent_cell adzi_rnn_cell = {
    .op = &adzi_op_rnn_layer,
    .name = "rnn",
    .states = 1,
    .gates = 1,
    .saved = 1,
    .saves_gates = false,
    .has_relu = true,
    .step = step,
    .forward = rnn_step_kernels,
    .back = rnn_step_back_kernels,
    .c_step = { c_tanh, c_relu },
    .onnx_order = (const int[]){ 0 },
};

ADZI_RECURRENT_OP(rnn, ADZI_FIELD);
