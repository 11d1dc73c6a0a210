/* How exports write operators: elements in their order. */
#include "export/rows/row.h"

const adzi_row adzi_rows_order[] = {
    { .op = "searchsorted" },
    { .op = "topk",
        C99(topk),
        ONNX_TEXT(
            "TopK($a, [k], axis=dim, largest=largest, sorted=1)", but_dim, .of_dimensions = true) },
    { .op = NULL },
};
