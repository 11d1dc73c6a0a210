/* How exports write operators: trigonometric and hyperbolic functions. */
#include "export/rows/row.h"

const adzi_row adzi_rows_trigonometry[] = {
    { .op = "acos", C99_ELEMENT("@acos($a)"), ONNX_NODE("Acos") },
    { .op = "acosh", C99_ELEMENT("@acosh($a)"), ONNX_NODE("Acosh") },
    { .op = "asin", C99_ELEMENT("@asin($a)"), ONNX_NODE("Asin") },
    { .op = "asinh", C99_ELEMENT("@asinh($a)"), ONNX_NODE("Asinh") },
    { .op = "atan", C99_ELEMENT("@atan($a)"), ONNX_NODE("Atan") },
    { .op = "atan2",
        C99_ELEMENT("@atan2($a, $b)"),
        .onnx = { .refused =
                      "has no node in ONNX, and atan of a quotient cannot tell the quadrants of "
                      "zeros and infinities; use adz_atan where the divisor is positive" } },
    { .op = "atanh", C99_ELEMENT("@atanh($a)"), ONNX_NODE("Atanh") },
    { .op = "cosh", C99_ELEMENT("@cosh($a)"), ONNX_NODE("Cosh") },
    { .op = "hypot", C99_ELEMENT("@hypot($a, $b)"), ONNX(hypot, broadcast, NULL) },
    { .op = "sinh", C99_ELEMENT("@sinh($a)"), ONNX_NODE("Sinh") },
    { .op = "tan", C99_ELEMENT("@tan($a)"), ONNX_NODE("Tan") },
    { .op = NULL },
};
