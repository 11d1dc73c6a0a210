/* Printers of convolutions: the nodes Conv and ConvTranspose. */
#include <string.h>

#include "export/onnx.h"

adzi_onnx_printer adzi_onnx_print_conv;
adzi_onnx_batch_rule adzi_onnx_batch_conv;

enum { X, WEIGHT, BIAS };
enum { AXES = 3 }; /* the most spatial dimensions */

/* The spatial dimensions of the call. */
static int spatial(const adzi_onnx *g)
{
    return adzi_onnx_input(g, WEIGHT)->rank - 2;
}

/* Pads are all beginnings and then all ends. A transposed call whose end loses less than nothing
 * has an output_padding. */
bool adzi_onnx_print_conv(adzi_onnx *g)
{
    const bool transposed = strcmp(adzi_onnx_type(g), "ConvTranspose") == 0;
    const size_t n = (size_t)spatial(g);
    int64_t pads[2 * AXES], stride[AXES], dilation[AXES], kernel[AXES], more[AXES] = { 0 };
    adzi_onnx_list(g, "padding", pads, AXES);
    adzi_onnx_list(g, "padding_after", pads + n, AXES);
    adzi_onnx_list(g, "stride", stride, AXES);
    adzi_onnx_list(g, "dilation", dilation, AXES);
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
    const char *const x = adzi_onnx_batched(g, n), *const y = adzi_onnx_batched_result(g, n);
    const char *const in[] = { x, adzi_onnx_in(g, WEIGHT), adzi_onnx_in(g, BIAS) };
    const int64_t groups = adzi_onnx_attr_whole(g, "groups");
    const adzi_onnx_attr attrs[] = { ADZI_ATTR_INTS("dilations", dilation, n),
        ADZI_ATTR_INT("group", groups), ADZI_ATTR_INTS("kernel_shape", kernel, n),
        ADZI_ATTR_INTS("pads", pads, 2 * n), ADZI_ATTR_INTS("strides", stride, n),
        ADZI_ATTR_INTS("output_padding", more, n) };
    adzi_onnx_node(g, adzi_onnx_type(g), (adzi_onnx_names){ in, g->call->in[BIAS] >= 0 ? 3 : 2 },
        ADZI_NAMES(y), (adzi_onnx_attrs){ attrs, transposed ? 6 : 5 });
    return adzi_onnx_unbatched(g, n, y);
}

/* The items of a batch are independent; nothing else may depend on its size. */
bool adzi_onnx_batch_conv(const adzi_onnx *g)
{
    const int axis = adzi_onnx_batch_in(g, X)->axis;
    return (axis < 0 || (axis == 0 && adzi_onnx_input(g, X)->rank == spatial(g) + 2)) &&
           adzi_onnx_batch_first(g);
}
