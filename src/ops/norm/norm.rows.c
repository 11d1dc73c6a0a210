/* How exports write operators: normalisation. */
#include "export/rows/row.h"

adzi_c99_printer adzi_c99_layer_norm;
adzi_onnx_printer adzi_onnx_print_batch_norm, adzi_onnx_print_layer_norm;
adzi_onnx_batch_rule adzi_onnx_batch_batch_norm, adzi_onnx_batch_layer_norm;

const adzi_row adzi_rows_norm[] = {
    { .op = "batch_norm", ONNX(batch_norm, batch_norm, NULL) },
    { .op = "layer_norm", C99(layer_norm), ONNX(layer_norm, layer_norm, NULL) },
    { .op = "rms_norm" },
    { .op = NULL },
};
