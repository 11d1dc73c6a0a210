/* How exports write operators: elements that are found by indices. */
#include "export/rows/row.h"

adzi_c99_printer adzi_c99_embedding, adzi_c99_gather, adzi_c99_index_select, adzi_c99_one_hot,
    adzi_c99_rows_sum, adzi_c99_scatter, adzi_c99_scatter_add, adzi_c99_scatter_reduce;
adzi_onnx_printer adzi_onnx_print_one_hot, adzi_onnx_print_scatter_add;
adzi_onnx_batch_rule adzi_onnx_batch_gather, adzi_onnx_batch_index_select;

#define DRAWS "draws random numbers; draw them outside, and pass them as an input"
#define GROWS "has a result whose size depends on the elements; call it outside of what is exported"

#define GRADIENT "is part of a gradient; export the forward alone"

const adzi_row adzi_rows_index[] = {
    { .op = "embedding", C99(embedding), ONNX_TEXT("Gather($b, $a, axis=0)", first) },
    { .op = "gather",
        C99(gather),
        .c.doubles = true,
        ONNX_TEXT("GatherElements($a, $b, axis=dim)", gather, .of_dimensions = true) },
    { .op = "index_put" },
    { .op = "index_select",
        C99(index_select),
        .c.doubles = true,
        ONNX_TEXT("Gather($a, $b, axis=dim)", index_select, .of_dimensions = true) },
    { .op = "multinomial", .c = { .refused = DRAWS }, .onnx = { .refused = DRAWS } },
    { .op = "nonzero", .c = { .refused = GROWS }, .onnx = { .refused = GROWS } },
    { .op = "one_hot", C99(one_hot), ONNX(one_hot, first, NULL) },
    { .op = "rows", .internal = true, C99(index_select), .onnx = { .refused = GRADIENT } },
    { .op = "rows_sum", .internal = true, C99(rows_sum), .onnx = { .refused = GRADIENT } },
    { .op = "scatter", C99(scatter), .c.doubles = true, ONNX(scatter_add, none, "none") },
    { .op = "scatter_add", C99(scatter_add), ONNX(scatter_add, none, "add") },
    { .op = "scatter_reduce", C99(scatter_reduce), ONNX(scatter_add, none, "mul Max Min") },
    { .op = NULL },
};
