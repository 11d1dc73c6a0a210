/* How exports write operators: losses. Most are written as their expressions. */
#include "export/rows/row.h"

#define WALKS "sums over all alignments of a target; export the network without its loss"

const adzi_row adzi_rows_loss[] = {
    { .op = "ctc_loss", .c = { .refused = WALKS }, .onnx = { .refused = WALKS } },
    { .op = NULL },
};
