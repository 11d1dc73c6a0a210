/* How exports write operators: attention. */
#include "export/rows/row.h"

adzi_c99_printer adzi_c99_attention;

const adzi_row adzi_rows_attention[] = {
    { .op = "rotary_embedding" },
    { .op = "scaled_dot_product_attention", C99(attention) },
    { .op = NULL },
};
