/* How exports write operators: losses. Most are written as their expressions. */
#include "export/rows/row.h"

#define WALKS "sums over all alignments of a target; export the network without its loss"

#define EXPORT(...)         EXPORT_ROW(__VA_ARGS__, .view = false)
#define EXPORT_ROW(fn, ...) { .op = #fn, __VA_ARGS__ },

const adzi_row adzi_rows_loss[] = {
#include "ops/loss/table.h"
    { .op = NULL },
};
