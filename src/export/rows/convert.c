/* How exports write operators: copies and conversions. */
#include "export/rows/row.h"

const adzi_row adzi_rows_convert[] = {
    { .op = "clone", C99_UNARY("$a", "$g"), .c.doubles = true, ONNX_NODE("Identity") },
    { .op = "copy",
        .overwrites = true,
        C99(convert, elementwise_backward),
        .c.element.db = "$g",
        .c.doubles = true,
        ONNX(copy, none, NULL) },
    { .op = "detach", .view = true, ONNX_NODE("Identity") },
    { .op = "to",
        C99(convert, elementwise_backward),
        .c.element.da = "$g",
        .c.doubles = true,
        ONNX(cast, broadcast, NULL) },
    { .op = NULL },
};
