#include "ops/recurrent/recurrent_layer.h"

/* One direction of one layer of a GRU (Cho et al., 2014; gates as in torch.nn.GRU).
 *
 *     r, z, n = x_t w_ih^T + b_ih;   pr, pz, pn = h_(t-1) w_hh^T + b_hh
 *     r = sigmoid(r + pr),   z = sigmoid(z + pz),   n = tanh(n + r pn)
 *     h_t = (1 - z) n + z h_(t-1),   y_t = h_t
 *
 * x[T, B, I], y[T, B, H]. The node saves the inputs, y, and r, z, n and pn of every step. The
 * derivative of n by the product of h has the factor r, so a step has four blocks of derivatives.
 */

KERNEL_TABLE_FLOAT(gru_step);
KERNEL_TABLE_FLOAT(gru_step_back);

static void step(
    adz_tensor *x, adz_tensor *h, adzi_recurrent_states *s, const adzi_recurrent_attr *attr)
{
    adz_tensor *of_x[3] = { NULL }, *of_h[3] = { NULL };
    if (!adzi_recurrent_split(x, attr, 3, of_x) || !adzi_recurrent_split(h, attr, 3, of_h)) {
        s->h = NULL;
        return;
    }
    adz_tensor *r = adz_sigmoid(adz_add(of_x[0], of_h[0]));
    adz_tensor *z = adz_sigmoid(adz_add(of_x[1], of_h[1]));
    adz_tensor *n = adz_tanh(adz_add(of_x[2], adz_mul(r, of_h[2])));
    s->h = adz_add(n, adz_mul(z, adz_sub(s->h, n)));
}

static const char *const c_step[] = {
    "const float reset = @sigmoid($0), update = @sigmoid($1);",
    "const float fresh = @tanh($2 + reset * $3);",
    "$h = fresh + update * ($h - fresh);",
    NULL,
};

const adzi_recurrent_cell adzi_gru_cell = { .op = &adzi_op_gru_layer,
    .name = "gru",
    .states = 1,
    .gates = 3,
    .saved = 4,
    .saves_gates = true,
    .step = step,
    .forward = gru_step_kernels,
    .back = gru_step_back_kernels,
    .c_step = { c_step },
    .onnx_order = (const int[]){ 1, 0, 2 }, /* z, r, n */
    .onnx_flag = "linear_before_reset" /* r multiplies the product of h with its bias */ };

ADZI_RECURRENT_OP(gru, ADZI_FIELD_HIDDEN);
