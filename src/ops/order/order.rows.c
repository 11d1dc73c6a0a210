/* How exports write operators: elements in their order. */
#include "export/rows/row.h"

adzi_c99_printer adzi_c99_topk;

const adzi_row adzi_rows_order[] = {
    { .op = "searchsorted" },
    { .op = "topk",
        C99(topk),
        ONNX_TEXT(
            "TopK($a, [k], axis=dim, largest=largest, sorted=1)", but_dim, .of_dimensions = true) },
    { .op = NULL },
};
