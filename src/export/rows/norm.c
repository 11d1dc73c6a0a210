/* How exports write operators: normalisation. */
#include "export/c99/c99.h"
#include "export/onnx.h"

const adzi_row adzi_rows_norm[] = {
    { .op = "batch_norm",
        .c = { .print = adzi_c99_batch_norm, .backward = adzi_c99_batch_norm_backward },
        .onnx = { .print = adzi_onnx_print_batch_norm, .carry = adzi_onnx_carry_batch_norm } },
    { .op = "layer_norm",
        .c = { .print = adzi_c99_layer_norm, .backward = adzi_c99_layer_norm_backward },
        .onnx = { .print = adzi_onnx_print_layer_norm, .carry = adzi_onnx_carry_layer_norm } },
    { .op = NULL },
};
