/* How exports write operators: attention. */
#include "export/c99/c99.h"
#include "export/onnx.h"

const adzi_row adzi_rows_attention[] = {
    { .op = "scaled_dot_product_attention", .c = { .print = adzi_c99_attention } },
    { .op = NULL },
};
