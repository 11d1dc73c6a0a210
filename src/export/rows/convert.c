/* How exports write operators: copies and conversions. */
#include "export/c99/c99.h"
#include "export/onnx.h"

const adzi_row adzi_rows_convert[] = {
    { .op = "clone",
        .c = { ADZI_C99_ELEMENT("$a", "$g", NULL, NULL), .doubles = true },
        .onnx = { ADZI_ONNX_NODE("Identity") } },
    { .op = "copy",
        .overwrites = true,
        .c = { .print = adzi_c99_copy,
            .backward = adzi_c99_elementwise_backward,
            .element = { .db = "$g" },
            .doubles = true },
        .onnx = { .print = adzi_onnx_print_copy, .carry = adzi_onnx_carry_none } },
    { .op = "detach", .view = true, .onnx = { ADZI_ONNX_NODE("Identity") } },
    { .op = "to",
        .c = { .print = adzi_c99_to,
            .backward = adzi_c99_elementwise_backward,
            .element = { .da = "$g" },
            .doubles = true },
        .onnx = { .print = adzi_onnx_print_cast, .carry = adzi_onnx_carry_broadcast } },
    { .op = NULL },
};
