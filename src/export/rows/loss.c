/* How exports write operators: losses. Most are written as their expressions. */
#include "export/rows/row.h"

#define WALKS "sums over all alignments of a target; export the network without its loss"

const adzi_row adzi_rows_loss[] = {
    { .op = "binary_cross_entropy" },
    { .op = "binary_cross_entropy_with_logits" },
    { .op = "cross_entropy" },
    { .op = "ctc_loss", .c = { .refused = WALKS }, .onnx = { .refused = WALKS } },
    { .op = "huber_loss" },
    { .op = "kl_div" },
    { .op = "l1_loss" },
    { .op = "mse_loss" },
    { .op = "nll_loss" },
    { .op = "smooth_l1_loss" },
    { .op = NULL },
};
