/* How exports write operators: shapes. */
#include "export/rows/row.h"

const adzi_row adzi_rows_shape[] = {
    { .op = "cat", C99(cat), .c.doubles = true, ONNX(cat, cat, NULL) },
    { .op = "diagonal", .view = true },
    { .op = "expand", .view = true, ONNX(expand, broadcast, NULL) },
    { .op = "flip", C99(flip), ONNX(flip, flip, NULL) },
    { .op = "pad", C99(pad), ONNX(pad, pad, NULL) },
    { .op = "permute", .view = true, ONNX(transpose, transpose, NULL) },
    { .op = "reshape", C99(reshape), .c.doubles = true, ONNX(reshape, reshape, NULL) },
    { .op = "roll" },
    { .op = "slice", .view = true, ONNX(slice, but_dim, NULL) },
    { .op = "slice_backward",
        .internal = true,
        C99(slice_backward),
        .onnx = { .refused = "is part of a gradient; export the forward alone" } },
    { .op = "split", .view = true, ONNX(split, but_dim, NULL) },
    { .op = "squeeze", .view = true, ONNX(squeeze, squeeze, NULL) },
    { .op = "transpose", .view = true, ONNX(transpose, transpose, NULL) },
    { .op = "tril", C99(tril), ONNX(tril, triangle, NULL) },
    { .op = "triu", C99(triu), ONNX(triu, triangle, NULL) },
    { .op = "unbind", .view = true, ONNX(unbind, unbind, NULL) },
    { .op = "unsqueeze", .view = true, ONNX(unsqueeze, unsqueeze, NULL) },
    { .op = NULL },
};
