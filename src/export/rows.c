/* The rows of all operators, by family. */
#include "export/rows.h"

#include <string.h>

/* clang-format off */
#define FAMILIES(DO) \
    DO(activation) DO(attention) DO(conv) DO(convert) DO(decomposition) DO(dropout) DO(elementwise) \
    DO(index) DO(linalg) DO(loss) DO(norm) DO(order) DO(pool) DO(recurrent) DO(reduction) DO(shape)
/* clang-format on */
#define DECLARED(family) extern const adzi_row adzi_rows_##family[];
#define ENTERED(family)  { #family, adzi_rows_##family },

FAMILIES(DECLARED)

const adzi_row_family adzi_row_families[] = { FAMILIES(ENTERED) };

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
