/* The rows of all operators, by family. */
#include "export/rows.h"

#include <string.h>

extern const adzi_row adzi_rows_activation[], adzi_rows_arithmetic[], adzi_rows_attention[],
    adzi_rows_compare[], adzi_rows_conv[], adzi_rows_convert[], adzi_rows_dropout[],
    adzi_rows_index[], adzi_rows_linalg[], adzi_rows_loss[], adzi_rows_math[], adzi_rows_norm[],
    adzi_rows_pool[], adzi_rows_recurrent[], adzi_rows_reduction[], adzi_rows_shape[];

const adzi_row_family adzi_row_families[] = {
    { "activation", adzi_rows_activation },
    { "arithmetic", adzi_rows_arithmetic },
    { "attention", adzi_rows_attention },
    { "compare", adzi_rows_compare },
    { "conv", adzi_rows_conv },
    { "convert", adzi_rows_convert },
    { "dropout", adzi_rows_dropout },
    { "index", adzi_rows_index },
    { "linalg", adzi_rows_linalg },
    { "loss", adzi_rows_loss },
    { "math", adzi_rows_math },
    { "norm", adzi_rows_norm },
    { "pool", adzi_rows_pool },
    { "recurrent", adzi_rows_recurrent },
    { "reduction", adzi_rows_reduction },
    { "shape", adzi_rows_shape },
};

const size_t adzi_n_row_families = sizeof adzi_row_families / sizeof *adzi_row_families;

const adzi_row *adzi_row_of(const char *op)
{
    for (size_t i = 0; i < adzi_n_row_families; ++i) {
        for (const adzi_row *row = adzi_row_families[i].rows; row->op != NULL; ++row) {
            if (strcmp(row->op, op) == 0) {
                return row;
            }
        }
    }
    return NULL;
}
