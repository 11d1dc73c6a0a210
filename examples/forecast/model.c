/* Builds the networks and predicts with one of them. */
#include "model.h"

#include <adze/zoo.h>
#include <math.h>
#include <stdlib.h>

#include "../shared/command_line.h"

/* ---- functions in networks ------------------------------------------------------------------ */

/* Zeros before the first value, so that a convolution reads nothing from after its time. */
static adz_tensor *pad_before(adz_tensor *x, void *user)
{
    const int64_t pads[] = { *(const int64_t *)user, 0 };
    return adz_pad(x, pads, 2, 0);
}

/* [B, T, C] to [B, C, T], the layout of convolutions. */
static adz_tensor *channels_first(adz_tensor *x, void *user)
{
    (void)user;
    return adz_transpose(x, 1, 2);
}

/* [B, T, D] to [T, B, D], the layout of the transformer, with the positions added. */
static adz_tensor *add_positions(adz_tensor *x, void *user)
{
    (void)user;
    adz_tensor *encoding =
        adz_labml_get_positional_encoding(adz_tensor_size(x, 2), adz_tensor_size(x, 1), ADZ_F32);
    return adz_add(adz_transpose(x, 0, 1), encoding);
}

/* ---- networks ------------------------------------------------------------------------------- */

static adz_module *new_mlp(const network *n)
{
    return ADZ_SEQUENTIAL(adz_flatten_new(1, -1),
        adz_linear_new(n->window * CHANNELS, n->width, NULL),
        adz_darts_monte_carlo_dropout_new(n->dropout, NULL));
}

static adz_module *new_gru(const network *n)
{
    adz_gru_module_options g = ADZ_GRU_MODULE_OPTIONS;
    g.batch_first = true;
    return ADZ_SEQUENTIAL(adz_gru_new(CHANNELS, n->width, &g), adz_select_new(1, -1));
}

enum { KERNEL = 3 };

/* Causal convolutions. Their dilation doubles until the last time sees the whole window. */
static adz_module *new_conv(const network *n)
{
    static int64_t pads[] = { 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384,
        32768, 65536 };
    adz_module *net = ADZ_SEQUENTIAL(adz_lambda_new("channels_first", channels_first, NULL));
    int64_t seen = 1, channels = CHANNELS;
    for (size_t i = 0; i < sizeof pads / sizeof *pads && (i == 0 || seen < n->window); ++i) {
        adz_conv_module_options c = ADZ_CONV_MODULE_OPTIONS;
        c.dilation = ADZ_SHAPE(pads[i] / (KERNEL - 1));
        adz_sequential_append(net, adz_lambda_new("pad_before", pad_before, &pads[i]));
        adz_sequential_append(net, adz_conv1d_new(channels, n->width, KERNEL, &c));
        adz_sequential_append(net, adz_gelu_new(ADZ_GELU_NONE));
        seen += pads[i];
        channels = n->width;
    }
    adz_sequential_append(net, adz_select_new(-1, -1));
    return net;
}

enum { HEADS = 4 };

static adz_module *new_transformer(const network *n)
{
    adz_labml_attention_options a = ADZ_LABML_ATTENTION_OPTIONS;
    adz_feed_forward_options f = ADZ_FEED_FORWARD_OPTIONS;
    a.dropout_prob = 0;
    f.dropout = n->dropout;
    adz_module *layer =
        adz_labml_transformer_layer_new(n->width, adz_labml_attention_new(HEADS, n->width, &a),
            adz_darts_feed_forward_new(n->width, 2 * n->width, &f), 0, NULL);
    return ADZ_SEQUENTIAL(adz_linear_new(CHANNELS, n->width, NULL),
        adz_lambda_new("add_positions", add_positions, NULL), adz_labml_encoder_new(layer, 1),
        adz_select_new(0, -1));
}

/* The end of every network: a feed-forward block of the time-series reference, whose dropout can
 * stay on for predictions, and a linear layer that starts as zeros. An untrained network therefore
 * predicts the seasonal-naive forecast. */
static void add_head(adz_module *net, const network *n)
{
    adz_feed_forward_options f = ADZ_FEED_FORWARD_OPTIONS;
    f.dropout = n->dropout;
    adz_sequential_append(net, adz_darts_glu_variant_new("GEGLU", n->width, 2 * n->width, &f));
    int64_t outputs = n->band == BAND_VARIANCE ? 2 * n->horizon : n->horizon;
    adz_module *last = adz_linear_new(n->width, outputs, NULL);
    ADZ_NO_GRAD
    {
        adz_zero_(adz_module_get_parameter(last, "weight"));
        adz_zero_(adz_module_get_parameter(last, "bias"));
    }
    adz_sequential_append(net, last);
}

adz_module *new_network(const network *n)
{
    static adz_module *(*const makers[NETWORKS])(
        const network *) = { new_mlp, new_gru, new_conv, new_transformer };
    adz_module *net = makers[n->model](n);
    add_head(net, n);
    return net;
}

/* ---- loss ----------------------------------------------------------------------------------- */

/* The means in the output of a network. *variance becomes the variances, or NULL for BAND_MC. */
static adz_tensor *means_of(const network *n, adz_tensor *out, adz_tensor **variance)
{
    *variance = NULL;
    if (n->band == BAND_VARIANCE) {
        /* Training targets are cut off, so no variance above this bound is learnt from them. */
        double most = 3 + 2 * log((double)seasons_ahead(n));
        *variance = adz_exp(adz_clamp(adz_narrow(out, 1, n->horizon, n->horizon), -16, most));
    }
    return adz_narrow(out, 1, 0, n->horizon);
}

adz_tensor *loss_of(
    adz_module *net, const network *n, adz_tensor *x, adz_tensor *target, adz_tensor *known)
{
    adz_tensor *variance, *mean = means_of(n, adz_module_forward(net, x), &variance), *each;
    if (n->band == BAND_VARIANCE) {
        adz_gaussian_nll_loss_options g = ADZ_GAUSSIAN_NLL_LOSS_OPTIONS;
        g.reduction = ADZ_REDUCE_NONE;
        each = adz_gaussian_nll_loss(mean, target, variance, &g);
    } else {
        each = adz_huber_loss(mean, target, ADZ_REDUCE_NONE, 0.5);
    }
    return adz_mean(adz_mul(each, known), ADZ_ALL_DIMS, ADZ_DROPDIM);
}

/* ---- predictions ---------------------------------------------------------------------------- */

static prediction new_prediction(size_t size)
{
    prediction p = { allocate(size * sizeof *p.mean), allocate(size * sizeof *p.variance) };
    return p;
}

void free_prediction(prediction *p)
{
    free(p->mean);
    free(p->variance);
    *p = (prediction){ NULL, NULL };
}

/* One prediction of all windows: a pass. */
static prediction one_pass(adz_module *net, const network *n, adz_tensor *x)
{
    size_t size = (size_t)(adz_tensor_size(x, 0) * n->horizon);
    prediction p = new_prediction(size);
    adz_scope *scope = adz_scope_open();
    adz_tensor *variance, *mean = means_of(n, adz_module_forward(net, x), &variance);
    adz_tensor_read(mean, p.mean, size * sizeof *p.mean);
    if (variance != NULL) {
        adz_tensor_read(variance, p.variance, size * sizeof *p.variance);
    }
    adz_scope_close(scope);
    return p;
}

prediction predict_windows(
    adz_module *net, const network *n, const series *s, const origins *o, int64_t passes)
{
    int64_t count = n->band == BAND_MC ? passes : 1;
    prediction *each = allocate((size_t)count * sizeof *each);
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = window_inputs(s, n, o);
    adz_module_eval(net);
    adz_darts_set_mc_dropout(net, n->band == BAND_MC);
    ADZ_NO_GRAD
    {
        for (int64_t i = 0; i < count; ++i) {
            each[i] = one_pass(net, n, x);
        }
    }
    adz_scope_close(scope);
    prediction p = mix(each, count, (size_t)(o->count * n->horizon));
    for (int64_t i = 0; i < count; ++i) {
        free_prediction(&each[i]);
    }
    free(each);
    return p;
}

prediction mix(const prediction *each, int64_t count, size_t size)
{
    prediction p = new_prediction(size);
    for (size_t i = 0; i < size; ++i) {
        double mean = 0, variance = 0;
        for (int64_t k = 0; k < count; ++k) {
            mean += each[k].mean[i] / (double)count;
        }
        for (int64_t k = 0; k < count; ++k) {
            double away = each[k].mean[i] - mean;
            variance += (each[k].variance[i] + away * away) / (double)count;
        }
        p.mean[i] = (float)mean;
        p.variance[i] = (float)variance;
    }
    return p;
}
