/* The rows of all operators, by family. */
#include "export/rows.h"
#include "export/row_families.h"

#include <string.h>

#define DECLARED(family) extern const adzi_row adzi_rows_##family[];
#define ENTERED(family)  { #family, adzi_rows_##family },

ADZI_ROW_FAMILIES(DECLARED)

const adzi_row_family adzi_row_families[] = { ADZI_ROW_FAMILIES(ENTERED) };

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
