/* One entry per operator that is not elementwise: its printer, and that of its gradient. */
#include <stdio.h>
#include <string.h>

#include "export/c99/c99.h"

/* Operators without an entry here or in elementwise.c are traced as the calls of their
 * expression (export/trace.h). One that has none is an error that names it. */
static const adzi_c99_printer printers[] = {
    { "adaptive_avg_pool1d", adzi_c99_resample, NULL },
    { "adaptive_avg_pool2d", adzi_c99_resample, NULL },
    { "adaptive_max_pool1d", adzi_c99_max_pool, adzi_c99_max_pool_backward },
    { "adaptive_max_pool2d", adzi_c99_max_pool, adzi_c99_max_pool_backward },
    { "all", adzi_c99_sum, NULL },
    { "amax", adzi_c99_sum, adzi_c99_extreme_backward },
    { "amin", adzi_c99_sum, adzi_c99_extreme_backward },
    { "any", adzi_c99_sum, NULL },
    { "argmax", adzi_c99_extreme, NULL },
    { "argmin", adzi_c99_extreme, NULL },
    { "avg_pool1d", adzi_c99_resample, NULL },
    { "avg_pool2d", adzi_c99_resample, NULL },
    { "batch_norm", adzi_c99_batch_norm, adzi_c99_batch_norm_backward },
    { "cat", adzi_c99_cat, adzi_c99_cat_backward },
    { "conv1d", adzi_c99_conv, adzi_c99_conv_backward },
    { "conv2d", adzi_c99_conv, adzi_c99_conv_backward },
    { "conv_transpose1d", adzi_c99_conv_transpose, adzi_c99_conv_transpose_backward },
    { "conv_transpose2d", adzi_c99_conv_transpose, adzi_c99_conv_transpose_backward },
    { "conv_weight", adzi_c99_conv_weight, adzi_c99_conv_weight_backward },
    { "cumsum", adzi_c99_cumsum, adzi_c99_cumsum_backward },
    { "dropout", adzi_c99_dropout, adzi_c99_dropout_backward },
    { "embedding", adzi_c99_embedding, adzi_c99_embedding_backward },
    { "flip", adzi_c99_flip, adzi_c99_flip_backward },
    { "fold", adzi_c99_fold, adzi_c99_fold_backward },
    { "gather", adzi_c99_gather, adzi_c99_gather_backward },
    { "glu", adzi_c99_glu, NULL },
    { "index_select", adzi_c99_index_select, adzi_c99_index_select_backward },
    { "interpolate", adzi_c99_resample, NULL },
    { "layer_norm", adzi_c99_layer_norm, adzi_c99_layer_norm_backward },
    { "linear", adzi_c99_linear, adzi_c99_linear_backward },
    { "linear_relu", adzi_c99_linear_relu, adzi_c99_linear_relu_backward },
    { "log_softmax", adzi_c99_softmax, adzi_c99_softmax_backward },
    { "logsumexp", adzi_c99_softmax, adzi_c99_logsumexp_backward },
    { "lstm_layer", adzi_c99_lstm, NULL },
    { "matmul", adzi_c99_matmul, adzi_c99_matmul_backward },
    { "max", adzi_c99_extreme, adzi_c99_extreme_backward },
    { "max_pool1d", adzi_c99_max_pool, adzi_c99_max_pool_backward },
    { "max_pool2d", adzi_c99_max_pool, adzi_c99_max_pool_backward },
    { "mean", adzi_c99_sum, adzi_c99_sum_backward },
    { "min", adzi_c99_extreme, adzi_c99_extreme_backward },
    { "norm", adzi_c99_norm, adzi_c99_norm_backward },
    { "one_hot", adzi_c99_one_hot, NULL },
    { "pad", adzi_c99_pad, adzi_c99_pad_backward },
    { "prod", adzi_c99_sum, adzi_c99_prod_backward },
    { "reshape", adzi_c99_reshape, adzi_c99_reshape_backward },
    { "rows", adzi_c99_index_select, adzi_c99_index_select_backward },
    { "scatter_add", adzi_c99_scatter_add, adzi_c99_scatter_add_backward },
    { "scaled_dot_product_attention", adzi_c99_attention, NULL },
    { "softmax", adzi_c99_softmax, adzi_c99_softmax_backward },
    { "sum", adzi_c99_sum, adzi_c99_sum_backward },
    { "topk", adzi_c99_topk, adzi_c99_topk_backward },
    { "tril", adzi_c99_triangle, adzi_c99_triangle_backward },
    { "triu", adzi_c99_triangle, adzi_c99_triangle_backward },
    { "unfold", adzi_c99_unfold, adzi_c99_unfold_backward },
};

/* Operators whose results are views: they print nothing. A reshape that must copy is printed by the
 * row of reshape. */
static const char *const views[] = { "expand", "permute", "slice", "split", "squeeze", "transpose",
    "unbind", "unsqueeze" };

const adzi_c99_printer *adzi_c99_printer_of(const char *op)
{
    for (size_t i = 0; i < sizeof printers / sizeof *printers; ++i) {
        if (strcmp(printers[i].op, op) == 0) {
            return &printers[i];
        }
    }
    return NULL;
}

static bool is_view(const char *op)
{
    for (size_t i = 0; i < sizeof views / sizeof *views; ++i) {
        if (strcmp(views[i], op) == 0) {
            return true;
        }
    }
    return false;
}

bool adzi_c99_prints(const adz_operator *op)
{
    return is_view(op->name) || adzi_c99_is_elementwise(op->name) ||
           adzi_c99_printer_of(op->name) != NULL;
}

bool adzi_c99_trains(const adz_operator *op)
{
    const adzi_c99_printer *printer = adzi_c99_printer_of(op->name);
    return is_view(op->name) || adzi_c99_is_elementwise(op->name) ||
           (printer != NULL && printer->backward != NULL);
}

/* ---- printing a call --------------------------------------------------------------------------
 */

static void add_shape(char *text, size_t size, const adzi_c99_value *v)
{
    size_t n = strlen(text);
    n += (size_t)snprintf(text + n, size - n, " [");
    for (int d = 0; v != NULL && d < v->rank && n < size; ++d) {
        n += (size_t)snprintf(
            text + n, size - n, "%s%lld", d > 0 ? ", " : "", (long long)v->sizes[d]);
    }
    if (n + 1 < size) {
        snprintf(text + n, size - n, "]");
    }
}

/* A line before the code of a call: the module's path, the operator, and the shapes. */
static void print_comment(adzi_c99 *c, const adzi_c99_call *call, const char *what)
{
    char line[500] = "", clean[500];
    snprintf(line, sizeof line, "%s%s%s%s:", call->path, call->path[0] != '\0' ? ": " : "", what,
        call->op->name);
    for (int i = 0; i < call->n_in && i < 6; ++i) {
        if (call->in[i] >= 0) {
            add_shape(line, sizeof line, adzi_c99_in(c, call, i));
        }
    }
    const size_t n = strlen(line);
    snprintf(line + n, sizeof line - n, " ->");
    add_shape(line, sizeof line, adzi_c99_out(c, call, 0));
    adzi_c99_comment(clean, sizeof clean, line);
    adzi_c99_line(c, "%s", "");
    adzi_c99_line(c, "/* %s */", clean);
}

/* Operators that compute with double, too: those of a standardiser, and moves. The others use
 * functions of the type float. */
static const char *const wide[] = { "abs", "add", "addcmul", "cat", "clamp", "clone", "copy", "div",
    "fill", "gather", "index_select", "masked_fill", "maximum", "minimum", "mul", "neg",
    "reciprocal", "reshape", "square", "sub", "to", "where" };

static bool fits_type(adzi_c99 *c, const adzi_c99_call *call)
{
    bool doubles = false;
    for (int i = 0; i < call->n_in; ++i) {
        const adzi_c99_value *v = adzi_c99_in(c, call, i);
        doubles = doubles || (v != NULL && v->dtype == ADZ_F64);
    }
    for (size_t i = 0; i < sizeof wide / sizeof *wide; ++i) {
        doubles = doubles && strcmp(wide[i], call->op->name) != 0;
    }
    if (doubles) {
        adzi_c99_fail(c, ADZ_ERR_DTYPE,
            "%s%s%s has a float64 argument, but is computed with float in C; convert the module "
            "and "
            "its inputs to float32",
            call->path, call->path[0] != '\0' ? ": " : "", call->op->name);
    }
    return !doubles;
}

void adzi_c99_forward(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_printer *printer = adzi_c99_printer_of(call->op->name);
    c->current = call->op->name;
    ++c->step;
    if (!fits_type(c, call)) {
        return;
    }
    print_comment(c, call, "");
    if (printer != NULL) {
        printer->forward(c, call);
    } else if (!adzi_c99_elementwise(c, call)) {
        adzi_c99_fail(c, ADZ_ERR_UNSUPPORTED,
            "%s%s%s cannot be written in C: there is no printer for the operator", call->path,
            call->path[0] != '\0' ? ": " : "", call->op->name);
    }
}

static bool reaches_gradient(const adzi_c99 *c, const adzi_c99_call *call)
{
    bool in = false, out = false;
    for (int i = 0; i < call->n_in; ++i) {
        const adzi_c99_value *v = adzi_c99_in(c, call, i);
        in = in || (v != NULL && adzi_c99_wants(c, v));
    }
    for (int k = 0; k < call->n_out;
         ++k) { /* a result without a gradient does not reach the loss */
        out = out || c->memories[adzi_c99_out(c, call, k)->memory].gradient >= 0;
    }
    return in && out;
}

void adzi_c99_backward(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_printer *printer = adzi_c99_printer_of(call->op->name);
    ++c->step;
    if (!reaches_gradient(c, call)) {
        return;
    }
    c->current = call->op->name;
    print_comment(c, call, "gradient of ");
    if (printer != NULL && printer->backward != NULL) {
        printer->backward(c, call);
    } else if (printer != NULL || !adzi_c99_elementwise_backward(c, call)) {
        adzi_c99_fail(c, ADZ_ERR_UNSUPPORTED,
            "%s%s%s cannot be part of a training step in C: its gradient has no printer",
            call->path, call->path[0] != '\0' ? ": " : "", call->op->name);
    }
}
