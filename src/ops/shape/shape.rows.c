/* How exports write operators: shapes. */
#include "export/rows/row.h"

adzi_c99_printer adzi_c99_cat, adzi_c99_flip, adzi_c99_pad, adzi_c99_reshape,
    adzi_c99_slice_backward, adzi_c99_tril, adzi_c99_triu;
adzi_onnx_printer adzi_onnx_print_cat, adzi_onnx_print_expand, adzi_onnx_print_flip,
    adzi_onnx_print_reshape, adzi_onnx_print_split, adzi_onnx_print_unbind;
adzi_onnx_batch_rule adzi_onnx_batch_cat, adzi_onnx_batch_flip, adzi_onnx_batch_pad,
    adzi_onnx_batch_reshape, adzi_onnx_batch_squeeze, adzi_onnx_batch_transpose,
    adzi_onnx_batch_triangle, adzi_onnx_batch_unbind, adzi_onnx_batch_unsqueeze;
adzi_onnx_lister adzi_onnx_pads, adzi_onnx_permutation, adzi_onnx_squeezed;

const adzi_row adzi_rows_shape[] = {
    { .op = "cat", C99(cat), .c.doubles = true, ONNX(cat, cat, NULL) },
    { .op = "diagonal", .view = true },
    { .op = "expand", .view = true, ONNX(expand, broadcast, NULL) },
    { .op = "flip", C99(flip), ONNX(flip, flip, NULL) },
    { .op = "pad", C99(pad), ONNX_TEXT("Pad($a, [@], value)", pad, .list = adzi_onnx_pads) },
    { .op = "permute",
        .view = true,
        ONNX_TEXT("Transpose($a, perm=@)", transpose, .list = adzi_onnx_permutation) },
    { .op = "reshape", C99(reshape), .c.doubles = true, ONNX(reshape, reshape, NULL) },
    { .op = "roll" },
    { .op = "slice", .view = true, ONNX_TEXT("Slice($a, [start], [end], [dim], [step])", but_dim) },
    { .op = "slice_backward",
        .internal = true,
        C99(slice_backward),
        .onnx = { .refused = "is part of a gradient; export the forward alone" } },
    { .op = "split", .view = true, ONNX(split, but_dim, NULL) },
    { .op = "squeeze",
        .view = true,
        ONNX_TEXT("Squeeze($a, [@])", squeeze, .list = adzi_onnx_squeezed) },
    { .op = "transpose",
        .view = true,
        ONNX_TEXT("Transpose($a, perm=@)", transpose, .list = adzi_onnx_permutation) },
    { .op = "tril", C99(tril), ONNX_TEXT("Trilu($a, i64(diagonal), upper=0)", triangle) },
    { .op = "triu", C99(triu), ONNX_TEXT("Trilu($a, i64(diagonal), upper=1)", triangle) },
    { .op = "unbind", .view = true, ONNX(unbind, unbind, NULL) },
    { .op = "unsqueeze", .view = true, ONNX_TEXT("Unsqueeze($a, [dim])", unsqueeze) },
    { .op = NULL },
};
