#include "autograd/ops/recurrent/recurrent_layer.h"

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

static void step(adz_tensor *gates, adz_tensor **h, adz_tensor **c, adz_tensor *weight,
    adz_tensor *bias, const adzi_recurrent_attr *attr)
{
    adz_tensor *of_x[3] = { NULL }, *of_h[3] = { NULL };
    adz_tensor *product = adz_linear(*h, weight, bias);
    const int64_t sizes[] = { attr->h, attr->h, attr->h };
    (void)c;
    if (adz_split_sizes(gates, sizes, 3, 1, of_x) != ADZ_OK ||
        adz_split_sizes(product, sizes, 3, 1, of_h) != ADZ_OK) {
        *h = NULL;
        return;
    }
    adz_tensor *r = adz_sigmoid(adz_add(of_x[0], of_h[0]));
    adz_tensor *z = adz_sigmoid(adz_add(of_x[1], of_h[1]));
    adz_tensor *n = adz_tanh(adz_add(of_x[2], adz_mul(r, of_h[2])));
    *h = adz_add(n, adz_mul(z, adz_sub(*h, n)));
}

static adzi_kernel forward_kernel(adz_dtype dtype)
{
    return KERNEL_FOR(gru_step, dtype);
}

static adzi_kernel back_kernel(adz_dtype dtype)
{
    return KERNEL_FOR(gru_step_back, dtype);
}

const adzi_recurrent_cell adzi_gru_cell = { .op = &adzi_op_gru_layer,
    .names = "x, h0, weight_ih, weight_hh, bias_ih, bias_hh, lengths",
    .states = 1,
    .gates = 3,
    .saved = 4,
    .saves_gates = true,
    .step = step,
    .forward = forward_kernel,
    .back = back_kernel };

static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_recurrent_fused(&adzi_gru_cell, node, dx, dy);
}

static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    return adzi_recurrent_expression(&adzi_gru_cell, y, in, attr);
}

static const adz_field fields[] = { ADZI_FIELD(adzi_recurrent_attr, reverse),
    ADZI_FIELD_HIDDEN(adzi_recurrent_attr, relu), ADZI_FIELD_HIDDEN(adzi_recurrent_attr, biased),
    ADZI_FIELD_HIDDEN(adzi_recurrent_attr, ragged), ADZI_FIELD_HIDDEN(adzi_recurrent_attr, t),
    ADZI_FIELD_HIDDEN(adzi_recurrent_attr, b), ADZI_FIELD_HIDDEN(adzi_recurrent_attr, in),
    ADZI_FIELD_HIDDEN(adzi_recurrent_attr, h) };

const adzi_op adzi_op_gru_layer = {
    .name = "gru_layer", .fused = fused, ADZI_FIELDS(fields), .expression = expression
};
