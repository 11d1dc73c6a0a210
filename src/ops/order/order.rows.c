/* How exports write operators: elements in their order. */
#include "export/rows/row.h"

const adzi_row adzi_rows_order[] = {
    { .op = "searchsorted" },
    { .op = "topk", C99(topk), ONNX(topk, but_dim, NULL) },
    { .op = NULL },
};
