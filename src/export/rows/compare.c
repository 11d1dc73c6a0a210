/* How exports write operators: comparisons and choices. */
#include "export/rows/row.h"

const adzi_row adzi_rows_compare[] = {
    { .op = "eq", C99_ELEMENT("$a == $b"), ONNX_NODE("Equal") },
    { .op = "ge", C99_ELEMENT("$a >= $b"), ONNX_NODE("GreaterOrEqual") },
    { .op = "gt", C99_ELEMENT("$a > $b"), ONNX_NODE("Greater") },
    { .op = "isfinite",
        C99_ELEMENT("$a - $a == 0"),
        .c.whole = "1",
        ONNX(is_finite, broadcast, NULL) },
    { .op = "isnan", C99_ELEMENT("$a != $a"), .c.whole = "0", ONNX(is_nan, broadcast, "IsNaN") },
    { .op = "le", C99_ELEMENT("$a <= $b"), ONNX_NODE("LessOrEqual") },
    { .op = "logical_and", C99_ELEMENT("$a && $b"), ONNX(logical, broadcast, "And") },
    { .op = "logical_not", C99_ELEMENT("!$a"), ONNX(logical, broadcast, "Not") },
    { .op = "logical_or", C99_ELEMENT("$a || $b"), ONNX(logical, broadcast, "Or") },
    { .op = "logical_xor", C99_ELEMENT("!$a != !$b"), ONNX(logical, broadcast, "Xor") },
    { .op = "lt", C99_ELEMENT("$a < $b"), ONNX_NODE("Less") },
    { .op = "masked_fill",
        .attributes = { "value" },
        C99_ELEMENT("$b ? $0 : $a"),
        .c.doubles = true,
        ONNX(masked_fill, broadcast, NULL) },
    { .op = "ne", C99_ELEMENT("$a != $b"), ONNX(not_equal, broadcast, NULL) },
    { .op = "where", C99_ELEMENT("$a ? $b : $c"), .c.doubles = true, ONNX_NODE("Where") },
    { .op = NULL },
};
