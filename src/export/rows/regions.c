/* How exports write the calls that begin and end loops and branches (autograd/regions.h). */
#include "export/rows/row.h"

#define REGION(print_)                                                      \
    .internal = true, .c = { .print = adzi_c99_##print_, .doubles = true }, \
    .onnx = { .refused = "is a loop or a branch, which only C files can have" }

const adzi_row adzi_rows_regions[] = {
    { .op = "branch", .region = ADZI_BRANCH, REGION(branch) },
    { .op = "branch_else", .region = ADZI_BRANCH_ELSE, REGION(branch_else) },
    { .op = "branch_end", .region = ADZI_BRANCH_END, REGION(branch_end) },
    { .op = "scan", .region = ADZI_SCAN, REGION(scan) },
    { .op = "scan_end", .region = ADZI_SCAN_END, REGION(scan_end) },
    { .op = "while_end", .region = ADZI_WHILE_END, REGION(while_end) },
    { .op = "while_loop", .region = ADZI_WHILE, REGION(while) },
    { .op = "while_test", .region = ADZI_WHILE_TEST, REGION(while_test) },
    { .op = NULL },
};
