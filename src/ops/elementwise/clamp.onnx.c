/* The node Clip for clamp. */
#include <math.h>

#include "export/onnx.h"

adzi_onnx_printer adzi_onnx_print_clamp;

/* A bound in the range of an integer dtype: a number below or above it bounds nothing more. */
static double bound(adz_dtype dtype, double number)
{
    const double low = dtype == ADZ_U8 || dtype == ADZ_BOOL ? 0
                       : dtype == ADZ_I32                   ? INT32_MIN
                                                            : -0x1p63;
    const double high = dtype == ADZ_U8 ? 255 : dtype == ADZ_I32 ? INT32_MAX : 0x1.fffffffffffffp62;
    return adzi_is_float(dtype) ? number : number < low ? low : number > high ? high : number;
}

/* Runtimes take the largest finite number for a bound that Clip lacks. So a bound that is infinite
 * or NaN makes Max and Min of the call. */
bool adzi_onnx_print_clamp(adzi_onnx *g)
{
    const double low = adzi_onnx_attr_number(g, "min"), high = adzi_onnx_attr_number(g, "max");
    const adz_dtype dtype = adzi_onnx_input(g, 0)->dtype;
    const char *x = adzi_onnx_in(g, 0);
    const bool below = low == (double)-INFINITY, above = high == (double)INFINITY;
    const char *from = below ? "" : adzi_onnx_like_input(g, bound(dtype, low));
    const char *to = above ? "" : adzi_onnx_like_input(g, bound(dtype, high));
    if (isfinite(low) && isfinite(high)) {
        return adzi_onnx_last(g, "Clip", ADZI_NAMES(x, from, to), ADZI_NO_ATTRS);
    }
    if (above) {
        return below ? adzi_onnx_last(g, "Identity", ADZI_NAMES(x), ADZI_NO_ATTRS)
                     : adzi_onnx_last(g, "Max", ADZI_NAMES(x, from), ADZI_NO_ATTRS);
    }
    x = below ? x : adzi_onnx_step(g, "Max", x, from);
    return adzi_onnx_last(g, "Min", ADZI_NAMES(x, to), ADZI_NO_ATTRS);
}
