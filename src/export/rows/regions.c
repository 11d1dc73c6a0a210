/* How exports write the calls that begin and end loops and branches (autograd/regions.h). */
#include "export/rows/row.h"

adzi_onnx_printer adzi_onnx_print_scan, adzi_onnx_print_scan_end, adzi_onnx_print_while,
    adzi_onnx_print_while_test, adzi_onnx_print_while_end, adzi_onnx_print_branch,
    adzi_onnx_print_branch_else, adzi_onnx_print_branch_end;
adzi_onnx_batch_rule adzi_onnx_batch_enter, adzi_onnx_batch_leave, adzi_onnx_batch_join,
    adzi_onnx_batch_pass;

#define REGION(print_, batch_)                                              \
    .internal = true, .c = { .print = adzi_c99_##print_, .doubles = true }, \
    .onnx = { .print = adzi_onnx_print_##print_, .batch_rule = adzi_onnx_batch_##batch_ }

const adzi_row adzi_rows_regions[] = {
    { .op = "branch", .region = ADZI_BRANCH, REGION(branch, none) },
    { .op = "branch_else", .region = ADZI_BRANCH_ELSE, REGION(branch_else, pass) },
    { .op = "branch_end", .region = ADZI_BRANCH_END, REGION(branch_end, join) },
    { .op = "scan", .region = ADZI_SCAN, REGION(scan, enter) },
    { .op = "scan_end", .region = ADZI_SCAN_END, REGION(scan_end, leave) },
    { .op = "while_end", .region = ADZI_WHILE_END, REGION(while_end, leave) },
    { .op = "while_loop", .region = ADZI_WHILE, REGION(while, enter) },
    { .op = "while_test", .region = ADZI_WHILE_TEST, REGION(while_test, none) },
    { .op = NULL },
};
