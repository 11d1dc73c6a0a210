/* How exports write operators: elements that are found by indices. */
#include "export/rows/row.h"

#define DRAWS "draws random numbers; draw them outside, and pass them as an input"
#define GROWS "has a result whose size depends on the elements; call it outside of what is exported"

const adzi_row adzi_rows_index[] = {
    { .op = "embedding", C99(embedding, embedding_backward), ONNX(embedding, first, NULL) },
    { .op = "gather",
        C99(gather, gather_backward),
        .c.doubles = true,
        ONNX(gather, gather, "GatherElements") },
    { .op = "index_select",
        C99(index_select, index_select_backward),
        .c.doubles = true,
        ONNX(gather, index_select, "Gather") },
    { .op = "multinomial", .c = { .refused = DRAWS }, .onnx = { .refused = DRAWS } },
    { .op = "nonzero", .c = { .refused = GROWS }, .onnx = { .refused = GROWS } },
    { .op = "one_hot", C99_FORWARD(one_hot), ONNX(one_hot, first, NULL) },
    { .op = "rows",
        C99(index_select, index_select_backward),
        .onnx = { .refused = "takes rows for a gradient; export the forward alone" } },
    { .op = "scatter_add", C99(scatter_add, scatter_add_backward), ONNX(scatter_add, none, NULL) },
    { .op = "topk", C99(topk, topk_backward), ONNX(topk, but_dim, NULL) },
    { .op = NULL },
};
