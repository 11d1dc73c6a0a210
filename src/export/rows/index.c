/* How exports write operators: elements that are found by indices. */
#include "export/c99/c99.h"
#include "export/onnx.h"

#define DRAWS "draws random numbers; draw them outside, and pass them as an input"
#define GROWS "has a result whose size depends on the elements; call it outside of what is exported"

const adzi_row adzi_rows_index[] = {
    { .op = "embedding",
        .c = { .print = adzi_c99_embedding, .backward = adzi_c99_embedding_backward },
        .onnx = { .print = adzi_onnx_print_embedding, .carry = adzi_onnx_carry_first } },
    { .op = "gather",
        .c = { .print = adzi_c99_gather, .backward = adzi_c99_gather_backward, .doubles = true },
        .onnx = { .print = adzi_onnx_print_gather,
            .carry = adzi_onnx_carry_gather,
            .type = "GatherElements" } },
    { .op = "index_select",
        .c = { .print = adzi_c99_index_select,
            .backward = adzi_c99_index_select_backward,
            .doubles = true },
        .onnx = { .print = adzi_onnx_print_gather,
            .carry = adzi_onnx_carry_index_select,
            .type = "Gather" } },
    { .op = "multinomial", .c = { .refused = DRAWS }, .onnx = { .refused = DRAWS } },
    { .op = "nonzero", .c = { .refused = GROWS }, .onnx = { .refused = GROWS } },
    { .op = "one_hot",
        .c = { .print = adzi_c99_one_hot },
        .onnx = { .print = adzi_onnx_print_one_hot, .carry = adzi_onnx_carry_first } },
    { .op = "rows",
        .c = { .print = adzi_c99_index_select, .backward = adzi_c99_index_select_backward },
        .onnx = { .refused = "takes rows for a gradient; export the forward alone" } },
    { .op = "scatter_add",
        .c = { .print = adzi_c99_scatter_add, .backward = adzi_c99_scatter_add_backward },
        .onnx = { .print = adzi_onnx_print_scatter_add, .carry = adzi_onnx_carry_none } },
    { .op = "topk",
        .c = { .print = adzi_c99_topk, .backward = adzi_c99_topk_backward },
        .onnx = { .print = adzi_onnx_print_topk, .carry = adzi_onnx_carry_but_dim } },
    { .op = NULL },
};
