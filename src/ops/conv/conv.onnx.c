/* Printers of convolutions: the nodes Conv and ConvTranspose. */
#include <string.h>

#include "export/onnx.h"

adzi_onnx_printer adzi_onnx_print_conv;
adzi_onnx_carrier adzi_onnx_carry_conv;

enum { X, WEIGHT, BIAS };

/* The spatial dimensions of the call. */
static int spatial(const adzi_onnx *g)
{
    return adzi_onnx_input(g, WEIGHT)->rank - 2;
}

static bool has_batch(const adzi_onnx *g)
{
    return adzi_onnx_input(g, X)->rank == spatial(g) + 2;
}

/* An input or result of one image gets or loses a batch of 1, which the nodes demand. */
static const char *change_batch(adzi_onnx *g, const char *type, const char *name)
{
    const int64_t zero = 0;
    return adzi_onnx_step(g, type, name, adzi_onnx_ints(g, &zero, 1));
}

/* Pads are all beginnings and then all ends. A transposed call whose end loses less than nothing
 * has an output_padding. */
bool adzi_onnx_print_conv(adzi_onnx *g)
{
    const bool transposed = strcmp(adzi_onnx_type(g), "ConvTranspose") == 0;
    const size_t n = (size_t)spatial(g);
    int64_t pads[4], stride[2], dilation[2], kernel[2], more[2] = { 0, 0 };
    adzi_onnx_list(g, "padding", pads, 2);
    adzi_onnx_list(g, "padding_after", pads + n, 2);
    adzi_onnx_list(g, "stride", stride, 2);
    adzi_onnx_list(g, "dilation", dilation, 2);
    for (size_t d = 0; d < n; ++d) {
        kernel[d] = adzi_onnx_input(g, WEIGHT)->sizes[2 + d];
        if (transposed && pads[n + d] < 0) {
            more[d] = -pads[n + d];
            pads[n + d] = 0;
        }
        if (more[d] >= stride[d] && more[d] > 0) {
            return adzi_onnx_refuse(g,
                "has an output_padding beyond the padding that is not below the stride, which runtimes do not take; use a larger stride, or adz_pad behind it");
        }
    }
    const char *x = adzi_onnx_in(g, X);
    x = has_batch(g) ? x : change_batch(g, "Unsqueeze", x);
    const char *const y = has_batch(g) ? adzi_onnx_out(g, 0) : adzi_onnx_temporary(g);
    const char *const in[] = { x, adzi_onnx_in(g, WEIGHT), adzi_onnx_in(g, BIAS) };
    const int64_t groups = adzi_onnx_attr_whole(g, "groups");
    const adzi_onnx_attr attrs[] = { ADZI_ATTR_INTS("dilations", dilation, n),
        ADZI_ATTR_INT("group", groups), ADZI_ATTR_INTS("kernel_shape", kernel, n),
        ADZI_ATTR_INTS("pads", pads, 2 * n), ADZI_ATTR_INTS("strides", stride, n),
        ADZI_ATTR_INTS("output_padding", more, n) };
    adzi_onnx_node(g, adzi_onnx_type(g), (adzi_onnx_names){ in, g->call->in[BIAS] >= 0 ? 3 : 2 },
        ADZI_NAMES(y), (adzi_onnx_attrs){ attrs, transposed ? 6 : 5 });
    if (!has_batch(g)) {
        const int64_t zero = 0;
        adzi_onnx_node(g, "Squeeze", ADZI_NAMES(y, adzi_onnx_ints(g, &zero, 1)),
            ADZI_NAMES(adzi_onnx_out(g, 0)), ADZI_NO_ATTRS);
    }
    return !g->failed;
}

/* The items of a batch are independent; nothing else may depend on its size. */
bool adzi_onnx_carry_conv(const adzi_onnx *g)
{
    const int axis = adzi_onnx_batch_in(g, X)->axis;
    return (axis < 0 || (axis == 0 && has_batch(g))) && adzi_onnx_carry_first(g);
}
