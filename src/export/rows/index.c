/* How exports write operators: elements that are found by indices. */
#include "export/c99/c99.h"
#include "export/onnx.h"

const adzi_row adzi_rows_index[] = {
    { .op = "embedding",
        .c = { .print = adzi_c99_embedding, .backward = adzi_c99_embedding_backward },
        .onnx = { adzi_onnx_print_embedding, adzi_onnx_carry_first, NULL, NULL } },
    { .op = "gather",
        .c = { .print = adzi_c99_gather, .backward = adzi_c99_gather_backward, .doubles = true },
        .onnx = { adzi_onnx_print_gather, adzi_onnx_carry_gather, "GatherElements", NULL } },
    { .op = "index_select",
        .c = { .print = adzi_c99_index_select,
            .backward = adzi_c99_index_select_backward,
            .doubles = true },
        .onnx = { adzi_onnx_print_gather, adzi_onnx_carry_index_select, "Gather", NULL } },
    { .op = "one_hot",
        .c = { .print = adzi_c99_one_hot },
        .onnx = { adzi_onnx_print_one_hot, adzi_onnx_carry_first, NULL, NULL } },
    { .op = "rows",
        .c = { .print = adzi_c99_index_select, .backward = adzi_c99_index_select_backward } },
    { .op = "scatter_add",
        .c = { .print = adzi_c99_scatter_add, .backward = adzi_c99_scatter_add_backward },
        .onnx = { adzi_onnx_print_scatter_add, adzi_onnx_carry_none, NULL, NULL } },
    { .op = "topk",
        .c = { .print = adzi_c99_topk, .backward = adzi_c99_topk_backward },
        .onnx = { adzi_onnx_print_topk, adzi_onnx_carry_but_dim, NULL, NULL } },
    { .op = NULL },
};
