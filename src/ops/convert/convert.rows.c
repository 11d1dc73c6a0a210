/* How exports write operators: copies and conversions. */
#include "export/rows/row.h"

adzi_c99_text_function adzi_c99_convert_text;

const adzi_row adzi_rows_convert[] = {
    { .op = "clone", .copies = true, C99_ELEMENT("$a"), .c.doubles = true, ONNX_NODE("Identity") },
    { .op = "copy",
        .overwrites = true,
        .copies = true,
        C99_TEXT(convert),
        .c.doubles = true,
        ONNX_TEXT("Expand($b:y, [y])", none) },
    { .op = "dequantize_q8_0" },
    { .op = "detach", .internal = true, .view = true, ONNX_NODE("Identity") },
    { .op = "quantize_q8_0",
        .c = { .refused = "makes weights smaller; call it before the network is written" },
        .onnx = { .refused = "makes weights smaller; call it before the network is written" } },
    { .op = "to", C99_TEXT(convert), .c.doubles = true, ONNX_NODE("$a:y") },
    { .op = NULL },
};
